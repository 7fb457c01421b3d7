//! A session: the plan and the state of one piece of team work, whatever dialect it was written in.

use crate::artifact::Artifact;
use crate::bus::Checkpoint;
use crate::ids::{RoleName, SessionId, TaskId};
use crate::role::Role;
use crate::task::{Task, words};
use crate::time::Timestamp;

words! {
    /// Where a session stands. The legal moves between these are in [`crate::moves`].
    SessionStatus {
        /// Written, never run.
        Created = "created",
        /// Being run, or ready to be.
        Active = "active",
        /// Stopped on purpose.
        Paused = "paused",
        /// Everything is done.
        Completed = "completed",
        /// Cannot go on.
        Failed = "failed",
        /// Put away; never leaves this state.
        Archived = "archived",
    }
}

words! {
    /// What happens when the last task is over.
    CompletionAction {
        /// Ask.
        Interactive = "interactive",
        /// Archive without asking.
        AutoArchive = "auto_archive",
        /// Keep without asking.
        AutoKeep = "auto_keep",
    }
}

/// A worker that the session says is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveWorker {
    /// What it works on, where the file says so.
    pub task: Option<TaskId>,
    /// How the file names it.
    pub agent: String,
}

/// A task that a file beside the session's own calls completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// Which task.
    pub task: TaskId,
    /// The file.
    pub file: String,
    /// What came out, by that file or another.
    pub findings: Option<String>,
}

/// The plan and the state of one piece of team work.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Unique among sessions.
    pub id: SessionId,
    /// The team's name, or a short name of the work.
    pub name: String,
    /// What was asked for, in the user's words.
    pub requirement: String,
    /// Where it stands.
    pub status: SessionStatus,
    /// Which pipeline the planner chose, where the dialect has one.
    pub pipeline: Option<String>,
    /// What happens when the last task is over.
    pub completion: CompletionAction,
    /// Whether checkpoint tasks are active.
    pub supervision: bool,
    /// When it was planned.
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// Who works.
    pub roles: Vec<Role>,
    /// The roles that could join: the session does not list them and no task names them, but a role-spec says
    /// when they join.
    pub specialists: Vec<Role>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// What was delivered.
    pub artifacts: Vec<Artifact>,
    /// What people decided.
    pub checkpoints: Vec<Checkpoint>,
    /// Roles that joined by rule.
    pub injected_roles: Vec<RoleName>,
    /// The session's own list of completed tasks, which may disagree with the tasks.
    pub completed_tasks: Vec<TaskId>,
    /// Tasks that are open by the session's own file and completed by another.
    pub reported: Vec<Reported>,
    /// Workers that the session says are running.
    pub active_workers: Vec<ActiveWorker>,
    /// Tasks that the plan has and the session's own state lacks.
    pub missing_from_state: Vec<TaskId>,
    /// Waves that the session says are complete.
    pub completed_waves: Vec<u32>,
    /// The session plans waves and no dependencies: each wave waits for the one before.
    pub waves_are_barriers: bool,
    /// Rounds of fixing so far.
    pub gc_rounds: u32,
}

impl Session {
    /// A session of which only the id is known, with every default of the specification.
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            name: String::new(),
            requirement: String::new(),
            status: SessionStatus::Active,
            pipeline: None,
            completion: CompletionAction::Interactive,
            supervision: true,
            created_at: None,
            updated_at: None,
            roles: Vec::new(),
            specialists: Vec::new(),
            tasks: Vec::new(),
            artifacts: Vec::new(),
            checkpoints: Vec::new(),
            injected_roles: Vec::new(),
            completed_tasks: Vec::new(),
            reported: Vec::new(),
            active_workers: Vec::new(),
            missing_from_state: Vec::new(),
            completed_waves: Vec::new(),
            waves_are_barriers: false,
            gc_rounds: 0,
        }
    }

    /// The role with that name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name.as_str() == name)
    }
}
