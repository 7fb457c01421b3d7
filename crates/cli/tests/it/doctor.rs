//! `doctor`: what it says about a machine, a project and a run, and what it repairs.

use serde_json::Value;
use team_executor_testkit::{Run, World};

use crate::run::{DID, folder, read, run, tasks};

fn finished() -> World {
    let world = tasks(&[("A", ""), ("B", "A")]);
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    world
}

/// Looks at `S` as a program does.
fn checks(world: &World) -> (Run, Value) {
    let run = world.run(&["doctor", "--session=S", "--format", "json"]);
    let value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    (run, value)
}

/// The check of this name in the run.
fn check<'v>(value: &'v Value, name: &str) -> &'v Value {
    let checks = value["run"]["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}: {value}"))
}

#[test]
fn a_healthy_run_is_fine_and_looking_changes_nothing() {
    let world = finished();
    let before = world.tree();
    let (run, value) = checks(&world);
    assert_eq!((run.code, &value["version"]), (Some(0), &Value::from(1)), "{run}");
    for name in ["journal", "lock", "keepers", "temporaries", "views"] {
        assert_eq!(check(&value, name)["verdict"], "fine", "{run}");
    }
    let text = world.run(&["doctor", "--session=S"]);
    let records = read(folder(&world).join(".executor/journal")).lines().count();
    assert!(text.stdout.contains(&format!("  ✓ journal       whole: {records} records by 1 executor\n")), "{text}");
    assert!(text.stdout.starts_with("Protections of workers\n"), "{text}");
    assert_eq!(world.tree(), before);
}

#[test]
fn without_a_run_the_machine_and_the_place_are_told() {
    let world = tasks(&[("A", "")]);
    let alone = world.run(&["doctor"]);
    assert_eq!(alone.code, Some(0), "{alone}");
    assert!(alone.stdout.contains("\nProject $DIR\n".replace("$DIR", &world.dir().display().to_string()).as_str()));
    let never = world.run(&["doctor", "--session=S"]);
    assert!(never.code == Some(0) && never.stdout.ends_with("Session S was never run\n"), "{never}");
    let nothing = world.run(&["doctor", "--session=S", "--repair"]);
    assert_eq!(
        (nothing.code, nothing.stderr.starts_with("error: the session was never run\nhelp: run it with: ")),
        (Some(2), true)
    );
    assert!(nothing.stderr.ends_with(" --session=S\n"), "{nothing}");
    let unnamed = world.run(&["doctor", "--repair"]);
    assert!(unnamed.stderr.ends_with("help: name it: team-executor doctor --session=PATH --repair\n"), "{unnamed}");
    for id in ["EX-none", "../S", "."] {
        let unknown = world.run(&["doctor", "--run", id]);
        assert!(unknown.code == Some(2) && unknown.stderr.contains("there is no run "), "{unknown}");
    }
}

#[test]
fn a_damaged_journal_is_explained_copied_cut_and_continued() {
    let world = finished();
    let journal = folder(&world).join(".executor/journal");
    let damaged = read(&journal).replace("completed\",\"task\":\"A", "completed\",\"task\":\"Z");
    std::fs::write(&journal, &damaged).expect("written");
    let line = damaged[..damaged.find("\"Z\"").expect("the damage")].lines().count();
    let (run_of_doctor, value) = checks(&world);
    assert_eq!((run_of_doctor.code, &check(&value, "journal")["verdict"]), (Some(2), &Value::from("bad")));
    let says = check(&value, "journal")["says"].as_str().unwrap_or_default();
    assert!(says.starts_with(&format!("damaged: line {line}, at byte ")), "{says}");
    let behind = damaged.lines().count() - line;
    assert!(says.contains(&format!("has a wrong checksum; {behind} intact lines follow")), "{says}");
    let help = check(&value, "journal")["help"].as_str().unwrap_or_default();
    assert!(help.ends_with("team-executor doctor --session=S --repair"), "{help}");
    let given_up: Vec<_> = value["run"]["given_up"].as_array().expect("a list").iter().map(Value::as_str).collect();
    assert_eq!(given_up.len(), behind + 1);
    assert_eq!((given_up[0], given_up[behind]), (Some("a line that cannot be read"), Some("finished")));
    assert!(given_up.contains(&Some("completed B (attempt 1)")), "{given_up:?}");

    let unasked = world.run(&["doctor", "--session=S", "--repair"]);
    assert_eq!(unasked.code, Some(2), "{unasked}");
    assert!(unasked.stderr.contains("  completed B (attempt 1)\n"), "{unasked}");
    assert!(unasked.stderr.ends_with("help: add -y to repair without being asked\n"), "{unasked}");
    assert_eq!(read(&journal), damaged);

    let repaired = world.run(&["doctor", "--session=S", "--repair", "-y"]);
    assert_eq!(repaired.code, Some(0), "{repaired}");
    assert!(repaired.stdout.ends_with("all of it is in .executor/journal.damaged-1\n"), "{repaired}");
    assert_eq!(read(journal.with_file_name("journal.damaged-1")), damaged);
    let kept: String = damaged.split_inclusive('\n').take(line - 1).collect();
    assert_eq!(read(&journal), kept);

    let continued = run(&world, DID, &[]);
    assert_eq!(continued.code, Some(0), "{continued}");
    assert_eq!(checks(&world).0.code, Some(0));
}

