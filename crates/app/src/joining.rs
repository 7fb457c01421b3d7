//! Who joins a session by rule, by the command line and by the configuration.

use serde::Serialize;
use team_executor_core::joining::candidates;
use team_executor_core::{InjectionTrigger, Joining, RoleKind, RoleName, Session, joining, letters_apart};
use team_executor_files::{Code, Finding};

use crate::environment::Place;
use crate::error::Error;

/// The roles that join. `asked` are those of the command line; the configuration is read only where it could matter.
pub(crate) fn decide(session: &Session, asked: &[String], place: &Place) -> Result<Vec<Joining>, Error> {
    let mut names: Vec<RoleName> = asked.iter().map(|name| known(session, name)).collect::<Result<_, _>>()?;
    if candidates(session).any(|role| role.trigger != InjectionTrigger::Always) {
        let roles = place.config()?.settings.roles;
        let injected = roles.iter().filter(|(_, own)| own.inject.as_ref().is_some_and(|set| set.value));
        names.extend(injected.filter_map(|(name, _)| RoleName::parse(name).ok()));
    }
    Ok(joining(session, None, &names))
}

/// One who joins, for programs.
#[derive(Debug, Serialize)]
pub struct JsonJoining {
    role: String,
    trigger: &'static str,
    reason: String,
}

/// All who join, for programs.
pub fn json(joining: &[Joining]) -> Vec<JsonJoining> {
    let one = |one: &Joining| JsonJoining {
        role: one.role.to_string(),
        trigger: one.trigger.word(),
        reason: one.why.to_string(),
    };
    joining.iter().map(one).collect()
}

/// A role of the session that has a role-spec.
fn known(session: &Session, name: &str) -> Result<RoleName, Error> {
    if let Some(role) = candidates(session).find(|role| role.name.as_str() == name) {
        return Ok(role.name.clone());
    }
    let is_own = |role: &&team_executor_core::Role| {
        role.trigger != InjectionTrigger::Always || role.kind == Some(RoleKind::Specialist)
    };
    let names: Vec<&str> = candidates(session).filter(is_own).map(|role| role.name.as_str()).collect();
    Err(no_role(name, &names))
}

/// That there is no such role to join, and which there are.
pub(crate) fn no_role(name: &str, names: &[&str]) -> Error {
    let mut finding = Finding::error(Code::UnknownRole, format!("there is no role-spec of a role '{name}'"));
    let near = names.iter().find(|known| letters_apart(name, known, name.chars().count() / 3 + 1).is_some());
    if let Some(near) = near {
        finding = finding.help(format!("did you mean --role {near}?"));
    }
    let listed =
        if names.is_empty() { "no role can join".to_owned() } else { format!("who can join: {}", names.join(", ")) };
    finding.help(format!("{listed}; a role joins if role-specs/ has its instructions")).into()
}
