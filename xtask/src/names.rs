//! Tests of the house rules on words: names of tests are short, and no line has the words that made sentences hard to read.

use crate::shell::{files, read};

/// Words that a reader has to read twice. `xtask/src/names.rs` and the list in `cli/args/groups.rs` name them.
const BANNED: &[&str] = &["whoever", "nobody", "somebody", " it is told", "what is to be"];
const EXEMPT: &[&str] = &["xtask/src/names.rs", "crates/cli/src/args/groups.rs", "/vendor/"];

/// The longest name of a test.
const LONGEST: usize = 60;

/// Names of tests in a source file that are too long, with their lines.
fn long_names(path: &str, source: &str) -> Vec<String> {
    let mut is_test = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(source.lines().map(str::trim_start)) {
        let name = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
        match name {
            Some(name) if is_test && name.len() > LONGEST => found.push(format!("{path}:{number}: {name}")),
            _ => {}
        }
        is_test = line.starts_with("#[test]") || is_test && name.is_none();
    }
    found
}

/// Lines of a text with a banned word.
fn hard_to_read(path: &str, text: &str) -> Vec<String> {
    let has = |line: &str| BANNED.iter().find(|word| format!(" {line}").to_lowercase().contains(*word)).copied();
    (1..).zip(text.lines()).filter_map(|(number, line)| Some(format!("{path}:{number}: `{}`", has(line)?))).collect()
}

#[test]
fn names_of_tests_are_at_most_60_characters() {
    let sources = [files("crates", "rs").unwrap(), files("xtask", "rs").unwrap()].concat();
    assert!(sources.len() > 400, "{}", sources.len());
    let found: Vec<_> = sources.iter().flat_map(|path| long_names(path, &read(path).unwrap())).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn sources_and_pages_have_no_banned_word() {
    let folders = [("crates", "rs"), ("crates", "js"), ("crates", "snap"), ("xtask", "rs"), ("docs", "md")];
    let texts = folders.iter().flat_map(|(folder, ending)| files(folder, ending).unwrap());
    let pages = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(str::to_owned);
    let texts = texts.chain(pages).filter(|path| !EXEMPT.iter().any(|exempt| path.contains(exempt)));
    let found: Vec<_> = texts.flat_map(|path| hard_to_read(&path, &read(&path).unwrap())).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn long_name_and_banned_word_are_found_with_their_lines() {
    let name = "a".repeat(LONGEST + 1);
    let source = format!("fn {name}() {{}}\n#[test]\n#[cfg(unix)]\nfn {name}() {{}}\nfn {name}() {{}}\n");
    assert_eq!(long_names("a.rs", &source), [format!("a.rs:4: {name}")]);
    assert_eq!(hard_to_read("a.md", "fine\nWhoever reads it\n"), ["a.md:2: `whoever`"]);
}
