//! What a tree of its own costs a task: 300 tasks that change one file each, with trees and without. `cargo xtask bench isolated`.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes a repository")]

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use std::time::Instant;

use team_executor_testkit::World;

const TASKS: usize = 300;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let tasks = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(TASKS);
    let mut out = std::io::stdout();
    let mut each = Vec::new();
    for isolation in ["none", "worktree"] {
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        let mut table = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n".to_owned();
        for task in 0..tasks {
            writeln!(table, "T-{task},,Do it,,,csv-wave,worker,1,pending,,")?;
            world.write(&format!("files/{task}.txt"), "open\n");
        }
        world.write("S/tasks.csv", table);
        world.write("team-executor.toml", format!("[defaults]\nisolation = \"{isolation}\"\n"));
        for words in [
            &["init", "-q"][..],
            &["add", "files"],
            &["-c", "user.name=U", "-c", "user.email=u@localhost", "commit", "-q", "-m", "c"],
        ] {
            let status = Command::new("git").args(words).current_dir(world.dir()).status()?;
            if !status.success() {
                return Err(format!("git {words:?}: {status}").into());
            }
        }
        let worker = "sh -c 'echo done > files/${TEAM_EXECUTOR_TASK#T-}.txt'";
        let began = Instant::now();
        let run = world.run(&["run", "--session=S", "-y", "-c", "8", "--trust-project", "--agent-command", worker]);
        let took = began.elapsed().as_secs_f64();
        if run.code != Some(0) {
            return Err(run.to_string().into());
        }
        each.push(took * 1000.0 / tasks as f64);
        writeln!(
            out,
            "isolation = {isolation:10} {tasks} tasks in {took:.2} s, {:.1} ms a task",
            each[each.len() - 1]
        )?;
    }
    writeln!(out, "a tree costs a task {:.1} ms", each[1] - each[0])?;
    Ok(())
}
