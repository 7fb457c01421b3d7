//! The four invariants of sessions.

use serde_json::{Value, json};
use team_executor_testkit::World;

use super::{BIN, SESSION, cells, claimed, lifecycle, refused, reports, run, run_with, states};
use crate::fixtures::world as fixture;
use crate::run::{arguments, json as file};

/// A lifecycle session of two tasks.
fn two_tasks(own: &Value) -> World {
    lifecycle(&[("A", "", json!({})), ("B", "A", json!({}))], own)
}

/// What the session says of itself.
fn own(world: &World) -> Value {
    file(world.dir().join("S/team-session.json"))
}

/// R: D-06
#[test]
fn session_invariant_1_session_ids_are_unique() {
    let world = two_tasks(&json!({}));
    let places = [".workflow/.team/one", ".workflow/.team/two"];
    for place in places {
        world.copy_tree(world.dir().join("S"), place);
    }
    let alone = world.run(&["validate", SESSION]);
    assert!(!alone.stdout.contains("another session"), "S is not below .workflow: {alone}");
    let listed = world.run(&["sessions"]);
    assert_eq!(listed.stdout.matches("same id as .workflow/.team/one").count(), 1, "{listed}");
    let listed: Value = serde_json::from_str(&world.run(&["sessions", "--format", "json"]).stdout).expect("JSON");
    assert_eq!(listed["sessions"][0]["same_id_as"], Value::Null, "{listed}");
    assert_eq!(
        (&listed["sessions"][1]["same_id_as"], &listed["sessions"][1]["id"]),
        (&places[0].into(), &"TLS-x-20260305".into())
    );
    for (place, other) in [(places[0], "two"), (places[1], "one")] {
        let session = format!("--session={place}");
        let told = world.run(&["validate", &session]);
        assert!(told.code == Some(0) && told.stdout.contains("warning: another session has the same id: "), "{told}");
        assert!(told.stdout.contains(&format!(".workflow/.team/{other}")), "{told}");
        let before = world.tree();
        assert_eq!(world.run(&["validate", &session, "--strict"]).code, Some(2));
        assert_eq!(world.run(&arguments(&session, "true", &["--strict"])).code, Some(2));
        assert_eq!(world.tree(), before);
        let ran = world.run(&arguments(&session, "echo \"$TEAM_EXECUTOR_SESSION\" >> ran", &[]));
        assert!(ran.code == Some(0) && ran.stderr.contains("another session has the same id"), "{ran}");
    }
    // Each has a run of its own, in which nothing of the other is.
    let ran = crate::run::read(world.dir().join("ran"));
    assert_eq!(ran.lines().filter(|line| line.ends_with("/one")).count(), 2, "{ran}");
    assert_eq!(ran.lines().count(), 4, "{ran}");
    // The command line makes no second one, and nothing else can.
    let init = || world.run(&["init", "--name", "again", "Do it"]);
    assert_eq!((init().code, init().code), (Some(0), Some(2)));
    claimed(&json!({"session_id": "S-other", "session": "S-other"}));
}

/// R: D-06
#[test]
fn session_invariant_2_change_is_not_before_creation() {
    let told = fixture("tls-times-backwards").run(&["validate", "--session=tls-times-backwards"]);
    assert!(told.code == Some(0) && told.stdout.contains("`updated_at` is before `created_at`"), "{told}");
    let script = reports(&json!({"status": "completed", "findings": "f", "timestamp": "1999-01-01T00:00:00Z",
        "created_at": "2098-01-01T00:00:00Z", "updated_at": "1999-01-01T00:00:00Z"}));
    for times in [
        json!({"updated_at": "2026-03-05T08:00:00Z"}),
        json!({"created_at": "2099-01-01T00:00:00Z", "updated_at": "2099-01-01T00:00:00Z"}),
        json!({"created_at": "2099-01-01T00:00:00Z", "updated_at": "2026-03-05T08:00:00Z"}),
    ] {
        let world = two_tasks(&times);
        let in_order = || {
            let own = own(&world);
            let time = |name: &str| own[name].as_str().expect("a time").to_owned();
            assert!(time("updated_at") >= time("created_at"), "{own}");
            assert!(!world.run(&["validate", SESSION]).stdout.contains("is before"), "{own}");
        };
        assert_eq!(run(&world, &format!("{BIN} msg log x --data '{times}' || exit 8\n{script}")).code, Some(0));
        in_order();
        assert_eq!(world.run(&["task", "update", "B", "--status", "pending", SESSION]).code, Some(0));
        in_order();
        assert_eq!(run(&world, &script).code, Some(0));
        in_order();
    }
}

