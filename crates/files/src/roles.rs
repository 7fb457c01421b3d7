//! Roles of the dialects that name them only in their tasks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::{ExecMode, Role, RoleName, TaskIndex};

use crate::code::Code;
use crate::draft::Drafts;
use crate::finding::Finding;
use crate::front_matter::{self, FrontMatter, Split, Yaml};
use crate::joining;
use crate::limits;
use crate::reading::Reading;

/// A role that the session itself lists.
#[derive(Debug)]
pub(crate) struct Listed {
    /// The role.
    pub role: Role,
    /// Whether the list says how its workers are held; then its instructions are not asked.
    pub is_settled: bool,
}

/// The roles that tasks name, in order of appearance. Where the folder holds instructions for roles, each role must
/// have some, and they decide how its workers are held.
pub(crate) fn of_tasks(reading: &mut Reading<'_>, drafts: &mut Drafts) -> Vec<Role> {
    with_listed(reading, drafts, Vec::new())
}

/// The roles that the session lists, each once, then those that only tasks name.
pub(crate) fn with_listed(reading: &mut Reading<'_>, drafts: &mut Drafts, listed: Vec<Listed>) -> Vec<Role> {
    let settled: HashSet<RoleName> = listed.iter().filter(|l| l.is_settled).map(|l| l.role.name.clone()).collect();
    let mut roles: Vec<Role> = listed.into_iter().map(|listed| listed.role).collect();
    let mut known: HashMap<RoleName, usize> =
        roles.iter().enumerate().map(|(at, role)| (role.name.clone(), at)).collect();
    let mut complete: HashSet<usize> = HashSet::new();
    let instructions = Instructions::find(reading);
    for index in 0..drafts.tasks.len() {
        let name = drafts.tasks[index].role.clone();
        let at = *known.entry(name).or_insert_with_key(|name| {
            roles.push(Role::new(name.clone()));
            roles.len() - 1
        });
        let role = &mut roles[at];
        if complete.insert(at) {
            if role.prefix.is_empty() {
                role.prefix = drafts.tasks[index].id.as_str().split('-').next().unwrap_or_default().to_owned();
            }
            if let Some(instructions) = &instructions {
                let listed = settled.contains(&role.name).then_some(role.inner_loop);
                instructions.give(reading, role, drafts, index);
                role.inner_loop = listed.unwrap_or(role.inner_loop);
            }
        }
        if role.inner_loop {
            drafts.tasks[index].exec_mode = ExecMode::Interactive;
        }
    }
    // A role without a task needs no instructions; one that has some can join.
    for role in roles.iter_mut().filter(|role| role.spec.is_none()) {
        role.spec = instructions.as_ref().and_then(|instructions| instructions.path_of(role.name.as_str()));
    }
    roles
}

/// The roles that only have a role-spec, which says when they join: the session does not list them and no
/// task names them.
pub(crate) fn specialists(reading: &mut Reading<'_>, known: &[Role]) -> Vec<Role> {
    let known: HashSet<&str> = known.iter().filter_map(|role| role.spec.as_deref()).collect();
    let mut found = Vec::new();
    for file in reading.folder.list("role-specs").unwrap_or_default() {
        let path = format!("role-specs/{file}");
        let Some(name) = file.strip_suffix(".md").and_then(|name| RoleName::parse(name).ok()) else { continue };
        if known.contains(path.as_str()) {
            continue;
        }
        let front = front_matter(reading, &path.as_str().into());
        let Some(front) = front.filter(|front| front.get("injection_trigger").is_some()) else { continue };
        let mut role = Role::new(name);
        if let Some(Yaml::Text(prefix)) = front.get("prefix").map(|entry| &entry.value.value) {
            role.prefix.clone_from(prefix);
        }
        joining::read(&front, &path.as_str().into(), &mut reading.findings).give(&mut role);
        role.spec = Some(path);
        found.push(role);
    }
    found
}

/// Where a folder keeps the instructions of its roles.
enum Instructions {
    /// `role-specs/<role>.md`
    RoleSpecs(Vec<String>),
    /// `roles/<role>/role.md`
    Roles(Vec<String>),
}

impl Instructions {
    fn find(reading: &Reading<'_>) -> Option<Self> {
        let role_specs =
            reading.folder.list("role-specs").ok().filter(|names| names.iter().any(|n| n.ends_with(".md")));
        let roles = || reading.folder.list("roles").ok().filter(|names| !names.is_empty());
        role_specs.map(Self::RoleSpecs).or_else(|| roles().map(Self::Roles))
    }

    /// Where the instructions of a role are, if it has some.
    fn path_of(&self, role: &str) -> Option<String> {
        let found = match self {
            Self::RoleSpecs(names) => names.iter().any(|name| name.strip_suffix(".md") == Some(role)),
            Self::Roles(names) => names.iter().any(|name| name == role),
        };
        found.then(|| self.path(role))
    }

    fn path(&self, role: &str) -> String {
        match self {
            Self::RoleSpecs(_) => format!("role-specs/{role}.md"),
            Self::Roles(_) => format!("roles/{role}/role.md"),
        }
    }

    fn give(&self, reading: &mut Reading<'_>, role: &mut Role, drafts: &Drafts, task: usize) {
        let Some(path) = self.path_of(role.name.as_str()) else {
            let (Self::RoleSpecs(names) | Self::Roles(names)) = self;
            let path = self.path(role.name.as_str());
            let message = match self {
                Self::RoleSpecs(_) => format!("Role-spec file not found: {path}"),
                Self::Roles(_) => format!("role '{}' is not in roles/", role.name),
            };
            let index = TaskIndex(u32::try_from(task).unwrap_or(u32::MAX));
            let place = drafts.place(index);
            let finding = Finding::error(Code::UnknownRole, message);
            let finding = finding.at(drafts.file_of(index), place, format!("this task has the role '{}'", role.name));
            let known: Vec<_> = names.iter().take(20).map(|name| name.trim_end_matches(".md")).collect();
            let finding = finding.help(format!("the roles are: {}", known.join(", ")));
            reading.findings.push(finding.help(format!("write {path}, or give the task another role")));
            return;
        };
        let file: Arc<str> = path.as_str().into();
        let front_matter = front_matter(reading, &file);
        if let Some(front) = &front_matter {
            joining::read(front, &file, &mut reading.findings).give(role);
        }
        let value = |key: &str| front_matter.as_ref().and_then(|front| front.get(key)).map(|entry| &entry.value.value);
        role.inner_loop = matches!(value("inner_loop"), Some(Yaml::Bool(true)));
        role.agent = match value("agent") {
            Some(Yaml::Text(name)) => Some(name.clone()),
            _ => None,
        };
        role.spec = Some(path);
    }
}

/// The front matter of instructions, if there is any: these dialects do not demand one.
fn front_matter(reading: &Reading<'_>, file: &Arc<str>) -> Option<FrontMatter> {
    let bytes = reading.folder.read(file, limits::ROLE_SPEC_BYTES).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let Split::Found { yaml, .. } = front_matter::split(&text) else { return None };
    front_matter::parse(&text[yaml.range()], yaml.start).ok()
}
