//! A test that `engine` stays closed: it counts every name that other crates can reach, and fails when there are more than before.

use crate::shell::{Outcome, read, root};

/// The most names that `engine` may export, modules not counted. Lower it when there are fewer.
const MOST: usize = 180;
const ENGINE: &str = "crates/engine/src";
/// What a line of a public item begins with, behind `pub `, and before its name.
const ITEMS: [&str; 9] = ["const fn ", "async fn ", "fn ", "const ", "static ", "struct ", "enum ", "trait ", "type "];

/// The text of a module of `engine`; nothing if there is none.
fn module(path: &str) -> Option<String> {
    let files =
        if path.is_empty() { vec!["lib.rs".into()] } else { vec![format!("{path}.rs"), format!("{path}/mod.rs")] };
    let file =
        files.into_iter().map(|file: String| format!("{ENGINE}/{file}")).find(|file| root().join(file).is_file());
    file.and_then(|file| read(&file).ok())
}

/// The names that a module exports, those of its public modules included.
fn exported(path: &str) -> Outcome<Vec<String>> {
    let text = module(path).ok_or_else(|| format!("engine has no file of the module {path}"))?;
    let mut found = Vec::new();
    // Each starts a line, and a `use` may have several.
    for item in format!("\n{text}").split("\npub ").skip(1) {
        let kind = ITEMS.iter().find_map(|kind| item.strip_prefix(kind));
        if let Some(rest) = kind {
            found.push(word(rest));
        } else if let Some(name) = item.strip_prefix("mod ") {
            found.extend(exported(below(path, &word(name)).as_str())?);
        } else if let Some((used, _)) = item.strip_prefix("use ").and_then(|used| used.split_once(';')) {
            found.extend(used_names(path, used)?);
        } else {
            return Err(format!("{path}: `pub {}` is not understood", item.lines().next().unwrap_or_default()));
        }
    }
    Ok(found)
}

/// What `pub use` exports: names, and all that a module exports.
fn used_names(path: &str, used: &str) -> Outcome<Vec<String>> {
    let (from, names) = used.split_once('{').or_else(|| used.rsplit_once("::")).unwrap_or(("", used));
    let from = from.trim_end_matches("::");
    let base = if from == "crate" || from.starts_with("crate::") { "" } else { path };
    let steps = from.split("::").filter(|step| !matches!(*step, "" | "crate" | "self"));
    let from = steps.fold(base.to_owned(), |path, step| below(&path, step));
    let mut found = Vec::new();
    for name in names.trim_end_matches('}').split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let inner = below(&from, name);
        // A module and a function may have one name; then the function is meant.
        let is_function = module(&inner).is_none_or(|text| text.contains(&format!("\npub fn {name}(")));
        if is_function { found.push(name.to_owned()) } else { found.extend(exported(&inner)?) }
    }
    Ok(found)
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn engine_exports_no_more_names_than_it_did() {
    let mut found = exported("").unwrap();
    found.sort();
    for known in ["Options", "Dispatcher", "Inbox", "ToRetry", "log", "Spent"] {
        assert!(found.iter().any(|name| name == known), "{known} is not found in {found:?}");
    }
    assert!(found.len() <= MOST, "{} names, and at most {MOST} are allowed: {}", found.len(), found.join(" "));
}
