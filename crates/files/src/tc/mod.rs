//! The `tc` dialect: `team-session.json`, `task-analysis.json`, `role-specs/`.

pub mod role_spec;
pub mod task_analysis;
pub mod team_session;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use team_executor_core::{Detail, Role, RoleName, Session, Task, TaskId};

use self::role_spec::RoleSpec;
use self::task_analysis::{Analysis, Described, Node};
use self::team_session::{SessionRole, TeamSession};
use crate::code::Code;
use crate::context;
use crate::draft::{Draft, Drafts};
use crate::fields;
use crate::finding::{Finding, Findings, Severity};
use crate::folder::ReadError;
use crate::json::{Entry, Value};
use crate::reading::Reading;
use crate::span::{Source, Span};
use crate::tasks_json;

/// Files beside the plan and the role-specs that workers may expect: paths with their initial texts. A path
/// that ends with `/` is a folder.
pub const LAYOUT: &[(&str, &str)] = &[
    ("artifacts/", ""),
    ("wisdom/", ""),
    ("explorations/", ""),
    ("discussions/", ""),
    (".msg/", ""),
    ("wisdom/learnings.md", "# Learnings\n"),
    ("wisdom/decisions.md", "# Decisions\n"),
    ("wisdom/issues.md", "# Issues\n"),
    ("explorations/cache-index.json", "{}\n"),
    (SHARED, "{}\n"),
];
/// What the roles of a session share, where `.msg/meta.json` does not hold it.
pub const SHARED: &str = "shared-memory.json";

/// Reads and judges in the order of the specification's algorithm: session, analysis, role-specs.
pub fn read(reading: &mut Reading<'_>) -> Option<Draft> {
    let session_file: Arc<str> = "team-session.json".into();
    let analysis_file: Arc<str> = "task-analysis.json".into();

    let session_text = reading.required_text(&session_file, &team_session::ABOUT);
    let session_document = session_text
        .as_deref()
        .and_then(|text| reading.document(&session_file, &team_session::ABOUT, Severity::Error, text));
    let team = session_document.as_ref().map(|document| {
        reading.check(&session_file, &team_session::ABOUT, Severity::Error, document, &team_session::SHAPE);
        team_session::read(document.root(), &session_file, &mut reading.findings)
    });

    let analysis_text = reading.required_text(&analysis_file, &task_analysis::ABOUT);
    let analysis_document = analysis_text
        .as_deref()
        .and_then(|text| reading.document(&analysis_file, &task_analysis::ABOUT, Severity::Error, text));
    let analysis = analysis_document.as_ref().map(|document| {
        reading.check(&analysis_file, &task_analysis::ABOUT, Severity::Error, document, &task_analysis::SHAPE);
        task_analysis::read(document.root(), &analysis_file, &mut reading.findings)
    });

    let has_specs = role_specs_exist(reading);
    let roles = team.as_ref().map(|team| roles(reading, team, analysis.as_ref(), &session_file, has_specs));

    let mut draft = None;
    if let (Some(team), Some(analysis), Some(roles)) = (team, analysis, roles) {
        let missing = match (team.graph, analysis.graph) {
            (Some(ours), Some(theirs)) => compare_graphs(ours, theirs, &session_file, &mut reading.findings),
            _ => Vec::new(),
        };
        let specialists = crate::roles::specialists(reading, &roles);
        let session = session(team, roles.clone(), missing).map(|session| Session { specialists, ..session });
        drop(session_document);
        let graph = analysis.graph;
        let mut tasks = tasks(analysis, &roles, &analysis_file, &mut reading.findings);
        context::give(reading.folder, &mut tasks);
        check_context(graph, &tasks, &mut reading.findings);
        draft = Some(Draft { session, tasks });
    }
    drop(analysis_document);
    for (file, text) in [(session_file, session_text), (analysis_file, analysis_text)] {
        if let Some(text) = text {
            reading.sources.insert(file, Source::new(text));
        }
    }
    if let Some(draft) = &mut draft {
        let roles = draft.session.as_ref().map_or(&[][..], |session| &session.roles);
        tasks_json::overlay(reading, &mut draft.tasks, roles);
    }
    draft
}

/// Step 5: the folder is there and holds at least one `.md` file.
fn role_specs_exist(reading: &mut Reading<'_>) -> bool {
    let help = "run team-coordinate again with resume to write the role-specs";
    let message = match reading.folder.list("role-specs") {
        Ok(names) if names.iter().any(|name| name.ends_with(".md")) => return true,
        Ok(_) => "Invalid session: no role-spec files in role-specs/".to_owned(),
        Err(ReadError::Missing) => "Invalid session: role-specs/ directory missing".to_owned(),
        Err(error) => format!("Invalid session: role-specs/ unreadable: {error}"),
    };
    reading.findings.push(Finding::error(Code::RoleSpecsMissing, message).help(help));
    false
}

