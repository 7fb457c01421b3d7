//! Real agents as residents: the model sees from the conversation which reply is next, so the number of a reply shows that the
//! next task went on in the same conversation. Claude puts a message of its own between two tasks, so some replies are there twice.

use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Asked, ScriptedModel, World};

use super::{Kind, Part, RUN, found, script, team, turns};
use crate::run::{column, folder, read};

/// Two tasks of one inner-loop role; of each a file is written and a report is given.
pub(crate) fn resident(agent: &'static str) -> Option<(World, ScriptedModel, Vec<Value>)> {
    let part = Part { task: "WORK-001", role: "worker", agent, file: "one.md" };
    let (world, model) = team(&[part], Kind::Known)?;
    let config = read(world.dir().join("team-executor.toml")).replace("converse = false\n", "");
    world.write("team-executor.toml", config);
    world.write(
        "S/tasks.csv",
        "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
         WORK-001,,Do it,,,interactive,worker,1,pending,,\nWORK-002,,Do it,,,interactive,worker,1,pending,,\n",
    );
    let of = |task: &str, file: &str| -> [Value; 2] {
        let mut turns = turns(Kind::Known, task, file);
        turns[0]["do"] = json!({"write": {"path": file, "content": "made\n"}});
        turns.try_into().expect("two")
    };
    let ([write_one, report_one], [write_two, report_two]) = (of("WORK-001", "one.md"), of("WORK-002", "two.md"));
    let mut all = vec![write_one, report_one, write_two.clone(), write_two];
    all.extend(std::iter::repeat_n(report_two, 3));
    script(&world, "worker", &all);
    Some((world, model, all))
}

fn check(world: &World) {
    assert_eq!(column(world, "findings"), [found("WORK-001"), found("WORK-002")]);
    for file in ["one.md", "two.md"] {
        assert_eq!(read(world.dir().join(file)), "made\n");
    }
    assert_eq!(world.living("TEAM_EXECUTOR_RUN"), []);
}

fn answered(turn: u64) -> Asked {
    Asked { worker: "worker".to_owned(), turn, status: 200 }
}

#[test]
fn the_next_task_of_a_resident_goes_on_in_its_conversation() {
    for agent in ["claude", "codex"] {
        let Some((world, model, _)) = resident(agent) else { continue };
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        check(&world);
        let usage = world.run(&["status", "--session=S", "--format", "json"]).stdout;
        let usage: Value = serde_json::from_str(&usage).expect("JSON");
        let asked = model.rest();
        let sum = |of: &str| usage["usage"]["tasks"][of]["tokens_in"].as_u64();
        let second = u64::try_from(asked.len() - 2).expect("few") * 1000;
        assert_eq!((sum("WORK-001"), sum("WORK-002")), (Some(2000), Some(second)), "{agent}: {usage}");
        assert_eq!(asked[..2], [0, 1].map(answered), "{agent}");
        assert!(asked[2..].iter().all(|asked| asked.turn >= 2), "{agent}: {asked:?}");
    }
}

#[test]
fn a_resident_that_a_kill_cut_off_goes_on_in_its_conversation() {
    for agent in ["claude", "codex"] {
        let Some((world, mut model, mut turns)) = resident(agent) else { continue };
        turns[4]["hang"] = json!({"times": 1});
        script(&world, "worker", &turns);
        let executor = world.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut executor = executor.expect("it starts");
        while model.asked().status != 0 {}
        executor.kill().expect("it can be killed");
        executor.limited_wait();
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        check(&world);
        let log = read(folder(&world).join("logs/WORK-002.2.out"));
        assert!(!log.contains("not resumed"), "{agent}: {log}");
        let after = model.rest();
        assert!(after.iter().all(|asked| asked.turn >= 4), "{agent}: nothing is done twice: {after:?}");
    }
}

