//! From an event to its record.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use team_executor_core::run::{
    Assignment, Bound, ErrorClass, Event, Group, Halt, PauseReason, ReviewThen, Reviewed, Scope, SkipReason, Then,
    Used, WaveThen,
};
use team_executor_core::{TaskIndex, Timestamp};

use super::Aside;
use super::record::{self, At, Attempts, Count, Record};

/// The record of an event, on one line.
pub fn write<'i>(event: &Event, id: impl Fn(TaskIndex) -> &'i str) -> String {
    write_with(event, id, &Aside::default())
}

/// The same, with what those who look at a run want to know besides.
pub fn write_with<'i>(event: &Event, id: impl Fn(TaskIndex) -> &'i str, aside: &Aside<'_>) -> String {
    let mut record = record(event, |task| Cow::Borrowed(id(task)));
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_micros);
    let times = (micros(aside.first_output), micros(aside.ended));
    match &mut record {
        Record::Claimed(claimed) => claimed.agent = aside.agent.map(Cow::Borrowed),
        Record::Completed(it) => (it.first_output, it.ended) = times,
        Record::Failed(it) => (it.first_output, it.ended) = times,
        Record::Interrupted(it) => (it.first_output, it.ended) = times,
        _ => {}
    }
    line(&record)
}

/// How the record of an event of that type begins, if it is about an attempt.
pub(super) fn begins(kind: &str, task: &str, attempt: u32) -> String {
    #[derive(Serialize)]
    struct Begins<'a> {
        r#type: &'a str,
        task: &'a str,
        attempt: u32,
    }
    let mut begins = line(&Begins { r#type: kind, task, attempt });
    begins.pop(); // what follows is not known
    begins
}

/// The same for any attempt at a task.
pub(super) fn begins_of(kind: &str, task: &str) -> String {
    let begins = begins(kind, task, 0);
    begins.strip_suffix('0').unwrap_or(&begins).to_owned()
}

fn line(record: &impl Serialize) -> String {
    let mut line = Vec::with_capacity(128);
    // Texts, numbers and objects with texts as keys can always be written.
    record.serialize(&mut Serializer::with_formatter(&mut line, Visible)).ok();
    String::from_utf8(line).unwrap_or_default()
}

fn record<'e>(event: &'e Event, id: impl Fn(TaskIndex) -> Cow<'e, str>) -> Record<'e> {
    let at = event.at().as_micros();
    let ids = |tasks: &[TaskIndex]| tasks.iter().map(|task| id(*task)).collect();
    match event {
        Event::Began { .. } => Record::Began(At { at }),
        Event::Recovered { .. } => Record::Recovered(At { at }),
        Event::Intended { works, .. } => {
            let tasks = works.iter().map(|work| (id(work.task), work.attempt));
            Record::Intended(record::Intended { tasks: Attempts(tasks.collect()), at })
        }
        Event::Doubted { .. } => Record::Doubted(At { at }),
        Event::Claimed { work, slot, fast_advance, choice, .. } => Record::Claimed(record::Claimed {
            task: id(work.task),
            attempt: work.attempt,
            slot: *slot,
            fast_advance: *fast_advance,
            choice: *choice,
            at,
            agent: None,
        }),
        Event::Used { work, used, .. } => Record::Used(self::used(id(work.task), work.attempt, used, at)),
        Event::Completed { work, findings, reviewed: judged, .. } => Record::Completed(record::Completed {
            task: id(work.task),
            attempt: work.attempt,
            findings: findings.as_deref().map(Cow::Borrowed),
            judged: judged.as_deref().map(|judged| self::judged(judged, ids)),
            at,
            first_output: None,
            ended: None,
        }),
        Event::Failed { work, class, error, then, .. } => Record::Failed(record::Failed {
            task: id(work.task),
            attempt: work.attempt,
            class: class_word(*class).into(),
            until: if let ErrorClass::Quota { until } = class { until.map(|until| until.as_micros()) } else { None },
            error: error.into(),
            again: again(*then),
            over: *then == Then::Over,
            at,
            first_output: None,
            ended: None,
        }),
        Event::Interrupted { work, then, .. } => Record::Interrupted(record::Interrupted {
            task: id(work.task),
            attempt: work.attempt,
            again: again(*then),
            over: *then == Then::Over,
            at,
            first_output: None,
            ended: None,
        }),
        Event::Skipped { task, reason, .. } => Record::Skipped(skipped(id(*task), reason, at, id)),
        Event::Reset { tasks, .. } => Record::Reset(record::Tasks { tasks: ids(tasks), at }),
        Event::Added { tasks, .. } => Record::Added(record::Tasks { tasks: ids(tasks), at }),
        Event::Replanned { changed, removed, plan, .. } => Record::Replanned(record::Replanned {
            changed: ids(changed),
            removed: removed.iter().map(|task| task.as_str().into()).collect(),
            digest: plan.digest.as_str().into(),
            tasks: plan.tasks,
            at,
        }),
        Event::Returned { tasks, .. } => Record::Returned(record::Tasks { tasks: ids(tasks), at }),
        Event::Decided { checkpoint, action, tasks, text, .. } => Record::Decided(record::Decided {
            checkpoint: checkpoint.map(&id),
            action: action.word().into(),
            tasks: ids(tasks),
            text: text.into(),
            at,
        }),
        Event::Cancelled { work, then, reason, .. } => Record::Cancelled(record::Cancelled {
            task: id(work.task),
            attempt: work.attempt,
            then: then.word().into(),
            reason: reason.into(),
            at,
        }),
        Event::Advised { tasks, text, .. } => {
            Record::Advised(record::Advised { tasks: ids(tasks), text: text.into(), at })
        }
        Event::Assigned { tasks, to: Assignment { agent, model }, .. } => Record::Assigned(record::Assigned {
            tasks: ids(tasks),
            agent: agent.into(),
            model: model.as_deref().map(Cow::Borrowed),
            at,
        }),
        Event::WaveMerged { wave, then, .. } => {
            Record::WaveMerged(record::WaveMerged { wave: *wave, then: wave_word(*then).into(), at })
        }
        Event::Limited { group, most, .. } => {
            let (role, agent) = match group {
                Group::All => (None, None),
                Group::Role(role) => (Some(Cow::Borrowed(role.as_str())), None),
                Group::Agent(agent) => (None, Some(Cow::Borrowed(agent.as_str()))),
            };
            Record::Limited(record::Limited { role, agent, most: *most, at })
        }
        Event::Paused { reason, .. } => Record::Paused(paused(reason, at, id)),
        Event::Resumed { .. } => Record::Resumed(At { at }),
        Event::Draining { .. } => Record::Draining(At { at }),
        Event::Halted { why, .. } => Record::Halted(halted(why, at, id)),
        Event::Stopping { .. } => Record::Stopping(At { at }),
        Event::Finished { .. } => Record::Finished(At { at }),
    }
}

fn used<'e>(task: Cow<'e, str>, attempt: u32, used: &'e Used, at: i64) -> record::Used<'e> {
    record::Used {
        task,
        attempt,
        agent: (&used.agent).into(),
        model: used.model.as_deref().map(Cow::Borrowed),
        session_id: used.session_id.as_deref().map(Cow::Borrowed),
        attach: used.attach.as_deref().map(Cow::Borrowed),
        tokens_in: Count(used.input),
        tokens_cached: Count(used.cached),
        tokens_out: Count(used.output),
        wall_ms: Count(used.wall_ms),
        cost_micros: used.cost_micros.map(Count),
        turns: used.turns.map(Count),
        tokens_stored: Count(used.stored),
        estimated: used.is_estimated,
        at,
    }
}

fn judged<'e>(judged: &'e Reviewed, ids: impl Fn(&[TaskIndex]) -> Vec<Cow<'e, str>>) -> record::Reviewed<'e> {
    let said = record::Reviewed {
        verdict: judged.verdict.map(|verdict| verdict.word().into()),
        complexity: judged.complexity.map(|complexity| complexity.word().into()),
        ..record::Reviewed::default()
    };
    match &judged.then {
        ReviewThen::GoOn => said,
        ReviewThen::Ask { cause, tasks, critique } => {
            let critique = (!critique.is_empty()).then_some(critique.into());
            record::Reviewed { ask: Some(cause.word().into()), rejected: ids(tasks), critique, ..said }
        }
        ReviewThen::SendBack { tasks, critique } => {
            record::Reviewed { send_back: Some(ids(tasks)), critique: Some(critique.into()), ..said }
        }
    }
}

fn skipped<'e>(
    task: Cow<'e, str>,
    reason: &'e SkipReason,
    at: i64,
    id: impl Fn(TaskIndex) -> Cow<'e, str>,
) -> record::Skipped<'e> {
    let mut record = record::Skipped { task, at, ..record::Skipped::default() };
    match reason {
        SkipReason::DependencyFailed(on) => record.dependency_failed = Some(id(*on)),
        SkipReason::DependencySkipped(on) => record.dependency_skipped = Some(id(*on)),
        SkipReason::NoDependencyFailed => record.no_dependency_failed = true,
        SkipReason::TooSimple(by, complexity) => {
            (record.too_simple, record.complexity) = (Some(id(*by)), Some(complexity.word().into()));
        }
        SkipReason::SwitchedOff => record.switched_off = true,
        SkipReason::Person(words) => record.person = Some(words.into()),
    }
    record
}

