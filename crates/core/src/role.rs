//! A specialised worker: its task prefix, how it is held, when it joins.

use crate::complexity::Complexity;
use crate::ids::RoleName;
use crate::task::{ExecMode, words};

words! {
    /// What sort of role it is.
    RoleKind {
        /// Steers others.
        Coordinator = "coordinator",
        /// Works in the pipeline.
        Pipeline = "pipeline",
        /// Joins for its knowledge.
        Specialist = "specialist",
        /// Helps others.
        Utility = "utility",
    }
}

words! {
    /// When a role joins a session.
    InjectionTrigger {
        /// From the start.
        Always = "always",
        /// When the work is complex enough.
        Complexity = "complexity",
        /// When the requirement mentions one of its words.
        Keywords = "keywords",
        /// When a person says so.
        Manual = "manual",
    }
}

/// A specialised worker as the session describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Unique in its session.
    pub name: RoleName,
    /// The prefix of its tasks' ids, without `-*`; empty where the dialect has none.
    pub prefix: String,
    /// What sort of role it is, where the dialect says.
    pub kind: Option<RoleKind>,
    /// What sort of work it does, in the planner's words.
    pub responsibility: Option<String>,
    /// One resident worker takes the role's tasks one after the other.
    pub inner_loop: bool,
    /// Its instructions, relative to the session folder, where it has some.
    pub spec: Option<String>,
    /// The agent that the session wants for it; a name that only the user's configuration can give a meaning.
    pub agent: Option<String>,
    /// When it joins.
    pub trigger: InjectionTrigger,
    /// Words that make it join.
    pub keywords: Vec<String>,
    /// How complex the work must be for it to join.
    pub complexity_threshold: Option<Complexity>,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// The phases that it goes through, 1 to 5.
    pub phase_execution: Vec<u8>,
    /// The message that it sends, by occasion, in the order of the file.
    pub message_types: Vec<(String, String)>,
}

impl Role {
    /// A role of which only the name is known, with every default of the specification.
    pub fn new(name: RoleName) -> Self {
        Self {
            name,
            prefix: String::new(),
            kind: None,
            responsibility: None,
            inner_loop: false,
            spec: None,
            agent: None,
            trigger: InjectionTrigger::Always,
            keywords: Vec::new(),
            complexity_threshold: None,
            capabilities: Vec::new(),
            phase_execution: Vec::new(),
            message_types: Vec::new(),
        }
    }

    /// How its workers are held.
    pub const fn exec_mode(&self) -> ExecMode {
        ExecMode::of_role(self.inner_loop)
    }
}
