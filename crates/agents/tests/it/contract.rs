//! The contract with every worker: its environment, and its report.

use std::path::Path;

use team_executor_agents::Ended;
use team_executor_agents::environment::{Contract, environment};

use crate::world::World;

/// Runs a shell script under the contract, with a prompt: how it ended, its result, and the last line of its output.
fn run(world: &World, task: &str, script: &str) -> (Ended, Option<String>, Option<String>) {
    let mut assignment = world.assignment(task, &["-c", script]);
    let path = |name: &str| world.attempt(task).join(name);
    let (artifacts, result, prompt) = (path("artifacts"), path("result.json"), path("prompt.md"));
    std::fs::write(&prompt, "the prompt").unwrap();
    let contract = Contract {
        session: Path::new("/session"),
        run: "run-1",
        task,
        role: "developer",
        attempt: &assignment.key,
        artifacts: &artifacts,
        result: &result,
        prompt: &prompt,
    };
    let parent: Vec<_> = [("PATH", "/usr/bin:/bin"), ("SECRET", "x")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assignment.env = environment(&parent, &[], &[], &contract).unwrap();
    assignment.program = "sh".into();
    assignment.stdin = Some(prompt.clone());
    let exit = world.run_assignment(assignment);
    (exit.ended, std::fs::read_to_string(result).ok(), exit.last_line)
}

/// R: X-08
#[test]
fn workers_share_a_contract_and_report_by_file_or_output() {
    let world = World::new();
    let printed = |code: i32, line: &str| (Ended::Exit(code), None, Some(line.to_owned()));
    let told = "cd \"${TEAM_EXECUTOR_ARTIFACTS%/*}\" && echo $TEAM_EXECUTOR_SESSION $TEAM_EXECUTOR_RUN \
                $TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ROLE ${TEAM_EXECUTOR_ATTEMPT##*/} \
                ${TEAM_EXECUTOR_RESULT##*/} ${SECRET-none} $(cat \"$TEAM_EXECUTOR_PROMPT\"), $(cat)";
    let expected = "/session run-1 told developer 1 result.json none the prompt, the prompt";
    assert_eq!(run(&world, "told", told), printed(0, expected));

    let result = r#"{"status":"completed","findings":"by file"}"#;
    let script = format!("printf '{result}' >\"$TEAM_EXECUTOR_RESULT\"; echo by output");
    let expected = (Ended::Exit(0), Some(result.to_owned()), Some("by output".to_owned()));
    assert_eq!(run(&world, "result", &script), expected);

    assert_eq!(run(&world, "output", "echo first; echo by output; echo"), printed(0, "by output"));
    assert_eq!(run(&world, "failed", "echo went wrong; exit 4"), printed(4, "went wrong"));
}
