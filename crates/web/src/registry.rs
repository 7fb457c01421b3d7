//! The runs that a request can name: those of the project, and nothing else. A path never comes from a request.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use team_executor_app::sessions::RunState;
use team_executor_app::{App, EXECUTOR, Error, JOURNAL};
use team_executor_core::Timestamp;

use crate::answer::tag;
use crate::documents;
use crate::watched::{Looked, Watched};

/// A list is this old at least before another is made, and so many times as old as it took to make.
const LEAST: Duration = Duration::from_secs(1);
const TIMES: u32 = 10;
/// How many runs of a project are listed, the newest first.
const MOST: usize = 500;
/// How many runs are watched at a time.
const WATCHED: usize = 16;

/// The runs of a project.
pub(crate) struct Registry {
    pub(crate) app: App,
    project: PathBuf,
    /// The session that the user named, which may be none of the project's own.
    named: Option<PathBuf>,
    read_only: bool,
    known: Mutex<Option<Arc<AllKnown>>>,
    listed: Mutex<Option<Arc<Listed>>>,
    watched: Mutex<HashMap<String, Arc<Watched>>>,
    /// What was said of runs that do not change any more.
    over: Mutex<HashMap<String, (Key, Value)>>,
}

/// Whether a run has changed: how long its journal is, and whether an executor has it.
type Key = (i64, bool);

/// A run that can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its name.
    pub(crate) run: String,
    /// Its session, as a user in the current folder would name it.
    pub(crate) session: PathBuf,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// It is the newest of its session: the only one that can be asked for something.
    pub(crate) is_newest: bool,
}

/// A session that can be planned.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct KnownSession {
    /// As a user in the current folder would name it.
    pub(crate) path: String,
    tasks: usize,
    status: &'static str,
    errors: usize,
}

/// The runs that there are, at one moment: how they stand is read only for those who ask.
struct AllKnown {
    /// Each with its state and when it began.
    runs: Vec<(Known, RunState, Timestamp)>,
    /// How many older ones are left out.
    more: usize,
    fresh: Fresh,
}

/// What there is and how it stands, at one moment.
pub(crate) struct Listed {
    pub(crate) sessions: Vec<KnownSession>,
    /// As JSON, with its tag.
    pub(crate) text: Bytes,
    pub(crate) tag: String,
    fresh: Fresh,
}

/// When something was made, and how long that took.
struct Fresh {
    made: Instant,
    took: Duration,
}

#[derive(Serialize)]
struct List<'a> {
    version: u32,
    project: String,
    /// Nothing can be asked for.
    read_only: bool,
    runs: Vec<Value>,
    /// How many older runs are left out.
    more: usize,
    /// Sessions that were never run.
    sessions: Vec<&'a KnownSession>,
}

impl Registry {
    pub(crate) fn new(app: App, project: PathBuf, named: Option<PathBuf>, read_only: bool) -> Self {
        Self {
            app,
            project,
            named,
            read_only,
            known: Mutex::default(),
            listed: Mutex::default(),
            watched: Mutex::default(),
            over: Mutex::default(),
        }
    }

