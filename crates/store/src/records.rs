//! What the journal's lines say: events of a run, with tasks by their ids. A record that is not known is refused, never
//! skipped: an older program must not continue what a newer one began.

use team_executor_core::run::{ErrorClass, Event, PauseReason, SkipReason, Then, WaveThen, Work};
use team_executor_core::{TaskIndex, Timestamp};
use team_executor_files::json::{self, Layout, Value, Writer};

/// The version of the records.
pub const VERSION: u32 = 1;

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not a record of this version.
    #[error("the record `{0}` is not known; it was written by another version")]
    Unknown(String),
    /// A field is missing or holds something else.
    #[error("the record `{record}` has no readable `{field}`")]
    Field {
        /// The record.
        record: String,
        /// The field.
        field: &'static str,
    },
    /// It names a task that the session does not have.
    #[error("the record names the task `{0}`, which the session does not have")]
    Task(String),
}

/// The record of an event, on one line.
pub fn write<'i>(event: &Event, id: impl Fn(TaskIndex) -> &'i str) -> String {
    let mut line = Line { out: Writer::new(Layout::Compact) };
    line.out.begin_object();
    match event {
        Event::Began { .. } => line.text("type", "began"),
        Event::Recovered { .. } => line.text("type", "recovered"),
        Event::Intended { works, .. } => {
            line.text("type", "intended");
            line.out.key("tasks");
            line.out.begin_object();
            for work in works {
                line.plain(id(work.task), work.attempt);
            }
            line.out.end_object();
        }
        Event::Doubted { .. } => line.text("type", "doubted"),
        Event::Claimed { work, slot, fast_advance, .. } => {
            line.text("type", "claimed");
            line.work(*work, &id);
            line.plain("slot", slot);
            line.plain("fast_advance", fast_advance);
        }
        Event::Completed { work, findings, .. } => {
            line.text("type", "completed");
            line.work(*work, &id);
            if let Some(findings) = findings {
                line.text("findings", findings);
            }
        }
        Event::Failed { work, class, error, then, .. } => {
            line.text("type", "failed");
            line.work(*work, &id);
            line.text("class", class_word(*class));
            if let ErrorClass::Quota { until: Some(until) } = class {
                line.plain("until", until.as_micros());
            }
            line.text("error", error);
            line.then(*then);
        }
        Event::Interrupted { work, then, .. } => {
            line.text("type", "interrupted");
            line.work(*work, &id);
            line.then(*then);
        }
        Event::Skipped { task, reason, .. } => {
            line.text("type", "skipped");
            line.text("task", id(*task));
            match reason {
                SkipReason::DependencyFailed(task) => line.text("dependency_failed", id(*task)),
                SkipReason::DependencySkipped(task) => line.text("dependency_skipped", id(*task)),
                SkipReason::NoDependencyFailed => line.plain("no_dependency_failed", true),
                SkipReason::Person(words) => line.text("person", words),
            }
        }
        Event::Reset { tasks, .. } => {
            line.text("type", "reset");
            line.out.key("tasks");
            line.out.texts(tasks.iter().map(|task| id(*task)));
        }
        Event::WaveMerged { wave, then, .. } => {
            line.text("type", "wave_merged");
            line.plain("wave", wave);
            line.text("then", wave_word(*then));
        }
        Event::Paused { reason, .. } => {
            line.text("type", "paused");
            match reason {
                PauseReason::Told(words) => line.text("told", words),
                PauseReason::WaveFailed(wave) => line.plain("wave_failed", wave),
            }
        }
        Event::Resumed { .. } => line.text("type", "resumed"),
        Event::Draining { .. } => line.text("type", "draining"),
        Event::Stopping { .. } => line.text("type", "stopping"),
        Event::Finished { .. } => line.text("type", "finished"),
    }
    line.plain("at", event.at().as_micros());
    line.out.end_object();
    line.out.finish().trim_end().to_owned()
}

