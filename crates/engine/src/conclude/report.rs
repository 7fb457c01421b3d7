//! The content of a worker's result, read once, or one sentence that says why it is invalid. A result is text
//! of a worker: only these fields count, only with these words, and a key that stands twice counts as it
//! stands last.

use rustix::io::Errno;
use team_executor_core::{Complexity, TaskId};
use team_executor_files::discovery::{self, TaskDiscovery};
use team_executor_files::fields::text_of;
use team_executor_files::json::{self, Document, Kind, Malformed, Value};

use super::gaps;
use crate::conclude::wisdom::Book;

/// The most that is read of a result.
pub(crate) const RESULT_BYTES: u64 = 1 << 20;
/// Names in a result the attempt that reported it by a tool or a command of ours.
pub(crate) const REPORTED_BY: &str = "reported_by";

/// A cost of one attempt that is higher is a mistake.
const MOST_USD: f64 = 1e6;

/// What a worker reported: in its result, in its discovery, or in the last words of its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerReport {
    /// As it was written.
    pub(super) text: String,
    status: Option<String>,
    /// What came out, whole.
    pub(crate) findings: String,
    error: Option<String>,
    /// The key of the attempt that reported it by a tool or a command of ours.
    pub(crate) reported_by: Option<String>,
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
    wisdom: Vec<(Book, Vec<String>)>,
    /// It gives a score, whatever that is.
    pub(super) has_score: bool,
    /// Of a row: no more rows are to be begun.
    stops: bool,
    /// Of a row: its result as JSON text. `result`, an object or its text; without it `data`.
    pub(crate) row: Option<String>,
    /// `usage`: what it says that it used.
    pub(crate) usage: Option<ReportedUsage>,
    /// What it is as a discovery; nothing if it is that of a task with an impossible name.
    pub(super) discovery: Option<Box<TaskDiscovery>>,
}

/// What a worker says that its attempt used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReportedUsage {
    pub(crate) model: Option<String>,
    /// Tokens that were sent, those from a cache included.
    pub(crate) input: u64,
    /// Of them, those from a cache.
    pub(crate) cached: u64,
    /// Tokens that were written.
    pub(crate) output: u64,
    pub(crate) cost_micros: Option<u64>,
    pub(crate) turns: Option<u64>,
}

/// That a team could not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dispute {
    pub(super) severity: Severity,
    pub(super) reason: Option<String>,
}

/// How much that matters. Without a severity it matters much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    High,
    Medium,
    Low,
}

/// Why a result cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A link, a folder, a pipe, or something that may not be opened.
    #[error("{0}")]
    NoFile(String),
    /// It has so many bytes.
    #[error("it has {0} bytes; the limit is {RESULT_BYTES}")]
    TooLarge(u64),
    /// It is no text from this byte on.
    #[error("it is not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is JSON, and no object.
    #[error("it is not an object")]
    NotAnObject,
    /// It is no JSON, or nested too deep.
    #[error("{message} (line {line})")]
    Malformed {
        /// Where.
        line: usize,
        /// Why.
        message: String,
    },
}

impl Refused {
    /// A file with so many bytes could not be read.
    pub(super) fn by_errno(errno: Errno, bytes: u64) -> Self {
        if errno == Errno::FBIG { Self::TooLarge(bytes) } else { Self::NoFile(team_executor_beneath::words(errno)) }
    }

    pub(super) fn malformed(text: &str, malformed: &Malformed) -> Self {
        let before = text.get(..malformed.span.start as usize).unwrap_or(text);
        Self::Malformed { line: before.matches('\n').count() + 1, message: malformed.message.clone() }
    }

    /// The error of an attempt that has it as its result.
    pub(crate) fn sentence(&self) -> String {
        format!("its result cannot be read: {self}")
    }
}

impl WorkerReport {
    /// Reads the bytes of a result of a task.
    pub(crate) fn from_bytes(bytes: Vec<u8>, task: &TaskId) -> Result<Self, Refused> {
        if bytes.len() as u64 > RESULT_BYTES {
            return Err(Refused::TooLarge(bytes.len() as u64));
        }
        let text = String::from_utf8(bytes).map_err(|error| Refused::NotUtf8(error.utf8_error().valid_up_to()))?;
        Self::parse(text.strip_prefix('\u{feff}').unwrap_or(&text), task)
    }

    /// Reads the text of a result of a task.
    pub(crate) fn parse(text: &str, task: &TaskId) -> Result<Self, Refused> {
        Ok(Self::read(&[document(text)?], text, task))
    }

    /// The same, with what is reported besides: that counts first, but what is taken over is what was written.
    pub(super) fn with(self, reported: &str, task: &TaskId) -> Result<Self, Refused> {
        Ok(Self::read(&[document(reported)?, document(&self.text)?], &self.text, task))
    }