#[test]
fn result_of_a_discarded_attempt_does_not_count_later() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let reports = r#"echo '{"status":"completed","findings":"old"}' > $TEAM_EXECUTOR_RESULT"#;
    assert_eq!(run(&world, reports, &[]).code, Some(0));
    let journal = folder(&world).join(".executor/journal");
    let damaged = read(&journal).replace("completed\",\"task\":\"A", "completed\",\"task\":\"Z");
    std::fs::write(&journal, &damaged).expect("written");
    assert_eq!(world.run(&["doctor", "--session=S", "--repair", "-y"]).code, Some(0));
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    let table = read(folder(&world).join("tasks.csv"));
    // The first attempt at A is known, and its keeper wrote down how it ended.
    assert!(table.contains(",completed,old,") && table.contains(",completed,did B,"), "{table}");
    let agents = folder(&world).join("agents");
    assert!(read(agents.join("B.1.result.json.stale-1")).contains("old"));
}

#[test]
fn a_run_that_lost_its_first_line_is_not_begun_anew_beside_it() {
    let world = finished();
    let journal = folder(&world).join(".executor/journal");
    std::fs::write(&journal, read(&journal).replacen("plan", "plum", 1)).expect("written");
    let refused = run(&world, DID, &[]);
    assert_eq!(refused.code, Some(74), "{refused}");
    let id = folder(&world).file_name().expect("a name").to_string_lossy().into_owned();
    assert!(refused.stderr.contains(&format!("help: look at it: team-executor doctor --run={id}\n")), "{refused}");
    let way_out = format!("team-executor archive {id}");
    assert!(refused.stderr.contains(&way_out), "{refused}");
    let unknown = world.run(&["status", "--session=S"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains(&way_out), "{unknown}");
    let looked = world.run(&["doctor", "--run", &id]);
    assert!(looked.code == Some(2) && looked.stdout.contains("damaged: line 1, at byte 0, "), "{looked}");
    let repaired = world.run(&["doctor", &format!("--run={id}"), "--repair", "-y"]);
    assert_eq!(repaired.code, Some(0), "{repaired}");
    assert_eq!(run(&world, DID, &[]).code, Some(0));
}

#[test]
fn a_run_that_lost_its_journal_is_not_begun_anew_beside_it() {
    for lost in ["journal removed", "journal emptied", "all removed"] {
        let world = finished();
        let executor = folder(&world).join(".executor");
        let journal = executor.join("journal");
        match lost {
            "journal removed" => std::fs::remove_file(&journal),
            "journal emptied" => std::fs::write(&journal, ""),
            _ => std::fs::remove_dir_all(&executor),
        }
        .expect("lost");
        let id = folder(&world).file_name().expect("a name").to_string_lossy().into_owned();
        let refused = run(&world, DID, &[]);
        assert!(refused.code == Some(74) && refused.stderr.contains("is lost, or damaged"), "{lost}: {refused}");
        assert!(
            refused.stderr.contains(&format!("help: look at it: team-executor doctor --run={id}\n")),
            "{lost}: {refused}"
        );
        let unknown = world.run(&["status", "--session=S"]);
        assert!(unknown.code == Some(2) && unknown.stderr.contains(&id), "{lost}: {unknown}");
        let looked = world.run(&["doctor", "--session=S"]);
        assert!(looked.code == Some(2) && looked.stdout.contains("damaged: line 1, at byte 0, is"), "{looked}");
        if lost == "journal emptied" {
            let unasked = world.run(&["doctor", "--session=S", "--repair"]);
            assert!(unasked.code == Some(2) && unasked.stderr.contains("add -y"), "{unasked}");
            let repaired = world.run(&["doctor", "--session=S", "--repair", "-y"]);
            assert_eq!(repaired.code, Some(0), "{repaired}");
        } else {
            let given_up = world.run(&["archive", &id, "--give-up", "it is lost"]);
            assert_eq!(given_up.code, Some(0), "{lost}: {given_up}");
        }
        assert_eq!(run(&world, DID, &[]).code, Some(0), "another one begins");
    }
}

#[test]
fn shortened_journal_is_damage_and_repeats_nothing() {
    let world = finished();
    let executor = folder(&world).join(".executor");
    let whole = read(executor.join("journal"));
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let cut = lines[..lines.len() - 3].concat();
    for rendered in [true, false] {
        if !rendered {
            std::fs::remove_file(executor.join("rendered")).expect("removed");
        }
        std::fs::write(executor.join("journal"), &cut).expect("cut");
        let refused = run(&world, DID, &[]);
        assert_eq!(refused.code, Some(74), "{refused}");
        let line = lines.len() - 2;
        let why = format!("the journal is damaged: line {line}, at byte {}, is missing, although", cut.len());
        let words = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&why) && words.contains("help: team-executor doctor --session=S"), "{refused}");
        assert_eq!(read(executor.join("journal")), cut);
        assert_eq!(world.run(&["status", "--session=S"]).code, Some(2));
    }
    let (looked, value) = checks(&world);
    assert_eq!((looked.code, &check(&value, "journal")["verdict"]), (Some(2), &Value::from("bad")));
    assert_eq!(value["run"]["given_up"][0], "whatever is missing", "{looked}");
    let repaired = world.run(&["doctor", "--session=S", "--repair", "-y"]);
    assert_eq!(repaired.code, Some(0), "{repaired}");
    assert_eq!(read(executor.join("journal.damaged-1")), cut);
    let continued = run(&world, DID, &[]);
    assert_eq!(continued.code, Some(0), "{continued}");
    assert_eq!(checks(&world).0.code, Some(0));
}

