//! `cargo xtask reference`: writes the pages of docs/reference that come from the program itself. The commands are shown as their
//! `--help` shows them; exit codes and journal records come from their types, in the words of the doc comments.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::crash;
use crate::rust_items::{self, Items, Member, snake};
use crate::shell::{Outcome, read, root};

const CODES: &str = "crates/cli/src/exit.rs";
const RECORDS: &str = "crates/store/src/records/record.rs";
const EVENTS: &str = "crates/core/src/run/event.rs";
const BEGIN: &str = "<!-- cargo xtask reference writes what follows, from team-executor --help -->\n";
const END: &str = "<!-- the end of what cargo xtask reference writes -->\n";
/// How wide `--help` is at most.
const COLUMNS: &str = "100";

/// What to do with the pages.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Write nothing and fail if a page is out of date
    #[arg(long)]
    check: bool,
    /// Ask this binary for its help instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Writes the pages, or with `check` fails unless those on disk are the ones that would be written.
pub(crate) fn run(choice: &Choice) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let program = match &choice.binary {
        Some(binary) => binary.clone(),
        None => crash::build(folder.path())?,
    };
    let pages = [
        ("docs/reference/cli.md", commands(&program)?),
        ("docs/reference/exit-codes.md", exit_codes()?),
        ("docs/reference/journal.md", journal()?),
        ("README.md", readme(&read("README.md")?, &printed(&program, ["--help"])?)?),
    ];
    for (path, page) in pages {
        if read(path).ok().as_deref() == Some(page.as_str()) {
            continue;
        }
        if choice.check {
            return Err(format!("{path} is out of date\nhelp: type `cargo xtask reference` and commit the file"));
        }
        fs::write(root().join(path), page).map_err(|error| format!("{path}: {error}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// How a generated page begins.
fn head(title: &str, source: &str, intro: &str) -> String {
    format!("# {title}\n\n<!-- Written by `cargo xtask reference` from {source}. Do not edit. -->\n\n{intro}\n\n")
}

/// The README with a table of the commands, in the groups of `--help`.
fn readme(page: &str, help: &str) -> Outcome<String> {
    let places = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = places.ok_or("README.md has no place for the commands")?;
    let mut table = String::from("| | command | what it does |\n|---|---|---|\n");
    let mut group = "";
    for line in help.lines().take_while(|line| *line != "Options:") {
        if let Some((name, about)) = line.strip_prefix("  ").and_then(|line| line.split_once(' ')) {
            table += &format!("| {group} | `{name}` | {} |\n", about.trim());
            group = "";
        } else if let Some(name) = line.strip_suffix(':') {
            group = name;
        }
    }
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", table.replace("|  |", "| |")))
}

fn commands(program: &Path) -> Outcome<String> {
    let intro = "Every command with its options, as `--help` prints it. `team-executor man COMMAND` has the same as a manual page.";
    let mut page = head("Commands", "the definitions in crates/cli/src/args", intro);
    for words in paths(program)? {
        let help = printed(program, words.iter().map(String::as_str).chain(["--help"]))?;
        let title = ["team-executor"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        page += &format!("## {title}\n\n```text\n{}\n```\n\n", help.trim_end());
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// The words of every command, each before its own commands. The manual pages list them.
pub(crate) fn paths(program: &Path) -> Outcome<Vec<Vec<String>>> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let page = printed(program, ["man"].into_iter().chain(words.iter().map(String::as_str)))?;
        let name = ["team-executor"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
        let listed = page.replace('\\', "");
        let below = listed.lines().filter_map(|line| line.strip_prefix(&name)?.strip_prefix('-')?.strip_suffix("(1)"));
        let mut below: Vec<_> = below.map(|name| [&words[..], &[name.to_owned()]].concat()).collect();
        below.reverse();
        open.extend(below);
        found.push(words);
    }
    Ok(found)
}

/// What the program prints, seeing nothing of this machine.
pub(crate) fn printed(program: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Outcome<String> {
    let mut command = Command::new(program);
    command.args(args).env_clear().env("COLUMNS", COLUMNS).current_dir("/").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}: {errors}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?} prints {error}"))
}

fn exit_codes() -> Outcome<String> {
    let items = rust_items::of_file(CODES)?;
    let intro = "How team-executor ended. A run that can be resumed continues with the same command.";
    let mut page = head("Exit codes", CODES, intro) + "| code | meaning |\n|---|---|\n";
    for code in item(&items, CODES, "Exit")? {
        let value = code.value.as_ref().ok_or_else(|| format!("{CODES}: `{}` has no number", code.name))?;
        page += &format!("| {value} | {} |\n", cell(&code.doc));
    }
    Ok(page)
}

fn journal() -> Outcome<String> {
    let (records, events) = (rust_items::of_file(RECORDS)?, rust_items::of_file(EVENTS)?);
    let source = format!("{RECORDS} and {EVENTS}");
    let intro = "The journal of a run, `.executor/journal`, decides what has happened. Each line holds one record as JSON behind its checksums\n\
        ([how a line looks](../internals/recovery.md#the-journal)). Every record has its kind as `type`; `at` is in microseconds since 1970.\n\
        Fields with `?` are left out when they say nothing.";
    let mut page = head("Journal records", &source, intro) + "| record | when | fields |\n|---|---|---|\n";
    let known = item(&events, EVENTS, "Event")?;
    for record in item(&records, RECORDS, "Record")?.iter().filter(|record| !record.is_hidden) {
        let event = known.iter().find(|event| event.name == record.name);
        let event = event.ok_or_else(|| format!("{EVENTS} has no `{}`", record.name))?;
        let held = record.kind.split('<').next().unwrap_or_default().trim();
        page += &format!("| `{}` | {} | {} |\n", snake(&record.name), cell(&event.doc), fields(&records, held)?);
    }
    let nested = records.iter().filter(|(name, _)| is_nested(&records, name));
    let mut nested = nested.peekable();
    if nested.peek().is_some() {
        page += "\nObjects inside of records:\n\n| object | fields |\n|---|---|\n";
    }
    for (name, _) in nested {
        page += &format!("| `{}` | {} |\n", snake(name), fields(&records, name)?);
    }
    Ok(page)
}

/// Whether a type is part of the records without being one.
fn is_nested(records: &Items, name: &str) -> bool {
    let Some(all) = records.get("Record") else { return false };
    let is_record = all.iter().any(|record| record.kind.split('<').next().is_some_and(|kind| kind.trim() == name));
    let is_used = |field: &Member| names(&field.kind).any(|part| part == name);
    !is_record && name != "Record" && records.contains_key(name) && records.values().flatten().any(is_used)
}

fn names(kind: &str) -> impl Iterator<Item = &str> {
    kind.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty())
}

/// The fields of a type, in the order in which they are written.
fn fields(items: &Items, name: &str) -> Outcome<String> {
    let fields = item(items, RECORDS, name)?.iter().map(|field| {
        let mark = if field.is_optional { "?" } else { "" };
        let object = names(&field.kind).find(|part| is_nested(items, part));
        let object = object.map(|object| format!(" ({})", snake(object))).unwrap_or_default();
        format!("`{}`{mark}{object}", field.name)
    });
    Ok(fields.collect::<Vec<_>>().join(", "))
}

fn item<'i>(items: &'i Items, path: &str, name: &str) -> Outcome<&'i [Member]> {
    items.get(name).map(Vec::as_slice).ok_or_else(|| format!("{path} has no `{name}`"))
}

/// Documentation as the cell of a table: without links to code.
fn cell(doc: &str) -> String {
    let mut text = doc.trim_end_matches('.').replace('|', "\\|");
    while let Some((before, rest)) = text.split_once("[`")
        && let Some((link, after)) = rest.split_once("`]")
    {
        let word = snake(link.rsplit("::").next().unwrap_or(link));
        text = format!("{before}`{word}`{after}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_has_the_groups_of_help() {
        let help = "Run teams\n\nUsage: x\n\nRun:\n  run    Run a session\n  csv    Run a table\n\nLook:\n  status Show\n\nOptions:\n  -h Help\n";
        let page = readme(&format!("a\n{BEGIN}old\n{END}b\n"), help).unwrap();
        let table = "| Run | `run` | Run a session |\n| | `csv` | Run a table |\n| Look | `status` | Show |\n";
        let head = "| | command | what it does |\n|---|---|---|\n";
        assert_eq!(page, format!("a\n{BEGIN}\n{head}{table}\n{END}b\n"));
    }

    #[test]
    fn exit_codes_on_the_page_are_those_of_the_type() {
        assert_eq!(read("docs/reference/exit-codes.md"), exit_codes());
    }

    #[test]
    fn journal_records_on_the_page_are_those_of_the_types() {
        let page = journal().unwrap();
        assert!(page.contains("| `wave_merged` | Every task of a wave is over | `wave`, "), "{page}");
        assert_eq!(read("docs/reference/journal.md"), Ok(page));
    }
}
