//! A conversation whose budget is used up: it ends its turn by its protocol, or is ended, and its session is taken up later.

use super::{ACP, RUN, log, put, world};
use crate::run::{column, folder, read};

/// Uses 5,000 tokens, delivers half of its work, uses a tool, and says no more until it is cancelled. The second time it is done.
const SPENDS: &str = r#"case $TEAM_EXECUTOR_ATTEMPT in */2) done_with 'with more budget' ;; *)
  echo half >"$TEAM_EXECUTOR_ARTIFACTS/out.md"
  put '{"method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"usage_update","used":5000}}}'
  put '{"method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","kind":"execute","title":"make"}}}' ;; esac"#;

/// R: A-10
#[test]
fn overspent_conversation_is_resumed_with_more_budget() {
    let world = world(&["A"], SPENDS, "");
    let run = world.run(&[&RUN[..], &["--budget-tokens", "3000"]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stdout.contains("the budget of the run is 3000 tokens: "), "{run}");
    assert_eq!(column(&world, "status"), ["pending"], "it spends no retry");
    let log = log(&world, "A");
    let end = log.find("\"team_executor\":\"wound up\"").expect("it is wound up");
    assert!(log[end..].contains("\"stopReason\":\"cancelled\""), "its turn ended well: {log}");
    let run = world.run(&[&RUN[..], &["--budget-tokens", "30000"]].concat());
    assert_eq!((run.code, column(&world, "findings")), (Some(0), vec!["with more budget".to_owned()]), "{run}");
    let heard = read(world.dir().join("heard"));
    let count = |method: &str| heard.matches(method).count();
    assert_eq!(["session/new", "session/cancel", "session/load"].map(count), [1, 1, 1], "{heard}");
    assert_eq!(read(folder(&world).join("artifacts/A/out.md")), "half\n", "its files are still in place");
}

/// R: A-10
#[test]
fn overspent_agent_that_ignores_its_protocol_is_ended() {
    let world = world(&["A"], "", "");
    let deaf = ACP.replace("PROMPTED", SPENDS).replace("LOADS", "true").replace("turn cancelled", ":");
    put(&world, "agent", &format!("{deaf}exec sleep 600\n"));
    let run = world.run(&[&RUN[..], &["--budget-tokens", "3000"]].concat());
    assert_eq!(run.code, Some(3), "{run}");
    assert_eq!(column(&world, "status"), ["pending"], "it spends no retry");
    assert!(read(world.dir().join("heard")).contains("session/cancel"), "it was asked first");
    assert_eq!(read(folder(&world).join("artifacts/A/out.md")), "half\n", "it is kept");
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}
