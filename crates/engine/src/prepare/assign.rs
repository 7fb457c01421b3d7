//! From a task to what a keeper is given.

use std::path::{Path, PathBuf};

use team_executor_agents::adapters::{Adapter, Order, RESULT_SCHEMA, Server, Setup};
use team_executor_agents::environment::{ATTEMPT, Contract, environment};
use team_executor_agents::token::{TOKEN, token};
use team_executor_agents::{Assignment, Leftover, Limits};
use team_executor_beneath::make_ours;
use team_executor_core::run::{Live, Measure, Run};
use team_executor_core::{Task, TaskIndex};

use crate::begin::run_at::{RunAt, check_logs, logs};
use crate::bus::propose;
use crate::conclude::artifacts::{Verify, quarantine};
use crate::options::{Failure, Options};
use crate::prepare::worker::Worker;

/// What tells a worker where its prompt is.
const PROMPT: &str = "TEAM_EXECUTOR_PROMPT";
/// How much is kept of each output stream.
const OUTPUT_BYTES: u64 = 64 << 20;

/// Everything that a keeper must know of an attempt whose prompt is written.
pub(crate) fn for_worker(
    options: &Options,
    run: &RunAt,
    cwd: &Path,
    task: &Task,
    worker: &Worker,
    attempt: u32,
    prompt: PathBuf,
) -> Result<Assignment, Failure> {
    let id = task.id.as_str();
    let (artifacts, paths) = (run.artifacts(id), run.paths(&options.folder, cwd));
    let told = paths.told(&artifacts);
    let key = run.key(id, attempt);
    let contract = Contract {
        session: &options.folder,
        run: &run.id,
        task: id,
        role: task.role.as_str(),
        attempt: &key,
        artifacts: &told,
        // Our own commands find the run by it.
        result: &run.result(id, attempt),
        prompt: &prompt,
    };
    let env = environment(&options.environment, &worker.pass_env, &worker.env, &contract);
    let mut env = env.map_err(|error| Failure::TooDeep(error.to_string()))?;
    env.push((propose::MOST.to_owned(), options.proposals.to_string()));
    env.extend(token(&key).map(|token| (TOKEN.to_owned(), token)));
    let (program, mut args) = match worker.command.split_first() {
        Some((program, args)) => (program.clone(), args.to_vec()),
        None => (String::new(), Vec::new()),
    };
    if let Some(setup) = &worker.setup {
        let server = server(options, setup, &env);
        let note = note(setup, server.is_some());
        let beside = Some((artifacts.as_path(), told.as_path())).filter(|(folder, _)| !folder.starts_with(cwd));
        let order = Order { setup, note: &note, schema: Some(&run.schema()?), server: server.as_ref(), beside };
        let words = if setup.converses { setup.adapter.conversing(&order) } else { setup.adapter.arguments(&order) };
        args.extend(words);
    }
    Ok(Assignment {
        key,
        program,
        args,
        env,
        cwd: cwd.to_owned(),
        stdin: Some(prompt),
        limits: worker.limits,
        logs: logs(&run.path, id, attempt),
        output_cap: OUTPUT_BYTES,
        artifacts: Some(artifacts),
        aside: quarantine::place(&run.path, id, attempt.saturating_sub(1)),
        leftover: Leftover::Moves,
        adapter: worker.setup.as_ref().map(|setup| setup.adapter),
        seat: None,
    })
}

/// The same, with what is left for it of the budgets that it comes under, for an agent that can be told.
pub(crate) fn bounded(
    mut assignment: Assignment,
    worker: &Worker,
    rules: &Run,
    task: TaskIndex,
    live: &Live,
) -> Assignment {
    if let Some(setup) = &worker.setup {
        let left = |measure| rules.budget_left(task, measure, live).map(|left| left.max(1));
        assignment.args.extend(setup.adapter.bounds(left(Measure::Usd), left(Measure::Turns)));
    }
    assignment
}

/// The tools that an agent is given.
pub(crate) fn server(options: &Options, setup: &Setup, env: &[(String, String)]) -> Option<Server> {
    Server::for_worker(&options.exe, env).filter(|_| setup.mcp && setup.adapter.takes_server())
}

/// What an agent must know besides its prompt. It names no path: an agent that takes up a conversation hears only the first note.
pub(crate) fn note(setup: &Setup, has_tools: bool) -> String {
    let mut note =
        "No one can answer questions: decide yourself. You must report. If the task cannot be done, report the status \
                    failed with the reason."
            .to_owned();
    if has_tools {
        note.push_str(
            " The tools of the server `executor` are for your team: add_discovery tells others what you found, \
             report_result can be called instead of writing the file.",
        );
    }
    if has_tools && setup.adapter == Adapter::Claude {
        note.push_str(" Call report_result once, as your last action; then no other report is needed.");
    }
    if !setup.adapter.takes_schema() {
        note.push_str("\nYour last message must be one JSON object and nothing else, by this JSON Schema:\n");
        note.push_str(RESULT_SCHEMA);
    }
    note
}

/// A command that judges an attempt.
pub(crate) struct CheckCommand<'c> {
    pub(crate) attempt: u32,
    /// Which of its commands, from 1.
    pub(crate) nth: usize,
    pub(crate) verify: &'c Verify,
}

/// Everything that a keeper must know of a command that judges: it sees what the worker saw, but for a prompt.
pub(crate) fn for_check(
    options: &Options,
    run: &RunAt,
    cwd: &Path,
    task: &Task,
    worker: &Worker,
    check: &CheckCommand<'_>,
) -> Result<Assignment, Failure> {
    let CheckCommand { attempt, nth, verify } = *check;
    let assignment = for_worker(options, run, cwd, task, worker, attempt, PathBuf::new())?;
    let id = task.id.as_str();
    let key = run.check_key(id, attempt, nth);
    let mut env = assignment.env;
    // It speaks for no attempt.
    env.retain(|(name, _)| name != PROMPT && name != TOKEN);
    env.iter_mut().filter(|(name, _)| name == ATTEMPT).for_each(|(_, value)| value.clone_from(&key));
    // One to which nothing was delivered may be another worker's by now.
    let _there_is_one = make_ours(&run.artifacts(id));
    let (program, args) = verify
        .command
        .split_first()
        .map_or((String::new(), Vec::new()), |(program, args)| (program.clone(), args.to_vec()));
    Ok(Assignment {
        key,
        program,
        args,
        env,
        stdin: None,
        limits: Limits { total_ms: verify.limit_ms, grace_ms: worker.limits.grace_ms, ..Limits::default() },
        logs: check_logs(&run.path, id, attempt, nth),
        artifacts: None,
        adapter: None,
        seat: None,
        ..assignment
    })
}
