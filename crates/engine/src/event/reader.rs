//! Reads the records of a run again, and tells what they say. What it keeps grows with the tasks of the run, not with its
//! records.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use team_executor_core::run::{self, NewTask, Run, Stage};
use team_executor_core::{Graph, Session, Task, TaskIndex, Timestamp};
use team_executor_files::load_ignoring_results;
use team_executor_store::records::{self, Amended};
use team_executor_store::run_folder::folder_name;
use team_executor_store::{DiskFolder, Seq};

use super::Event;
use super::derive::{self, Scene};
use crate::begin::plan::Plan;
use crate::begin::run_at;
use crate::dispatch::conductor::Happened;
use crate::options::Failure;

/// Makes events of records, which it is given in order, from the first on.
#[derive(Debug)]
pub struct Reader<'s> {
    session: Cow<'s, Session>,
    graph: Cow<'s, Graph>,
    plan: Option<Plan>,
    /// What the run has made of its plan, as far as that was asked for.
    amended: Amended,
    /// The folder of the run, and its name.
    folder: PathBuf,
    run: String,
    rules: Option<Run>,
    /// The agents of attempts that have not ended, as their claims name them.
    agents: BTreeMap<TaskIndex, String>,
}

impl<'s> Reader<'s> {
    /// For a run of a session.
    pub fn new(session: &'s Session, graph: &'s Graph, folder: &Path) -> Self {
        let run = run_at::name_of(folder);
        let (session, graph) = (Cow::Borrowed(session), Cow::Borrowed(graph));
        Self {
            session,
            graph,
            plan: None,
            amended: Amended::default(),
            folder: folder.to_owned(),
            run,
            rules: None,
            agents: BTreeMap::new(),
        }
    }

    /// Takes the next record, and tells its events if it is asked to.
    pub fn take(&mut self, seq: Seq, record: &str, tell: Option<&mut dyn FnMut(Event)>) -> Result<(), Failure> {
        if self.rules.is_none() {
            let (rules, at) = self.begin(record)?;
            if let Some(tell) = tell {
                tell(derive::started(&self.run, rules.counts(), at));
            }
            self.rules = Some(rules);
            return Ok(());
        }
        let mut event = self.read(record);
        if let Err(records::Unreadable::Task(_)) | Ok(run::Event::Replanned { .. }) = event {
            self.read_again()?;
            event = self.read(record);
        }
        let event = event?;
        let Some(rules) = &mut self.rules else { return Ok(()) };
        let before = rules.standing().asks;
        rules.apply(&event);
        let ended = match &event {
            run::Event::Claimed { work, .. } => {
                self.agents.insert(work.task, records::agent(record).unwrap_or_default());
                None
            }
            run::Event::Completed { work, .. }
            | run::Event::Failed { work, .. }
            | run::Event::Interrupted { work, .. } => Some(work.task),
            _ => None,
        };
        if let Some(tell) = tell {
            let happened = Happened::new(seq, event, rules.standing(), before);
            let scene = Scene {
                run: &self.run,
                session: &self.session,
                rules,
                delivered: &|task| run_at::delivered(&self.folder, task),
                agent: &|work| self.agents.get(&work.task).cloned().unwrap_or_default(),
            };
            scene.derive(happened, tell);
        }
        if let Some(task) = ended {
            self.agents.remove(&task);
        }
        Ok(())
    }

    /// Whether every task is over, as far as was read.
    pub fn is_finished(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| *rules.stage() == Stage::Finished)
    }

    fn read(&self, record: &str) -> Result<run::Event, records::Unreadable> {
        records::read(record, |id| self.graph.index_of(id).or_else(|| self.amended.index(id, None)))
    }

    /// The plan was changed since the session was read: it is read again, and has new tasks behind the others. Those that were
    /// removed keep their places.
    fn read_again(&mut self) -> Result<(), Failure> {
        let (Some(plan), Some(rules)) = (&self.plan, &mut self.rules) else { return Ok(()) };
        let Some(plan) = run_at::amended_plan_of(&self.folder).filter(|now| now.session == plan.session) else {
            return Ok(());
        };
        let folder = DiskFolder::open(&plan.session).ok();
        let loaded = folder.and_then(|folder| {
            load_ignoring_results(&folder, &folder_name(&plan.session), None).session.filter(|(now, _)| plan.is_of(now))
        });
        self.amended = plan.amended;
        let Some((mut session, _)) = loaded else { return Ok(()) };
        let (known, new): (Vec<Task>, Vec<Task>) =
            session.tasks.into_iter().partition(|task| self.graph.index_of(task.id.as_str()).is_some());
        let known: HashMap<&str, &Task> = known.iter().map(|task| (task.id.as_str(), task)).collect();
        let kept = |own: &Task| match known.get(own.id.as_str()) {
            Some(task) => (*task).clone(),
            None => Task { dependencies: Vec::new(), ..own.clone() },
        };
        let tasks: Vec<Task> = self.session.tasks.iter().map(kept).chain(new.iter().cloned()).collect();
        let plain = new.iter().map(NewTask::plain).collect();
        session.tasks = tasks;
        let Some(graph) = Graph::seal(&session.tasks).graph else { return Ok(()) };
        rules
            .extend(plain, Some(graph.clone()))
            .map_err(|error| Failure::Changed(format!("the run {} cannot be followed any more: {error}", self.run)))?;
        (self.session, self.graph) = (Cow::Owned(session), Cow::Owned(graph));
        Ok(())
    }

    fn begin(&mut self, record: &str) -> Result<(Run, Timestamp), Failure> {
        let plan = Plan::of_run(record, &self.folder);
        let mut plan = plan.ok_or_else(|| records::Unreadable::Unknown("plan".to_owned()))?;
        if !plan.is_of(&self.session)
            && let Some(now) = run_at::amended_plan_of(&self.folder)
        {
            self.amended = now.amended.clone();
            plan = now;
        }
        if !plan.is_of(&self.session) {
            return Err(Failure::Changed(format!(
                "the tasks of the session differ from those of its run {}",
                self.run
            )));
        }
        // The rules do not ask what came out before, which may be most of the session.
        let without = |task: &Task| Task { findings: None, error: None, ..task.clone() };
        let mut tasks: Vec<Task> = self.session.tasks.iter().map(without).collect();
        plan.put_into(&mut tasks);
        let rules = Run::new(&tasks, self.graph.clone().into_owned(), plan.policy(&self.session))
            .map_err(|error| Failure::Changed(format!("the run {} cannot be read: {error}", self.run)))?;
        let at = plan.at;
        self.plan = Some(plan);
        Ok((rules, at))
    }
}
