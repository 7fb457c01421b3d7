//! Who asks, if a worker does: the attempt that its environment names, held against the journal of its run. What a worker
//! says about itself in words or flags counts for nothing.

use std::path::{Path, PathBuf};

use team_executor_agents::callers::{self, Caller};
use team_executor_agents::environment::ATTEMPT;
use team_executor_agents::token::TOKEN;
use team_executor_core::{Graph, Session, Task};
use team_executor_files::load_tasks;
use team_executor_store::run_folder::{AGENTS, EXECUTOR, JOURNAL, folder_name};
use team_executor_store::{DiskFolder, glance, records};

use super::Refusal;
use crate::begin::plan::Plan;
use crate::begin::run_at;
use crate::{control, shell};

/// An attempt at a task, as the environment of a worker names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The session's folder.
    pub session: PathBuf,
    /// The run's folder.
    pub run: PathBuf,
    /// The task's id.
    pub task: String,
    /// Which attempt at it, from 1.
    pub number: u32,
    /// Names the attempt for ever.
    pub key: String,
    /// The secret of the attempt, if the environment has it.
    pub token: Option<String>,
}

impl Attempt {
    /// The attempt that an environment names; nothing outside of a run.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Refusal> {
        let Some(key) = variable(ATTEMPT) else { return Ok(None) };
        let ours = |name: &str| variable(&format!("TEAM_EXECUTOR_{name}"));
        let named = || {
            let (run, task, result) = (ours("RUN")?, ours("TASK")?, PathBuf::from(ours("RESULT")?));
            let (begun, number) = key.strip_prefix(&format!("{run}~"))?.rsplit_once('/')?;
            let number = number.parse().ok()?;
            let folder = result.parent()?.parent()?.to_owned();
            let agrees = begun.split_once('/')?.1 == task
                && run_at::name_of(&folder) == run
                && result == path(&folder, &task, number);
            let session = PathBuf::from(ours("SESSION")?);
            let token = variable(TOKEN);
            agrees.then_some(Self { session, run: folder, task, number, key: key.clone(), token })
        };
        named().map(Some).ok_or_else(|| {
            Refusal::new(
                "the environment names no attempt: its TEAM_EXECUTOR_ variables contradict each other",
                "inside a worker leave them as they are; outside of one: unset TEAM_EXECUTOR_ATTEMPT",
            )
        })
    }

    /// The task that the attempt has at this moment, by the ends of the journal of its run: the whole of it may be long, and
    /// this is asked at each call.
    pub fn verified<'s>(&self, session: &'s Session, graph: &Graph) -> Result<&'s Task, Refusal> {
        let help = "a worker may only report for its own running attempt";
        let id = run_at::name_of(&self.run);
        let journal = self.run.join(EXECUTOR).join(JOURNAL);
        let unreadable = |error: std::io::Error| Refusal::new(format!("{}: {error}", journal.display()), help);
        let first = glance::first(&journal).map_err(unreadable)?;
        let plan = first.and_then(|record| Plan::of_run(&record, &self.run));
        let plan = plan.filter(|plan| plan.session == self.session && run_at::is_of(&self.run, session));
        let is_own = plan.is_some_and(|plan| run_at::key(&id, plan.at, &self.task, self.number) == self.key);
        let last = glance::last(&journal, records::at_work(&self.task, self.number)).map_err(unreadable)?;
        let index = graph.index_of(&self.task).filter(|_| is_own && last == Some(true));
        let task = index
            .and_then(|index| session.tasks.get(index.get()))
            .ok_or_else(|| Refusal::new(format!("attempt {} is not running", self.key), help))?;
        self.must_be_callers()?;
        Ok(task)
    }

    /// Refuses a process that belongs to the worker of another attempt, whatever its environment says. One that belongs to
    /// none, for instance in a container, must know the secret.
    fn must_be_callers(&self) -> Result<(), Refusal> {
        let ledgers = control::ledgers(&self.run);
        let is_own = match control::called_by(&self.run) {
            Caller::Worker(attempt) => attempt.as_ref() == Some(&self.key),
            Caller::Outside | Caller::Unknown => {
                self.token.as_ref().is_some_and(|token| callers::is_token(&ledgers, &self.key, token))
            }
        };
        if is_own {
            return Ok(());
        }
        Err(Refusal::new(
            format!("this process does not belong to the worker of {}", self.key),
            "a worker may only report for its own running attempt; leave its TEAM_EXECUTOR_ variables as they are",
        ))
    }

    /// Reads the tasks of the session that it is part of.
    pub fn open(&self) -> Result<(Session, Graph), Refusal> {
        let path = self.session.display();
        let folder = DiskFolder::open(&self.session)
            .map_err(|_| Refusal::new(format!("the session {path} cannot be opened"), "check the path with: ls -ld"))?;
        let loaded = load_tasks(&folder, &folder_name(&self.session), None);
        loaded.session.filter(|_| !loaded.findings.has_errors()).ok_or_else(|| {
            let help = format!("see what is wrong with: team-executor validate {}", shell::session(path));
            Refusal::new("the session cannot be read", help)
        })
    }

    /// Why it cannot touch another task.
    pub fn not_its_own(&self, other: &str) -> Refusal {
        Refusal::new(
            format!("a worker can only update its own task '{}', not '{other}'", self.task),
            "send its role a message: team-executor msg log TEXT --to ROLE",
        )
    }

    /// Where its result is.
    pub fn result(&self) -> PathBuf {
        path(&self.run, &self.task, self.number)
    }
}

