//! One stream of an attempt: read once, or again and again while it grows.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use team_executor_agents::LogTimes;
use team_executor_agents::adapters::transcript::{Entry, Kind, Transcript};
use team_executor_beneath::open_regular;
use team_executor_files::{Code, Finding};

use super::tail::{self, Last};
use super::{Form, Query, What};
use crate::error::Error;

/// How much is read at a time.
pub(super) const PIECE: usize = 1 << 16;
/// A line of an agent's stream that is longer is left out.
const LINE_BYTES: usize = 8 << 20;

/// Takes a piece: when it was printed, what it is, and its bytes.
pub(super) type Each<'e> = dyn FnMut(Option<u64>, What<'_>, &[u8]) + 'e;

/// One stream of an attempt, and how far it was read.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) name: &'static str,
    path: PathBuf,
    file: Option<File>,
    times: LogTimes,
    text: Text,
}

/// A part of a stream, as it is shown.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// Whether it is the stream of a known agent, once that is known.
    pub(super) known: Option<bool>,
    transcript: Transcript,
    /// The begin of a line whose end is not there yet, and where it begins.
    begun: Vec<u8>,
    place: u64,
    /// The line is too long; how much of it there was.
    too_long: usize,
    /// Words of an agent that may go on: what they are, whether a line of them was told, when they began, and the rest.
    words: Option<(Kind, bool, Option<u64>, String)>,
    /// The bytes before were told, up to the middle of a line.
    is_inside: bool,
}

impl Stream {
    pub(super) fn new(name: &'static str, path: PathBuf) -> Self {
        Self { name, path, file: None, times: LogTimes::default(), text: Text::default() }
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> Error {
        let finding = Finding::error(Code::FileUnreadable, format!("cannot read {}: {error}", self.path.display()));
        Error::io(finding.help("once the cause is gone, the same command works"))
    }

    /// Reads what has come since the last time; at the end also a line that was never ended.
    pub(super) fn read(&mut self, query: &Query<'_>, is_end: bool, each: &mut Each<'_>) -> io::Result<()> {
        let is_new = self.file.is_none();
        if is_new {
            self.file = match open_regular(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None, // an attempt that never ran has no output
                file => Some(file?),
            };
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if query.form != Form::Bytes || query.since.is_some() {
            self.times = LogTimes::read(&self.path, changed(file)?);
        }
        if is_new {
            self.text.known = match query.form {
                Form::Bytes | Form::Lines => Some(false),
                Form::Events | Form::Text { .. } if self.name == "stderr" => Some(false),
                Form::Events | Form::Text { .. } => tail::is_known(file)?,
            };
            let from = match query.since {
                Some(time) => self.times.since(time).map_or_else(|| file.metadata().map(|file| file.len()), Ok)?,
                None => 0,
            };
            self.text.place = tail::line_begin(file, from)?;
            if let Some(lines) = query.tail {
                if self.text.known == Some(true) && matches!(query.form, Form::Text { .. }) {
                    return self.read_last(query, lines, is_end, each);
                }
                self.text.place = tail::last_lines(file, self.text.place, lines)?;
            }
            file.seek(SeekFrom::Start(self.text.place))?;
        }
        self.text.read(file, query.form, &self.times, each)?;
        if is_end {
            self.text.end(query.form, &self.times, each);
        }
        Ok(())
    }

    /// Tells the last lines of what an agent's stream says. More and more of the log is read until there are enough.
    fn read_last(&mut self, query: &Query<'_>, most: usize, is_end: bool, each: &mut Each<'_>) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let (first, length) = (self.text.place, file.metadata()?.len());
        let mut window = tail::WINDOW;
        loop {
            let from = tail::line_begin(file, first.max(length.saturating_sub(window)))?;
            let mut last = Last::new(most);
            let mut text = Text { known: Some(true), place: from, ..Text::default() };
            file.seek(SeekFrom::Start(from))?;
            let mut keep = |at, what: What<'_>, bytes: &[u8]| last.push(at, what, bytes);
            text.read(file, query.form, &self.times, &mut keep)?;
            if is_end {
                text.end(query.form, &self.times, &mut keep);
            }
            // Before the first line that is told there must be another: it may be the rest of one.
            if last.is_full() || from <= first {
                last.tell(each);
                self.text = text;
                return Ok(());
            }
            window = window.saturating_mul(4);
        }
    }
}

impl Text {
    /// Reads a file to its end.
    pub(super) fn read(
        &mut self,
        file: &mut File,
        form: Form,
        times: &LogTimes,
        each: &mut Each<'_>,
    ) -> io::Result<()> {
        let mut bytes = [0; PIECE];
        loop {
            let length = file.read(&mut bytes)?;
            if length == 0 {
                return Ok(());
            }
            if form == Form::Bytes {
                each(None, What::Bytes, &bytes[..length]);
                continue;
            }
            for part in bytes[..length].split_inclusive(|byte| *byte == b'\n') {
                self.part(part, form, times, each);
            }
        }
    }

