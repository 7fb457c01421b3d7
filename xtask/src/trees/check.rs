//! What the refs of a run say of its commits: each is made once and stays, and begins with what it should.

use std::collections::BTreeMap;

use super::place::Place;
use crate::crash::scenario::Scenario;
use crate::shell::Outcome;

/// Every ref that was ever seen, with its commit.
#[derive(Debug, Default)]
pub(crate) struct Refs {
    known: BTreeMap<String, String>,
}

impl Refs {
    /// Looks while no executor lives: nothing that was there is gone, and what moves only grows.
    pub(crate) fn look(&mut self, place: &Place) -> Outcome {
        let now = place.refs()?;
        for (name, before) in &self.known {
            match now.get(name) {
                Some(after) if after == before => {}
                // The last test is not the work of a task.
                _ if name.ends_with("/testing") => {}
                Some(after) if name.ends_with("/trunk") || name.ends_with("/landed") => {
                    place
                        .git(&["merge-base", "--is-ancestor", before, after])
                        .map_err(|_| format!("{name} lost {before}"))?;
                }
                other => return Err(format!("{name} was {before} and is {other:?}")),
            }
        }
        self.known.extend(now);
        Ok(())
    }

    /// Judges a run that has finished: all objects are there, every attempt began with what the parents of its task did and nothing
    /// else, and the branch has each task once.
    pub(crate) fn judge(&self, place: &Place, scenario: &Scenario) -> Outcome {
        place.git(&["fsck", "--full", "--no-dangling", "--no-progress"])?;
        let of = |task: &str, part: &str| {
            let (middle, end) = (format!("/t/{task}/"), format!("/{part}"));
            let commits = self.known.iter().filter(move |(name, _)| name.contains(&middle) && name.ends_with(&end));
            commits.map(|(_, commit)| commit.as_str()).collect::<Vec<_>>()
        };
        for (nth, task) in scenario.tasks.iter().enumerate() {
            let wanted: Vec<String> = scenario.builds_on(nth).into_iter().map(str::to_owned).collect();
            for base in of(&task.id, "base") {
                let found = authors(place, base)?;
                if found != wanted {
                    return Err(format!("{} began with the work of {found:?}, and builds on {wanted:?}", task.id));
                }
            }
            let [result] = of(&task.id, "result")[..] else { return Err(format!("{} has not one result", task.id)) };
            for dep in &task.deps {
                let of_dep = of(&scenario.tasks[*dep].id, "result");
                let is_in = of_dep.iter().all(|dep| place.git(&["merge-base", "--is-ancestor", dep, result]).is_ok());
                if !is_in {
                    return Err(format!("{} does not build on {of_dep:?}", task.id));
                }
            }
        }
        let all: Vec<&str> = scenario.tasks.iter().map(|task| task.id.as_str()).collect();
        for branch in ["refs/heads/te", "refs/team-executor/*/trunk"] {
            let commit = place.git(&["for-each-ref", "--format=%(objectname)", branch])?;
            let found = authors(place, commit.trim())?;
            if found != all {
                return Err(format!("{branch} has the work of {found:?}"));
            }
        }
        Ok(())
    }
}

/// Which tasks have work in a commit, one entry for each commit of theirs.
fn authors(place: &Place, commit: &str) -> Outcome<Vec<String>> {
    let log = place.git(&["log", "--no-merges", "--format=%(trailers:key=Task,valueonly)", commit])?;
    let mut tasks: Vec<String> = log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    tasks.sort();
    Ok(tasks)
}
