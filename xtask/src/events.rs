//! `cargo xtask events`: writes the tables of docs/reference/events.md from the types in crates/engine/src/event.rs: each event,
//! when it comes and what it says, in the words of its doc comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

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

/// A variant or a field, with what its attributes say.
#[derive(Debug, Default, Clone)]
struct Member {
    name: String,
    doc: String,
    /// The type of a field.
    kind: String,
    fields: Vec<Member>,
    is_hidden: bool,
    is_flat: bool,
}

type Items = BTreeMap<String, Vec<Member>>;

fn tables(source: &str) -> Outcome<String> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("{SOURCE}: {error}"))?;
    let items = items(tokens);
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

fn snake(name: &str) -> String {
    let parts = name.char_indices().map(|(at, c)| if at > 0 && c.is_uppercase() { format!("_{c}") } else { c.into() });
    parts.collect::<String>().to_lowercase()
}

/// The structs and enums of a source file.
fn items(tokens: TokenStream) -> Items {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut items = Items::new();
    for window in tokens.windows(3) {
        if let [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body)] = window
            && (word == "enum" || word == "struct")
            && body.delimiter() == Delimiter::Brace
        {
            items.insert(name.to_string(), members(body));
        }
    }
    items
}

/// The variants of an enum, or the fields of a struct or a variant.
fn members(body: &Group) -> Vec<Member> {
    let (mut found, mut member) = (Vec::new(), Member::default());
    let mut tokens = body.stream().into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(attribute)) = tokens.next() {
                    member.read(&attribute);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                while let Some(part) = tokens.next_if(|next| !matches!(next, TokenTree::Punct(p) if p.as_char() == ','))
                {
                    member.kind.push_str(&part.to_string());
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => found.push(std::mem::take(&mut member)),
            TokenTree::Ident(word) if word == "pub" => {}
            TokenTree::Ident(name) if member.name.is_empty() => member.name = name.to_string(),
            TokenTree::Group(fields) if fields.delimiter() == Delimiter::Brace => member.fields = members(&fields),
            _ => {}
        }
    }
    found.extend((!member.name.is_empty()).then_some(member));
    found
}

impl Member {
    fn read(&mut self, attribute: &Group) {
        let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
        match &tokens[..] {
            [TokenTree::Ident(doc), TokenTree::Punct(_), TokenTree::Literal(text)] if doc == "doc" => {
                let text = text.to_string();
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&text);
                let text = text.replace("\\\"", "\"").replace("\\'", "'");
                self.doc = [self.doc.as_str(), text.trim()].join(" ").trim().to_owned();
            }
            [TokenTree::Ident(serde), TokenTree::Group(options)] if serde == "serde" => {
                let options: Vec<TokenTree> = options.stream().into_iter().collect();
                let has = |word: &str| options.iter().any(|token| matches!(token, TokenTree::Ident(it) if it == word));
                self.is_hidden |= has("skip");
                self.is_flat |= has("flatten");
                if let [TokenTree::Ident(rename), TokenTree::Punct(_), TokenTree::Literal(name), ..] = &options[..]
                    && rename == "rename"
                {
                    self.name = name.to_string().trim_matches('"').to_owned();
                }
            }
            _ => {}
        }
    }
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
