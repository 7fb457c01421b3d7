//! What a person decides at a checkpoint.

use super::decide::Turn;
use super::event::{Event, PauseReason};
use super::input::Refused;
use super::review::Cause;
use super::state::{Run, Stage};
use crate::bus::CheckpointAction;
use crate::graph::TaskIndex;
use crate::task::TaskStatus;
use crate::time::Timestamp;

/// One decision of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// At which checkpoint, if the run was at one.
    pub checkpoint: Option<TaskIndex>,
    /// What was decided.
    pub action: CheckpointAction,
    /// What was sent back.
    pub tasks: Vec<TaskIndex>,
    /// In the person's words.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

impl Run {
    /// Everything that people have decided so far.
    pub fn decisions(&self) -> &[Decision] {
        &self.state.decisions
    }

    /// The checkpoint at which a person is to decide, and why: now, or when a person resumes a run that was
    /// stopped there.
    pub const fn checkpoint(&self) -> Option<(TaskIndex, Cause)> {
        match self.pause() {
            Some(PauseReason::Checkpoint { task, cause }) => Some((*task, *cause)),
            _ => None,
        }
    }

    /// What is judged at a checkpoint: the task itself if it failed, else what it did not accept, or all that it depends on.
    pub fn judged_at(&self, checkpoint: TaskIndex) -> Vec<TaskIndex> {
        let status = |task: TaskIndex| self.state.tasks.get(task.get()).map(|task| task.status);
        if status(checkpoint) != Some(TaskStatus::Completed) {
            return vec![checkpoint];
        }
        let objection = self.state.tasks[checkpoint.get()].objection.as_ref();
        let rejected = objection.map(|objection| objection.tasks.as_slice()).filter(|tasks| !tasks.is_empty());
        let completed = |task: &TaskIndex| status(*task) == Some(TaskStatus::Completed);
        let reviewed = rejected.unwrap_or_else(|| self.graph.dependencies(checkpoint));
        reviewed.iter().copied().filter(completed).collect()
    }

    /// What is wrong with the work, in the reviewer's words.
    pub fn critique_at(&self, checkpoint: TaskIndex) -> Option<&str> {
        let objection = self.state.tasks.get(checkpoint.get())?.objection.as_ref()?;
        Some(objection.critique.as_str()).filter(|critique| !critique.is_empty())
    }
}

impl Turn<'_> {
    pub(super) fn person_decides(
        &mut self,
        action: CheckpointAction,
        tasks: Vec<TaskIndex>,
        text: String,
    ) -> Result<(), Refused> {
        let checkpoint = self.run.checkpoint().map(|(task, _)| task);
        let waits = checkpoint.is_some() || matches!(self.run.state.stage, Stage::Paused(_));
        if action != CheckpointAction::Feedback && !waits {
            return Err(self.wrong_stage());
        }
        let tasks = match action {
            CheckpointAction::Resume | CheckpointAction::Feedback => Vec::new(),
            CheckpointAction::Recheck => checkpoint.into_iter().collect(),
            CheckpointAction::Improve | CheckpointAction::Revise if !tasks.is_empty() => tasks,
            _ => checkpoint.map(|checkpoint| self.run.judged_at(checkpoint)).unwrap_or_default(),
        };
        for task in &tasks {
            let status = self.run.state.tasks.get(task.get()).ok_or(Refused::NoSuchTask(*task))?.status;
            if !status.is_over() {
                return Err(Refused::NotOver(*task));
            }
        }
        let text = match checkpoint.and_then(|checkpoint| self.run.critique_at(checkpoint)) {
            Some(critique) if text.is_empty() && !tasks.is_empty() && action != CheckpointAction::Recheck => {
                critique.to_owned() // a person who adds nothing means that
            }
            _ => text,
        };
        let sends_back = !matches!(action, CheckpointAction::Resume | CheckpointAction::Feedback);
        if sends_back && tasks.is_empty() {
            return Err(Refused::NothingToRevise);
        }
        self.emit(Event::Decided { checkpoint, action, tasks, text, at: self.now });
        if action != CheckpointAction::Feedback {
            self.ask(); // about what comes next
        }
        self.end_what_is_void();
        Ok(())
    }
}
