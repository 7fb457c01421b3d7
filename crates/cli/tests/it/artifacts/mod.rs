//! What workers deliver: found, checked, registered, gated, and looked at again.

mod checks;
mod crash;
mod files;
mod rounds;
mod rules;

use std::collections::BTreeMap;

use serde_json::Value;
use team_executor_testkit::{Run, World};

use crate::run::{arguments, folder, tasks};

const SESSION: &str = "--session=S";

/// A worker that delivers these files: a name and its text each.
fn delivers(files: &[(&str, &str)]) -> String {
    let one = |(name, text): &(&str, &str)| {
        format!(
            "mkdir -p \"$(dirname \"$TEAM_EXECUTOR_ARTIFACTS/{name}\")\"; printf '{text}' > \"$TEAM_EXECUTOR_ARTIFACTS/{name}\"; "
        )
    };
    let all: Vec<_> = files.iter().map(one).collect();
    format!("{}echo did it", all.concat())
}

/// Runs `S` once, without a second try, and without a person.
fn run(world: &World, worker: &str) -> Run {
    let once = ["--retries", "0", "--rounds", "0", "--at-checkpoint", "resume", "--trust-project"];
    world.run(&arguments(SESSION, worker, &once))
}

/// Lets a task of `S` be done again, and runs it.
fn again(world: &World, task: &str, worker: &str) -> Run {
    let asked = world.run(&["retry", task, "--downstream", SESSION]);
    assert_eq!(asked.code, Some(0), "{asked}");
    run(world, worker)
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

/// What is registered: state and version by id.
fn registered(world: &World) -> BTreeMap<String, String> {
    let list = json(&world.run(&["artifacts", SESSION, "--format", "json"]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = list["artifacts"].as_array().expect("a list").iter();
    all.map(|one| (text(&one["id"]), format!("{} {}", text(&one["state"]), text(&one["version"])))).collect()
}

fn one(id: &str, shown: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(id.to_owned(), shown.to_owned())])
}