/// The event of a record.
pub fn read(record: &str, index: impl Fn(&str) -> Option<TaskIndex>) -> Result<Event, Unreadable> {
    let document = json::parse(record).map_err(|_| Unreadable::Unknown(record.chars().take(40).collect()))?;
    let root = document.root();
    let name = root.get("type").and_then(Value::as_text).unwrap_or_default().into_owned();
    let fields = Fields { root, name: &name, index: &index };
    let at = fields.time("at")?;
    Ok(match name.as_str() {
        "began" => Event::Began { at },
        "recovered" => Event::Recovered { at },
        "intended" => {
            let works = fields.get("tasks")?.entries().map(|entry| {
                let attempt = entry.value.as_i64().and_then(|attempt| u32::try_from(attempt).ok());
                let attempt = attempt.ok_or_else(|| fields.bad("tasks"))?;
                Ok(Work { task: fields.resolve(&entry.name())?, attempt })
            });
            Event::Intended { works: works.collect::<Result<_, Unreadable>>()?, at }
        }
        "doubted" => Event::Doubted { at },
        "claimed" => Event::Claimed {
            work: fields.work()?,
            slot: fields.number("slot")?,
            fast_advance: fields.get("fast_advance")?.as_bool().ok_or_else(|| fields.bad("fast_advance"))?,
            at,
        },
        "completed" => Event::Completed { work: fields.work()?, findings: fields.text("findings").ok(), at },
        "failed" => Event::Failed {
            work: fields.work()?,
            class: fields.class()?,
            error: fields.text("error")?,
            then: fields.then()?,
            at,
        },
        "interrupted" => Event::Interrupted { work: fields.work()?, then: fields.then()?, at },
        "skipped" => Event::Skipped { task: fields.task("task")?, reason: fields.skip_reason()?, at },
        "reset" => {
            let names = fields.get("tasks")?.items().map(|task| task.as_text().unwrap_or_default());
            Event::Reset { tasks: names.map(|name| fields.resolve(&name)).collect::<Result<_, _>>()?, at }
        }
        "wave_merged" => Event::WaveMerged { wave: fields.number("wave")?, then: fields.wave_then()?, at },
        "paused" => Event::Paused { reason: fields.pause_reason()?, at },
        "resumed" => Event::Resumed { at },
        "draining" => Event::Draining { at },
        "stopping" => Event::Stopping { at },
        "finished" => Event::Finished { at },
        _ => return Err(Unreadable::Unknown(name)),
    })
}

/// When these records say that the run was finished; nothing if they do not, or if tasks began anew after that.
pub fn finished_at<'r>(all: impl Iterator<Item = &'r str>) -> Option<Timestamp> {
    let mut finished = None;
    for record in all {
        // Most records are of another sort: only those that may count are read.
        if record.starts_with("{\"type\":\"reset\"") {
            finished = None;
        } else if record.starts_with("{\"type\":\"finished\"") {
            let document = json::parse(record).ok();
            let at = document.as_ref().and_then(|document| document.root().get("at")).and_then(Value::as_i64);
            finished = at.map(Timestamp::from_micros);
        }
    }
    finished
}

struct Line {
    out: Writer,
}

impl Line {
    fn text(&mut self, key: &str, text: &str) {
        self.out.key(key);
        self.out.text(text);
    }

    fn plain(&mut self, key: &str, value: impl std::fmt::Display) {
        self.out.key(key);
        self.out.plain(value);
    }

    fn work<'i>(&mut self, work: Work, id: &impl Fn(TaskIndex) -> &'i str) {
        self.text("task", id(work.task));
        self.plain("attempt", work.attempt);
    }

    fn then(&mut self, then: Then) {
        match then {
            Then::Again { not_before } => self.plain("again", not_before.as_micros()),
            Then::Over => self.plain("over", true),
        }
    }
}

const fn class_word(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Quota { .. } => "quota",
        ErrorClass::Auth => "auth",
        ErrorClass::Fatal => "fatal",
    }
}

const fn wave_word(then: WaveThen) -> &'static str {
    match then {
        WaveThen::GoOn => "go_on",
        WaveThen::Ask => "ask",
        WaveThen::Abort => "abort",
    }
}

/// The fields of one record.
struct Fields<'a, 'd, 's> {
    root: Value<'d, 's>,
    name: &'a str,
    index: &'a dyn Fn(&str) -> Option<TaskIndex>,
}