/// Step 6: the roles of the session, each with what its role-spec says.
fn roles(
    reading: &mut Reading<'_>,
    team: &TeamSession<'_, '_>,
    analysis: Option<&Analysis<'_, '_>>,
    session_file: &Arc<str>,
    has_specs: bool,
) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    let mut places: HashMap<RoleName, &SessionRole> = HashMap::new();
    for entry in &team.roles {
        if let Some(first) = places.get(&entry.name) {
            let finding = Finding::error(Code::DuplicateId, format!("role '{}' is not unique", entry.name));
            let finding = finding.at(session_file, entry.span, "defined again");
            let finding = finding.and(session_file, first.span, "first defined here");
            reading.findings.push(finding.help("rename or remove one of the two"));
            continue;
        }
        places.insert(entry.name.clone(), entry);
        let planned = analysis.and_then(|a| a.roles.iter().find(|role| role.name == entry.name.as_str()));
        let path = match &entry.spec {
            Some((path, _)) => path.clone(),
            None => format!("role-specs/{}.md", entry.name),
        };
        let readable = has_specs && crate::paths::inside(&path).is_ok();
        let named = (session_file, entry.span);
        let spec = if readable {
            role_spec::read(reading, &path.as_str().into(), entry.name.as_str(), named).unwrap_or_default()
        } else {
            RoleSpec::default()
        };
        let inner_loop = inner_loop(entry, &spec, planned.and_then(|p| p.inner_loop), session_file, reading);
        let RoleSpec { prefix, message_types, agent, rule, .. } = spec;
        let mut role = Role::new(entry.name.clone());
        role.prefix = entry.prefix.clone().or(prefix).or(planned.and_then(|p| p.prefix.clone())).unwrap_or_default();
        role.responsibility = entry.responsibility.clone();
        role.inner_loop = inner_loop;
        role.message_types = message_types;
        role.agent = agent;
        role.spec = Some(path);
        rule.give(&mut role);
        roles.push(role);
    }
    roles
}

/// The role-spec decides; the session and the analysis are asked where it does not say.
fn inner_loop(
    entry: &SessionRole,
    spec: &RoleSpec,
    planned: Option<bool>,
    session_file: &Arc<str>,
    reading: &mut Reading<'_>,
) -> bool {
    if let (Some(session), Some(spec)) = (entry.inner_loop, spec.inner_loop)
        && session != spec
    {
        let message = format!(
            "role '{}': `inner_loop` is {session} here, {spec} in its role-spec; the role-spec wins",
            entry.name
        );
        reading.findings.push(Finding::warning(Code::Disagreement, message).at(session_file, entry.span, ""));
    }
    spec.inner_loop.or(entry.inner_loop).or(planned).unwrap_or(false)
}

/// The tasks of the graph, each with what the rest of the analysis tells about it.
fn tasks(analysis: Analysis<'_, '_>, roles: &[Role], file: &Arc<str>, findings: &mut Findings) -> Drafts {
    let Analysis { graph, mut described, .. } = analysis;
    let entries = || graph.into_iter().flat_map(Value::entries);
    let mut drafts = Drafts::with_capacity(file.clone(), entries().count());
    for entry in entries() {
        let Some(node) = task_analysis::node(entry, file, findings) else { continue };
        let description = described.remove(node.id.as_str());
        let role = resolve_role(&node, description.as_ref(), roles, file, findings).map(Cow::Borrowed);
        // Without a role the session is refused; the task stays, because others may depend on it.
        let unknown = || RoleName::parse(node.id.as_str()).ok().map(|name| Cow::Owned(Role::new(name)));
        if let Some(role) = role.or_else(unknown) {
            let (task, span, places) = task(node, description, &role);
            drafts.push(task, span, places);
        }
    }
    let mut unplaced: Vec<_> = described.into_iter().collect();
    unplaced.sort_by_key(|(_, description)| description.span.start);
    for (id, description) in unplaced {
        let message = format!("task '{id}' is described but is not in the dependency graph");
        let finding = Finding::error(Code::UnplacedTask, message).at(file, description.span, "described here");
        findings
            .push(finding.help(format!("add \"{id}\": {{ \"depends_on\": [], \"role\": \"…\" }} to dependency_graph")));
    }
    drafts
}

/// Says which of the tasks that others take context from are none.
fn check_context(graph: Option<Value<'_, '_>>, drafts: &Drafts, findings: &mut Findings) {
    if drafts.tasks.iter().all(|task| task.context_from.is_empty()) {
        return;
    }
    let by_id: HashMap<&str, &Task> = drafts.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    for entry in graph.into_iter().flat_map(Value::entries) {
        if let Some(task) = by_id.get(&*entry.name())
            && let Some(place) = fields::field(entry.value, &task_analysis::NODE, "context_from")
        {
            context::check(task, place, |id| by_id.contains_key(id), &drafts.file, findings);
        }
    }
}

