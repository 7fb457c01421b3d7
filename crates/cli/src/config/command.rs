//! From the text of a command to a program with its arguments, and back.

use crate::escape;

/// A command line as a program and its arguments; through a shell only where it needs one.
pub(crate) fn words(command: &str) -> Vec<String> {
    let needs_shell = command.contains(|c: char| "|&;<>()$`\\\"'*?[]{}~#!\n".contains(c));
    if needs_shell {
        vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()]
    } else {
        command.split_whitespace().map(str::to_owned).collect()
    }
}

/// A program and its arguments as a shell reads them. What goes through a shell is shown as it was written.
pub(crate) fn shown(words: &[String]) -> String {
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
    }

    #[test]
    fn a_command_is_shown_as_it_was_written() {
        assert_eq!(shown(&words("echo $HOME | cat")), "echo $HOME | cat");
        let args = ["my tool", "it's", "", "-y"].map(str::to_owned);
        assert_eq!(shown(&args), r"'my tool' 'it'\''s' '' -y");
    }
}
