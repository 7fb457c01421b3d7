//! The disk is full, files may not grow, folders vanish, and the standard streams are closed.

use std::io::{BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, World, lacks};

use super::{completions, lacks_strace, run_after, said, traced};
use crate::run::{DID, arguments, column, folder, read, run, tasks};

/// A file system of its own in memory, as long as this lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// One of this many KiB; nothing if this user may not mount one.
    fn new(path: PathBuf, kib: u32) -> Option<Self> {
        std::fs::create_dir(&path).expect("a folder");
        let options = format!("size={kib}k,mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "small"]).arg(&path).stderr(Stdio::null());
        mount.spawn().is_ok_and(|mut mount| mount.limited_wait().success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).limited_status();
    }
}

fn run_in(folder: &Path, world: &World, worker: &str) -> Output {
    world.command(&arguments("--session=S", worker, &[])).current_dir(folder).limited_output()
}

/// The one run of a project.
fn run_of(project: &Path) -> PathBuf {
    let runs = std::fs::read_dir(project.join(".workflow/.csv-wave")).expect("runs").flatten();
    runs.map(|run| run.path()).find(|path| path.is_dir()).expect("a run")
}

#[test]
fn full_disk_stops_a_run_and_room_continues_it() {
    // Many come after B: the journal outgrows the page that it has.
    let later: Vec<String> = (0..40).map(|number| format!("T{number}")).collect();
    let all = [("A", ""), ("B", "A")].into_iter().chain(later.iter().map(|id| (id.as_str(), "B")));
    let all: Vec<(&str, &str)> = all.collect();
    let world = tasks(&all);
    let Some(disk) = SmallDisk::new(world.dir().join("small"), 1024) else {
        lacks("mount", "a journal on a full disk");
        return;
    };
    let project = &disk.0;
    world.copy_tree(world.dir().join("S"), "small/S");
    // The disk is too small for a reserve. B fills it to the last byte; its own output is lost, and so is whatever comes after it.
    let worker = "[ $TEAM_EXECUTOR_TASK != B ] || [ -e fill ] || cat /dev/zero >fill; echo did $TEAM_EXECUTOR_TASK";
    let full = run_in(project, &world, worker);
    let text = said(&full) + &String::from_utf8_lossy(&full.stdout);
    assert_eq!(full.status.code(), Some(74), "{text}");
    assert!(text.contains("make room on the disk"), "{text}");
    assert!(text.contains("Resume with: team-executor resume --session=S"), "{text}");
    let still_full = run_in(project, &world, worker);
    assert_eq!(still_full.status.code(), Some(74), "{}", said(&still_full));
    let run = run_of(project);
    assert_eq!(completions(&run, "A"), 1);
    std::fs::write(project.join("fill"), "").expect("room again");
    let continued = run_in(project, &world, worker);
    assert_eq!(continued.status.code(), Some(0), "{}", said(&continued));
    assert!(all.iter().all(|(task, _)| completions(&run, task) == 1));
}

/// R: U-01
#[test]
fn full_disk_is_a_problem_whose_command_continues_the_run() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let Some(disk) = SmallDisk::new(world.dir().join("small"), 4096) else {
        lacks("mount", "the problem of a full disk");
        return;
    };
    let project = &disk.0;
    world.copy_tree(world.dir().join("S"), "small/S");
    let worker = "if [ $TEAM_EXECUTOR_TASK = B ] && [ ! -e fill ]; then cat /dev/zero >fill; exit 1; fi; echo did";
    assert_eq!(run_in(project, &world, worker).status.code(), Some(74));
    let disk_problem = || {
        let status =
            world.command(&["status", "--session=S", "--format", "json"]).current_dir(project).limited_output();
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
        status["problems"].as_array().expect("problems").iter().find(|problem| problem["kind"] == "disk").cloned()
    };
    let full = disk_problem().expect("the disk is a problem");
    assert!(full["why"].as_str().expect("a reason").contains("make room"), "{full:#}");
    std::fs::write(project.join("fill"), "").expect("room again");
    let resumed = world.shell(&format!("cd small && {}", full["do"].as_str().expect("a command")));
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!(disk_problem(), None, "the run is finished");
}

