//! A person gives a task to another agent, while its run goes on and while none does.

use std::process::{Child, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::asked::{ask, said};
use super::ends::end;
use super::{column, folder, read, tasks};

/// Two agents of the user's, of which the first fails or hangs, and one of the project's.
pub(crate) struct Agents {
    pub(crate) world: World,
    pulse: Pulse,
    pub(crate) gate: Gate,
}

impl Agents {
    /// The first agent does this with A; what else there is, it does.
    pub(crate) fn new(first: &str) -> Self {
        let mut world = tasks(&[("A", ""), ("B", ""), ("C", "A")]);
        let (pulse, gate) = (Pulse::new(world.dir().join("pulse")), Gate::new(world.dir().join("gate")));
        let home = world.dir().join("config").display().to_string();
        let begins = format!("exec 9>{}; printf . >&9", pulse.arg());
        let one = format!(
            "if [ $TEAM_EXECUTOR_TASK = A ]; then {begins}; {first}; fi; \
             if [ $TEAM_EXECUTOR_TASK = B ]; then {begins}; cat {}; fi; echo did by one",
            gate.arg()
        );
        let agent = |name: &str, script: &str| format!("[agents.{name}]\ncommand = [\"sh\", \"-c\", '''{script}''']\n");
        let user = format!(
            "[defaults]\nagent = \"one\"\nretries = 0\n{}{}",
            agent("one", &one),
            agent("two", "echo did by two")
        );
        world.write("config/team-executor/config.toml", user);
        world.write("team-executor.toml", agent("theirs", "echo did by theirs"));
        world.env("XDG_CONFIG_HOME", &home);
        Self { world, pulse, gate }
    }

    pub(crate) fn start(&mut self, alive: usize) -> Child {
        let mut command = self.world.command(&["run", "--session=S", "-y"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        self.pulse.wait_alive(alive);
        child
    }

    fn journal(&self) -> String {
        read(folder(&self.world).join(".executor/journal"))
    }
}

/// R: N-01
#[test]
fn restarted_task_is_done_by_the_agent_that_a_person_chose() {
    let mut agents = Agents::new("sleep 600");
    let executor = agents.start(2);
    let given = ask(&agents.world, &["restart", "A", "--with", "two", "--feedback", "smaller steps"]);
    let told = "Run EX is running\n  the next attempt at A is told so\n  from the next attempt on, A is done by two\n  \
                the worker of A is ended; when it has, A begins anew\n";
    assert_eq!(said(&agents.world, &given), told, "{given}");
    agents.gate.open();
    let (code, out) = end(executor);
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(column(&agents.world, "findings"), ["did by two", "did by one", "did by one"]);
    let journal = agents.journal();
    assert!(journal.contains(r#"{"type":"assigned","tasks":["A"],"agent":"two","at":"#), "{journal}");
    assert!(journal.contains(r#""task":"A","attempt":2"#) && journal.contains(r#""agent":"two""#), "{journal}");
    let events = ask(&agents.world, &["events", "--format", "json"]);
    let event = r#""type":"tasks_assigned","tasks":["A"],"agent":"two","model":null"#;
    assert!(events.stdout.contains(event), "{events}");
}

/// R: N-01
#[test]
fn given_task_stays_with_its_agent_after_kill_9() {
    for words in [&["restart", "A", "--with", "two"][..], &["retry", "C", "--with", "two"]] {
        let mut agents = Agents::new("test -e again && exec echo did by one; touch again; sleep 600");
        let mut executor = agents.start(2);
        let given = ask(&agents.world, words);
        executor.kill().expect("it is killed");
        executor.limited_wait();
        assert_eq!(given.code, Some(0), "{given}");
        agents.pulse.wait_dead();
        std::fs::remove_file(agents.world.dir().join("gate")).expect("it is gone");
        agents.world.write("gate", ""); // who comes finds nothing to wait for
        let resumed = agents.world.run(&["resume", "--session=S"]);
        assert_eq!(resumed.code, Some(0), "{resumed}");
        let by = |task| if words[1] == task { "did by two" } else { "did by one" };
        assert_eq!(column(&agents.world, "findings"), [by("A"), "did by one", by("C")], "{words:?}: {resumed}");
    }
}

/// R: N-01
#[test]
fn failed_task_is_given_to_another_agent_without_an_executor() {
    let mut agents = Agents::new("exit 9");
    let executor = agents.start(2);
    agents.gate.open();
    assert_eq!(end(executor).0, Some(1));
    let given = ask(&agents.world, &["retry", "--failed", "--with", "two"]);
    assert!(given.stdout.contains("  from the next attempt on, A is done by two\n  A will run again\n"), "{given}");
    let resumed = agents.world.run(&["resume", "--session=S"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!(column(&agents.world, "findings"), ["did by two", "did by one", "did by one"]);
}

/// R: N-01
#[test]
fn agent_that_cannot_do_a_task_is_refused() {
    let mut agents = Agents::new("sleep 600");
    let executor = agents.start(2);
    let cases: [(&[&str], &str); 7] = [
        (&["restart", "A", "--with", "twoo"], "error: there is no agent 'twoo'\nhelp: did you mean `two`?\n"),
        (
            &["restart", "A", "--with", "two:opus"],
            "agent 'two' is no coding agent and has no models, so it cannot use 'opus'",
        ),
        (&["restart", "A", "--with", "two:"], "an agent, or an agent and its model"),
        (&["restart", "A", "--with", "theirs"], "team-executor.toml:2 came with the project and chooses what is run: "),
        (&["restart", "X", "--with", "two"], "there is no task 'X'"),
        (&["retry", "A", "--with", "two"], "a named task is in_progress; `restart` ends a running task"),
        (&["restart", "C", "--with", "two"], "no worker has 'C': it is pending"),
    ];
    for (words, why) in cases {
        let refused = ask(&agents.world, words);
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{why}: {refused}");
    }
    assert!(!agents.journal().contains("assigned"), "nothing was done");
    let home = agents.world.dir().join("config/team-executor/config.toml");
    let user = read(&home);
    let trusting = user.replace("retries = 0", "retries = 0\ntrusted_projects = [\"/\"]");
    std::fs::write(&home, trusting).expect("it is written");
    let given = ask(&agents.world, &["restart", "A", "--with", "theirs"]);
    assert_eq!(given.code, Some(0), "{given}");
    agents.gate.open();
    assert_eq!(end(executor).0, Some(0));
    assert_eq!(column(&agents.world, "findings")[0], "did by theirs");
    let refused = ask(&agents.world, &["retry", "A", "--with", "two"]);
    assert_eq!(refused.code, Some(2), "{refused}");
}

#[test]
fn run_whose_chosen_agent_is_gone_does_not_start() {
    let mut agents = Agents::new("exit 9");
    let executor = agents.start(2);
    agents.gate.open();
    assert_eq!(end(executor).0, Some(1));
    assert_eq!(ask(&agents.world, &["retry", "A", "--with", "two"]).code, Some(0));
    let home = agents.world.dir().join("config/team-executor/config.toml");
    let user = read(&home).replace("[agents.two]", "[agents.three]");
    std::fs::write(&home, user).expect("it is written");
    let refused = agents.world.run(&["resume", "--session=S"]);
    assert!(refused.stderr.contains("task 'A' was given to another agent, which cannot do it now: "), "{refused}");
    assert_eq!(refused.code, Some(2), "{refused}");
    let given = ask(&agents.world, &["retry", "A", "--with", "three"]);
    assert!(given.stdout.contains("A is done by three"), "{given}");
    assert_eq!(agents.world.run(&["resume", "--session=S"]).code, Some(0));
    assert_eq!(column(&agents.world, "findings")[0], "did by two");
}