impl<'d, 's> Fields<'_, 'd, 's> {
    fn bad(&self, field: &'static str) -> Unreadable {
        Unreadable::Field { record: self.name.to_owned(), field }
    }

    fn get(&self, field: &'static str) -> Result<Value<'d, 's>, Unreadable> {
        self.root.get(field).ok_or_else(|| self.bad(field))
    }

    fn text(&self, field: &'static str) -> Result<String, Unreadable> {
        Ok(self.get(field)?.as_text().ok_or_else(|| self.bad(field))?.into_owned())
    }

    fn number(&self, field: &'static str) -> Result<u32, Unreadable> {
        let number = self.get(field)?.as_i64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| self.bad(field))
    }

    fn time(&self, field: &'static str) -> Result<Timestamp, Unreadable> {
        self.get(field)?.as_i64().map(Timestamp::from_micros).ok_or_else(|| self.bad(field))
    }

    fn resolve(&self, name: &str) -> Result<TaskIndex, Unreadable> {
        (self.index)(name).ok_or_else(|| Unreadable::Task(name.to_owned()))
    }

    fn task(&self, field: &'static str) -> Result<TaskIndex, Unreadable> {
        self.resolve(&self.text(field)?)
    }

    fn work(&self) -> Result<Work, Unreadable> {
        Ok(Work { task: self.task("task")?, attempt: self.number("attempt")? })
    }

    fn class(&self) -> Result<ErrorClass, Unreadable> {
        match self.text("class")?.as_str() {
            "transient" => Ok(ErrorClass::Transient),
            "quota" => Ok(ErrorClass::Quota { until: self.time("until").ok() }),
            "auth" => Ok(ErrorClass::Auth),
            "fatal" => Ok(ErrorClass::Fatal),
            _ => Err(self.bad("class")),
        }
    }

    fn then(&self) -> Result<Then, Unreadable> {
        match self.time("again") {
            Ok(not_before) => Ok(Then::Again { not_before }),
            Err(_) => self.get("over").map(|_| Then::Over),
        }
    }

    fn wave_then(&self) -> Result<WaveThen, Unreadable> {
        match self.text("then")?.as_str() {
            "go_on" => Ok(WaveThen::GoOn),
            "ask" => Ok(WaveThen::Ask),
            "abort" => Ok(WaveThen::Abort),
            _ => Err(self.bad("then")),
        }
    }

    fn pause_reason(&self) -> Result<PauseReason, Unreadable> {
        match self.text("told") {
            Ok(words) => Ok(PauseReason::Told(words)),
            Err(_) => self.number("wave_failed").map(PauseReason::WaveFailed),
        }
    }

    fn skip_reason(&self) -> Result<SkipReason, Unreadable> {
        if let Ok(name) = self.text("dependency_failed") {
            return Ok(SkipReason::DependencyFailed(self.resolve(&name)?));
        }
        if let Ok(name) = self.text("dependency_skipped") {
            return Ok(SkipReason::DependencySkipped(self.resolve(&name)?));
        }
        if let Ok(words) = self.text("person") {
            return Ok(SkipReason::Person(words));
        }
        self.get("no_dependency_failed").map(|_| SkipReason::NoDependencyFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 3] = ["IMPL-001", "任务 \"2\"", "1"];

    fn every_event() -> Vec<Event> {
        let at = Timestamp::from_micros(1_764_000_000_000_001);
        let work = Work { task: TaskIndex(1), attempt: 7 };
        let again = Then::Again { not_before: Timestamp::from_micros(-5) };
        let failed = |class, then| Event::Failed { work, class, error: "no\n\"way\"".to_owned(), then, at };
        let skipped = |reason| Event::Skipped { task: TaskIndex(2), reason, at };
        let merged = |then| Event::WaveMerged { wave: 4, then, at };
        vec![
            Event::Began { at },
            Event::Recovered { at },
            Event::Intended { works: vec![work, Work { task: TaskIndex(2), attempt: 1 }], at },
            Event::Doubted { at },
            Event::Claimed { work, slot: 3, fast_advance: true, at },
            Event::Completed { work, findings: None, at },
            Event::Completed { work, findings: Some(String::new()), at },
            failed(ErrorClass::Transient, again),
            failed(ErrorClass::Quota { until: None }, again),
            failed(ErrorClass::Quota { until: Some(at) }, again),
            failed(ErrorClass::Auth, Then::Over),
            failed(ErrorClass::Fatal, Then::Over),
            Event::Interrupted { work, then: again, at },
            Event::Interrupted { work, then: Then::Over, at },
            skipped(SkipReason::DependencyFailed(TaskIndex(0))),
            skipped(SkipReason::DependencySkipped(TaskIndex(1))),
            skipped(SkipReason::NoDependencyFailed),
            skipped(SkipReason::Person("not needed".to_owned())),
            Event::Reset { tasks: vec![TaskIndex(0), TaskIndex(2)], at },
            merged(WaveThen::GoOn),
            merged(WaveThen::Ask),
            merged(WaveThen::Abort),
            Event::Paused { reason: PauseReason::Told("lunch".to_owned()), at },
            Event::Paused { reason: PauseReason::WaveFailed(2), at },
            Event::Resumed { at },
            Event::Draining { at },
            Event::Stopping { at },
            Event::Finished { at },
        ]
    }

    #[test]
    fn every_event_is_read_back() {
        for event in every_event() {
            let record = write(&event, |task| IDS[task.get()]);
            assert!(!record.contains('\n'), "{record}");
            let index = |id: &str| IDS.iter().position(|known| *known == id).map(|at| TaskIndex(at as u32));
            assert_eq!(read(&record, index), Ok(event), "{record}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let index = |id: &str| (id == "A").then_some(TaskIndex(0));
        let read = |record: &str| read(record, index).map_err(|error| error.to_string());
        assert_eq!(
            read(r#"{"type":"teleported","at":1}"#),
            Err("the record `teleported` is not known; it was written by another version".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"claimed","task":"B","attempt":1,"slot":0,"fast_advance":false,"at":1}"#),
            Err("the record names the task `B`, which the session does not have".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"claimed","task":"A","slot":0,"fast_advance":false,"at":1}"#),
            Err("the record `claimed` has no readable `attempt`".to_owned())
        );
        assert!(read("nonsense").is_err());
    }
}
