//! Only a part of a plan is run; what is left out stays pending for a later run.

use super::asked::ask;
use super::{DID, column, folder, read, run, tasks};

const DONE: &str = "completed";
const LEFT: &str = "pending";

fn five() -> team_executor_testkit::World {
    tasks(&[("A", ""), ("B", "A"), ("C", "B"), ("D", ""), ("E", "D")])
}

/// R: N-03
#[test]
fn each_way_to_choose_a_part_leaves_the_rest_pending() {
    for (words, statuses) in [
        (&["--only", "A", "D"][..], [DONE, LEFT, LEFT, DONE, LEFT]),
        (&["--only=C", "--with-deps"], [DONE, DONE, DONE, LEFT, LEFT]),
        (&["--until", "B"], [DONE, DONE, LEFT, LEFT, LEFT]),
        (&["--from", "D"], [LEFT, LEFT, LEFT, DONE, DONE]),
        (&["--wave", "1"], [DONE, LEFT, LEFT, DONE, LEFT]),
        (&["--only-role", "worker"], [DONE; 5]),
    ] {
        let world = five();
        let part = run(&world, DID, words);
        assert_eq!((part.code, column(&world, "status")), (Some(0), statuses.map(str::to_owned).to_vec()), "{part}");
        let chosen = statuses.iter().filter(|status| **status == DONE).count();
        let said = format!("{chosen} of 5 tasks are chosen; the others stay pending\n");
        assert!(part.stderr.contains(&said), "{part}");
        if chosen < 5 {
            let left = format!("Stopped         {chosen} of the {chosen} chosen tasks are over; {} others", 5 - chosen);
            assert!(part.stdout.contains(&left), "{part}");
            let resume = part.stdout.lines().find(|line| line.starts_with("Resume with: ")).expect("a command");
            let flags = words.iter().filter_map(|word| word.split('=').next()).filter(|word| word.starts_with("--"));
            assert!(flags.into_iter().all(|flag| !resume.contains(flag)), "{resume}");
        }
        assert_eq!(run(&world, DID, &[]).code, Some(0), "a later run goes on");
        assert_eq!(column(&world, "status"), [DONE; 5]);
        assert_eq!(column(&world, "findings"), ["did A", "did B", "did C", "did D", "did E"]);
    }
}

#[test]
fn part_that_waits_for_an_omitted_task_says_so() {
    let world = five();
    let part = run(&world, DID, &["--from", "B", "--until", "C"]);
    assert_eq!((part.code, column(&world, "status")), (Some(3), vec![LEFT.to_owned(); 5]), "{part}");
    assert!(part.stdout.contains("0 of the 2 chosen tasks are over; 3 others stay pending; B waits for A"), "{part}");
    assert_eq!(run(&world, DID, &["--only", "A"]).code, Some(0));
    assert_eq!(run(&world, DID, &["--from", "B"]).code, Some(0), "what it waits for is done now");
    assert_eq!(column(&world, "status"), [DONE, DONE, DONE, LEFT, LEFT]);
}

#[test]
fn part_with_a_failed_task_is_not_complete() {
    let world = five();
    let part = run(&world, "test $TEAM_EXECUTOR_TASK != B", &["--until", "C", "--retries", "0"]);
    assert_eq!(part.code, Some(1), "{part}");
    assert_eq!(column(&world, "status"), [DONE, "failed", "skipped", LEFT, LEFT]);
    let shown: serde_json::Value =
        serde_json::from_str(&ask(&world, &["status", "--format", "json"]).stdout).expect("a document");
    assert_eq!(shown["finished"], false, "{shown}");
}

#[test]
fn part_without_tasks_is_refused_before_anything_runs() {
    let world = five();
    let before = world.tree();
    for (words, why) in [
        (&["--only", "X"][..], "there is no task 'X'"),
        (&["--only-role", "stranger"], "no task has the role 'stranger'"),
        (&["--wave", "7"], "there is no wave 7: the plan has 3"),
        (&["--wave", "1", "--from", "C"], "no task is in all that was named"),
    ] {
        let refused = run(&world, DID, words);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{why}: {refused}");
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn part_in_wave_cadence_leaves_later_waves_pending() {
    let world = five();
    let part = run(&world, DID, &["--cadence", "wave", "--until", "B"]);
    assert_eq!(
        (part.code, column(&world, "status")),
        (Some(3), [DONE, LEFT, LEFT, LEFT, LEFT].map(str::to_owned).to_vec())
    );
    assert_eq!(run(&world, DID, &[]).code, Some(0));
    assert_eq!(column(&world, "status"), [DONE; 5]);
}

/// R: N-03
#[test]
fn part_survives_kill_9_as_a_part() {
    let world = five();
    let kills = "[ -e killed ] || { touch killed; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 99; }";
    let killed = run(&world, kills, &["--until", "B"]);
    assert_ne!(killed.code, Some(0), "{killed}");
    assert_eq!(run(&world, DID, &["--until", "B"]).code, Some(0));
    assert_eq!(column(&world, "status"), [DONE, DONE, LEFT, LEFT, LEFT]);
    assert!(read(folder(&world).join(".executor/journal")).contains("{\"type\":\"halted\",\"part_done\":true,"));
}
