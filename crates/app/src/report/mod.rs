//! What became of a run, for other programs: JUnit for CI systems, annotations and a summary for GitHub, JSON for all else.
//! A report is made from the events of the run, so it can be made again at any time.

mod github;
mod html;
mod json;
mod junit;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::io::Errno;
use team_executor_beneath::{Dir, How, io_error};
use team_executor_core::{Session, Timestamp};
use team_executor_files::{Code, Finding};
use team_executor_store::{Durability, RealDisk, replace};

use crate::App;
use crate::attempts::Course;
use crate::attention::Attention;
use crate::error::Error;
use crate::open::Opened;

/// Where GitHub Actions takes a summary of a job from.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// Stands near the begin of every report. A file without it is not ours.
const MARK: &str = "team-executor report";
/// How far from its begin.
const MARK_WITHIN: usize = 200;

/// A report that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// JUnit XML in a file.
    Junit(PathBuf),
    /// JSON in a file.
    Json(PathBuf),
    /// One HTML page in a file.
    Html(PathBuf),
    /// Annotations on standard output, and a summary where GitHub Actions wants one.
    Github,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let file = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
        match text.split_once('=').map_or((text, None), |(kind, path)| (kind, file(path))) {
            ("junit", Some(path)) => Ok(Self::Junit(path)),
            ("json", Some(path)) => Ok(Self::Json(path)),
            ("html", Some(path)) => Ok(Self::Html(path)),
            ("junit" | "json" | "html", None) => Err(format!("name a file: {text}=FILE")),
            ("github", None) if text == "github" => Ok(Self::Github),
            _ => Err("expected junit=FILE, json=FILE, html=FILE or github".to_owned()),
        }
    }
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// JUnit XML.
    Junit,
    /// JSON.
    Json,
    /// Annotations for GitHub Actions.
    Github,
    /// A summary in Markdown.
    Summary,
}

/// What a report is made of.
pub(crate) struct Told<'a> {
    session: &'a Session,
    course: &'a Course,
    now: Timestamp,
}

impl App {
    /// Refuses what cannot be written at the end, before anything starts.
    pub fn can_report(&self, wanted: &[Wanted]) -> Result<(), Error> {
        for one in wanted {
            if let Wanted::Junit(path) | Wanted::Json(path) | Wanted::Html(path) = one {
                self.must_be_writable(path).map_err(|why| refused(path, &why))?;
            }
        }
        Ok(())
    }

    /// The text of a report about the newest run of a session.
    pub fn report(&self, opened: &Opened, shape: Shape) -> Result<String, Error> {
        let course = self.course(opened)?;
        let (session, _) = opened.runnable()?;
        Ok(written(&Told { session, course: &course, now: now() }, shape))
    }

    /// Writes reports about the newest run of a session, and gives what belongs on standard output.
    pub fn write_reports(&self, opened: &Opened, wanted: &[Wanted]) -> Result<String, Error> {
        if wanted.is_empty() {
            return Ok(String::new());
        }
        let course = self.course(opened)?;
        let (session, _) = opened.runnable()?;
        let told = Told { session, course: &course, now: now() };
        let mut printed = String::new();
        for one in wanted {
            match one {
                Wanted::Junit(path) => self.replace_report(path, &written(&told, Shape::Junit))?,
                Wanted::Json(path) => self.replace_report(path, &written(&told, Shape::Json))?,
                Wanted::Html(path) => self.replace_report(path, &self.html_report(opened)?)?,
                Wanted::Github => {
                    printed.push_str(&written(&told, Shape::Github));
                    if let Some(path) = self.variable(SUMMARY).filter(|path| !path.is_empty()) {
                        append(&self.path(Path::new(path)), &written(&told, Shape::Summary))
                            .map_err(|error| failed(Path::new(path), &error))?;
                    }
                }
            }
        }
        Ok(printed)
    }

    /// One HTML page about a run.
    pub fn html_report(&self, opened: &Opened) -> Result<String, Error> {
        let (session, graph) = opened.runnable()?;
        let status = self.status_of_a_run(opened)?;
        let Attention { needs, problems, .. } = self.attention(opened, &status);
        Ok(html::write(html::Page { session, graph, status, needs, problems }))
    }

    fn must_be_writable(&self, path: &Path) -> Result<(), String> {
        let (folder, name) = self.parts(path).map_err(|error| error.to_string())?;
        match folder.file(&name, How::Read) {
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(io_error(errno).to_string()),
            Ok(file) if is_report(&file) => Ok(()),
            Ok(_) => Err("it is there, and no report of team-executor".to_owned()),
        }
    }

    fn replace_report(&self, path: &Path, text: &str) -> Result<(), Error> {
        self.must_be_writable(path).map_err(|why| refused(path, &why))?;
        let absolute = self.path(path);
        let (folder, name) = (absolute.parent().unwrap_or(Path::new("/")), name(&absolute));
        let disk = RealDisk::open_folder(folder).map_err(|error| failed(path, &error))?;
        replace(&disk, &name, text.as_bytes(), Durability::Rendered).map_err(|error| failed(path, &error))
    }

    fn parts(&self, path: &Path) -> std::io::Result<(Dir, String)> {
        let absolute = self.path(path);
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        Ok((Dir::open(folder).map_err(io_error)?, name(&absolute)))
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn is_report(file: &std::fs::File) -> bool {
    use std::io::Read as _;
    let mut head = Vec::new();
    let read = file.take(MARK_WITHIN as u64).read_to_end(&mut head);
    read.is_ok() && (head.is_empty() || String::from_utf8_lossy(&head).contains(MARK))
}

/// Adds to a file to which others add too.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let folder = Dir::open(path.parent().unwrap_or(Path::new("/"))).map_err(io_error)?;
    let mut file = folder.file(&name(path), How::Append).map_err(io_error)?;
    file.write_all(text.as_bytes())
}

fn refused(path: &Path, why: &str) -> Error {
    let finding = Finding::error(Code::Usage, format!("cannot write the report {}: {why}", path.display()));
    finding.help("move it away, or name another file in a folder that exists: --report junit=FILE").into()
}

fn failed(path: &Path, error: &dyn fmt::Display) -> Error {
    let finding = Finding::error(Code::Usage, format!("cannot write the report {}: {error}", path.display()));
    Error::io(finding.help("the run itself is recorded; once the cause is gone, `team-executor report` prints it"))
}

fn now() -> Timestamp {
    let micros = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_micros());
    Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

fn written(told: &Told<'_>, shape: Shape) -> String {
    match shape {
        Shape::Junit => junit::write(told),
        Shape::Json => json::write(told),
        Shape::Github => github::annotations(told),
        Shape::Summary => github::summary(told),
    }
}