fn path(run: &Path, task: &str, attempt: u32) -> PathBuf {
    run.join(AGENTS).join(run_at::result_name(task, attempt))
}

#[cfg(test)]
mod tests {
    use team_executor_agents::ledger::Entry;
    use team_executor_agents::token::proof;
    use team_executor_core::run::{Cadence, Event, Then, Work};
    use team_executor_core::{RoleName, SessionId, TaskId, TaskIndex, Timestamp};
    use team_executor_store::{Disk as _, Journal, RealDisk};

    use super::*;
    use crate::begin::plan::digest;

    const TRUE: [(&str, &str); 5] = [
        ("SESSION", "/p/S"),
        ("RUN", "EX-s-1"),
        ("TASK", "a/b"),
        ("RESULT", "/p/EX-s-1/agents/x-c14cddc033f64b9d.2.result.json"),
        ("ATTEMPT", "EX-s-1~5f/a/b/2"),
    ];

    fn with(changed: &str, to: Option<&str>) -> Result<Option<Attempt>, Refusal> {
        Attempt::from_environment(|name| {
            let name = name.strip_prefix("TEAM_EXECUTOR_")?;
            let told = TRUE.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            if name == changed { to } else { told }.map(str::to_owned)
        })
    }

    #[test]
    fn environment_names_one_attempt_or_none() {
        let attempt = with("", None).unwrap().unwrap();
        assert_eq!((attempt.task.as_str(), attempt.number), ("a/b", 2));
        assert_eq!(attempt.run, Path::new("/p/EX-s-1"));
        assert_eq!(attempt.result(), Path::new(TRUE[3].1));
        assert_eq!(with("ATTEMPT", None), Ok(None));
        for (name, value) in [
            ("TASK", "other"),
            ("RUN", "EX-s-2"),
            ("RESULT", "/p/EX-s-1/agents/other.2.result.json"),
            ("RESULT", "/etc/passwd"),
            ("RESULT", ""),
            ("ATTEMPT", "EX-s-1~5f/a/b/3"),
            ("ATTEMPT", "EX-s-1~5f/a/b/x"),
            ("ATTEMPT", ""),
        ] {
            assert!(with(name, Some(value)).is_err(), "{name}={value}");
        }
        assert!(with("SESSION", None).is_err());
    }

