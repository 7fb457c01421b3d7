//! From a record to its event.

use std::borrow::Cow;

use team_executor_core::run::{
    Bound, Cause, ErrorClass, Event, Halt, Judged, JudgedThen, Measure, PauseReason, Scope, SkipReason, Then, Used,
    WaveThen, Work,
};
use team_executor_core::{CheckpointAction, Complexity, RoleName, TaskIndex, Timestamp, Verdict};
use team_executor_files::json::{self, Value};

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

/// The event of a record.
pub fn read(record: &str, index: impl Fn(&str) -> Option<TaskIndex>) -> Result<Event, Unreadable> {
    let document = json::parse(record).map_err(|_| Unreadable::Unknown(record.chars().take(40).collect()))?;
    let root = document.root();
    let name = root.get("type").and_then(Value::as_text).unwrap_or_default();
    let fields = Fields { root, name: &name, index: &index };
    let at = fields.time("at")?;
    Ok(match &*name {
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
            choice: fields.number_if_any("choice").unwrap_or(0),
            at,
        },
        "used" => Event::Used { work: fields.work()?, used: Box::new(fields.used()?), at },
        "completed" => {
            let judged = fields.judged()?.map(Box::new);
            Event::Completed { work: fields.work()?, findings: fields.text_if_any("findings"), judged, at }
        }
        "failed" => Event::Failed {
            work: fields.work()?,
            class: fields.class()?,
            error: fields.text("error")?.into_owned(),
            then: fields.then()?,
            at,
        },
        "interrupted" => Event::Interrupted { work: fields.work()?, then: fields.then()?, at },
        "skipped" => Event::Skipped { task: fields.task("task")?, reason: fields.skip_reason()?, at },
        "reset" => Event::Reset { tasks: fields.tasks("tasks")?, at },
        "returned" => Event::Returned { tasks: fields.tasks("tasks")?, at },
        "decided" => Event::Decided {
            checkpoint: fields.text_if_any("checkpoint").map(|name| fields.resolve(&name)).transpose()?,
            action: fields.word("action", CheckpointAction::from_word)?,
            tasks: fields.tasks("tasks")?,
            text: fields.text("text")?.into_owned(),
            at,
        },
        "wave_merged" => Event::WaveMerged { wave: fields.number("wave")?, then: fields.wave_then()?, at },
        "paused" => Event::Paused { reason: fields.pause_reason()?, at },
        "resumed" => Event::Resumed { at },
        "draining" => Event::Draining { at },
        "halted" => Event::Halted { why: fields.halt()?, at },
        "stopping" => Event::Stopping { at },
        "finished" => Event::Finished { at },
        _ => return Err(Unreadable::Unknown(name.into_owned())),
    })
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

    fn text(&self, field: &'static str) -> Result<Cow<'s, str>, Unreadable> {
        self.get(field)?.as_text().ok_or_else(|| self.bad(field))
    }

    fn text_if_any(&self, field: &str) -> Option<String> {
        self.root.get(field)?.as_text().map(Cow::into_owned)
    }

    fn number(&self, field: &'static str) -> Result<u32, Unreadable> {
        self.number_if_any(field).ok_or_else(|| self.bad(field))
    }

    fn number_if_any(&self, field: &str) -> Option<u32> {
        u32::try_from(self.root.get(field)?.as_i64()?).ok()
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

    fn tasks(&self, field: &'static str) -> Result<Vec<TaskIndex>, Unreadable> {
        let names = self.get(field)?.items().map(|task| task.as_text().unwrap_or_default());
        names.map(|name| self.resolve(&name)).collect()
    }

    fn word<T>(&self, field: &'static str, known: impl Fn(&str) -> Option<T>) -> Result<T, Unreadable> {
        known(&self.text(field)?).ok_or_else(|| self.bad(field))
    }

    /// A word that may be missing, but not another one.
    fn word_if_any<T>(&self, field: &'static str, known: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Unreadable> {
        self.root.get(field).map(|_| self.word(field, known)).transpose()
    }

    fn judged(&self) -> Result<Option<Judged>, Unreadable> {
        let Some(root) = self.root.get("judged") else { return Ok(None) };
        let fields = Fields { root, ..*self };
        let then = match fields.word_if_any("ask", Cause::from_word)? {
            Some(cause) => {
                let critique = root.get("critique").map(|_| fields.text("critique")).transpose()?.unwrap_or_default();
                let tasks = root.get("rejected").map(|_| fields.tasks("rejected")).transpose()?.unwrap_or_default();
                JudgedThen::Ask { cause, tasks, critique: critique.into_owned() }
            }
            None if root.get("send_back").is_some() => {
                let critique = fields.text("critique")?.into_owned();
                JudgedThen::SendBack { tasks: fields.tasks("send_back")?, critique }
            }
            None => JudgedThen::GoOn,
        };
        let verdict = fields.word_if_any("verdict", Verdict::from_word)?;
        let complexity = fields.word_if_any("complexity", Complexity::from_word)?;
        Ok(Some(Judged { verdict, complexity, then }))
    }

    fn work(&self) -> Result<Work, Unreadable> {
        Ok(Work { task: self.task("task")?, attempt: self.number("attempt")? })
    }

    fn count(&self, field: &'static str) -> Result<u64, Unreadable> {
        let number = self.get(field)?.as_i64().and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.bad(field))
    }

    fn used(&self) -> Result<Used, Unreadable> {
        Ok(Used {
            agent: self.text("agent")?.into_owned(),
            model: self.text_if_any("model"),
            session_id: self.text_if_any("session_id"),
            attach: self.text_if_any("attach"),
            input: self.count("tokens_in")?,
            cached: self.count("tokens_cached")?,
            stored: self.count("tokens_stored").unwrap_or(0),
            output: self.count("tokens_out")?,
            cost_micros: self.count("cost_micros").ok(),
            turns: self.count("turns").ok(),
            wall_ms: self.count("wall_ms")?,
            is_estimated: self.root.get("estimated").is_some(),
        })
    }

    fn halt(&self) -> Result<Halt, Unreadable> {
        match self.root.get("not_logged_in") {
            Some(_) => self.task("not_logged_in").map(Halt::NotLoggedIn),
            None if self.root.get("no_room").is_some() => Ok(Halt::NoRoom),
            None => self.bound().map(|bound| Halt::Budget(Box::new(bound))),
        }
    }

    fn bound(&self) -> Result<Bound, Unreadable> {
        let role = self.text_if_any("role").map(|role| RoleName::parse(&role).map_err(|_| self.bad("role")));
        let scope = match role.transpose()? {
            Some(role) => Scope::Role(role),
            None if self.root.get("task").is_some() => Scope::Task(self.task("task")?),
            None => Scope::Run,
        };
        let measure = self.word("measure", Measure::from_word)?;
        let (used, budget, next) = (self.count("used")?, self.count("budget")?, self.count("next")?);
        Ok(Bound { scope, measure, used, budget, next })
    }

    fn class(&self) -> Result<ErrorClass, Unreadable> {
        match &*self.text("class")? {
            "transient" => Ok(ErrorClass::Transient),
            "quota" => Ok(ErrorClass::Quota { until: self.time("until").ok() }),
            "rejected" => Ok(ErrorClass::Rejected),
            "auth" => Ok(ErrorClass::Auth),
            "shortage" => Ok(ErrorClass::Shortage),
            "budget" => Ok(ErrorClass::Budget),
            "unreachable" => Ok(ErrorClass::Unreachable),
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
        match &*self.text("then")? {
            "go_on" => Ok(WaveThen::GoOn),
            "ask" => Ok(WaveThen::Ask),
            "abort" => Ok(WaveThen::Abort),
            _ => Err(self.bad("then")),
        }
    }

    fn pause_reason(&self) -> Result<PauseReason, Unreadable> {
        match self.text_if_any("told") {
            Some(words) => Ok(PauseReason::Told(words)),
            None if self.root.get("checkpoint").is_some() => {
                let cause = self.word("cause", Cause::from_word)?;
                Ok(PauseReason::Checkpoint { task: self.task("checkpoint")?, cause })
            }
            None => self.number("wave_failed").map(PauseReason::WaveFailed),
        }
    }

    fn skip_reason(&self) -> Result<SkipReason, Unreadable> {
        if let Some(name) = self.text_if_any("dependency_failed") {
            return Ok(SkipReason::DependencyFailed(self.resolve(&name)?));
        }
        if let Some(name) = self.text_if_any("too_simple") {
            let complexity = self.word("complexity", Complexity::from_word)?;
            return Ok(SkipReason::TooSimple(self.resolve(&name)?, complexity));
        }
        if self.root.get("switched_off").is_some() {
            return Ok(SkipReason::SwitchedOff);
        }
        if let Some(name) = self.text_if_any("dependency_skipped") {
            return Ok(SkipReason::DependencySkipped(self.resolve(&name)?));
        }
        if let Some(words) = self.text_if_any("person") {
            return Ok(SkipReason::Person(words));
        }
        self.get("no_dependency_failed").map(|_| SkipReason::NoDependencyFailed)
    }
}
