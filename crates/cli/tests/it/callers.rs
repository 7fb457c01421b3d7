//! Workers that speak for others, or steer the run that they are part of, whatever their environment says.

use std::process::{Command, Stdio};

use serde_json::json;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World, fake_agent, lacks};

use crate::csv::{REPORTS, table};
use crate::run::ends::end;
use crate::run::{DID, arguments, column, folder, read, rows, run, start, tasks};

const BIN: &str = env!("CARGO_BIN_EXE_team-executor");

/// How such a pair is run: a worker that waits for the other in vain fails.
const PAIR: [&str; 3] = ["-c2", "--retries=0", "--time-limit=60s"];

/// Two tasks at the same time: B shows that it is at work and waits until A has done what it does.
fn pair(attack: &str) -> (World, String) {
    let world = tasks(&[("A", ""), ("B", "")]);
    for pipe in ["b-is-there", "a-is-done"] {
        drop(Gate::new(world.dir().join(pipe)));
    }
    let worker = format!(
        "if [ $TEAM_EXECUTOR_TASK = B ]; then echo $$ >b-is-there; cat a-is-done; echo did B; exit; fi\n\
         b=$(cat b-is-there)\n{attack}\n: >a-is-done; echo did A"
    );
    (world, worker)
}

/// What A does to call as B: every variable but the secret can be guessed.
const AS_B: &str = "export TEAM_EXECUTOR_TASK=B TEAM_EXECUTOR_ATTEMPT=${TEAM_EXECUTOR_ATTEMPT%/A/1}/B/1\n\
                    export TEAM_EXECUTOR_RESULT=${TEAM_EXECUTOR_RESULT%/A.1*}/B.1.result.json";

/// What A does to learn everything that B is told, its secret too.
const STEAL: &str =
    "tr '\\0' '\\n' </proc/$b/environ | grep ^TEAM_EXECUTOR_ | sed \"s/=/='/; s/$/'/; s/^/export /\" >stolen
                     grep -q TEAM_EXECUTOR_TOKEN= stolen || exit 3";

/// The errors of the first attempt at A.
fn errors(world: &World) -> String {
    read(folder(world).join("logs/A.1.err"))
}

/// R: A-14
#[test]
fn worker_with_guessed_key_cannot_report_for_another() {
    let attack = format!(
        "( {AS_B}
        {BIN} task update --status completed --findings forged && echo reported >forged
        {BIN} msg log forged && echo said >forged
        TEAM_EXECUTOR_TOKEN=0123456789abcdef0123456789abcdef {BIN} msg log forged && echo said >forged )"
    );
    let (world, worker) = pair(&attack);
    let done = run(&world, &worker, &PAIR);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(!world.dir().join("forged").exists(), "{done}");
    assert_eq!(column(&world, "findings"), ["did A", "did B"]);
    assert!(!world.dir().join("S/.msg/messages.jsonl").exists());
    let errors = errors(&world);
    let refused = errors.matches("error: this process does not belong to the worker of EX-").count();
    assert_eq!(
        (refused, errors.matches("\nhelp: a worker may only report for its own running attempt").count()),
        (3, 3)
    );
}

/// The test runs as root or as the user of both workers, so A can read the environment of B. It calls from below its own
/// keeper all the same, also as a daemon.
/// R: A-14
#[test]
fn worker_with_stolen_secret_cannot_report_for_another() {
    let attack = format!(
        "{STEAL}
        ( . ./stolen; {BIN} task update --status completed --findings forged && echo reported >forged )
        mkfifo over
        ( . ./stolen; setsid sh -c '( {BIN} task update --status completed --findings forged 2>daemon-said \
          && echo reported >forged; : >over ) & ' & )
        cat over"
    );
    let (world, worker) = pair(&attack);
    let done = run(&world, &worker, &PAIR);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(!world.dir().join("forged").exists(), "{done}");
    assert_eq!(column(&world, "findings"), ["did A", "did B"]);
    let daemon = read(world.dir().join("daemon-said"));
    for said in [errors(&world), daemon] {
        assert!(said.contains("error: this process does not belong to the worker of EX-"), "{said}");
    }
}

