//! `init`: makes a new session from a requirement, or from a table of tasks. Nothing that is there is overwritten.

mod table;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_core::{Graph, RoleName, SessionId, Timestamp, joining};
use team_executor_files::lifecycle::DEFAULT_PIPELINE;
use team_executor_files::pipeline::outline::NewFile;
use team_executor_files::pipeline::{Head, Outline, Pipeline, Wish, from_table, naming};
use team_executor_files::{Code, Finding, time};
use team_executor_store::run_folder::WORKFLOW;
use team_executor_store::{MakeError, make_folder};

use super::plan::joined;
use super::report::{self, JsonFinding};
use super::validate::count;
use crate::args::{Format, Init};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::joining::{JsonJoining, json, no_role};
use crate::printer::Printer;

/// Below `.workflow/`: where sessions are.
pub(super) const SESSIONS: &str = ".team";

/// Makes a session and says what to do with it.
pub(crate) fn run(session: Option<&Path>, options: &Init, printer: &mut Printer) -> Result<Exit, Failure> {
    if session.is_some() {
        let finding = Finding::error(Code::Usage, "`init` makes a session, it takes none");
        return Err(finding.help("say where the new one is to be with --dir PATH").into());
    }
    let requirement = options.requirement.as_deref().unwrap_or_default().trim();
    if requirement.is_empty() && options.from.is_none() {
        let finding = Finding::error(Code::Usage, "the requirement is empty, so there is nothing to plan");
        return Err(finding.help("say what is asked for: team-executor init 'Add a login to the shop'").into());
    }
    let table = options.from.as_deref().map(|path| table::read(path, options.tag.as_deref())).transpose()?;
    if let (Some(table), Format::Text) = (&table, options.format) {
        let width = printer.width();
        write!(printer.err(), "{}", table.warnings(width))?;
    }
    let name = options.name.clone().unwrap_or_else(|| match (&table, requirement) {
        (Some(table), "") => naming::slug(&table.name),
        _ => naming::slug(requirement),
    });
    let head = head(options, &name)?;
    let target = match &options.dir {
        Some(dir) => dir.clone(),
        None => PathBuf::from(WORKFLOW).join(SESSIONS).join(head.id.as_str()),
    };
    let outline = match &table {
        Some(table) => from_table::outline(table.session.clone(), head, requirement, table.history()),
        None => of_pipeline(options, requirement, head)?,
    };
    if let Some(role) = outline.unwritable_role() {
        let finding = Finding::error(Code::UnknownRole, format!("the role '{role}' cannot be the name of a file"));
        return Err(finding.help("rename it in the table: letters, digits, `-` and `_` are safe").into());
    }
    let graph = Graph::seal(&outline.session.tasks).graph;
    let (Some(graph), Some(files)) = (graph, outline.files(options.dialect)) else {
        let finding = Finding::error(Code::Cycle, "the tasks do not hang together, so no session was made");
        return Err(finding.help("correct their dependencies").into());
    };
    let pairs = files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
    make_folder(&target, pairs).map_err(|error| not_made(error, options))?;
    let findings = table.as_ref().map(table::Table::json).unwrap_or_default();
    let taken = table.as_ref().and_then(table::Table::taken);
    let (target, waves) = (target.display().to_string(), graph.wave_count());
    let made = Made { options, outline: &outline, target, waves, taken };
    match options.format {
        Format::Text => made.text(printer)?,
        Format::Json => report::print(&made.json(&files, findings), printer.out())?,
    }
    Ok(Exit::Fine)
}

/// What the session is called. The day is that of its beginning in UTC, as in the times that it holds.
fn head(options: &Init, name: &str) -> Result<Head, Failure> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let at = Timestamp::from_micros(i64::try_from(since.as_secs()).unwrap_or_default().saturating_mul(1_000_000));
    let day = time::format(at).chars().take("2026-02-27".len()).collect::<String>();
    let id = naming::session_id(options.dialect, name, &day);
    let id = SessionId::parse(&id).map_err(|error| {
        let finding = Finding::error(Code::InvalidId, format!("'{id}' cannot be a session id: {error}"));
        finding.help("choose another name with --name SLUG")
    })?;
    Ok(Head { id, name: name.to_owned(), at })
}

fn of_pipeline(options: &Init, requirement: &str, head: Head) -> Result<Outline, Failure> {
    let name = options.pipeline.as_deref().unwrap_or(DEFAULT_PIPELINE);
    let pipeline = Pipeline::named(name).ok_or_else(|| {
        Finding::error(Code::Usage, format!("there is no pipeline '{name}'"))
            .help("team-executor init --help lists them")
    })?;
    let specialists = pipeline.specialists();
    let mut asked: Vec<RoleName> = Vec::new();
    for name in &options.role {
        let known = specialists.iter().find(|role| role.as_str() == name).cloned();
        let names = || specialists.iter().map(RoleName::as_str).collect::<Vec<_>>();
        asked.push(known.ok_or_else(|| no_role(name, &names()))?);
    }
    Ok(pipeline.outline(head, &Wish { requirement, complexity: options.complexity, asked: &asked }))
}