fn paused<'e>(reason: &'e PauseReason, at: i64, id: impl Fn(TaskIndex) -> Cow<'e, str>) -> record::Paused<'e> {
    let mut record = record::Paused { at, ..record::Paused::default() };
    match reason {
        PauseReason::Told(words) => record.told = Some(words.into()),
        PauseReason::WaveFailed(wave) => record.wave_failed = Some(*wave),
        PauseReason::Checkpoint { task, cause } => {
            (record.checkpoint, record.cause) = (Some(id(*task)), Some(cause.word().into()));
        }
    }
    record
}

fn halted<'e>(why: &'e Halt, at: i64, id: impl Fn(TaskIndex) -> Cow<'e, str>) -> record::Halted<'e> {
    let mut record = record::Halted { at, ..record::Halted::default() };
    match why {
        Halt::Budget(bound) => {
            let Bound { scope, measure, used, budget, next } = &**bound;
            match scope {
                Scope::Run => {}
                Scope::Role(role) => record.role = Some(role.as_str().into()),
                Scope::Task(task) => record.task = Some(id(*task)),
            }
            record.measure = Some(measure.word().into());
            (record.used, record.budget) = (Some(Count(*used)), Some(Count(*budget)));
            record.next = Some(Count(*next));
        }
        Halt::NotLoggedIn(task) => record.not_logged_in = Some(id(*task)),
        Halt::NoRoom => record.no_room = true,
        Halt::PartDone => record.part_done = true,
    }
    record
}

const fn again(then: Then) -> Option<i64> {
    match then {
        Then::Again { not_before } => Some(not_before.as_micros()),
        Then::Over => None,
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

/// JSON on one line in which every control character is escaped, also those that JSON would let stand.
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // Both begin with a byte that is rare.
        if !fragment.bytes().any(|byte| matches!(byte, 0x7f | 0xc2)) {
            return out.write_all(fragment.as_bytes());
        }
        for letter in fragment.chars() {
            if letter.is_control() { write!(out, "\\u{:04x}", u32::from(letter)) } else { write!(out, "{letter}") }?;
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + io::Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::Backspace => out.write_all(b"\\u0008"),
            CharEscape::FormFeed => out.write_all(b"\\u000c"),
            escape => CompactFormatter.write_char_escape(out, escape),
        }
    }
}
