//! How soon a finished run of 100,000 tasks (or of as many as are asked for) is recognised as finished, against only reading
//! its journal: every line checked, every record understood. Both are whole processes. The goal is a ratio of at most 3;
//! `cargo xtask bench finished` prints it, and what each task of the run itself took.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes files of its own")]

use std::collections::HashMap;
use std::error::Error;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use team_executor_core::TaskIndex;
use team_executor_store::{records, recover};
use team_executor_testkit::World;

const TASKS: usize = 100_000;
const ROUNDS: usize = 9;
/// Tells this program to be the one that only reads.
const READ: &str = "--read";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [first, journal] = &args[..]
        && first == READ
    {
        return read(Path::new(journal));
    }
    let tasks = args.iter().find_map(|arg| arg.to_str()?.parse().ok()).unwrap_or(TASKS);
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    for (path, text) in files(tasks)? {
        world.write(path, text);
    }
    let run = || world.command(&["--session=S", "-y", "-c", "16", "--agent-command", "true"]);
    let mut first = Taken::default();
    first.add(&mut run())?;
    let runs = fs::read_dir(world.dir().join(".workflow/.csv-wave"))?.flatten();
    let mut journals = runs.map(|run| run.path().join(".executor/journal"));
    let journal = journals.find(|path| path.exists()).ok_or("there is no journal")?;
    let this = std::env::current_exe()?;
    let (mut recognised, mut reading) = (Taken::default(), Taken::default());
    for _ in 0..ROUNDS {
        recognised.add(&mut run())?;
        reading.add(Command::new(&this).arg(READ).arg(&journal))?;
    }
    let [wall, cpu] = first.medians().map(|seconds| seconds * 1e6 / tasks as f64);
    let (recognised, reading) = (recognised.medians(), reading.medians());
    let mebibytes = fs::metadata(&journal)?.len() as f64 / 1048576.0;
    let mut out = std::io::stdout();
    writeln!(out, "{tasks} tasks, a journal of {mebibytes:.1} MiB; medians of {ROUNDS}")?;
    writeln!(out, "run: {wall:.0} µs a task, {cpu:.0} µs of CPU with the workers' own")?;
    for (what, [wall, cpu]) in [("recognised as finished", recognised), ("only reading the journal", reading)] {
        writeln!(out, "{what}: {wall:.3} s, {cpu:.3} s of CPU")?;
    }
    let ratio = |nth: usize| recognised[nth] / reading[nth];
    writeln!(out, "ratio: {:.2}, of CPU {:.2} (at most 3)", ratio(0), ratio(1))?;
    Ok(())
}

/// Only reads a journal. Tasks are numbered as they come: there is no session.
fn read(journal: &Path) -> Outcome<()> {
    let bytes = fs::read(journal)?;
    let found = recover(&bytes)?;
    let text = str::from_utf8(&bytes)?;
    let known = std::cell::RefCell::new(HashMap::new());
    let index = |id: &str| {
        let mut known = known.borrow_mut();
        let next = TaskIndex(u32::try_from(known.len()).ok()?);
        Some(known.get(id).copied().unwrap_or_else(|| *known.entry(id.to_owned()).or_insert(next)))
    };
    for record in found.records.into_iter().skip(1) {
        std::hint::black_box(records::read(&text[record.json], index)?);
    }
    Ok(())
}

/// How long processes took, and how much of a processor, in seconds.
#[derive(Default)]
struct Taken(Vec<f64>, Vec<f64>);

impl Taken {
    fn add(&mut self, command: &mut Command) -> Outcome<()> {
        let (began, before) = (Instant::now(), cpu()?);
        quiet(command)?;
        self.0.push(began.elapsed().as_secs_f64());
        self.1.push(cpu()? - before);
        Ok(())
    }

    fn medians(self) -> [f64; 2] {
        [self.0, self.1].map(|mut all| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        })
    }
}

/// What the processes took of a processor that this one has waited for, in seconds; to the hundredth.
fn cpu() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, behind_name) = stat.rsplit_once(')').ok_or("no name")?;
    let ticks = behind_name.split_whitespace().skip(13).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / 100.0)
}

fn quiet(command: &mut Command) -> Outcome<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// A session in layers, each task of which waits for two of the layer before.
fn files(tasks: usize) -> Outcome<[(&'static str, String); 3]> {
    let width = tasks.isqrt().max(1);
    let mut graph = String::from("{");
    for task in 0..tasks {
        let comma = if task == 0 { "" } else { "," };
        write!(graph, "{comma}\n    \"WORK-{task:06}\": {{ \"depends_on\": [")?;
        if task >= width {
            let layer = (task / width - 1) * width;
            write!(graph, "\"WORK-{:06}\"", layer + task * 7 % width)?;
            write!(graph, ", \"WORK-{:06}\"", layer + (task * 7 + 1) % width)?;
        }
        graph.push_str("], \"role\": \"worker\" }");
    }
    graph.push_str("\n  }");
    let role = r#"{ "name": "worker", "prefix": "WORK", "inner_loop": false, "role_spec": "role-specs/worker.md" }"#;
    let session = format!(
        r#"{{
  "session_id": "TC-bench-2026-03-24", "task_description": "benchmark", "status": "active", "team_name": "bench",
  "roles": [{role}],
  "pipeline": {{ "dependency_graph": {graph}, "tasks_total": {tasks}, "tasks_completed": 0 }},
  "active_workers": [], "completed_tasks": [], "completion_action": "auto_keep", "created_at": "2026-03-24T00:00:00Z"
}}"#
    );
    let analysis = format!(r#"{{ "capabilities": [], "dependency_graph": {graph}, "roles": [{role}] }}"#);
    let spec = "---\nrole: worker\nprefix: WORK\ninner_loop: false\nmessage_types:\n  success: done\n---\n\
                ## Phase 2: Load\n## Phase 3: Work\n## Phase 4: Check\n";
    Ok([
        ("S/team-session.json", session),
        ("S/task-analysis.json", analysis),
        ("S/role-specs/worker.md", spec.to_owned()),
    ])
}