/// The node says it; else its description; else the role whose prefix is the longest that fits.
fn resolve_role<'r>(
    node: &Node,
    description: Option<&Described>,
    roles: &'r [Role],
    file: &Arc<str>,
    findings: &mut Findings,
) -> Option<&'r Role> {
    if roles.is_empty() {
        return None; // the session has no roles, which has been said
    }
    let known = || roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some((name, span)) = &node.role {
        let role = roles.iter().find(|role| role.name == *name);
        if role.is_none() {
            let finding =
                Finding::error(Code::UnknownRole, format!("task '{}' has the unknown role '{name}'", node.id));
            let finding = finding.at(file, *span, "no role of team-session.json has this name");
            findings.push(finding.help(format!("the roles are: {}", known())).help(NEW_ROLE));
        }
        return role;
    }
    let of_description = description.and_then(|description| description.role.as_deref());
    let described = of_description.and_then(|name| roles.iter().find(|role| role.name.as_str() == name));
    let by_prefix = || {
        let fitting = roles.iter().filter(|role| node.id.has_prefix(&role.prefix));
        fitting.max_by_key(|role| role.prefix.len())
    };
    let role = described.or_else(by_prefix);
    if role.is_none() {
        let finding = Finding::error(Code::UnknownRole, format!("cannot tell the role of task '{}'", node.id));
        let finding = finding.at(file, node.span, "its node, its description and its prefix name no role");
        findings.push(finding.help(format!("add \"role\": one of {}", known())).help(NEW_ROLE));
    }
    role
}

const NEW_ROLE: &str = "to add a role, run team-coordinate again with resume";

fn task(node: Node, description: Option<Described>, role: &Role) -> (Task, Span, Vec<Span>) {
    let mut task = Task::new(node.id, role.name.clone());
    task.exec_mode = role.exec_mode();
    task.priority = node.priority.unwrap_or(task.priority);
    task.run_on = node.run_on.unwrap_or(task.run_on);
    task.min_complexity = node.min_complexity;
    task.delivers = node.delivers;
    task.context_from = node.context_from;
    task.title = node.title.unwrap_or_default();
    task.description = node.description.unwrap_or_default();
    let (dependencies, places) = node.dependencies.into_iter().unzip();
    task.dependencies = dependencies;
    task.details = node.details;
    if let Some(Described { title, description, brief, details, .. }) = description {
        let mut beside = Vec::new();
        let mut fill = |own: &mut String, name: &str, other: Option<String>| match other {
            Some(other) if own.is_empty() => *own = other,
            // Two files say two things about the same task: both are told.
            Some(text) if *own != text => beside.push(Detail { name: name.into(), text }),
            _ => {}
        };
        fill(&mut task.title, "title", title);
        fill(&mut task.description, "description", description);
        if task.title.is_empty() {
            task.title = brief.goal.clone().unwrap_or_default();
        }
        task.details.extend(beside.into_iter().chain(details));
        task.brief = (!brief.is_empty()).then(|| Box::new(brief));
    }
    (task, node.span, places)
}

fn session(team: TeamSession<'_, '_>, roles: Vec<Role>, missing_from_state: Vec<TaskId>) -> Option<Session> {
    let mut session = Session::new(team.id?);
    session.name = team.name;
    session.requirement = team.requirement;
    session.status = team.status;
    session.completion = team.completion;
    session.created_at = team.created_at;
    session.roles = roles;
    session.completed_tasks = team.completed_tasks;
    session.active_workers = team.active_workers;
    session.injected_roles = team.injected_roles;
    session.missing_from_state = missing_from_state;
    Some(session)
}

/// Both files hold the graph. The analysis counts; what differs is said, and what the session lacks is returned.
fn compare_graphs(
    of_session: Value<'_, '_>,
    of_analysis: Value<'_, '_>,
    file: &Arc<str>,
    findings: &mut Findings,
) -> Vec<TaskId> {
    let same_order = of_session.entries().zip(of_analysis.entries()).all(|(a, b)| same_node(a, b));
    if same_order && of_session.entries().count() == of_analysis.entries().count() {
        return Vec::new();
    }
    let ours: HashMap<_, _> = of_session.entries().map(|entry| (entry.name(), entry)).collect();
    let theirs: HashMap<_, _> = of_analysis.entries().map(|entry| (entry.name(), entry)).collect();
    for entry in of_session.entries() {
        let message = match theirs.get(&entry.name()) {
            Some(other) if same_node(entry, *other) => continue,
            Some(_) => "a node of `pipeline.dependency_graph` differs from task-analysis.json; task-analysis.json wins",
            None => "a node of `pipeline.dependency_graph` is not in task-analysis.json and was ignored",
        };
        findings.push(Finding::warning(Code::Disagreement, message).at(file, entry.key.span(), ""));
    }
    let missing = of_analysis.entries().filter(|entry| !ours.contains_key(&entry.name()));
    missing.filter_map(|entry| TaskId::parse(&entry.name()).ok()).collect()
}

fn same_node(a: Entry<'_, '_>, b: Entry<'_, '_>) -> bool {
    a.name() == b.name() && task_analysis::dependency_names(a.value).eq(task_analysis::dependency_names(b.value))
}
