//! Checks a run from outside: by what its workers wrote down, by its journal, by the ends of its attempts, and by the files
//! that people read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use team_executor_agents::ledger::{self, Entry};
use team_executor_agents::{Ended, Exit};

use super::read;
use super::scenario::{Scenario, runs};
use crate::shell::Outcome;

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct Witness<'a> {
    dir: &'a Path,
    scenario: &'a Scenario,
    /// Tasks whose completion was durable, with the number of lines that the log had then.
    durable: BTreeMap<String, usize>,
    /// The attempts of each task that ended by themselves with code 0.
    ended_well: Ends,
}

/// Attempts by task.
type Ends = BTreeMap<String, BTreeSet<String>>;

/// A line of the log.
struct Line<'l> {
    task: &'l str,
    attempt: &'l str,
    word: &'l str,
}

impl<'a> Witness<'a> {
    /// Of a run that has not begun.
    pub(crate) const fn new(dir: &'a Path, scenario: &'a Scenario) -> Self {
        Self { dir, scenario, durable: BTreeMap::new(), ended_well: Ends::new() }
    }

    /// Notes what is durable now that no executor lives.
    pub(crate) fn look(&mut self) -> Outcome {
        let mut done = BTreeSet::new();
        for run in self.runs() {
            // Uncommitted records of a killed executor may be torn.
            done.extend(journal(&run, true)?.completed.into_iter().map(|(task, _)| task));
            ended_well(&run, &mut self.ended_well)?;
        }
        done.extend(self.ended_well.keys().cloned());
        let lines = read(&self.dir.join("log"))?.lines().count();
        for task in done {
            self.durable.entry(task).or_insert(lines);
        }
        Ok(())
    }

    /// Judges a run that has finished. Says how many workers there were.
    pub(crate) fn judge(&self) -> Outcome<usize> {
        let runs = self.runs();
        let [run] = runs.as_slice() else { return Err(format!("there is not one run but {runs:?}")) };
        let log = read(&self.dir.join("log"))?;
        let lines = self.lines(&log)?;
        self.order(&lines)?;
        self.once(&lines, run)?;
        for name in ["tasks.csv", "results.csv"] {
            self.table(&run.join(name))?;
        }
        if let Some(left) = self.files()?.into_keys().find(|path| is_temporary(path)) {
            return Err(format!("{} is left", left.display()));
        }
        Ok(lines.iter().filter(|line| line.word == "start").count())
    }

