//! Every path that the program opens, with something else in its place: a link, a hard link, a pipe, a device, a folder, a file
//! of holes. Planted before a run goes on, as a clone brings it, or by a worker while it goes on. Nothing outside is changed or
//! shown, no command hangs, and the exit code is a documented one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Pulse, World};

use crate::run::{arguments, read};

const SESSION: &str = "--session=.workflow/.team/S";
const TABLE: &str = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                     A,,Do it,,,csv-wave,worker,1,pending,,\n\
                     B,,Do it,A,,csv-wave,worker,2,pending,,\n\
                     C,,Do it,B,,csv-wave,worker,3,pending,,\n";
/// In the file outside.
const SECRET: &str = "the-secret-of-another-project";
/// What each worker does: it prints, reports and delivers.
const WORKER: &str = "echo did $TEAM_EXECUTOR_TASK; echo text >$TEAM_EXECUTOR_ARTIFACTS/a.md; \
                      echo '{\"status\":\"completed\",\"findings\":\"done\"}' >$TEAM_EXECUTOR_RESULT; \
                      echo $TEAM_EXECUTOR_TASK >>ran";
/// Exit codes that are documented.
const CODES: [i32; 7] = [0, 1, 2, 3, 4, 74, 130];
/// No case takes longer, on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(60);

/// Below the project; `RUN` is the folder of the run. Every path that the program opens for a session in a table.
const PATHS: [&str; 44] = [
    "team-executor.toml",
    ".workflow/.archive",
    ".workflow/.csv-wave",
    ".workflow/.csv-wave/.lock",
    "RUN",
    "RUN/.executor",
    "RUN/.executor/artifacts",
    "RUN/.executor/control",
    "RUN/.executor/derived.json",
    "RUN/.executor/journal",
    "RUN/.executor/journal.damaged-1",
    "RUN/.executor/keepers",
    "RUN/.executor/keepers/9-9",
    "RUN/.executor/lock",
    "RUN/.executor/rendered",
    "RUN/.executor/reserve",
    "RUN/.executor/result.schema.json",
    "RUN/.executor/talk",
    "RUN/agents",
    "RUN/agents/B.2.result.json",
    "RUN/agents/C.1.result.json",
    "RUN/agents/registry.json",
    "RUN/agents/slot-0.prompt.md",
    "RUN/artifacts",
    "RUN/artifacts/B",
    "RUN/artifacts/C",
    "RUN/artifacts/C/a.md",
    "RUN/artifacts/C/manifest.json",
    "RUN/context.md",
    "RUN/interactive",
    "RUN/logs",
    "RUN/logs/B.2.err",
    "RUN/logs/B.2.out",
    "RUN/logs/C.1.out",
    "RUN/proposals.jsonl",
    "RUN/quarantine",
    "RUN/results.csv",
    "RUN/tasks.csv",
    "RUN/wave-2.csv",
    ".workflow/.team/S/.msg",
    ".workflow/.team/S/.msg/messages.jsonl",
    ".workflow/.team/S/discoveries.ndjson",
    ".workflow/.team/S/tasks.csv",
    ".workflow/.team/S/wisdom",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Link,
    HardLink,
    Pipe,
    Device,
    Folder,
    Holes,
}

impl Shape {
    /// The command that makes it at `$P`; `$OUT` is the file outside.
    const fn command(self) -> &'static str {
        match self {
            Self::Link => "ln -s \"$OUT\" \"$P\"",
            Self::HardLink => "ln \"$OUT\" \"$P\"",
            Self::Pipe => "mkfifo \"$P\"",
            Self::Device => "mknod \"$P\" c 1 5",
            Self::Folder => "mkdir -p \"$P/sub\"",
            Self::Holes => "truncate -s 8T \"$P\"",
        }
    }

    /// The words of a shell that put it in the place of what is there, which is kept elsewhere.
    fn planted(self, path: &str, outside: &Path) -> String {
        let run = "$(echo .workflow/.csv-wave/EX-S-*)";
        format!(
            "OUT={}; P=\"{}\"; mkdir -p \"$(dirname \"$P\")\" kept; mv \"$P\" kept/ 2>/dev/null; {}",
            outside.display(),
            path.replace("RUN", run),
            self.command()
        )
    }
}

/// A project with a run that was begun and killed while B was at work, as it comes out of a clone: open to others.
fn begun() -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    world.write(".workflow/.team/S/tasks.csv", TABLE);
    let mut pulse = Pulse::new(world.dir().join("pulse"));
    let worker =
        format!("if [ $TEAM_EXECUTOR_TASK = B ]; then exec 9>{}; printf . >&9; sleep 600; fi; {WORKER}", pulse.arg());
    let mut executor = world.command(&arguments(SESSION, &worker, &[]));
    let mut executor = executor.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    pulse.wait_alive(1);
    executor.kill().expect("it is killed");
    executor.limited_wait();
    pulse.wait_dead();
    std::fs::remove_file(world.dir().join("pulse")).expect("removed");
    let clone = "rm -f .workflow/.csv-wave/EX-S-*/.executor/control; chmod -R go+rX .workflow";
    let cloned = Command::new("/bin/sh").args(["-c", clone]).current_dir(world.dir()).limited_status();
    assert!(cloned.success());
    world
}

/// One case, with what is told of it.
struct Case {
    world: World,
    /// A folder beside the project, with one file.
    outside: tempfile::TempDir,
    what: String,
    shape: Shape,
}