#[test]
fn failures_on_a_full_disk_spend_no_retry() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "A"), ("D", "B"), ("E", "C")]);
    let Some(disk) = SmallDisk::new(world.dir().join("small"), 4096) else {
        lacks("mount", "workers that fail on a full disk");
        return;
    };
    let project = &disk.0;
    world.copy_tree(world.dir().join("S"), "small/S");
    // B leaves room for the journal, which has a reserve, and none for anybody else.
    let worker = "if [ $TEAM_EXECUTOR_TASK = B ] && [ ! -e fill ]; then cat /dev/zero >fill; exit 1; fi; \
                  head -c 100000 /dev/zero >out.$TEAM_EXECUTOR_TASK || exit 1; echo $TEAM_EXECUTOR_TASK >>../ran";
    let run = || {
        let arguments = arguments("--session=S", worker, &["--retries=0"]);
        world.command(&arguments).current_dir(project).limited_output()
    };
    for _ in 0..3 {
        let full = run();
        let text = said(&full) + &String::from_utf8_lossy(&full.stdout);
        assert_eq!(full.status.code(), Some(74), "{text}");
        assert!(text.contains("make room on the disk"), "{text}");
        assert!(!text.contains("skipped"), "{text}");
    }
    std::fs::write(project.join("fill"), "").expect("room again");
    let continued = run();
    assert_eq!(continued.status.code(), Some(0), "{}", said(&continued));
    let mut ran: Vec<String> = read(world.dir().join("ran")).lines().map(str::to_owned).collect();
    ran.sort();
    assert_eq!(ran, ["A", "B", "C", "D", "E"]);
}

/// R: W-05
#[test]
fn readonly_session_runs_once_and_keeps_edits() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "B")]);
    let Some(disk) = SmallDisk::new(world.dir().join("small"), 1024) else {
        lacks("mount", "views on a full disk");
        return;
    };
    world.copy_tree(world.dir().join("S"), "small/S");
    let session = disk.0.join("S");
    let remount = |how: &str| {
        let options = format!("remount,{how}");
        let mounted = Command::new("mount").args(["-o", &options]).arg(&disk.0).limited_status();
        assert!(mounted.success());
    };
    let run = |worker: &str| {
        let argument = format!("--session={}", session.display());
        world.run(&arguments(&argument, worker, &["--retries", "0"]))
    };
    remount("ro");
    let first = run("[ $TEAM_EXECUTOR_TASK != C ]");
    assert_eq!(first.code, Some(1), "{first}");
    assert!(first.stderr.contains("cannot create tasks.csv: read-only"), "{first}");
    let folder = run_of(world.dir());
    for _ in 0..3 {
        let again = run("echo not again; exit 1");
        assert!(!again.stderr.contains("taken over") && !again.stderr.contains("edit"), "{again}");
        assert_eq!(["A", "B", "C"].map(|task| completions(&folder, task)), [1, 1, 0], "{again}");
    }
    remount("rw");
    let own = session.join("tasks.csv");
    let edited = read(&own).replace("C,,Do it,B,,csv-wave,worker,,pending", "C,,Do it,B,,csv-wave,worker,,completed");
    std::fs::write(&own, &edited).expect("written");
    remount("ro");
    let refused = run(DID);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("C: failed -> completed"), "{refused}");
    assert_eq!((read(&own), read(folder.join("tasks.csv.edited-1"))), (edited.clone(), edited), "{refused}");
    let without = run(DID);
    assert_eq!(without.code, Some(1), "{without}");
}

/// R: U-01
#[test]
fn little_room_on_the_disk_of_a_run_is_a_problem() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let Some(disk) = SmallDisk::new(world.dir().join("small"), 4096) else {
        lacks("mount", "a disk with little room");
        return;
    };
    world.copy_tree(world.dir().join("S"), "small/S");
    let part = world.command(&arguments("--session=S", DID, &["--only", "A"])).current_dir(&disk.0).limited_output();
    assert_eq!(part.status.code(), Some(0), "{}", said(&part));
    let shown = world.command(&["status", "--session=S", "--format=json"]).current_dir(&disk.0).limited_output();
    let status: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let problem = &status["problems"][0];
    assert_eq!(problem["kind"], "disk", "{status:#}");
    assert!(problem["why"].as_str().is_some_and(|why| why.starts_with("the disk of the run has only ")), "{problem:#}");
    let command = problem["do"].as_str().expect("a command");
    let pasted = world.shell(&format!("cd small && {command}"));
    assert_eq!(pasted.code, Some(0), "{pasted}");
}

