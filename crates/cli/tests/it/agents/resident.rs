//! Real agents as residents: the model sees from the conversation which reply is next, so the number of a reply shows that the
//! next task went on in the same conversation. Claude puts a message of its own between two tasks, so some replies are there twice.

use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Asked, ScriptedModel, World};

use super::{Kind, Part, RUN, found, script, team, turns};
use crate::run::{column, folder, read};

/// Two tasks of one inner-loop role; of each a file is written and a report is given.
fn resident(agent: &'static str) -> Option<(World, ScriptedModel, Vec<Value>)> {
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
