//! From an event to its record.

use team_executor_core::TaskIndex;
use team_executor_core::run::{
    Bound, ErrorClass, Event, Halt, Judged, JudgedThen, PauseReason, Scope, SkipReason, Then, Used, WaveThen, Work,
};
use team_executor_files::json::{Layout, Writer};

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
        Event::Claimed { work, slot, fast_advance, choice, .. } => {
            line.text("type", "claimed");
            line.work(*work, &id);
            line.plain("slot", slot);
            line.plain("fast_advance", fast_advance);
            if *choice > 0 {
                line.plain("choice", choice);
            }
        }
        Event::Used { work, used, .. } => {
            line.text("type", "used");
            line.work(*work, &id);
            line.used(used);
        }
        Event::Completed { work, findings, judged, .. } => {
            line.text("type", "completed");
            line.work(*work, &id);
            if let Some(findings) = findings {
                line.text("findings", findings);
            }
            if let Some(judged) = judged {
                line.judged(judged, &id);
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
                SkipReason::TooSimple(task, complexity) => {
                    line.text("too_simple", id(*task));
                    line.text("complexity", complexity.word());
                }
                SkipReason::SwitchedOff => line.plain("switched_off", true),
                SkipReason::Person(words) => line.text("person", words),
            }
        }
        Event::Reset { tasks, .. } => {
            line.text("type", "reset");
            line.tasks("tasks", tasks, &id);
        }
        Event::Returned { tasks, .. } => {
            line.text("type", "returned");
            line.tasks("tasks", tasks, &id);
        }
        Event::Decided { checkpoint, action, tasks, text, .. } => {
            line.text("type", "decided");
            if let Some(checkpoint) = checkpoint {
                line.text("checkpoint", id(*checkpoint));
            }
            line.text("action", action.word());
            line.tasks("tasks", tasks, &id);
            line.text("text", text);
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
                PauseReason::Checkpoint { task, cause } => {
                    line.text("checkpoint", id(*task));
                    line.text("cause", cause.word());
                }
            }
        }
        Event::Resumed { .. } => line.text("type", "resumed"),
        Event::Draining { .. } => line.text("type", "draining"),
        Event::Halted { why, .. } => {
            line.text("type", "halted");
            match why {
                Halt::Budget(bound) => line.bound(bound, &id),
                Halt::NotLoggedIn(task) => line.text("not_logged_in", id(*task)),
                Halt::NoRoom => line.plain("no_room", true),
            }
        }
        Event::Stopping { .. } => line.text("type", "stopping"),
        Event::Finished { .. } => line.text("type", "finished"),
    }
    line.plain("at", event.at().as_micros());
    line.out.end_object();
    line.out.finish().trim_end().to_owned()
}

/// How the record of an event of that type begins, if it is about an attempt.
pub(super) fn begins(kind: &str, task: &str, attempt: u32) -> String {
    let mut line = Line { out: Writer::new(Layout::Compact) };
    line.out.begin_object();
    line.text("type", kind);
    line.text("task", task);
    line.plain("attempt", attempt);
    line.out.finish().trim_end().to_owned()
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

    /// A number that can be read again, however large it was.
    fn count(&mut self, key: &str, number: u64) {
        self.plain(key, number.min(i64::MAX.unsigned_abs()));
    }

    fn work<'i>(&mut self, work: Work, id: &impl Fn(TaskIndex) -> &'i str) {
        self.text("task", id(work.task));
        self.plain("attempt", work.attempt);
    }

    fn tasks<'i>(&mut self, key: &str, tasks: &[TaskIndex], id: &impl Fn(TaskIndex) -> &'i str) {
        self.out.key(key);
        self.out.texts(tasks.iter().map(|task| id(*task)));
    }

    fn judged<'i>(&mut self, judged: &Judged, id: &impl Fn(TaskIndex) -> &'i str) {
        self.out.key("judged");
        self.out.begin_object();
        if let Some(verdict) = judged.verdict {
            self.text("verdict", verdict.word());
        }
        if let Some(complexity) = judged.complexity {
            self.text("complexity", complexity.word());
        }
        match &judged.then {
            JudgedThen::GoOn => {}
            JudgedThen::Ask { cause, tasks, critique } => {
                self.text("ask", cause.word());
                if !tasks.is_empty() {
                    self.tasks("rejected", tasks, id);
                }
                if !critique.is_empty() {
                    self.text("critique", critique);
                }
            }
            JudgedThen::SendBack { tasks, critique } => {
                self.tasks("send_back", tasks, id);
                self.text("critique", critique);
            }
        }
        self.out.end_object();
    }

    fn used(&mut self, used: &Used) {
        self.text("agent", &used.agent);
        for (key, text) in [("model", &used.model), ("session_id", &used.session_id), ("attach", &used.attach)] {
            text.iter().for_each(|text| self.text(key, text));
        }
        let known = [("tokens_in", used.input), ("tokens_cached", used.cached), ("tokens_out", used.output)];
        known.into_iter().chain([("wall_ms", used.wall_ms)]).for_each(|(key, number)| self.count(key, number));
        for (key, number) in [("cost_micros", used.cost_micros), ("turns", used.turns)] {
            number.into_iter().for_each(|number| self.count(key, number));
        }
        if used.stored > 0 {
            self.count("tokens_stored", used.stored);
        }
        if used.is_estimated {
            self.plain("estimated", true);
        }
    }

    fn bound<'i>(&mut self, bound: &Bound, id: &impl Fn(TaskIndex) -> &'i str) {
        match &bound.scope {
            Scope::Run => {}
            Scope::Role(role) => self.text("role", role.as_str()),
            Scope::Task(task) => self.text("task", id(*task)),
        }
        self.text("measure", bound.measure.word());
        for (key, number) in [("used", bound.used), ("budget", bound.budget), ("next", bound.next)] {
            self.count(key, number);
        }
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
        ErrorClass::Rejected => "rejected",
        ErrorClass::Auth => "auth",
        ErrorClass::Shortage => "shortage",
        ErrorClass::Budget => "budget",
        ErrorClass::Unreachable => "unreachable",
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
