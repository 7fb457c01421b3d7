//! How programs begin that tests start: with every signal as the system has it, whatever started the tests. `nohup`, a shell's
//! `&` and some CI systems ignore signals, and programs inherit that.

use std::fs;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGKILL, SIGPIPE, SIGSTOP};

/// Lets all programs that this process starts from now on begin with the usual signals. This process itself goes on to ignore
/// what it was started to ignore.
pub fn usual_signals() {
    static DONE: Once = Once::new();
    DONE.call_once(|| ignored().into_iter().for_each(listen_to));
}

/// A program inherits that a signal is ignored, but not that it is listened to. The standard library empties the mask of
/// each program that it starts.
fn listen_to(signal: i32) {
    let heard = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal, heard) {
        panic!("signal {signal} stays ignored: {error}");
    }
}

/// The signals that this process ignores, but for those that cannot be, and for the one that the standard library takes care of.
fn ignored() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let is_ignored = |signal: &i32| mask >> (signal - 1) & 1 == 1;
    (1..32).filter(is_ignored).filter(|signal| ![SIGKILL, SIGPIPE, SIGSTOP].contains(signal)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use crate::Terminal;
    use crate::World;
    use crate::limited::LimitedCommand as _;

    const INTERRUPTED: &str = "signals::tests::program_that_is_interrupted_ends";

    #[test]
    fn program_that_is_interrupted_ends() {
        for signal in ["HUP", "INT", "QUIT", "TERM", "USR1"] {
            let run = World::new("/bin/sh").run(&["-c", &format!("kill -{signal} $$; echo it goes on")]);
            assert_eq!((run.code, run.stdout.as_str()), (None, ""), "{run}");
        }
    }

    #[test]
    fn program_that_is_interrupted_ends_where_tests_ignore_signals() {
        again("trap '' HUP INT QUIT TERM USR1 CHLD; exec \"$0\" --exact \"$1\"", INTERRUPTED);
    }

    const AT_TERMINAL: &str = "signals::tests::tests_outlive_a_terminal";

    #[test]
    fn tests_outlive_a_terminal() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "echo hello"]);
        assert_eq!(Terminal::start(shell).end().0, Some(0));
    }

    #[test]
    fn tests_outlive_a_terminal_where_they_lead_a_session() {
        again("exec setsid --wait \"$0\" --exact \"$1\"", AT_TERMINAL);
    }

    /// Runs one of these tests again, as a script says.
    fn again(script: &str, test: &str) {
        let Ok(tests) = std::env::current_exe() else { panic!("the tests have no path") };
        let output = Command::new("/bin/sh").args(["-c", script]).arg(tests).arg(test).limited_output();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
