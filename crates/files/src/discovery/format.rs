//! The format of one discovery file: its shape, its reader and its writer.

use std::sync::Arc;

use team_executor_core::{TaskId, TaskStatus, Timestamp, Verdict};

use crate::board::WORKER;
use crate::code::Code;
use crate::draft;
use crate::fields::{self, ID, field, lines, text, text_of};
use crate::finding::{Finding, Severity};
use crate::findings_text::{cut, cut_to};
use crate::json::{Document, Layout, Value, Writer};
use crate::limits;
use crate::reading::{About, Reading};
use crate::shape::{Field, Object, Other, Type};
use crate::side::{read_each, write_plain, write_text, write_unknown};
use crate::span::Span;
use crate::time;

/// The folder that they are in.
pub const FOLDER: &str = "discoveries";

/// What is said about them.
pub static ABOUT: About = About {
    subject: "discoveries/<task>.json",
    schema: "discovery",
    limit: limits::DISCOVERY_BYTES,
    if_missing: "it is written when its task is over",
    if_wrong: "or let the task run again",
};

/// The shape of one.
pub static SHAPE: Type = Type::Object(&OBJECT);

static OBJECT: Object = Object {
    about: "What one task found",
    fields: &[
        Field::expected("task_id", &ID, "the file's name is used", "The task").or(&["id"]),
        Field::optional("worker", &WORKER, "Role or worker that did it"),
        Field::expected("timestamp", &Type::Time, "it is unknown", "When the task was over")
            .or(&["ts", "completed_at"]),
        Field::optional("type", &Type::Text, "The part of the pipeline"),
        Field::expected("status", &Type::Word(&["completed", "failed"], STATUS), "it is unknown", "How it ended"),
        Field::expected("findings", &FINDINGS, "`summary` is used, if it is there", "Findings, at most 500 characters"),
        Field::optional("findings_full", &Type::Text, "Full findings, where `findings` was cut"),
        Field::optional("quality_score", &Type::Nullable(&Type::Number(0.0, 100.0)), "From reviewers, 0 to 100"),
        Field::optional("supervision_verdict", &Type::Nullable(&Type::Word(Verdict::WORDS, &[])), "From supervisors"),
        Field::optional(
            "error",
            &Type::Nullable(&Type::Or(
                &Type::Name,
                &[Other { ty: &Type::Text, understood: "an empty `error` was read as none" }],
            )),
            "Why it failed",
        ),
        Field::expected("data", &Type::Object(&DATA), "its fields are looked for beside it", "Details"),
        Field::optional("artifacts_produced", &LIST, "Paths of the artifacts").or(&["artifacts", "artifact"]),
    ],
};

static DATA: Object = Object {
    about: "Details of a discovery",
    fields: &[
        Field::optional("key_findings", &LIST, "At most 5, each of at most 100 characters"),
        Field::optional("key_findings_full", &LIST, "All of them, where `key_findings` had to be cut"),
        Field::optional("decisions", &LIST, "What was decided, and why"),
        Field::optional("files_modified", &LIST, "Files that were changed"),
        Field::optional("verification", &Type::Word(VERIFICATION, &[]), "How it was verified"),
        Field::optional("risks_logged", &Type::Whole(0), "How many risks, from supervisors"),
        Field::optional("blocks_detected", &Type::Whole(0), "How many blocking issues, from supervisors"),
    ],
};

static LIST: Type =
    Type::Or(&Type::List(&Type::Text), &[Other { ty: &Type::Text, understood: "one text was read as a list of one" }]);

static FINDINGS: Type = Type::Or(
    &Type::Text,
    &[Other { ty: &Type::List(&Type::Anything), understood: "`findings` that are a list were read as one line each" }],
);

pub(super) const VERIFICATION: &[&str] = &["self-validated", "peer-reviewed", "tested"];

const STATUS: &[(&str, &str)] = &[
    ("done", "completed"),
    ("complete", "completed"),
    ("pass", "completed"),
    ("passed", "completed"),
    ("success", "completed"),
    ("warning", "completed"),
    ("fail", "failed"),
    ("error", "failed"),
    ("timeout", "failed"),
    ("timed_out", "failed"),
];

