//! Waiting with a limit. A process that does not end in time is killed with all of its descendants, and the test that waited
//! for it fails and says so.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::must;
use crate::tree::children;

/// Longer than anything may take, also on a machine that has much else to do.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A program that is run to its end, at most for two minutes.
pub trait LimitedCommand {
    /// As `output`, without input and with both outputs; a program that cannot be started is a failed test.
    fn limited_output(&mut self) -> Output;
    /// As `status`; a program that cannot be started is a failed test.
    fn limited_status(&mut self) -> ExitStatus;
}

/// A process that is waited for, at most for two minutes.
pub trait LimitedChild {
    /// As `wait`.
    fn limited_wait(&mut self) -> ExitStatus;
    /// As `wait_with_output`.
    fn limited_output(self) -> Output;
}

/// Lines that are waited for, each at most for two minutes.
pub trait LimitedLines {
    /// The next line without its end; nothing if no more can come.
    fn limited_line(&mut self) -> Option<String>;
}

/// Looks again and again until something is seen that cannot be waited for in another way.
#[track_caller]
pub fn limited_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let latest = Instant::now() + LIMIT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < latest, "{LIMIT:?} have passed, and not yet: {what}");
        std::thread::yield_now();
    }
}

impl LimitedCommand for Command {
    #[track_caller]
    fn limited_output(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        started(self).limited_output()
    }

    #[track_caller]
    fn limited_status(&mut self) -> ExitStatus {
        started(self).limited_wait()
    }
}

#[track_caller]
fn started(command: &mut Command) -> Child {
    crate::usual_signals();
    let child = command.spawn();
    must("starting", Path::new(command.get_program()), child)
}

impl LimitedChild for Child {
    #[track_caller]
    fn limited_wait(&mut self) -> ExitStatus {
        end_of(self, LIMIT)
    }

    #[track_caller]
    fn limited_output(self) -> Output {
        output_of(self, LIMIT)
    }
}

#[track_caller]
fn end_of(child: &mut Child, limit: Duration) -> ExitStatus {
    drop(child.stdin.take());
    let name = Path::new("a process");
    if let Some(status) = must("waiting for", name, child.try_wait()) {
        return status;
    }
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    let process = must("watching", name, process.map_err(Into::into));
    if !is_ready(process.as_fd(), Instant::now() + limit) {
        give_up(child, limit, "");
    }
    must("waiting for", name, child.wait())
}

/// Reads all that a process prints, and waits for its end.
#[track_caller]
pub(crate) fn output_of(mut child: Child, limit: Duration) -> Output {
    drop(child.stdin.take());
    let latest = Instant::now() + limit;
    let outputs = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let mut outputs = outputs.map(|output| (output.map(File::from), Vec::new()));
    while outputs.iter().any(|(open, _)| open.is_some()) {
        if !read_some(&mut outputs, latest) {
            let said: String = outputs.iter().map(|(_, said)| String::from_utf8_lossy(said)).collect();
            give_up(&mut child, limit, &said);
        }
    }
    let status = end_of(&mut child, limit);
    let [(_, stdout), (_, stderr)] = outputs;
    Output { status, stdout, stderr }
}

/// Reads what is there of the outputs that are open, and says whether there was something or an end in time.
#[track_caller]
fn read_some(outputs: &mut [(Option<File>, Vec<u8>); 2], latest: Instant) -> bool {
    let files = outputs.iter().filter_map(|(open, _)| open.as_ref());
    let mut waited: Vec<_> = files.map(|file| PollFd::new(file, PollFlags::IN)).collect();
    if poll_until(&mut waited, latest) == 0 {
        return false;
    }
    let ready: Vec<bool> = waited.iter().map(|one| !one.revents().is_empty()).collect();
    for ((open, said), _) in
        outputs.iter_mut().filter(|(open, _)| open.is_some()).zip(ready).filter(|(_, ready)| *ready)
    {
        let mut bytes = [0; 65536];
        let count = open.as_mut().map_or(Ok(0), |file| file.read(&mut bytes));
        match must("reading", Path::new("an output"), count) {
            0 => *open = None,
            count => said.extend_from_slice(&bytes[..count]),
        }
    }
    true
}

impl<R: Read + AsFd> LimitedLines for BufReader<R> {
    #[track_caller]
    fn limited_line(&mut self) -> Option<String> {
        line_of(self, LIMIT)
    }
}

