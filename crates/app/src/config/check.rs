//! The conditions of a start: programs exist, and their choice is trusted.

use std::collections::{BTreeMap, BTreeSet};

use team_executor_agents::probe;
use team_executor_core::Session;
use team_executor_engine::artifacts as engine;
use team_executor_engine::{Worker, Workers};
use team_executor_files::{Code, Finding};

use super::choose::Program;
use super::installed::{NotUsable, found, installed, path};
use super::show::quoted;
use super::values::nearest;
use super::{Config, Origin};
use crate::environment::Place;
use crate::error::Error;

/// Looks for the program of every worker, and starts nothing. Where one is missing the next agent does the task, which is told;
/// where there is none, the missing one is named, with what to do.
pub(crate) fn programs_exist(workers: &mut Workers, place: &Place) -> Result<Vec<String>, Error> {
    let mut missed = Vec::new();
    for (nth, worker) in workers.iter().enumerate() {
        let path = path(&worker.env, place);
        let program = worker.command.first().map(String::as_str).unwrap_or_default();
        let exists = match &worker.setup {
            None => probe(program, path, &place.project).map(drop).map_err(NotUsable::from),
            Some(setup) => found(setup.adapter, program, &worker.env, place).map(drop),
        };
        missed.extend(exists.err().map(|reason| (nth, reason)));
        for verify in worker.demands.all_commands() {
            let program = verify.command.first().map(String::as_str).unwrap_or_default();
            let exists = probe(program, path, &place.project);
            exists.map_err(|reason| not_usable("the check of artifacts", &reason.into()))?;
        }
        for schema in worker.demands.all_schemas() {
            engine::usable(schema).map_err(|why| {
                let message = format!("the schema {} cannot be used: {why}; so nothing was started", schema.display());
                Finding::error(Code::Usage, message).help("correct it, or the path in `schema` of team-executor.toml")
            })?;
        }
    }
    go_without(workers, missed)
}

/// The programs of known agents as they are found, where they are not asked for their version.
pub(crate) fn name_programs(workers: &mut Workers, place: &Place) {
    for worker in workers.iter_mut() {
        let (Some(setup), Some(program)) = (&worker.setup, worker.command.first()) else { continue };
        let found = found(setup.adapter, program, &worker.env, place).ok();
        if let Some(path) = found.as_ref().and_then(|path| path.to_str()) {
            worker.command = vec![path.to_owned()];
        }
    }
}

/// Asks known agents for their version, which starts them: only after a trusted choice. Where a program only
/// starts another one, the other one will be started. Where one is too old the next agent does the task, which is told.
pub(crate) fn agents_are_new_enough(workers: &mut Workers, place: &Place) -> Result<Vec<String>, Error> {
    let used = workers.in_chains();
    let key = |worker: &Worker| {
        let program = worker.command.first().cloned().unwrap_or_default();
        Some((worker.setup.as_ref()?.adapter, program, path(&worker.env, place).map(str::to_owned)))
    };
    let asked: BTreeMap<_, _> = workers
        .iter()
        .enumerate()
        .filter(|(nth, _)| used.contains(nth))
        .filter_map(|(_, worker)| Some((key(worker)?, (worker.setup.as_ref()?, &worker.env))))
        .collect();
    // Some take seconds to say it, so they are asked side by side.
    let answers: BTreeMap<_, _> = std::thread::scope(|scope| {
        let mut asking = Vec::with_capacity(asked.len());
        for (key, (setup, env)) in asked {
            let program = key.1.clone();
            asking.push((key, scope.spawn(move || installed(setup, &program, env, place))));
        }
        let died = || NotUsable::new("could not be asked", "try again");
        asking.into_iter().map(|(key, answer)| (key, answer.join().unwrap_or_else(|_| Err(died())))).collect()
    });
    let mut missed = Vec::new();
    for (nth, worker) in workers.iter_mut().enumerate() {
        let Some(answer) = key(worker).and_then(|key| answers.get(&key)) else { continue };
        match answer {
            Ok(found) => {
                if let Some(program) = found.program.to_str() {
                    worker.command = vec![program.to_owned()];
                }
            }
            Err(reason) => missed.push((nth, reason.clone())),
        }
    }
    go_without(workers, missed)
}

/// Sections of tasks and roles that the session does not have, so that what they settle is not in force. The user's own file is
/// for all sessions, so that only what is nearly the name of something counts there.
pub(crate) fn unused(config: &Config, session: &Session) -> Vec<String> {
    let tasks: BTreeSet<&str> = session.tasks.iter().map(|task| task.id.as_str()).collect();
    let roles = session.roles.iter().map(|role| role.name.as_str());
    let roles: BTreeSet<&str> = roles.chain(session.tasks.iter().map(|task| task.role.as_str())).collect();
    let settings = &config.settings;
    let sections = [("task", "tasks", &settings.tasks, tasks), ("role", "roles", &settings.roles, roles)];
    let mut unused = Vec::new();
    for (what, section, owns, names) in sections {
        for (name, own) in owns.iter().filter(|(name, _)| !names.contains(name.as_str())) {
            let near = nearest(name, names.iter().copied());
            let Some(from) = own.from.as_ref().filter(|from| near.is_some() || matches!(from, Origin::Project(_)))
            else {
                continue;
            };
            let at = from.spot().map(|spot| format!("{}:{}: ", spot.file, spot.line)).unwrap_or_default();
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let section = format!("[{section}.{}]", quoted(name));
            unused.push(format!("{at}{section} is not in force: the session has no {what} '{name}'{near}"));
        }
    }
    unused
}

/// Lets others do what these workers cannot, and says so.
fn go_without(workers: &mut Workers, missed: Vec<(usize, NotUsable)>) -> Result<Vec<String>, Error> {
    let mut told = Vec::new();
    for (nth, reason) in missed {
        let who = workers.iter().nth(nth).map(who).unwrap_or_default();
        if !workers.go_without(nth) {
            return Err(not_usable(&who, &reason));
        }
        told.push(format!("{} ({who}), so the next agent is used; {}", reason.why, reason.help));
    }
    told.dedup();
    Ok(told)
}

fn who(worker: &Worker) -> String {
    if worker.agent.starts_with('-') { worker.agent.clone() } else { format!("agent '{}'", worker.agent) }
}

fn not_usable(who: &str, NotUsable { why, help, kind }: &NotUsable) -> Error {
    let finding = Finding::error(Code::Usage, format!("{why} ({who}), so nothing was started")).help(help.clone());
    Error::Refused(Box::new(finding), *kind)
}

/// Refuses programs that the project's file chose, unless the user trusts it. A user who confirms the start does.
pub(crate) fn is_trusted(programs: &[&Program], config: &Config, trust: bool) -> Result<(), Error> {
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