#[test]
fn a_run_that_lost_its_first_line_can_be_given_up() {
    for by_session in [false, true] {
        let world = finished();
        let journal = folder(&world).join(".executor/journal");
        std::fs::write(&journal, read(&journal).replacen("plan", "plum", 1)).expect("written");
        let id = folder(&world).file_name().expect("a name").to_string_lossy().into_owned();
        let named = if by_session { "--session=S" } else { &id };
        let refused = world.run(&["archive", named]);
        assert!(refused.code == Some(74) && refused.stderr.contains("--give-up"), "{refused}");
        let given_up = world.run(&["archive", named, "--give-up", "the disk broke"]);
        assert_eq!(given_up.code, Some(0), "{given_up}");
        assert!(world.dir().join(".workflow/.archive").join(&id).is_dir(), "{given_up}");
        assert_eq!(run(&world, DID, &[]).code, Some(0), "another one begins");
    }
}

#[test]
fn doctor_names_leftovers_and_edits() {
    let world = finished();
    let stray = folder(&world).join(".tasks.csv.tmp-0123456789abcdef");
    let theirs = folder(&world).join(".notes.tmp");
    std::fs::write(&stray, "half").expect("written");
    std::fs::write(&theirs, "kept").expect("written");
    std::fs::write(folder(&world).join("tasks.csv"), "edited").expect("written");
    let (run, value) = checks(&world);
    assert_eq!(run.code, Some(0), "{run}");
    let verdicts = ["temporaries", "views"].map(|name| check(&value, name)["verdict"].clone());
    assert_eq!(verdicts, ["weak", "weak"]);
    let says = check(&value, "temporaries")["says"].as_str().unwrap_or_default().to_owned();
    assert_eq!(says, "a crash left .tasks.csv.tmp-0123456789abcdef");
    let repaired = world.run(&["doctor", "--session=S", "--repair"]);
    assert!(repaired.stdout.ends_with("Repaired: 1 unfinished file removed\n"), "{repaired}");
    assert_eq!((stray.exists(), read(&theirs)), (false, "kept".to_owned()));
}
