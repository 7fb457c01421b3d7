//! Commands that people are told to type: a shell must read them as they are meant.

/// A word as a shell reads it. One that has control characters in it can be typed too: they would not survive being shown.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=/.,:@%+".contains(c);
    if word.contains(|c: char| c.is_ascii_control()) {
        return format!("\"$(printf %b {})\"", quoted(&word.chars().map(told).collect::<String>()));
    }
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { quoted(word) }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A character as `printf %b` reads it.
fn told(c: char) -> String {
    match c {
        '\\' => r"\\".to_owned(),
        '\n' => r"\n".to_owned(),
        '!' => r"\0041".to_owned(), // within quotes some shells put an earlier command in its place
        c if c.is_ascii_control() => format!("\\0{:03o}", u32::from(c)),
        c => c.to_string(),
    }
}

/// The flag that names a session.
pub fn session(path: impl std::fmt::Display) -> String {
    word(&format!("--session={path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_finds_nothing_to_do_in_a_path() {
        assert_eq!(session("a/TC-1"), "--session=a/TC-1");
        assert_eq!(session("a b/$(x)"), "'--session=a b/$(x)'");
        assert_eq!(session("it's"), r"'--session=it'\''s'");
        assert_eq!(word(""), "''");
    }

    #[test]
    fn multiline_command_is_typed_in_one_line() {
        assert_eq!(word("a\nb"), r#""$(printf %b 'a\nb')""#);
        for text in ["it's\n\t$HOME \\n `x` \"y\" %s\x1b[1m!", "\\0101\n9"] {
            let told = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", word(text))]).output();
            assert_eq!(String::from_utf8(told.unwrap().stdout).unwrap(), text);
        }
    }
}
