//! From a record to its event.

use std::borrow::Cow;

use team_executor_core::run::{
    Assignment, Bound, Cancel, Cause, ErrorClass, Event, Group, Halt, Measure, PauseReason, PlanMark, ReviewThen,
    Reviewed, Scope, SkipReason, Then, Used, WaveThen, Work,
};
use team_executor_core::{CheckpointAction, Complexity, RoleName, TaskId, TaskIndex, Timestamp, Verdict};

use super::record::{self, At, Count, Record};

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not a record of this version.
    #[error("unknown record `{0}`: another version of team-executor wrote it")]
    Unknown(String),
    /// A field is missing or holds something else.
    #[error("the record `{record}` has no readable `{field}`")]
    Field {
        /// The record.
        record: String,
        /// The field, or what was expected in its place.
        field: String,
    },
    /// It names a task that the session does not have.
    #[error("the record names the task `{0}`, which the session does not have")]
    Task(String),
}

/// The event of a record.
pub fn read(record: &str, index: impl Fn(&str) -> Option<TaskIndex>) -> Result<Event, Unreadable> {
    let fields = Fields { line: record, index: &index };
    match serde_json::from_str(record) {
        Ok(record) => fields.event(record),
        Err(error) => Err(unreadable(record, &error)),
    }
}

/// Why a line is no record. Costs another look at the line.
fn unreadable(line: &str, error: &serde_json::Error) -> Unreadable {
    let why = error.to_string();
    match (kind(line), why.split('`').nth(1)) {
        (Some(record), Some(field)) => Unreadable::Field { record, field: field.to_owned() },
        _ => Unreadable::Unknown(line.chars().take(40).collect()),
    }
}

/// The type of a record, of whatever version.
fn kind(line: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Value>(line).ok()?.get("type")?.as_str().map(str::to_owned)
}

/// What the fields of one record mean.
struct Fields<'a> {
    line: &'a str,
    index: &'a dyn Fn(&str) -> Option<TaskIndex>,
}

