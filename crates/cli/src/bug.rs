//! What a user sees of a mistake in this program: one line, and that nothing is lost.

use std::io::Write;
use std::panic::PanicHookInfo;

use crate::escape;
use crate::exit::Exit;

/// From now on a panic in any thread ends the program with a line that can be reported. Workers are ended by their keepers,
/// and the run is continued by the same command, as after any other sudden end.
pub(crate) fn catch() {
    std::panic::set_hook(Box::new(|panic| {
        // Nothing can be done for a terminal that cannot be written to.
        std::io::stderr().lock().write_all(words(panic).as_bytes()).ok();
        #[expect(clippy::exit, reason = "whatever the other threads believe may be wrong")]
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}

fn words(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("unknown");
    let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    let line = escape::line(&format!("team-executor {} has a bug: {what}{place}", env!("CARGO_PKG_VERSION")));
    format!(
        "\r\u{1b}[Jerror: {line}\nhelp: nothing that was completed is lost: the same command continues; please report this line\n"
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    const CHILD: &str = "TEAM_EXECUTOR_TEST_BUG";

    /// Runs itself: what ends a process is seen from another.
    ///
    /// R: X-04
    #[test]
    fn a_bug_is_one_line_with_a_help_and_a_code_of_its_own() {
        if std::env::var_os(CHILD).is_some() {
            super::catch();
            let in_a_thread = std::thread::spawn(|| panic!("no \u{1b}[31mluck"));
            in_a_thread.join().ok();
            return;
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "bug::tests::a_bug_is_one_line_with_a_help_and_a_code_of_its_own", "--nocapture"]);
        let output = child.env(CHILD, "1").env("RUST_BACKTRACE", "1").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(70), "{said}");
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert!(lines[0].contains("has a bug: no ␛[31mluck at "), "{said}");
        assert!(lines[1].starts_with("help: "), "{said}");
    }
}
