//! When a role joins, as the front matter of its role-spec says: `type`, `injection_trigger`, `injection_criteria`.

use std::sync::Arc;

use team_executor_core::{Complexity, InjectionTrigger, Role, RoleKind};

use crate::code::Code;
use crate::finding::{Finding, Findings};
use crate::front_matter::{Entry, FrontMatter, Yaml};

/// The keys of a front matter that say when a role joins.
pub const FIELDS: [&str; 3] = ["type", "injection_trigger", "injection_criteria"];

/// What a front matter says about when a role joins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// `type`
    pub kind: Option<RoleKind>,
    /// `injection_trigger`
    pub trigger: Option<InjectionTrigger>,
    /// `injection_criteria.keywords`
    pub keywords: Vec<String>,
    /// `injection_criteria.complexity_threshold`
    pub threshold: Option<Complexity>,
}

/// Reads a front matter. A value that cannot be understood is said and ignored: other programs may use the key.
pub fn read(front: &FrontMatter, file: &Arc<str>, findings: &mut Findings) -> Rule {
    let mut rule = Rule::default();
    for entry in &front.entries {
        if rule.take(&entry.key, &entry.value.value).is_none() {
            let message = format!("an unknown value of `{}` was ignored", entry.key);
            let finding = Finding::warning(Code::InvalidField, message).file(file);
            findings.push(finding.help("`team-executor schema role-spec` says what it can be"));
        }
    }
    rule
}

impl Rule {
    /// Gives a role what it says.
    pub fn give(self, role: &mut Role) {
        role.kind = self.kind.or(role.kind);
        role.trigger = self.trigger.unwrap_or(role.trigger);
        role.complexity_threshold = self.threshold.or(role.complexity_threshold);
        if !self.keywords.is_empty() {
            role.keywords = self.keywords;
        }
    }

    /// Takes the value of a key; nothing if it is one of [`FIELDS`] and cannot be understood.
    fn take(&mut self, key: &str, value: &Yaml) -> Option<()> {
        match (key, value) {
            ("type", value) => self.kind = Some(RoleKind::from_word(text(value)?)?),
            ("injection_trigger", value) => self.trigger = Some(InjectionTrigger::from_word(text(value)?)?),
            ("injection_criteria", Yaml::Map(entries)) => {
                return entries.iter().try_for_each(|one| self.criterion(one));
            }
            ("injection_criteria", _) => return None,
            _ => {}
        }
        Some(())
    }

    fn criterion(&mut self, entry: &Entry) -> Option<()> {
        match (entry.key.as_str(), &entry.value.value) {
            ("keywords", Yaml::List(nodes)) => {
                self.keywords = nodes.iter().map(|node| text(&node.value).map(str::to_owned)).collect::<Option<_>>()?;
            }
            ("keywords", one) => self.keywords = vec![text(one)?.to_owned()],
            ("complexity_threshold", value) => self.threshold = Some(Complexity::from_word(text(value)?)?),
            _ => {}
        }
        Some(())
    }
}

fn text(value: &Yaml) -> Option<&str> {
    match value {
        Yaml::Text(text) | Yaml::Number(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_matter::parse;
    use crate::samples;

    fn read(yaml: &str) -> (Rule, Vec<String>) {
        let mut findings = Findings::default();
        let rule = super::read(&parse(yaml, 0).unwrap(), &"role-specs/x.md".into(), &mut findings);
        (rule, samples::said(&findings))
    }

    #[test]
    fn a_front_matter_says_when_its_role_joins() {
        let (rule, wrong) = read(
            "role: x\ntype: specialist\ninjection_trigger: keywords\n\
             injection_criteria:\n  keywords: [OWASP, 2FA, 10]\n  complexity_threshold: high\n  other: 1\n",
        );
        let keywords = ["OWASP", "2FA", "10"].map(str::to_owned).to_vec();
        let expected = Rule {
            kind: Some(RoleKind::Specialist),
            trigger: Some(InjectionTrigger::Keywords),
            keywords,
            threshold: Some(Complexity::High),
        };
        assert_eq!((rule, wrong), (expected, vec![]));
        assert_eq!(read("injection_criteria:\n  keywords: one\n").0.keywords, ["one"]);
        assert_eq!(read("role: x\n"), (Rule::default(), vec![]));
    }

    #[test]
    fn unknown_value_is_reported_and_ignored() {
        for (yaml, key) in [
            ("type: expert", "type"),
            ("injection_trigger: sometimes", "injection_trigger"),
            ("injection_trigger: [keywords]", "injection_trigger"),
            ("injection_criteria: OWASP", "injection_criteria"),
            ("injection_criteria:\n  complexity_threshold: 3", "injection_criteria"),
            ("injection_criteria:\n  keywords: [[a]]", "injection_criteria"),
        ] {
            let said = format!("Warning invalid-field an unknown value of `{key}` was ignored");
            assert_eq!(read(yaml).1, [said], "{yaml}");
        }
    }
}