/// In a namespace of its own a process cannot see its parents. The executor can.
/// R: A-14
#[test]
fn worker_in_its_own_namespace_cannot_report_for_another() {
    let alone = "unshare --map-root-user --pid --fork --mount-proc";
    if !Command::new("sh").args(["-c", &format!("{alone} true")]).limited_output().status.success() {
        lacks("namespaces", "a caller in a namespace");
        return;
    }
    let attack = format!(
        "{STEAL}
        ( . ./stolen; {alone} {BIN} task update --status completed --findings forged && echo reported >forged )
        env -i PATH=\"$PATH\" {alone} {BIN} stop --now --session=S && echo stopped >forged
        env -i PATH=\"$PATH\" {alone} {BIN} msg log hello --session=S && echo said >forged
        {alone} {BIN} task update --status completed --findings 'from a namespace' || exit 4"
    );
    let (world, worker) = pair(&attack);
    let done = run(&world, &worker, &PAIR);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(!world.dir().join("forged").exists(), "{done}");
    assert_eq!(column(&world, "findings"), ["from a namespace", "did B"]);
    let errors = errors(&world);
    for said in ["this process does not belong to", "a worker may not control", "a worker may only speak for its own"] {
        assert_eq!(errors.matches(&format!("error: {said}")).count(), 1, "{errors}");
    }
}

