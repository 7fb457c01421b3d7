//! Who asks, if a worker does: the attempt that its environment names, held against the journal of its run. What a worker
//! says about itself in words or flags counts for nothing.

use std::path::{Path, PathBuf};

use team_executor_agents::environment::ATTEMPT;
use team_executor_core::{Graph, Session, Task};
use team_executor_files::load;
use team_executor_store::DiskFolder;
use team_executor_store::run_folder::AGENTS;

use super::Refusal;
use crate::{run_at, shell, status};

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
}

impl Attempt {
    /// The attempt that an environment names; nothing outside of a run.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Refusal> {
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
            agrees.then_some(Self { session, run: folder, task, number, key: key.clone() })
        };
        named().map(Some).ok_or_else(|| {
            Refusal::new(
                "the environment names no attempt: its TEAM_EXECUTOR_ variables contradict each other",
                "inside a worker leave them as they are; outside of one: unset TEAM_EXECUTOR_ATTEMPT",
            )
        })
    }

    /// The task that the attempt has at this moment, by the journal of its run.
    pub fn verified<'s>(&self, session: &'s Session, graph: &Graph) -> Result<&'s Task, Refusal> {
        let help = "a worker speaks for its own attempt only, and only while that goes on";
        let id = run_at::name_of(&self.run);
        let looked = status::look(session, graph, &id, &self.run);
        let (plan, rules) = looked.map_err(|failure| Refusal::new(failure.to_string(), help))?;
        let index = graph
            .index_of(&self.task)
            .filter(|_| plan.session == self.session && run_at::key(&id, plan.at, &self.task, self.number) == self.key);
        let is_at_work =
            index.is_some_and(|task| rules.at_work().any(|work| work.task == task && work.attempt == self.number));
        let task = index.filter(|_| is_at_work).and_then(|index| session.tasks.get(index.get()));
        task.ok_or_else(|| Refusal::new(format!("the attempt {} is not at work", self.key), help))
    }

    /// Reads the session that it is part of.
    pub fn open(&self) -> Result<(Session, Graph), Refusal> {
        let path = self.session.display();
        let folder = DiskFolder::open(&self.session)
            .map_err(|_| Refusal::new(format!("the session {path} cannot be opened"), "check the path with: ls -ld"))?;
        let loaded = load(&folder, &run_at::name_of(&self.session), None);
        loaded.session.filter(|_| !loaded.findings.has_errors()).ok_or_else(|| {
            let help = format!("see what is wrong with: team-executor validate {}", shell::session(path));
            Refusal::new("the session cannot be read", help)
        })
    }

    /// Why it cannot touch another task.
    pub fn not_its_own(&self, other: &str) -> Refusal {
        Refusal::new(
            format!("a worker can only update its own task '{}', not '{other}'", self.task),
            "tell whoever does it: team-executor msg log TEXT --to ROLE",
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
    use super::*;

    const TRUE: [(&str, &str); 5] = [
        ("SESSION", "/p/S"),
        ("RUN", "EX-s-1"),
        ("TASK", "a/b"),
        ("RESULT", "/p/EX-s-1/agents/x-c14cddc033f64b9d.2.result.json"),
        ("ATTEMPT", "EX-s-1~5f/a/b/2"),
    ];

    fn of(changed: &str, to: Option<&str>) -> Result<Option<Attempt>, Refusal> {
        Attempt::of(|name| {
            let name = name.strip_prefix("TEAM_EXECUTOR_")?;
            let told = TRUE.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            if name == changed { to } else { told }.map(str::to_owned)
        })
    }

    #[test]
    fn an_environment_names_an_attempt_or_none_and_nothing_in_between() {
        let attempt = of("", None).unwrap().unwrap();
        assert_eq!((attempt.task.as_str(), attempt.number), ("a/b", 2));
        assert_eq!(attempt.run, Path::new("/p/EX-s-1"));
        assert_eq!(attempt.result(), Path::new(TRUE[3].1));
        assert_eq!(of("ATTEMPT", None), Ok(None));
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
            assert!(of(name, Some(value)).is_err(), "{name}={value}");
        }
        assert!(of("SESSION", None).is_err());
    }
}
