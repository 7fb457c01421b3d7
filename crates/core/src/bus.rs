//! What workers tell each other and what people decide: discoveries, messages, checkpoints.

use crate::ids::TaskId;
use crate::task::words;
use crate::time::Timestamp;

words! {
    /// What a person does at a checkpoint.
    CheckpointAction {
        /// Go on.
        Resume = "resume",
        /// Make it better, then go on.
        Improve = "improve",
        /// Do one task again.
        Revise = "revise",
        /// Judge again.
        Recheck = "recheck",
        /// Say something to the team.
        Feedback = "feedback",
    }
}

/// One decision of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which checkpoint it was.
    pub id: String,
    /// When.
    pub timestamp: Option<Timestamp>,
    /// What was decided.
    pub action: CheckpointAction,
    /// In the person's words.
    pub context: String,
}

/// One line of the shared discovery board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// When.
    pub timestamp: Option<Timestamp>,
    /// Who found it.
    pub worker: String,
    /// What sort of thing it is; decides the key by which repeats are recognised.
    pub kind: String,
    /// The finding itself, as JSON text.
    pub data: String,
    /// By which two discoveries are the same, where the kind has such a key.
    pub key: Option<String>,
}

/// One message of the team's bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `MSG-001`, …
    pub id: String,
    /// When.
    pub timestamp: Option<Timestamp>,
    /// Who says it.
    pub from: String,
    /// Who is told.
    pub to: String,
    /// What sort of message it is.
    pub kind: String,
    /// In a few words.
    pub summary: String,
    /// The rest, as JSON text.
    pub data: Option<String>,
    /// Which task it is about, where it says so.
    pub task: Option<TaskId>,
}