#[track_caller]
fn line_of<R: Read + AsFd>(from: &mut BufReader<R>, limit: Duration) -> Option<String> {
    let latest = Instant::now() + limit;
    let mut line = Vec::new();
    loop {
        if from.buffer().is_empty() {
            let said = String::from_utf8_lossy(&line);
            assert!(is_ready(from.get_ref().as_fd(), latest), "no whole line came within {limit:?}: {said:?}");
        }
        let bytes = must("reading", Path::new("a line"), from.fill_buf());
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..count]);
        from.consume(count);
        if end.is_some() || count == 0 {
            let text = String::from_utf8_lossy(&line);
            return (!line.is_empty()).then(|| text.trim_end_matches('\n').to_owned());
        }
    }
}

/// Waits until something can be read, or has ended.
#[track_caller]
pub(crate) fn is_ready(file: BorrowedFd<'_>, latest: Instant) -> bool {
    poll_until(&mut [PollFd::from_borrowed_fd(file, PollFlags::IN)], latest) > 0
}

/// How many are ready in time. A signal does not end it.
#[track_caller]
fn poll_until(waited: &mut [PollFd<'_>], latest: Instant) -> usize {
    let ready = retry_on_intr(|| {
        let left = latest.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        poll(waited, Some(&left))
    });
    must("waiting for", Path::new("a file"), ready.map_err(Into::into))
}

#[track_caller]
fn give_up(child: &mut Child, limit: Duration, said: &str) -> ! {
    let process = child.id();
    let line = command_line(process);
    kill_tree(process);
    let _reaped = child.wait();
    panic!("killed process {process}, which did not end within {limit:?}: {line}\n{said}");
}

fn command_line(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Kills a process and all that descend from it.
fn kill_tree(process: u32) {
    let parents: BTreeMap<u32, u32> = processes().filter_map(|one| Some((one, parent(one)?))).collect();
    let mut tree = vec![process];
    let mut next = 0;
    while let Some(one) = tree.get(next).copied() {
        next += 1;
        tree.extend(parents.iter().filter(|(_, parent)| **parent == one).map(|(child, _)| *child));
    }
    tree.into_iter().for_each(kill);
}

/// Kills a process that may be gone already.
pub(crate) fn kill(process: u32) {
    let _gone = process.try_into().ok().and_then(Pid::from_raw).map(|process| kill_process(process, Signal::KILL));
}

/// The number of every process.
pub(crate) fn processes() -> impl Iterator<Item = u32> {
    children(Path::new("/proc")).into_iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok())
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pulse;

    /// A process that does not end, and its child; both live while the pulse does.
    fn endless(pulse: &mut Pulse) -> Child {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "exec 3>\"$0\"; echo begun; (printf . >&3; exec sleep 600) & printf . >&3; wait"]);
        let child = shell.arg(pulse.arg()).stdout(Stdio::piped()).spawn().unwrap();
        pulse.wait_alive(2);
        child
    }

    fn message(waited: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let failed = std::panic::catch_unwind(waited).unwrap_err();
        failed.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn process_over_its_limit_is_killed_with_its_child_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let short = Duration::from_millis(50);
        for is_read in [true, false] {
            let mut pulse = Pulse::new(dir.path().join(format!("pulse-{is_read}")));
            let mut child = endless(&mut pulse);
            let said = message(move || {
                if is_read {
                    drop(output_of(child, short))
                } else {
                    end_of(&mut child, short);
                }
            });
            assert!(said.contains("did not end within 50ms: /bin/sh -c "), "{said}");
            assert_eq!(said.ends_with("\nbegun\n"), is_read, "{said}");
            pulse.wait_dead();
        }
    }

    #[test]
    fn both_outputs_and_the_status_are_gathered() {
        let mut shell = Command::new("/bin/sh");
        let output = shell.args(["-c", "head -c 300000 /dev/zero; echo bad >&2; exit 3"]).limited_output();
        assert_eq!((output.stdout.len(), &*output.stderr, output.status.code()), (300_000, &b"bad\n"[..], Some(3)));
        assert_eq!(Command::new("/bin/false").limited_status().code(), Some(1));
        let mut child = Command::new("/bin/true").spawn().unwrap();
        assert!(child.limited_wait().success() && child.limited_wait().success());
    }

    #[test]
    fn line_that_does_not_end_in_time_is_a_failure() {
        let (read, mut write) = std::io::pipe().unwrap();
        let mut lines = BufReader::new(read);
        std::io::Write::write_all(&mut write, b"one\n\nha").unwrap();
        assert_eq!((lines.limited_line().as_deref(), lines.limited_line().as_deref()), (Some("one"), Some("")));
        let mut rest = lines;
        let said = message(move || drop(line_of(&mut rest, Duration::from_millis(50))));
        assert_eq!(said, "no whole line came within 50ms: \"ha\"");
    }
}