fn not_made(error: MakeError, options: &Init) -> Failure {
    let message = format!("no session was made: {error}");
    match error {
        MakeError::Exists(path) => {
            let finding = Finding::error(Code::Usage, message);
            let other = if options.dir.is_some() {
                "choose another folder with --dir PATH"
            } else {
                "choose another name with --name SLUG"
            };
            let shown = escape::session(path.display());
            finding.help(other).help(format!("or look at what is there: team-executor plan {shown}")).into()
        }
        MakeError::Disk { .. } => {
            let finding = Finding::error(Code::Usage, message);
            let finding =
                finding.help("once the cause is gone, the same command makes it; or choose a folder with --dir PATH");
            Failure::Refused(Box::new(finding), Exit::Io)
        }
    }
}

/// What was taken over from another tool, and what was left there.
#[derive(Serialize)]
struct Taken<'a> {
    tool: &'static str,
    tasks: usize,
    done: usize,
    left: &'a [String],
}

/// A session that was made.
struct Made<'a> {
    options: &'a Init,
    outline: &'a Outline,
    target: String,
    waves: u32,
    taken: Option<Taken<'a>>,
}

impl Made<'_> {
    /// What to do next, as one would type it.
    fn next(&self) -> Vec<String> {
        let session = escape::session(&self.target);
        let command = |before: &str, after: &str| format!("team-executor {before}{session}{after}");
        vec![
            command("validate ", " --strict"),
            command("plan ", ""),
            command("rehearse ", ""),
            command("", " --agent-command 'CMD'"),
        ]
    }

    fn text(&self, printer: &mut Printer) -> Result<(), Failure> {
        let width = printer.width();
        let session = &self.outline.session;
        let pipeline = session.pipeline.as_deref().filter(|_| self.options.from.is_none());
        let how = pipeline
            .map_or_else(|| self.options.dialect.to_string(), |name| format!("{}, {name}", self.options.dialect));
        let out = printer.out();
        writeln!(out, "Made {} ({how})", escape::line(&self.target))?;
        let (tasks, roles) = (count(session.tasks.len(), "task"), count(session.roles.len(), "role"));
        writeln!(out, "{tasks} in {} for {roles}", count(self.waves as usize, "wave"))?;
        if let Some(taken) = &self.taken {
            let (open, shown) = (taken.tasks - taken.done, count(taken.tasks, "task"));
            writeln!(out, "Took {shown} from {}: {} done before, {open} to do", taken.tool, taken.done)?;
            for left in taken.left {
                writeln!(out, "Left {}", escape::line(left))?;
            }
        }
        joined(out, &joining(session, self.options.complexity, &[]), width)?;
        let open = session.tasks.iter().filter(|task| task.min_complexity.is_some()).count();
        if open > 0 {
            writeln!(out, "{open} of the tasks run only if the work turns out to be complex enough")?;
        }
        writeln!(out, "\nThe role-specs are a beginning: make them yours. Then:")?;
        for command in self.next() {
            writeln!(out, "  {}", escape::line(&command))?;
        }
        Ok(())
    }

    fn json<'f>(&'f self, files: &'f [NewFile], findings: Vec<JsonFinding<'f>>) -> JsonMade<'f> {
        let session = &self.outline.session;
        JsonMade {
            version: 1,
            session: session.id.as_str(),
            path: &self.target,
            dialect: self.options.dialect.name(),
            pipeline: session.pipeline.as_deref(),
            requirement: &session.requirement,
            tasks: session.tasks.len(),
            waves: self.waves,
            roles: session.roles.iter().map(|role| role.name.as_str()).collect(),
            injected_roles: json(&joining(session, self.options.complexity, &[])),
            files: files.iter().map(|file| file.path.as_str()).collect(),
            imported: self.taken.as_ref(),
            next: self.next(),
            findings,
        }
    }
}

#[derive(Serialize)]
struct JsonMade<'a> {
    version: u32,
    session: &'a str,
    path: &'a str,
    dialect: &'static str,
    pipeline: Option<&'a str>,
    requirement: &'a str,
    tasks: usize,
    waves: u32,
    roles: Vec<&'a str>,
    injected_roles: Vec<JsonJoining>,
    files: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<&'a Taken<'a>>,
    next: Vec<String>,
    findings: Vec<JsonFinding<'a>>,
}
