//! `task-analysis.json` of the `tc` dialect: the dependency graph, and whatever else is known about its tasks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use team_executor_core::{Brief, Complexity, Detail, Priority, RoleName, RunOn, TaskId};

use crate::details;
use crate::draft;
use crate::fields::{
    self, DELIVERS, DESCRIPTIONS, FILES, ID, IDS, INNER_LOOP, ROLES as ROLE_NAMES, TITLES, field, text,
};
use crate::finding::Findings;
use crate::json::{Entry, Kind, Value};
use crate::limits;
use crate::reading::About;
use crate::shape::{Field, Object, Other, Type};
use crate::span::Span;

/// What is said about it.
pub static ABOUT: About = About {
    subject: "Invalid session: task-analysis.json",
    schema: "task-analysis",
    limit: limits::TASKS_BYTES,
    if_missing: "run team-coordinate again with resume, or check the path",
    if_wrong: "or run team-coordinate again to make the file anew",
};

/// Its shape.
pub static SHAPE: Type = Type::Object(&OBJECT);

pub(crate) static OBJECT: Object = Object {
    about: "A planner's analysis of the work",
    fields: &[
        Field::required("capabilities", &Type::List(&CAPABILITIES), "Capabilities that the team needs"),
        Field::required("dependency_graph", &Type::Map(&GRAPH), "Every task, with what it waits for"),
        Field::required("roles", &Type::Filled(&ROLES), "Who works"),
        Field::optional("complexity_score", &Type::Number(f64::NEG_INFINITY, f64::INFINITY), "How complex the work is"),
        Field::known(
            "tasks",
            &Type::List(&Type::Object(&DESCRIBED)),
            "`tasks` was read for the tasks' goals, steps and roles",
            "What the tasks are about",
        ),
    ],
};

/// One node of a dependency graph.
pub static GRAPH: Type = Type::Or(
    &Type::Object(&NODE),
    &[Other {
        ty: &Type::List(&ID),
        understood: "a `dependency_graph` node that is a bare array was read as its list of dependencies",
    }],
);

pub(crate) static NODE: Object = Object {
    about: "One task and what it waits for",
    fields: &[
        Field::expected("depends_on", &IDS, "the task waits for nothing", "Ids of the tasks that must be done before")
            .or(&["blockedBy", "blocked_by", "deps", "dependencies", "dependsOn"]),
        Field::expected(
            "role",
            &Type::Name,
            "it was taken from the task's description or from its prefix",
            "Name of the role that does it",
        )
        .or(ROLE_NAMES),
        Field::optional("priority", &Type::Word(Priority::WORDS, &[]), "Priority: which ready task starts first"),
        Field::optional("title", &Type::Text, "For people").or(TITLES),
        Field::optional("description", &Type::Text, "What to do").or(DESCRIPTIONS),
        Field::optional("run_on", &Type::Word(RunOn::WORDS, &[]), "Which outcome of its dependencies lets it run"),
        Field::optional("context_from", &IDS, "Ids of the tasks whose findings it is given"),
        Field::optional("min_complexity", &Type::Word(Complexity::WORDS, &[]), "How complex the work must be for it"),
        Field::optional("delivers", &FILES, DELIVERS),
    ],
};

static CAPABILITIES: Type = Type::Or(
    &Type::Object(&CAPABILITY),
    &[Other { ty: &Type::Name, understood: "a capability that is a string was read as its name" }],
);

pub(crate) static CAPABILITY: Object = Object {
    about: "A capability that the team needs",
    fields: &[
        Field::expected("name", &Type::Name, "the capability has no name", "Name of the capability"),
        Field::optional("description", &Type::Text, "What it is"),
        Field::optional("artifact_type", &Type::Text, "What comes out of it"),
        Field::known(
            "tasks",
            &Type::List(&Type::Object(&DESCRIBED)),
            "the `tasks` of a capability were read for the tasks' goals, steps and roles",
            "What the tasks are about",
        ),
    ],
};

static DESCRIBED: Object = Object {
    about: "What a task is about",
    fields: &[
        Field::required("id", &ID, "Which task").or(&["task_id"]),
        Field::optional("role", &Type::Name, "Name of the role that does it").or(ROLE_NAMES),
        Field::optional("title", &Type::Text, "For people").or(TITLES),
        Field::optional("description", &Type::Text, "What to do").or(&["prompt"]),
        Field::optional("goal", &Type::Text, "The goal"),
        Field::optional("steps", &Type::Anything, "Steps to the goal"),
        Field::optional("key_files", &Type::Anything, "Files to look at first"),
        Field::optional("upstream_artifacts", &Type::Anything, "Earlier work that it builds on"),
        Field::optional("success_criteria", &Type::Anything, "How to tell that the goal is reached"),
        Field::optional("constraints", &Type::Anything, "What to avoid"),
        Field::optional("depends_on", &IDS, "What it waits for").or(&[
            "blockedBy",
            "blocked_by",
            "deps",
            "dependencies",
            "dependsOn",
        ]),
    ],
};

