//! What a person must do about a run, and what is wrong with it: ranked, each with the command to type and the request that a
//! button sends. Every face shows the same, from what `status` reads.

mod actions;
mod needs;
mod problems;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use team_executor_core::{Graph, Session, TaskIndex, Timestamp};
use team_executor_engine::Status;
use team_executor_files::time;

use crate::{App, Opened};

pub use actions::{Action, TextField, ToSend, budget_flag, budget_setting};

/// How many of a kind are listed.
const MOST: usize = 100;

/// What a person must do, and what is wrong, the most urgent first.
#[derive(Debug, Default)]
pub struct Attention {
    /// A person must act.
    pub needs: Vec<Item>,
    /// Something is wrong.
    pub problems: Vec<Item>,
    /// How many needs and problems of each kind there are; lists are cut.
    pub counts: BTreeMap<&'static str, usize>,
}

impl Attention {
    /// What tells it from others: not the words, in which time passes.
    pub fn gist(&self) -> Vec<(Kind, Option<String>, Option<Timestamp>, String)> {
        let all = self.needs.iter().chain(&self.problems);
        all.map(|item| (item.kind, item.task.clone(), item.since, item.command.clone())).collect()
    }
}

/// A need or a problem.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// Of which kind.
    pub kind: Kind,
    /// The task that it is about, if it is about one.
    pub task: Option<String>,
    /// Since when, if that is known.
    #[serde(serialize_with = "rfc3339")]
    pub since: Option<Timestamp>,
    /// When it will be over by itself, if that is known.
    #[serde(serialize_with = "rfc3339")]
    pub until: Option<Timestamp>,
    /// In words.
    pub why: String,
    /// The command to type.
    #[serde(rename = "do")]
    pub command: String,
    /// What can be done; the first is `command`.
    pub actions: Vec<Action>,
}

/// Of which kind a need or a problem is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An agent asks for a permission.
    Permission,
    /// The run is at a checkpoint.
    Checkpoint,
    /// Every task of a wave failed.
    WaveFailed,
    /// A worker proposes a task.
    Proposal,
    /// No agent that can do a task is logged in.
    Login,
    /// A budget is used up.
    Budget,
    /// A person has paused the run.
    Paused,
    /// No executor has the run, and it is not finished.
    Stopped,
    /// A task failed for good.
    Failed,
    /// Tasks were skipped because of one that failed.
    Skipped,
    /// A task was sent back as often as it may be.
    OutOfRounds,
    /// What was delivered is missing or was changed.
    Artifact,
    /// A worker has printed nothing for long.
    Silent,
    /// A task is tried again.
    Retrying,
    /// An agent has no quota.
    Quota,
    /// A machine that had workers of the run is lost.
    HostLost,
    /// An attempt takes much longer than those of its role.
    Slow,
    /// The disk is full, or nearly.
    Disk,
}

impl Kind {
    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Checkpoint => "checkpoint",
            Self::WaveFailed => "wave_failed",
            Self::Proposal => "proposal",
            Self::Login => "login",
            Self::Budget => "budget",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::OutOfRounds => "out_of_rounds",
            Self::Artifact => "artifact",
            Self::Silent => "silent",
            Self::Retrying => "retrying",
            Self::Quota => "quota",
            Self::HostLost => "host_lost",
            Self::Slow => "slow",
            Self::Disk => "disk",
        }
    }
}

impl App {
    /// What a person must do about a run, and what is wrong with it.
    pub fn attention(&self, opened: &Opened, status: &Status) -> Attention {
        let Some((session, graph)) = &opened.session else { return Attention::default() };
        let is_newest = opened.run.is_none() || self.is_newest(opened, status);
        let typing = actions::Typing::new(self.typed(), &opened.path, opened.run.as_deref(), is_newest);
        attention(&Seen { session, graph, status, typing })
    }

    fn is_newest(&self, opened: &Opened, status: &Status) -> bool {
        let place = self.place(opened.named()).ok();
        let newest = place.and_then(|place| team_executor_engine::runs::newest(&place.folder, &place.current));
        newest.is_some_and(|(id, _)| id == status.run)
    }
}

/// What is looked at.
pub(crate) struct Seen<'a> {
    session: &'a Session,
    graph: &'a Graph,
    status: &'a Status,
    typing: actions::Typing,
}

impl Seen<'_> {
    fn id(&self, task: TaskIndex) -> &str {
        self.session.tasks[task.get()].id.as_str()
    }

    /// A need or a problem about a task.
    fn about(&self, kind: Kind, task: TaskIndex, since: Option<Timestamp>, why: String, actions: Vec<Action>) -> Item {
        Item { task: Some(self.id(task).to_owned()), ..item(kind, since, why, actions) }
    }
}

/// A need or a problem of the run.
fn item(kind: Kind, since: Option<Timestamp>, why: String, actions: Vec<Action>) -> Item {
    let command = actions.first().map(|action| action.command.clone()).unwrap_or_default();
    Item { kind, task: None, since, until: None, why, command, actions }
}

/// The ranked list, from nothing but what was read.
fn attention(seen: &Seen<'_>) -> Attention {
    let mut all = Attention::default();
    let (mut needs, mut problems) = (needs::needs(seen), problems::problems(seen));
    // The oldest first among those of a kind.
    let rank = |item: &Item| (item.kind, item.since.is_none(), item.since);
    needs.sort_by_key(rank);
    problems.sort_by_key(rank);
    for item in needs.iter().chain(&problems) {
        *all.counts.entry(item.kind.word()).or_default() += 1;
    }
    all.needs = cut(needs);
    all.problems = cut(problems);
    all
}

fn cut(items: Vec<Item>) -> Vec<Item> {
    let mut of_kind = BTreeMap::<Kind, usize>::new();
    let is_listed = |item: &Item| {
        let nth = of_kind.entry(item.kind).or_default();
        *nth += 1;
        *nth <= MOST
    };
    items.into_iter().filter(is_listed).collect()
}

fn rfc3339<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(time::format).serialize(serializer)
}

#[cfg(test)]
mod tests;
