//! What becomes of a session when its tasks are completed: kept, put away, exported.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json as value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Terminal, World};

use super::{DID, arguments, folder, json, read, run, tasks};
use crate::fixtures::world as fixture;

const SESSION: &str = "--session=tc-spec-minimal";
const WORKER: &str = "echo $TEAM_EXECUTOR_TASK > $TEAM_EXECUTOR_ARTIFACTS/made; echo did it";

fn status(world: &World) -> serde_json::Value {
    json(world.dir().join("tc-spec-minimal/team-session.json"))["status"].clone()
}

/// The runs in one of the two places.
fn runs(world: &World, place: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.dir().join(".workflow").join(place)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn ran(more: &[&str]) -> (World, team_executor_testkit::Run) {
    let world = fixture("tc-spec-minimal");
    let run = world.run(&arguments(SESSION, WORKER, more));
    assert_eq!(run.code, Some(0), "{run}");
    (world, run)
}

/// R: E-06
#[test]
fn a_session_is_kept_with_the_command_that_resumes_it() {
    let (world, run) = ran(&["--on-complete", "auto_keep"]);
    assert_eq!(status(&world), "paused");
    assert!(run.stdout.contains("Resume with: team-executor resume --session=tc-spec-minimal"), "{run}");
    assert_eq!((runs(&world, ".csv-wave").len(), runs(&world, ".archive").len()), (1, 0));
    let again = world.run(&arguments(SESSION, "touch again", &["--on-complete", "auto_keep"]));
    assert!(again.stdout.contains("is finished; nothing was done"), "{again}");
    assert_eq!(status(&world), "paused");
}

/// R: E-06
#[test]
fn a_run_is_put_away_and_nothing_of_the_users_is_deleted() {
    let (world, run) = ran(&["--on-complete", "auto_archive"]);
    assert_eq!(status(&world), "completed");
    assert_eq!((runs(&world, ".csv-wave").len(), runs(&world, ".archive").len()), (0, 1));
    assert!(run.stdout.contains(" was archived to "), "{run}");
    let away = &runs(&world, ".archive")[0];
    assert!(read(away.join("results.csv")).contains("did it"));
    let before = world.tree();
    let again = world.run(&arguments(SESSION, "touch again", &["--on-complete", "auto_archive"]));
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stdout.contains("is finished; nothing was done"), "{again}");
    assert_eq!(world.tree(), before);
    let status = world.run(&["status", SESSION]);
    assert!(status.stdout.contains(" is finished\n"), "{status}");
}

/// R: E-06
#[test]
fn failed_completion_keeps_the_session_with_a_warning() {
    let world = fixture("tc-spec-minimal");
    world.write(".workflow/.archive", "a file where a folder must be");
    let run = world.run(&arguments(SESSION, WORKER, &["--on-complete", "auto_archive"]));
    assert_eq!(run.code, Some(0), "{run}");
    assert!(
        run.stderr.contains("warning: cannot make ") && run.stderr.contains("; the session is kept active"),
        "{run}"
    );
    assert!(run.stdout.contains("Resume with: "), "{run}");
    assert_eq!((status(&world), runs(&world, ".csv-wave").len()), ("paused".into(), 1));
}

/// R: E-06
#[test]
fn completion_action_counts_and_failed_runs_stay() {
    let world = fixture("tc-spec-minimal");
    let path = world.dir().join("tc-spec-minimal/team-session.json");
    let text = read(&path).replacen('{', "{\"completion_action\": \"auto_archive\",", 1);
    std::fs::write(&path, text).expect("written");
    let failed = world.run(&arguments(SESSION, "false", &["--retries", "0"]));
    assert_eq!(failed.code, Some(1), "{failed}");
    assert_eq!((status(&world), runs(&world, ".archive").len()), ("paused".into(), 0));
}

/// On a terminal the user is asked.
/// R: E-06
#[test]
fn a_person_on_a_terminal_chooses() {
    let chosen = |answers: &[(&str, &str)]| {
        let world = fixture("tc-spec-minimal");
        let mut terminal = Terminal::start(world.command(&[SESSION, "--agent-command", "echo did it"]));
        terminal.wait_for("Start? [Y/n]").say("y");
        for (question, answer) in answers {
            terminal.wait_for(question).say(answer);
        }
        let (code, shown) = terminal.end();
        assert_eq!(code, Some(0), "{shown}");
        (world, shown)
    };
    let choice = "Archive & Clean (recommended)";
    let (world, shown) = chosen(&[(choice, "2")]);
    assert!(shown.contains("Resume with: "), "{shown}");
    assert_eq!((status(&world), runs(&world, ".csv-wave").len()), ("paused".into(), 1), "{shown}");
    let folder = "Export to which folder? ";
    let (world, shown) = chosen(&[(choice, "3"), (folder, "../out")]);
    assert_eq!((status(&world), runs(&world, ".archive").len()), ("completed".into(), 1), "{shown}");
    assert!(world.dir().join("../out/export-manifest.json").exists(), "{shown}");
    let (world, shown) = chosen(&[(choice, "3"), (folder, "~/delivery")]);
    assert!(world.dir().join("../home/delivery/export-manifest.json").exists(), "{shown}");
}

