//! All files are read here: bytes to text to document, with a finding for every problem on the way.

use std::sync::Arc;

use crate::code::Code;
use crate::finding::{Finding, Findings, Severity, Sources};
use crate::folder::{Folder, ReadError};
use crate::json::{self, Document};
use crate::shape::{Checker, Type};
use crate::span::{Source, Span};

/// What is said about a file that cannot be read.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// How sentences about it begin, for instance `Invalid session: tasks.json`.
    pub subject: &'static str,
    /// The name of its schema.
    pub schema: &'static str,
    /// The most bytes that are read.
    pub limit: u64,
    /// What to do when it is missing.
    pub if_missing: &'static str,
    /// What to do when it is wrong, other than to fix it by hand; begins with `or`.
    pub if_wrong: &'static str,
}

/// A session folder that is being read.
pub struct Reading<'f> {
    /// The folder.
    pub folder: &'f dyn Folder,
    /// What the folder is called.
    pub name: String,
    /// Everything found so far.
    pub findings: Findings,
    /// The texts that findings point into.
    pub sources: Sources,
}

impl<'f> Reading<'f> {
    /// Nothing read yet.
    pub fn new(folder: &'f dyn Folder, name: &str) -> Self {
        Self { folder, name: name.to_owned(), findings: Findings::default(), sources: Sources::default() }
    }

    /// The text of a file that the session needs, without its byte order mark.
    pub fn required_text(&mut self, file: &Arc<str>, about: &About) -> Option<String> {
        self.required_text_of(about.subject, file, about)
    }

    /// The same for a file about which sentences begin in their own way.
    pub fn required_text_of(&mut self, subject: &str, file: &Arc<str>, about: &About) -> Option<String> {
        let result = self.folder.read(file, about.limit);
        if result == Err(ReadError::Missing) {
            let finding = Finding::error(Code::FileMissing, format!("{subject} missing"));
            self.findings.push(finding.file(file).help(about.if_missing));
            return None;
        }
        self.text(subject, file, about, Severity::Error, result)
    }

    /// The text of a file that may be missing. What is wrong with it has the given severity.
    pub fn optional_text(&mut self, file: &Arc<str>, about: &About, severity: Severity) -> Option<String> {
        let result = self.folder.read(file, about.limit);
        if result == Err(ReadError::Missing) { None } else { self.text(about.subject, file, about, severity, result) }
    }

    fn text(
        &mut self,
        subject: &str,
        file: &Arc<str>,
        about: &About,
        severity: Severity,
        result: Result<Vec<u8>, ReadError>,
    ) -> Option<String> {
        let bytes = match result {
            Ok(bytes) => bytes,
            Err(error) => {
                let finding = unreadable(subject, file, &error);
                self.findings.push(Finding { severity, ..finding });
                return None;
            }
        };
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                if text.starts_with('\u{FEFF}') {
                    text.drain(..'\u{FEFF}'.len_utf8());
                    let message = "a byte order mark at the start was skipped";
                    self.findings.push(Finding::warning(Code::ByteOrderMark, message).file(file));
                }
                Some(text)
            }
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let label = format!("byte {at} of the file is not UTF-8");
                let finding = Finding::error(Code::Corrupt, format!("{subject} corrupt"));
                let finding = finding.at(file, Span::new(at, at + '\u{FFFD}'.len_utf8()), label);
                let finding = finding.help(format!("save the file as UTF-8, {}", about.if_wrong));
                self.findings.push(Finding { severity, ..finding });
                self.sources.insert(file.clone(), Source::new(text));
                None
            }
        }
    }

    /// The document in a text; nothing if it is none.
    pub fn document<'t>(
        &mut self,
        file: &Arc<str>,
        about: &About,
        severity: Severity,
        text: &'t str,
    ) -> Option<Document<'t>> {
        let corrupt = || Finding { severity, ..Finding::error(Code::Corrupt, format!("{} corrupt", about.subject)) };
        match json::parse(text) {
            Ok(document) => {
                self.repeated_keys(file, about, severity, text, &document);
                for span in document.lone_surrogates() {
                    let message = "half of a surrogate pair was read as U+FFFD; the text is kept as it is";
                    self.findings.push(Finding::warning(Code::LoneSurrogate, message).at(file, *span, ""));
                }
                Some(document)
            }
            Err(malformed) => {
                let mut finding = corrupt().at(file, malformed.span, malformed.message);
                if let Some((span, name)) = malformed.opened {
                    finding = finding.and(file, span, format!("the {name} opened here is not closed yet"));
                }
                self.findings.push(finding.help(format!("fix it by hand, {}", about.if_wrong)));
                None
            }
        }
    }

    fn repeated_keys(
        &mut self,
        file: &Arc<str>,
        about: &About,
        severity: Severity,
        text: &str,
        document: &Document<'_>,
    ) {
        for repeated in document.repeated_keys() {
            let key = &text[repeated.again.range()];
            let finding =
                Finding { severity, ..Finding::error(Code::DuplicateKey, format!("{} corrupt", about.subject)) };
            let finding = finding
                .at(file, repeated.again, format!("{key} appears twice in this object"))
                .and(file, repeated.first, "first here")
                .help("rename or remove one of the two; most programs silently keep only the last")
                .help(format!("fix it by hand, {}", about.if_wrong));
            self.findings.push(finding);
        }
    }

    /// Compares a document with its shape.
    pub fn check(&mut self, file: &Arc<str>, about: &About, severity: Severity, document: &Document<'_>, ty: &Type) {
        let recovery =
            format!("fix it by hand (`team-executor schema {}` shows every field), {}", about.schema, about.if_wrong);
        let mut checker =
            Checker { subject: about.subject, file, recovery: &recovery, severity, findings: &mut self.findings };
        checker.check(document.root(), ty);
    }
}

/// What is said about a file that is there and cannot be read.
pub(crate) fn unreadable(subject: &str, file: &Arc<str>, error: &ReadError) -> Finding {
    let (code, message, help) = match error {
        ReadError::TooLarge { bytes, limit } => (
            Code::FileTooLarge,
            format!("{subject} too large"),
            format!("{bytes} bytes, but the limit is {limit}; is it the right file?"),
        ),
        ReadError::Outside => (
            Code::LeavesSession,
            format!("{subject} leaves the session folder"),
            "put the file itself into the session folder, not a link that leads out of it".to_owned(),
        ),
        error => (
            Code::FileUnreadable,
            format!("{subject} unreadable: {error}"),
            format!("look at it in the session folder with: ls -ld {file}"),
        ),
    };
    Finding::error(code, message).file(file).help(help)
}
