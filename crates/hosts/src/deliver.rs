//! What an attempt on a host handed in, put where a worker on this machine would have put it: its logs, its result, what it
//! delivered. A host names paths, so only those that belong to the attempt count.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use team_executor_beneath::{How, io_error, make_ours, open_file, open_ours};

use crate::link::{Link, Trouble};
use crate::log_tail::Piece;
use crate::parcel::{self, Parcel};
use crate::record::Given;
use crate::wire::{End, LOGS, subject};

/// In the executor's folder of a run: files that are arriving.
const ARRIVING: &str = "arriving";

/// The leader's places.
#[derive(Debug, Clone)]
pub(crate) struct Here {
    pub(crate) project: PathBuf,
    /// The executor's folder of the run.
    pub(crate) executor: PathBuf,
    /// The run, by its name on all machines.
    pub(crate) run: String,
}

/// Adds a piece to a log, as far as it is new.
pub(crate) fn append(here: &Here, given: &Given, piece: &Piece<'_>) -> io::Result<()> {
    let path = here.project.join(&given.logs[piece.stream]);
    let length =
        team_executor_beneath::ours::look_at(&path).map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0));
    let Some(new) = piece.behind(length) else { return Ok(()) };
    if let Some(folder) = path.parent() {
        make_ours(folder)?;
    }
    open_file(&path, How::Append)?.write_all(new)
}

/// Everything that came of an attempt, put in its place; what people should know of that.
pub(crate) async fn deliver(link: &Link, here: &Here, given: &Given, end: &End) -> Result<Vec<String>, Trouble> {
    let mut problems = logs(link, here, given, end).await?;
    let (ours, others): (Vec<_>, Vec<_>) = end.files.files.iter().cloned().partition(|item| belongs(given, &item.path));
    problems.extend(others.into_iter().map(|item| {
        format!("{}: host {} sent {}, which is not part of this attempt; dropped", given.key, given.host, item.path)
    }));
    let parcel = Parcel { files: ours, left: Vec::new() };
    let staging = here.executor.join(ARRIVING).join(&parcel::digest(given.key.as_bytes())[..32]);
    link.receive_files(&staging, &parcel, "part").await?;
    let failed = |error| Trouble::new("what was delivered cannot be put in its place", error);
    place(here, given, &parcel, &staging).map_err(failed)?;
    Ok(problems)
}

fn belongs(given: &Given, path: &str) -> bool {
    let below = |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
    let times = |log: &String| path.strip_prefix(log.as_str()) == Some(".times");
    path == given.result || given.artifacts.as_ref().is_some_and(below) || given.logs.iter().any(times)
}

/// Completes the logs of an attempt from the backend.
async fn logs(link: &Link, here: &Here, given: &Given, end: &End) -> Result<Vec<String>, Trouble> {
    let length = |stream: usize| {
        let found = team_executor_beneath::ours::look_at(&here.project.join(&given.logs[stream]));
        found.map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0))
    };
    let is_whole = || (0..2).all(|stream| length(stream) >= end.logs[stream]);
    let subject = subject::log(&given.host, &here.run, &given.key);
    let mut position = 0;
    while !is_whole() {
        let Some(message) = link.next(LOGS, &subject, position).await? else { break };
        position = message.sequence;
        if let Some(piece) = Piece::decode(&message.payload) {
            append(here, given, &piece).map_err(|error| Trouble::new("a log cannot be written", error))?;
        }
    }
    let lost = (0..2).map(|stream| end.logs[stream].saturating_sub(length(stream))).sum::<u64>();
    let words = || format!("{}: {lost} bytes of its logs did not arrive from host {}", given.key, given.host);
    Ok((lost > 0).then(words).into_iter().collect())
}

/// From where files arrived to where they belong. What is in their place is moved aside, and all of it is durable then.
fn place(here: &Here, given: &Given, parcel: &Parcel, staging: &Path) -> io::Result<()> {
    if parcel.files.is_empty() {
        return Ok(());
    }
    parcel::sync(staging, parcel)?;
    let is_artifact =
        |path: &str| given.artifacts.as_ref().is_some_and(|folder| path.starts_with(&format!("{folder}/")));
    for item in parcel.files.iter().filter(|item| !is_artifact(&item.path)) {
        let (from, name) = parts(staging, &item.path)?;
        let (to, _) = parts(&here.project, &item.path)?;
        let (from, to) = (open_ours(&from)?, make_ours(&to)?);
        if to.has(&name) && item.path == given.result {
            to.rename_free(&name, &format!("{name}.stale")).map_err(io_error)?;
        }
        match from.move_new(&name, &to, &name) {
            Err(Errno::EXIST) => to.remove(&name).and_then(|()| from.move_new(&name, &to, &name)),
            moved => moved,
        }
        .and_then(|()| to.sync())
        .map_err(io_error)?;
    }
    if let Some(folder) = given.artifacts.as_ref().filter(|_| parcel.files.iter().any(|item| is_artifact(&item.path))) {
        let (from, name) = parts(staging, folder)?;
        let (to, _) = parts(&here.project, folder)?;
        let (from, to) = (open_ours(&from)?, make_ours(&to)?);
        make_way(here, given, &to, &name)?;
        from.move_new(&name, &to, &name).and_then(|()| to.sync()).map_err(io_error)?;
    }
    let (all, name) = (staging.parent(), staging.file_name().and_then(|name| name.to_str()));
    if let (Some(all), Some(name)) = (all, name) {
        let _it_goes_with_the_run = open_ours(all).map(|all| all.remove_all(name));
    }
    Ok(())
}

