//! What no retry mends: an account without credit or key, a service that does not answer, a quota that is far away. The next
//! agent does the task, or the run stops and says why.

use serde_json::Value;
use team_executor_testkit::{Run, World};

use crate::coding_agents::{CLAUDE, CLAUDE_OK, CODEX, CODEX_OK, GEMINI, GEMINI_OK, USER, claude_says, fake, world};
use crate::run::{column, read, rows};

/// What Gemini CLI does without a key.
const NO_KEY: &str = "cat >/dev/null; echo x >>tries\n\
    echo 'When using Gemini API, you must specify the GEMINI_API_KEY environment variable.' >&2\n\
    echo 'Update your environment and try again (no reload needed if using .env)!' >&2; exit 41";
/// What Codex does without a network.
const NO_NETWORK: &str = "cat >/dev/null; echo x >>tries\necho '{\"type\":\"thread.started\",\"thread_id\":\"x-1\"}'\n\
    echo '{\"type\":\"turn.started\"}'\nwhile :; do\n\
    echo '{\"type\":\"error\",\"message\":\"Reconnecting... waiting for network (Connection failed)\"}'; sleep 0.2; done";

fn refused(status: &str, words: &str) -> String {
    let fields =
        format!(r#""subtype":"success","is_error":true,"api_error_status":{status},"result":"{words}","usage":{{}}"#);
    format!("echo x >>tries\n{}\nexit 1", claude_says(&fields))
}

/// Runs A and B, one after the other, with these agents and nothing but one attempt.
fn run_with(world: &World, agents: &str, more: &str) -> Run {
    world.write(USER, format!("[defaults]\nretries = 0\nconcurrency = 1\nagents = {agents}\n{more}"));
    world.run(&["run", "--session=S", "-y"])
}

fn told(run: &Run) -> String {
    format!("{} {}", run.stderr, run.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// R: A-12
#[test]
fn account_without_credit_or_key_stops_the_run() {
    for (agent, name, body, why) in [
        (CLAUDE, "claude", refused("402", "Payment required"), "(add credit to the account of claude)"),
        (CLAUDE, "claude", refused("400", "Credit balance is too low"), "(add credit to the account of claude)"),
        (GEMINI, "gemini", NO_KEY.to_owned(), "(log in by starting `gemini` once, or set GEMINI_API_KEY)"),
    ] {
        let world = world(&[("A", ""), ("B", "")]);
        fake(&world, agent, &body);
        let run = run_with(&world, &format!("[{name:?}]"), "");
        assert_eq!(run.code, Some(3), "{run}");
        assert!(rows(&world)["A"]["error"].ends_with(why), "{run}");
        assert_eq!(
            (read(world.dir().join("tries")).as_str(), column(&world, "status")[0].as_str()),
            ("x\n", "pending")
        );
    }
}

/// R: A-12
#[test]
fn account_without_credit_or_key_is_left_for_the_next_agent() {
    let world = world(&[("A", ""), ("B", "")]);
    fake(&world, CLAUDE, &refused("400", "Credit balance is too low"));
    fake(&world, GEMINI, NO_KEY);
    fake(&world, CODEX, CODEX_OK);
    let run = run_with(&world, r#"["claude", "gemini", "codex"]"#, "");
    assert_eq!((run.code, column(&world, "findings")), (Some(0), vec!["Codex did it.".to_owned(); 2]), "{run}");
    assert_eq!(read(world.dir().join("tries")), "x\nx\n", "neither is asked about B");
}

/// R: A-12
#[test]
fn service_that_does_not_answer_is_left_for_the_next_agent() {
    let world = world(&[("A", "")]);
    fake(&world, CODEX, NO_NETWORK);
    fake(&world, GEMINI, GEMINI_OK);
    let run = run_with(&world, r#"["codex", "gemini"]"#, "[defaults.limits]\nidle = \"1s\"\n");
    assert_eq!((run.code, column(&world, "findings")), (Some(0), vec!["Gemini did it.".to_owned()]), "{run}");
    let why = "its service does not answer: Reconnecting... waiting for network";
    assert!(told(&run).contains(why) && told(&run).contains("attempt 2, by gemini"), "{run}");
    let silent = world_of_silence();
    let run = run_with(&silent, r#"["gemini", "codex"]"#, "[defaults.limits]\nidle = \"1s\"\n");
    assert_eq!((run.code, column(&silent, "findings")), (Some(0), vec!["Codex did it.".to_owned()]), "{run}");
    assert!(told(&run).contains("its service does not answer: no reply came"), "{run}");
}

/// Gemini says that it began, complains as an error, and nothing else.
fn world_of_silence() -> World {
    let world = world(&[("A", "")]);
    let began = r#"cat >/dev/null; echo '{"type":"init","session_id":"g-1","model":"pro"}'"#;
    fake(&world, GEMINI, &format!("{began}\nwhile :; do echo 'Attempt failed. Retrying' >&2; sleep 0.2; done"));
    fake(&world, CODEX, CODEX_OK);
    world
}

/// R: A-12
#[test]
fn quota_names_its_agent_though_the_next_one_is_at_work() {
    let world = world(&[("A", "")]);
    fake(&world, CLAUDE, &refused("429", "Rate limit reached, try again in 60s"));
    fake(&world, GEMINI, GEMINI_OK);
    world.write(USER, "[defaults]\nretries = 0\nagents = [\"claude\", \"gemini\"]\n");
    let run = world.run(&["run", "--session=S", "-y", "--format", "json"]);
    assert_eq!(run.code, Some(0), "{run}");
    let events = run.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let held: Vec<Value> = events.filter(|event| event["type"] == "quota_held").collect();
    assert_eq!(held.iter().map(|event| event["agent"].as_str()).collect::<Vec<_>>(), [Some("claude")], "{run}");
}

/// R: A-12
#[test]
fn quota_that_is_too_far_away_stops_the_run() {
    for (wait, words) in [("\"1m\"", "try again in 5m"), ("\"off\"", "try again in 2s")] {
        let world = world(&[("A", "")]);
        fake(&world, CLAUDE, &refused("429", &format!("Rate limit reached, {words}")));
        let run = run_with(&world, "[\"claude\"]", &format!("quota_wait = {wait}\n"));
        assert_eq!(run.code, Some(3), "{run}");
        assert!(rows(&world)["A"]["error"].contains(words), "{run}");
        fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
        let later = world.run(&["resume", "--session=S", "-y"]);
        assert_eq!(later.code, Some(0), "{later}");
    }
}
