//! Real sessions, where a collection of them lies beside the checkout. Nothing of theirs is in this repository: what is
//! pinned in `fixtures/corpus.txt` are counts. `UPDATE_EXPECTED=1` writes it anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use team_executor_files::{Dialect, csv, front_matter, json, load, markdown};
use team_executor_store::DiskFolder;
use team_executor_testkit::{World, lacks};

fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let found = path.is_dir().then_some(path);
    if found.is_none() {
        lacks("corpus", "real sessions");
    }
    found
}

fn below(path: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// R: M-05
#[test]
fn every_session_is_understood_as_pinned() {
    let Some(corpus) = corpus() else { return };
    let mut found = String::new();
    for collection in ["team", "csv-wave"] {
        for path in below(&corpus.join(collection)) {
            let folder = DiskFolder::open(&path).expect("the folder opens");
            let dialect = Dialect::detect(&folder);
            let loaded = load(&folder, &name(&path), None);
            let (errors, warnings) = (loaded.findings.error_count(), loaded.findings.warning_count());
            let understood = match &loaded.session {
                Some((session, graph)) => {
                    format!("{} tasks, {} edges, {} waves", session.tasks.len(), graph.edge_count(), graph.wave_count())
                }
                None => "refused".to_owned(),
            };
            let mut codes: Vec<_> = loaded.findings.iter().map(|finding| finding.code.name()).collect();
            codes.sort_unstable();
            codes.dedup();
            let dialect = dialect.map_or("none", Dialect::name);
            writeln!(
                found,
                "{collection}/{}: {dialect}, {understood}, {errors} errors, {warnings} warnings: {}",
                name(&path),
                codes.join(" ")
            )
            .expect("a string");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus.txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, &found).expect("the counts can be written");
    }
    assert_eq!(found, std::fs::read_to_string(&path).unwrap_or_default());
    let counted = |line: &str| line.split("errors, ").nth(1)?.split(' ').next()?.parse::<u32>().ok();
    let mut warnings: Vec<_> = found.lines().filter_map(counted).collect();
    warnings.sort_unstable();
    assert!(warnings[warnings.len() / 2] <= 2, "the median of the warnings is above 2:\n{found}");
}

/// Columns that say which task it is, where it stands and what came of it; and a role, which the prompt says elsewhere.
const STATE: [&str; 12] = [
    "id",
    "task_id",
    "status",
    "findings",
    "findings_full",
    "error",
    "quality_score",
    "supervision_verdict",
    "attempt_count",
    "planner_notes",
    "role",
    "job_id",
];

/// R: P-01
#[test]
fn every_prompt_holds_every_cell_that_is_no_result() {
    let Some(corpus) = corpus() else { return };
    let mut checked = 0;
    for path in below(&corpus.join("csv-wave")) {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        let text = std::fs::read_to_string(path.join("tasks.csv")).expect("a table");
        // What is done is to be done again, so that there is a prompt for every row.
        let text =
            text.trim_start_matches('\u{FEFF}').replace(",completed", ",pending").replace(",\"completed\"", ",pending");
        world.write("S/tasks.csv", &text);
        let table = csv::parse(&text).expect("a table");
        let names: Vec<_> = table.header().cells().map(|cell| cell.value.trim().to_lowercase()).collect();
        let job = names.iter().position(|name| name == "job_id").unwrap_or(names.len());
        let at = |name: &str| names.iter().position(|own| own == name);
        let (id, status) = (at("id").or(at("task_id")).expect("ids"), at("status"));
        for record in table.records() {
            let cell = |column: usize| record.get(column).map(|cell| cell.value.into_owned()).unwrap_or_default();
            if status.is_some_and(|status| cell(status) != "pending") {
                continue;
            }
            let shown = world.run(&["prompt", cell(id).trim(), "--session=S"]);
            if shown.code != Some(0) {
                // A table that is refused has no prompts.
                break;
            }
            for (column, name) in names.iter().enumerate().take(job).filter(|(_, name)| !STATE.contains(&name.as_str()))
            {
                assert!(shown.stdout.contains(cell(column).trim()), "{}: `{name}`\n{shown}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} rows");
}

/// The texts in a value, however deep.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// R: P-01
#[test]
fn every_prompt_holds_every_field_that_is_no_result() {
    let Some(corpus) = corpus() else { return };
    let mut checked = 0;
    for path in below(&corpus.join("team")) {
        let Ok(text) = std::fs::read_to_string(path.join("tasks.json")) else { continue };
        let text = text.trim_start_matches('\u{FEFF}').replace("\"completed\"", "\"pending\"");
        let Ok(file) = serde_json::from_str::<Value>(&text) else { continue };
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        world.write("S/tasks.json", &text);
        let tasks = if file.is_array() { &file } else { &file["tasks"] };
        let keyed = tasks.as_object().into_iter().flatten().map(|(id, task)| (id.clone(), task));
        let own = |task: &Value| ["id", "task_id"].iter().find_map(|key| task[*key].as_str()).map(str::to_owned);
        let listed = tasks.as_array().into_iter().flatten().filter_map(|task| Some((own(task)?, task)));
        for (id, task) in keyed.chain(listed).filter(|(_, task)| task["status"] == "pending") {
            let shown = world.run(&["prompt", &id, "--session=S"]);
            if shown.code != Some(0) {
                // A file that is refused has no prompts.
                break;
            }
            let fields = task.as_object().into_iter().flatten();
            for (name, value) in fields.filter(|(name, _)| !STATE.contains(&name.as_str())) {
                for text in texts(value) {
                    let quoted = serde_json::to_string(text).expect("JSON");
                    let is_told = shown.stdout.contains(text) || shown.stdout.contains(quoted.trim_matches('"'));
                    assert!(is_told, "{}: `{name}` of {id}: {text}\n{shown}", path.display());
                }
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} tasks");
}

/// The session that the formats' authors would call ordinary, with Chinese text and unusual ids.
///
/// R: M-05
#[test]
fn the_golden_session_is_valid_and_says_how_it_was_understood() {
    let Some(corpus) = corpus() else { return };
    let folder = DiskFolder::open(&corpus.join("team/TC-golden-data-batch-20260324")).expect("the folder opens");
    let loaded = load(&folder, "golden", None);
    let (session, graph) = loaded.session.expect("it is valid");
    assert_eq!((session.tasks.len(), graph.edge_count(), graph.wave_count()), (10, 5, 2));
    let bare = "a `dependency_graph` node that is a bare array was read as its list of dependencies";
    assert!(loaded.findings.iter().any(|finding| finding.message == bare && finding.times == 10));
}

#[test]
fn every_file_is_read_by_every_parser_without_a_panic() {
    let Some(corpus) = corpus() else { return };
    let mut folders = vec![corpus];
    while let Some(folder) = folders.pop() {
        for path in below(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).expect("the file is readable")).into_owned();
            let document = json::parse(&text).map(|document| document.root().span());
            let table = csv::parse(&text).map(|table| table.records().len());
            let headings = markdown::headings(&text, 0).len();
            let front = match front_matter::split(&text) {
                front_matter::Split::Found { yaml, .. } => front_matter::parse(&text[yaml.range()], yaml.start).is_ok(),
                _ => false,
            };
            assert!(text.len() >= headings, "{}: {document:?} {table:?} {front}", path.display());
        }
        for dialect in Dialect::ALL {
            if let Ok(disk) = DiskFolder::open(&folder) {
                let loaded = load(&disk, &name(&folder), Some(*dialect));
                assert!(loaded.session.is_some() || loaded.findings.has_errors(), "{}", folder.display());
            }
        }
    }
}

/// Its ids and its Chinese text are in every file that the run leaves, whatever the cadence.
#[test]
fn the_golden_session_runs_to_its_end_in_both_cadences() {
    let Some(corpus) = corpus() else { return };
    for cadence in ["beat", "wave"] {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        world.copy_tree(corpus.join("team/TC-golden-data-batch-20260324"), "golden");
        let worker = "echo 完成 $TEAM_EXECUTOR_TASK; echo 交付 > \"$TEAM_EXECUTOR_ARTIFACTS/结果.md\"";
        let run = world.run(&["run", "--session=golden", "--agent-command", worker, "-y", "--cadence", cadence]);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stdout.starts_with("Pipeline complete: 10/10 tasks completed\n"), "{run}");
        let runs = below(&world.dir().join(".workflow/.csv-wave"));
        let folder = runs.iter().find(|path| name(path).starts_with("EX-")).expect("a run");
        for file in ["tasks.csv", "results.csv", "context.md"] {
            let text = std::fs::read_to_string(folder.join(file)).expect("a file of the run");
            assert!(
                text.contains("实现Phase 2: Core Pipeline Hardening") && text.contains("完成 IMPL-PHASE2"),
                "{text}"
            );
        }
        let delivered = std::fs::read_to_string(folder.join("artifacts/IMPL-PHASE2/结果.md"));
        assert_eq!(delivered.expect("what was delivered"), "交付\n");
        let session = std::fs::read_to_string(world.dir().join("golden/team-session.json")).expect("the session");
        assert!(session.contains("IMPL-PHASE2") && session.contains("completed"), "{session}");
    }
}

/// The tables and session files that a run may write into.
const OWN: [&str; 5] = ["tasks.csv", "tasks.json", "team-session.json", "session.json", "task-analysis.json"];

/// What a run may change in a JSON file: every other value stays. That its bytes stay is proved by a property test.
const CHANGED: [&str; 18] = [
    "status",
    "findings",
    "findings_full",
    "planner_notes",
    "error",
    "error_message",
    "quality_score",
    "supervision_verdict",
    "attempt_count",
    "updated_at",
    "completed_waves",
    "completed_tasks",
    "tasks_completed",
    "tasks_total",
    "active_agents",
    "active_workers",
    "gc_rounds",
    "checkpoint_history",
];

/// A value without what a run may change.
fn planned(mut value: serde_json::Value) -> serde_json::Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| !CHANGED.contains(&key.as_str()));
        object.values_mut().for_each(|value| *value = planned(value.take()));
        object.retain(|key, value| key != "metadata" || *value != serde_json::json!({}));
    }
    if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(|value| *value = planned(value.take()));
    }
    value
}

