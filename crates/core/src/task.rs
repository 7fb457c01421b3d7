//! A unit of work for one role, and the words that describe it.

use std::sync::Arc;

use crate::complexity::Complexity;
use crate::ids::{RoleName, TaskId};
use crate::time::Timestamp;

/// Declares an enum whose values have one word each, in files and on the screen.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant),+
        }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Every word, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word that stands for this value in files.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// The value that a word stands for; exact, no synonyms.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Where a task stands. The legal moves between these are in [`crate::moves`].
    TaskStatus {
        /// Not yet startable.
        Pending = "pending",
        /// Everything that it waits for is done.
        Ready = "ready",
        /// A worker has it.
        InProgress = "in_progress",
        /// Done, unless it is sent back.
        Completed = "completed",
        /// The last attempt failed.
        Failed = "failed",
        /// Will not run, because of another task or of a person.
        Skipped = "skipped",
    }
}

impl TaskStatus {
    /// Whether nothing more will happen to the task by itself.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Skipped)
    }
}

words! {
    /// Which of several startable tasks goes first.
    Priority {
        /// First.
        P0 = "P0",
        /// Second.
        P1 = "P1",
        /// Last.
        P2 = "P2",
    }
}

words! {
    /// The part of the lifecycle that a task belongs to.
    Phase {
        /// Specification.
        Spec = "spec",
        /// Implementation.
        Impl = "impl",
        /// Testing.
        Test = "test",
        /// Review.
        Review = "review",
    }
}

words! {
    /// How a worker is held: one shot, or a conversation.
    ExecMode {
        /// One shot, together with the others of its wave.
        CsvWave = "csv-wave",
        /// A conversation with one resident worker.
        Interactive = "interactive",
    }
}

impl ExecMode {
    /// The mode that follows from a role's `inner_loop`.
    pub const fn of_role(inner_loop: bool) -> Self {
        if inner_loop { Self::Interactive } else { Self::CsvWave }
    }
}

words! {
    /// When an interactive task of a wave runs, seen from the wave's one-shot tasks.
    Position {
        /// Before them.
        PreWave = "pre-wave",
        /// After them; the default.
        PostWave = "post-wave",
    }
}

words! {
    /// Which outcome of its dependencies lets a task run.
    RunOn {
        /// All of them completed; the default.
        Success = "success",
        /// At least one of them failed or was skipped: repair tasks.
        Failure = "failure",
        /// Whatever became of them.
        Always = "always",
    }
}

words! {
    /// What a supervisor says at a checkpoint.
    Verdict {
        /// Go on.
        Pass = "pass",
        /// Go on, and report.
        Warn = "warn",
        /// Stop and ask a person.
        Block = "block",
    }
}

words! {
    /// Who judges what there is, where a plan wants that.
    Judge {
        /// The task's own worker, who must say whether to go on.
        Supervisor = "supervisor",
        /// A person, after the task.
        Person = "person",
    }
}

/// What an analysis says about the work beyond its title, for the worker's prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// The goal.
    pub goal: Option<String>,
    /// The way there.
    pub steps: Vec<String>,
    /// Files to look at first.
    pub key_files: Vec<String>,
    /// What others made that this builds on.
    pub upstream_artifacts: Vec<String>,
    /// How to tell that the goal is reached.
    pub success_criteria: Vec<String>,
    /// What to avoid on the way.
    pub constraints: Vec<String>,
}

impl Brief {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Something else that a planner says about a task, under the planner's own name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// The name of the column or field.
    pub name: Arc<str>,
    /// What it says, as text.
    pub text: String,
}

/// Context of a task that comes from no other task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The entry of `context_from` that names it.
    pub entry: Arc<str>,
    /// What it is and what it says.
    pub text: Arc<str>,
}