/// Fields of a node that the model holds.
const NODE_TOLD: [&str; 6] = ["depends_on", "role", "title", "description", "context_from", "delivers"];

/// Fields of a description that the model holds.
const DESCRIBED_TOLD: [&str; 11] = [
    "id",
    "role",
    "title",
    "description",
    "goal",
    "steps",
    "key_files",
    "upstream_artifacts",
    "success_criteria",
    "constraints",
    "depends_on",
];

static ROLES: Type = Type::Or(
    &Type::Object(&ROLE),
    &[Other { ty: &Type::Name, understood: "a role that is a string was read as its name" }],
);

pub(crate) static ROLE: Object = Object {
    about: "One role as the planner sees it",
    fields: &[
        Field::required("name", &Type::Name, "Name of the role"),
        Field::optional("prefix", &Type::Text, "Prefix of the ids of its tasks"),
        Field::optional("responsibility_type", &Type::Text, "What sort of work it does"),
        Field::optional("inner_loop", &INNER_LOOP, "Whether one worker does all its tasks, one after the other"),
        Field::optional("role_spec_metadata", &Type::Anything, "What its role-spec was made from"),
    ],
};

/// What it says.
#[derive(Debug)]
pub struct Analysis<'d, 's> {
    /// `dependency_graph`
    pub graph: Option<Value<'d, 's>>,
    /// What capabilities and `tasks` tell about tasks.
    pub described: HashMap<String, Described>,
    /// Prefixes and inner loops of the roles.
    pub roles: Vec<AnalysisRole>,
}

/// One node of the dependency graph.
#[derive(Debug)]
pub struct Node {
    /// The task.
    pub id: TaskId,
    /// Where it stands.
    pub span: Span,
    /// What it waits for, and where that stands.
    pub dependencies: Vec<(TaskId, Span)>,
    /// Who does it, and where that stands.
    pub role: Option<(RoleName, Span)>,
    /// Which goes first.
    pub priority: Option<Priority>,
    /// For people.
    pub title: Option<String>,
    /// The work, in words.
    pub description: Option<String>,
    /// Which outcome lets it run.
    pub run_on: Option<RunOn>,
    /// Whose findings it is given.
    pub context_from: Vec<TaskId>,
    /// How complex the work must be for it.
    pub min_complexity: Option<Complexity>,
    /// The files that it must deliver.
    pub delivers: Vec<String>,
    /// Everything else.
    pub details: Vec<Detail>,
}

/// What the analysis tells about a task outside of the graph.
#[derive(Debug)]
pub struct Described {
    /// Where.
    pub span: Span,
    /// Who does it, or the capability that it belongs to.
    pub role: Option<String>,
    /// For people.
    pub title: Option<String>,
    /// The work, in words.
    pub description: Option<String>,
    /// What it waits for, if it says so.
    pub dependencies: Option<Vec<(TaskId, Span)>>,
    /// How to go about it.
    pub brief: Brief,
    /// Everything else.
    pub details: Vec<Detail>,
}

/// One entry of `roles`.
#[derive(Debug)]
pub struct AnalysisRole {
    /// `name`
    pub name: String,
    /// `prefix`
    pub prefix: Option<String>,
    /// `inner_loop`
    pub inner_loop: Option<bool>,
}

/// Takes what is there; what is missing or wrong has been said by the shape.
pub fn read<'d, 's>(root: Value<'d, 's>, file: &Arc<str>, findings: &mut Findings) -> Analysis<'d, 's> {
    let mut described = HashMap::new();
    if let Some(capabilities) = field(root, &OBJECT, "capabilities") {
        for capability in capabilities.items() {
            let name = text(capability, &CAPABILITY, "name");
            if let Some(tasks) = field(capability, &CAPABILITY, "tasks") {
                describe(tasks, name.as_deref(), file, findings, &mut described);
            }
        }
    }
    if let Some(tasks) = field(root, &OBJECT, "tasks") {
        describe(tasks, None, file, findings, &mut described);
    }
    Analysis {
        graph: field(root, &OBJECT, "dependency_graph").filter(|graph| graph.kind() == Kind::Object),
        described,
        roles: field(root, &OBJECT, "roles").map(|roles| roles.items().map(role).collect()).unwrap_or_default(),
    }
}