/// What one task found.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDiscovery {
    /// The task.
    pub task: TaskId,
    /// Who did it.
    pub worker: Option<String>,
    /// When the task was over, if the file says so.
    pub timestamp: Option<Timestamp>,
    /// The part of the pipeline.
    pub kind: Option<String>,
    /// Completed or failed, if the file says so.
    pub status: Option<TaskStatus>,
    /// What came out, uncut.
    pub findings: String,
    /// From reviewers.
    pub quality_score: Option<f64>,
    /// From supervisors.
    pub verdict: Option<Verdict>,
    /// Why it failed.
    pub error: Option<String>,
    /// The most important points, uncut.
    pub key_findings: Vec<String>,
    /// What was decided.
    pub decisions: Vec<String>,
    /// Files that were changed.
    pub files_modified: Vec<String>,
    /// How it was verified.
    pub verification: Option<String>,
    /// From supervisors.
    pub risks_logged: Option<u32>,
    /// From supervisors.
    pub blocks_detected: Option<u32>,
    /// Paths of the artifacts.
    pub artifacts_produced: Vec<String>,
}

impl TaskDiscovery {
    /// A discovery of which only the task is known.
    pub fn new(task: TaskId) -> Self {
        Self {
            task,
            worker: None,
            timestamp: None,
            kind: None,
            status: None,
            findings: String::new(),
            quality_score: None,
            verdict: None,
            error: None,
            key_findings: Vec::new(),
            decisions: Vec::new(),
            files_modified: Vec::new(),
            verification: None,
            risks_logged: None,
            blocks_detected: None,
            artifacts_produced: Vec::new(),
        }
    }
}

/// Reads one file; nothing if it is missing or cannot be read.
pub fn read(reading: &mut Reading<'_>, file: &Arc<str>) -> Option<TaskDiscovery> {
    let mut found = None;
    read_each(reading, FOLDER, &ABOUT, [file.clone()], |reading, file, text| {
        found = understand(reading, file, text).map(|(discovery, _)| discovery);
        None
    });
    found
}

/// The file for a discovery. Keys of the original that the format does not know are kept as they were.
pub fn write(discovery: &TaskDiscovery, original: Option<&Document<'_>>) -> String {
    let original = original.map(Document::root);
    let mut writer = Writer::new(Layout::Pretty);
    let out = &mut writer;
    out.begin_object();
    write_text(out, "task_id", Some(discovery.task.as_str()));
    write_text(out, "worker", discovery.worker.as_deref());
    write_text(out, "timestamp", discovery.timestamp.map(time::format).as_deref());
    write_text(out, "type", discovery.kind.as_deref());
    write_text(out, "status", discovery.status.map(TaskStatus::word));
    let short = cut(&discovery.findings);
    write_text(out, "findings", Some(&short));
    write_text(out, "findings_full", (short != discovery.findings).then_some(&discovery.findings));
    write_plain(out, "quality_score", discovery.quality_score.filter(|score| score.is_finite()));
    write_text(out, "supervision_verdict", discovery.verdict.map(Verdict::word));
    write_text(out, "error", discovery.error.as_deref());
    out.key("data");
    out.begin_object();
    write_data(out, discovery);
    write_unknown(out, original.and_then(|original| original.get("data")), &DATA);
    out.end_object();
    out.key("artifacts_produced");
    out.texts(&discovery.artifacts_produced);
    write_unknown(out, original, &OBJECT);
    out.end_object();
    writer.finish()
}

fn write_data(out: &mut Writer, discovery: &TaskDiscovery) {
    const MOST: usize = 5;
    const CHARS: usize = 100;
    let short: Vec<_> = discovery.key_findings.iter().take(MOST).map(|text| cut_to(text, CHARS)).collect();
    out.key("key_findings");
    out.texts(&short);
    if short != discovery.key_findings {
        out.key("key_findings_full");
        out.texts(&discovery.key_findings);
    }
    out.key("decisions");
    out.texts(&discovery.decisions);
    out.key("files_modified");
    out.texts(&discovery.files_modified);
    write_text(out, "verification", discovery.verification.as_deref());
    write_plain(out, "risks_logged", discovery.risks_logged);
    write_plain(out, "blocks_detected", discovery.blocks_detected);
}

