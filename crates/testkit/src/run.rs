//! One finished run of the program.

use std::fmt;
use std::process::Output;

/// The output of a run and how it ended. As text it is whole: nothing that a user would see is left out, and
/// nothing that differs between two runs is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Exactly what it wrote to standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// Exactly what it wrote to standard error; what is not UTF-8 is replaced.
    pub stderr: String,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    shown: String,
}

impl Run {
    /// Puts together what was seen; each of `names` is a path and what is shown for it.
    pub(crate) fn new(program: &str, args: &[&str], output: &Output, names: &[(&str, &str)]) -> Self {
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let words: Vec<_> = std::iter::once(program).chain(args.iter().copied()).map(quoted).collect();
        let text = format!(
            "$ {}\n{}{}[{}]\n",
            words.join(" "),
            section("stdout", &stdout),
            section("stderr", &stderr),
            output.status
        );
        let shown = names.iter().fold(text, |text, (path, name)| text.replace(path, name));
        Self { stdout, stderr, code: output.status.code(), shown }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn section(name: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text if text.ends_with('\n') => format!("------- {name} -------\n{text}"),
        text => format!("------- {name} -------\n{text}\n[no newline at the end]\n"),
    }
}

/// An argument as one would type it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=/.,:@%+$".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn shown(args: &[&str], stdout: &str, stderr: &str, status: i32) -> String {
        let status = ExitStatus::from_raw(status);
        let output = Output { status, stdout: stdout.into(), stderr: stderr.into() };
        Run::new("prog", args, &output, &[("/tmp/w/dir", "$DIR"), ("/tmp/w", "$WORLD")]).to_string()
    }

    #[test]
    fn everything_is_shown_and_paths_have_names() {
        assert_eq!(
            shown(&["validate", "--session=/tmp/w/dir/s"], "", "error: /tmp/w/dir/s: no\n/tmp/w/home\n", 2 << 8),
            "$ prog validate --session=$DIR/s\n------- stderr -------\nerror: $DIR/s: no\n$WORLD/home\n[exit status: 2]\n"
        );
        assert_eq!(
            shown(&[], "a\n", "b\n", 0),
            "$ prog\n------- stdout -------\na\n------- stderr -------\nb\n[exit status: 0]\n"
        );
    }

    #[test]
    fn a_missing_newline_a_signal_and_odd_arguments_are_visible() {
        assert_eq!(
            shown(&["", "a b", "it's"], "x", "", 9),
            "$ prog '' 'a b' 'it'\\''s'\n------- stdout -------\nx\n[no newline at the end]\n[signal: 9 (SIGKILL)]\n"
        );
    }

    #[test]
    fn nothing_but_the_end_is_shown_of_a_silent_run() {
        assert_eq!(shown(&["x"], "", "", 0), "$ prog x\n[exit status: 0]\n");
    }
}
