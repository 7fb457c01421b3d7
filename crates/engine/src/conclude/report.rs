//! What a worker's result says, read once. A result is text of a worker: only these fields count, only with these words, and
//! a key that stands twice counts as it stands last.

use std::sync::Arc;

use team_executor_core::{Complexity, TaskId};
use team_executor_files::discovery::{self, TaskDiscovery};
use team_executor_files::fields::text_of;
use team_executor_files::json::{self, Kind, Value};

use super::gaps;
use super::refused::Refused;
use super::row::Row;
use crate::wisdom::Book;

/// Names in a result the attempt that reported it by a tool or a command of ours.
pub(crate) const REPORTED_BY: &str = "reported_by";

/// What a worker reported: in its result, in its discovery, or in the last words of its agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WorkerReport {
    /// As it was written.
    pub(super) text: Arc<str>,
    status: Option<String>,
    findings: Option<String>,
    error: Option<String>,
    /// The attempt that reported it by a tool or a command of ours.
    reported_by: Option<String>,
    /// `supervision_verdict`.
    pub(super) supervision: Option<String>,
    /// `data.verdict`: its word if it is one, and as it was written.
    pub(super) verdict: Option<(Option<String>, String)>,
    /// `data.rejects`: names of tasks.
    pub(super) rejects: Vec<String>,
    /// `data.critique`.
    critique: Option<String>,
    /// `data.complexity`.
    pub(super) complexity: Option<Complexity>,
    /// `data.consensus_blocked`.
    pub(super) dispute: Option<Dispute>,
    /// `data.capability_gap`, in the worker's words.
    gap: Option<String>,
    /// `data.wisdom`, without the decisions of the discovery.
    wisdom: Option<Vec<(Book, Vec<String>)>>,
    /// It gives a score, whatever that is.
    pub(super) has_score: bool,
    /// Of a row: no more rows are to be begun.
    stop: Option<bool>,
    /// Of a row: its result.
    row: Row,
    /// What it is as a discovery; nothing if it is that of a task with an impossible name.
    pub(super) discovery: Option<Box<TaskDiscovery>>,
}

/// That a team could not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dispute {
    pub(super) severity: Severity,
    pub(super) reason: Option<String>,
}

/// How much that matters. What is not said to matter little matters much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    High,
    Medium,
    Low,
}

impl WorkerReport {
    /// Reads the bytes of a result of a task.
    pub(crate) fn from_bytes(bytes: Vec<u8>, task: &TaskId) -> Result<Self, Refused> {
        let text = String::from_utf8(bytes).map_err(|error| Refused::NotUtf8(error.utf8_error().valid_up_to()))?;
        Self::parse(text.strip_prefix('\u{feff}').unwrap_or(&text), task)
    }

    /// Reads the text of a result of a task.
    pub(crate) fn parse(text: &str, task: &TaskId) -> Result<Self, Refused> {
        if text.trim().is_empty() {
            return Err(Refused::Empty);
        }
        let document = json::parse(text).map_err(|malformed| Refused::malformed(text, &malformed))?;
        let root = document.root();
        if root.kind() != Kind::Object {
            return Err(Refused::NotAnObject);
        }
        let data = last(root, "data");
        let of_data = |name: &str| data.and_then(|data| last(data, name));
        let text_in_data = |name: &str| of_data(name).and_then(text_only);
        let names = |named: Value<'_, '_>| named.items().filter_map(text_only).collect();
        Ok(Self {
            text: text.into(),
            status: last(root, "status").map(words),
            findings: last(root, "findings").map(words),
            error: last(root, "error").map(words),
            reported_by: last(root, REPORTED_BY).and_then(text_only),
            supervision: last(root, "supervision_verdict").and_then(text_only),
            verdict: of_data("verdict").map(|verdict| (text_only(verdict), verdict.raw().to_owned())),
            rejects: of_data("rejects").map(names).unwrap_or_default(),
            critique: text_in_data("critique"),
            complexity: text_in_data("complexity").and_then(|word| Complexity::from_word(&word.to_lowercase())),
            dispute: of_data("consensus_blocked").and_then(dispute),
            gap: data.and_then(gaps::gap),
            wisdom: of_data("wisdom").map(wisdom),
            has_score: last(root, "quality_score").is_some(),
            stop: last(root, "stop").map(|stop| stop.as_bool() == Some(true)),
            row: Row::new(last(root, "result"), data),
            discovery: discovery::from_value(root, task).map(Box::new),
        })
    }

