//! A session by chance, and the worker that does its tasks: it writes down when it begins and ends in a log that is not
//! the program's.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::chance::Chance;
use crate::shell::Outcome;

/// Where the session is, below the folder of a run.
const SESSION: &str = ".workflow/.team/crash";
/// A file that makes long workers short.
pub(crate) const HURRY: &str = "hurry";

/// A session and how it is run.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// Each task with those that it waits for, which come before it.
    pub(crate) tasks: Vec<Task>,
    slots: u64,
    wave: bool,
    csv: bool,
    /// Each task has a tree of its own, in which it changes a file that all share and makes one of its own.
    trees: bool,
}

/// A task and what its worker does.
#[derive(Debug, Default)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) deps: Vec<usize>,
    nap_ms: u64,
    /// The first attempt that gets that far fails.
    fails: bool,
    leaves: Leaves,
    /// It goes on for long, unless [`HURRY`] is there.
    is_long: bool,
    /// It hands in its result, and from then on ends with 0 whatever happens.
    pub(crate) reports: bool,
    /// It leaves a file in its folder.
    delivers: bool,
}

/// What a worker leaves behind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    #[default]
    Nothing,
    /// A process without parents that would go on for long.
    Daemon,
    /// One that does not end when it is asked.
    StubbornDaemon,
}

impl Scenario {
    /// One with this many tasks.
    pub(crate) fn random(chance: &mut Chance, count: usize) -> Self {
        let most_deps = chance.below(4);
        let failing = chance.once_in(4).then(|| chance.index(count));
        let task = |index: usize| {
            let mut deps: Vec<usize> = (0..chance.below(most_deps + 1)).map(|_| chance.index(index)).collect();
            deps.retain(|dep| *dep < index);
            deps.sort_unstable();
            deps.dedup();
            let leaves = match chance.below(64) {
                0 => Leaves::StubbornDaemon,
                1..=16 => Leaves::Daemon,
                _ => Leaves::Nothing,
            };
            let (id, fails) = (format!("T-{index:03}"), failing == Some(index));
            Task { id, deps, nap_ms: chance.below(40), fails, leaves, ..Task::default() }
        };
        let tasks = (0..count).map(task).collect();
        let (slots, wave, csv) = (chance.below(6) + 1, chance.once_in(2), chance.once_in(2));
        Self { tasks, slots, wave, csv, trees: false }
    }

    /// One whose workers leave nothing behind: most are short, some go on until they are stopped, and every second one hands in
    /// a result.
    pub(crate) fn stopped(chance: &mut Chance, count: usize) -> Self {
        let task = |index: usize| Task {
            id: format!("T-{index:03}"),
            deps: if chance.once_in(2) { index.checked_sub(2).into_iter().collect() } else { Vec::new() },
            nap_ms: chance.below(30),
            is_long: chance.once_in(5),
            reports: chance.once_in(2),
            ..Task::default()
        };
        let tasks = (0..count).map(task).collect();
        Self { tasks, slots: chance.below(3) + 1, wave: chance.once_in(4), csv: chance.once_in(2), trees: false }
    }

    /// One in which every task waits for the one before it or the one before that, and nothing is left to chance.
    pub(crate) fn plain(count: usize) -> Self {
        let task = |index: usize| Task {
            id: format!("T-{index:03}"),
            deps: index.checked_sub(1 + index % 2).into_iter().collect(),
            reports: index.is_multiple_of(2),
            delivers: index.is_multiple_of(3),
            ..Task::default()
        };
        Self { tasks: (0..count).map(task).collect(), slots: 2, wave: false, csv: true, trees: false }
    }

    /// One whose tasks have trees of their own.
    pub(crate) fn in_trees(chance: &mut Chance, count: usize) -> Self {
        let mut scenario = Self::random(chance, count);
        scenario.tasks.iter_mut().for_each(|task| task.leaves = Leaves::Nothing);
        Self { slots: chance.below(3) + 1, trees: true, ..scenario }
    }