/// R: D-06
#[test]
fn session_invariant_3_completed_session_has_no_open_task() {
    // The file says so too early: that is told, and the tasks run.
    let early = two_tasks(&json!({"status": "completed"}));
    let done = run(&early, "");
    assert!(done.stderr.contains("the session is completed but has unfinished tasks"), "{done}");
    assert_eq!(
        (own(&early)["status"].as_str(), states(&early).as_str()),
        (Some("completed"), "A completed, B completed")
    );
    let completed = |world: &World| own(world)["status"] == "completed";
    // A worker says so and fails; nothing can be put away.
    let world = two_tasks(&json!({"status": "completed"}));
    let says =
        format!("{BIN} msg log x --type session_completed --data '{{\"status\":\"completed\"}}' || exit 8; exit 1");
    let failed = run_with(&world, &says, &["--on-complete", "auto_archive"]);
    assert_eq!((failed.code, states(&world).as_str()), (Some(1), "A failed, B skipped"), "{failed}");
    assert!(!completed(&world) && !world.dir().join(".workflow/.archive").exists(), "{}", own(&world));
    // While a person sets back what was completed, it is not; neither can it be put away.
    let world = two_tasks(&json!({}));
    assert_eq!(run(&world, "").code, Some(0));
    assert!(completed(&world));
    assert_eq!(world.run(&["task", "update", "B", "--status", "pending", SESSION]).code, Some(0));
    assert!(!completed(&world), "{}", own(&world));
    let put_away = world.run(&["archive", SESSION]);
    assert!(!world.dir().join(".workflow/.archive").exists(), "{put_away}");
    assert_ne!(own(&world)["status"], "archived");
    refused(&world, &["checkpoint", "resume"], "nothing was done: ");
    claimed(&json!({"session_status": "completed", "task_list": [], "completed_tasks": ["A", "B"]}));
}

/// R: D-06
#[test]
fn session_invariant_4_named_artifacts_are_registered() {
    let name = "tls-artifact-unregistered";
    let world = fixture(name);
    let told = world.run(&["validate", &format!("--session={name}")]);
    assert!(told.stdout.contains("warning: a task names an artifact that the registry lacks"), "{told}");
    let before = world.tree();
    let strict = world.run(&arguments(&format!("--session={name}"), "true", &["--strict"]));
    assert_eq!((strict.code, world.tree()), (Some(2), before), "{strict}");
    // What a worker names exists, or its task is not completed; what exists is registered.
    let world = two_tasks(&json!({}));
    world.write("made.md", "text");
    let result = |path: &str| {
        reports(&json!({"status": "completed", "findings": "f", "artifacts_produced": [path],
            "metadata": {"artifacts": ["ghost"]}}))
    };
    world.write("B.sh", result("none.md"));
    let done = run_with(&world, &result("made.md"), &["--rounds", "0", "--at-checkpoint", "resume"]);
    assert_eq!(cells(&world, "status"), ["completed", "failed"], "{done}");
    assert!(cells(&world, "error")[1].contains("none.md: reported as delivered, but it does not exist"), "{done}");
    let own = own(&world);
    let registry = own["artifact_registry"].as_object().expect("a registry");
    assert_eq!(registry.keys().collect::<Vec<_>>(), ["A/made.md"], "{own}");
    assert!(!own.to_string().contains("ghost"), "{own}");
    assert_eq!(world.run(&["validate", SESSION, "--strict"]).code, Some(0));
    claimed(&json!({"metadata": {"artifacts": ["ghost"], "artifact_id": "ghost"}}));
}
