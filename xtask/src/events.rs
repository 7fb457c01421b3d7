//! `cargo xtask events`: writes the tables of docs/reference/events.md from the types in crates/engine/src/event.rs: each event,
//! when it comes and what it says, in the words of its doc comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::rust_items::{self, Items, Member, snake};
use crate::shell::{Outcome, read, root};

const PAGE: &str = "docs/reference/events.md";
const SOURCE: &str = "crates/engine/src/event.rs";
const BEGIN: &str = "<!-- cargo xtask events writes what follows, from crates/engine/src/event.rs -->\n";
const END: &str = "<!-- the end of what cargo xtask events writes -->\n";
/// A field of as many kinds is explained once, if it always means the same.
const OFTEN: usize = 3;

/// Writes the tables, or with `check` fails unless those on the page are the ones that would be written.
pub(crate) fn run(check: bool) -> Outcome {
    let page = read(PAGE)?;
    let (before, after) = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)))
        .ok_or_else(|| format!("{PAGE} has no place for the tables"))?;
    let written = format!("{before}{BEGIN}\n{}\n{END}{after}", tables(&read(SOURCE)?)?);
    if written == page {
        return Ok(());
    }
    if check {
        return Err(format!("{PAGE} is out of date\nhelp: type `cargo xtask events` and commit the file"));
    }
    fs::write(root().join(PAGE), written).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

fn tables(source: &str) -> Outcome<String> {
    let items = rust_items::of_source(SOURCE, source)?;
    let item = |name: &str| items.get(name).ok_or_else(|| format!("{SOURCE} has no `{name}`"));
    let kinds: Vec<Member> = item("Kind")?.iter().map(|kind| flattened(kind, &items)).collect();
    let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for field in kinds.iter().flat_map(|kind| &kind.fields) {
        *times.entry((&field.name, &field.doc)).or_default() += 1;
    }
    let is_common = |field: &Member| times.get(&(&*field.name, &*field.doc)).is_some_and(|times| *times >= OFTEN);
    let mut out = String::from("Every event has these fields:\n\n| field | meaning |\n|---|---|\n");
    for field in item("Event")? {
        let name = if field.is_flat { "type" } else { &field.name };
        row(&mut out, &[&format!("`{name}`"), &field.doc]);
    }
    out.push_str("\nThese mean the same wherever they are:\n\n| field | meaning |\n|---|---|\n");
    for ((name, doc), _) in times.iter().filter(|(_, times)| **times >= OFTEN) {
        row(&mut out, &[&format!("`{name}`"), doc]);
    }
    out.push_str("\nThe events, each with its own fields:\n\n| type | numbered | when | fields |\n|---|---|---|---|\n");
    for kind in &kinds {
        let live = kind.doc.strip_prefix("Live. ");
        let fields: Vec<String> = kind.fields.iter().map(|field| described(field, !is_common(field))).collect();
        let numbered = if live.is_some() { "no" } else { "yes" };
        let when = live.unwrap_or(&kind.doc);
        row(&mut out, &[&format!("`{}`", snake(&kind.name)), numbered, when, &fields.join(", ")]);
    }
    for (name, of) in [("counts", "Counts"), ("judged", "ToReview")] {
        let fields: Vec<String> = item(of)?.iter().map(|field| described(field, true)).collect();
        add(&mut out, &format!("\n`{name}` has {}.\n", fields.join(", ")));
    }
    Ok(out)
}

/// A variant with all fields that are written, those of flattened ones in their place.
fn flattened(kind: &Member, items: &Items) -> Member {
    let shown = kind.fields.iter().filter(|field| !field.is_hidden);
    let fields = shown.flat_map(|field| match items.get(&field.kind) {
        Some(inner) if field.is_flat => inner.clone(),
        _ => vec![field.clone()],
    });
    Member { fields: fields.collect(), ..kind.clone() }
}

fn described(field: &Member, explain: bool) -> String {
    if !explain {
        return format!("`{}`", field.name);
    }
    let mut doc = field.doc.trim_end_matches('.').to_owned();
    if doc.chars().nth(1).is_some_and(|second| second.is_lowercase() || second == ' ') {
        doc = doc[..1].to_lowercase() + &doc[1..];
    }
    format!("`{}` ({doc})", field.name)
}

fn row(out: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.trim_end_matches('.').replace('|', "\\|")).collect();
    add(out, &format!("| {} |\n", cells.join(" | ")).replace("|  |\n", "| |\n"));
}

fn add(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _written = out.write_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_events_are_up_to_date() {
        assert_eq!(run(true), Ok(()));
    }

    #[test]
    fn hidden_flat_and_renamed_fields_are_written_as_they_are_sent() {
        let source = r#"
            /// One.
            pub struct Event { /// Which.
                #[serde(flatten)] pub kind: Kind, /// When.
                pub at: u8 }
            pub enum Kind {
                /// Live. It began.
                RunStarted { /// Its name.
                    run: String, #[serde(skip)] statuses: Vec<u8>, #[serde(flatten)] used: Used },
                /// It's over.
                Over,
            }
            pub struct Used { /// In dollars.
                #[serde(rename = "cost_usd", with = "x")] pub cost: Option<u64> }
            pub struct Counts { /// All.
                pub total: usize }
            pub struct ToReview { /// How often.
                pub rounds: u32 }
        "#;
        let tables = tables(source).unwrap();
        for line in [
            "| `type` | Which |",
            "| `run_started` | no | It began | `run` (its name), `cost_usd` (in dollars) |",
            "| `over` | yes | It's over | |",
            "`judged` has `rounds` (how often).",
        ] {
            assert!(tables.lines().any(|found| found == line), "{line}\n{tables}");
        }
    }
}
