//! The files that a person may edit: the run's `tasks.csv` and the session's own files. What was written is remembered
//! before it is written, so that an edit is never taken for our own work, nor our own work for an edit.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::io::Errno;
use team_executor_core::run::Run;
use team_executor_core::{Graph, Session, TaskIndex};
use team_executor_files::{Dialect, csv, tasks_csv};
use team_executor_store::run_folder::DERIVED;
use team_executor_store::{
    Derived, Disk, DiskError, Durability, Rendered, ReplaceError, Standing, keep_copy, replace, replace_unchanged,
    set_aside,
};

use super::fitting::fitting;
use super::present::Present;
use super::{About, OwnFile, Views, not_written, own_file};

/// The master table of a run.
pub(crate) const TASKS: &str = "tasks.csv";

/// Whose folder a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PagePlace {
    /// The run's.
    Run,
    /// The session's.
    Session,
    /// That of the tasks' own files, in the session's.
    Tasks,
}

/// A file as it should be.
pub(super) struct Page {
    place: PagePlace,
    name: String,
    text: String,
}

/// What was last rendered, as the executor's folder says; nothing if it does not say.
pub(super) fn read<D: Disk>(executor: &D) -> Option<Derived> {
    Derived::from_text(&String::from_utf8(executor.read(DERIVED).ok()?).ok()?)
}

impl PagePlace {
    /// How a file is called among all that are remembered.
    pub(crate) fn key(self, name: &str) -> String {
        match self {
            Self::Run => name.to_owned(),
            Self::Session => format!("session/{name}"),
            Self::Tasks => format!("session/tasks/{name}"),
        }
    }
}

impl<D: Disk> Views<D> {
    /// What is known of the run.
    pub(crate) const fn about(&self) -> &About {
        &self.about
    }

    /// What was last rendered.
    pub(crate) const fn derived(&self) -> &Derived {
        &self.derived
    }

    /// The folder of the discoveries, if the dialect has one.
    pub(crate) const fn discoveries(&self) -> Option<&D> {
        self.folders.discoveries.as_ref()
    }

    /// What a file says now, if it can be read.
    pub(crate) fn bytes(&self, place: PagePlace, name: &str) -> Option<Vec<u8>> {
        self.disk(place)?.read(name).ok()
    }

    /// What is in a file was understood: it is no edit any more.
    pub(crate) fn accept(&mut self, place: PagePlace, name: &str, bytes: &[u8], journal: u64) {
        self.derived.is(&place.key(name), Rendered::hash(bytes, journal));
    }

    /// The same of one of the session's own files.
    pub(crate) fn accept_own(&mut self, name: &str, text: &str, journal: u64) {
        self.accept(PagePlace::Session, name, text.as_bytes(), journal);
    }

    /// Copies a file before it is written over, and says where to: into the run's folder if the session's takes nothing.
    pub(crate) fn copy(&self, place: PagePlace, name: &str, bytes: &[u8]) -> Result<Option<String>, ReplaceError> {
        match self.disk(place).map(|disk| keep_copy(disk, name, bytes)) {
            Some(Err(error)) if place != PagePlace::Run && error.is_forbidden() => {
                let copy = keep_copy(&self.folders.run, name, bytes)?;
                Ok(Some(format!("{}/{copy}", self.about.run)))
            }
            copied => Ok(copied.transpose()?),
        }
    }

    /// The master table.
    pub(super) fn tasks(&self, session: &mut Session, rules: &Run) -> Page {
        let text = self.tasks_text(session, rules);
        Page { place: PagePlace::Run, name: TASKS.to_owned(), text }
    }

    /// The text of the master table.
    pub(crate) fn tasks_text(&self, session: &mut Session, rules: &Run) -> String {
        match Present::of(session, rules) {
            Some(mut there) => table_text(self.extra.as_deref(), &mut there.session, &there.graph, self.most),
            None => table_text(self.extra.as_deref(), session, rules.graph(), self.most),
        }
    }

    /// The session's own files; of those that tell of one task only the ones that are wanted, if not all are. What cannot be
    /// read is left alone: it is the user's.
    pub(super) fn own(&self, session: &mut Session, rules: &Run, only: Option<&BTreeSet<TaskIndex>>) -> Vec<Page> {
        let index = |file: &OwnFile| file.only_task().and_then(|task| rules.graph().index_of(task.as_str()));
        let is_wanted = |file: &&OwnFile| match (only, index(file)) {
            (Some(only), Some(task)) => only.contains(&task),
            _ => true,
        };
        let page = |file: &OwnFile| {
            let text = self.own_text(file, session, rules)?;
            Some(Page { place: file.place, name: file.name.clone(), text })
        };
        self.about.own.iter().filter(is_wanted).filter_map(page).collect()
    }

