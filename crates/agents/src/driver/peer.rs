//! The agent's process: one JSON value a line, both ways. What it says is printed as it came before anybody acts on it.

#![expect(clippy::disallowed_methods, reason = "this crate starts the agents")]

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde_json::Value;

use super::door::Told;
use crate::json;
use crate::unix::ends_with_us;

/// A line that is longer is printed, but is no message.
const LINE_BYTES: u64 = 8 << 20;

/// What can be heard in a conversation.
#[derive(Debug)]
pub(super) enum Heard {
    /// The agent said something.
    Said(Value),
    /// The agent will say nothing more.
    Gone,
    /// The agent's process has ended; what it left may go on.
    Ended,
    /// A request to the conversation.
    Told(Told),
}

/// The agent's process.
#[derive(Debug)]
pub(super) struct AgentProcess {
    child: Child,
    input: Option<ChildStdin>,
    /// Closed when all that it said was heard.
    heard: Receiver<()>,
    /// It leads a group of its own: no keeper ends what it leaves.
    leads: bool,
}

impl AgentProcess {
    /// Starts it, in this environment and folder or else in our own. What it says goes to the outbox, and is printed if it
    /// works for us.
    pub(super) fn start(
        command: &[String],
        place: Option<(&[(String, String)], &Path)>,
        outbox: Sender<Heard>,
    ) -> io::Result<Self> {
        let (program, args) =
            command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no program"))?;
        let mut starting = Command::new(program);
        starting.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some((env, cwd)) = place {
            starting.env_clear().envs(env.iter().map(|(name, value)| (name, value))).current_dir(cwd);
            ends_with_us(starting.stderr(Stdio::null()).process_group(0));
        }
        let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot start {program}: {error}"));
        let mut child = starting.spawn().map_err(named)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (hearing, heard) = mpsc::channel();
        if let Some(output) = output {
            let prints = place.is_none();
            thread::spawn(move || {
                listen(output, prints, &outbox);
                drop::<Sender<()>>(hearing);
            });
        }
        Ok(Self { child, input, heard, leads: place.is_some() })
    }

    /// Hands it all of its input. One that does not read it is not waited for.
    pub(super) fn tell_all(&mut self, text: &str) {
        if let Some(mut input) = self.input.take() {
            let text = text.to_owned();
            thread::spawn(move || input.write_all(text.as_bytes()));
        }
    }

    /// Tells the outbox when the process has ended.
    pub(super) fn watch(&self, outbox: Sender<Heard>) {
        let end = self.number().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        thread::spawn(move || {
            if let Some(end) = end {
                while poll(&mut [PollFd::new(&end, PollFlags::IN)], None).is_err() {}
            }
            outbox.send(Heard::Ended)
        });
    }

    /// Waits for its end, and says how it ended: with a code, or by a signal.
    pub(super) fn wait(&mut self) -> Result<u8, i32> {
        match self.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Ok(u8::try_from(code).unwrap_or(1)),
                (None, signal) => Err(signal.unwrap_or(0)),
            },
            Err(_) => Ok(1),
        }
    }

    /// Says something. One that does not listen is heard to be gone.
    pub(super) fn send(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            let _is_gone = input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Says no more, and waits for its end for so long; then it is killed. Its exit code, if it ended by itself. Its last words
    /// are heard meanwhile: some agents fail if their last words are not read.
    pub(super) fn close(&mut self, patience: Duration) -> Option<u8> {
        drop(self.input.take());
        let until = Instant::now() + patience;
        let in_time = self.ends_in(patience);
        if !in_time {
            let _ended_meanwhile = self.child.kill();
        }
        // It was not waited for yet, so its number is still its own and its group's.
        if let Some(group) = self.number().filter(|_| self.leads) {
            let _is_gone = kill_process_group(group, Signal::KILL);
        }
        let status = self.child.wait().ok()?;
        // Processes that it left may hold its output open.
        let _all_is_heard = self.heard.recv_timeout(until.saturating_duration_since(Instant::now()));
        // A signal that we did not send is no good end.
        let code = status.code().map_or(1, |code| u8::try_from(code).unwrap_or(1));
        in_time.then_some(code)
    }

    fn number(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn ends_in(&self, patience: Duration) -> bool {
        let Some(end) = self.number().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return false };
        let timeout = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
        matches!(poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&timeout)), Ok(1..))
    }
}

/// Passes on what an agent says, until it says nothing more. If the conversation is over before, the rest is only printed.
fn listen(output: ChildStdout, prints: bool, outbox: &Sender<Heard>) {
    let (mut output, mut line, mut is_rest) = (BufReader::with_capacity(1 << 16, output), Vec::new(), false);
    loop {
        line.clear();
        match output.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        if prints {
            print(&line);
        }
        let is_whole = line.ends_with(b"\n");
        if !is_rest
            && is_whole
            && let Ok(said @ Value::Object(_)) = json::value(&String::from_utf8_lossy(&line))
        {
            let _is_over = outbox.send(Heard::Said(said));
        }
        is_rest = !is_whole;
    }
    let _is_unheard = outbox.send(Heard::Gone);
}

/// Prints a line for the log. A keeper that is gone ends us anyway.
pub(super) fn print(line: &[u8]) {
    let mut out = io::stdout().lock();
    let _unheard = out.write_all(line).and_then(|()| out.flush());
}
