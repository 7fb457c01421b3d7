//! Which roles join a session by rule, and why. Joining starts nothing and drops nothing: the tasks of a
//! session run as it plans them, with or without specialists.

use std::fmt;

use crate::complexity::{Assessment, Complexity};
use crate::ids::RoleName;
use crate::mention::Words;
use crate::role::{InjectionTrigger, Role, RoleKind};
use crate::session::Session;

/// A role that joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// Which.
    pub role: RoleName,
    /// When it joins.
    pub trigger: InjectionTrigger,
    /// Why it joins now.
    pub why: Why,
}

/// Why a role joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It is a specialist who always does.
    Always,
    /// One of its words stands in the requirement, or in the tasks of a session that has none.
    Mentioned {
        /// The word, as the role writes it.
        keyword: String,
        /// Where it stands.
        by: &'static str,
    },
    /// The work is complex enough.
    Complex {
        /// How complex it is.
        level: Complexity,
        /// How complex it must be.
        threshold: Complexity,
    },
    /// A person asked for it.
    Asked,
    /// It joined before, as the session says.
    Recorded,
}

impl fmt::Display for Joining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} joins: {}", self.role, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("it always does"),
            Self::Mentioned { keyword, by } => write!(f, "{by} {keyword}"),
            Self::Complex { level, threshold } => write!(f, "the complexity is {level}, it joins from {threshold} on"),
            Self::Asked => f.write_str("a person asked for it"),
            Self::Recorded => f.write_str("the session says so"),
        }
    }
}

/// The roles that join a session, in the order of its roles: those of the team, then the specialists beside it. Only roles
/// with a role-spec do. A role that always joins is a specialist: everybody else who is always there is the team itself.
/// `complexity` is what is known about the work; without it the requirement is assessed.
pub fn joining(session: &Session, complexity: Option<Complexity>, asked: &[RoleName]) -> Vec<Joining> {
    let mut text = None;
    let mut joining = Vec::new();
    for role in candidates(session) {
        let trigger = role.trigger;
        let by_rule = match trigger {
            InjectionTrigger::Always => (role.kind == Some(RoleKind::Specialist)).then_some(Why::Always),
            InjectionTrigger::Keywords => text.get_or_insert_with(|| Asked::read(session)).keyword(role),
            InjectionTrigger::Complexity => {
                let level = complexity.unwrap_or_else(|| text.get_or_insert_with(|| Asked::read(session)).level());
                let threshold = role.complexity_threshold.unwrap_or(Complexity::High);
                (level >= threshold).then_some(Why::Complex { level, threshold })
            }
            InjectionTrigger::Manual => None,
        };
        let why = by_rule.or_else(|| asked.contains(&role.name).then_some(Why::Asked)).or_else(|| {
            let recorded = session.injected_roles.contains(&role.name);
            recorded.then_some(if trigger == InjectionTrigger::Manual { Why::Asked } else { Why::Recorded })
        });
        joining.extend(why.map(|why| Joining { role: role.name.clone(), trigger, why }));
    }
    joining
}

/// The roles that could join: each has a role-spec.
pub fn candidates(session: &Session) -> impl Iterator<Item = &Role> {
    session.roles.iter().chain(&session.specialists).filter(|role| role.spec.is_some())
}

/// Notes who joins, behind those who are noted already.
pub fn record(session: &mut Session, joining: &[Joining]) {
    for one in joining {
        if !session.injected_roles.contains(&one.role) {
            session.injected_roles.push(one.role.clone());
        }
    }
}

/// What was asked for.
struct Asked {
    text: String,
    words: Words,
    by: &'static str,
}

impl Asked {
    fn read(session: &Session) -> Self {
        let requirement = session.requirement.trim();
        let tasks = || {
            // A specialist's own tasks are no reason for it to join.
            let own: Vec<_> = candidates(session).filter(|role| role.trigger != InjectionTrigger::Always).collect();
            let others = session.tasks.iter().filter(|task| !own.iter().any(|role| role.name == task.role));
            let texts = others.flat_map(|task| [task.title.as_str(), task.description.as_str()]);
            texts.collect::<Vec<_>>().join("\n")
        };
        let (text, by) = match requirement {
            "" => (tasks(), "tasks mention"),
            text => (text.to_owned(), "requirement mentions"),
        };
        Self { words: Words::split(&text), text, by }
    }

    fn level(&self) -> Complexity {
        Assessment::assess(&self.text).level
    }

