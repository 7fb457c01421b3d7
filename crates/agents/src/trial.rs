//! A program that is run for a moment to see what it answers, before anything depends on it. Not a worker: it is given nothing
//! to do that could leave something behind.

#![expect(clippy::disallowed_methods, reason = "this crate starts the agents")]

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::exit::{Ended, Limit};
use crate::unix::ends_with_us;

/// The most that is kept of an answer, of each stream.
const ANSWER_BYTES: usize = 1 << 20;

/// What a program answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub out: Vec<u8>,
    /// What it printed as an error.
    pub err: Vec<u8>,
}

/// Runs a program with this environment and a short input, and waits for its end, or ends it and its group when it takes
/// too long.
pub fn ask(
    command: (&Path, &[String]),
    env: &[(String, String)],
    cwd: &Path,
    input: &str,
    limit: Duration,
) -> io::Result<Answer> {
    ask_for(command, env, cwd, input, (limit, ANSWER_BYTES))
}

/// The same, with a bound of what is kept of each stream.
pub(crate) fn ask_for(
    command: (&Path, &[String]),
    env: &[(String, String)],
    cwd: &Path,
    input: &str,
    (limit, most): (Duration, usize),
) -> io::Result<Answer> {
    let mut starting = Command::new(command.0);
    starting
        .args(command.1)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = ends_with_us(&mut starting).spawn()?;
    let listened = listen(&mut child, input, (limit, most));
    // It was not waited for yet, so its number is still its own and its group's.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _is_gone = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait()?;
    let (in_time, [out, err]) = listened?;
    let ended = match (in_time, status.code(), status.signal()) {
        (false, ..) => Ended::Limit(Limit::Total),
        (true, Some(code), _) => Ended::Exit(code),
        (true, None, signal) => Ended::Signal(signal.unwrap_or_default()),
    };
    Ok(Answer { ended, out, err })
}

/// What a program prints until it ends, and whether it did in time.
fn listen(child: &mut Child, input: &str, (limit, most): (Duration, usize)) -> io::Result<(bool, [Vec<u8>; 2])> {
    let deadline = Instant::now() + limit;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not listen may still answer.
        let _is_heard = stdin.write_all(input.as_bytes());
    }
    let missing = || io::Error::other("its output cannot be read");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(missing)?;
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let (out, err) = (child.stdout.take().ok_or_else(missing)?, child.stderr.take().ok_or_else(missing)?);
    let pipes = [out.as_fd(), err.as_fd()];
    let (mut kept, mut open) = ([Vec::new(), Vec::new()], [true, true]);
    let mut buffer = [0; 8192];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = vec![PollFd::new(&end, PollFlags::IN)];
        let which: Vec<usize> = (0..2).filter(|nth| open[*nth]).collect();
        fds.extend(which.iter().map(|nth| PollFd::from_borrowed_fd(pipes[*nth], PollFlags::IN)));
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return Ok((false, kept)),
            Err(rustix::io::Errno::INTR) => continue,
            ready => drop(ready?),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut printed = false;
        for (nth, _) in which.iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            let count = rustix::io::read(pipes[*nth], &mut buffer).unwrap_or(0);
            open[*nth] = count > 0;
            printed |= count > 0;
            let room = most.saturating_sub(kept[*nth].len());
            kept[*nth].extend_from_slice(&buffer[..count.min(room)]);
        }
        // Output from before its end is read first; other holders of the pipes are not waited for.
        if ready[0] && !printed {
            return Ok((true, kept));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &str, limit: Duration) -> Answer {
        let (args, env) = (["-c".to_owned(), script.to_owned()], [("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        ask((Path::new("/bin/sh"), &args), &env, Path::new("/"), input, limit).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn trial_keeps_output_and_exit() {
        let answer = sh("cat; echo oops >&2; exit 3", "hello", LONG);
        let expected = Answer { ended: Ended::Exit(3), out: b"hello".to_vec(), err: b"oops\n".to_vec() };
        assert_eq!(answer, expected);
        assert_eq!(sh("kill -9 $$", "", LONG).ended, Ended::Signal(9));
        assert!(ask((Path::new("/no/such"), &[]), &[], Path::new("/"), "", LONG).is_err());
    }

    #[test]
    fn slow_trial_is_ended_and_leftovers_do_not_delay() {
        assert_eq!(sh("exec sleep 600", "", Duration::from_millis(1)).ended, Ended::Limit(Limit::Total));
        assert_eq!(sh("sleep 600 & echo done", "", LONG).out, b"done\n");
    }

    #[test]
    fn a_flood_is_cut() {
        let answer = sh("head -c 3000000 /dev/zero", "", LONG);
        assert_eq!((answer.ended, answer.out.len()), (Ended::Exit(0), ANSWER_BYTES));
    }
}
