//! The licences of everything that is linked into the binary, as their texts demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::at;
use crate::shell::{Outcome, command};

/// What a file with a licence begins with.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];

/// One text: who uses it, then each licence once with the packages that it is of.
pub(crate) fn third_party(target: &str) -> Outcome<String> {
    let line = format!("cargo metadata --format-version 1 --locked --filter-platform {target}");
    let output = command(&line).output().map_err(|error| format!("{line}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{line}: {error}"))?;
    let linked = linked(&metadata).ok_or_else(|| format!("{line}: an unknown shape"))?;
    let (mut list, mut texts) = (String::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        if package["source"].is_null() || !linked.contains(text("id")) {
            continue;
        }
        let name = format!("{} {}", text("name"), text("version"));
        list += &format!("{name}: {}\n", package["license"].as_str().unwrap_or("see its text below"));
        for licence in of_folder(Path::new(text("manifest_path")).parent().unwrap_or(Path::new("/")))? {
            texts.entry(licence).or_default().insert(name.clone());
        }
    }
    let mut all = format!("team-executor contains these packages:\n\n{list}");
    for (licence, packages) in texts {
        let packages: Vec<_> = packages.into_iter().collect();
        all += &format!("\n{}\n{}\n\n{}\n", "=".repeat(80), packages.join(", "), licence.trim_end());
    }
    Ok(all)
}

/// The ids of all packages that the program is built of, and of those only.
fn linked(metadata: &Value) -> Option<BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array()?;
    let nodes: BTreeMap<&str, &Value> = nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let packages = metadata["packages"].as_array()?;
    let program = packages.iter().find(|package| package["name"] == "team-executor")?;
    let mut open = vec![program["id"].as_str()?];
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            let below = nodes.get(id)?["deps"].as_array()?.iter();
            let is_linked = |dep: &&Value| {
                dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
            };
            open.extend(below.filter(is_linked).filter_map(|dep| dep["pkg"].as_str()));
        }
    }
    Some(found)
}

/// The texts in a package.
fn of_folder(folder: &Path) -> Outcome<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let path = entry.map_err(|error| at(folder, &error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|known| name.starts_with(known)) {
            let bytes = fs::read(&path).map_err(|error| at(&path, &error))?;
            texts.push(String::from_utf8_lossy(&bytes).replace('\r', ""));
        }
    }
    Ok(texts)
}
