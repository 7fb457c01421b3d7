//! From a task to what a keeper is given.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use team_executor_agents::environment::{Contract, environment};
use team_executor_agents::{Assignment, Limits};
use team_executor_core::Task;

use crate::options::{Failure, Options};
use crate::run_at::RunAt;

/// How long a worker has between being asked to end and being killed.
const GRACE_MS: u64 = 10_000;
/// How much is kept of each output stream.
const OUTPUT_BYTES: u64 = 64 << 20;

/// Makes the folder of an attempt, puts the prompt into it, and says everything that its keeper must know.
pub(crate) fn of(
    options: &Options,
    run: &RunAt,
    cwd: &Path,
    task: &Task,
    attempt: u32,
    prompt: &str,
) -> Result<Assignment, Failure> {
    let id = task.id.as_str();
    let dir = run.attempt(id, attempt);
    let artifacts = run.artifacts(id);
    make_private(&dir)?;
    make_private(&artifacts)?;
    let prompt_path = dir.join("prompt.md");
    std::fs::write(&prompt_path, prompt).map_err(Failure::disk("write", &prompt_path))?;
    let key = run.key(id, attempt);
    let contract = Contract {
        session: &options.folder,
        run: &run.id,
        task: id,
        role: task.role.as_str(),
        attempt: &key,
        artifacts: &artifacts,
        result: &run.result(id, attempt),
        prompt: &prompt_path,
    };
    let env = environment(&options.environment, &[], &[], &contract);
    let env = env.map_err(|error| Failure::TooDeep(error.to_string()))?;
    let (program, args) = match options.command.split_first() {
        Some((program, args)) => (program.clone(), args.to_vec()),
        None => (String::new(), Vec::new()),
    };
    Ok(Assignment {
        key,
        dir,
        program,
        args,
        env,
        cwd: cwd.to_owned(),
        stdin: Some(prompt_path),
        limits: Limits { total_ms: Some(options.limit_ms), grace_ms: Some(GRACE_MS), ..Limits::default() },
        output_cap: OUTPUT_BYTES,
        // A kill cannot take what the system holds, and a power cut takes executor and keeper alike: then the outcome is in
        // the journal, or the attempt counts as interrupted.
        durable: false,
    })
}

/// Makes a folder that only the user can enter, with what leads to it.
fn make_private(path: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    match builder.mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => builder.recursive(true).create(path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
    .map_err(Failure::disk("make", path))
}
