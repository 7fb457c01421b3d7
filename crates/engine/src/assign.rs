//! From a task to what a keeper is given.

use std::path::{Path, PathBuf};

use team_executor_agents::Assignment;
use team_executor_agents::environment::{Contract, environment};
use team_executor_core::Task;

use crate::options::{Failure, Options};
use crate::run_at::{RunAt, logs};
use crate::worker::Worker;

/// How much is kept of each output stream.
const OUTPUT_BYTES: u64 = 64 << 20;

/// Everything that a keeper must know of an attempt whose prompt is written.
pub(crate) fn of(
    options: &Options,
    run: &RunAt,
    cwd: &Path,
    task: &Task,
    worker: &Worker,
    attempt: u32,
    prompt: PathBuf,
) -> Result<Assignment, Failure> {
    let id = task.id.as_str();
    let artifacts = run.artifacts(id);
    let key = run.key(id, attempt);
    let contract = Contract {
        session: &options.folder,
        run: &run.id,
        task: id,
        role: task.role.as_str(),
        attempt: &key,
        artifacts: &artifacts,
        result: &run.result(id, attempt),
        prompt: &prompt,
    };
    let env = environment(&options.environment, &worker.pass_env, &worker.env, &contract);
    let env = env.map_err(|error| Failure::TooDeep(error.to_string()))?;
    let (program, args) = match worker.command.split_first() {
        Some((program, args)) => (program.clone(), args.to_vec()),
        None => (String::new(), Vec::new()),
    };
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
    })
}