/// Whether a text differs from another only in places that hold state.
fn only_states_changed(name: &str, before: &str, after: &str) -> Result<(), String> {
    if !name.ends_with(".csv") {
        let plan = |text: &str| {
            serde_json::from_str(text.trim_start_matches('\u{FEFF}')).map(planned).map_err(|error| error.to_string())
        };
        return if plan(before)? == plan(after)? { Ok(()) } else { Err(format!("{name}: more than states changed")) };
    }
    let state = [
        "status",
        "findings",
        "error",
        "quality_score",
        "supervision_verdict",
        "attempt_count",
        "findings_full",
        "planner_notes",
    ];
    let (old, new) = (csv::parse(before).expect("a table"), csv::parse(after).expect("a table"));
    if old.records().len() != new.records().len() {
        return Err(format!("{name}: another number of rows"));
    }
    let names: Vec<_> = old.header().cells().map(|cell| cell.value.into_owned()).collect();
    for (old, new) in old.records().zip(new.records()) {
        for (column, was) in old.cells().enumerate().take(names.len()) {
            let raw = |text: &str, start: u32, end: u32| text[start as usize..end as usize].to_owned();
            let now = new.get(column).map(|cell| raw(after, cell.start, cell.end));
            let is_state = state.contains(&names[column].trim().to_lowercase().as_str());
            if !is_state && now != Some(raw(before, was.start, was.end)) {
                return Err(format!("{name}: column {} became {now:?}", names[column]));
            }
        }
    }
    Ok(())
}

/// R: P-05
#[test]
fn a_run_changes_only_states_in_every_session() {
    let Some(corpus) = corpus() else { return };
    let mut ran = 0;
    for path in ["team", "csv-wave"].iter().flat_map(|collection| below(&corpus.join(collection))) {
        let folder = DiskFolder::open(&path).expect("the folder opens");
        if load(&folder, &name(&path), None).session.is_none() {
            continue;
        }
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        let copy = world.copy_tree(&path, "S");
        let text = |folder: &Path, file: &str| std::fs::read_to_string(folder.join(file)).ok();
        let before: Vec<_> = OWN.iter().map(|file| text(&copy, file)).collect();
        let run = world.run(&["run", "--session=S", "--agent-command", "echo done", "-y", "-c", "4", "--retries", "0"]);
        assert!(matches!(run.code, Some(0 | 1 | 3)), "{}: {run}", path.display());
        for (file, before) in OWN.iter().zip(before).filter_map(|(file, before)| Some((file, before?))) {
            let after = text(&copy, file).unwrap_or_default();
            let only = only_states_changed(file, &before, &after);
            assert_eq!(only, Ok(()), "{}", path.display());
        }
        ran += 1;
    }
    assert!(ran > 50, "{ran} sessions were run");
}
