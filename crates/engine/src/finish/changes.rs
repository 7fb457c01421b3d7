//! What is exported of the changes that tasks made in trees of their own: a patch of each, one of all that is merged, and a bundle with
//! all commits. They are made in a folder of ours, and copied from there as everything is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use team_executor_beneath::{io_error, open_ours};
use team_executor_store::run_folder::{EXECUTOR, component};
use team_executor_store::{Durability, replace};
use team_executor_trees::{Mark, Place, Repository, Trouble};

use crate::begin::run_at::{name_of, open_folder};
use crate::options::Failure;
use crate::runs;

/// In the executor's folder: what is about to be exported.
const MADE: &str = "export";
const BUNDLE: &str = "changes.bundle";
const TOGETHER: &str = "changes.patch";
const PATCHES: &str = "patches";

/// Makes what is exported of the changes of a run: where it comes to stand, and where it is. Nothing if no task has trees.
pub(super) fn make(
    (session, run): (&Path, &Path),
    to: &Path,
    environment: &[(String, String)],
) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let Some(mark) = Mark::read(run) else { return Ok(BTreeMap::new()) };
    let failed =
        |trouble: Trouble| Failure::disk("export the changes of", run)(std::io::Error::other(trouble.to_string()));
    let project = run.ancestors().nth(3).unwrap_or(run);
    let repository = Repository::find(project, environment).map_err(failed)?;
    let Some(all) = repository.overview(&name_of(run), &mark.key).map_err(failed)? else { return Ok(BTreeMap::new()) };
    let tasks = runs::tasks_of(run, session).map(|(session, _)| session.tasks).unwrap_or_default();
    let mut patches = vec![(TOGETHER.to_owned(), all.base.clone(), all.trunk.clone())];
    for task in &tasks {
        let change = all.of_task(task.id.as_str()).filter(|change| change.place != Place::Left);
        patches.extend(change.map(|change| {
            let name = format!("{PATCHES}/{}.patch", component(task.id.as_str()));
            (name, change.base.clone(), change.commit.clone())
        }));
    }
    let folder = run.join(EXECUTOR).join(MADE);
    clear(run)?;
    let made = open_folder(&run.join(EXECUTOR))?.subfolder(MADE);
    let made = made.map_err(|errno| Failure::disk("make", &folder)(io_error(errno)))?;
    let mut files = BTreeMap::new();
    for (name, from, to) in patches.into_iter().filter(|(_, from, to)| from != to) {
        let text = repository.patch_between(&from, &to).map_err(failed)?;
        let own = name.replace('/', "-");
        let written = replace(&made, &own, &text, Durability::Rendered);
        written.map_err(|error| Failure::disk("write", &folder)(std::io::Error::other(error.to_string())))?;
        files.insert(name, folder.join(own));
    }
    if !files.is_empty() {
        // Git may pack the same commits in other ways: a bundle that is there and has them stays.
        let there = to.join(BUNDLE);
        let path = folder.join(BUNDLE);
        let is_there = repository.is_bundled(&mark.key, &there).map_err(failed)?;
        if !is_there {
            repository.bundle(&mark.key, &path).map_err(failed)?;
        }
        files.insert(BUNDLE.to_owned(), if is_there { there } else { path });
    }
    Ok(files)
}

/// Removes what was made to be exported.
pub(super) fn clear(run: &Path) -> Result<(), Failure> {
    let executor = run.join(EXECUTOR);
    let open = open_ours(&executor).map_err(Failure::disk("open", &executor))?;
    if open.has_dir(MADE) {
        open.remove_all(MADE).map_err(|errno| Failure::disk("empty", &executor.join(MADE))(io_error(errno)))?;
    }
    Ok(())
}