    /// Takes a line, or a part of one.
    fn part(&mut self, part: &[u8], form: Form, times: &LogTimes, each: &mut Each<'_>) {
        let is_ended = part.ends_with(b"\n");
        let passes = form == Form::Text { in_lines: false } && self.known != Some(true) && self.begun.is_empty();
        // A line that may be the first event is kept until it is whole.
        if passes && (self.is_inside || self.known == Some(false) || !part.starts_with(b"{")) {
            self.is_inside = !is_ended;
            self.place += part.len() as u64;
            return each(None, What::Bytes, part);
        }
        if self.known == Some(true) && self.begun.len() + part.len() > LINE_BYTES {
            self.too_long += self.begun.len() + part.len();
            self.begun.clear();
        } else if self.too_long > 0 {
            self.too_long += part.len();
        } else {
            self.begun.extend_from_slice(part);
        }
        if is_ended {
            self.line(form, times, each);
        }
    }

    /// Takes the line that has begun.
    fn line(&mut self, form: Form, times: &LogTimes, each: &mut Each<'_>) {
        let line = std::mem::take(&mut self.begun);
        let (too_long, at) = (std::mem::take(&mut self.too_long), times.at(self.place));
        self.place += (line.len() + too_long) as u64;
        let bare = line.strip_suffix(b"\n").unwrap_or(&line);
        self.known = self.known.or_else(|| Transcript::is_known([bare]));
        match form {
            _ if too_long > 0 => {
                let text = format!("a line of {too_long} bytes is left out: --raw shows it");
                self.say(vec![Entry { kind: Kind::Note, text, goes_on: false }], at, each);
            }
            Form::Events if self.known == Some(true) => each(at, What::Event(&self.transcript.line(bare)), bare),
            Form::Text { .. } if self.known == Some(true) => {
                let entries = self.transcript.line(bare);
                self.say(entries, at, each);
            }
            Form::Text { in_lines: false } => each(at, What::Bytes, &line),
            _ => each(at, What::Line, bare),
        }
        self.begun = line;
        self.begun.clear();
    }

    /// Tells what a line says, as far as its lines are whole.
    fn say(&mut self, entries: Vec<Entry>, at: Option<u64>, each: &mut Each<'_>) {
        for Entry { kind, text, goes_on } in entries {
            match &mut self.words {
                Some((_, _, _, words)) if goes_on => words.push_str(&text),
                _ => {
                    self.say_rest(each);
                    self.words = Some((kind, false, at, text));
                }
            }
        }
        if let Some((kind, is_told, at, words)) = &mut self.words
            && let Some(end) = words.rfind('\n')
        {
            let rest = words.split_off(end + 1);
            for line in std::mem::replace(words, rest).lines() {
                each(*at, What::Said(*kind, !std::mem::replace(is_told, true)), line.as_bytes());
            }
        }
        if !self.transcript.is_open() {
            self.say_rest(each);
        }
    }

    fn say_rest(&mut self, each: &mut Each<'_>) {
        if let Some((kind, is_told, at, words)) = self.words.take().filter(|(.., words)| !words.is_empty()) {
            each(at, What::Said(kind, !is_told), words.as_bytes());
        }
    }

    /// Tells what was never ended.
    pub(super) fn end(&mut self, form: Form, times: &LogTimes, each: &mut Each<'_>) {
        if !self.begun.is_empty() || self.too_long > 0 {
            self.line(form, times, each);
        }
        self.say_rest(each);
    }
}

/// When a file was changed last, in milliseconds since 1970.
fn changed(file: &File) -> io::Result<Option<u64>> {
    let changed = file.metadata()?.modified()?.duration_since(std::time::UNIX_EPOCH);
    Ok(changed.ok().and_then(|time| u64::try_from(time.as_millis()).ok()))
}

/// Reads at a place, as much as there is.
pub(super) fn read_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], place + length as u64)? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}
