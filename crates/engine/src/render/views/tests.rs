//! The views on a disk that fails at every operation.

use team_executor_core::run::{Input, Outcome, Policy, Step, Work, WorkEnded};
use team_executor_core::{Graph, RoleName, SessionId, Task, TaskId, Timestamp};
use team_executor_store::sim_disk::SimDisk;
use team_executor_store::sim_fault::{Fault, Lies, Strike};
use team_executor_store::sim_inode::Damage;
use team_executor_store::{Kind, Standing};

use super::*;

const ORIGINAL: &str = r#"{"session_id":"s","tasks":{"A":{"title":"a","role":"r","deps":[]},"B":{"title":"b","role":"r","deps":["A"]}},"mine":1}"#;
const OWN: &str = "tasks.json";

struct World {
    disk: SimDisk,
    session: Session,
    rules: Run,
    /// How long the journal is.
    journal: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let task = |id: &str, mode| Task {
            exec_mode: mode,
            ..Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap())
        };
        let mut session = Session::new(SessionId::parse("s").unwrap());
        session.tasks = vec![task("A", ExecMode::CsvWave), task("B", ExecMode::Interactive)];
        session.tasks[1].dependencies = vec![session.tasks[0].id.clone()];
        let graph = Graph::seal(&session.tasks).graph.unwrap();
        let policy = Policy { cadence: Cadence::Wave, ..Policy::default() };
        let rules = Run::new(&session.tasks, graph, policy).unwrap();
        let disk = SimDisk::new(seed, Lies::default());
        put(&disk, OWN, ORIGINAL, Durability::Durable).unwrap();
        Self { disk, session, rules, journal: 1 }
    }

    fn views(&self) -> Views<SimDisk> {
        let folder = || self.disk.clone();
        let folders = Folders {
            run: folder(),
            executor: folder(),
            interactive: folder(),
            agents: folder(),
            session: Some(folder()),
            discoveries: Some(folder()),
            tasks: None,
        };
        let (run, boot) = ("EX-s".to_owned(), "this".to_owned());
        Views::new(
            folders,
            About {
                run,
                dialect: Dialect::TasksJson,
                own: vec![OwnFile::of_session(OWN)],
                cadence: Cadence::Wave,
                boot,
            },
        )
    }

    /// A whole run; what cannot be written is said, and the run goes on.
    fn run(&mut self) -> Vec<String> {
        let mut views = self.views();
        let mut problems = views.begin(&mut self.session, &self.rules, self.journal);
        let at = |micros| Timestamp::from_micros(micros);
        problems.extend(self.step(&mut views, Input::Start { now: at(1) }));
        for task in 0..2 {
            let work = Work { task: TaskIndex(task), attempt: 1 };
            problems.extend(views.starts(&mut self.session, &self.rules, work.task));
            problems.extend(views.render(&mut self.session, &self.rules, self.journal, true));
            let outcome = Outcome::completed(Some(format!("found {task}")));
            let now = at(i64::from(task) + 2);
            problems.extend(self.step(&mut views, Input::Ended { now, ended: WorkEnded { work, outcome } }));
        }
        // What a power cut may take looks like what is at rest already.
        problems.extend(views.render(&mut self.session, &self.rules, self.journal, true));
        problems.extend(views.finish(&mut self.session, &self.rules, self.journal, SessionStatus::Completed, ""));
        problems
    }

    /// The next executor, which comes to a run that has only begun.
    fn next(self) -> Self {
        Self { disk: self.disk, ..Self::new(0) }
    }

    /// Who finds one of our own files to be an edit.
    fn edited(&self) -> Option<&'static str> {
        let views = self.views();
        let files = [(PagePlace::Run, TASKS), (PagePlace::Session, OWN)];
        let is_edited = |(place, name): &(PagePlace, &str)| {
            let bytes = views.bytes(*place, name);
            views.derived().standing(&place.key(name), bytes.as_deref()) == Standing::Edited
        };
        files.into_iter().find(is_edited).map(|(_, name)| name)
    }

    fn step(&mut self, views: &mut Views<SimDisk>, input: Input) -> Vec<String> {
        let Step { events, .. } = self.rules.step(input);
        self.journal += events.len() as u64;
        events.iter().flat_map(|event| views.changed(&self.session, &self.rules, event)).collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        let bytes = self.disk.read(name).ok().filter(|_| self.disk.kind(name) == Ok(Kind::File));
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[test]
fn a_run_leaves_the_same_files_whatever_happened_before() {
    let mut world = World::new(0);
    assert_eq!(world.run(), Vec::<String>::new());
    let names = world.disk.list().unwrap();
    let files = [
        "A.json",
        "B-result.json",
        "B.json",
        "context.md",
        "derived.json",
        "registry.json",
        "results.csv",
        "tasks.csv",
        OWN,
    ];
    assert_eq!(names, files, "and no table of a wave");
    let texts: Vec<_> = files.iter().map(|name| world.text(name)).collect();
    let mut again = World::new(1);
    again.run();
    assert_eq!(files.iter().map(|name| again.text(name)).collect::<Vec<_>>(), texts);
    assert!(world.text(OWN).unwrap().contains("\"mine\": 1") || world.text(OWN).unwrap().contains("\"mine\":1"));
}

/// R: W-05, W-10
#[test]
fn written_files_are_small_enough_and_no_edit() {
    let mut world = World::new(0);
    let mut views = world.views();
    views.most = 1_500;
    views.begin(&mut world.session, &world.rules, world.journal);
    world.step(&mut views, Input::Start { now: Timestamp::from_micros(1) });
    let work = Work { task: TaskIndex(0), attempt: 1 };
    let outcome = Outcome::completed(Some("x".repeat(3_000)));
    let ended = WorkEnded { work, outcome };
    world.step(&mut views, Input::Ended { now: Timestamp::from_micros(2), ended });
    let problems = views.finish(&mut world.session, &world.rules, world.journal, SessionStatus::Completed, "");
    assert_eq!(problems, Vec::<String>::new());
    for (place, name) in [(PagePlace::Run, TASKS), (PagePlace::Session, OWN)] {
        let text = world.text(name).unwrap();
        assert!(text.len() <= 1_500 && text.contains("xxx […] whole: team-executor task get"), "{name}: {text}");
        assert_eq!(views.derived().standing(&place.key(name), Some(text.as_bytes())), Standing::Unchanged, "{name}");
    }
    let table = views.tasks_text(&mut world.session, &world.rules);
    assert_eq!(world.text(TASKS), Some(table), "an edit is held against the same text");
    assert_eq!(world.session.tasks[0].findings.as_ref().map(String::len), Some(3_000));
}

#[test]
fn discovery_of_a_finished_task_is_corrected_at_the_end() {
    for forged in [None, Some(r#"{"task_id":"A","status":"failed","findings":"f"}"#)] {
        let mut world = World::new(0);
        world.run();
        let honest = world.text("A.json").unwrap();
        match forged {
            None => world.disk.remove("A.json").unwrap(),
            Some(text) => put(&world.disk, "A.json", text, Durability::Durable).unwrap(),
        }
        let told = world.views().put_right(&world.session, &world.rules);
        assert_eq!((world.text("A.json"), told.len()), (Some(honest), usize::from(forged.is_some())), "{told:?}");
    }
}

/// R: W-05
#[test]
fn disk_faults_leave_whole_files_and_no_false_edit() {
    let mut whole = World::new(0);
    whole.run();
    let operations = whole.disk.operations();
    for at in 0..operations {
        for damage in Damage::ALL {
            let mut world = World::new(at);
            world.disk.plan(Some(Strike { at, fault: Fault::CrashBefore, sticky: false }));
            world.run();
            world.disk.crash(damage);
            let views = world.views();
            for (place, name) in [(PagePlace::Run, TASKS), (PagePlace::Session, OWN)] {
                let text = world.text(name);
                let standing = views.derived().standing(&place.key(name), text.as_deref().map(str::as_bytes));
                let is_open = views.derived().boot.is_some();
                assert!(standing != Standing::Edited || damage != Damage::Kill && is_open, "{at} {damage:?} {name}");
            }
            let own = world.text(OWN).unwrap_or_default();
            assert!(
                own.contains("\"mine\"") && own.trim_end().ends_with('}'),
                "the user's file, {at} {damage:?}: {own}"
            );
            if damage != Damage::Kill {
                continue;
            }
            let table = world.text(TASKS).unwrap_or_default();
            assert!(table.is_empty() || table.ends_with('\n') && table.lines().count() == 3, "{at}: {table}");
            let mut next =
                World { session: World::new(0).session, rules: World::new(0).rules, journal: 1, disk: world.disk };
            assert_eq!(next.run(), Vec::<String>::new(), "{at}");
            for name in ["results.csv", "registry.json", OWN, TASKS] {
                assert_eq!(next.text(name), whole.text(name), "{at} {name}");
            }
        }
    }
}

/// R: W-05
#[test]
fn kills_leave_no_false_edit() {
    let mut whole = World::new(0);
    whole.run();
    let operations = whole.disk.operations();
    let killed = |mut world: World, at: u64| {
        let at = world.disk.operations() + at;
        world.disk.plan(Some(Strike { at, fault: Fault::CrashBefore, sticky: false }));
        world.run();
        world.disk.crash(Damage::Kill);
        world
    };
    for first in (0..operations).step_by(7) {
        for next in (0..operations / 2).step_by(2) {
            let mut world = killed(World::new(0), first);
            for _ in 0..2 {
                world = killed(world.next(), next);
                assert_eq!(world.edited(), None, "killed at {first}, then at {next}");
            }
        }
    }
}

/// R: W-05
#[test]
fn unremembered_file_is_not_written_and_no_edit() {
    for fault in [Fault::Full, Fault::Io] {
        for at in 0..30 {
            let mut world = World::new(0);
            let mut views = world.views();
            views.begin(&mut world.session, &world.rules, world.journal);
            views.render(&mut world.session, &world.rules, world.journal, true);
            world.step(&mut views, Input::Start { now: Timestamp::from_micros(1) });
            let at = world.disk.operations() + at;
            world.disk.plan(Some(Strike { at, fault, sticky: false }));
            views.render(&mut world.session, &world.rules, world.journal, true);
            world.disk.plan(None);
            assert_eq!(world.edited(), None, "{fault:?} at {at}");
        }
    }
}
