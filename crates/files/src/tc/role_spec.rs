//! `role-specs/<role>.md`: front matter and the phases that a worker goes through.

use std::sync::Arc;

use team_executor_core::{InjectionTrigger, RoleKind};

use crate::code::Code;
use crate::fields::INNER_LOOP;
use crate::finding::{Finding, Findings};
use crate::front_matter::{self, FrontMatter, Split, Yaml, YamlErrorKind};
use crate::joining::{self, Rule};
use crate::lifecycle::shape::CRITERIA;
use crate::limits;
use crate::markdown;
use crate::reading::{About, Reading};
use crate::shape::{Field, Object, Presence, Type};
use crate::span::{Source, Span};

/// What is said about it; the path of the file follows the subject.
static ABOUT: About = About {
    subject: "Invalid role-spec",
    schema: "role-spec",
    limit: limits::ROLE_SPEC_BYTES,
    if_missing: "run team-coordinate again with resume to write the role-specs",
    if_wrong: "or run team-coordinate again to make the file anew",
};

/// The shape of its front matter.
pub static SHAPE: Type = Type::Object(&OBJECT);

static OBJECT: Object = Object {
    about: "Front matter of a role-spec; its body has the sections `## Phase 2`, `## Phase 3` and `## Phase 4`",
    fields: &[
        Field::required("role", &Type::Name, "Name of the role"),
        Field::required("prefix", &Type::Name, "Prefix of the ids of its tasks"),
        Field::required("inner_loop", &INNER_LOOP, "Whether one worker does all its tasks, one after the other"),
        Field::required("message_types", &Type::Map(&Type::Text), "The message that it sends, by occasion"),
        Field::optional("agent", &Type::Name, "Which agent does its tasks, where the user lets sessions choose"),
        Field::optional("type", &Type::Word(RoleKind::WORDS, &[]), "What sort of role it is"),
        Field::optional("injection_trigger", &Type::Word(InjectionTrigger::WORDS, &[]), "When it joins"),
        Field::optional("injection_criteria", &Type::Object(&CRITERIA), "What makes it join"),
    ],
};

/// What a role-spec says.
#[derive(Debug, Default)]
pub struct RoleSpec {
    /// `prefix`
    pub prefix: Option<String>,
    /// `inner_loop`; nothing where it is `dynamic`.
    pub inner_loop: Option<bool>,
    /// `message_types`
    pub message_types: Vec<(String, String)>,
    /// `agent`
    pub agent: Option<String>,
    /// When it joins.
    pub rule: Rule,
}

/// Reads and judges one role-spec. `role` is the name that the session gives it, `named` the place where it does.
pub fn read(reading: &mut Reading<'_>, file: &Arc<str>, role: &str, named: (&Arc<str>, Span)) -> Option<RoleSpec> {
    if !reading.folder.has(file) {
        let finding = Finding::error(Code::RoleSpecNotFound, format!("Role-spec file not found: {file}"));
        let finding = finding.at(named.0, named.1, "the instructions of this role are missing");
        reading.findings.push(finding.help(ABOUT.if_missing));
        return None;
    }
    let text = reading.required_text_of(&format!("{}: {file}", ABOUT.subject), file, &ABOUT)?;
    let spec = judge(&text, file, role, &mut reading.findings);
    reading.sources.insert(file.clone(), Source::new(text));
    spec
}

fn judge(text: &str, file: &Arc<str>, role: &str, findings: &mut Findings) -> Option<RoleSpec> {
    let wrong = |code, what: String| Finding::error(code, format!("Invalid role-spec: {file} {what}"));
    let by_hand = "fix it by hand, or run team-coordinate again";
    let (yaml, body) = match front_matter::split(text) {
        Split::Found { yaml, body } => (yaml, body),
        Split::None => {
            let finding = wrong(Code::FrontMatter, "missing frontmatter".to_owned());
            let finding = finding.at(file, Span::new(0, 0), "the file must begin with a line `---`");
            findings.push(finding.help("`team-executor schema role-spec` shows the front matter").help(by_hand));
            phases(text, 0, file, findings);
            return None;
        }
        Split::Unclosed { open } => {
            let finding = wrong(Code::FrontMatter, "missing frontmatter".to_owned());
            let finding = finding.at(file, open, "opened here and never closed");
            findings.push(finding.help("close it with a line `---`").help(by_hand));
            return None;
        }
    };
    let spec = match front_matter::parse(&text[yaml.range()], yaml.start) {
        Ok(front_matter) => Some(required(&front_matter, yaml, file, role, findings)),
        Err(error) => {
            let mut finding = wrong(Code::FrontMatter, "corrupt frontmatter".to_owned());
            finding = finding.at(file, error.span, error.kind.to_string());
            if let YamlErrorKind::DuplicateKey { first, .. } = &error.kind {
                finding = finding.and(file, *first, "first given here");
            }
            findings.push(finding.help(by_hand));
            None
        }
    };
    phases(&text[body.range()], body.start, file, findings);
    spec
}

