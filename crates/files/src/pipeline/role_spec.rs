//! The instructions of roles: built in for those of the pipelines, made from a part of them for any other.

use std::borrow::Cow;
use std::fmt::Write as _;

use team_executor_core::{Role, RoleName};

use super::outline::RoleText;
use crate::finding::Findings;
use crate::front_matter::{self, FrontMatter, Split, Yaml};
use crate::{joining, json};

/// Every role of a pipeline, with its role-spec.
pub(super) const BUILT_IN: &[(&str, &str)] = &[
    ("analyst", include_str!("role_specs/analyst.md")),
    ("architect", include_str!("role_specs/architect.md")),
    ("backend-developer", include_str!("role_specs/backend-developer.md")),
    ("evaluator", include_str!("role_specs/evaluator.md")),
    ("frontend-developer", include_str!("role_specs/frontend-developer.md")),
    ("implementer", include_str!("role_specs/implementer.md")),
    ("performance-expert", include_str!("role_specs/performance-expert.md")),
    ("planner", include_str!("role_specs/planner.md")),
    ("reviewer", include_str!("role_specs/reviewer.md")),
    ("security-expert", include_str!("role_specs/security-expert.md")),
    ("supervisor", include_str!("role_specs/supervisor.md")),
    ("tester", include_str!("role_specs/tester.md")),
    ("writer", include_str!("role_specs/writer.md")),
];

/// The phases of a role about which nothing is known.
const ANY: &str = include_str!("role_specs/any.md");

/// A role of a pipeline.
pub(super) struct BuiltIn {
    pub(super) role: Role,
    pub(super) text: RoleText,
}

/// The role of that name, if a pipeline has it.
pub(super) fn built_in(name: &str) -> Option<BuiltIn> {
    let (front, text, _) = parts(name)?;
    let word = |key: &str| match &front.get(key)?.value.value {
        Yaml::Text(text) => Some(text.clone()),
        _ => None,
    };
    let mut role = Role::new(RoleName::parse(name).ok()?);
    role.prefix = word("prefix")?;
    role.inner_loop = matches!(front.get("inner_loop")?.value.value, Yaml::Bool(true));
    role.spec = Some(path(name));
    joining::read(&front, &path(name).into(), &mut Findings::default()).give(&mut role);
    let text =
        RoleText { name: role.name.clone(), about: word("description")?, artifact_type: word("artifact_type")?, text };
    Some(BuiltIn { role, text })
}

/// The role-spec of a role that a table names. What a pipeline knows about a role of that name is used.
pub(super) fn of_table(role: &Role, titles: &[&str]) -> RoleText {
    let name = role.name.as_str();
    let known = parts(name).zip(built_in(name));
    let (about, artifact_type) = match &known {
        Some((_, built_in)) => (built_in.text.about.clone(), built_in.text.artifact_type.clone()),
        None => (format!("Does the tasks of the role {name}"), "document".to_owned()),
    };
    let mut text = format!(
        "---\nrole: {}\nprefix: {}\ninner_loop: {}\ndescription: {}\nartifact_type: {artifact_type}\n\
         message_types:\n  success: {}\n  error: error\n---\n",
        json::quote(name),
        json::quote(&role.prefix),
        role.inner_loop,
        json::quote(&about),
        json::quote(&format!("{}_complete", role.prefix.to_lowercase())),
    );
    match known {
        Some(((_, _, body), _)) => text.push_str(&body),
        None => {
            let heading: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            write!(text, "\n# {heading} — Phase 2-4\n\nThe tasks of this role:\n\n").ok();
            for title in titles {
                let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                writeln!(text, "- {title}").ok();
            }
            write!(text, "\n{ANY}").ok();
        }
    }
    RoleText { name: role.name.clone(), about, artifact_type, text: Cow::Owned(text) }
}

/// Where the role-spec of a role is.
pub(super) fn path(role: &str) -> String {
    format!("role-specs/{role}.md")
}

/// The front matter of a built-in role-spec, all of it, and what follows the front matter.
fn parts(name: &str) -> Option<(FrontMatter, Cow<'static, str>, String)> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let Split::Found { yaml, body } = front_matter::split(text) else { return None };
    let front = front_matter::parse(&text[yaml.range()], yaml.start).ok()?;
    Some((front, Cow::Borrowed(text), text[body.range()].to_owned()))
}
