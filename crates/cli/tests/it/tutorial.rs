//! The commands of the tutorial print what the tutorial shows.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use team_executor_testkit::World;
use team_executor_testkit::limited::*;

/// A command of a page, and what the page says that it prints.
struct Shown {
    command: String,
    output: String,
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Splits a page at its `console` blocks: text and commands in turns.
fn blocks(text: &str) -> Vec<(String, Vec<Shown>)> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("```console\n") {
        let (block, after) = after.split_once("```\n").expect("the block ends");
        blocks.push((before.to_owned(), commands(block)));
        rest = after;
    }
    blocks.push((rest.to_owned(), Vec::new()));
    blocks
}

fn commands(block: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), line.strip_prefix("> "), shown.last_mut()) {
            (Some(command), _, _) => shown.push(Shown { command: command.to_owned(), output: String::new() }),
            (None, Some(more), Some(last)) if last.output.is_empty() && last.command.contains("<<") => {
                write!(last.command, "\n{more}").expect("a string");
            }
            (None, _, Some(last)) => writeln!(last.output, "{line}").expect("a string"),
            (None, _, None) => panic!("a block begins with output: {line}"),
        }
    }
    shown
}

/// Runs a command where the one before ended, and returns what both streams show.
fn run(world: &World, command: &str) -> String {
    let script = format!("cd \"$(cat ../cwd)\" && {{ {command}\n}}; code=$?; pwd >\"$AT\"; exit $code");
    let at = world.dir().join("../cwd");
    let program = Path::new(env!("CARGO_BIN_EXE_team-executor"));
    let installed = world.dir().join("../bin");
    let path = format!(
        "{}:{}:/usr/local/bin:/usr/bin:/bin",
        program.parent().expect("a folder").display(),
        installed.display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1; {script}")]).current_dir(world.dir());
    shell.env_clear().env("PATH", path).env("HOME", world.dir()).env("AT", at);
    String::from_utf8(shell.limited_output().stdout).expect("text")
}

/// A line without the digits of commits.
fn without_commits(line: &str) -> String {
    let is_commit = |word: &str| word.len() >= 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = line.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let parts = words.map(|part| part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len()));
    parts.map(|(word, end)| [if is_commit(word) { "0" } else { word }, end].concat()).collect()
}

/// What must be the same: not numbers, commits, bars and spaces, and of lines not their order, since tasks run side by side.
fn essence(output: &str) -> Vec<String> {
    let same = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let line = |line: &str| {
        let mut text: String = without_commits(line).chars().map(same).collect();
        for same in ["0", "#", ".", " "] {
            while text.contains(&same.repeat(2)) {
                text = text.replace(&same.repeat(2), same);
            }
        }
        text.replace("[#.]", "[.]").replace("[.#]", "[.]").replace("[.#.]", "[.]").trim_end().to_owned()
    };
    let mut lines: Vec<String> = output.lines().map(line).filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}

/// Runs every command of a page in turn and compares what it prints. `UPDATE_EXPECTED=1` writes the page anew: read it.
#[track_caller]
pub(crate) fn compare(world: &World, path: &Path) {
    let text = std::fs::read_to_string(path).expect("the page is there");
    std::fs::write(world.dir().join("../cwd"), world.dir().as_os_str().as_encoded_bytes()).expect("written");
    let (mut new, mut wrong) = (String::new(), Vec::new());
    for (before, shown) in blocks(&text) {
        new.push_str(&before);
        for (nth, Shown { command, output }) in shown.iter().enumerate() {
            let printed = run(world, command);
            if essence(&printed) != essence(output) {
                wrong.push(format!("$ {command}\n--- prints\n{printed}--- the page says\n{output}"));
            }
            let start = if nth == 0 { "```console\n" } else { "" };
            write!(new, "{start}$ {}\n{printed}", command.replace('\n', "\n> ")).expect("a string");
        }
        new.push_str(if shown.is_empty() { "" } else { "```\n" });
    }
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(path, new).expect("the page can be written");
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn tutorial_shows_what_its_commands_print() {
    compare(&World::new(env!("CARGO_BIN_EXE_team-executor")), &page("tutorial.md"));
}