    /// What there is. It may be a little old.
    pub(crate) fn list(&self) -> Result<Arc<Listed>, Error> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = listed.as_ref().filter(|before| before.fresh.is_fresh()) {
            return Ok(Arc::clone(before));
        }
        let made = Arc::new(self.make()?);
        *listed = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The run of this name, watched from now on; nothing if there is none.
    pub(crate) fn run(&self, name: &str) -> Result<Option<Arc<Watched>>, Error> {
        let all = self.known()?;
        let Some((known, ..)) = all.runs.iter().find(|(known, ..)| known.run == name) else { return Ok(None) };
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.values().for_each(|one| one.tidy());
        if let Some(one) = watched.get(name).filter(|one| one.known == *known) {
            one.touch();
            return Ok(Some(Arc::clone(one)));
        }
        if watched.len() >= WATCHED {
            let oldest = watched.iter().min_by_key(|(_, one)| one.touched()).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| watched.remove(&oldest));
        }
        let one = Arc::new(Watched::new(self.app.clone(), known.clone()));
        watched.insert(name.to_owned(), Arc::clone(&one));
        Ok(Some(one))
    }

    /// The path of a session, if this is the name of one.
    pub(crate) fn session(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let (listed, all) = (self.list()?, self.known()?);
        let of_run = all.runs.iter().map(|(known, ..)| &known.session).find(|path| path.display().to_string() == name);
        let known = listed.sessions.iter().find(|known| known.path == name);
        Ok(of_run.cloned().or_else(|| known.map(|known| PathBuf::from(&known.path))))
    }

    /// How a user in the current folder would name a session.
    pub(crate) fn shown(app: &App, project: &Path, session: &Path) -> String {
        let current = app.current().unwrap_or(Path::new(""));
        let whole = project.join(current.join(session));
        let whole = whole.canonicalize().unwrap_or(whole);
        whole.strip_prefix(current).unwrap_or(&whole).display().to_string()
    }

    /// The runs that there are. It may be a little old.
    fn known(&self) -> Result<Arc<AllKnown>, Error> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.as_ref().filter(|before| before.fresh.is_fresh()) {
            return Ok(Arc::clone(before));
        }
        let made = Arc::new(self.find()?);
        *known = Some(Arc::clone(&made));
        Ok(made)
    }

    fn near(&self) -> Result<impl Fn(PathBuf) -> PathBuf + use<>, Error> {
        let current = self.app.current()?.to_owned();
        Ok(move |path: PathBuf| path.strip_prefix(&current).map(Path::to_owned).unwrap_or(path))
    }

    fn find(&self) -> Result<AllKnown, Error> {
        let began = Instant::now();
        // A project without runs has no folder for them; that is no failure of the page.
        let rows = self.app.runs(&self.project).map(|list| list.runs).unwrap_or_default();
        let near = self.near()?;
        let mut runs = Vec::<(Known, RunState, Timestamp)>::new();
        let more = rows.len().saturating_sub(MOST);
        for row in rows.iter().take(MOST) {
            let session = near(self.project.join(&row.session));
            let is_newest = runs.iter().all(|(known, ..)| known.session != session);
            let known = Known { run: row.run.clone(), session, folder: self.project.join(&row.folder), is_newest };
            runs.push((known, row.state, row.began));
        }
        Ok(AllKnown { runs, more, fresh: Fresh { made: Instant::now(), took: began.elapsed() } })
    }

    fn make(&self) -> Result<Listed, Error> {
        let began = Instant::now();
        let all = self.known()?;
        let shown = all.runs.iter().map(|(known, state, began)| self.summary(known, *state, *began)).collect();
        let runs: Vec<&Known> = all.runs.iter().map(|(known, ..)| known).collect();
        let sessions = self.sessions(&runs, &self.near()?);
        let unrun = sessions.iter().filter(|one| runs.iter().all(|run| run.session.display().to_string() != one.path));
        let project = self.project.display().to_string();
        let list = List {
            version: 1,
            project,
            read_only: self.read_only,
            runs: shown,
            more: all.more,
            sessions: unrun.collect(),
        };
        let text = Bytes::from(serde_json::to_vec(&list).unwrap_or_default());
        let tag = tag(&text);
        Ok(Listed { sessions, text, tag, fresh: Fresh { made: Instant::now(), took: began.elapsed() } })
    }

    fn sessions(&self, runs: &[&Known], near: &dyn Fn(PathBuf) -> PathBuf) -> Vec<KnownSession> {
        let found = self.app.sessions(&self.project).map(|list| list.sessions).unwrap_or_default();
        let of_project = found.into_iter().filter(|row| row.kind == "session");
        let mut sessions: Vec<_> = of_project
            .map(|row| KnownSession {
                path: near(self.project.join(&row.path)).display().to_string(),
                tasks: row.tasks,
                status: row.status,
                errors: row.errors,
            })
            .collect();
        if let Some(named) = &self.named {
            let path = Self::shown(&self.app, &self.project, named);
            let is_known = sessions.iter().any(|one| one.path == path)
                || runs.iter().any(|run| run.session.display().to_string() == path);
            if !is_known {
                sessions.push(KnownSession { path, tasks: 0, status: "named", errors: 0 });
            }
        }
        sessions
    }

    /// The state of a run that has readers: a large one is not read a second time for the list.
    fn looked(&self, known: &Known) -> Option<Arc<Looked>> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner).get(&known.run).map(Arc::clone)?;
        watched.looked()?;
        watched.look().ok().map(|(looked, _)| looked)
    }

    /// What is said of a run in the list.
    fn summary(&self, known: &Known, state: RunState, began: Timestamp) -> Value {
        let key = (known.journal_bytes(), state == RunState::Running);
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, said)) = over.get(&known.run).filter(|(before, _)| *before == key && !key.1) {
            return said.clone();
        }
        let said = documents::summary(&self.app, known, (state, began), self.looked(known).as_deref());
        over.insert(known.run.clone(), (key, said.clone()));
        said
    }
}

impl Fresh {
    fn is_fresh(&self) -> bool {
        self.made.elapsed() < LEAST.max(self.took * TIMES)
    }
}

impl Known {
    /// How long the journal is.
    pub(crate) fn journal_bytes(&self) -> i64 {
        let journal = self.folder.join(EXECUTOR).join(JOURNAL);
        team_executor_beneath::ours::look_at(&journal).map_or(-1, |file| file.st_size)
    }
}
