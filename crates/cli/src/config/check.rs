//! What must hold before anything is started: programs that exist, chosen by somebody who may choose them.

use std::collections::BTreeMap;

use team_executor_agents::adapters::Adapter;
use team_executor_agents::{Unusable, probe};
use team_executor_engine::artifacts as engine;
use team_executor_engine::{Worker, Workers};
use team_executor_files::{Code, Finding};

use super::Config;
use super::choose::Program;
use super::installed::{NotUsable, found, help, installed, path};
use crate::failure::Failure;
use crate::place::Place;

/// Looks for the program of every worker, and starts nothing. The first that is missing is named, with what to do.
pub(crate) fn programs_exist(workers: &Workers, place: &Place) -> Result<(), Failure> {
    for worker in workers.iter() {
        let path = path(&worker.env, place);
        let program = worker.command.first().map(String::as_str).unwrap_or_default();
        match &worker.setup {
            None => drop(probe(program, path, &place.project).map_err(|reason| missing(&who(worker), &reason))?),
            Some(setup) => {
                let found = found(setup.adapter, program, &worker.env, place);
                found.map_err(|reason| not_usable(&who(worker), &reason))?;
            }
        }
        for verify in worker.demands.all_commands() {
            let program = verify.command.first().map(String::as_str).unwrap_or_default();
            probe(program, path, &place.project).map_err(|reason| missing("the check of artifacts", &reason))?;
        }
        for schema in worker.demands.all_schemas() {
            engine::usable(schema).map_err(|why| {
                let message = format!("the schema {} cannot be used: {why}; so nothing was started", schema.display());
                Finding::error(Code::Usage, message).help("correct it, or the path in `schema` of team-executor.toml")
            })?;
        }
    }
    Ok(())
}

/// Asks known agents for their version, which starts them: only after somebody who may has chosen them. Where a program only
/// starts another one, the other one will be started.
pub(crate) fn agents_are_new_enough(workers: &mut Workers, place: &Place) -> Result<(), Failure> {
    let mut asked: BTreeMap<(Adapter, String, Option<String>), String> = BTreeMap::new();
    for worker in workers.iter_mut() {
        let Some(setup) = &worker.setup else { continue };
        let program = worker.command.first().cloned().unwrap_or_default();
        let key = (setup.adapter, program.clone(), path(&worker.env, place).map(str::to_owned));
        let started = match asked.get(&key) {
            Some(started) => started.clone(),
            None => {
                let found = installed(setup, &program, &worker.env, place);
                let found = found.map_err(|reason| not_usable(&who(worker), &reason))?;
                found.program.to_str().unwrap_or(&program).to_owned()
            }
        };
        asked.insert(key, started.clone());
        worker.command = vec![started];
    }
    Ok(())
}

fn who(worker: &Worker) -> String {
    if worker.agent.starts_with('-') { worker.agent.clone() } else { format!("agent '{}'", worker.agent) }
}

fn not_usable(who: &str, NotUsable { why, help }: &NotUsable) -> Finding {
    Finding::error(Code::Usage, format!("{why} ({who}), so nothing was started")).help(help.clone())
}

fn missing(who: &str, reason: &Unusable) -> Finding {
    Finding::error(Code::Usage, format!("{reason} ({who}), so nothing was started")).help(help(reason))
}

/// Refuses programs that the project's file chose, unless the user trusts it. Somebody who is asked needs not say it.
pub(crate) fn is_trusted(programs: &[Program], config: &Config, trust: bool) -> Result<(), Failure> {
    let chosen = programs.iter().find_map(|program| Some((program, program.by_project.as_ref()?)));
    let Some((program, spot)) = chosen.filter(|_| !trust && !config.trusts_project()) else { return Ok(()) };
    let message = format!(
        "{}:{} came with the project and chooses what is run: {}; so nothing was started",
        spot.file, spot.line, program.command
    );
    let project = config.project.display();
    let finding = Finding::error(Code::Usage, message).help("look at the file; then start without -y to be asked");
    let finding = finding.help("or add --trust-project");
    let help = format!("or set trusted_projects = [\"{project}\"] in [defaults] of your own configuration file");
    Err(finding.help(help).into())
}
