//! `task-analysis.json` of a `tc` session. In one that is there nothing is changed; it may get one more node.

use team_executor_core::{Priority, Role, RunOn, Session, Task};

use super::elements::{Elements, Form};
use super::overlay::{Fields, New, object};
use super::patch::{Piece, patched};
use super::written;
use crate::fields::field;
use crate::json::{Kind, Writer};
use crate::tc::task_analysis::{CAPABILITY, NODE, OBJECT, ROLE};

/// Something that the team must be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it is.
    pub description: &'a str,
    /// What comes out of it.
    pub artifact_type: &'a str,
}

/// The text of `task-analysis.json`.
pub fn task_analysis(session: &Session, capabilities: &[Capability<'_>], score: u32) -> String {
    let capability_fields = |at: usize| capability(&capabilities[at]);
    let names = capabilities.iter().map(|capability| capability.name).collect();
    let capabilities =
        Elements { form: Form::List, shape: &CAPABILITY, key: "name", names, fields: &capability_fields };
    let node_fields = |at: usize| node(&session.tasks[at]);
    let names = session.tasks.iter().map(|task| task.id.as_str()).collect();
    let nodes = Elements { form: Form::Map, shape: &NODE, key: "id", names, fields: &node_fields };
    let role_fields = |at: usize| role(&session.roles[at]);
    let names = session.roles.iter().map(|role| role.name.as_str()).collect();
    let roles = Elements { form: Form::List, shape: &ROLE, key: "name", names, fields: &role_fields };
    let fields = Fields::default()
        .always("capabilities", New::with(|out| capabilities.write(out)))
        .always("dependency_graph", New::with(|out| nodes.write(out)))
        .always("roles", New::with(|out| roles.write(out)))
        .always("complexity_score", New::Whole(score.into()));
    written(|out| object(out, &OBJECT, &fields))
}

/// The text with a node for one more task at the end of its graph; nothing if it has no graph.
pub fn task_analysis_with(original: &str, task: &Task) -> Option<String> {
    patched(original, |patch, root| {
        let graph = field(root, &OBJECT, "dependency_graph").filter(|graph| graph.kind() == Kind::Object)?;
        let write = Box::new(|out: &mut Writer| object(out, &NODE, &node(task)));
        patch.splice(graph, &[], &[Piece { key: Some(task.id.as_str().into()), write }]);
        Some(())
    })
}

fn capability<'a>(capability: &Capability<'a>) -> Fields<'a> {
    Fields::default()
        .always("name", New::text(capability.name))
        .always("description", New::text(capability.description))
        .always("artifact_type", New::text(capability.artifact_type))
}

pub(super) fn node(task: &Task) -> Fields<'_> {
    Fields::default()
        .always("depends_on", New::texts(&task.dependencies))
        .always("role", New::text(&task.role))
        .unless(task.priority == Priority::P1, "priority", New::text(task.priority.word()))
        .always("title", New::text(&task.title))
        .always("description", New::text(&task.description))
        .unless(task.run_on == RunOn::Success, "run_on", New::text(task.run_on.word()))
        .unless(task.context_from.is_empty(), "context_from", New::texts(&task.context_from))
        .text_or_gone("min_complexity", task.min_complexity.map(|level| level.word()))
        .unless(task.delivers.is_empty(), "delivers", New::texts(&task.delivers))
}

fn role(role: &Role) -> Fields<'_> {
    Fields::default()
        .always("name", New::text(&role.name))
        .always("prefix", New::text(&role.prefix))
        .text_or_gone("responsibility_type", role.responsibility.as_deref())
        .always("inner_loop", New::Bool(role.inner_loop))
}