    /// The same, with what another report says where this one says nothing.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            status: self.status.or(other.status),
            findings: self.findings.or(other.findings),
            error: self.error.or(other.error),
            reported_by: self.reported_by.or(other.reported_by),
            supervision: self.supervision.or(other.supervision),
            verdict: self.verdict.or(other.verdict),
            rejects: if self.rejects.is_empty() { other.rejects } else { self.rejects },
            critique: self.critique.or(other.critique),
            complexity: self.complexity.or(other.complexity),
            dispute: self.dispute.or(other.dispute),
            gap: self.gap.or(other.gap),
            wisdom: self.wisdom.or(other.wisdom),
            has_score: other.has_score,
            stop: self.stop.or(other.stop),
            row: self.row.or(other.row),
            // What is taken over besides is what the file says.
            text: other.text,
            discovery: other.discovery,
        }
    }

    /// What came out, whole.
    pub(crate) fn findings(&self) -> &str {
        self.findings.as_deref().unwrap_or_default()
    }

    /// Whether it reports success; else why not.
    pub(crate) fn completed(&self) -> Result<(), String> {
        match self.status.as_deref() {
            Some("completed") => Ok(()),
            Some("failed") => {
                let error = self.error.clone().filter(|error| !error.trim().is_empty());
                Err(error.unwrap_or_else(|| "it reported failed without an error".to_owned()))
            }
            None => Err("its result has no status".to_owned()),
            Some(other) => Err(format!("its result has the status `{other}`, not `completed` or `failed`")),
        }
    }

    /// How the task ended, if it says so.
    pub(crate) fn status(&self) -> Option<&str> {
        self.status.as_deref().filter(|status| matches!(*status, "completed" | "failed"))
    }

    /// Whether that attempt reported it by a tool or a command of ours.
    pub(super) fn is_by(&self, attempt_key: &str) -> bool {
        self.reported_by.as_deref() == Some(attempt_key)
    }

    /// What is wrong with the work of others, in its words.
    pub(super) fn critique(&self) -> &str {
        let reason = || self.dispute.as_ref().and_then(|dispute| dispute.reason.as_deref());
        self.critique.as_deref().or_else(reason).unwrap_or_else(|| self.findings())
    }

    /// Whether it ends the job that its row is of.
    pub(crate) fn stops(&self) -> bool {
        self.stop == Some(true)
    }

    /// The result of a row.
    pub(crate) const fn row(&self) -> &Row {
        &self.row
    }

    /// What no role of the team can do, in its words.
    pub(crate) fn gap(&self) -> Option<String> {
        self.gap.clone()
    }

    /// Paths of what it delivers.
    pub(crate) fn artifacts(&self) -> &[String] {
        self.discovery.as_ref().map_or(&[], |discovery| &discovery.artifacts_produced)
    }

    /// It delivers something, names what it changed, or judges the work of others.
    pub(super) fn shows_work(&self) -> bool {
        let has_changed = self.discovery.as_ref().is_some_and(|discovery| !discovery.files_modified.is_empty());
        let has_verdict = self.supervision.is_some() || matches!(self.verdict, Some((Some(_), _)));
        has_changed || has_verdict || !self.artifacts().is_empty()
    }

    /// What others should know: `data.wisdom`, and the decisions of the discovery.
    pub(super) fn wisdom(&self) -> Vec<(Book, Vec<String>)> {
        let known = |book| self.wisdom.iter().flatten().filter(move |(of, _)| *of == book).flat_map(|(_, texts)| texts);
        let decided = self.discovery.iter().flat_map(|discovery| &discovery.decisions);
        let all = Book::ALL.map(|book| {
            let decided = decided.clone().filter(|_| book == Book::Decisions);
            (book, decided.chain(known(book)).cloned().collect::<Vec<_>>())
        });
        all.into_iter().filter(|(_, texts)| !texts.is_empty()).collect()
    }
}

/// The value of the last key with that name, unless it is null.
fn last<'d, 's>(object: Value<'d, 's>, name: &str) -> Option<Value<'d, 's>> {
    object.entries().filter(|entry| entry.name() == name).last().map(|entry| entry.value).filter(|it| !it.is_null())
}

fn text_only(value: Value<'_, '_>) -> Option<String> {
    value.as_text().map(std::borrow::Cow::into_owned)
}

/// A text as it is, and anything else as it was written.
fn words(value: Value<'_, '_>) -> String {
    text_only(value).unwrap_or_else(|| value.raw().to_owned())
}

fn dispute(blocked: Value<'_, '_>) -> Option<Dispute> {
    if blocked.as_bool() == Some(false) {
        return None;
    }
    let word = blocked.get("severity").unwrap_or(blocked).as_text().unwrap_or_default();
    let severity = match word.trim().to_lowercase().as_str() {
        "medium" => Severity::Medium,
        "low" => Severity::Low,
        _ => Severity::High,
    };
    Some(Dispute { severity, reason: blocked.get("reason").and_then(text_of).map(std::borrow::Cow::into_owned) })
}

/// What is told as such, by file; a list of texts, or one.
fn wisdom(told: Value<'_, '_>) -> Vec<(Book, Vec<String>)> {
    let text = |value: Value<'_, '_>| text_of(value).map(std::borrow::Cow::into_owned);
    let texts = |value: Value<'_, '_>| match value.kind() {
        Kind::Array => value.items().filter_map(text).collect(),
        _ => text(value).into_iter().collect(),
    };
    Book::ALL.into_iter().filter_map(|book| Some((book, texts(told.get(book.word())?)))).collect()
}