#[test]
fn a_run_can_be_looked_at_where_nothing_can_be_written() {
    let world = tasks(&[("A", "")]);
    let Some(disk) = SmallDisk::new(world.dir().join("small"), 4096) else {
        lacks("mount", "a full disk");
        return;
    };
    world.copy_tree(world.dir().join("S"), "small/S");
    assert_eq!(run_in(&disk.0, &world, DID).status.code(), Some(0));
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).limited_status();
    assert!(remounted.success());
    for command in [["doctor", "--session=S"], ["status", "--session=S"]] {
        let looked = world.command(&command).current_dir(&disk.0).limited_output();
        let text = String::from_utf8_lossy(&looked.stdout).into_owned() + &said(&looked);
        assert!(looked.status.code().is_some_and(|code| code != 74), "{text}");
        assert!(!text.contains("cannot look at"), "{text}");
    }
}

/// A project on a disk of its own whose task B fills the disk while A is at work, with many tasks to come.
struct Filled {
    world: World,
    disk: SmallDisk,
    gate: Gate,
    ids: Vec<String>,
}

impl Filled {
    fn new() -> Option<Self> {
        let later = (0..60).map(|number| format!("T{number}"));
        let ids: Vec<String> = ["A".to_owned(), "B".to_owned()].into_iter().chain(later).collect();
        let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), if id.len() > 1 { "B" } else { "" })).collect();
        let world = tasks(&all);
        let disk = SmallDisk::new(world.dir().join("small"), 4096)?;
        world.copy_tree(world.dir().join("S"), "small/S");
        let gate = Gate::new(world.dir().join("gate"));
        Some(Self { world, disk, gate, ids })
    }

    /// Each notes outside of the disk that it ran, and B waits for A to be at work. What B says needs more than the journal
    /// has left.
    fn worker(&self) -> String {
        let gate = self.gate.arg();
        let fills = "until grep -q A ../ran; do :; done; cat /dev/zero >fill; printf 'did B %05000d\\n' 0; exit";
        format!(
            "echo $TEAM_EXECUTOR_TASK >>../ran; case $TEAM_EXECUTOR_TASK in A) cat {gate};; B) {fills};; esac; {DID}"
        )
    }

    fn journal(&self) -> String {
        read(run_of(&self.disk.0).join(".executor/journal"))
    }
}

#[test]
fn full_disk_lets_workers_finish_and_room_does_the_rest() {
    let Some(filled) = Filled::new() else {
        lacks("mount", "workers on a full disk");
        return;
    };
    let worker = filled.worker();
    let arguments = arguments("--session=S", &worker, &["-c2"]);
    let command = || {
        let mut command = filled.world.command(&arguments);
        command.current_dir(&filled.disk.0).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut full = command().spawn().expect("it starts");
    // A is let go when the run has said that it stops; until then it is at work.
    let mut lines = BufReader::new(full.stderr.take().expect("its words"));
    let mut said = std::iter::from_fn(|| lines.limited_line());
    assert!(said.any(|line| line.contains("the disk is full")), "it never says so");
    let while_full = filled.journal();
    assert!(while_full.contains("\"type\":\"halted\",\"no_room\":true"), "{while_full}");
    filled.gate.open();
    let rest: Vec<String> = said.collect();
    let ended = full.limited_output();
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(74), "{printed} {rest:?}");
    for expected in ["the disk is full", "help: make room on the disk", "Resume with: team-executor resume --session=S"]
    {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    let journal = filled.journal();
    let (_, after) = journal.split_once("\"type\":\"halted\"").expect("it halted");
    assert!(
        !after.contains("\"type\":\"claimed\"") && after.contains("\"type\":\"completed\",\"task\":\"A\""),
        "{after}"
    );
    let run = run_of(&filled.disk.0);
    let done = |id: &String| completions(&run, id);
    assert!(filled.ids.iter().map(done).sum::<usize>() < filled.ids.len(), "{journal}");
    let doctor = filled.world.command(&["doctor", "--session=S"]).current_dir(&filled.disk.0).limited_output();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("less room is kept for the journal than it may need"), "{doctor}");

    // What the reserve left is filled too: the next one gets no further than the odd page lets it, and halts as well.
    let mut fill = std::fs::File::options().append(true).open(filled.disk.0.join("fill")).expect("the file");
    while fill.write_all(&[0; 512]).is_ok() {}
    let still_full = command().limited_output();
    assert_eq!(still_full.status.code(), Some(74), "{still_full:?}");

    drop(fill);
    std::fs::remove_file(filled.disk.0.join("fill")).expect("room again");
    let continued = command().limited_output();
    assert_eq!(continued.status.code(), Some(0), "{continued:?}");
    assert!(filled.ids.iter().all(|id| done(id) == 1), "{}", filled.journal());
    let ran = read(filled.world.dir().join("ran"));
    assert!(filled.ids.iter().all(|id| ran.lines().filter(|line| line == id).count() == 1), "{ran}");
    assert!(!run.join(".executor/reserve").exists());
}