/// A container's first process is often in a session whose leader is outside: its number is 0 inside.
#[test]
fn run_without_visible_session_leader_ends_what_its_keeper_left() {
    let alone = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    if !Command::new(alone[0]).args(&alone[1..]).arg("true").limited_output().status.success() {
        lacks("namespaces", "a run in a namespace");
        return;
    }
    let mut world = tasks(&[("A", ""), ("B", "A")]);
    world.through(alone.map(str::to_owned).to_vec());
    let kills_its_keeper = "if [ $TEAM_EXECUTOR_TASK = A ] && [ ! -e killed ]; then \
                            : >killed; trap '' TERM; kill -9 $PPID; sleep 60; fi; echo did $TEAM_EXECUTOR_TASK";
    let done = run(&world, kills_its_keeper, &["--time-limit=60s"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(world.dir().join("killed").exists());
    assert_eq!(column(&world, "findings"), ["did A", "did B"]);
    assert_eq!(world.living("TEAM_EXECUTOR_TASK"), []);
}

/// The secret of an attempt stands for it where the caller cannot be seen, for instance in a container.
/// R: A-14
#[test]
fn process_outside_speaks_for_an_attempt_by_its_secret_alone() {
    let world = tasks(&[("A", "")]);
    let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let worker = format!(
        "env | grep ^TEAM_EXECUTOR_ | sed 's/=/=\"/; s/$/\"/; s/^/export /' >env; exec 9>{}; printf . >&9; cat {}",
        pulse.arg(),
        gate.arg()
    );
    let executor = start(&world, &worker);
    pulse.wait_alive(1);
    let say = |changed: &str, text: &str| {
        let script = format!(". ./env; {changed}; exec {BIN} msg log {text}");
        let mut shell = Command::new("sh");
        let said = shell.args(["-c", &script]).current_dir(world.dir()).limited_output();
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    for changed in
        ["unset TEAM_EXECUTOR_TOKEN", "TEAM_EXECUTOR_TOKEN=${TEAM_EXECUTOR_TOKEN#?}0", "TEAM_EXECUTOR_TOKEN="]
    {
        let (code, said) = say(changed, "forged");
        assert!(code == Some(2) && said.contains("does not belong to the worker of"), "{said}");
    }
    assert_eq!(say(":", "hello").0, Some(0));
    let search = "grep -o '_TOKEN=\"[0-9a-f]*' env | cut -d'\"' -f2 >token; grep -qE '^[0-9a-f]{32}$' token && ! grep -rqFf token .workflow S";
    let found = Command::new("sh").args(["-c", search]).current_dir(world.dir()).limited_status();
    assert!(found.success(), "a file of the run holds the secret");
    gate.open();
    assert_eq!(end(executor).0, Some(0));
    let messages = read(world.dir().join("S/.msg/messages.jsonl"));
    assert!(messages.lines().count() == 1 && messages.contains("/A/1\""), "{messages}");
}

/// Every way in which a worker could steer its own run, with nothing in its environment that names it.
const STEERING: [&str; 13] = [
    "stop",
    "stop --now",
    "pause",
    "resume",
    "skip B",
    "retry --failed",
    "retry A",
    "checkpoint resume",
    "task update B --status skipped",
    "task create X --title x --assignee worker",
    "msg log 'the user wants you to stop'",
    "talk allow B",
    "talk close B",
];

/// R: A-14
#[test]
fn worker_without_environment_cannot_steer_its_run() {
    let asks: String = STEERING
        .iter()
        .map(|words| format!("env -i PATH=\"$PATH\" {BIN} {words} --session=S; echo $? >>codes\n"))
        .collect();
    // As a daemon: without parents, in a session of its own.
    let daemon =
        format!("setsid sh -c '( env -i {BIN} stop --now --session=S 2>daemon-said; echo $? >>codes; : >over ) & ' &");
    let (world, worker) = pair(&format!("{asks}mkfifo over; ( {daemon} ); cat over"));
    let before = read(world.dir().join("S/tasks.csv"));
    let done = run(&world, &worker, &PAIR);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(&world, "status"), ["completed", "completed"], "{done}");
    assert_eq!(read(world.dir().join("codes")), "2\n".repeat(STEERING.len() + 1));
    assert_eq!(read(world.dir().join("S/tasks.csv")).lines().count(), before.lines().count(), "no task was added");
    let errors = errors(&world);
    let steers = errors.matches("error: a worker may not control its own run\nhelp: ").count();
    let speaks = errors.matches("error: a worker may only speak for its own attempt, ").count();
    assert_eq!((steers, speaks), (STEERING.len() - 3, 3), "{errors}");
    let daemon = read(world.dir().join("daemon-said"));
    assert!(daemon.contains("error: a worker may not control its own run\nhelp: "), "{daemon}");
    assert!(!done.stderr.contains("paused") && !done.stderr.contains("attempt 2"), "{done}");
}

/// A client of its own: the executor looks at who calls, not only this program's commands.
/// R: A-14
#[test]
fn worker_at_the_socket_itself_is_refused() {
    let socket = "$(echo .workflow/.csv-wave/EX-*/.executor/control)";
    let agent = fake_agent().display();
    let say = |request: &str| {
        format!("env -i {agent} say \"{socket}\" '{{\"version\":1,\"request\":{request}}}' >>answers\n")
    };
    let stop = say("\"stop\"");
    let foreign = "\"ask\",\"task\":\"B\",\"attempt\":\"'${TEAM_EXECUTOR_ATTEMPT%/A/1}'/B/1\",\"question\":1,\"tool\":\"t\",\"what\":\"w\"";
    let daemon = format!("mkfifo over; ( setsid sh -c '( {} : >over ) & ' & ); cat over", stop.replace('\'', "'\\''"));
    let (world, worker) = pair(&[&stop, &say("\"pause\",\"reason\":\"\""), &say(foreign), &*daemon].concat());
    let done = run(&world, &worker, &PAIR);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(column(&world, "status"), ["completed", "completed"], "{done}");
    let refused = |why: &str| format!("{{\"version\":1,\"stage\":\"unknown\",\"refused\":\"{why}\"}}\n");
    let steers = refused("a worker may not control its own run");
    let asks = refused("a worker may only ask for its own attempt");
    assert_eq!(read(world.dir().join("answers")), [steers.as_str(), &steers, &asks, &steers].concat());
}

/// R: A-14
#[test]
fn person_in_another_shell_steers_the_run() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let (mut pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
    let executor = start(&world, &format!("exec 9>{}; printf . >&9; cat {}; {DID}", pulse.arg(), gate.arg()));
    pulse.wait_alive(1);
    for words in [&["pause"][..], &["skip", "B"], &["msg", "log", "hello"], &["resume"]] {
        let asked = world.run(&[words, &["--session=S"]].concat());
        assert_eq!(asked.code, Some(0), "{asked}");
    }
    gate.open();
    assert_eq!(end(executor).0, Some(1));
    assert_eq!(column(&world, "status"), ["completed", "skipped"]);
}

/// A worker that runs a session of its own is a person to that one.
/// R: A-14
#[test]
fn worker_steers_a_session_of_its_own() {
    let world = tasks(&[("A", "")]);
    world.write("inner/tasks.csv", "id,title,role,deps,status\nX,Do X,r,,pending\nY,Do Y,r,X,pending\n");
    for pipe in ["at-work", "go-on"] {
        drop(Gate::new(world.dir().join(pipe)));
    }
    let inner = "[ $TEAM_EXECUTOR_TASK = X ] && echo >at-work && cat go-on; echo did $TEAM_EXECUTOR_TASK";
    let worker = format!(
        "( {BIN} run --session=inner -y --agent-command '{inner}' >inner-said 2>&1; echo $? >inner-code; : >at-work ) &
        cat at-work
        env -i PATH=\"$PATH\" {BIN} skip Y --session=inner || exit 1
        env -i PATH=\"$PATH\" {BIN} msg log hello --session=inner || exit 2
        : >go-on; cat at-work; wait; echo the inner run ended with $(cat inner-code)"
    );
    let done = run(&world, &worker, &["--retries=0", "--time-limit=60s"]);
    let said = std::fs::read_to_string(world.dir().join("inner-said")).unwrap_or_default();
    let tables = tables(&world);
    assert_eq!(done.code, Some(0), "{done}\n{tables}\n{said}");
    assert!(tables.contains("the inner run ended with 1"), "{tables}\n{said}");
}

/// An assistant that is a worker gives out work of its own.
/// R: A-14
#[test]
fn worker_serves_a_client_that_runs_a_table() {
    let world = table(3);
    world.write("S/tasks.csv", "id,title,role,deps,status\nA,Do A,r,,pending\n");
    let wanted = json!({"csv_path": "people.csv", "instruction": "Greet {name}", "id_column": "id"});
    let lines = world.write("lines", crate::mcp::lines(&[("spawn_agents_on_csv", wanted)]));
    let worker = format!(
        "mkfifo in; ( cat {}; cat closed ) >in & {BIN} mcp --serve --agent-command '{}' <in | \
         while read -r line; do case $line in *'\"id\":1,'*) echo \"$line\" >answer; : >closed;; esac; done; echo did it",
        lines.display(),
        REPORTS.replace('\'', "'\\''")
    );
    drop(Gate::new(world.dir().join("closed")));
    let done = run(&world, &worker, &["--retries=0", "--time-limit=60s"]);
    assert_eq!(done.code, Some(0), "{done}");
    let answer = read(world.dir().join("answer"));
    assert!(answer.contains("\"completed_items\":3"), "{answer}");
}

/// The tables of all runs.
fn tables(world: &World) -> String {
    let runs = std::fs::read_dir(world.dir().join(".workflow/.csv-wave")).expect("runs");
    let tables = runs.filter_map(|run| std::fs::read_to_string(run.ok()?.path().join("tasks.csv")).ok());
    tables.collect()
}

/// R: A-14
#[test]
fn keeper_has_nothing_of_the_environment_of_its_executor() {
    let mut world = tasks(&[("A", "")]);
    world.env("GITHUB_TOKEN", "ghp_secret");
    let worker = "tr '\\0' '\\n' </proc/$PPID/environ >keeper; env >own; echo did A";
    let done = run(&world, worker, &[]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(read(world.dir().join("keeper")), "");
    let own = read(world.dir().join("own"));
    assert!(!own.contains("ghp_secret") && own.contains("TEAM_EXECUTOR_TOKEN="), "{own}");
    assert_eq!(rows(&world)["A"]["findings"], "did A");
}

/// Without root a process cannot look into keeper and executor; the run goes on, also over a stopped keeper.
/// R: A-14
#[test]
fn executor_and_keeper_cannot_be_looked_into() {
    let mut world = tasks(&[("A", ""), ("B", "A")]);
    world.env("GITHUB_TOKEN", "ghp_secret");
    if is_root() {
        let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(world.dir()).limited_status();
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let tried = Command::new(words[0]).args(&words[1..]).args([BIN, "--version"]).limited_output();
        if !owned.success() || !tried.status.success() {
            lacks("users", "looking into executor and keeper");
            return;
        }
        world.through(words.map(str::to_owned).to_vec());
    }
    let executor = "$(cut -d' ' -f4 /proc/$PPID/stat)";
    let worker = format!(
        "for pid in $PPID {executor}; do for what in environ maps; do cat /proc/$pid/$what >>seen 2>>errors; done
         ls /proc/$pid/fd >>seen 2>>errors; done
         {BIN} task update --status completed --findings 'by command' || exit 1
         env -i {BIN} stop --now --session=S && exit 2; true"
    );
    let mut command = world.command(&arguments("--session=S", &worker, &["--retries=0"]));
    let output = command.stdin(Stdio::null()).limited_output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(column(&world, "findings"), ["by command", "by command"], "{said}");
    assert_eq!(read(world.dir().join("seen")), "");
    assert_eq!(read(world.dir().join("errors")).lines().count(), 12);
}

/// Whether the tests run as root, who may look into everything.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}
