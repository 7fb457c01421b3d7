//! What is said of artifacts, and whether their files are still what was delivered.

use std::os::unix::fs::symlink;

use super::{SESSION, again, delivers, folder, json, registered, run, tasks};
use crate::fixtures::world as fixture;
use crate::run::{arguments, column, json as file, read};

#[test]
fn artifacts_are_listed_with_state_version_size_and_producer() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = "case $TEAM_EXECUTOR_TASK in A) echo text > $TEAM_EXECUTOR_ARTIFACTS/report.md;; *) \
                  head -c 3000 /dev/zero > $TEAM_EXECUTOR_ARTIFACTS/a.rs;; esac";
    assert_eq!(run(&world, worker).code, Some(0));
    let shown = |args: &[&str]| {
        let text = world.run(&[&["artifacts"], args, &[SESSION]].concat()).to_string();
        let run = folder(&world);
        let name = run.file_name().expect("a name").to_string_lossy().into_owned();
        text.replace(&name, "[ID]")
    };
    insta::assert_snapshot!(shown(&[]), @r"
    $ team-executor artifacts --session=S
    ------- stdout -------
    2 artifacts of run [ID]
      passed      1.0         5 B  A (worker)  artifacts/A/report.md
      passed      1.0     2.9 KiB  B (worker)  artifacts/B/a.rs
    [exit status: 0]
    ");
    insta::assert_snapshot!(shown(&["show", "A/report.md"]), @r"
    $ team-executor artifacts show A/report.md --session=S
    ------- stdout -------
    Artifact    A/report.md
    State       passed
    File        $DIR/.workflow/.csv-wave/[ID]/artifacts/A/report.md
    Type        report
    Version     1.0
    Made by     A (worker)
    Size        5 bytes
    Checksum    sha256:b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733

    History
      1.0  A, attempt 1: passed
    [exit status: 0]
    ");
    insta::assert_snapshot!(shown(&["show", "none"]), @r"
    $ team-executor artifacts show none --session=S
    ------- stderr -------
    error: there is no artifact 'none'
    help: list them: team-executor artifacts --session=S
    [exit status: 2]
    ");
    insta::assert_snapshot!(shown(&["verify"]), @r"
    $ team-executor artifacts verify --session=S
    ------- stdout -------
    2 of 2 artifacts as delivered
    [exit status: 0]
    ");
    let all = file(folder(&world).join("artifacts.json"));
    let manifest = &all["A/report.md"];
    assert_eq!((&manifest["validation_status"], &manifest["metadata"]["file_size"]), (&"passed".into(), &5.into()));
    assert_eq!(manifest["artifact_type"], "report");
    assert_eq!(all["B/a.rs"]["creator_role"], "worker");
}

/// R: D-12
#[test]
fn changed_artifact_is_reported_by_verify_and_export() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let first = format!(
        "[ $TEAM_EXECUTOR_TASK = A ] || exit 1; {}",
        delivers(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")])
    );
    assert_eq!(run(&world, &first).code, Some(1));
    assert_eq!(world.run(&["artifacts", "verify", SESSION]).stdout, "4 of 4 artifacts as delivered\n");
    let at = folder(&world).join("artifacts/A");
    std::fs::write(at.join("a"), "9").expect("written");
    std::fs::write(at.join("b"), "").expect("written");
    std::fs::remove_file(at.join("c")).expect("removed");
    let verified = world.run(&["artifacts", "verify", SESSION]);
    assert_eq!(verified.code, Some(1), "{verified}");
    let faults = [
        "artifacts/A/a changed since it was delivered",
        "artifacts/A/b is empty since it was delivered",
        "artifacts/A/c is missing since it was delivered",
    ];
    let told = faults.map(|fault| format!("{fault} (A (worker))\n")).concat();
    assert_eq!(verified.stdout, format!("{told}1 of 4 artifacts as delivered\n"));
    let as_json = json(&world.run(&["artifacts", "verify", SESSION, "--format", "json"]));
    let words: Vec<_> = (0..3).map(|nth| as_json["faults"][nth]["fault"].clone()).collect();
    assert_eq!(words, ["changed", "empty", "missing"]);

    let exported = world.run(&["export", SESSION, "--to", "../out"]);
    assert_eq!(exported.code, Some(1), "{exported}");
    for fault in faults {
        assert!(exported.stdout.contains(&format!("not right: {fault}\n")), "{exported}");
    }
    assert_eq!(world.run(&["retry", "B", SESSION]).code, Some(0));
    let ended = run(&world, "echo did it");
    assert_eq!(ended.code, Some(0), "{ended}");
    for fault in faults {
        assert!(ended.stdout.contains(fault), "{ended}");
        assert!(read(folder(&world).join("context.md")).contains(fault));
    }
}

/// R: D-12
#[test]
fn each_artifact_has_a_manifest_and_what_a_worker_wrote_is_kept() {
    let world = tasks(&[("A", ""), ("B", "")]);
    let theirs = r#"{"artifact_id":"plan","artifact_type":"report","path":"x.md","creator_role":"worker","version":"2.3","validation_status":"passed","mine":1}"#;
    let worker = format!(
        "cd $TEAM_EXECUTOR_ARTIFACTS; echo text > x.md; [ $TEAM_EXECUTOR_TASK = A ] && echo '{theirs}' > artifact-manifest.json || echo two > y.md"
    );
    let ran = run(&world, &worker);
    assert_eq!(ran.code, Some(0), "{ran}");
    let at = folder(&world).join("artifacts");
    assert_eq!(read(at.join("A/artifact-manifest.json")), format!("{theirs}\n"));
    let all = file(folder(&world).join("artifacts.json"));
    assert_eq!((&all["plan"]["version"], &all["plan"]["path"]), (&"2.3".into(), &"artifacts/A/x.md".into()));
    assert_eq!(all.as_object().map(|all| all.len()), Some(3), "{all}");
    let left: Vec<_> = std::fs::read_dir(at.join("B")).expect("listed").flatten().map(|one| one.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}: nothing is added to what a worker left");
    assert_eq!(registered(&world)["plan"], "passed 2.3");
}

/// R: S-09
#[test]
fn only_files_of_run_session_or_project_can_be_delivered() {
    let world = tasks(&[("A", "")]);
    std::fs::write(world.dir().join("../secret"), "theirs").expect("written");
    let reported = |path: &str| {
        format!(
            "echo '{{\"status\":\"completed\",\"findings\":\"f\",\"artifacts_produced\":[\"{path}\"]}}' > $TEAM_EXECUTOR_RESULT"
        )
    };
    symlink("../secret", world.dir().join("link")).expect("a link");
    world.write("src/lib.rs", "code");
    let cases = [
        (
            "ln -s ../../../../../../secret $TEAM_EXECUTOR_ARTIFACTS/out".to_owned(),
            "artifacts/A/out: it is a link that leads out of its folder, and only files",
        ),
        (
            "ln -s nowhere $TEAM_EXECUTOR_ARTIFACTS/out".to_owned(),
            "artifacts/A/out: it is a link that leads nowhere, and only files",
        ),
        (reported(".executor/journal"), ".executor/journal: reported as delivered, but it belongs to the executor"),
        ("mkfifo $TEAM_EXECUTOR_ARTIFACTS/pipe".to_owned(), "artifacts/A/pipe: it is not a regular file, and only"),
        (reported("../secret"), "../secret: reported as delivered, but the path goes up with `..`"),
        (reported("/etc/passwd"), "/etc/passwd: reported as delivered, but it is outside of the project"),
        (reported("none.md"), "none.md: reported as delivered, but it does not exist"),
        (reported("link"), "link: a link leads out of its folder"),
    ];
    run(&world, "false");
    for (worker, wrong) in cases {
        let ran = again(&world, "A", &format!("cd {}; {worker}", world.dir().display()));
        assert_eq!(ran.code, Some(1), "{worker} {ran}");
        assert!(ran.stderr.contains(wrong), "{wrong} {ran}");
        assert!(registered(&world).is_empty());
    }
    let fine =
        format!("{}; echo x > $TEAM_EXECUTOR_ARTIFACTS/x; ln -s x $TEAM_EXECUTOR_ARTIFACTS/y", reported("src/lib.rs"));
    assert_eq!(again(&world, "A", &fine).code, Some(0));
    assert_eq!(registered(&world).into_keys().collect::<Vec<_>>(), ["A/src/lib.rs", "A/x"]);
    assert_eq!(read(world.dir().join("../secret")), "theirs");
}

#[test]
fn lifecycle_session_registers_artifacts_in_its_file() {
    let world = fixture("tls-spec-literal");
    let session = "--session=tls-spec-literal";
    let worker = "echo text > $TEAM_EXECUTOR_ARTIFACTS/made.md; echo did it";
    let path = world.dir().join("tls-spec-literal/team-session.json");
    std::fs::write(&path, read(&path).replace("\"failed\"", "\"pending\"")).expect("written");
    world.run(&arguments(session, worker, &[]));
    let own = file(path);
    let registry = own["artifact_registry"].as_object().expect("a registry");
    let made: Vec<_> = registry.iter().filter(|(id, _)| id.ends_with("/made.md")).collect();
    assert!(!made.is_empty(), "{own}");
    for (_, one) in made {
        assert_eq!((&one["validation_status"], &one["version"]), (&"passed".into(), &"1.0".into()));
    }
    let valid = world.run(&["validate", session]);
    assert_eq!(valid.code, Some(0), "{valid}");
}

/// What a worker left that did not complete its task may be half of a file.
#[test]
fn only_what_completed_tasks_delivered_is_listed_and_exported() {
    let world = tasks(&[("A", ""), ("B", ""), ("QUALITY-1", "A"), ("C", "QUALITY-1")]);
    let worker = "echo text > $TEAM_EXECUTOR_ARTIFACTS/$TEAM_EXECUTOR_TASK.md; [ $TEAM_EXECUTOR_TASK != B ]";
    let stopped = world.run(&arguments(SESSION, worker, &["--retries", "0", "--format", "json"]));
    assert_eq!(stopped.code, Some(3), "{stopped}");
    // There are files for a task that was never tried.
    std::fs::create_dir_all(folder(&world).join("artifacts/C")).expect("a folder");
    std::fs::write(folder(&world).join("artifacts/C/early.md"), "early").expect("written");
    assert!(folder(&world).join("artifacts/B/B.md").exists());
    let last: serde_json::Value = serde_json::from_str(stopped.stdout.lines().last().expect("events")).expect("JSON");
    let delivered: Vec<_> = last["deliverables"].as_array().expect("a list").iter().map(|one| &one["task"]).collect();
    assert_eq!(delivered, ["A", "QUALITY-1"]);

    let exported = world.run(&["export", SESSION, "--to", "../out"]);
    for task in ["B", "C"] {
        let note = format!("left out: artifacts/{task} (its task is not completed)\n");
        assert!(exported.stdout.contains(&note), "{exported}");
        assert!(!world.dir().join("../out/artifacts").join(task).exists(), "{exported}");
    }
    assert!(world.dir().join("../out/artifacts/A/A.md").exists(), "{exported}");

    let last = world.run(&["resume", SESSION, "--agent-command", worker, "-y", "--retries", "0"]);
    assert_eq!(last.code, Some(1), "{last}");
    let report = read(folder(&world).join("context.md"));
    let (_, listed) = report.split_once("## Deliverables").expect("a list");
    assert!(listed.contains("artifacts/C/C.md by C") && !listed.contains("B.md"), "{report}");
    assert!(last.stdout.contains("artifacts/C/C.md (C, worker)") && !last.stdout.contains("B.md"), "{last}");
}

#[test]
fn a_link_in_the_place_of_the_folder_is_not_followed() {
    let world = tasks(&[("A", "")]);
    world.write("other/secret.txt", "secret");
    let linked = "rmdir $TEAM_EXECUTOR_ARTIFACTS; ln -s \"$PWD/other\" $TEAM_EXECUTOR_ARTIFACTS";
    let failed = run(&world, linked);
    assert_eq!(failed.code, Some(1), "{failed}");
    assert!(failed.to_string().contains("artifacts/A: it is a link"), "{failed}");
    assert_eq!(registered(&world).len(), 0);
    let fixed = again(&world, "A", "echo did it");
    assert_eq!(fixed.code, Some(0), "{fixed}");
    // One that is put there afterwards shows nothing, either.
    std::fs::remove_dir(folder(&world).join("artifacts/A")).ok();
    symlink(world.dir().join("other"), folder(&world).join("artifacts/A")).expect("a link");
    let exported = world.run(&["export", "--to", "out", SESSION]);
    assert_eq!(exported.code, Some(0), "{exported}");
    assert!(!exported.to_string().contains("secret"), "{exported}");
    std::fs::remove_file(folder(&world).join(".executor/rendered")).expect("removed");
    let shown = run(&world, "true");
    assert!(!shown.to_string().contains("secret"), "{shown}");
    assert!(!read(folder(&world).join("context.md")).contains("secret"));
}

#[test]
fn files_put_there_before_a_task_are_not_its_result() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let worker = "case $TEAM_EXECUTOR_TASK in A) for task in B C; do \
                  mkdir $TEAM_EXECUTOR_ARTIFACTS/../$task; echo planted > $TEAM_EXECUTOR_ARTIFACTS/../$task/x; \
                  echo '{\"status\":\"completed\",\"findings\":\"planted\"}' > \
                  $(dirname $TEAM_EXECUTOR_RESULT)/$task.1.result.json; done;; \
                  C) echo mine > $TEAM_EXECUTOR_ARTIFACTS/y;; esac; echo did $TEAM_EXECUTOR_TASK";
    let done = run(&world, worker);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(&world, "findings"), ["did A", "did B", "did C"]);
    assert_eq!(registered(&world).into_keys().collect::<Vec<_>>(), ["C/y"]);
    for task in ["B", "C"] {
        assert_eq!(read(folder(&world).join(format!("quarantine/{task}.0/x"))), "planted\n");
        assert!(read(folder(&world).join(format!("agents/{task}.1.result.json.stale-1"))).contains("planted"));
        assert!(done.stderr.contains(&format!("moved to quarantine/{task}.0\n")), "{done}");
    }
}

#[test]
fn paths_that_differ_in_case_are_two_artifacts() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = "case $TEAM_EXECUTOR_TASK in A) name=Shared.md;; B) name=shared.md;; esac; echo text > $name; cd \
                  $TEAM_EXECUTOR_ARTIFACTS; echo upper > README.md; echo lower > readme.md; \
                  echo \"{\\\"status\\\":\\\"completed\\\",\\\"artifacts_produced\\\":[\\\"$name\\\"]}\" > $TEAM_EXECUTOR_RESULT";
    let done = run(&world, worker);
    assert_eq!(done.code, Some(0), "{done}");
    let all = ["A/README.md", "A/Shared.md", "A/readme.md", "B/README.md", "B/readme.md", "B/shared.md"];
    assert_eq!(registered(&world).into_keys().collect::<Vec<_>>(), all);
    assert!(registered(&world).values().all(|shown| shown == "passed 1.0"));
    assert_eq!(world.run(&["artifacts", "verify", SESSION]).stdout, "6 of 6 artifacts as delivered\n");
}
