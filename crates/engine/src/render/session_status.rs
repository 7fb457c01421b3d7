//! Where a session stands after its run: written into its own file, along the legal moves only.

use std::path::Path;

use team_executor_core::moves::Moves as _;
use team_executor_core::{IllegalMove, Reconciliation, Session, SessionStatus, TaskStatus};
use team_executor_files::{Dialect, load};
use team_executor_store::run_folder::{DERIVED, EXECUTOR, folder_name, project_root};
use team_executor_store::{Derived, Disk as _, DiskFolder, Durability, RealDisk, Rendered, replace};

use crate::begin::run_at::{self, open_folder};
use crate::options::Failure;
use crate::render::views::{OwnFile, PagePlace, own_file};

/// Gives a session another status, and says which it has then. A session that cannot be read any more is left alone, and
/// so is one that has no place for a status: nothing is said. The session's run remembers that this was no edit.
pub(crate) fn set(folder: &Path, run: &Path, to: SessionStatus) -> Result<Option<SessionStatus>, Failure> {
    let Some(read) = Read::open(folder) else { return Ok(None) };
    let status = read.reached(to)?;
    if read.session.status != status {
        read.write(status, run)?;
    }
    Ok(Some(status))
}

/// Keeps a session for more work: it is paused, and its run stays where it is.
pub fn keep(session: &Path, current: &Path) -> Result<(), Failure> {
    let project = project_root(session, current);
    let Some(run) = run_at::newest_of_all(&project, session) else { return Ok(()) };
    let _held = run_at::hold(&project, &run)?;
    set(session, &run, SessionStatus::Paused).map(drop)
}

/// Whether the session can get there at all.
pub(crate) fn check(folder: &Path, to: SessionStatus) -> Result<(), Failure> {
    let Some(read) = Read::open(folder) else { return Ok(()) };
    read.reached(to).map(drop)
}

/// What a session is called whose format has the words active, paused and completed only: put away it stays as it ended.
fn of_three(session: &Session, to: SessionStatus) -> SessionStatus {
    match to {
        SessionStatus::Archived if session.status == SessionStatus::Completed => SessionStatus::Completed,
        SessionStatus::Archived if ended(session) == SessionStatus::Completed => SessionStatus::Completed,
        SessionStatus::Archived | SessionStatus::Failed => SessionStatus::Paused,
        to => to,
    }
}

/// How the tasks of a session say that it ended.
fn ended(session: &Session) -> SessionStatus {
    let statuses = Reconciliation::compare(session).statuses(session);
    let all_completed = statuses.iter().all(|status| *status == TaskStatus::Completed);
    if all_completed { SessionStatus::Completed } else { SessionStatus::Failed }
}

/// The status at the end of the moves that lead there. A session whose run left failed tasks has failed when it is put away.
fn reached(session: &Session, to: SessionStatus) -> Result<SessionStatus, IllegalMove> {
    use SessionStatus::{Active, Archived, Completed, Created, Failed, Paused};
    if session.status == to {
        return Ok(to);
    }
    let mut path = Vec::new();
    if matches!(session.status, Created | Paused) {
        path.push(Active);
    }
    match to {
        Archived if matches!(session.status, Completed | Failed) => path.push(Archived),
        Archived => path.extend([ended(session), Archived]),
        to => path.push(to),
    }
    path.into_iter().try_fold(session.status, |status, next| status.moved(next))
}

/// A session as it is now.
struct Read {
    disk: RealDisk,
    name: &'static str,
    original: String,
    dialect: Dialect,
    session: Session,
    graph: team_executor_core::Graph,
}

impl Read {
    fn open(folder: &Path) -> Option<Self> {
        let loaded = load(&DiskFolder::open(folder).ok()?, &folder_name(folder), None);
        let (session, graph) = loaded.session.filter(|_| loaded.dialect.has_session_status())?;
        let (disk, name) = (open_folder(folder).ok()?, own_file::name(loaded.dialect, folder));
        let original = String::from_utf8(disk.read(name).ok()?).ok()?;
        Some(Self { disk, name, original, dialect: loaded.dialect, session, graph })
    }

