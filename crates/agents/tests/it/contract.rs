//! What every worker is told, and what it may answer.

use std::path::Path;

use team_executor_agents::environment::{Contract, environment};
use team_executor_agents::outcome::{Outcome, Produced, judge};

use crate::world::World;

/// Runs a shell script under the contract, with a prompt, and judges it.
fn run(world: &World, task: &str, script: &str) -> Outcome {
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
    let result = std::fs::read_to_string(result).ok();
    let last_line = exit.last_line.as_deref();
    judge(
        &exit.ended,
        &Produced {
            result: result.as_deref(),
            last_line,
            complaint: None,
            artifacts: 0,
            missing: &[],
            must_report: true,
        },
    )
}

/// R: X-08
#[test]
fn every_worker_gets_the_same_contract_and_may_answer_by_a_result_or_by_its_output() {
    let world = World::new();
    let completed = |findings: &str| Outcome::Completed { findings: findings.to_owned() };
    let told = "cd \"${TEAM_EXECUTOR_ARTIFACTS%/*}\" && echo $TEAM_EXECUTOR_SESSION $TEAM_EXECUTOR_RUN \
                $TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ROLE ${TEAM_EXECUTOR_ATTEMPT##*/} \
                ${TEAM_EXECUTOR_RESULT##*/} ${SECRET-none} $(cat \"$TEAM_EXECUTOR_PROMPT\"), $(cat)";
    let expected = "/session run-1 told developer 1 result.json none the prompt, the prompt";
    assert_eq!(run(&world, "told", told), completed(expected));

    let result =
        "printf '{\"status\":\"completed\",\"findings\":\"by file\"}' >\"$TEAM_EXECUTOR_RESULT\"; echo by output";
    assert_eq!(run(&world, "result", result), completed("by file"));

    assert_eq!(run(&world, "output", "echo first; echo by output; echo"), completed("by output"));
    let failed = Outcome::Failed { findings: "went wrong".to_owned(), error: "exit code 4".to_owned() };
    assert_eq!(run(&world, "failed", "echo went wrong; exit 4"), failed);
}
