//! An agent that does not converse: it gets its task, and ends. If it owes a report then, it is asked for that once, by taking
//! up its session: that costs one turn, and another attempt would cost the whole task.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;
use team_executor_beneath::ours;

use super::Brief;
use super::first_start::FirstStart;
use super::peer::{AgentProcess, Heard};
use super::talk::{again, mark, wall_clock};
use crate::adapters::Stream;
use crate::unix::{end_by, let_others_end_first};

/// How long the last words of an agent that has ended are waited for: what it left may hold its output open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs the agent to its end. Its exit code, or why there was none.
pub(super) fn hold(brief: &Brief, prompt: &str) -> Result<u8, String> {
    // Ending the attempt also ends the agent, which may have something to say.
    let_others_end_first();
    let mut stream = Stream::default();
    let resumed = brief.resume.as_deref().map(|session| brief.adapter.resumed(&brief.command, session));
    let mut ended = run(brief, resumed.as_deref().unwrap_or(&brief.command), prompt, &mut stream)?;
    if resumed.is_some() && (stream.usage.session_id.is_none() || stream.knows_no_session()) {
        note(brief, &mut stream, "not resumed", &json!({}));
        ended = run(brief, &brief.command, prompt, &mut stream)?;
    }
    if let Some((session, wrong)) = owed(brief, &stream).filter(|_| ended.is_ok()) {
        note(brief, &mut stream, "asked again", &json!({"wrong": wrong}));
        note(brief, &mut stream, "prompted", &json!({}));
        let command = brief.adapter.resumed(&brief.command, &session);
        ended = run(brief, &command, &again(&wrong), &mut stream)?;
    }
    ended.or_else(|signal| {
        // As it ended, so that the keeper sees it.
        end_by(signal);
        Ok(1)
    })
}

/// One process of the agent: its exit code, or the signal that ended it.
fn run(brief: &Brief, command: &[String], input: &str, stream: &mut Stream) -> Result<Result<u8, i32>, String> {
    let (outbox, inbox) = mpsc::channel();
    let mut first_start = FirstStart::wait(brief.adapter);
    let mut peer = AgentProcess::start(command, None, outbox.clone()).map_err(|error| error.to_string())?;
    peer.watch(outbox);
    peer.tell_all(input);
    let (mut until, mut is_heard) = (None::<Instant>, false);
    loop {
        let heard = match until {
            None => inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            Some(until) => inbox.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        match heard {
            Ok(Heard::Said(said)) => {
                drop(first_start.take());
                brief.adapter.hear(stream, &said, wall_clock());
            }
            Ok(Heard::Gone) if until.is_some() => break,
            Ok(Heard::Gone) => is_heard = true,
            Ok(Heard::Ended) if is_heard => break,
            Ok(Heard::Ended) => until = Some(Instant::now() + LAST_WORDS),
            Ok(Heard::Told(_)) => {}
            Err(_) => break,
        }
    }
    Ok(peer.wait())
}

/// What is wrong with the report that the agent owes, and the session to ask in; nothing if there is nothing to ask for, or it
/// would not help.
fn owed(brief: &Brief, stream: &Stream) -> Option<(String, Vec<String>)> {
    let wrong = stream.wrong();
    let is_owed = stream.finished && stream.ok && !wrong.is_empty() && ours::look_at(&brief.result).is_err();
    let session = stream.usage.session_id.clone().filter(|_| is_owed)?;
    Some((session, wrong))
}

fn note(brief: &Brief, stream: &mut Stream, what: &str, rest: &serde_json::Value) {
    let event = mark(what, rest);
    brief.adapter.hear(stream, &event, wall_clock());
}