    /// Where the session can get to, in the words of its format.
    fn reached(&self, to: SessionStatus) -> Result<SessionStatus, Failure> {
        let to = if self.dialect == Dialect::Tc { of_three(&self.session, to) } else { to };
        reached(&self.session, to).map_err(|error| Failure::InTheWay(error.to_string()))
    }

    fn write(self, status: SessionStatus, run: &Path) -> Result<(), Failure> {
        let session = Session { status, ..self.session };
        let file = OwnFile::of_session(self.name);
        let text = own_file::text(self.dialect, &file, &self.original, &session, &self.graph);
        let executor = open_folder(&run.join(EXECUTOR))?;
        let write = |disk: &RealDisk, name: &str, text: &str| {
            let written = replace(disk, name, text.as_bytes(), Durability::Durable);
            written.map_err(|error| Failure::Disk { action: "write", path: name.into(), reason: error.to_string() })
        };
        let derived = executor.read(DERIVED).ok().and_then(|bytes| Derived::from_text(&String::from_utf8(bytes).ok()?));
        if let Some(mut derived) = derived {
            let key = PagePlace::Session.key(self.name);
            let journal = derived.versions(&key).first().map_or(0, |version| version.journal);
            let there = Rendered::hash(self.original.as_bytes(), journal);
            derived.next(&key, Rendered::hash(text.as_bytes(), journal), Some(there));
            write(&executor, DERIVED, &derived.to_text())?;
        }
        write(&self.disk, self.name, &text)
    }
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, SessionId, Task, TaskId};

    use super::*;

    #[test]
    fn only_legal_moves_lead_anywhere() {
        use SessionStatus::{Active, Archived, Completed, Created, Failed, Paused};
        let reach = |from, task, to| {
            let mut session = Session::new(SessionId::parse("TC-1").unwrap());
            session.tasks = vec![Task::new(TaskId::parse("A").unwrap(), RoleName::parse("r").unwrap())];
            (session.status, session.tasks[0].status) = (from, task);
            reached(&session, to).ok()
        };
        for from in [Created, Active, Paused, Completed, Failed, Archived] {
            assert_eq!(reach(from, TaskStatus::Completed, Archived), Some(Archived), "{from}");
            assert_eq!(reach(from, TaskStatus::Failed, Archived), Some(Archived), "{from}");
        }
        assert_eq!(reach(Active, TaskStatus::Completed, Paused), Some(Paused));
        assert_eq!(reach(Paused, TaskStatus::Completed, Completed), Some(Completed));
        assert_eq!(reach(Completed, TaskStatus::Completed, Paused), None);
        assert_eq!(reach(Archived, TaskStatus::Completed, Completed), None);
    }

    #[test]
    fn archived_run_without_the_word_keeps_its_end() {
        use SessionStatus::{Active, Archived, Completed, Failed, Paused};
        let put_away = |from, task, to| {
            let mut session = Session::new(SessionId::parse("TC-1").unwrap());
            session.tasks = vec![Task::new(TaskId::parse("A").unwrap(), RoleName::parse("r").unwrap())];
            (session.status, session.tasks[0].status) = (from, task);
            of_three(&session, to)
        };
        for from in [Active, Paused] {
            assert_eq!(put_away(from, TaskStatus::Completed, Archived), Completed);
            assert_eq!(put_away(from, TaskStatus::Failed, Archived), Paused);
            assert_eq!(put_away(from, TaskStatus::Pending, Failed), Paused);
        }
        assert_eq!(put_away(Completed, TaskStatus::Skipped, Archived), Completed, "what it lacks was not needed");
        assert_eq!(put_away(Active, TaskStatus::Completed, Completed), Completed);
    }
}