    /// The text of one of the session's own files, patched into its present text.
    pub(crate) fn own_text(&self, file: &OwnFile, session: &mut Session, rules: &Run) -> Option<String> {
        let original = String::from_utf8(self.bytes(file.place, &file.name)?).ok()?;
        let mut there = Present::of(session, rules);
        let (session, graph) = match &mut there {
            Some(there) => (&mut there.session, &there.graph),
            None => (session, rules.graph()),
        };
        let write = |session: &Session| own_file::text(self.about.dialect, file, &original, session, graph);
        Some(fitting(session, self.most, write))
    }

    /// Writes the session's own files, for good. The session is as it should be shown.
    pub(crate) fn write_own(&mut self, session: &mut Session, rules: &Run, journal: u64) -> Vec<String> {
        let pages = self.own(session, rules, None);
        self.show(pages, journal, Durability::Durable)
    }

    /// Writes them and the master table, for good.
    pub(crate) fn write_both(&mut self, session: &mut Session, rules: &Run, journal: u64) -> Vec<String> {
        let mut pages = vec![self.tasks(session, rules)];
        pages.extend(self.own(session, rules, None));
        self.show(pages, journal, Durability::Durable)
    }

    /// Remembers a file that was never rendered as it is.
    pub(super) fn see(&mut self, place: PagePlace, name: &str, journal: u64) {
        if let Some(bytes) = self.bytes(place, name)
            && self.derived.versions(&place.key(name)).is_empty()
        {
            self.accept(place, name, &bytes, journal);
        }
    }

    /// Columns that are not ours stay in the master table; those of a table that the session is written as come into it.
    pub(super) fn keep_columns(&mut self) {
        let of_run = self.bytes(PagePlace::Run, TASKS);
        let of_session = || self.bytes(PagePlace::Session, TASKS).filter(|_| self.about.dialect == Dialect::TasksCsv);
        let text = of_run.or_else(of_session).and_then(|bytes| String::from_utf8(bytes).ok());
        self.extra = text.filter(|text| has_extra_columns(text));
    }

    /// Brings files up to date. Durably, they are at rest then.
    pub(super) fn show(&mut self, pages: Vec<Page>, journal: u64, durability: Durability) -> Vec<String> {
        let mut problems = Vec::new();
        let mut stale = Vec::new();
        for page in pages {
            let key = page.place.key(&page.name);
            let bytes = match self.there(&page, &mut problems) {
                Ok(bytes) => bytes,
                Err(error) => {
                    problems.push(not_written(error));
                    continue;
                }
            };
            let (rendered, there) = (Rendered::hash(page.text.as_bytes(), journal), bytes.as_deref());
            let there = there.map(|bytes| Rendered::hash(bytes, journal));
            let is_safe = durability != Durability::Durable || !self.undurable.contains(&key);
            if there == Some(rendered) && is_safe {
                self.derived.is(&key, rendered);
                continue;
            }
            let is_edited = |there| there != rendered && self.derived.standing_as(&key, there) == Standing::Edited;
            if page.place != PagePlace::Run && durability == Durability::Rendered {
                // What others write into the session while it is run is taken in first.
                if there.is_some_and(is_edited) {
                    self.touched = true;
                } else {
                    self.derived.next(&key, rendered, there);
                    stale.push((page, rendered, bytes));
                }
                continue;
            }
            if let Some(bytes) = bytes.filter(|_| there.is_some_and(is_edited)) {
                match self.copy(page.place, &page.name, &bytes) {
                    Ok(copy) => problems.push(format!(
                        "{} was changed while the run went on; that version is kept as {}",
                        page.name,
                        copy.unwrap_or_default()
                    )),
                    Err(error) => {
                        problems.push(not_written(error));
                        continue;
                    }
                }
            }
            self.derived.next(&key, rendered, there);
            stale.push((page, rendered, None));
        }
        if !stale.is_empty()
            && let Err(error) = self.save(durability)
        {
            // What is not remembered is not written: it would be taken for an edit.
            problems.push(not_written(error));
            return problems;
        }
        for (Page { place, name, text }, rendered, read) in stale {
            let Some(disk) = self.disk(place) else { continue };
            // What is the user's is never at risk.
            let is_users = place != PagePlace::Run && durability == Durability::Rendered;
            let safely = if is_users { Durability::Whole } else { durability };
            let replaced = match read {
                Some(read) => replace_unchanged(disk, &name, &read, text.as_bytes()),
                None => replace(disk, &name, text.as_bytes(), safely).map(|()| true),
            };
            match replaced {
                Ok(false) => self.touched = true,
                Ok(true) if durability == Durability::Durable => {
                    self.undurable.remove(&place.key(&name));
                    self.derived.is(&place.key(&name), rendered);
                }
                Ok(true) => {
                    self.undurable.insert(place.key(&name));
                }
                Err(error) => problems.push(not_written(error)),
            }
        }
        if durability == Durability::Durable {
            self.derived.boot = None;
            problems.extend(self.save(durability).err().map(not_written));
        }
        problems
    }