#[test]
fn journal_at_its_ulimit_stops_a_resumable_run() {
    let ids: Vec<String> = (0..40).map(|number| format!("T{number}")).collect();
    let world = tasks(&ids.iter().map(|id| (id.as_str(), "")).collect::<Vec<_>>());
    // In blocks of 512 bytes; the journal outgrows it before the last task.
    let stopped = run_after(&world, "ulimit -f 8", DID, &[]);
    assert_eq!(stopped.status.code(), Some(74), "{}", said(&stopped));
    assert!(said(&stopped).contains("cannot write journal: file too large"), "{}", said(&stopped));
    let run = run(&world, DID, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(ids.iter().all(|id| completions(&folder(&world), id) == 1));
}

#[test]
fn log_at_its_ulimit_ends_without_its_worker() {
    let world = tasks(&[("A", "")]);
    // A worker is still told by a signal, as anybody is.
    let worker = "head -c 1000000 /dev/zero | tr '\\0' x; echo; (head -c 1000000 /dev/zero >big) 2>/dev/null; echo $?";
    let limited = run_after(&world, "ulimit -f 512", worker, &[]);
    assert_eq!(limited.status.code(), Some(0), "{}", said(&limited));
    assert_eq!(column(&world, "findings"), ["153"]);
}

#[test]
fn a_run_whose_folder_vanishes_stops_and_does_not_make_it_again() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let run = run(&world, "rm -rf .workflow/.csv-wave/EX-*; echo did it", &[]);
    assert_eq!(run.code, Some(74), "{run}");
    assert!(run.stderr.contains("was moved or removed while the run went on\n"), "{run}");
    let runs = world.dir().join(".workflow/.csv-wave").read_dir().expect("runs").flatten();
    assert_eq!(runs.filter(|run| run.path().is_dir()).count(), 0);
}

#[test]
fn pipe_in_place_of_a_run_file_does_not_block() {
    for file in
        [".executor/journal", ".executor/artifacts", ".executor/rendered", ".executor/derived.json", "tasks.csv"]
    {
        let world = tasks(&[("A", "")]);
        assert_eq!(run(&world, DID, &[]).code, Some(0));
        let path = folder(&world).join(file);
        std::fs::remove_file(&path).ok();
        assert!(Command::new("mkfifo").arg(&path).limited_status().success());
        for command in [
            &["status", "--session=S"][..],
            &["doctor", "--session=S"],
            &["sessions"],
            &["artifacts", "verify", "--session=S"],
            &["retry", "A", "--session=S"],
            &["run", "--session=S", "-y", "--agent-command", "true"],
        ] {
            let ended = world.run(command);
            assert!(ended.code.is_some() && !ended.stderr.contains("panicked"), "{file}: {ended}");
        }
    }
}

#[test]
fn sparse_file_in_place_of_a_run_file_is_put_aside() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let worker = "for file in tasks.csv agents/registry.json; do \
                  [ $TEAM_EXECUTOR_TASK != A ] || truncate -s 15T .workflow/.csv-wave/EX-*/$file; done; echo did it";
    let run = run(&world, worker, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(column(&world, "status"), ["completed", "completed"], "{run}");
    let aside = std::fs::metadata(folder(&world).join("tasks.csv.aside-1")).expect("it is put aside");
    assert_eq!(aside.len(), 15 << 40, "{run}");
    let words = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cannot read tasks.csv: file too large; it was put aside as tasks.csv.aside-1"), "{run}");
}

#[test]
fn a_run_whose_journal_is_removed_stops() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let run = run(&world, "rm -f .workflow/.csv-wave/EX-*/.executor/journal; echo did it", &[]);
    assert_eq!(run.code, Some(74), "{run}");
    assert!(!run.stderr.contains("folder"), "{run}");
    assert!(run.stderr.contains("/.executor/journal was moved or removed while the run went on\n"), "{run}");
}