impl Case {
    fn new(shape: Shape, path: &str, when: &str) -> Self {
        let outside = tempfile::tempdir().expect("a folder");
        std::fs::write(outside.path().join("file"), SECRET).expect("a file");
        let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
        Self { world, outside, what: format!("{shape:?} at {path} {when}"), shape }
    }

    fn file(&self) -> PathBuf {
        self.outside.path().join("file")
    }

    /// Runs the program, which must end soon and well-behaved.
    fn run(&self, args: &[&str]) -> Option<i32> {
        let begun = Instant::now();
        let run = self.world.run(args);
        let what = &self.what;
        assert!(begun.elapsed() < LIMIT, "{what} took {:?}: {run}", begun.elapsed());
        assert!(!run.stderr.contains("panicked"), "{what}: {run}");
        assert!(run.code.is_some_and(|code| CODES.contains(&code)), "{what}: {run}");
        let shown = run.stdout.contains(SECRET) || run.stderr.contains(SECRET);
        // A hard link is the file itself: a user who may link it may read it.
        assert!(!shown || self.shape == Shape::HardLink, "{what} shows what is outside: {run}");
        run.code
    }

    /// Everything that a user would type afterwards.
    fn look_around(&self) {
        let commands: [&[&str]; 6] = [
            &["status", SESSION],
            &["logs", SESSION],
            &["doctor", SESSION],
            &["artifacts", SESSION],
            &["sessions"],
            &["archive", SESSION],
        ];
        // What holds no text cannot be shown: it can only stall.
        let shows = matches!(self.shape, Shape::Link | Shape::HardLink | Shape::Holes);
        for command in &commands[..if shows { 6 } else { 2 }] {
            self.run(command);
        }
    }

    /// What is outside is as it was, alone, and nothing of it was copied into the project.
    fn nothing_leaked(&self) {
        let what = &self.what;
        assert_eq!(read(self.file()), SECRET, "{what}");
        let names: Vec<_> = std::fs::read_dir(self.outside.path()).expect("a folder").flatten().collect();
        assert_eq!(names.len(), 1, "{what}: {names:?}");
        if self.shape != Shape::HardLink {
            let mut grep = Command::new("grep");
            grep.args(["-rlsI", "--devices=skip", "--exclude-dir=kept", "--max-count=1", SECRET, "."]);
            let found = grep.current_dir(self.world.dir()).limited_output().stdout;
            assert!(
                found.is_empty() || self.shape == Shape::Link && only_links(&self.world, &found),
                "{what}: {found:?}"
            );
        }
    }
}

/// Whether files that a search has named are links, which it follows where they are named.
fn only_links(world: &World, found: &[u8]) -> bool {
    String::from_utf8_lossy(found).lines().all(|name| world.dir().join(name).is_symlink())
}

fn plant(world: &World, shape: Shape, path: &str, outside: &Path) -> bool {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &shape.planted(path, outside)]).current_dir(world.dir()).stderr(Stdio::null());
    shell.limited_status().success()
}

/// Tries a shape at every path, planted before a run goes on and by a worker while it does.
fn everywhere(shape: Shape) {
    let template = begun();
    for path in PATHS {
        let case = Case::new(shape, path, "before the run");
        case.world.copy_tree(template.dir().join(".workflow"), ".workflow");
        if plant(&case.world, shape, path, &case.file()) {
            case.run(&arguments(SESSION, WORKER, &["-c", "1"]));
            case.look_around();
            case.nothing_leaked();
        }
        let case = Case::new(shape, path, "by a worker");
        case.world.write(".workflow/.team/S/tasks.csv", TABLE);
        let planted = shape.planted(path, &case.file());
        let worker = format!("[ $TEAM_EXECUTOR_TASK != A ] || {{ {planted}; }} 2>/dev/null; {WORKER}");
        case.run(&arguments(SESSION, &worker, &["-c", "1"]));
        case.run(&arguments(SESSION, WORKER, &["-c", "1"]));
        case.look_around();
        case.nothing_leaked();
    }
}

#[test]
fn link_at_any_path_leads_nowhere() {
    everywhere(Shape::Link);
}

#[test]
fn hard_link_at_any_path_is_not_changed() {
    everywhere(Shape::HardLink);
}

#[test]
fn pipe_at_any_path_stalls_nothing() {
    everywhere(Shape::Pipe);
}

#[test]
fn device_at_any_path_is_not_used() {
    everywhere(Shape::Device);
}

#[test]
fn folder_at_any_path_is_survived() {
    everywhere(Shape::Folder);
}

#[test]
fn file_of_holes_at_any_path_is_survived() {
    everywhere(Shape::Holes);
}

#[test]
fn cloned_run_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = begun();
    let run = world.dir().join(".workflow/.csv-wave");
    let run = std::fs::read_dir(run).expect("runs").flatten().find(|run| run.path().is_dir()).expect("a run").path();
    let done = world.run(&arguments(SESSION, WORKER, &[]));
    assert_eq!(done.code, Some(0), "{done}");
    for folder in ["", ".executor", ".executor/keepers", "logs", "agents", "artifacts", "interactive"] {
        let mode = std::fs::metadata(run.join(folder)).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{folder}");
    }
    assert_eq!(read(world.dir().join("ran")), "A\nB\nC\n");
}
