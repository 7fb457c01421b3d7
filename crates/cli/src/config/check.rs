//! What must hold before anything is started: programs that exist, chosen by somebody who may choose them.

use team_executor_agents::{Unusable, probe};
use team_executor_engine::artifacts as engine;
use team_executor_engine::{Worker, Workers};
use team_executor_files::{Code, Finding};

use super::Config;
use super::choose::Program;
use crate::failure::Failure;
use crate::place::Place;

/// Looks for the program of every worker. The first that is missing is named, with what to do.
pub(crate) fn programs_exist(workers: &Workers, place: &Place) -> Result<(), Failure> {
    for worker in workers.iter() {
        let own = worker.env.iter().rfind(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let path = own.or_else(|| place.variable("PATH"));
        let program = worker.command.first().map(String::as_str).unwrap_or_default();
        probe(program, path, &place.project).map_err(|reason| missing(&who(worker), &reason))?;
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

fn who(worker: &Worker) -> String {
    if worker.agent.starts_with('-') { worker.agent.clone() } else { format!("agent '{}'", worker.agent) }
}

fn missing(who: &str, reason: &Unusable) -> Finding {
    let help = match reason {
        Unusable::NotInPath(program) => {
            format!("install {program}, or add its folder to PATH, or name it with its path")
        }
        Unusable::Missing(_) => "correct the path; it is taken from the project's folder".to_owned(),
        Unusable::NotExecutable(path) => format!("chmod +x {}", path.display()),
    };
    Finding::error(Code::Usage, format!("{reason} ({who}), so nothing was started")).help(help)
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