    /// Reads each field from the first document that has it; the last one is the text.
    fn read(documents: &[Document<'_>], text: &str, task: &TaskId) -> Self {
        let top = |name: &str| documents.iter().find_map(|document| last(document.root(), name));
        let data = || documents.iter().filter_map(|document| last(document.root(), "data"));
        let of_data = |name: &str| data().find_map(|data| last(data, name));
        let text_in_data = |name: &str| of_data(name).and_then(text_only);
        let written = documents.last().map(Document::root);
        Self {
            text: text.into(),
            status: top("status").map(words),
            findings: top("findings").map(words).unwrap_or_default(),
            error: top("error").map(words),
            reported_by: top(REPORTED_BY).and_then(text_only),
            supervision: top("supervision_verdict").and_then(text_only),
            verdict: of_data("verdict").map(|verdict| (text_only(verdict), verdict.raw().to_owned())),
            rejects: of_data("rejects").into_iter().flat_map(Value::items).filter_map(text_only).collect(),
            critique: text_in_data("critique"),
            complexity: text_in_data("complexity").and_then(|word| Complexity::from_word(&word.to_lowercase())),
            dispute: of_data("consensus_blocked").and_then(dispute),
            gap: of_data(gaps::NAME).and_then(gaps::words),
            wisdom: of_data("wisdom").map(wisdom).unwrap_or_default(),
            has_score: written.and_then(|root| last(root, "quality_score")).is_some(),
            stops: top("stop").and_then(Value::as_bool) == Some(true),
            row: top("result").or_else(|| data().find(|data| says_something(*data))).map(words),
            usage: top("usage").and_then(usage),
            discovery: written.and_then(|root| discovery::from_value(root, task)).map(Box::new),
        }
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

    /// What is wrong with the work of others, in its words.
    pub(super) fn critique(&self) -> &str {
        let reason = || self.dispute.as_ref().and_then(|dispute| dispute.reason.as_deref());
        self.critique.as_deref().or_else(reason).unwrap_or(&self.findings)
    }

    /// Whether it ends the job that its row is of.
    pub(crate) const fn stops(&self) -> bool {
        self.stops
    }

    /// The capability gap, in its words.
    pub(crate) fn gap(&self) -> Option<String> {
        self.gap.clone()
    }

    /// Paths of what it delivers.
    pub(crate) fn artifacts(&self) -> &[String] {
        self.discovery.as_ref().map_or(&[], |discovery| &discovery.artifacts_produced)
    }

    /// It delivers something, names what it changed, or reviews the work of others.
    pub(super) fn shows_work(&self) -> bool {
        let has_changed = self.discovery.as_ref().is_some_and(|discovery| !discovery.files_modified.is_empty());
        let has_verdict = self.supervision.is_some() || matches!(self.verdict, Some((Some(_), _)));
        has_changed || has_verdict || !self.artifacts().is_empty()
    }

    /// What others should know: `data.wisdom`, and the decisions of the discovery.
    pub(super) fn wisdom(&self) -> Vec<(Book, Vec<String>)> {
        let known = |book| self.wisdom.iter().filter(move |(of, _)| *of == book).flat_map(|(_, texts)| texts);
        let decided = self.discovery.iter().flat_map(|discovery| &discovery.decisions);
        let all = Book::ALL.map(|book| {
            let decided = decided.clone().filter(|_| book == Book::Decisions);
            (book, decided.chain(known(book)).cloned().collect::<Vec<_>>())
        });
        all.into_iter().filter(|(_, texts)| !texts.is_empty()).collect()
    }
}

/// The object in a text.
fn document(text: &str) -> Result<Document<'_>, Refused> {
    if text.trim().is_empty() {
        return Err(Refused::Empty);
    }
    let document = json::parse(text).map_err(|malformed| Refused::malformed(text, &malformed))?;
    if document.root().kind() == Kind::Object { Ok(document) } else { Err(Refused::NotAnObject) }
}

/// Whether there is more in it than the lists that an agent must not leave out.
fn says_something(data: Value<'_, '_>) -> bool {
    let is_empty = |it: Value<'_, '_>| it.is_null() || it.kind() == Kind::Array && it.items().next().is_none();
    data.kind() == Kind::Object && !data.entries().all(|entry| is_empty(entry.value))
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

/// Nothing if no number in it counts: none that is negative, broken or beyond all measure does.
fn usage(said: Value<'_, '_>) -> Option<ReportedUsage> {
    let count = |name| last(said, name).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
    let cost = last(said, "cost_usd").and_then(Value::as_f64).filter(|usd| (0.0..=MOST_USD).contains(usd));
    let (input, output, turns) = (count("input_tokens"), count("output_tokens"), count("turns"));
    if input.or(output).or(turns).is_none() && cost.is_none() {
        return None;
    }
    Some(ReportedUsage {
        model: last(said, "model").and_then(text_only).filter(|model| !model.trim().is_empty()),
        input: input.unwrap_or(0),
        cached: count("cached_tokens").unwrap_or(0).min(input.unwrap_or(0)),
        output: output.unwrap_or(0),
        cost_micros: cost.map(|usd| (usd * 1e6).round() as u64),
        turns,
    })
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
