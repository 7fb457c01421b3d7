//! What machines and their connections do to a run: nothing is lost, and nothing that was completed is done again.

use team_executor_testkit::limited::*;
use team_executor_testkit::{Diary, Gate, Pulse, World};

use super::*;
use crate::attention::paste;
use crate::attention::problems::until;

/// A short lease, so that a lost host is missed soon.
const LEASE: [&str; 2] = ["--lease", "1s"];

/// Writes a line into the diary at the start, and waits at a gate if the attempt is the first at task A.
fn held(diary: &Diary, gate: &str) -> String {
    format!(
        "echo $TEAM_EXECUTOR_ATTEMPT >> '{}'; case $TEAM_EXECUTOR_ATTEMPT in */A/1) read _ < {gate};; esac; {}",
        diary.path().display(),
        run::DID
    )
}

fn pipe(world: &World, name: &str) -> String {
    Gate::new(world.dir().with_file_name(name)).arg().to_owned()
}

#[test]
fn attempt_of_a_killed_host_begins_again_elsewhere() {
    let Some(nats) = server("a host that is killed") else { return };
    let world = run::tasks(&[("A", ""), ("B", "A")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let mut pulse = Pulse::new(world.dir().with_file_name("pulse"));
    let mut lost = Host::start(&world, &nats, "lost", &[&["--slots", "1"][..], &LEASE].concat());
    let worker = format!("exec 9>{}; printf . >&9; {}", pulse.arg(), held(&diary, &pipe(&world, "gate")));
    let mut run = start_with(&world, &nats, &worker, &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    pulse.wait_alive(1);
    let _other = Host::start(&world, &nats, "other", &["--slots", "1"]);
    lost.kill();
    assert!(diary.line().ends_with("/A/2"), "nothing but the attempt that was lost begins again");
    assert!(diary.line().ends_with("/B/1"));
    assert_eq!(run.limited_wait().code(), Some(0));
    assert_eq!(completions(&world).into_values().collect::<Vec<_>>(), [1, 1]);
    pulse.wait_dead();
}

/// R: U-01
#[test]
fn lost_host_is_a_problem_until_it_is_there_again() {
    let Some(nats) = server("a problem with a host") else { return };
    let world = run::tasks(&[("A", "")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gate = Gate::new(world.dir().with_file_name("gate"));
    let host = [&["--slots", "1"][..], &LEASE].concat();
    let mut lost = Host::start(&world, &nats, "one", &host);
    let begin = format!("echo $TEAM_EXECUTOR_ATTEMPT >> '{}'", diary.path().display());
    let worker = format!("{begin}; read _ < {}; {}", gate.arg(), run::DID);
    let mut run = start_with(&world, &nats, &worker, &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    lost.kill();
    let problem = until(&world, "host_lost");
    assert_eq!(problem["why"], "host one does not answer; its attempts begin again elsewhere");
    let hosts = paste(&world, &problem);
    assert!(hosts.code == Some(0) && hosts.stdout.contains("one"), "{hosts}");
    let _again = Host::start(&world, &nats, "one", &host);
    assert!(diary.line().ends_with("/A/2"));
    let status = world.run(&["status", "--session=S", "--format", "json"]);
    assert!(status.stdout.contains("in_progress") && !status.stdout.contains("host_lost"), "{status}");
    gate.open();
    assert_eq!(run.limited_wait().code(), Some(0));
}

#[test]
fn host_that_comes_back_says_how_its_attempts_ended() {
    let Some(nats) = server("a host that is started again") else { return };
    let world = run::tasks(&[("A", "")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let mut host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    let mut run = start_with(&world, &nats, &held(&diary, &pipe(&world, "gate")), &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    host.kill();
    // Long before the lease is over the host is there again, and says what became of the attempt.
    let mut host = Host::begin(&world, &nats, "one", &["--slots", "1"]);
    host.wait_for("ended EX-");
    assert!(diary.line().ends_with("/A/2"));
    assert_eq!(run.limited_wait().code(), Some(0));
}

#[test]
fn killed_leader_takes_ends_and_repeats_nothing() {
    let Some(nats) = server("a leader that is killed") else { return };
    let world = run::tasks(&[("A", ""), ("B", "")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gates = ["A", "B"].map(|name| Gate::new(world.dir().with_file_name(format!("gate-{name}"))));
    let mut host = Host::start(&world, &nats, "one", &["--slots", "2"]);
    let worker = format!(
        "echo $TEAM_EXECUTOR_ATTEMPT >> '{}'; cat {}/gate-$TEAM_EXECUTOR_TASK; {}",
        diary.path().display(),
        diary.path().parent().expect("a folder").display(),
        run::DID
    );
    let mut leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    let begun = [diary.line(), diary.line()];
    assert!(begun.iter().all(|key| key.ends_with("/1")), "{begun:?}");
    leader.kill().expect("it can be killed");
    leader.limited_wait();
    // One attempt ends while no leader is there, the other goes on.
    gates[0].open();
    host.wait_for("/A/1: exit code 0");
    let mut again = start_with(&world, &nats, &worker, &["--local", "0"]);
    limited_until("the end of A is taken", || (completions(&world).contains_key("A")).then_some(()));
    gates[1].open();
    assert_eq!(again.limited_wait().code(), Some(0));
    assert_eq!(run::column(&world, "findings"), ["did A", "did B"]);
    assert_eq!(completions(&world).into_values().collect::<Vec<_>>(), [1, 1]);
    host.kill();
    assert_eq!(diary.rest(), Vec::<String>::new(), "no attempt began again");
}

#[test]
fn server_that_was_away_has_lost_nothing() {
    let Some(mut nats) = server("a server that is away") else { return };
    let world = run::tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gate = Gate::new(world.dir().with_file_name("gate"));
    let mut host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    let worker = format!(
        "echo $TEAM_EXECUTOR_ATTEMPT >> '{}'; case $TEAM_EXECUTOR_TASK in A) cat {};; esac; {}",
        diary.path().display(),
        gate.arg(),
        run::DID
    );
    let mut leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    nats.kill();
    gate.open();
    host.wait_for("/A/1: exit code 0"); // and its end cannot be published
    nats.resume();
    assert!(diary.line().ends_with("/B/1"));
    assert!(diary.line().ends_with("/C/1"));
    assert_eq!(leader.limited_wait().code(), Some(0));
    assert_eq!(completions(&world).into_values().collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn host_without_its_backend_ends_its_workers() {
    let Some(mut nats) = server("a host without its backend") else { return };
    let world = run::tasks(&[("A", "")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let mut pulse = Pulse::new(world.dir().with_file_name("pulse"));
    let mut host = Host::start(&world, &nats, "one", &LEASE);
    let worker = format!("exec 9>{}; printf . >&9; {}", pulse.arg(), held(&diary, &pipe(&world, "gate")));
    let mut leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    pulse.wait_alive(1);
    nats.kill();
    host.wait_for("the workers are ended");
    pulse.wait_dead();
    nats.resume();
    // A host that is slow to be heard of again may lose an attempt before it begins.
    let again = diary.line();
    assert!(!again.ends_with("/A/1"), "{again}");
    assert_eq!(leader.limited_wait().code(), Some(0));
}

#[test]
fn host_that_is_told_to_end_finishes_its_workers_first() {
    let Some(nats) = server("a host that drains") else { return };
    let world = run::tasks(&[("A", ""), ("B", "")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gate = Gate::new(world.dir().with_file_name("gate"));
    let mut host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    let worker = format!("echo $TEAM_EXECUTOR_TASK >> '{}'; cat {}; {}", diary.path().display(), gate.arg(), run::DID);
    let mut leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    let first = diary.line();
    host.signal("-TERM");
    host.wait_for("no more work is taken; 1 workers finish");
    gate.open();
    assert_eq!(host.process.limited_wait().code(), Some(0));
    limited_until("its end is taken", || completions(&world).contains_key(&first).then_some(()));
    let _next = Host::start(&world, &nats, "two", &["--slots", "1"]);
    assert_ne!(diary.line(), first, "the other task waited for another host");
    gate.open();
    assert_eq!(leader.limited_wait().code(), Some(0));
}

#[test]
fn cancelled_task_is_ended_on_its_host() {
    let Some(nats) = server("a task that is cancelled on a host") else { return };
    let world = run::tasks(&[("A", "")]);
    let mut pulse = Pulse::new(world.dir().with_file_name("pulse"));
    let _host = Host::start(&world, &nats, "one", &["--slots", "1"]);
    let worker = format!("exec 9>{}; printf . >&9; read _ < {}", pulse.arg(), pipe(&world, "gate"));
    let mut leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    pulse.wait_alive(1);
    let cancelled = world.run(&["cancel", "A", "--skip", "--session=S"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled}");
    pulse.wait_dead();
    leader.limited_wait();
    assert_eq!(run::column(&world, "status"), ["skipped"]);
}

#[test]
fn host_of_another_version_gets_no_work() {
    let Some(nats) = server("a host of another version") else { return };
    let world = run::tasks(&[("A", "")]);
    let _ready = world.run(&["backend", "check", "--backend", &nats.url()]);
    let old = "{\"protocol\":0,\"version\":\"0.0.1\",\"host\":\"old\",\"home\":\"h\",\"incarnation\":\"i\",\"slots\":8,\
               \"labels\":{},\"agents\":[],\"running\":[],\"drains\":false,\"lease_ms\":60000}";
    nats.publish("te.p.old", old);
    let done = run_with(&world, &nats, run::DID, &["--local", "1"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.to_string().contains("host old is not used: it runs team-executor 0.0.1"), "{done}");
    assert!(!run::read(run::folder(&world).join(".executor/hosts")).contains("old"));
}

#[test]
fn end_of_a_paused_host_that_comes_late_is_dropped_and_said() {
    let Some(nats) = server("a host that is paused") else { return };
    let world = run::tasks(&[("A", ""), ("B", "A")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let [first, last] = ["first", "last"].map(|name| Gate::new(world.dir().with_file_name(name)));
    let mut paused = Host::start(&world, &nats, "paused", &[&["--slots", "1"][..], &LEASE].concat());
    let worker = format!(
        "echo $TEAM_EXECUTOR_ATTEMPT >> '{}'; case $TEAM_EXECUTOR_ATTEMPT in */A/1) cat {};; */B/1) cat {};; esac; {}",
        diary.path().display(),
        first.arg(),
        last.arg(),
        run::DID
    );
    let leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    paused.signal("-STOP");
    let _other = Host::start(&world, &nats, "other", &["--slots", "1"]);
    assert!(diary.line().ends_with("/A/2"));
    assert!(diary.line().ends_with("/B/1"));
    // The worker of the paused host ends well, and its host hears of that when it goes on.
    first.open();
    paused.signal("-CONT");
    paused.wait_for("ended EX-");
    let listed = || world.run(&["hosts", "--backend", &nats.url(), "--format", "json"]).stdout;
    limited_until("its end is published", || listed().contains("paused").then_some(()));
    paused.signal("-TERM");
    assert_eq!(paused.process.limited_wait().code(), Some(0), "it owes nothing any more");
    last.open();
    let done = leader.limited_output();
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success(), "{said}");
    assert!(said.contains("ended late"), "{said}");
    assert_eq!(completions(&world).into_values().collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn assignment_that_comes_twice_is_done_once() {
    let Some(nats) = server("an assignment that comes twice") else { return };
    let world = run::tasks(&[("A", ""), ("B", "A")]);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let gate = Gate::new(world.dir().with_file_name("gate"));
    let listener = nats.listen();
    let mut host = Host::start(&world, &nats, "one", &["--slots", "2"]);
    let worker = format!(
        "echo $TEAM_EXECUTOR_ATTEMPT >> '{}'; case $TEAM_EXECUTOR_TASK in B) cat {};; esac; {}",
        diary.path().display(),
        gate.arg(),
        run::DID
    );
    let mut leader = start_with(&world, &nats, &worker, &["--local", "0"]);
    assert!(diary.line().ends_with("/A/1"));
    assert!(diary.line().ends_with("/B/1"));
    // The same messages again, one of an attempt that is over and one of an attempt that goes on.
    let heard = listener.heard();
    let mut given = BTreeMap::new();
    for message in heard.split("MSG te.w.one.").skip(1) {
        let (head, rest) = message.split_once("\r\n").expect("a message");
        let token = head.split(' ').next().expect("a subject");
        let at = rest.find("{\"whole\"").expect("an envelope");
        given.insert(token, rest[at..].split("\r\n").next().expect("a payload"));
    }
    assert_eq!(given.len(), 2, "{:?}", given.keys());
    for (token, payload) in given {
        nats.publish(&format!("te.w.one.{token}"), payload);
    }
    gate.open();
    assert_eq!(leader.limited_wait().code(), Some(0));
    host.signal("-TERM");
    host.wait_for("no more work");
    assert_eq!(host.process.limited_wait().code(), Some(0));
    assert_eq!(diary.rest(), Vec::<String>::new(), "neither began again");
    assert_eq!(completions(&world).into_values().collect::<Vec<_>>(), [1, 1]);
}