#[test]
fn an_export_is_whole_repeatable_and_overwrites_nothing() {
    let (world, _) = ran(&[]);
    world.write("tc-spec-minimal/artifacts/notes.md", "of the session");
    std::os::unix::fs::symlink("/etc/passwd", world.dir().join("tc-spec-minimal/artifacts/link")).expect("a link");
    let export = |more: &[&str]| world.run(&[&["export", SESSION], more].concat());
    let first = export(&["--to", "../out"]);
    assert_eq!(first.code, Some(0), "{first}");
    assert!(first.stdout.contains("left out: artifacts/link (it is a link)"), "{first}");
    let out = world.dir().join("../out");
    let manifest = json(out.join("export-manifest.json"));
    let listed = manifest["files"].as_array().expect("a list");
    assert!(listed.iter().any(|file| file["path"] == "artifacts/notes.md" && file["size"] == 14), "{manifest}");
    assert!(listed.iter().any(|file| file["path"] == "context.md"), "{manifest}");
    // As if it had been interrupted.
    std::fs::remove_file(out.join("export-manifest.json")).expect("removed");
    std::fs::remove_file(out.join("context.md")).expect("removed");
    std::fs::write(out.join("theirs"), "kept").expect("written");
    // What one that was killed has left.
    let (ours, theirs) = (".context.md.tmp-0123456789abcdef", ".other.md.tmp-0123456789abcdef");
    [ours, theirs].iter().for_each(|name| std::fs::write(out.join(name), "half").expect("written"));
    let second = export(&["--to", "../out", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&second.stdout).expect("JSON");
    assert_eq!((&said["copied"], &said["were_there"]), (&value!(1), &value!(listed.len() - 1)));
    assert_eq!((out.join(ours).exists(), out.join(theirs).exists()), (false, true), "{second}");
    std::fs::remove_file(out.join(theirs)).expect("removed");
    assert_eq!(json(out.join("export-manifest.json")), manifest);
    assert_eq!(read(out.join("theirs")), "kept");

    std::fs::write(out.join("artifacts/notes.md"), "another").expect("written");
    std::fs::remove_file(out.join("results.csv")).expect("removed");
    let refused = export(&["--to", "../out"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("has other files of these names: artifacts/notes.md"), "{refused}");
    assert!(!out.join("results.csv").exists(), "nothing was copied");
    for inside in ["tc-spec-minimal/out", "tc-spec-minimal", ".", ".workflow/.csv-wave"] {
        let refused = export(&["--to", inside]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("name a folder of its own"), "{refused}");
    }
    assert!(!world.dir().join("tc-spec-minimal/out").exists());
}

#[test]
fn leftovers_of_a_killed_archive_are_removed() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    let id = folder(&world).file_name().expect("a name").to_string_lossy().into_owned();
    let stray = ".tasks.csv.tmp-0123456789abcdef";
    let away = world.dir().join(".workflow/.archive").join(id);
    for run in [folder(&world), away.clone()] {
        let folders = [run.clone(), run.join(".executor"), world.dir().join("S")];
        folders.iter().for_each(|folder| std::fs::write(folder.join(stray), "half").expect("written"));
        let archived = world.run(&["archive", "--session=S"]);
        assert_eq!(archived.code, Some(0), "{archived}");
        for folder in [&away, &away.join(".executor"), &world.dir().join("S")] {
            assert!(!folder.join(stray).exists(), "{}: {archived}", folder.display());
        }
    }
}

#[test]
fn two_artifacts_of_one_name_are_not_exported() {
    let (world, _) = ran(&[]);
    let task = read(runs(&world, ".csv-wave")[0].join("tasks.csv"));
    let id = task.lines().nth(1).and_then(|row| row.split(',').next()).expect("a task").to_owned();
    world.write(&format!("tc-spec-minimal/artifacts/{id}/made"), "another");
    let refused = world.run(&["export", SESSION, "--to", "../out"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("exists in the session and in the run"), "{refused}");
}

/// R: D-13
#[test]
fn finished_runs_are_archived_by_session_name_or_age() {
    let tls = |code: i32| {
        let world = fixture("tls-spec-literal");
        let run = world.run(&arguments("--session=tls-spec-literal", "echo did it", &[]));
        assert_eq!(run.code, Some(code), "{run}");
        world
    };
    let state = |world: &World| json(world.dir().join("tls-spec-literal/team-session.json"))["status"].clone();
    let world = tls(1);
    let young = world.run(&["archive", "--older-than", "30d"]);
    assert_eq!(young.stdout, "Nothing to archive: no finished run is old enough\n");
    let archived = world.run(&["archive", "--session=tls-spec-literal"]);
    assert!(archived.stdout.contains("; its session is archived\n"), "a failed session too: {archived}");
    assert_eq!(
        (state(&world), runs(&world, ".archive").len(), runs(&world, ".csv-wave").len()),
        ("archived".into(), 1, 0)
    );
    let before = world.tree();
    let again = world.run(&["archive", "--session=tls-spec-literal"]);
    assert!(again.stdout.contains(" is archived already in "), "{again}");
    assert_eq!(world.tree(), before);

    // A crash after the move: the session was not told.
    let path = world.dir().join("tls-spec-literal/team-session.json");
    std::fs::write(&path, read(&path).replace("\"archived\"", "\"paused\"")).expect("written");
    assert_eq!(world.run(&["archive", "--session=tls-spec-literal"]).code, Some(0));
    assert_eq!(state(&world), "archived");

    let world = tls(1);
    let id = runs(&world, ".csv-wave")[0].file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(world.run(&["archive", &id, "--format", "json"]).code, Some(0));
    assert_eq!(runs(&world, ".archive").len(), 1);
    let world = tls(1);
    assert_eq!(world.run(&["archive", "--older-than", "0s"]).code, Some(0));
    assert_eq!(runs(&world, ".archive").len(), 1);
}

/// The format of `tc` has no word for it: completed is only what is.
/// R: D-13
#[test]
fn failed_tc_session_is_not_called_completed() {
    for more in [&[][..], &["--give-up", "bought instead"]] {
        let world = fixture("tc-spec-minimal");
        let failed = world.run(&arguments(SESSION, "false", &["--retries", "0"]));
        assert_eq!(failed.code, Some(1), "{failed}");
        let archived = world.run(&[&["archive", SESSION], more].concat());
        assert!(archived.stdout.ends_with("; its session is paused\n"), "{archived}");
        assert_eq!((status(&world), runs(&world, ".archive").len()), ("paused".into(), 1));
        let before = world.tree();
        assert_eq!(world.run(&["archive", SESSION]).code, Some(0));
        assert_eq!(world.tree(), before);
    }
    let (world, _) = ran(&[]);
    let archived = world.run(&["archive", SESSION]);
    assert!(archived.stdout.ends_with("; its session is completed\n"), "{archived}");
    assert_eq!(status(&world), "completed");
}

#[test]
fn unfinished_or_missing_run_is_not_archived() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let usage = world.run(&["archive"]);
    assert_eq!(usage.code, Some(2), "{usage}");
    assert!(usage.stderr.contains("help: name a run, a session with --session=PATH"), "{usage}");
    assert_eq!(world.run(&["archive", "--session=S"]).code, Some(2));
    assert_eq!(world.run(&["export", "--session=S", "--to", "../out"]).code, Some(2));
    world.write("S/tasks.csv", "id,title,deps,role,run_on\nA,Do A,,worker,\nB,Do B,A,worker,always\n");
    assert_eq!(run(&world, "false", &["--cadence", "wave", "--retries", "0"]).code, Some(3));
    let id = runs(&world, ".csv-wave")[0].file_name().expect("a name").to_string_lossy().into_owned();
    let refused = world.run(&["archive", &id]);
    assert_eq!(refused.code, Some(2), "{refused}");
    let typed = format!("help: run it to its end first: team-executor --session={}/S\n", world.dir().display());
    assert!(refused.stderr.contains("is not finished") && refused.stderr.ends_with(&typed), "{refused}");
    let refused = world.run(&["archive", "--session=S"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains(&format!("the run {id} is not finished\nhelp: ")), "{refused}");
    assert!(refused.stderr.ends_with("first: team-executor --session=S\n"), "{refused}");
    for passed_over in [&["--session=S", "--older-than", "1s"][..], &["--older-than", "0s"]] {
        let nothing = world.run(&[&["archive"], passed_over].concat());
        assert_eq!(nothing.stdout, "Nothing to archive: no finished run is old enough\n");
    }
    assert_eq!(runs(&world, ".csv-wave").len(), 1);
}

/// R: D-13
#[test]
fn damaged_run_can_be_given_up_and_blocks_no_other() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    assert_eq!(run(&world, "true", &[]).code, Some(0));
    let damaged = runs(&world, ".csv-wave")[0].clone();
    let id = damaged.file_name().expect("a name").to_string_lossy().into_owned();
    let journal = damaged.join(".executor/journal");
    let mut lines: Vec<String> = read(&journal).lines().map(str::to_owned).collect();
    lines[3].push('x');
    std::fs::write(&journal, lines.join("\n") + "\n").expect("damaged");
    world.copy_tree(world.dir().join("S"), "T");
    world.write("T/tasks.csv", "id,title,deps,role\nA,Do A,,worker\n");
    assert_eq!(world.run(&arguments("--session=T", "true", &[])).code, Some(0));

    let swept = world.run(&["archive", "--older-than", "0s"]);
    assert_eq!(swept.code, Some(74), "{swept}");
    assert!(swept.stdout.contains("EX-T-") && swept.stdout.contains(" was archived to "), "{swept}");
    assert!(swept.stderr.contains(&format!("error: {id} stays where it is: ")), "{swept}");
    assert!(swept.stderr.contains(&format!("help: team-executor doctor --run={id}\n")), "{swept}");
    let json = world.run(&["archive", "--session=S", "--format", "json"]);
    assert_eq!(json.code, Some(74), "{json}");
    let said: serde_json::Value = serde_json::from_str(&json.stdout).expect("a document");
    assert_eq!((&said["archived"], &said["unknown"][0]["run"]), (&value!([]), &value!(id)));
    assert_eq!((runs(&world, ".csv-wave").len(), runs(&world, ".archive").len()), (1, 1));

    let given_up = world.run(&["archive", "--session=S", "--give-up", "the journal is damaged"]);
    assert_eq!(given_up.code, Some(0), "{given_up}");
    assert_eq!((runs(&world, ".csv-wave").len(), runs(&world, ".archive").len()), (0, 2));
}

/// R: D-13
#[test]
fn unrecoverable_session_is_given_up_with_a_reason() {
    let world = super::tasks(&[("QUALITY-001", ""), ("B", "QUALITY-001")]);
    world.copy_tree(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/tls-spec-literal"), "T");
    let stopped = world.run(&arguments("--session=T", "false", &["--retries", "0"]));
    assert_eq!(stopped.code, Some(1), "{stopped}");
    let unfinished = world.run(&arguments("--session=S", "true", &[]));
    assert_eq!(unfinished.code, Some(3), "{unfinished}");
    for session in ["--session=S", "--session=T"] {
        let given_up = world.run(&["archive", session, "--give-up", "bought instead"]);
        assert_eq!(given_up.code, Some(0), "{given_up}");
        assert!(given_up.stdout.contains("was archived to"), "{given_up}");
    }
    let issues = std::fs::read_to_string(world.dir().join("T/wisdom/issues.md")).expect("there are issues");
    assert!(issues.contains("given up: bought instead"), "{issues}");
    let text = std::fs::read_to_string(world.dir().join("T/team-session.json")).expect("the session is there");
    assert!(text.contains("\"archived\""), "{text}");
}

#[test]
fn archived_run_refuses_requests_and_says_how_to_restore() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, "false", &["--retries", "0"]).code, Some(1));
    assert_eq!(world.run(&["archive", "--session=S"]).code, Some(0));
    let back = |text: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix("help: bring it back with: "));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    for args in [&["retry", "--failed"][..], &["skip", "A"], &["pause"], &["stop"], &["checkpoint", "resume"]] {
        let refused = world.run(&[args, &["--session=S"]].concat());
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("error: the run of the session is archived in "), "{refused}");
        back(&refused.stderr);
    }
    let repair = world.run(&["doctor", "--session=S", "--repair", "-y"]);
    assert!(repair.stderr.contains("error: the run of the session is archived in "), "{repair}");
    let looked = world.run(&["doctor", "--session=S"]);
    let moved = Command::new("sh").args(["-c", &back(&looked.stdout)]).current_dir(world.dir()).limited_status();
    assert!(moved.success());
    let retried = world.run(&["retry", "--failed", "--session=S"]);
    assert_eq!(retried.code, Some(0), "{retried}");
    assert_eq!(run(&world, "true", &[]).code, Some(0));

    let world = fixture("tls-spec-literal");
    world.run(&arguments("--session=tls-spec-literal", "echo did it", &[]));
    assert_eq!(world.run(&["archive", "--session=tls-spec-literal"]).code, Some(0));
    let refused = world.run(&["retry", "--failed", "--session=tls-spec-literal"]);
    assert!(refused.stderr.contains("an archived session is not run again"), "{refused}");
}
