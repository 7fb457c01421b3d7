//! The commands of the tutorial print what the tutorial shows.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use team_executor_testkit::limited::*;
use team_executor_testkit::{ScriptedModel, World};

use crate::agents;

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
        let more = line.strip_prefix("> ").or_else(|| line.strip_prefix('>').filter(|rest| rest.is_empty()));
        match (line.strip_prefix("$ "), more, shown.last_mut()) {
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
        // A slow machine spends a second between the commands, which is shown.
        let line = line.rsplit_once(" (").filter(|(_, rest)| rest.ends_with(" idle)")).map_or(line, |(line, _)| line);
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
            write!(new, "{start}$ {}\n{printed}", command.replace('\n', "\n> ").replace("> \n", ">\n"))
                .expect("a string");
        }
        new.push_str(if shown.is_empty() { "" } else { "```\n" });
    }
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(path, new).expect("the page can be written");
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Puts a program called `claude` where the shell of a page finds it.
fn install(world: &World, script: &str) {
    let path = world.dir().join("../bin/claude");
    std::fs::write(&path, script).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
}

/// A script that says and does what Claude Code does with the last task of the tutorial.
const STAND_IN: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo '2.1.325 (Claude Code)'; exit; }
cat >/dev/null
echo '# release-notes.md' >"$TEAM_EXECUTOR_ARTIFACTS/release-notes.md"
echo '{"type":"system","subtype":"init","session_id":"c-1","model":"claude-opus-5-5"}'
echo '{"type":"result","subtype":"success","session_id":"c-1","is_error":false,"num_turns":2,"result":"Done.",
"structured_output":{"status":"completed","findings":"wrote release-notes.md"},"permission_denials":[],
"total_cost_usd":0.05,"usage":{"input_tokens":1000,"cache_read_input_tokens":400,"output_tokens":14}}' | tr -d '\n'
echo
"#;

#[test]
fn tutorial_shows_what_its_commands_print() {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    install(&world, STAND_IN);
    compare(&world, &page("tutorial.md"));
}

#[test]
fn tutorial_holds_with_the_real_claude() {
    let Some(claude) = agents::installed("claude") else { return };
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let scripts = world.dir().join("../scripts");
    std::fs::create_dir(&scripts).expect("a folder");
    let turns = agents::turns(agents::Kind::Known, "NOTES-1", "release-notes.md");
    let turns = json!({ "turns": turns }).to_string().replace(&agents::found("NOTES-1"), "wrote release-notes.md");
    std::fs::write(scripts.join("writer.json"), turns).expect("a script");
    let model = ScriptedModel::start(&scripts);
    let home = world.dir().join("../home-of-claude");
    let recipe = claude.recipe(&model.address("writer"), &home, model.is_apart());
    let env: String = recipe.env.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    let program = [model.network(), vec![recipe.command[0].clone()]].concat().join(" ");
    install(&world, &format!("#!/bin/sh\n{env}exec {program} \"$@\"\n"));
    compare(&world, &page("tutorial.md"));
    let asked: Vec<_> = model.rest().into_iter().map(|asked| (asked.turn, asked.status)).collect();
    assert_eq!(asked, [(0, 200), (1, 200)], "the model was asked by Claude Code");
}

#[test]
fn page_on_reviews_shows_what_its_commands_print() {
    compare(&World::new(env!("CARGO_BIN_EXE_team-executor")), &page("how-to/review-before-merging.md"));
}