#[test]
fn a_run_whose_journal_is_cut_stops() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let run = run(
        &world,
        "for journal in .workflow/.csv-wave/EX-*/.executor/journal; do : >$journal; done; echo did it",
        &[],
    );
    assert_eq!(run.code, Some(74), "{run}");
    assert!(
        run.stderr.contains("journal was cut from ") && run.stderr.contains(" to 0 bytes while the run went on\n"),
        "{run}"
    );
    assert!(run.stderr.contains("help: team-executor doctor "), "{run}");
}

#[test]
fn a_run_whose_session_or_project_vanishes_stops() {
    for removed in ["S", "\"$PWD\""] {
        let world = tasks(&[("A", ""), ("B", "A")]);
        let run = run(&world, &format!("rm -rf {removed}; echo did it"), &[]);
        assert_eq!(run.code, Some(74), "{run}");
        assert!(run.stderr.contains("was moved or removed while the run went on\n"), "{run}");
    }
}

/// Else the old state in the file would be taken for a wish to do everything again.
#[test]
fn missing_session_file_is_updated_by_the_next_start() {
    let world = tasks(&[("A", "")]);
    let away = run(&world, "mv S/tasks.csv away.csv; echo done", &[]);
    assert_eq!(away.code, Some(0), "{away}");
    assert!(away.stderr.contains("warning: a file was not written: cannot read tasks.csv"), "{away}");
    std::fs::rename(world.dir().join("away.csv"), world.dir().join("S/tasks.csv")).expect("it is back");
    let again = run(&world, DID, &[]);
    assert_eq!((again.code, completions(&folder(&world), "A")), (Some(0), 1), "{again}");
    assert!(read(world.dir().join("S/tasks.csv")).contains(",completed,done,"), "{again}");
    assert!(run(&world, DID, &[]).stdout.contains("is finished; nothing was done"));
}

/// R: W-05
#[test]
fn edit_survives_a_kill_at_any_point() {
    if lacks_strace("that edits survive a kill") {
        return;
    }
    for nth in 1..=8 {
        let world = tasks(&[("A", ""), ("B", "")]);
        let failed =
            world.run(&arguments("--session=S", "sh -c 'test $TEAM_EXECUTOR_TASK = B && echo did'", &["--retries=0"]));
        assert_eq!(failed.code, Some(1), "{failed}");
        let table = folder(&world).join("tasks.csv");
        std::fs::write(&table, read(table.clone()).replace(",failed,,exit code 1", ",pending,,"))
            .expect("it is edited");
        let inject = format!("inject=renameat:error=EIO:signal=SIGKILL:when={nth}");
        traced(&world, DID, &[], &["-f", "-o", "/dev/null", "-e", "trace=renameat", "-e", &inject]);
        let last = world.run(&arguments("--session=S", DID, &[]));
        assert_eq!(last.code, Some(0), "killed at renaming {nth}: {last}");
        let table = read(table);
        assert!(!table.contains("failed") && table.matches("completed").count() == 2, "{nth}: {table}");
    }
}

/// What the kernel says about the file system is changed on its way to the program.
#[test]
fn a_network_file_system_is_refused_unless_it_is_allowed() {
    if lacks_strace("that a network file system is refused") {
        return;
    }
    let world = tasks(&[("A", "")]);
    let nfs = "inject=statfs:poke_exit=@arg2=6969000000000000";
    let run = |more: &[&str]| {
        let mut command = Command::new("strace");
        command.args(["-o", "/dev/null", "-e", "trace=statfs", "-e", nfs, env!("CARGO_BIN_EXE_team-executor")]);
        command.args(arguments("--session=S", DID, more)).current_dir(world.dir()).limited_output()
    };
    let refused = run(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains(" is on a network file system (nfs)"), "{}", said(&refused));
    assert!(!world.dir().join(".workflow").exists());
    assert_eq!(run(&["--allow-network-fs"]).status.code(), Some(0));
}

#[test]
fn run_without_standard_streams_writes_no_stray_output() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let silent = run_after(&world, "exec <&- >&- 2>&-", DID, &[]);
    assert_eq!(silent.status.code(), Some(0));
    assert_eq!(column(&world, "findings"), ["did A", "did B"]);
    let doctor = world.run(&["doctor", "--session=S"]);
    assert_eq!(doctor.code, Some(0), "{doctor}");
}

