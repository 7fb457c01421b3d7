//! What a worker delivers, and whether it may be built on.

use crate::ids::{ArtifactId, RoleName, TaskId};
use crate::task::{Priority, words};
use crate::time::Timestamp;

words! {
    /// What sort of thing it is.
    ArtifactKind {
        /// Prose.
        Document = "document",
        /// Source code.
        Code = "code",
        /// Tests.
        Test = "test",
        /// Configuration.
        Config = "config",
        /// Results in words and numbers.
        Report = "report",
    }
}

words! {
    /// Whether it may be built on. The legal moves between these are in [`crate::moves`].
    Validation {
        /// Not checked yet.
        Pending = "pending",
        /// The check is under way.
        Validating = "validating",
        /// It may be built on; never leaves this state.
        Passed = "passed",
        /// It must be fixed first.
        Failed = "failed",
    }
}

/// A deliverable with its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Unique in its session.
    pub id: ArtifactId,
    /// What sort of thing it is.
    pub kind: ArtifactKind,
    /// Where it is, relative to the session folder; unique in its session.
    pub path: String,
    /// Who made it.
    pub creator: RoleName,
    /// `1.0`, `1.1`, …
    pub version: Option<String>,
    /// Whether it may be built on.
    pub validation: Validation,
    /// Why, for people.
    pub validation_summary: Option<String>,
    /// Which artifacts it builds on.
    pub dependencies: Vec<ArtifactId>,
    /// Which task made it.
    pub task: Option<TaskId>,
    /// The priority of that task.
    pub priority: Option<Priority>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// Bytes, when it was recorded.
    pub file_size: Option<u64>,
    /// `sha256:…`, when it was recorded.
    pub checksum: Option<String>,
}