/// Three tasks of one inner-loop role. Each delivers two files of the same names into its own folder; the words of each differ.
fn three(agent: &'static str, kind: Kind) -> Option<(World, ScriptedModel)> {
    let part = Part { task: "WORK-001", role: "worker", agent, file: "a.md" };
    let (world, model) = team(&[part], kind)?;
    let config = read(world.dir().join("team-executor.toml"));
    world.write(
        "team-executor.toml",
        config.replace("converse = false\n", "").replace("total = \"2m\"", "total = \"100s\""),
    );
    let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
    let mut tasks = serde_json::Map::new();
    for task in TASKS {
        table += &format!("{task},,Do it,,,interactive,worker,1,pending,,\n");
        let write = |file: &str| {
            let content = format!("{file} of {task}\n");
            json!({"do": {"write": {"path": file, "content": content, "below": "TEAM_EXECUTOR_ARTIFACTS is the folder "}}})
        };
        let report = turns(Kind::Known, task, "").pop().expect("a report");
        // The last but one is for an agent that puts a message of its own into a conversation that is taken up.
        let all = json!([write("a.md"), write("b.md"), write("b.md"), report]);
        tasks.insert(task.to_owned(), all);
    }
    tasks["WORK-002"][1]["hang"] = json!({"times": 1});
    world.write("S/tasks.csv", table);
    world.write("scripts/worker.json", json!({ "tasks": tasks }).to_string());
    Some((world, model))
}

const TASKS: [&str; 3] = ["WORK-001", "WORK-002", "WORK-003"];

/// The second task is cut off after its first file. That file is not written again by an agent that remembers.
/// R: A-09
#[test]
fn three_tasks_of_a_conversation_deliver_to_three_folders() {
    for (agent, kind) in [
        ("claude", Kind::Known),
        ("codex", Kind::Known),
        ("gemini", Kind::Known),
        ("qwen", Kind::Acp),
        ("opencode", Kind::Acp),
    ] {
        let Some((world, mut model)) = three(agent, kind) else { continue };
        let executor = world.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut executor = executor.expect("it starts");
        while model.asked().status != 0 {}
        executor.kill().expect("it can be killed");
        executor.limited_wait();
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        assert_eq!(column(&world, "findings"), TASKS.map(found), "{agent}");
        for task in TASKS {
            for file in ["a.md", "b.md"] {
                let delivered = read(folder(&world).join("artifacts").join(task).join(file));
                assert_eq!(delivered, format!("{file} of {task}\n"), "{agent}");
            }
        }
        let listed = world.run(&["artifacts", "--session=S"]);
        assert_eq!(listed.stdout.matches(".md").count(), 6, "{agent}: {listed}");
        assert_eq!(world.living("TEAM_EXECUTOR_RUN"), [], "{agent}");
    }
}

/// The model insists on the folder of the first task. That is noticed, said in the same conversation, and done right then.
/// R: A-09
#[test]
fn delivery_to_the_folder_of_an_earlier_task_is_sent_back() {
    for agent in ["claude", "codex"] {
        let Some((world, _model)) = three(agent, Kind::Known) else { continue };
        let script = read(world.dir().join("scripts/worker.json"));
        let mut script: Value = serde_json::from_str(&script).expect("JSON");
        let mut turns = script["tasks"]["WORK-002"].as_array().expect("a list").clone();
        let (mut foreign, right, report) = (turns[2].clone(), turns[2].clone(), turns[3].clone());
        foreign["do"]["write"]["path"] = json!("../WORK-001/late.md");
        turns = vec![foreign, report.clone(), right.clone(), right, report];
        script["tasks"]["WORK-002"] = json!(turns);
        world.write("scripts/worker.json", script.to_string());
        let run = world.run(&RUN);
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        for task in ["WORK-001", "WORK-002"] {
            let delivered = read(folder(&world).join("artifacts").join(task).join("b.md"));
            assert_eq!(delivered, format!("b.md of {task}\n"), "{agent}");
        }
        assert!(folder(&world).join("logs/WORK-002.2.out").exists(), "{agent}: {run}");
        let told = "artifacts/WORK-001/late.md: in the folder of another task; deliver t";
        assert!(run.to_string().contains(told), "{agent}: {run}");
    }
}
