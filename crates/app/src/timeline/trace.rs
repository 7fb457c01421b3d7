//! A run in the trace event format: each slot is a thread, with what its workers did; tasks that were ready and waited stand in a
//! process of their own. An arrow leads along the chain that made the run as long as it was.

use std::io::{self, Write};

use serde_json::{Value, json};
use team_executor_core::{Session, Timestamp};

use super::{Bar, Timeline};

/// The process with the slots, and that with the tasks that wait.
const WORKERS: u32 = 1;
const WAITING: u32 = 2;

/// Writes the whole document, an event a line.
pub(super) fn write(timeline: &Timeline, session: &Session, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[", json!({"run": timeline.run}))?;
    let mut is_first = true;
    let mut put = |event: Value| -> io::Result<()> {
        let comma = if std::mem::take(&mut is_first) { "" } else { "," };
        write!(out, "{comma}\n{event}")
    };
    let mut slots: Vec<u32> = timeline.bars.iter().map(|bar| bar.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    for (process, name) in [(WORKERS, "workers"), (WAITING, "ready, waiting for a worker")] {
        put(json!({"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}))?;
    }
    for slot in slots {
        let name = format!("slot {}", slot + 1);
        put(json!({"ph": "M", "name": "thread_name", "pid": WORKERS, "tid": slot + 1, "args": {"name": name}}))?;
    }
    for (nth, bar) in timeline.bars.iter().enumerate() {
        attempt(timeline, session, (nth, bar), &mut put)?;
    }
    for (nth, pair) in timeline.chain.windows(2).enumerate() {
        let (from, to) = (&timeline.bars[pair[0].bar], &timeline.bars[pair[1].bar]);
        let end = |ph: &str, bar: &Bar, at: Timestamp| {
            json!({"ph": ph, "cat": "chain", "name": pair[1].because.words(), "id": nth, "pid": WORKERS,
                   "tid": bar.slot + 1, "ts": micros(timeline, at), "bp": "e"})
        };
        // An arrow begins within a bar.
        put(end("s", from, Timestamp::from_micros((from.over.as_micros() - 1).max(from.started.as_micros()))))?;
        put(end("f", to, to.started))?;
    }
    writeln!(out, "\n]}}")
}

fn attempt(
    timeline: &Timeline,
    session: &Session,
    (nth, bar): (usize, &Bar),
    put: &mut impl FnMut(Value) -> io::Result<()>,
) -> io::Result<()> {
    let task = &session.tasks[bar.task.get()];
    let name = format!("{}.{}", task.id, bar.attempt);
    let at = |at: Timestamp| micros(timeline, at);
    let length = |from: Timestamp, to: Timestamp| at(to) - at(from);
    if bar.ready < bar.started {
        for (ph, when) in [("b", bar.ready), ("e", bar.started)] {
            put(
                json!({"ph": ph, "cat": "waiting", "name": name, "id": nth, "pid": WAITING, "tid": 0, "ts": at(when)}),
            )?;
        }
    }
    let args = json!({"task": task.id.as_str(), "title": task.title, "role": task.role.as_str(), "agent": bar.agent,
                      "attempt": bar.attempt, "outcome": bar.word(), "critical": bar.on_chain,
                      "first_output_us": bar.first_output.map(at)});
    put(json!({"ph": "X", "cat": bar.word(), "name": name, "pid": WORKERS, "tid": bar.slot + 1,
               "ts": at(bar.started), "dur": length(bar.started, bar.over), "args": args}))?;
    if bar.ended < bar.over {
        put(json!({"ph": "X", "cat": "checking", "name": "checked", "pid": WORKERS, "tid": bar.slot + 1,
                   "ts": at(bar.ended), "dur": length(bar.ended, bar.over)}))?;
    }
    Ok(())
}

fn micros(timeline: &Timeline, at: Timestamp) -> i64 {
    at.as_micros().saturating_sub(timeline.began.as_micros())
}
