//! `--continue`, and the other options of a run.

use std::process::Stdio;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, Run, Terminal, World};

use super::{DID, arguments, tasks};

/// Two sessions, each with a run whose second task was not done: `S` first, then `T`.
fn two_stopped() -> (World, String, String) {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.copy_tree(world.dir().join("S"), "T");
    for session in ["--session=S", "--session=T"] {
        // The wave that fails stops its run.
        let header = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,run_on";
        let rows = "A,a,Do it,,,csv-wave,worker,1,pending,,,success\nB,b,Do it,A,,csv-wave,worker,2,pending,,,failure";
        world.write(&format!("{}/tasks.csv", &session[10..]), format!("{header}\n{rows}\n"));
        let stopped = world.run(&arguments(session, "false", &["--cadence", "wave", "--retries", "0"]));
        assert_eq!(stopped.code, Some(3), "{stopped}");
    }
    let runs = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("there are runs");
    let names = runs.map(|run| run.expect("a run").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("EX-")).collect();
    names.sort();
    let [s, t] = <[String; 2]>::try_from(names).expect("two runs");
    (world, s, t)
}

fn resume(world: &World, words: &[&str]) -> Run {
    world.run(&[words, &["--agent-command", DID, "-y"]].concat())
}

#[test]
fn continued_run_keeps_its_cadence_and_says_so() {
    let warning = "warning: the run began in wave cadence and stays in it\n";
    let (world, s, _) = two_stopped();
    let other = resume(&world, &["run", "--continue", &s, "--cadence", "beat"]);
    assert!(other.code == Some(1) && other.stderr.contains(warning), "{other}");
    let same = resume(&world, &["run", "--session=T", "--cadence", "wave"]);
    assert!(same.code == Some(1) && !same.stderr.contains("cadence and"), "{same}");
    // Without a name a run is not continued, and a finished one never is.
    let (world, _, _) = two_stopped();
    let unsaid = resume(&world, &["run", "--session=S"]);
    assert!(unsaid.code == Some(1) && !unsaid.stderr.contains("cadence and"), "{unsaid}");
    let over = resume(&world, &["run", "--session=S", "--cadence", "beat"]);
    assert!(over.code == Some(1) && !over.stderr.contains("cadence and"), "{over}");
}

