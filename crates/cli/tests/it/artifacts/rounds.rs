//! What does not pass is done again with the critique, a bounded number of times; then a person decides.

use super::{SESSION, folder, json, one, registered, tasks};
use crate::run::{arguments, column, read};

/// R: D-08
#[test]
fn failed_checks_block_dependents_and_repeat_up_to_rounds() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.write("team-executor.toml", "[tasks.A.checks]\nsections = [\"Summary\"]\n");
    let worker = "echo $TEAM_EXECUTOR_TASK >> worked; cat > $TEAM_EXECUTOR_ARTIFACTS/prompt.txt; \
                  if [ $(wc -l < worked) -ge $GOOD ]; then echo '# Summary'; fi > $TEAM_EXECUTOR_ARTIFACTS/a.md; \
                  echo text >> $TEAM_EXECUTOR_ARTIFACTS/a.md; echo did it";
    let bad = world.run(&arguments(SESSION, &worker.replace("$GOOD", "99"), &["--rounds", "1"]));
    assert_eq!(bad.code, Some(3), "a person is asked: {bad}");
    assert_eq!(read(world.dir().join("worked")), "A\nA\n", "one round, and B waits");
    assert_eq!(registered(&world)["A/a.md"], "failed 1.1");
    let prompt = read(folder(&world).join("artifacts/A/prompt.txt"));
    assert!(prompt.contains("\n> artifacts/A/a.md: the section 'Summary' is missing\n"), "{prompt}");
    assert!(prompt.contains("/quarantine/A.1: reuse what is good"), "what was delivered is not lost: {prompt}");
    assert_eq!(world.run(&["checkpoint", "revise", "A", "please", SESSION]).code, Some(0));
    let good = world.run(&arguments(SESSION, &worker.replace("$GOOD", "3"), &["--rounds", "1"]));
    assert_eq!(good.code, Some(0), "{good}");
    assert_eq!(read(world.dir().join("worked")), "A\nA\nA\nB\n");
    assert_eq!((&*registered(&world)["A/a.md"], &*registered(&world)["B/a.md"]), ("passed 1.2", "passed 1.0"));
}

#[test]
fn recheck_repeats_checks_without_the_worker() {
    let result = "echo '{\"status\":\"completed\",\"findings\":\"found\"}' > $TEAM_EXECUTOR_RESULT";
    [result, "echo on it; echo found"].into_iter().for_each(checked_again);
}

/// A worker says what it found in one way or the other.
fn checked_again(says: &str) {
    let world = tasks(&[("A", "")]);
    world.write("team-executor.toml", "[tasks.A.checks]\nverify = [\"test\", \"-e\", \"fine\"]\n");
    let worker = format!("echo x >> worked; echo text > $TEAM_EXECUTOR_ARTIFACTS/a.md; {says}");
    let run = || world.run(&arguments(SESSION, &worker, &["--rounds", "0", "--trust-project"]));
    assert_eq!(run().code, Some(3));
    assert_eq!(registered(&world), one("A/a.md", "failed 1.0"));
    world.write("fine", "");
    assert_eq!(world.run(&["checkpoint", "recheck", SESSION]).code, Some(0));
    let checked = run();
    assert_eq!(checked.code, Some(0), "{checked}");
    assert_eq!((read(world.dir().join("worked")), registered(&world)), ("x\n".to_owned(), one("A/a.md", "passed 1.0")));
    assert_eq!(column(&world, "findings"), ["found"]);
    let shown = json(&world.run(&["artifacts", "show", "A/a.md", SESSION, "--format", "json"]));
    assert_eq!((&shown["attempt"], &shown["history"][0]["state"]), (&1.into(), &"passed".into()));
}