/// One node, whatever its form.
pub fn node(entry: Entry<'_, '_>, file: &Arc<str>, findings: &mut Findings) -> Option<Node> {
    let Entry { key, value } = entry;
    let span = key.span();
    let id = draft::task_id(&entry.name(), file, span, findings)?;
    let mut node = Node {
        id,
        span,
        dependencies: Vec::new(),
        role: None,
        priority: None,
        title: None,
        description: None,
        run_on: None,
        context_from: Vec::new(),
        min_complexity: None,
        delivers: Vec::new(),
        details: details::collect(value, &NODE, &NODE_TOLD),
    };
    if value.kind() == Kind::Array {
        node.dependencies = fields::ids(value, file, findings);
        return Some(node);
    }
    for entry in value.entries().filter(|entry| !entry.value.is_null()) {
        let Some((_, field, is_exact)) = NODE.field(&entry.name()) else { continue };
        let word = || entry.value.as_text().unwrap_or_default();
        match field.name {
            "depends_on" if node.dependencies.is_empty() => {
                node.dependencies = fields::ids(entry.value, file, findings);
            }
            "role" if node.role.is_none() => {
                let (name, span) = (word(), entry.value.span());
                let name = if is_exact { &*name } else { name.strip_prefix('@').unwrap_or(&name) };
                node.role = draft::role_name(name, file, span, findings).map(|role| (role, span));
            }
            "priority" => node.priority = Priority::from_word(&word()),
            "title" if node.title.is_none() => node.title = entry.value.as_text().map(Cow::into_owned),
            "description" if node.description.is_none() => {
                node.description = entry.value.as_text().map(Cow::into_owned)
            }
            "run_on" => node.run_on = RunOn::from_word(&word()),
            "context_from" => {
                node.context_from = fields::ids(entry.value, file, findings).into_iter().map(|(id, _)| id).collect();
            }
            "min_complexity" => node.min_complexity = Complexity::from_word(&word()),
            "delivers" => node.delivers = fields::files(entry.value),
            _ => {}
        }
    }
    Some(node)
}

fn describe(
    tasks: Value<'_, '_>,
    capability: Option<&str>,
    file: &Arc<str>,
    findings: &mut Findings,
    described: &mut HashMap<String, Described>,
) {
    for task in tasks.items() {
        let Some(id) = field(task, &DESCRIBED, "id") else { continue };
        let Some(name) = fields::text_of(id) else { continue };
        if let Some(first) = described.get_mut(&*name) {
            // Of a task described twice, the worker gets both texts; the first one decides its fields.
            first.details.extend(details::collect(task, &DESCRIBED, &["id", "role", "depends_on"]));
            continue;
        }
        let lines = |name| field(task, &DESCRIBED, name).map(lines).unwrap_or_default();
        let dependencies = field(task, &DESCRIBED, "depends_on");
        let one = Described {
            span: id.span(),
            role: text(task, &DESCRIBED, "role").or_else(|| capability.map(str::to_owned)),
            title: text(task, &DESCRIBED, "title"),
            description: text(task, &DESCRIBED, "description"),
            dependencies: dependencies.map(|list| fields::ids(list, file, findings)),
            brief: Brief {
                goal: text(task, &DESCRIBED, "goal"),
                steps: lines("steps"),
                key_files: lines("key_files"),
                upstream_artifacts: lines("upstream_artifacts"),
                success_criteria: lines("success_criteria"),
                constraints: lines("constraints"),
            },
            details: details::collect(task, &DESCRIBED, &DESCRIBED_TOLD),
        };
        described.insert(name.into_owned(), one);
    }
}

/// The elements of a list; anything else counts as a list of one.
fn lines(value: Value<'_, '_>) -> Vec<String> {
    let one = |value| details::inner(value).into_owned();
    match value.kind() {
        Kind::Array => value.items().map(one).collect(),
        _ => Some(one(value)).filter(|line| !line.is_empty()).into_iter().collect(),
    }
}

fn role(value: Value<'_, '_>) -> AnalysisRole {
    let named = value.as_text().map(Cow::into_owned);
    AnalysisRole {
        name: named.or_else(|| text(value, &ROLE, "name")).unwrap_or_default(),
        prefix: text(value, &ROLE, "prefix"),
        inner_loop: field(value, &ROLE, "inner_loop").and_then(Value::as_bool),
    }
}

/// The ids that a node waits for, as they are written.
pub fn dependency_names<'d, 's>(node: Value<'d, 's>) -> impl Iterator<Item = Cow<'s, str>> {
    let list = if node.kind() == Kind::Array { Some(node) } else { field(node, &NODE, "depends_on") };
    list.into_iter().flat_map(Value::items).filter_map(fields::text_of)
}