    /// What has the name of a page. A file that cannot be read is put aside: nothing is written over
    /// what was not seen.
    fn there(&self, page: &Page, problems: &mut Vec<String>) -> Result<Option<Vec<u8>>, DiskError> {
        let Some(disk) = self.disk(page.place) else { return Ok(None) };
        match disk.read(&page.name) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno @ (Errno::FBIG | Errno::ACCESS)) => {
                let error = DiskError { action: "read", name: page.name.clone(), errno };
                let aside = set_aside(disk, &page.name)?;
                problems.extend(aside.map(|aside| format!("{error}; it was put aside as {aside}")));
                Ok(None)
            }
            Err(errno) => Err(DiskError { action: "read", name: page.name.clone(), errno }),
        }
    }

    /// Whether others wrote into the session's own files since this was asked last, so that these were left alone.
    pub(crate) const fn take_touched(&mut self) -> bool {
        std::mem::replace(&mut self.touched, false)
    }

    /// What the session's own files say now; nothing of those that cannot be read.
    pub(crate) fn own_bytes(&self) -> Vec<Option<Vec<u8>>> {
        self.about.own.iter().map(|file| self.bytes(file.place, &file.name)).collect()
    }

    /// Whether one of them says something that is not ours.
    pub(crate) fn is_own_edited(&self, bytes: &[Option<Vec<u8>>]) -> bool {
        let standing = |(file, bytes): (&OwnFile, &Option<Vec<u8>>)| {
            self.derived.standing(&file.place.key(&file.name), bytes.as_deref())
        };
        self.about.own.iter().zip(bytes).map(standing).any(|standing| standing == Standing::Edited)
    }

    /// Copies those that say something that is not ours, and says where to, or why not.
    pub(crate) fn keep_edited(&self, bytes: &[Option<Vec<u8>>]) -> Vec<Result<String, String>> {
        let keep = |(file, bytes): (&OwnFile, &Option<Vec<u8>>)| {
            let bytes = bytes.as_ref()?;
            let standing = self.derived.standing(&file.place.key(&file.name), Some(bytes));
            let copy = (standing == Standing::Edited).then(|| self.copy(file.place, &file.name, bytes))?;
            copy.map_err(not_written).transpose()
        };
        self.about.own.iter().zip(bytes).filter_map(keep).collect()
    }

    /// There may be files of new tasks.
    pub(crate) fn look_for_files(&mut self, session: &Path, journal: u64) {
        self.about.own = own_file::all(self.about.dialect, session);
        for file in self.about.own.clone() {
            self.see(file.place, &file.name, journal);
        }
    }

    /// What they say was understood.
    pub(crate) fn accept_all(&mut self, bytes: &[Option<Vec<u8>>], journal: u64) {
        for (file, bytes) in self.about.own.clone().iter().zip(bytes) {
            if let Some(bytes) = bytes {
                self.accept(file.place, &file.name, bytes, journal);
            }
        }
    }

    /// Writes down what is rendered.
    pub(crate) fn save(&self, durability: Durability) -> Result<(), ReplaceError> {
        replace(&self.folders.executor, DERIVED, self.derived.to_text().as_bytes(), durability)
    }

    fn disk(&self, place: PagePlace) -> Option<&D> {
        match place {
            PagePlace::Run => Some(&self.folders.run),
            PagePlace::Session => self.folders.session.as_ref(),
            PagePlace::Tasks => self.folders.tasks.as_ref(),
        }
    }
}

/// The text of a master table of at most so many bytes, over what stood there.
pub(crate) fn table_text(before: Option<&str>, session: &mut Session, graph: &Graph, most: u64) -> String {
    fitting(session, most, |session| tasks_csv::write(before, session, graph))
}

fn has_extra_columns(text: &str) -> bool {
    let Ok(table) = csv::parse(text.trim_start_matches('\u{FEFF}')) else { return false };
    let is_ours = |name: &str| tasks_csv::ROW.fields.iter().any(|field| field.name == name.trim());
    table.header().cells().any(|cell| !is_ours(&cell.value))
}