impl Fields<'_> {
    fn event(&self, record: Record<'_>) -> Result<Event, Unreadable> {
        let at = |At { at }| time(at);
        Ok(match record {
            Record::Began(it) => Event::Began { at: at(it) },
            Record::Recovered(it) => Event::Recovered { at: at(it) },
            Record::Intended(it) => {
                let works = it.tasks.0.iter().map(|(task, attempt)| self.work(task, *attempt));
                Event::Intended { works: works.collect::<Result<_, _>>()?, at: time(it.at) }
            }
            Record::Doubted(it) => Event::Doubted { at: at(it) },
            Record::Claimed(it) => {
                let record::Claimed { slot, fast_advance, choice, .. } = it;
                let work = self.work(&it.task, it.attempt)?;
                Event::Claimed { work, slot, fast_advance, choice, at: time(it.at) }
            }
            Record::Used(it) => {
                let (work, at) = (self.work(&it.task, it.attempt)?, time(it.at));
                Event::Used { work, used: Box::new(used(it)), at }
            }
            Record::Completed(it) => Event::Completed {
                work: self.work(&it.task, it.attempt)?,
                findings: it.findings.map(Cow::into_owned),
                reviewed: it.judged.map(|judged| self.judged(judged).map(Box::new)).transpose()?,
                at: time(it.at),
            },
            Record::Failed(it) => Event::Failed {
                work: self.work(&it.task, it.attempt)?,
                class: self.class(&it.class, it.until)?,
                error: it.error.into_owned(),
                then: self.then(it.again, it.over)?,
                at: time(it.at),
            },
            Record::Interrupted(it) => Event::Interrupted {
                work: self.work(&it.task, it.attempt)?,
                then: self.then(it.again, it.over)?,
                at: time(it.at),
            },
            Record::Skipped(it) => {
                let (task, at) = (self.task(&it.task)?, time(it.at));
                Event::Skipped { task, reason: self.skip_reason(it)?, at }
            }
            Record::Reset(it) => Event::Reset { tasks: self.tasks(&it.tasks)?, at: time(it.at) },
            Record::Added(it) => Event::Added { tasks: self.tasks(&it.tasks)?, at: time(it.at) },
            Record::Replanned(it) => {
                let removed = it.removed.iter().map(|id| TaskId::parse(id).map_err(|_| self.bad("removed")));
                Event::Replanned {
                    changed: self.tasks(&it.changed)?,
                    removed: removed.collect::<Result<_, _>>()?,
                    plan: PlanMark { digest: it.digest.into_owned(), tasks: it.tasks },
                    at: time(it.at),
                }
            }
            Record::Returned(it) => Event::Returned { tasks: self.tasks(&it.tasks)?, at: time(it.at) },
            Record::Decided(it) => Event::Decided {
                checkpoint: it.checkpoint.map(|task| self.task(&task)).transpose()?,
                action: self.word("action", Some(&it.action), CheckpointAction::from_word)?,
                tasks: self.tasks(&it.tasks)?,
                text: it.text.into_owned(),
                at: time(it.at),
            },
            Record::Cancelled(it) => Event::Cancelled {
                work: self.work(&it.task, it.attempt)?,
                then: self.word("then", Some(&it.then), Cancel::from_word)?,
                reason: it.reason.into_owned(),
                at: time(it.at),
            },
            Record::Advised(it) => {
                Event::Advised { tasks: self.tasks(&it.tasks)?, text: it.text.into_owned(), at: time(it.at) }
            }
            Record::Assigned(it) => {
                let to = Assignment { agent: it.agent.into_owned(), model: it.model.map(Cow::into_owned) };
                Event::Assigned { tasks: self.tasks(&it.tasks)?, to, at: time(it.at) }
            }
            Record::WaveMerged(it) => Event::WaveMerged {
                wave: it.wave,
                then: self.word("then", Some(&it.then), wave_then)?,
                at: time(it.at),
            },
            Record::Limited(it) => Event::Limited { most: it.most, at: time(it.at), group: self.group(it)? },
            Record::Paused(it) => Event::Paused { at: time(it.at), reason: self.pause_reason(it)? },
            Record::Resumed(it) => Event::Resumed { at: at(it) },
            Record::Draining(it) => Event::Draining { at: at(it) },
            Record::Halted(it) => Event::Halted { at: time(it.at), why: self.halt(it)? },
            Record::Stopping(it) => Event::Stopping { at: at(it) },
            Record::Finished(it) => Event::Finished { at: at(it) },
            Record::Unknown => return Err(Unreadable::Unknown(kind(self.line).unwrap_or_default())),
        })
    }

    fn group(&self, it: record::Limited<'_>) -> Result<Group, Unreadable> {
        Ok(match (it.role, it.agent) {
            (Some(role), _) => Group::Role(RoleName::parse(&role).map_err(|_| self.bad("role"))?),
            (None, Some(agent)) => Group::Agent(agent.into_owned()),
            (None, None) => Group::All,
        })
    }

    fn bad(&self, field: &str) -> Unreadable {
        Unreadable::Field { record: kind(self.line).unwrap_or_default(), field: field.to_owned() }
    }

    fn task(&self, name: &str) -> Result<TaskIndex, Unreadable> {
        (self.index)(name).ok_or_else(|| Unreadable::Task(name.to_owned()))
    }

    fn tasks(&self, names: &[Cow<'_, str>]) -> Result<Vec<TaskIndex>, Unreadable> {
        names.iter().map(|name| self.task(name)).collect()
    }

    fn work(&self, task: &str, attempt: u32) -> Result<Work, Unreadable> {
        Ok(Work { task: self.task(task)?, attempt })
    }

    fn word<T>(&self, field: &str, word: Option<&str>, known: impl Fn(&str) -> Option<T>) -> Result<T, Unreadable> {
        word.and_then(known).ok_or_else(|| self.bad(field))
    }

    fn judged(&self, judged: record::Reviewed<'_>) -> Result<Reviewed, Unreadable> {
        let record::Reviewed { verdict, complexity, ask, rejected, send_back, critique } = judged;
        let critique = critique.map(Cow::into_owned);
        let then = match (ask, send_back) {
            (Some(cause), _) => ReviewThen::Ask {
                cause: self.word("ask", Some(&cause), Cause::from_word)?,
                tasks: self.tasks(&rejected)?,
                critique: critique.unwrap_or_default(),
            },
            (None, Some(tasks)) => ReviewThen::SendBack {
                tasks: self.tasks(&tasks)?,
                critique: critique.ok_or_else(|| self.bad("critique"))?,
            },
            (None, None) => ReviewThen::GoOn,
        };
        let verdict = verdict.map(|word| self.word("verdict", Some(&word), Verdict::from_word)).transpose()?;
        let complexity = complexity.map(|word| self.word("complexity", Some(&word), Complexity::from_word));
        Ok(Reviewed { verdict, complexity: complexity.transpose()?, then })
    }

    fn halt(&self, halted: record::Halted<'_>) -> Result<Halt, Unreadable> {
        if let Some(task) = halted.not_logged_in {
            return self.task(&task).map(Halt::NotLoggedIn);
        }
        if halted.part_done {
            return Ok(Halt::PartDone);
        }
        if halted.no_room {
            return Ok(Halt::NoRoom);
        }
        let scope = match (halted.role, halted.task) {
            (Some(role), _) => Scope::Role(RoleName::parse(&role).map_err(|_| self.bad("role"))?),
            (None, Some(task)) => Scope::Task(self.task(&task)?),
            (None, None) => Scope::Run,
        };
        let count = |field, count: Option<Count>| count.map(|Count(count)| count).ok_or_else(|| self.bad(field));
        Ok(Halt::Budget(Box::new(Bound {
            scope,
            measure: self.word("measure", halted.measure.as_deref(), Measure::from_word)?,
            used: count("used", halted.used)?,
            budget: count("budget", halted.budget)?,
            next: count("next", halted.next)?,
        })))
    }

    fn class(&self, word: &str, until: Option<i64>) -> Result<ErrorClass, Unreadable> {
        match word {
            "transient" => Ok(ErrorClass::Transient),
            "quota" => Ok(ErrorClass::Quota { until: until.map(time) }),
            "rejected" => Ok(ErrorClass::Rejected),
            "auth" => Ok(ErrorClass::Auth),
            "shortage" => Ok(ErrorClass::Shortage),
            "budget" => Ok(ErrorClass::Budget),
            "unreachable" => Ok(ErrorClass::Unreachable),
            "fatal" => Ok(ErrorClass::Fatal),
            _ => Err(self.bad("class")),
        }
    }

    fn then(&self, again: Option<i64>, over: bool) -> Result<Then, Unreadable> {
        match again {
            Some(not_before) => Ok(Then::Again { not_before: time(not_before) }),
            None if over => Ok(Then::Over),
            None => Err(self.bad("over")),
        }
    }

    fn pause_reason(&self, paused: record::Paused<'_>) -> Result<PauseReason, Unreadable> {
        match (paused.told, paused.checkpoint) {
            (Some(words), _) => Ok(PauseReason::Told(words.into_owned())),
            (None, Some(task)) => {
                let cause = self.word("cause", paused.cause.as_deref(), Cause::from_word)?;
                Ok(PauseReason::Checkpoint { task: self.task(&task)?, cause })
            }
            (None, None) => paused.wave_failed.map(PauseReason::WaveFailed).ok_or_else(|| self.bad("wave_failed")),
        }
    }

    fn skip_reason(&self, skipped: record::Skipped<'_>) -> Result<SkipReason, Unreadable> {
        if let Some(task) = skipped.dependency_failed {
            return Ok(SkipReason::DependencyFailed(self.task(&task)?));
        }
        if let Some(task) = skipped.too_simple {
            let complexity = self.word("complexity", skipped.complexity.as_deref(), Complexity::from_word)?;
            return Ok(SkipReason::TooSimple(self.task(&task)?, complexity));
        }
        if skipped.switched_off {
            return Ok(SkipReason::SwitchedOff);
        }
        if let Some(task) = skipped.dependency_skipped {
            return Ok(SkipReason::DependencySkipped(self.task(&task)?));
        }
        match skipped.person {
            Some(words) => Ok(SkipReason::Person(words.into_owned())),
            None if skipped.no_dependency_failed => Ok(SkipReason::NoDependencyFailed),
            None => Err(self.bad("no_dependency_failed")),
        }
    }
}

fn used(it: record::Used<'_>) -> Used {
    Used {
        agent: it.agent.into_owned(),
        model: it.model.map(Cow::into_owned),
        session_id: it.session_id.map(Cow::into_owned),
        attach: it.attach.map(Cow::into_owned),
        input: it.tokens_in.0,
        cached: it.tokens_cached.0,
        stored: it.tokens_stored.0,
        output: it.tokens_out.0,
        cost_micros: it.cost_micros.map(|Count(cost)| cost),
        turns: it.turns.map(|Count(turns)| turns),
        wall_ms: it.wall_ms.0,
        is_estimated: it.estimated,
    }
}

fn wave_then(word: &str) -> Option<WaveThen> {
    match word {
        "go_on" => Some(WaveThen::GoOn),
        "ask" => Some(WaveThen::Ask),
        "abort" => Some(WaveThen::Abort),
        _ => None,
    }
}

const fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}