/// The keys, each named when it is missing or wrong.
fn required(front: &FrontMatter, yaml: Span, file: &Arc<str>, role: &str, findings: &mut Findings) -> RoleSpec {
    let by_hand = "fix it by hand, or run team-coordinate again";
    let mut spec = RoleSpec { rule: joining::read(front, file, findings), ..RoleSpec::default() };
    for field in OBJECT.fields {
        let Some(entry) = front.get(field.name) else {
            if field.presence == Presence::Optional {
                continue;
            }
            let message = format!("Invalid role-spec: {file} missing required field '{}'", field.name);
            let finding = Finding::error(Code::MissingField, message);
            let label = format!("`{}` belongs between the `---` lines", field.name);
            let finding = finding.at(file, Span { start: yaml.start, end: yaml.start }, label);
            let help = format!("add `{}: …` ({})", field.name, field.ty.expectation());
            findings.push(finding.help(help).help(by_hand));
            continue;
        };
        let node = &entry.value;
        let invalid = |expected: &str| {
            let message = format!("Invalid role-spec: {file} invalid field '{}'", field.name);
            let finding = Finding::error(Code::InvalidField, message);
            finding.at(file, shown(node.span, entry.key_span), format!("expected {expected}")).help(by_hand)
        };
        let understood = |code, message: &str| Finding::warning(code, message).at(file, node.span, "");
        match (field.name, &node.value) {
            ("role", Yaml::Text(name) | Yaml::Number(name)) => {
                if name != role {
                    let message = format!("`role` is `{name}` here, `{role}` in the session; the session wins");
                    findings.push(understood(Code::Disagreement, &message));
                }
            }
            ("prefix", Yaml::Text(prefix) | Yaml::Number(prefix)) if !prefix.trim().is_empty() => {
                spec.prefix = Some(prefix.clone());
            }
            ("agent", Yaml::Text(name)) => spec.agent = Some(name.clone()),
            (name, _) if joining::FIELDS.contains(&name) => {}
            ("inner_loop", Yaml::Bool(value)) => spec.inner_loop = Some(*value),
            ("inner_loop", Yaml::Text(word)) if word == "dynamic" => {
                let message = "`inner_loop: dynamic` is left to the session, and is false where that does not say";
                findings.push(understood(Code::OtherForm, message));
            }
            ("inner_loop", Yaml::Text(word)) if matches!(word.as_str(), "true" | "false") => {
                findings.push(understood(Code::OtherForm, "`inner_loop` in quotes was read as true or false"));
                spec.inner_loop = Some(word == "true");
            }
            ("inner_loop", Yaml::Text(word)) => {
                findings.push(invalid(&format!("true or false, found the word {word}")));
            }
            ("message_types", Yaml::Map(entries)) => {
                spec.message_types =
                    entries.iter().filter_map(|entry| Some((entry.key.clone(), scalar(&entry.value.value)?))).collect();
            }
            ("message_types", Yaml::List(nodes)) => {
                let message = "`message_types` that is a list was read as names of messages";
                findings.push(understood(Code::OtherForm, message));
                let names = nodes.iter().filter_map(|node| scalar(&node.value));
                spec.message_types = names.map(|name| (name.clone(), name)).collect();
            }
            _ => findings.push(invalid(&field.ty.expectation())),
        }
    }
    spec
}

fn scalar(value: &Yaml) -> Option<String> {
    match value {
        Yaml::Text(text) | Yaml::Number(text) => Some(text.clone()),
        Yaml::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A value that is not there has no bytes: its key is shown instead.
fn shown(value: Span, key: Span) -> Span {
    if value.start == value.end { key } else { value }
}

fn phases(body: &str, offset: u32, file: &Arc<str>, findings: &mut Findings) {
    let headings = markdown::headings(body, offset);
    let found: Vec<u8> = headings.iter().filter(|h| h.level == 2).filter_map(|h| markdown::phase(&h.text)).collect();
    for phase in 2..=4u8 {
        if found.contains(&phase) {
            continue;
        }
        let mut finding =
            Finding::error(Code::PhaseMissing, format!("Invalid role-spec: {file} missing Phase {phase}")).file(file);
        let mut help = format!("add a section `## Phase {phase}: …`; one in a code block does not count");
        let other_level = headings.iter().find(|h| h.level != 2 && markdown::phase(&h.text) == Some(phase));
        if let Some(heading) = other_level {
            let span = Span { start: heading.start, end: heading.end };
            finding = finding.at(file, span, format!("this is a heading of level {}", heading.level));
            help = format!("make it a heading of level 2: `## Phase {phase}: …`");
        }
        findings.push(finding.help(help).help("fix it by hand, or run team-coordinate again"));
    }
}
