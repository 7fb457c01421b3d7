//! What a user sees of a mistake in this program: one line, and that nothing is lost. If a run goes on, the run's folder gets
//! a report with the last lines of the log.

use std::backtrace::Backtrace;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};

use team_executor_app::EXECUTOR;
use team_executor_beneath::{How, free, io_error, open_ours};

use crate::exit::Exit;
use crate::face::keys;
use crate::{escape, log};

/// From now on a panic in any thread ends the program with a line that can be reported. Workers are ended by their keepers,
/// and the run is continued by the same command, as after any other sudden end.
pub(crate) fn catch() {
    std::panic::set_hook(Box::new(|panic| {
        keys::restore_if_free();
        // Nothing can be done for a terminal or a disk that cannot be written to.
        let report = log::last().and_then(|(run, lines)| report(&run, panic, &lines).ok());
        std::io::stderr().lock().write_all(words(panic, report.as_deref()).as_bytes()).ok();
        #[expect(clippy::exit, reason = "whatever the other threads believe may be wrong")]
        std::process::exit(i32::from(Exit::Bug.code()));
    }));
}

fn words(panic: &PanicHookInfo<'_>, report: Option<&Path>) -> String {
    let what = panic.payload_as_str().unwrap_or("unknown");
    let line = escape::line(&format!("{} has a bug: {what}{}", version(), place(panic)));
    let report = report.map(|report| format!(" with {}", escape::line(&report.display().to_string())));
    format!(
        "\r\u{1b}[Jerror: {line}\nhelp: nothing that was completed is lost: the same command continues; please report this line{}\n",
        report.unwrap_or_default()
    )
}

/// Writes a report beside the journal of a run, and says where. It lacks the words of the panic: they may quote a text.
fn report(run: &Path, panic: &PanicHookInfo<'_>, lines: &[String]) -> std::io::Result<PathBuf> {
    let folder = run.join(EXECUTOR);
    let dir = open_ours(&folder)?;
    let make = |name: &str| free::unless_taken(dir.file(name, How::CreateNew));
    let (name, mut file) = free::numbered("crash", make).map_err(io_error)?;
    write!(file, "{} has a bug{}\n\nThe last lines of the log:\n{}", version(), place(panic), lines.concat())?;
    write!(file, "\nWhere it happened:\n{}", Backtrace::force_capture())?;
    Ok(folder.join(name))
}

fn version() -> String {
    format!("team-executor {}", env!("CARGO_PKG_VERSION"))
}

fn place(panic: &PanicHookInfo<'_>) -> String {
    panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    const CHILD: &str = "TEAM_EXECUTOR_TEST_BUG";
    const RUN: &str = "TEAM_EXECUTOR_TEST_RUN";

    fn crashed(run: Option<&std::path::Path>) -> std::process::Output {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "bug::tests::a_bug_is_one_line_with_a_help_and_a_code_of_its_own", "--nocapture"]);
        child.envs(run.map(|run| (RUN, run))).env_remove("TEAM_EXECUTOR_LOG");
        child.env(CHILD, "1").env("RUST_BACKTRACE", "1").output().unwrap()
    }

    #[test]
    fn report_of_a_crash_has_the_last_hundred_lines() {
        let run = tempfile::tempdir().unwrap();
        std::fs::create_dir(run.path().join(".executor")).unwrap();
        for name in ["crash-1", "crash-2"] {
            let output = crashed(Some(run.path()));
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.trim_end().ends_with(&format!(".executor/{name}")), "{said}");
            let report = std::fs::read_to_string(run.path().join(".executor").join(name)).unwrap();
            let nth = |nth: u32| report.contains(&format!("told nth={nth}\n"));
            assert_eq!((nth(19), nth(20), nth(119)), (false, true, true), "{report}");
            assert!(!report.contains("every task") && !report.contains("luck"), "{report}");
            assert!(report.contains("Where it happened:\n   0: "), "{report}");
        }
    }

    /// Runs itself: what ends a process is seen from another.
    ///
    /// R: X-04
    #[test]
    fn a_bug_is_one_line_with_a_help_and_a_code_of_its_own() {
        if std::env::var_os(CHILD).is_some() {
            super::catch();
            if let Some(run) = std::env::var_os(RUN) {
                crate::log::begin(None).unwrap();
                tracing::info!(run_folder = run.to_str(), "opened");
                (0..120).for_each(|nth| tracing::info!(nth, "told"));
                tracing::debug!("comes with every task");
            }
            let in_a_thread = std::thread::spawn(|| panic!("no \u{1b}[31mluck"));
            in_a_thread.join().ok();
            return;
        }
        let output = crashed(None);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(70), "{said}");
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert!(lines[0].contains("has a bug: no ␛[31mluck at "), "{said}");
        assert!(lines[1].starts_with("help: "), "{said}");
    }
}
