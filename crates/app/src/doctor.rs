//! What protects a run here, whether a run is whole, and the repairs that lose nothing which could be used.

use std::path::{Path, PathBuf};

use serde::Serialize;
use team_executor_beneath::ours;
use team_executor_engine as engine;
pub use team_executor_engine::doctor::{Check, Repaired, RunChecks, Verdict};
use team_executor_engine::doctor::{machine, place, repair, run as look, run_of};
use team_executor_files::{Code, Finding};
use team_executor_store::run_folder::run_path;

use crate::changes::{Consent, of_git};
use crate::error::{Error, Kind};
use crate::open::{Opened, Reading};
use crate::words::{count, size};
use crate::{App, archived, escape};

/// What is looked at, and everything that was found.
#[derive(Debug)]
pub struct Examined {
    /// The project.
    pub project: PathBuf,
    /// The folder of the run, if there is one.
    run_folder: Option<PathBuf>,
    /// How the user named it, as a shell reads it.
    named: String,
    session: Option<Opened>,
    /// What protects workers on this machine.
    pub machine: Vec<Check>,
    /// Remarks about the project's folder.
    pub place: Vec<Check>,
    /// Whether the run is whole.
    pub run: Option<RunChecks>,
}

impl App {
    /// Looks at this machine, and at the run that is named or the newest of the session.
    pub fn examine(&self, session: Option<&Path>, run: Option<&str>) -> Result<Examined, Error> {
        let mut examined = self.patient(session, run)?;
        examined.look()?;
        let trees = examined.run_folder.as_ref().map(|run| self.stored_trees(run)).unwrap_or_default();
        if let Some(run) = &mut examined.run {
            run.checks.extend(trees);
        }
        Ok(examined)
    }

    /// Repairs the run that was looked at, and looks again. What is given up was found before.
    pub fn repair(&self, session: Option<&Path>, examined: &mut Examined) -> Result<Repaired, Error> {
        let Some(path) = &examined.run_folder else {
            if let Some(finding) = archived::finding(self, session) {
                return Err(finding.into());
            }
            let finding = match session {
                Some(_) => self.never_run(&examined.named),
                None => Finding::error(Code::Usage, "there is no run to repair")
                    .help("name it: team-executor doctor --session=PATH --repair"),
            };
            return Err(finding.into());
        };
        let done = repair(path).map_err(|failure| examined.refused(&failure))?;
        examined.look()?;
        Ok(done)
    }

    /// The trees of a run: how much of the disk they have, and why those stay that do.
    fn stored_trees(&self, run: &Path) -> Vec<Check> {
        const NAME: &str = "trees";
        let check = |verdict, says, help| Check { name: NAME, verdict, says, help };
        let stored = match self.trees(run) {
            Ok(None) => return Vec::new(),
            Ok(Some(trees)) => trees.stored(Consent::OfRun).map(|stored| (trees, stored)).map_err(of_git),
            Err(error) => Err(error),
        };
        let (trees, stored) = match stored {
            Ok(stored) => stored,
            Err(error) => {
                let help = "run it in the repository of the project: git status".to_owned();
                return vec![check(Verdict::Weak, format!("they cannot be looked at: {error}"), Some(help))];
            }
        };
        let all = stored.iter().map(|one| one.bytes).sum::<u64>();
        let says = match stored.len() {
            0 => "none is left; what tasks changed is kept as commits".to_owned(),
            many => format!("{}, {}, in {}", count(many, "tree"), size(all), trees.home().display()),
        };
        let mut checks = vec![check(Verdict::Fine, says, None)];
        for one in &stored {
            let path = trees.home().join(&one.folder);
            let help = format!(
                "look at it, and keep what you need of it: cd {}",
                escape::shell_word(&path.display().to_string())
            );
            checks.extend(one.stays.as_ref().map(|why| {
                let says = format!("{} stays, {}: {why}", one.folder, size(one.bytes));
                check(Verdict::Weak, says, Some(help))
            }));
        }
        checks
    }

