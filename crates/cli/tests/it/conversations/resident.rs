//! Inner-loop roles: one worker, one conversation, also after a kill.

use serde_json::Value;
use team_executor_testkit::limited::*;

use super::{ACP, RUN, pulse, put, start, world};
use crate::run::{column, folder, read};

/// What the agent heard: methods with the session and the words of each, since the first greeting.
fn heard(world: &team_executor_testkit::World) -> Vec<(String, String, String)> {
    let text = read(world.dir().join("heard"));
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |message: &Value| {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let params = &message["params"];
        Some((message["method"].as_str()?.to_owned(), word(&params["sessionId"]), word(&params["prompt"][0]["text"])))
    };
    messages.filter_map(|message| of(&message)).filter(|(method, ..)| method.starts_with("session/")).collect()
}

/// Says when each task begins and ends.
const TURN: &str = "echo begin >>order; echo end >>order; done_with \"did $TEAM_EXECUTOR_TASK\"";

/// R: E-09
#[test]
fn inner_loop_tasks_share_one_conversation() {
    let world = world(&["A", "B", "C"], TURN, "");
    let run = world.run(&[RUN.as_slice(), &["-c", "3"]].concat());
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["did A", "did B", "did C"]);
    assert_eq!(read(world.dir().join("order")), "begin\nend\n".repeat(3));
    let heard = heard(&world);
    let methods: Vec<_> = heard.iter().map(|(method, session, _)| (method.as_str(), session.as_str())).collect();
    let (prompt, load) = (("session/prompt", "s-1"), ("session/load", "s-1"));
    assert_eq!(methods, [("session/new", ""), prompt, load, prompt, load, prompt]);
    assert!(!heard[1].2.contains("## What you did before"), "{heard:?}");
    let last = &heard[5].2;
    assert!(last.contains("## What you did before") && last.contains("[Task A] did A\n\n[Task B] did B\n"), "{last}");
    let shown = world.run(&["prompt", "C", "--session=S"]);
    assert!(shown.stdout.contains("[Task B] did B"), "{shown}");
}

#[test]
fn agent_without_resume_gets_earlier_work_in_its_prompt() {
    let world = world(&["A", "B"], "", "");
    put(&world, "agent", &ACP.replace("LOADS", "false").replace("PROMPTED", TURN));
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    let heard = heard(&world);
    assert_eq!(heard.iter().filter(|(method, ..)| method == "session/new").count(), 2);
    assert!(heard[3].2.contains("[Task A] did A\n"), "{heard:?}");
}

/// R: E-09
#[test]
fn a_conversation_that_a_kill_cut_off_is_taken_up_by_its_name() {
    let body = "if mkdir once 2>/dev/null; then echo half >\"$TEAM_EXECUTOR_ARTIFACTS/half\"; printf . >beats; else done_with 'went on'; fi";
    let world = world(&["A"], body, "");
    let mut pulse = pulse(&world);
    let mut executor = start(&world);
    pulse.wait_alive(1);
    executor.kill().expect("killed");
    executor.limited_wait();
    let run = world.run(&RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "findings"), ["went on"]);
    let heard = heard(&world);
    let [.., (load, session, _), (_, _, words)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((load.as_str(), session.as_str()), ("session/load", "s-1"));
    assert!(words.contains("were cut off before you reported"), "{words}");
    assert!(words.contains("still in the folder that you deliver to"), "{words}");
    assert_eq!(read(folder(&world).join("artifacts/A/half")), "half\n", "what it had delivered is there");
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}
