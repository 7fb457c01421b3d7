//! From a task to what a keeper is given.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use team_executor_agents::environment::{Contract, environment};
use team_executor_agents::{Assignment, Limits};
use team_executor_core::Task;

use crate::options::{Failure, Options};
use crate::run_at::{RunAt, logs};

/// How long a worker has between being asked to end and being killed.
const GRACE_MS: u64 = 10_000;
/// How much is kept of each output stream.
const OUTPUT_BYTES: u64 = 64 << 20;

/// Writes the prompt of an attempt and says everything that its keeper must know.
pub(crate) fn of(
    options: &Options,
    run: &RunAt,
    cwd: &Path,
    task: &Task,
    attempt: u32,
    prompt: &str,
) -> Result<Assignment, Failure> {
    let id = task.id.as_str();
    let artifacts = run.artifacts(id);
    let prompt_path = run.prompt(id, attempt);
    write_private(&prompt_path, prompt).map_err(Failure::disk("write", &prompt_path))?;
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
        program,
        args,
        env,
        cwd: cwd.to_owned(),
        stdin: Some(prompt_path),
        limits: Limits { total_ms: Some(options.limit_ms), grace_ms: Some(GRACE_MS), ..Limits::default() },
        logs: logs(&run.path, id, attempt),
        output_cap: OUTPUT_BYTES,
        artifacts: Some(artifacts),
    })
}

/// Writes a file that only the user can read.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