/// Moves files aside that are in the place of a delivery.
fn make_way(here: &Here, given: &Given, to: &team_executor_beneath::Dir, name: &str) -> io::Result<()> {
    match to.dir(name).and_then(|folder| folder.count()) {
        Err(Errno::NOENT) => return Ok(()),
        Ok(0) => return to.remove_dir(name).map_err(io_error),
        _ => {}
    }
    let (aside, stem) = parts(&here.project, &given.aside)?;
    to.move_free(name, &make_ours(&aside)?, &stem).map(drop).map_err(io_error)
}

/// The folder that a path below a root is in, and its name there.
fn parts(root: &Path, path: &str) -> io::Result<(PathBuf, String)> {
    let (within, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.is_empty() { Err(io::ErrorKind::InvalidInput.into()) } else { Ok((root.join(within), name.to_owned())) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn given() -> Given {
        Given {
            key: "EX~1/A/1".to_owned(),
            host: "h".to_owned(),
            lease_ms: 1,
            artifacts: Some(".x/EX/artifacts/A".to_owned()),
            aside: ".x/EX/quarantine/A.0".to_owned(),
            result: ".x/EX/agents/A.1.result.json".to_owned(),
            logs: [".x/EX/logs/A.1.out".to_owned(), ".x/EX/logs/A.1.err".to_owned()],
        }
    }

    fn write(root: &Path, path: &str, text: &str) {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }

    #[test]
    fn host_can_write_only_what_belongs_to_the_attempt() {
        for (path, is_ours) in [
            (".x/EX/agents/A.1.result.json", true),
            (".x/EX/artifacts/A/deep/x", true),
            (".x/EX/logs/A.1.out.times", true),
            (".x/EX/logs/A.1.out", false),
            (".x/EX/artifacts/AB/x", false),
            (".x/EX/artifacts/A", false),
            (".x/EX/agents/A.2.result.json", false),
            (".x/EX/.executor/journal", false),
            ("src/main.rs", false),
        ] {
            assert_eq!(belongs(&given(), path), is_ours, "{path}");
        }
    }

    #[test]
    fn delivery_takes_its_place_and_what_was_there_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let here = Here { project: dir.path().join("p"), executor: dir.path().join("e"), run: "EX~1".to_owned() };
        let staging = dir.path().join("e/arriving/1");
        write(&here.project, ".x/EX/artifacts/A/old", "old");
        write(&here.project, ".x/EX/agents/A.1.result.json", "older");
        let result = r#"{"status":"completed"}"#;
        write(&staging, ".x/EX/artifacts/A/sub/new", "new");
        write(&staging, ".x/EX/agents/A.1.result.json", result);
        let parcel = Parcel::pack(&staging, &[".x".to_owned()]).unwrap();
        place(&here, &given(), &parcel, &staging).unwrap();
        let read = |path: &str| fs::read_to_string(here.project.join(".x/EX").join(path)).unwrap();
        assert_eq!((read("artifacts/A/sub/new").as_str(), read("agents/A.1.result.json").as_str()), ("new", result));
        assert_eq!(read("quarantine/A.0/old"), "old");
        assert_eq!(read("agents/A.1.result.json.stale-1"), "older");
        assert!(!here.project.join(".x/EX/artifacts/A/old").exists() && !staging.exists());
    }

    #[test]
    fn log_grows_by_what_is_new_only() {
        let dir = tempfile::tempdir().unwrap();
        let here = Here { project: dir.path().to_owned(), executor: dir.path().join("e"), run: String::new() };
        for (at, bytes) in [(0, "ab"), (0, "abcd"), (9, "x"), (2, "cd"), (4, "e")] {
            append(&here, &given(), &Piece { stream: 0, at, bytes: bytes.as_bytes() }).unwrap();
        }
        assert_eq!(fs::read_to_string(dir.path().join(".x/EX/logs/A.1.out")).unwrap(), "abcde");
    }
}
