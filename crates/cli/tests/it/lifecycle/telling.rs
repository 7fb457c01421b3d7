//! How a story is told: the scripted worker, what is done to the executor at each step, and what must be so afterwards.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use super::Step::{self, Completed, Damaged, Killed, KilledWaiting, Paused, Resumed, Revised};
use super::Story;
use crate::run::{folder, read, rows};

const SESSION: &str = "--session=S";
const REQUIREMENT: &str = "Rewrite the login API with OWASP in mind";
/// What a person says who revises.
pub(super) const SHORTER: &str = "say it shorter";
/// What `status` says to do about a run without an executor.
const GOES_ON: &str = "\n    Resume: team-executor resume --session=S\n";

/// What every worker does: it counts its starts in `<task>.log`, delivers one file, and does what a line `<task> <start> …`
/// of `story` says: `block`, the name of a task to send back, or `kill` the executor, which is its grandparent, and hang.
const WORKER: &str = r#"task=$TEAM_EXECUTOR_TASK
echo "$TEAM_EXECUTOR_ATTEMPT" >> "$task.log"
cat > "$task.prompt"
verdict=pass data='"complexity":"high"' kills=
for act in $(sed -n "s/^$task $(grep -c . "$task.log") //p" story); do
    case $act in
    block) verdict=block ;;
    kill) kills=yes ;;
    *) data="\"verdict\":\"reject\",\"rejects\":[\"$act\"],\"critique\":\"not yet\"" ;;
    esac
done
echo "made by $TEAM_EXECUTOR_ATTEMPT" > "$TEAM_EXECUTOR_ARTIFACTS/$task.md"
printf '{"status":"completed","findings":"did %s","supervision_verdict":"%s","data":{%s}}' \
    "$task" "$verdict" "$data" > "$TEAM_EXECUTOR_RESULT"
[ -z "$kills" ] && exit
kill -9 "$(cut -d' ' -f4 "/proc/$PPID/stat")"
exec tail -f /dev/null
"#;

/// Makes the session, looks at it beforehand, and lets everything happen.
#[track_caller]
pub(super) fn told(story: &Story) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write("worker.sh", WORKER);
    world.write("story", story.acts);
    let tasks = story.starts.len();
    fine(&world, &["init", "--pipeline", story.pipeline, "--dialect", story.dialect, "--dir", "S", REQUIREMENT]);
    let valid = fine(&world, &["validate", SESSION, "--strict"]);
    assert_eq!(valid.stderr, "", "{valid}");
    let plan = fine(&world, &["plan", SESSION]);
    assert!(plan.stdout.contains(&format!("{tasks} tasks (0 done)")), "{plan}");
    let rehearsed = fine(&world, &["rehearse", SESSION, "--speed", "100000", "-c", "1"]);
    assert!(rehearsed.stdout.contains(&format!("Pipeline complete: {tasks}/{tasks} tasks completed")), "{rehearsed}");

    let mut decisions = Vec::new();
    let mut damaged = None;
    for (nth, step) in story.steps.iter().enumerate() {
        let what = format!("{}, step {nth}: {step:?}", story.pipeline);
        match *step {
            Killed => {
                assert_eq!(ended(start(&world, &[])).signal(), Some(9), "{what}");
            }
            KilledWaiting(at) => {
                let mut executor = waits(&world, at);
                executor.kill().expect("killed");
                assert_eq!(executor.limited_wait().signal(), Some(9), "{what}");
            }
            Paused(_) => assert_eq!(run(&world).code, Some(3), "{what}"),
            Revised(at, task) => {
                let executor = waits(&world, at);
                // Whether the answer still reaches us is a race with the worker that kills.
                world.run(&["checkpoint", "revise", task, SHORTER, SESSION]);
                assert_eq!(ended(executor).signal(), Some(9), "{what}");
                assert!(read(world.dir().join(format!("{task}.prompt"))).contains(&format!("\n> {SHORTER}\n")));
                decisions.push("revise");
            }
            Resumed => {
                fine(&world, &["checkpoint", "resume", SESSION]);
                decisions.push("resume");
            }
            Damaged(task) => {
                let path = format!("artifacts/{task}/{task}.md");
                std::fs::write(folder(&world).join(&path), "something else").expect("written");
                damaged = Some((task, format!("{path} changed since it was delivered")));
            }
            Completed => assert_eq!(run(&world).code, Some(0), "{what}"),
        }
        explained(&world, *step, &decisions, &what);
        faults(&world, damaged.as_ref().map(|(_, fault)| fault.as_str()), &what);
    }
    let (damaged, fault) = damaged.expect("something was damaged");
    right(&world, story, damaged);
    let report = read(folder(&world).join("context.md"));
    assert!(report.contains(&format!("## Not as it was delivered\n\n- {fault}\n")), "{report}");
    let exported = world.run(&["export", SESSION, "--to", "../out"]);
    assert!(exported.code == Some(1) && exported.stdout.contains(&format!("not right: {fault}\n")), "{exported}");
    world
}