#[test]
fn the_folder_of_a_run_is_not_taken_for_a_session() {
    let world = tasks(&[("A", "")]);
    assert_eq!(world.run(&arguments("--session=S", DID, &[])).code, Some(0));
    let run = super::folder(&world);
    let before = world.tree();
    let session = format!("--session={}", run.display());
    for words in [&arguments(&session, DID, &[])[..], &["status", &session], &["rehearse", &session]] {
        let refused = world.run(words);
        assert_eq!(refused.code, Some(2), "{refused}");
        let help = format!("is the folder of a run\nhelp: name its session: --session={}/S\n", world.dir().display());
        assert!(refused.stderr.ends_with(&help), "{refused}");
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn a_run_moves_with_its_project() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.copy_tree(world.dir().join("S"), "p/.workflow/.team/S");
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let waits = format!(
        "echo $TEAM_EXECUTOR_TASK >>{}/ran; [ $TEAM_EXECUTOR_TASK = A ] || {{ exec 9>{}; printf . >&9; sleep 60; }}",
        world.dir().display(),
        pulse.arg()
    );
    let mut first = world.command(&arguments("--session=p/.workflow/.team/S", &waits, &[]));
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    pulse.wait_alive(1);
    first.kill().expect("it is killed");
    first.limited_wait();
    pulse.wait_dead();
    std::fs::rename(world.dir().join("p"), world.dir().join("q")).expect("it is moved");
    let session = "--session=q/.workflow/.team/S";
    let status = world.run(&["status", session]);
    assert!(status.code == Some(0) && status.stdout.contains("1/2"), "{status}");
    let went_on = world.run(&arguments(session, "echo $TEAM_EXECUTOR_TASK >>../ran", &[]));
    assert_eq!(went_on.code, Some(0), "{went_on}");
    assert_eq!(super::read(world.dir().join("ran")), "A\nB\nB\n", "{went_on}");
    let again = world.run(&arguments(session, "false", &[]));
    assert!(again.code == Some(0) && again.stdout.contains("is finished; nothing was done"), "{again}");
}

#[test]
fn copied_run_leaves_the_originals_workers_alone() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    world.copy_tree(world.dir().join("S"), "p/.workflow/.team/S");
    let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let waits = format!(
        "[ $TEAM_EXECUTOR_TASK = B ] || {{ exec 9>{}; printf . >&9; cat {}; }}; echo ${{TEAM_EXECUTOR_ATTEMPT#*/}} >>ran",
        pulse.arg(),
        gate.arg()
    );
    let start = |session: &str, worker: &str| {
        let mut command = world.command(&arguments(session, worker, &[]));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let mut original = start("--session=p/.workflow/.team/S", &waits);
    pulse.wait_alive(1);
    let copied = std::process::Command::new("cp").args(["-r", "p", "q"]).current_dir(world.dir()).limited_status();
    assert!(copied.success());
    let session = "--session=q/.workflow/.team/S";
    // Also when the copy is killed in turn, and begun once more.
    let (mut beside, never) = (Pulse::new(world.dir().join("beside")), Gate::new(world.dir().join("never")));
    let mut copy = start(session, &format!("exec 9>{}; printf . >&9; cat {}", beside.arg(), never.arg()));
    beside.wait_alive(1);
    copy.kill().expect("it is killed");
    copy.limited_wait();
    beside.wait_dead();
    let went_on = world.run(&arguments(session, "echo ${TEAM_EXECUTOR_ATTEMPT#*/} >>ran", &[]));
    assert_eq!(went_on.code, Some(0), "{went_on}");
    gate.open();
    assert_eq!(original.limited_wait().code(), Some(0));
    pulse.wait_dead();
    assert_eq!(["p/ran", "q/ran"].map(|ran| super::read(world.dir().join(ran))), ["A/1\nB/1\n", "A/3\nB/1\n"]);
}

/// R: W-01
#[test]
fn run_is_continued_by_name_or_as_the_newest_unfinished() {
    let (world, s, t) = two_stopped();
    let newest = resume(&world, &["--continue"]);
    assert_eq!(newest.code, Some(1), "A failed: {newest}");
    assert!(newest.stderr.contains(&format!("Run {t} goes on, 0 done\n")), "{newest}");
    let named = resume(&world, &["--continue", &s]);
    assert_eq!(named.code, Some(1), "{named}");
    assert!(named.stderr.contains(&format!("Run {s} goes on, 0 done\n")), "{named}");
    let finished = resume(&world, &["run", "--continue", &s]);
    assert!(finished.stdout.starts_with(&format!("Run {s} is finished; nothing was done\n")), "{finished}");
}

/// R: W-01
#[test]
fn three_workers_by_default_and_no_question_with_yes() {
    for (more, most) in [(&["-y"][..], 3), (&["--yes", "-c", "2"], 2), (&["-y", "--concurrency", "4"], 4)] {
        let world = tasks(&[("A", ""), ("B", ""), ("C", ""), ("D", ""), ("E", "")]);
        let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let worker = format!("printf . > {}; cat {}", pulse.arg(), gate.arg());
        let args = [&["--session=S", "--agent-command", &worker][..], more].concat();
        let mut command = world.command(&args);
        let mut executor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        pulse.wait_alive(most);
        let shown = world.run(&["status", "--session=S"]);
        assert!(shown.stdout.contains(&format!("\n{most} running, {} ready\n", 5 - most)), "{shown}");
        assert_eq!(world.run(&["stop", "--now", "--session=S"]).code, Some(0));
        assert_eq!(executor.limited_wait().code(), Some(130));
    }
}

/// R: W-16
#[test]
fn without_a_match_the_runs_are_listed_and_a_person_chooses() {
    let (world, s, t) = two_stopped();
    for id in ["EX-nope-2026-01-01", "../../S", "/", "", "EX-\u{1b}[2J"] {
        let before = world.tree();
        let unmatched = resume(&world, &["--continue", id]);
        assert_eq!(unmatched.code, Some(2), "{unmatched}");
        let dir = world.dir().display();
        let list = format!("The runs there are:\n  {t}  unfinished  0/2  {dir}/T\n  {s}  unfinished  0/2  {dir}/S\n");
        assert!(unmatched.stderr.starts_with(&list), "{unmatched}");
        assert!(unmatched.stderr.ends_with("\nhelp: name one of these: --continue EX-ID\n"), "{unmatched}");
        assert!(!unmatched.stderr.contains('\u{1b}'), "{unmatched}");
        assert_eq!(world.tree(), before, "nothing is touched");
    }
    let other = resume(&world, &["--session=S", "--continue", &t]);
    assert_eq!(other.code, Some(2), "{other}");
    assert!(other.stderr.contains(&format!("error: there is no run '{t}' of S\n")), "{other}");

    let start = || Terminal::start(world.command(&["--continue", "EX-nope", "--agent-command", DID, "-y"]));
    let mut terminal = start();
    terminal.wait_for("there is no run 'EX-nope'. The runs there are:\n").wait_for(&format!("\n  2  {s}  unfinished"));
    terminal.wait_for("Which one? [1-2] ").say("3");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(2), "{shown}");
    let mut terminal = start();
    terminal.wait_for("Which one? [1-2] ").say("2");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains(&format!("Run {s} goes on, 0 done\n")), "{shown}");
}

#[test]
fn where_there_is_no_run_there_is_nothing_to_continue() {
    let world = tasks(&[("A", "")]);
    insta::assert_snapshot!(resume(&world, &["--continue"]), @r"
    $ team-executor --continue --agent-command 'echo did $TEAM_EXECUTOR_TASK' -y
    ------- stderr -------
    error: there is no unfinished run
    help: begin one with: team-executor run --session=PATH
    [exit status: 2]
    ");
}
