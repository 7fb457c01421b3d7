//! A test that crates depend only downwards. ARCHITECTURE.md says why; the table below is what is enforced.

use toml::{Table, Value};

use crate::shell::{files, read};

/// Each crate with those of ours that it may depend on. `testkit` may be a dev-dependency of all.
const LAYERS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("beneath", &[]),
    ("files", &["core"]),
    ("agents", &["core", "beneath"]),
    ("store", &["core", "files", "beneath"]),
    ("trees", &["beneath", "store", "agents"]),
    ("engine", &["core", "files", "beneath", "store", "agents", "trees"]),
    ("hosts", &["core", "beneath", "store", "agents", "engine"]),
    ("app", &["core", "files", "beneath", "store", "agents", "trees", "engine", "hosts"]),
    ("mcp", &["core", "files", "beneath", "app"]),
    ("web", &["core", "files", "beneath", "app"]),
    ("sim", &["core", "files", "agents", "store", "engine"]),
    ("cli", &["core", "files", "beneath", "app", "mcp", "web"]),
    ("testkit", &["core"]),
];

/// All that the core may build on: it is a function, and these are values.
const CORE_BUILDS_ON: &[&str] = &["indexmap", "thiserror"];

/// What a crate's manifest breaks of the rules, one line each.
fn violations(manifest: &Table) -> Vec<String> {
    let package = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    let Some(name) = package.and_then(our_name) else {
        return vec![format!("{package:?} is not named team-executor or team-executor-NAME")];
    };
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        return vec![format!("{name} is unknown: add it to the table in xtask/src/layering.rs")];
    };
    let mut found = Vec::new();
    for (kind, dependency) in dependencies(manifest) {
        let is_dev = kind == "dev-dependencies";
        match our_name(&dependency) {
            Some("testkit") if is_dev => {}
            Some(ours) if is_dev && reaches(name, ours) => {}
            Some(ours) if !allowed.contains(&ours) => found.push(format!("{name} must not depend on {ours} ({kind})")),
            None if name == "core" && !is_dev && !CORE_BUILDS_ON.contains(&dependency.as_str()) => {
                found.push(format!("core must not depend on {dependency} ({kind})"));
            }
            _ => {}
        }
    }
    found
}

/// Whether a crate stands on another, by way of others or not: its tests and benches may look at that.
fn reaches(name: &str, other: &str) -> bool {
    let below = LAYERS.iter().find(|(layer, _)| *layer == name).map_or(&[][..], |(_, below)| below);
    below.iter().any(|below| *below == other || reaches(below, other))
}

/// A package's name in the table, if it is one of ours.
fn our_name(package: &str) -> Option<&str> {
    match package {
        "team-executor" => Some("cli"),
        other => other.strip_prefix("team-executor-"),
    }
}

/// The kind and the package of each dependency, those for some platforms only included.
fn dependencies(manifest: &Table) -> Vec<(&'static str, String)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = std::iter::once(manifest).chain(platforms.filter_map(|(_, platform)| platform.as_table()));
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (key, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let renamed = value.get("package").and_then(Value::as_str);
                found.push((kind, renamed.unwrap_or(key).to_owned()));
            }
        }
    }
    found
}

#[test]
fn crates_depend_only_downwards() {
    let mut found = Vec::new();
    let manifests = files("crates", "toml").unwrap().into_iter().filter(|path| path.ends_with("/Cargo.toml"));
    let manifests: Vec<_> = manifests.collect();
    assert!(manifests.contains(&"crates/core/Cargo.toml".to_owned()), "{manifests:?}");
    for path in manifests {
        let manifest: Table = read(&path).unwrap().parse().unwrap();
        found.extend(violations(&manifest).into_iter().map(|what| format!("{path}: {what}")));
    }
    assert_eq!(found, Vec::<String>::new());
}

fn made_up(name: &str, rest: &str) -> Vec<String> {
    violations(&format!("[package]\nname = \"{name}\"\n{rest}").parse().unwrap())
}

#[test]
fn downward_dependencies_are_allowed() {
    let none = Vec::<String>::new();
    assert_eq!(made_up("team-executor-store", "[dependencies]\nteam-executor-core = {}\nrustix = '1'"), none);
    assert_eq!(made_up("team-executor", "[dependencies]\nteam-executor-app = {}\nteam-executor-mcp = {}"), none);
    assert_eq!(made_up("team-executor", "[dev-dependencies]\nteam-executor-store = {}"), none);
    assert_eq!(
        made_up("team-executor-core", "[dependencies]\nindexmap = '2'\n[dev-dependencies]\nproptest = '1'"),
        none
    );
    assert_eq!(made_up("team-executor-files", "[dev-dependencies]\nteam-executor-testkit = {}"), none);
}

#[test]
fn an_upward_dependency_is_found_however_it_is_written() {
    for (rest, kind) in [
        ("[dependencies]\nteam-executor-engine.workspace = true", "dependencies"),
        ("[build-dependencies]\nteam-executor-engine = {}", "build-dependencies"),
        ("[dev-dependencies]\nteam-executor-engine = {}", "dev-dependencies"),
        ("[dependencies]\nharmless = { package = 'team-executor-engine' }", "dependencies"),
        ("[target.'cfg(unix)'.dependencies]\nteam-executor-engine = {}", "dependencies"),
    ] {
        assert_eq!(
            made_up("team-executor-files", rest),
            [format!("files must not depend on engine ({kind})")],
            "{rest}"
        );
    }
    assert_eq!(
        made_up("team-executor", "[dependencies]\nteam-executor-engine = {}"),
        ["cli must not depend on engine (dependencies)"]
    );
    assert_eq!(
        made_up("team-executor-store", "[dependencies]\nteam-executor = {}"),
        ["store must not depend on cli (dependencies)"]
    );
}

#[test]
fn the_core_and_the_testkit_are_kept_apart() {
    assert_eq!(
        made_up("team-executor-core", "[dependencies]\nserde = '1'"),
        ["core must not depend on serde (dependencies)"]
    );
    assert_eq!(
        made_up("team-executor", "[dependencies]\nteam-executor-testkit = {}"),
        ["cli must not depend on testkit (dependencies)"]
    );
}

#[test]
fn an_unknown_crate_asks_for_its_place() {
    assert_eq!(made_up("team-executor-extra", ""), ["extra is unknown: add it to the table in xtask/src/layering.rs"]);
    assert_eq!(made_up("other", ""), ["Some(\"other\") is not named team-executor or team-executor-NAME"]);
}