    /// Finds the run to look at.
    fn patient(&self, session: Option<&Path>, run: Option<&str>) -> Result<Examined, Error> {
        let current = self.current()?;
        let nothing = Examined {
            project: current.to_owned(),
            run_folder: None,
            named: "--session=PATH".to_owned(),
            session: None,
            machine: Vec::new(),
            place: Vec::new(),
            run: None,
        };
        if let Some(id) = run {
            let run = run_path(current, id);
            let is_name = Path::new(id).components().count() == 1 && !id.starts_with('.');
            if !is_name || ours::open(&run).is_err() {
                let finding = Finding::error(Code::Usage, format!("there is no run {} here", escape::line(id)));
                let help = "list the runs, in the project's folder: team-executor sessions";
                return Err(finding.help(help).into());
            }
            let named = format!("--run {}", escape::shell_word(id));
            return Ok(Examined { run_folder: Some(run), named, ..nothing });
        }
        let Some(path) = session else { return Ok(nothing) };
        // What is wrong with the session itself is the business of `validate`.
        let opened = self.open(Some(path), Reading::default())?;
        let place = self.place(Some(path))?;
        Ok(Examined {
            run_folder: run_of(&place.folder, current),
            project: place.project,
            named: escape::session(&opened.path),
            session: Some(opened),
            ..nothing
        })
    }

    /// Why there is no run to look at, and what to do: it was put away. Nothing if there never was one.
    pub fn put_away(&self, examined: &Examined) -> Option<Finding> {
        archived::finding(self, Some(Path::new(examined.session()?)))
    }
}

impl Examined {
    /// The session as the user named it, if there is one.
    pub fn session(&self) -> Option<&str> {
        self.session.as_ref().map(|opened| opened.path.as_str())
    }

    /// Whether there is a run that could be repaired.
    pub fn has_run(&self) -> bool {
        self.run_folder.is_some()
    }

    /// Whether something is not as it must be.
    pub fn is_bad(&self) -> bool {
        let checks = self.machine.iter().chain(&self.place).chain(self.run.iter().flat_map(|run| &run.checks));
        checks.into_iter().any(|check| check.verdict == Verdict::Bad)
    }

    /// Everything that was found, for programs.
    pub fn json<'a>(&'a self, repaired: Option<&'a Repaired>) -> JsonReport<'a> {
        let run = self.run.as_ref().zip(self.run_folder.as_ref());
        JsonReport {
            version: 1,
            machine: checks(&self.machine),
            project: self.project.display().to_string(),
            place: checks(&self.place),
            run: run.map(|(run, path)| JsonRun {
                id: &run.id,
                folder: path.display().to_string(),
                checks: checks(&run.checks),
                given_up: &run.given_up,
            }),
            repaired: repaired.map(|done| JsonRepaired { copy: done.copy.as_deref(), removed: done.removed }),
        }
    }

    fn look(&mut self) -> Result<(), Error> {
        let session = self.session.as_ref().and_then(|opened| opened.session.as_ref());
        let session = session.map(|(session, graph)| (session, graph));
        let run = self.run_folder.as_ref().map(|path| look(path, &self.named, session)).transpose();
        self.run = run.map_err(|failure| self.refused(&failure))?;
        (self.machine, self.place) = (machine(), place(&self.project));
        Ok(())
    }

    fn refused(&self, failure: &engine::Failure) -> Error {
        let (kind, help) = match failure {
            engine::Failure::Held(_) => {
                let named = if self.session.is_some() { self.named.as_str() } else { "--session=PATH" };
                (Kind::Held, format!("wait for it to end, or end it with: team-executor stop {named}"))
            }
            engine::Failure::StillRunning(_) => {
                (Kind::Held, "its keeper is ending it; try again in a moment".to_owned())
            }
            _ => (Kind::Io, "nothing more was changed; once the cause is gone, try again".to_owned()),
        };
        Error::Refused(Box::new(Finding::error(Code::Usage, failure.to_string()).help(help)), kind)
    }
}

/// Everything that was found, for programs.
#[derive(Debug, Serialize)]
pub struct JsonReport<'a> {
    version: u32,
    machine: Vec<JsonCheck<'a>>,
    project: String,
    place: Vec<JsonCheck<'a>>,
    run: Option<JsonRun<'a>>,
    repaired: Option<JsonRepaired<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonCheck<'a> {
    name: &'a str,
    verdict: &'a str,
    says: &'a str,
    help: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct JsonRun<'a> {
    id: &'a str,
    folder: String,
    checks: Vec<JsonCheck<'a>>,
    given_up: &'a [String],
}

#[derive(Debug, Serialize)]
struct JsonRepaired<'a> {
    copy: Option<&'a str>,
    removed: usize,
}

fn checks(checks: &[Check]) -> Vec<JsonCheck<'_>> {
    checks
        .iter()
        .map(|Check { name, verdict, says, help }| JsonCheck {
            name,
            verdict: verdict.word(),
            says,
            help: help.as_deref(),
        })
        .collect()
}