    fn keyword(&self, role: &Role) -> Option<Why> {
        let keyword = self.words.first(role.keywords.iter().map(String::as_str))?;
        Some(Why::Mentioned { keyword: keyword.to_owned(), by: self.by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{SessionId, TaskId};
    use crate::task::Task;

    fn name(text: &str) -> RoleName {
        RoleName::parse(text).unwrap()
    }

    fn role(role: &str, trigger: InjectionTrigger) -> Role {
        Role { trigger, spec: Some(format!("role-specs/{role}.md")), ..Role::new(name(role)) }
    }

    fn session(requirement: &str, roles: Vec<Role>) -> Session {
        let id = SessionId::parse("TC-1").unwrap();
        Session { requirement: requirement.to_owned(), roles, ..Session::new(id) }
    }

    fn told(session: &Session, complexity: Option<Complexity>, asked: &[&str]) -> Vec<String> {
        let asked: Vec<_> = asked.iter().map(|role| name(role)).collect();
        joining(session, complexity, &asked).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keywords_make_a_role_join_when_the_requirement_mentions_one() {
        let keywords = vec!["sql injection".to_owned(), "OWASP".to_owned()];
        let expert = Role { keywords, ..role("security-expert", InjectionTrigger::Keywords) };
        let asked = |requirement: &str| told(&session(requirement, vec![expert.clone()]), None, &[]);
        assert_eq!(asked("Check the login by the owasp list"), ["security-expert joins: requirement mentions OWASP"]);
        assert_eq!(asked("Stop SQL-injection!"), ["security-expert joins: requirement mentions sql injection"]);
        for other in ["", "owasps", "SQL and no injection"] {
            assert_eq!(asked(other), [""; 0], "{other}");
        }
        let mut table = session(" ", vec![expert.clone()]);
        table.tasks = vec![Task::new(TaskId::parse("A").unwrap(), name("worker"))];
        table.tasks[0].description = "Read the OWASP list".to_owned();
        assert_eq!(told(&table, None, &[]), ["security-expert joins: tasks mention OWASP"]);
        table.tasks[0].role = expert.name.clone();
        assert_eq!(told(&table, None, &[]), [""; 0], "its own tasks do not call it");
    }

    #[test]
    fn complexity_makes_a_role_join_from_its_threshold_on() {
        let of =
            |threshold| Role { complexity_threshold: threshold, ..role("architect", InjectionTrigger::Complexity) };
        for (threshold, from) in [(None, Complexity::High), (Some(Complexity::Medium), Complexity::Medium)] {
            let session = session("Fix a typo", vec![of(threshold)]);
            for level in Complexity::ALL {
                assert_eq!(
                    told(&session, Some(*level), &[]).len(),
                    usize::from(*level >= from),
                    "{threshold:?} {level}"
                );
            }
        }
        let assessed = session("Rewrite the API as distributed services", vec![of(None)]);
        assert_eq!(told(&assessed, None, &[]), ["architect joins: the complexity is high, it joins from high on"]);
        assert_eq!(told(&assessed, Some(Complexity::Low), &[]), [""; 0], "what is known counts");
    }

    #[test]
    fn only_roles_with_a_role_spec_join_and_each_once() {
        let mut ghost = role("ghost", InjectionTrigger::Keywords);
        (ghost.spec, ghost.keywords) = (None, vec!["api".to_owned()]);
        let mut always = role("scribe", InjectionTrigger::Always);
        let team = role("developer", InjectionTrigger::Always);
        always.kind = Some(RoleKind::Specialist);
        let mut session = session("An API", vec![ghost, team]);
        session.specialists = vec![always, role("lawyer", InjectionTrigger::Manual)];
        assert_eq!(told(&session, None, &["ghost"]), ["scribe joins: it always does"]);
        let asked = ["scribe joins: it always does", "lawyer joins: a person asked for it"];
        assert_eq!(told(&session, None, &["lawyer", "stranger"]), asked);
        let joined = joining(&session, None, &[name("lawyer")]);
        record(&mut session, &joined);
        record(&mut session, &joined);
        assert_eq!(session.injected_roles, [name("scribe"), name("lawyer")]);
        assert_eq!(told(&session, None, &[]), asked, "it is not asked for twice");
        session.specialists[0].kind = None;
        assert_eq!(told(&session, None, &[])[0], "scribe joins: the session says so");
    }
}