#[test]
fn the_files_of_a_run_are_private_whatever_the_umask() {
    let world = tasks(&[("A", "")]);
    assert_eq!(
        run_after(&world, "umask 000", "umask; echo x >\"$TEAM_EXECUTOR_ARTIFACTS/x\"; echo done", &[]).status.code(),
        Some(0)
    );
    let run = folder(&world);
    let mode = |name: &str| run.join(name).metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(["", ".executor", "artifacts", "artifacts/A"].map(mode), [0o700; 4]);
    assert_eq!([".executor/journal", ".executor/lock", "tasks.csv", "results.csv"].map(mode), [0o600; 4]);
    // What workers make is the user's, as the user's umask says.
    let printed = world.run(&["logs", "A", "--session=S"]);
    assert!(printed.stdout.starts_with("0000\n"), "{printed}");
}

#[test]
fn error_of_the_system_on_session_files_is_no_invalid_session() {
    if lacks_strace("errors of the system on session files") {
        return;
    }
    let world = tasks(&[("A", ""), ("B", "A")]);
    let table = world.dir().join("S/tasks.csv");
    let table = table.to_str().expect("text");
    let validated = |strace: &[&str]| {
        let mut command = std::process::Command::new("strace");
        command.args(["-f", "-o", "/dev/null"]).args(strace).arg(env!("CARGO_BIN_EXE_team-executor"));
        command.args(["validate", "--session=S"]).current_dir(world.dir()).limited_output()
    };
    let broken = validated(&["-P", table, "-e", "trace=read", "-e", "inject=read:error=EIO"]);
    assert_eq!(broken.status.code(), Some(74), "{}", said(&broken));
    assert!(said(&broken).contains("error: cannot read S/tasks.csv: input/output error\n"), "{}", said(&broken));
    for errno in ["EIO", "EMFILE", "ENFILE", "ENOMEM"] {
        let inject = format!("inject=openat2:error={errno}");
        let broken = validated(&["-e", "trace=openat2", "-e", &inject]);
        assert_eq!(broken.status.code(), Some(74), "{errno}: {}", said(&broken));
        assert!(!said(&broken).contains("Invalid session"), "{errno}: {}", said(&broken));
    }
    let interrupted = validated(&["-e", "trace=openat2", "-e", "inject=openat2:error=EINTR:when=1..3"]);
    assert_eq!(interrupted.status.code(), Some(0), "{}", said(&interrupted));
}

#[test]
fn one_io_error_during_a_check_repeats_nothing() {
    if lacks_strace("errors of the system while a delivery is checked") {
        return;
    }
    let worker = "echo text >$TEAM_EXECUTOR_ARTIFACTS/a.md; echo $TEAM_EXECUTOR_TASK >>ran; \
                  echo '{\"status\":\"completed\",\"findings\":\"f\"}' >$TEAM_EXECUTOR_RESULT";
    let faults = [
        ("read", "artifacts/A/a.md", "EIO", 0),
        ("fsync", "artifacts/A/a.md", "EIO", 0),
        ("getdents64", "artifacts/A", "EIO", 0),
        ("read", "agents/A.2.result.json", "EIO", 0),
        ("read", "artifacts/A/a.md", "EIO:when=1+", 74),
        ("read", "agents/A.2.result.json", "EIO:when=1+", 74),
    ];
    for (call, path, error, code) in faults {
        let world = tasks(&[("A", "")]);
        // The folder of the run must be there to be named.
        assert_eq!(world.run(&arguments("--session=S", "exit 1", &["--retries=0"])).code, Some(1));
        let table = folder(&world).join("tasks.csv");
        std::fs::write(&table, read(table.clone()).replace(",failed,", ",pending,")).expect("it is edited");
        let path = folder(&world).join(path).display().to_string();
        let once = if error.contains("when") { "" } else { ":when=1" };
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error={error}{once}"));
        let run = traced(&world, worker, &[], &["-f", "-o", "trace", "-P", &path, "-e", &trace, "-e", &inject]);
        let what = format!("{call} {path} {error}: {}", said(&run));
        assert!(read(world.dir().join("trace")).contains("(INJECTED)"), "{what}");
        assert_eq!(run.status.code(), Some(code), "{what}");
        let again = world.run(&arguments("--session=S", worker, &[]));
        assert_eq!(again.code, Some(0), "{what}: {again}");
        assert_eq!(read(world.dir().join("ran")), "A\n", "{what}");
    }
}
