//! `discoveries/<task>.json` of a `tasks-json` session: what its workers write there, and what is written for those that
//! wrote none. A discovery never contradicts the state of its task.

use std::sync::Arc;

use rustix::io::Errno;
use team_executor_beneath::is_system_failure;
use team_executor_core::{Task, TaskId, TaskStatus};
use team_executor_files::discovery::{FOLDER, TaskDiscovery, read, write};
use team_executor_files::reading::Reading;
use team_executor_files::{MemoryFolder, json};
use team_executor_store::run_folder::component;
use team_executor_store::{Disk, DiskError, Durability, Kind, ReplaceError, replace, set_aside};

/// What is known of a task that is over.
pub(super) fn discovery(task: &Task) -> TaskDiscovery {
    TaskDiscovery {
        worker: Some(task.id.to_string()),
        timestamp: task.updated_at,
        status: Some(task.status),
        findings: task.findings.clone().unwrap_or_default(),
        quality_score: task.quality_score,
        verdict: task.verdict,
        error: task.error.clone(),
        ..TaskDiscovery::new(task.id.clone())
    }
}

/// Puts aside what an earlier attempt has left, so that what is there afterwards is the next one's.
pub(super) fn attempt_begins<D: Disk>(disk: &D, task: &TaskId) -> Result<(), ReplaceError> {
    Ok(set_aside(disk, &name(task)).map(drop)?)
}

/// Makes sure that a task which is over has a discovery that agrees with it. What a worker wrote is completed where it
/// lacks something, and put aside where it contradicts; says so then.
pub(super) fn settle<D: Disk>(disk: &D, task: &Task) -> Result<Option<String>, ReplaceError> {
    if !matches!(task.status, TaskStatus::Completed | TaskStatus::Failed) {
        return Ok(None);
    }
    let name = name(&task.id);
    let ours = discovery(task);
    let put = |text: String| replace(disk, &name, text.as_bytes(), Durability::Rendered);
    let left = StoredDiscovery::read(disk, &task.id).map_err(|errno| DiskError {
        action: "read",
        name: name.clone(),
        errno,
    })?;
    match left {
        StoredDiscovery::Nothing => put(write(&ours, None)).map(|()| None),
        StoredDiscovery::Discovery(found, original) if agrees(&found, task) => {
            let Some(original) = original else { return Ok(None) };
            let findings = if found.findings.is_empty() { ours.findings } else { found.findings.clone() };
            let (timestamp, error) = (found.timestamp.or(ours.timestamp), found.error.clone().or(ours.error));
            let whole = TaskDiscovery { status: ours.status, timestamp, findings, error, ..*found };
            put(write(&whole, json::parse(&original).ok().as_ref())).map(|()| None)
        }
        left => {
            let why = match left {
                StoredDiscovery::Discovery(found, _) if found.task != task.id => {
                    format!("is about the task {}", found.task)
                }
                StoredDiscovery::Discovery(..) => format!("contradicts that it is {}", task.status),
                _ => "cannot be read".to_owned(),
            };
            let aside = set_aside(disk, &name)?.unwrap_or_default();
            put(write(&ours, None))?;
            Ok(Some(format!("{}: its discovery {why}; it is kept as {FOLDER}/{aside}", task.id)))
        }
    }
}

fn agrees(found: &TaskDiscovery, task: &Task) -> bool {
    found.task == task.id && found.status.is_none_or(|status| status == task.status)
}

/// Whether there is a discovery of that task, whatever it says.
pub(super) fn is_there<D: Disk>(disk: &D, task: &TaskId) -> bool {
    disk.kind(&name(task)).is_ok_and(|kind| kind != Kind::Missing)
}

fn name(task: &TaskId) -> String {
    format!("{}.json", component(task.as_str()))
}

/// What there is of a task.
enum StoredDiscovery {
    Nothing,
    Unreadable,
    /// A discovery, with its text if that departs from the format.
    Discovery(Box<TaskDiscovery>, Option<String>),
}

impl StoredDiscovery {
    fn read<D: Disk>(disk: &D, task: &TaskId) -> Result<Self, Errno> {
        let name = name(task);
        let bytes = match disk.read(&name) {
            Err(errno) if is_system_failure(errno) => return Err(errno),
            Err(_) if is_there(disk, task) => return Ok(Self::Unreadable),
            Err(_) => return Ok(Self::Nothing),
            Ok(bytes) => bytes,
        };
        let file: Arc<str> = format!("{FOLDER}/{name}").into();
        let folder = MemoryFolder::default().with(&file, bytes.clone());
        let mut reading = Reading::new(&folder, FOLDER);
        let Some(found) = read(&mut reading, &file) else { return Ok(Self::Unreadable) };
        let departs = reading.findings.iter().next().is_some();
        let text = departs.then(|| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Self::Discovery(Box::new(found), text))
    }
}

#[cfg(test)]
mod tests {
    use team_executor_core::RoleName;
    use team_executor_store::RealDisk;

    use super::*;

    fn world() -> (tempfile::TempDir, RealDisk, Task) {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::open_folder(dir.path()).unwrap();
        let task = Task::new(TaskId::parse("A").unwrap(), RoleName::parse("r").unwrap());
        (dir, disk, task)
    }

    #[test]
    fn next_attempt_has_a_place_of_its_own() {
        let (dir, disk, task) = world();
        std::fs::write(dir.path().join("A.json"), "{").unwrap();
        attempt_begins(&disk, &task.id).unwrap();
        assert_eq!(disk.list().unwrap(), ["A.json.aside-1"]);
    }

    #[test]
    fn discoveries_agree_with_the_task() {
        let (dir, disk, mut task) = world();
        let at = |text: &str| std::fs::write(dir.path().join("A.json"), text).unwrap();
        let settled =
            |task: &Task| (settle(&disk, task).unwrap(), String::from_utf8(disk.read("A.json").unwrap()).unwrap());
        (task.status, task.findings) = (TaskStatus::Completed, Some("done".to_owned()));
        task.updated_at = Some(team_executor_core::Timestamp::from_micros(0));
        let (told, ours) = settled(&task);
        assert!(
            told.is_none() && ours.contains("\"status\": \"completed\"") && ours.contains("\"findings\": \"done\"")
        );
        assert_eq!(settled(&task), (None, ours.clone()), "and stays");
        at(r#"{"status":"completed","mine":[1,  2]}"#);
        let (told, whole) = settled(&task);
        assert!(
            told.is_none() && whole.contains("\"mine\": [1,  2]") && whole.contains("\"findings\": \"done\""),
            "{whole}"
        );
        for (nth, (contradiction, why)) in (1..).zip([
            (r#"{"status":"failed"}"#, "contradicts that it is completed"),
            (r#"{"task_id":"B","status":"completed"}"#, "is about the task B"),
            ("{", "cannot be read"),
        ]) {
            at(contradiction);
            let (told, text) = settled(&task);
            let expected = format!("A: its discovery {why}; it is kept as discoveries/A.json.aside-{nth}");
            assert_eq!((told, text), (Some(expected), ours.clone()));
        }
        task.status = TaskStatus::Pending;
        assert_eq!(settle(&disk, &task), Ok(None));
    }
}
