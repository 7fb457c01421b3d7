//! A written session reads back the same, nothing of the user's is lost, and writing twice changes nothing.

mod arbitrary;
mod disorder;
mod originals;
mod round_trip;

use team_executor_core::{Graph, Session};

use crate::folder::MemoryFolder;
use crate::json::quote;
use crate::load::{Loaded, load};

pub(super) fn graph(session: &Session) -> Graph {
    Graph::seal(&session.tasks).graph.unwrap()
}

/// The messages about the file itself: these sessions have no discoveries, which completed tasks would need.
pub(super) fn messages(loaded: &Loaded) -> Vec<&str> {
    let messages = loaded.findings.iter().map(|finding| finding.message.as_str());
    messages.filter(|message| *message != "a completed task has no discovery").collect()
}

pub(super) fn load_tasks_json(text: &str) -> Loaded {
    load(&MemoryFolder::default().with("tasks.json", text), "f", None)
}

pub(super) fn load_lifecycle(text: &str) -> Loaded {
    load(&MemoryFolder::default().with("session.json", text), "f", None)
}

/// The files beside `team-session.json` that a session needs.
pub(super) fn load_team_session(text: &str, session: &Session) -> Loaded {
    let nodes: Vec<_> = session
        .tasks
        .iter()
        .map(|task| {
            format!("{}: {{ \"depends_on\": [], \"role\": {} }}", quote(task.id.as_str()), quote(task.role.as_str()))
        })
        .collect();
    let roles: Vec<_> = session
        .roles
        .iter()
        .map(|role| format!("{{ \"name\": {}, \"prefix\": \"P\" }}", quote(role.name.as_str())))
        .collect();
    let analysis = format!(
        "{{ \"capabilities\": [], \"dependency_graph\": {{ {} }}, \"roles\": [{}] }}",
        nodes.join(", "),
        roles.join(", ")
    );
    let mut folder = MemoryFolder::default().with("team-session.json", text).with("task-analysis.json", analysis);
    for role in &session.roles {
        let spec = format!(
            "---\nrole: {}\nprefix: P\ninner_loop: {}\nmessage_types:\n  success: done\n---\n## Phase 2\n## Phase 3\n## Phase 4\n",
            role.name, role.inner_loop
        );
        folder = folder.with(&format!("role-specs/{}.md", role.name), spec);
    }
    load(&folder, "f", None)
}
