//! What a run of a session would do. Nothing is started and nothing on disk changes.

mod json;
mod means;
mod standing;

use std::collections::HashSet;

use team_executor_core::{Graph, Joining, Plan, Session, TaskIndex, TaskStatus};
use team_executor_engine::runs::plan_diff;
use team_executor_files::picture::{Node, Picture};
use team_executor_files::{Code, Finding};

use crate::App;
use crate::config::defaults::Defaults;
use crate::config::{Flags, check, held_back};
use crate::error::Error;
use crate::estimate::{self, Estimate, Terms};
use crate::history::History;
use crate::joining;
use crate::open::Opened;
use crate::words::count;

pub use self::json::JsonPlan;
pub use self::means::Means;
pub use self::standing::Standing;
pub use crate::config::held_back::HeldBack;
pub use team_executor_engine::runs::PlanDiff;

/// What a run would do.
#[derive(Debug)]
pub struct Planned {
    /// The session.
    pub session: Session,
    /// What is done when.
    pub plan: Plan,
    /// Who joins.
    pub joining: Vec<Joining>,
    /// Who does the tasks, and what they may use.
    pub means: Means,
    /// What is configured and not in force, a line each.
    pub unused: Vec<String>,
    /// Which variables are set here, wanted by who does the tasks, and not passed.
    pub held_back: Vec<HeldBack>,
    /// Where the newest run of the session stands, if there is one.
    pub standing: Option<Standing>,
    /// How long it would take and what it would cost, where attempts in the project are known.
    pub estimate: Option<Estimate>,
}

impl App {
    /// Plans a session that was read, with these roles besides; nothing if it has errors.
    pub fn plan(&self, opened: &mut Opened, roles: &[String]) -> Result<Option<Planned>, Error> {
        let standing = if opened.session.is_some() { self.status(opened).ok().flatten() } else { None };
        let Some((mut session, graph)) = opened.session.take() else { return Ok(None) };
        let standing = standing.map(|status| Standing::take_over(&status, &mut session, &opened.path));
        let plan = Plan::make(&session, graph);
        let place = self.around(opened.named())?;
        let joining = joining::decide(&session, roles, &place)?;
        let config = place.config()?;
        let (means, workers) = Means::collect(&session, &config, self.exe()?);
        let held_back = held_back::find(&workers, &place);
        let unused = check::unused(&config, &session);
        let known = History::read(&place.project).of_tasks(&session, &workers);
        let terms = Terms::choose(&Defaults::choose(&config, &Flags::default()));
        let estimate = known.and_then(|known| estimate::estimate(&session, &plan.graph, terms, &known));
        Ok(Some(Planned { session, plan, joining, means, unused, held_back, standing, estimate }))
    }
}

impl App {
    /// How the plan of a session that was read differs from that of its newest run; nothing if it has none, and the name of the
    /// run if its plan is not known any more.
    pub fn plan_diff(&self, opened: &Opened) -> Result<Option<Result<PlanDiff, String>>, Error> {
        let (session, _) = opened.runnable()?;
        let place = self.around(opened.named())?;
        Ok(plan_diff(session, &place.folder, &place.current))
    }
}

impl Planned {
    /// The plan for programs; what is not in force is among the findings.
    pub fn json<'a>(&'a self, opened: &'a mut Opened) -> JsonPlan<'a> {
        for message in &self.unused {
            opened.findings.push(Finding::warning(Code::InvalidField, message.clone()));
        }
        json::json(opened, self)
    }

    /// The numbers of the plan in one line.
    pub fn summary(&self) -> String {
        let Self { session, plan, .. } = self;
        let done = plan.statuses.iter().filter(|status| **status == TaskStatus::Completed).count();
        let edges = match plan.graph.edge_count() {
            1 => "1 dependency".to_owned(),
            edges => format!("{edges} dependencies"),
        };
        let (tasks, waves) = (count(session.tasks.len(), "task"), count(plan.waves.len(), "wave"));
        format!("{tasks} ({done} done), {edges}, {waves}, critical path of {}", plan.critical_path.len())
    }

    /// The plan as a picture.
    pub fn picture(&self) -> Picture {
        let Self { session, plan, .. } = self;
        let critical: HashSet<_> = plan.critical_path.iter().copied().collect();
        picture(session, &plan.graph, &plan.statuses, &critical, self.summary())
    }
}

/// The tasks of a session as a picture.
pub(crate) fn picture(
    session: &Session,
    graph: &Graph,
    statuses: &[TaskStatus],
    critical: &HashSet<TaskIndex>,
    subtitle: String,
) -> Picture {
    let indexes = (0..).map(TaskIndex);
    let nodes = indexes.clone().zip(&session.tasks).map(|(index, task)| Node {
        id: task.id.to_string(),
        title: task.title.clone(),
        role: task.role.to_string(),
        status: statuses[index.get()],
        wave: graph.wave(index),
        critical: critical.contains(&index),
    });
    let edges = indexes
        .take(session.tasks.len())
        .flat_map(|task| graph.dependencies(task).iter().map(move |dependency| (dependency.0, task.0)));
    Picture { title: session.id.to_string(), subtitle, nodes: nodes.collect(), edges: edges.collect() }
}