    /// All tasks that a task builds on, also by way of others, in their order.
    pub(crate) fn builds_on(&self, task: usize) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut next = self.tasks[task].deps.clone();
        while let Some(dep) = next.pop() {
            if found.insert(self.tasks[dep].id.as_str()) {
                next.extend(&self.tasks[dep].deps);
            }
        }
        found
    }

    /// Writes the session and the worker.
    pub(crate) fn write(&self, dir: &Path) -> Outcome {
        let session = dir.join(SESSION);
        let text = |error: std::io::Error| format!("{}: {error}", dir.display());
        fs::create_dir_all(&session).map_err(text)?;
        let (name, content) = if self.csv { ("tasks.csv", self.csv()) } else { ("tasks.json", self.json()) };
        fs::write(session.join(name), content).map_err(text)?;
        fs::write(dir.join("log"), "").map_err(text)?;
        fs::write(dir.join("worker.sh"), self.worker(dir)).map_err(text)
    }

    /// What the program is started with.
    pub(crate) fn arguments(&self, dir: &Path) -> Vec<String> {
        let mut arguments = vec![
            session(dir),
            "-y".to_owned(),
            format!("-c{}", self.slots),
            "--agent-command".to_owned(),
            format!("/bin/sh {}", dir.join("worker.sh").display()),
        ];
        if self.wave {
            arguments.extend(["--cadence", "wave"].map(str::to_owned));
        }
        if self.trees {
            arguments.push("--trust-project".to_owned());
        }
        arguments
    }

    fn deps<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a str> {
        task.deps.iter().map(|dep| self.tasks[*dep].id.as_str())
    }

    fn csv(&self) -> String {
        let mut text = "id,title,role,deps\n".to_owned();
        for task in &self.tasks {
            let deps: Vec<_> = self.deps(task).collect();
            writeln!(text, "{0},Task {0},worker,{1}", task.id, deps.join(";")).ok();
        }
        text
    }

    fn json(&self) -> String {
        let tasks = self.tasks.iter().map(|task| {
            let deps: Vec<_> = self.deps(task).map(|dep| format!("\"{dep}\"")).collect();
            format!("\"{0}\":{{\"title\":\"Task {0}\",\"role\":\"worker\",\"deps\":[{1}]}}", task.id, deps.join(","))
        });
        format!("{{\"session_id\":\"crash\",\"tasks\":{{{}}}}}\n", tasks.collect::<Vec<_>>().join(",\n"))
    }

    /// A line of the log is `TASK ATTEMPT WORD`; each is one write to the end of the file.
    fn worker(&self, dir: &Path) -> String {
        let dir = dir.display();
        let mut text = format!("say() {{ echo \"$TEAM_EXECUTOR_TASK $TEAM_EXECUTOR_ATTEMPT $1\" >>'{dir}/log'; }}\n");
        // It ends by itself some time, if no one ends it.
        text.push_str("haunt() { for _ in 1 2 3 4 5 6 7 8 9; do say tick; sleep 0.5; done; }\n");
        text.push_str("say start\n");
        if self.trees {
            // Half of its work is there before it takes its time, so that one that is cut off leaves something.
            text.push_str("saw=$(ls own | tr '\\n' ' ')\nsed -i \"s/^$TEAM_EXECUTOR_TASK open/$TEAM_EXECUTOR_TASK done/\" shared.txt\n");
        }
        text.push_str("case $TEAM_EXECUTOR_TASK in\n");
        for task in &self.tasks {
            write!(text, "{}) :;", task.id).ok();
            match task.leaves {
                Leaves::Nothing => {}
                Leaves::Daemon => text.push_str(" (haunt >/dev/null 2>&1 &);"),
                Leaves::StubbornDaemon => text.push_str(" (trap '' TERM; haunt >/dev/null 2>&1 &);"),
            }
            if task.is_long {
                write!(text, " [ -e '{dir}/{HURRY}' ] || sleep 60;").ok();
            }
            if task.nap_ms > 0 {
                write!(text, " sleep 0.{:03};", task.nap_ms).ok();
            }
            if task.fails {
                write!(text, " if mkdir '{dir}/failed' 2>/dev/null; then say fail; exit 1; fi;").ok();
            }
            if task.reports {
                text.push_str(" trap '' TERM; echo '{\"status\":\"completed\",\"findings\":\"done\"}' >\"$TEAM_EXECUTOR_RESULT\";");
            }
            if task.delivers {
                text.push_str(" echo text >\"$TEAM_EXECUTOR_ARTIFACTS/a.md\";");
            }
            text.push_str(";\n");
        }
        text.push_str("esac\n");
        if self.trees {
            text.push_str("echo \"saw: $saw\" > own/$TEAM_EXECUTOR_TASK\n");
        }
        text.push_str("say end\necho done\n");
        text
    }
}

/// The argument that names the session of a run.
pub(crate) fn session(dir: &Path) -> String {
    format!("--session={}", dir.join(SESSION).display())
}

/// The folder that holds the runs of a session.
pub(crate) fn runs(dir: &Path) -> PathBuf {
    dir.join(".workflow/.csv-wave")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_waits_only_for_tasks_before_it() {
        for seed in 0..50 {
            let scenario = Scenario::random(&mut Chance::new(seed), 12);
            assert_eq!(scenario.tasks.len(), 12);
            assert!(scenario.tasks.iter().enumerate().all(|(index, task)| task.deps.iter().all(|dep| *dep < index)));
            assert!((1..=6).contains(&scenario.slots));
        }
    }
}
