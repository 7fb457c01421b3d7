//! From the text of a command to a program with its arguments, and back.

use crate::escape;

/// Commands that only a shell knows. What is a program as well, such as `test`, needs none.
const BUILT_IN: [&str; 24] = [
    ".", ":", "alias", "bg", "break", "cd", "command", "continue", "eval", "exec", "exit", "export", "fg", "jobs",
    "read", "readonly", "return", "set", "shift", "source", "times", "trap", "ulimit", "umask",
];

/// A command line as a program and its arguments; through a shell only where it needs one.
pub(crate) fn words(command: &str) -> Vec<String> {
    let has_syntax = command.contains(|c: char| "|&;<>()$`\\\"'*?[]{}~#!\n".contains(c));
    let first = command.split_whitespace().next().unwrap_or_default();
    if has_syntax || is_assignment(first) || BUILT_IN.contains(&first) {
        vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()]
    } else {
        command.split_whitespace().map(str::to_owned).collect()
    }
}

/// Whether a shell takes this word for a variable that the rest of the line is run with.
fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// A program and its arguments as a shell reads them. What goes through a shell is shown as it was written.
pub fn shown(words: &[String]) -> String {
    match words {
        [shell, flag, text] if shell == "/bin/sh" && flag == "-c" => text.clone(),
        words => words.iter().map(|word| escape::shell_word(word)).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_used_only_where_it_is_needed() {
        assert_eq!(words("/bin/true"), ["/bin/true"]);
        assert_eq!(words(" worker stamp  log @TASK "), ["worker", "stamp", "log", "@TASK"]);
        assert_eq!(words("echo $HOME | cat"), ["/bin/sh", "-c", "echo $HOME | cat"]);
        for line in ["FOO=1 prog", "_A=b", "exit 1", " cd /tmp"] {
            assert_eq!(words(line), ["/bin/sh", "-c", line]);
        }
        assert_eq!(words("./a=b c"), ["./a=b", "c"]);
        assert_eq!(words("test -e x=1"), ["test", "-e", "x=1"]);
    }

    #[test]
    fn a_command_is_shown_as_it_was_written() {
        assert_eq!(shown(&words("echo $HOME | cat")), "echo $HOME | cat");
        let args = ["my tool", "it's", "", "-y"].map(str::to_owned);
        assert_eq!(shown(&args), r"'my tool' 'it'\''s' '' -y");
    }
}
