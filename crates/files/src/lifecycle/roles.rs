//! The roles that a lifecycle session lists.

use std::collections::HashSet;
use std::sync::Arc;

use team_executor_core::{Complexity, InjectionTrigger, Role, RoleKind};

use super::shape::{CRITERIA, ROLE};
use crate::code::Code;
use crate::draft;
use crate::fields::{self, Named, field, whole};
use crate::finding::{Finding, Findings};
use crate::json::Value;
use crate::reading::About;
use crate::roles::Listed;

/// Every listed role once; what is wrong beyond its shape is said.
pub(super) fn read(
    list: Option<Value<'_, '_>>,
    about: &About,
    file: &Arc<str>,
    findings: &mut Findings,
) -> Vec<Listed> {
    let mut names = HashSet::new();
    let mut listed = Vec::new();
    for Named { name, span, value } in fields::named(list, &ROLE, "name").filter(|entry| !entry.name.is_empty()) {
        let Some(name) = draft::role_name(&name, file, span, findings) else { continue };
        if !names.insert(name.clone()) {
            let finding = Finding::error(Code::DuplicateId, format!("role '{name}' is not unique"));
            findings.push(finding.at(file, span, "defined again").help("rename or remove one of the two"));
            continue;
        }
        let inner_loop = field(value, &ROLE, "inner_loop").and_then(Value::as_bool);
        let mut role = Role::new(name);
        role.inner_loop = inner_loop.unwrap_or(false);
        fill(&mut role, value, about, file, findings);
        listed.push(Listed { role, is_settled: inner_loop.is_some() });
    }
    listed
}

fn fill(role: &mut Role, value: Value<'_, '_>, about: &About, file: &Arc<str>, findings: &mut Findings) {
    role.kind = Some(RoleKind::Pipeline);
    for (name, value) in fields::known(value, &ROLE) {
        let word = || value.as_text().unwrap_or_default();
        match name {
            "type" => role.kind = RoleKind::from_word(&word()),
            "task_prefix" => role.prefix = word().trim_end_matches(['*', '-']).to_owned(),
            "injection_trigger" => role.trigger = InjectionTrigger::from_word(&word()).unwrap_or(role.trigger),
            "injection_criteria" => {
                role.keywords = fields::lines(value, &CRITERIA, "keywords");
                let threshold = field(value, &CRITERIA, "complexity_threshold").and_then(Value::as_text);
                role.complexity_threshold = threshold.and_then(|word| Complexity::from_word(&word));
            }
            "capabilities" => {
                role.capabilities = value.items().filter_map(fields::text_of).map(Into::into).collect();
            }
            "phase_execution" => {
                for item in value.items() {
                    match whole(item).filter(|phase| (1..=5).contains(phase)) {
                        Some(phase) => role.phase_execution.push(phase),
                        None => findings.push(no_phase(item, about, file)),
                    }
                }
            }
            _ => {}
        }
    }
}

fn no_phase(item: Value<'_, '_>, about: &About, file: &Arc<str>) -> Finding {
    let message = format!("{} invalid field 'roles[].phase_execution'", about.subject);
    Finding::error(Code::InvalidField, message)
        .at(file, item.span(), "there are the phases 1 to 5")
        .help("write 1 to 5")
}
