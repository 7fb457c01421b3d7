//! Findings for programs. The shape is stable: fields are added, never renamed or removed, within one `version`.

use serde::Serialize;
use team_executor_files::{Finding, Findings, Hidden, Place, Severity, Shown, Sources};

use crate::escape;
use crate::open::Opened;

/// The version of the shape.
const VERSION: u32 = 1;

/// Everything that was found in a session.
#[derive(Debug, Serialize)]
pub struct FindingsReport<'a> {
    version: u32,
    valid: bool,
    session: Option<&'a str>,
    path: Option<&'a str>,
    dialect: Option<&'a str>,
    tasks: Option<usize>,
    edges: Option<usize>,
    waves: Option<u32>,
    errors: usize,
    warnings: usize,
    findings: Vec<JsonFinding<'a>>,
    hidden: Vec<JsonHidden>,
}

/// One finding.
#[derive(Debug, Serialize)]
pub struct JsonFinding<'a> {
    severity: &'static str,
    code: &'static str,
    message: &'a str,
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    label: Option<&'a str>,
    times: u32,
    related: Vec<JsonPlace<'a>>,
    help: &'a [String],
    /// The other warnings of its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<JsonFinding<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonPlace<'a> {
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    label: &'a str,
}

/// Findings of one kind in one file that are only counted.
#[derive(Debug, Serialize)]
pub struct JsonHidden {
    code: &'static str,
    file: Option<String>,
    count: u32,
}

impl<'a> FindingsReport<'a> {
    /// Everything that was found in a session.
    pub fn from_opened(opened: &'a Opened) -> Self {
        let session = opened.session.as_ref();
        Self {
            version: VERSION,
            valid: !opened.findings.has_errors(),
            session: session.map(|(session, _)| session.id.as_str()),
            path: Some(&opened.path),
            dialect: Some(opened.dialect.name()),
            tasks: session.map(|(session, _)| session.tasks.len()),
            edges: session.map(|(_, graph)| graph.edge_count()),
            waves: session.map(|(_, graph)| graph.wave_count()),
            errors: opened.findings.error_count(),
            warnings: opened.findings.warning_count(),
            findings: findings(opened),
            hidden: hidden(opened),
        }
    }

    /// The one finding that kept a session from being opened.
    pub fn of_unopened(finding: &'a Finding) -> Self {
        Self {
            version: VERSION,
            valid: false,
            session: None,
            path: None,
            dialect: None,
            tasks: None,
            edges: None,
            waves: None,
            errors: 1,
            warnings: 0,
            findings: vec![json(finding, &Sources::default(), "")],
            hidden: Vec::new(),
        }
    }
}

/// All findings of a session, errors first.
pub fn findings(opened: &Opened) -> Vec<JsonFinding<'_>> {
    of_all(&opened.findings, &opened.sources, &opened.path)
}

/// All findings about the files of a folder, errors first.
pub fn of_all<'a>(findings: &'a Findings, sources: &Sources, folder: &str) -> Vec<JsonFinding<'a>> {
    let one = |kind: Shown<'a>| JsonFinding {
        also: kind.also.into_iter().map(|other| json(other, sources, folder)).collect(),
        ..json(kind.first, sources, folder)
    };
    findings.shown().into_iter().map(one).collect()
}

/// Findings that are only counted.
pub fn hidden(opened: &Opened) -> Vec<JsonHidden> {
    let json = |hidden: Hidden| JsonHidden {
        code: hidden.code.name(),
        file: hidden.file.map(|file| shown_path(&opened.path, &file)),
        count: hidden.count,
    };
    opened.findings.hidden().map(json).collect()
}

/// A file of the session as the user can open it.
pub fn shown_path(folder: &str, file: &str) -> String {
    let folder = folder.trim_end_matches('/');
    let path = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    escape::line(&path)
}

fn json<'a>(finding: &'a Finding, sources: &Sources, folder: &str) -> JsonFinding<'a> {
    let place = finding.place.as_ref();
    let (line, column) = place.map_or((None, None), |place| position(place, sources));
    JsonFinding {
        severity: match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        code: finding.code.name(),
        message: &finding.message,
        file: place.map(|place| shown_path(folder, &place.file)),
        line,
        column,
        label: place.map(|place| place.label.as_str()).filter(|label| !label.is_empty()),
        times: finding.times,
        related: finding
            .related
            .iter()
            .map(|place| {
                let (line, column) = position(place, sources);
                JsonPlace { file: shown_path(folder, &place.file), line, column, label: &place.label }
            })
            .collect(),
        help: &finding.help,
        also: Vec::new(),
    }
}

fn position(place: &Place, sources: &Sources) -> (Option<usize>, Option<usize>) {
    let position = place.span.and_then(|span| Some(sources.get(&place.file)?.position(span.start)));
    (position.map(|position| position.line), position.map(|position| position.column))
}