/// The discovery in a text, and where its status stands.
pub(super) fn understand(reading: &mut Reading<'_>, file: &Arc<str>, text: &str) -> Option<(TaskDiscovery, Span)> {
    let document = reading.document(file, &ABOUT, Severity::Warning, text)?;
    reading.check(file, &ABOUT, Severity::Warning, &document, &SHAPE);
    let root = document.root();
    let task = task(root, file, reading)?;
    let status = field(root, &OBJECT, "status").map_or(Span::new(0, 1), Value::span);
    let is_long = |written: &Value<'_, '_>| joined(*written).chars().count() > limits::FINDINGS_CHARS;
    if let Some(written) = findings(root).filter(is_long) {
        let message = format!("`findings` of more than {} characters were read whole", limits::FINDINGS_CHARS);
        let span = Span { start: written.span().start, end: written.span().start + 1 };
        reading.findings.push(Finding::warning(Code::OtherForm, message).at(file, span, ""));
    }
    Some((discovery(root, task), status))
}

/// The discovery that a value is: of the task that it names, else of the given one; nothing if it names none that can be.
pub fn from_value(root: Value<'_, '_>, task: &TaskId) -> Option<TaskDiscovery> {
    let stated = field(root, &OBJECT, "task_id").and_then(text_of);
    let task = stated.map_or_else(|| Some(task.clone()), |stated| TaskId::parse(&stated).ok())?;
    Some(discovery(root, task))
}

/// The task that a file is about: what it says itself, else its name.
fn task(root: Value<'_, '_>, file: &Arc<str>, reading: &mut Reading<'_>) -> Option<TaskId> {
    let name = file.rsplit('/').next().and_then(|name| name.strip_suffix(".json")).unwrap_or_default();
    let stated = field(root, &OBJECT, "task_id").and_then(|value| Some((text_of(value)?, value.span())));
    let Some((stated, span)) = stated else {
        return draft::task_id(name, file, Span::new(0, 1), &mut reading.findings);
    };
    if stated != name && !is_digest(name) {
        let message = "`task_id` is not the file's name; the discovery was read as that of `task_id`";
        reading.findings.push(Finding::warning(Code::Disagreement, message).at(file, span, ""));
    }
    draft::task_id(&stated, file, span, &mut reading.findings)
}

/// Whether a file has the name that is given to it where the id of its task can be no file's name.
fn is_digest(name: &str) -> bool {
    name.strip_prefix("x-").is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// What came out, under either of its names.
fn findings<'d, 's>(root: Value<'d, 's>) -> Option<Value<'d, 's>> {
    field(root, &OBJECT, "findings").or_else(|| root.get("summary"))
}

fn discovery(root: Value<'_, '_>, task: TaskId) -> TaskDiscovery {
    let data = field(root, &OBJECT, "data").unwrap_or(root);
    let whole = |name| field(data, &DATA, name)?.as_i64().and_then(|number| u32::try_from(number).ok());
    let full = lines(data, &DATA, "key_findings_full");
    let filled = |name| text(root, &OBJECT, name).filter(|text| !text.is_empty());
    let status = text(root, &OBJECT, "status").unwrap_or_default();
    let status = STATUS.iter().find(|(word, _)| *word == status).map_or(&*status, |(_, meaning)| meaning);
    TaskDiscovery {
        task,
        worker: text(root, &OBJECT, "worker"),
        timestamp: fields::timestamp(root, &OBJECT, "timestamp"),
        kind: text(root, &OBJECT, "type"),
        status: TaskStatus::from_word(status).filter(|s| matches!(s, TaskStatus::Completed | TaskStatus::Failed)),
        findings: filled("findings_full").or_else(|| findings(root).map(joined)).unwrap_or_default(),
        quality_score: field(root, &OBJECT, "quality_score")
            .and_then(Value::as_f64)
            .filter(|s| (0.0..=100.0).contains(s)),
        verdict: text(root, &OBJECT, "supervision_verdict").and_then(|word| Verdict::from_word(&word)),
        error: filled("error"),
        key_findings: if full.is_empty() { lines(data, &DATA, "key_findings") } else { full },
        decisions: lines(data, &DATA, "decisions"),
        files_modified: lines(data, &DATA, "files_modified"),
        verification: text(data, &DATA, "verification").filter(|word| VERIFICATION.contains(&word.as_str())),
        risks_logged: whole("risks_logged"),
        blocks_detected: whole("blocks_detected"),
        artifacts_produced: lines(root, &OBJECT, "artifacts_produced"),
    }
}

/// A text, or a list with one line for each element.
fn joined(value: Value<'_, '_>) -> String {
    if let Some(text) = value.as_text() {
        return text.into_owned();
    }
    let lines: Vec<_> = value.items().map(|item| text_of(item).unwrap_or(item.raw().into())).collect();
    lines.join("\n")
}