/// Every task is completed, started as often as it had to be, and what it delivered last is there.
#[track_caller]
fn right(world: &World, story: &Story, damaged: &str) {
    let rows = rows(world);
    let states: BTreeMap<&str, &str> = rows.iter().map(|(id, row)| (id.as_str(), row["status"].as_str())).collect();
    assert_eq!(states, story.starts.iter().map(|(id, _)| (*id, "completed")).collect());
    let log =
        |id: &str| -> Vec<String> { read(world.dir().join(format!("{id}.log"))).lines().map(str::to_owned).collect() };
    let starts: Vec<_> = story.starts.iter().map(|(id, _)| (*id, log(id).len())).collect();
    assert_eq!(starts, story.starts);
    for (id, _) in story.starts {
        let mut attempts = log(id);
        if *id != damaged {
            let made = read(folder(world).join(format!("artifacts/{id}/{id}.md")));
            assert_eq!(Some(made.trim_end()), attempts.last().map(|last| format!("made by {last}")).as_deref());
        }
        attempts.sort();
        attempts.dedup();
        assert_eq!(attempts.len(), log(id).len(), "an attempt has its name for itself");
    }
}

/// `status` says where the run stands after a step, to people at 80 columns and to programs.
#[track_caller]
fn explained(world: &World, step: Step, decisions: &[&str], what: &str) {
    let shown = fine(world, &["status", SESSION]);
    // Paths and commands are for copying and are not broken.
    let wide = shown.stdout.lines().find(|line| line.chars().count() > 80 && !line.contains(['/', '=']));
    assert_eq!(wide, None, "{what}: {shown}");
    let stands: Value =
        serde_json::from_str(&fine(world, &["status", SESSION, "--format", "json"]).stdout).expect("JSON");
    let actions: Vec<_> = stands["decisions"].as_array().expect("a list").iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, decisions, "{what}: {stands}");
    assert_eq!(shown.stdout.matches("\nDecided after ").count(), decisions.len(), "{what}: {shown}");
    assert_eq!(stands["executor"], false, "{what}");
    let (stage, checkpoint) = (&stands["stage"], &stands["checkpoint"]["task"]);
    match step {
        Paused(at) | KilledWaiting(at) => {
            assert_eq!((stage, checkpoint), (&"paused".into(), &at.into()), "{what}: {stands}");
            assert!(shown.stdout.contains(&format!(" is paused: checkpoint after {at}\n")), "{what}: {shown}");
            assert!(shown.stdout.contains(&format!("\nCheckpoint after {at}: ")), "{what}: {shown}");
            assert!(shown.stdout.contains(GOES_ON), "{what}: {shown}");
        }
        Killed | Revised(..) => {
            assert_eq!(stage, "going on", "{what}: {stands}");
            assert!(shown.stdout.contains(GOES_ON), "{what}: {shown}");
            let running = stands["running"].as_array().expect("a list");
            assert_eq!(running.len(), 1, "{what}: {stands}");
        }
        Completed => {
            assert_eq!((stage, &stands["finished"]), (&"finished".into(), &true.into()), "{what}: {stands}");
            let tasks = stands["tasks"].as_array().expect("tasks");
            assert!(tasks.iter().all(|task| task["status"] == "completed"), "{what}: {stands}");
            // One round of the reviewer and one of the person.
            assert_eq!(stands["rounds"], 2, "{what}: {stands}");
        }
        Resumed | Damaged(_) => {}
    }
}

/// `artifacts verify` finds what was damaged, and nothing else.
#[track_caller]
fn faults(world: &World, fault: Option<&str>, what: &str) {
    let verified = world.run(&["artifacts", "verify", SESSION]);
    let Some(fault) = fault else {
        assert!(verified.code == Some(0) && verified.stdout.ends_with(" as delivered\n"), "{what}: {verified}");
        return;
    };
    assert_eq!(verified.code, Some(1), "{what}: {verified}");
    assert!(verified.stdout.starts_with(fault) && verified.stdout.lines().count() == 2, "{what}: {verified}");
}

#[track_caller]
fn fine(world: &World, args: &[&str]) -> Run {
    let run = world.run(args);
    assert_eq!(run.code, Some(0), "{run}");
    run
}

/// The same command, whatever happened before. One worker at a time, so that it is known who had not started.
fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", SESSION, "--agent-command", "sh worker.sh", "-y", "-c", "1"], more].concat()
}

/// A run that stops at checkpoints, also where an earlier start waited for a person.
fn run(world: &World) -> Run {
    world.run(&arguments(&["--at-checkpoint", "stop"]))
}

fn start(world: &World, more: &[&str]) -> Child {
    let mut command = world.command(&arguments(more));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// An executor that waits for a person at a checkpoint.
#[track_caller]
fn waits(world: &World, at: &str) -> Child {
    let mut executor = start(world, &["--checkpoint-wait", "10m"]);
    let mut lines = BufReader::new(executor.stderr.as_mut().expect("a pipe"));
    let asked = format!("Checkpoint after {at}: ");
    let found = std::iter::from_fn(|| lines.limited_line()).any(|line| line.starts_with(&asked));
    assert!(found, "it ended before the checkpoint after {at}");
    executor
}

/// How an executor ended; what it still says is read, so that it never waits for us.
fn ended(executor: Child) -> ExitStatus {
    executor.limited_output().status
}