    /// All files and what is in them, but for what this program writes itself and what says who holds a lock.
    pub(crate) fn files(&self) -> Outcome<BTreeMap<PathBuf, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.dir.join(".workflow")];
        while let Some(folder) = folders.pop() {
            let text = |error: std::io::Error| format!("{}: {error}", folder.display());
            for entry in fs::read_dir(&folder).map_err(text)? {
                let path = entry.map_err(text)?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if !["lock", ".lock"].iter().any(|name| path.ends_with(name)) {
                    let bytes = fs::read(&path).map_err(text)?;
                    files.insert(path, bytes);
                }
            }
        }
        let log = self.dir.join("log");
        files.insert(log.clone(), read(&log)?.into_bytes());
        Ok(files)
    }

    fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(runs(self.dir)).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
    }

    fn lines<'l>(&self, log: &'l str) -> Outcome<Vec<Line<'l>>> {
        let line = |line: &'l str| {
            let mut words = line.split(' ');
            let found = Line { task: words.next()?, attempt: words.next()?, word: words.next()? };
            (words.next().is_none() && self.scenario.tasks.iter().any(|task| task.id == found.task)).then_some(found)
        };
        log.lines().map(|text| line(text).ok_or_else(|| format!("the log has the line `{text}`"))).collect()
    }

    /// One worker per task at a time, and none before what it waits for.
    fn order(&self, lines: &[Line<'_>]) -> Outcome {
        let mut latest: BTreeMap<&str, &str> = BTreeMap::new();
        let mut begun = BTreeSet::new();
        let mut ended = BTreeSet::new();
        for (number, Line { task, attempt, word }) in (1..).zip(lines) {
            let failed = |what: String| Err(format!("line {number} of the log: {task} {attempt} {word}: {what}"));
            match *word {
                "start" => {
                    if !begun.insert(*attempt) {
                        return failed("this attempt was begun before".to_owned());
                    }
                    latest.insert(task, attempt);
                    let index = self.scenario.tasks.iter().position(|known| known.id == *task).unwrap_or_default();
                    let deps = &self.scenario.tasks[index].deps;
                    let missing = deps.iter().find(|dep| !ended.contains(self.scenario.tasks[**dep].id.as_str()));
                    if let Some(missing) = missing {
                        return failed(format!("{} has not ended", self.scenario.tasks[*missing].id));
                    }
                }
                _ if latest.get(task) != Some(attempt) => {
                    return failed(format!("{:?} was begun in the meantime", latest.get(task)));
                }
                "end" => drop(ended.insert(*task)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Each task was completed once, by its last worker, and none was begun after that was durable.
    fn once(&self, lines: &[Line<'_>], run: &Path) -> Outcome {
        let completed = journal(run, false)?.completed;
        let mut ended = self.ended_well.clone();
        ended_well(run, &mut ended)?;
        for task in &self.scenario.tasks {
            let id = task.id.as_str();
            let records: Vec<_> = completed.iter().filter(|(task, _)| task == id).collect();
            let [(_, attempt)] = records[..] else {
                return Err(format!("{id} was completed {} times by the journal", records.len()));
            };
            let last = lines.iter().rfind(|line| line.task == id && line.word == "start").map(|line| line.attempt);
            if !last.is_some_and(|last| last.ends_with(&format!("/{attempt}"))) {
                return Err(format!("{id} was completed by attempt {attempt}, and was begun last by {last:?}"));
            }
            // A ledger may have been written to and read after we looked; but what we saw is the last attempt.
            if let Some(other) = ended.get(id).into_iter().flatten().find(|key| Some(key.as_str()) != last) {
                return Err(format!("{id} ended well by {other}, and was begun last by {last:?}"));
            }
            if let Some(durable) = self.durable.get(id)
                && lines[*durable..].iter().any(|line| line.task == id && line.word == "start")
            {
                return Err(format!("{id} was complete when the log had {durable} lines, and begun again"));
            }
        }
        Ok(())
    }

    /// A table of all tasks, all completed.
    fn table(&self, path: &Path) -> Outcome {
        let failed = |what: &str| format!("{}: {what}", path.display());
        let mut reader = csv::Reader::from_path(path).map_err(|error| failed(&error.to_string()))?;
        let names = reader.headers().map_err(|error| failed(&error.to_string()))?.clone();
        let at = |name: &str| names.iter().position(|known| known == name).ok_or_else(|| failed(&format!("no {name}")));
        let (id, status) = (at("id")?, at("status")?);
        let mut found = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| failed(&error.to_string()))?;
            if &record[status] != "completed" {
                return Err(failed(&format!("{} is {}", &record[id], &record[status])));
            }
            found.push(record[id].to_owned());
        }
        found.sort_unstable();
        let all = found.iter().eq(self.scenario.tasks.iter().map(|task| &task.id));
        if all { Ok(()) } else { Err(failed(&format!("it has the tasks {found:?}"))) }
    }
}

/// What a journal says.
#[derive(Default)]
struct Told {
    /// A task and its attempt for each record of its completion.
    completed: Vec<(String, u64)>,
}

fn journal(run: &Path, may_be_torn: bool) -> Outcome<Told> {
    let path = run.join(".executor/journal");
    let failed = |what: String| format!("{}: {what}", path.display());
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(_) if may_be_torn => return Ok(Told::default()),
        Err(error) => return Err(failed(error.to_string())),
    };
    let recovered = team_executor_store::recover(&bytes).map_err(|damage| failed(damage.to_string()))?;
    if recovered.tail.is_some() && !may_be_torn {
        return Err(failed("its end is torn".to_owned()));
    }
    let mut told = Told::default();
    for record in recovered.records {
        let record: Value = serde_json::from_slice(&bytes[record.json]).map_err(|error| failed(error.to_string()))?;
        if record["type"] == "completed" {
            let attempt = record["attempt"].as_u64().unwrap_or_default();
            told.completed.push((record["task"].as_str().unwrap_or_default().to_owned(), attempt));
        }
    }
    Ok(told)
}

/// Adds what the ledgers of keepers say now; a line that was not finished does not count.
fn ended_well(run: &Path, found: &mut Ends) -> Outcome {
    for entry in fs::read_dir(run.join(".executor/keepers")).into_iter().flatten() {
        let path = entry.map_err(|error| error.to_string())?.path();
        let ledger = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in ledger::entries(&ledger) {
            if let Entry::Exited(exit) | Entry::Ended(exit) = entry
                && let Exit { key, ended: Ended::Exit(0), .. } = exit
                // Commands that check an attempt have longer keys.
                && let [_, task, _] = key.split('/').collect::<Vec<_>>()[..]
            {
                found.entry(task.to_owned()).or_default().insert(key.clone());
            }
        }
    }
    Ok(())
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tmp"))
}