/// A unit of work for one role.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Unique in its session.
    pub id: TaskId,
    /// For people.
    pub title: String,
    /// The work, in words.
    pub description: String,
    /// Who does it.
    pub role: RoleName,
    /// The agent that the session wants for it; a name that only the user's configuration can give a meaning.
    pub agent: Option<String>,
    /// What must be done before; in the order of the file.
    pub dependencies: Vec<TaskId>,
    /// Whose findings the worker is given. An entry that names no task may name something else, which is in `given`.
    pub context_from: Vec<TaskId>,
    /// What the worker is given that comes from no other task.
    pub given: Vec<Given>,
    /// The files that it must deliver, by their paths in the worker's folder for artifacts.
    pub delivers: Vec<String>,
    /// Part of the lifecycle, where the dialect has one.
    pub phase: Option<Phase>,
    /// Which goes first.
    pub priority: Priority,
    /// The wave that the file declares; the real one is computed from the dependencies.
    pub declared_wave: Option<u32>,
    /// One shot or conversation.
    pub exec_mode: ExecMode,
    /// Before or after the wave's one-shot tasks.
    pub position: Position,
    /// Which outcome of the dependencies lets it run.
    pub run_on: RunOn,
    /// How complex the work must be for it to be needed.
    pub min_complexity: Option<Complexity>,
    /// Where it stands.
    pub status: TaskStatus,
    /// Attempts after the first.
    pub attempt_count: u32,
    /// What came out, in a few words.
    pub findings: Option<String>,
    /// What a planner noted in the place of the findings before the task ran.
    pub planner_notes: Option<String>,
    /// Whether the notes still stand there.
    pub notes_in_findings: bool,
    /// Why it failed or was skipped.
    pub error: Option<String>,
    /// 0 to 100, from reviewers only.
    pub quality_score: Option<f64>,
    /// From supervisors only.
    pub verdict: Option<Verdict>,
    /// When it was planned.
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// What the analysis says about it.
    pub brief: Option<Box<Brief>>,
    /// What else the file says about it and the model does not know, in the order of the file.
    pub details: Vec<Detail>,
}

impl Task {
    /// A task of which only the id and the role are known, with every default of the specification.
    pub fn new(id: TaskId, role: RoleName) -> Self {
        Self {
            id,
            title: String::new(),
            description: String::new(),
            role,
            agent: None,
            dependencies: Vec::new(),
            context_from: Vec::new(),
            given: Vec::new(),
            delivers: Vec::new(),
            phase: None,
            priority: Priority::P1,
            declared_wave: None,
            exec_mode: ExecMode::CsvWave,
            position: Position::PostWave,
            run_on: RunOn::Success,
            min_complexity: None,
            status: TaskStatus::Pending,
            attempt_count: 0,
            findings: None,
            planner_notes: None,
            notes_in_findings: false,
            error: None,
            quality_score: None,
            verdict: None,
            created_at: None,
            updated_at: None,
            brief: None,
            details: Vec::new(),
        }
    }

    /// Takes findings of a task that has not run for what they are: notes of the planner.
    pub fn take_planner_notes(&mut self) {
        if !self.status.is_over() && self.planner_notes.is_none() {
            self.planner_notes = self.findings.take();
            self.notes_in_findings = self.planner_notes.is_some();
        }
    }

    /// The planner's notes, while they stand in the place of the findings.
    pub fn notes_as_findings(&self) -> Option<&str> {
        let stay = self.notes_in_findings && !self.status.is_over() && self.findings.is_none();
        self.planner_notes.as_deref().filter(|_| stay)
    }

    /// The planner's notes, where something else has taken their place.
    pub fn notes_beside(&self) -> Option<&str> {
        self.planner_notes.as_deref().filter(|_| self.notes_as_findings().is_none())
    }

    /// The judge at this task, by its name: `CHECKPOINT-*` is a supervisor's, after `QUALITY-*` a person
    /// judges.
    pub fn judge(&self) -> Option<Judge> {
        let names = [("CHECKPOINT", Judge::Supervisor), ("QUALITY", Judge::Person)];
        names.into_iter().find(|(prefix, _)| self.id.has_prefix(prefix)).map(|(_, judge)| judge)
    }

    /// The title, or the id where there is none.
    pub fn label(&self) -> &str {
        if self.title.is_empty() { self.id.as_str() } else { &self.title }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: W-03
    #[test]
    fn the_exec_mode_follows_the_inner_loop() {
        assert_eq!(ExecMode::of_role(false).word(), "csv-wave");
        assert_eq!(ExecMode::of_role(true).word(), "interactive");
    }

    /// R: M-02
    #[test]
    fn the_six_words_of_a_task_status() {
        assert_eq!(TaskStatus::WORDS, ["pending", "ready", "in_progress", "completed", "failed", "skipped"]);
        for (status, word) in TaskStatus::ALL.iter().zip(TaskStatus::WORDS) {
            assert_eq!(TaskStatus::from_word(word), Some(*status));
            assert_eq!(status.word(), *word);
        }
        assert_eq!(TaskStatus::from_word("done"), None);
    }
}