    /// A call costs the same however long the journal is: what stands between its ends is not read.
    #[test]
    fn only_the_running_attempt_is_heard() {
        let dir = tempfile::tempdir().unwrap();
        let (run, place) = (dir.path().join(".workflow/.csv-wave/EX-1"), dir.path().join("S"));
        std::fs::create_dir_all(run.join(EXECUTOR)).unwrap();
        let mut session = Session::new(SessionId::parse("s").unwrap());
        session.tasks =
            ["A", "B"].map(|id| Task::new(TaskId::parse(id).unwrap(), RoleName::parse("r").unwrap())).into();
        let graph = Graph::seal(&session.tasks).graph.unwrap();
        let at = Timestamp::from_micros(5);
        let (cadence, digest) = (Cadence::Beat, digest(&session, 2));
        let plan = Plan {
            session: place.clone(),
            digest,
            cadence,
            waves: team_executor_core::run::KeptWaves::Computed,
            planned: None,
            seed: 1,
            rounds: 0,
            tasks: Some(2),
            over: vec![],
            at,
            amended: records::Amended::default(),
        };
        let plan = plan.write();
        let work = Work { task: TaskIndex(0), attempt: 2 };
        let record = |event: &Event| records::write(event, |task| ["A", "B"][task.get()]);
        let claimed = record(&Event::Claimed { work, slot: 0, fast_advance: false, choice: 0, at });
        let ended = record(&Event::Interrupted { work, then: Then::Over, at });
        // No caller is below a keeper here, so the secret decides.
        let secret = std::cell::Cell::new("secret");
        let key = run_at::key("EX-1", at, "A", 2);
        let (proof, cgroup, folder) = (Some(proof("secret")), None, None);
        let started = Entry::Started { key, keeper: 1, cgroup, folder, proof }.line().unwrap();
        std::fs::create_dir(control::ledgers(&run)).unwrap();
        std::fs::write(control::ledgers(&run).join("1-0"), started).unwrap();
        let journal = |all: &[&str]| {
            let lines = all.iter().map(|record| line(record)).collect::<Vec<_>>();
            std::fs::write(run.join(EXECUTOR).join(JOURNAL), lines.join(&b"no line\n".repeat(20_000)[..])).unwrap();
        };
        let verified = |task: &str, number: u32, begun: i64, session: &Session| {
            let key = run_at::key("EX-1", Timestamp::from_micros(begun), task, number);
            let (task, token) = (task.to_owned(), Some(secret.get().to_owned()));
            let attempt = Attempt { session: place.clone(), run: run.clone(), task, number, key, token };
            attempt.verified(session, &graph).map(|task| task.id.to_string()).ok()
        };
        journal(&[&plan]);
        assert_eq!(verified("A", 2, 5, &session), None, "it has not begun");
        journal(&[&plan, &claimed, "{}"]);
        assert_eq!(verified("A", 2, 5, &session).as_deref(), Some("A"));
        for (task, number, begun) in [("A", 1, 5), ("A", 3, 5), ("B", 2, 5), ("C", 2, 5), ("A", 2, 6)] {
            assert_eq!(verified(task, number, begun, &session), None, "{task} {number} {begun}");
        }
        for other in ["", "secret2", "Secret"] {
            secret.set(other);
            assert_eq!(verified("A", 2, 5, &session), None, "{other:?} is not its secret");
        }
        secret.set("secret");
        let others = Session { tasks: session.tasks[..1].to_vec(), ..session.clone() };
        assert_eq!(verified("A", 2, 5, &others), None, "the session has other tasks");
        journal(&[&plan, &claimed, &ended, "{}"]);
        assert_eq!(verified("A", 2, 5, &session), None, "it is over");
    }

    fn line(record: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::open_folder(dir.path()).unwrap();
        let mut journal = Journal::create(&disk, JOURNAL).unwrap();
        journal.append(record).and_then(|_| journal.commit()).unwrap();
        disk.read(JOURNAL).unwrap()
    }
}
