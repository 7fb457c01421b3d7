//! The JSON lines of beads: an issue a line, with dependencies of several sorts.
//!
//! `blocks` makes an issue wait. `parent-child` makes the parent wait for its children, which wait for what blocks the
//! parent. Other sorts only relate issues and are left behind.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use team_executor_core::Priority;

use super::{Import, New, check, description, others, role};
use crate::code::Code;
use crate::fields::{self, field, text, whole};
use crate::finding::{Finding, Severity};
use crate::json::Value;
use crate::limits;
use crate::lines::lines;
use crate::ndjson;
use crate::reading::About;
use crate::shape::{Field, Object, Type};
use crate::side::apart;
use crate::span::Span;

static ABOUT: About = About {
    subject: "Invalid beads issue",
    schema: "tasks",
    limit: limits::LOG_BYTES,
    if_missing: "check the path",
    if_wrong: "or let beads write it again: bd export -o issues.jsonl",
};

static TYPE: Type = Type::Object(&ISSUE);

static ISSUE: Object = Object {
    about: "One issue",
    fields: &[
        Field::required("id", &Type::Name, "Its id"),
        Field::required("title", &Type::Text, "For people"),
        Field::optional("description", &Type::Text, "What to do"),
        Field::optional("design", &Type::Text, "How"),
        Field::optional("acceptance_criteria", &Type::Text, "How to check it"),
        Field::optional("notes", &Type::Text, "What else is known"),
        Field::optional("status", &Type::Text, "Its status"),
        Field::optional("priority", &Type::Whole(0), "0 goes first, 4 last"),
        Field::optional("issue_type", &Type::Text, "What sort of issue it is"),
        Field::optional("assignee", &Type::Text, "Role that does it"),
        Field::optional("dependencies", &Type::Nullable(&Type::List(&Type::Object(&DEPENDENCY))), "What it depends on"),
        Field::optional("labels", &Type::Nullable(&Type::List(&Type::Text)), "Words about it"),
        Field::optional("created_at", &Type::Anything, "When it was made"),
        Field::optional("created_by", &Type::Anything, "By whom"),
        Field::optional("updated_at", &Type::Anything, "When it last changed"),
        Field::optional("closed_at", &Type::Anything, "When it was closed"),
        Field::optional("close_reason", &Type::Anything, "Why"),
        Field::optional("owner", &Type::Anything, "Whose it is"),
        Field::optional("content_hash", &Type::Anything, "The tool's own"),
        Field::optional("source_repo", &Type::Anything, "The tool's own"),
        Field::optional("compaction_level", &Type::Anything, "The tool's own"),
        Field::optional("original_size", &Type::Anything, "The tool's own"),
        Field::optional("dependency_count", &Type::Anything, "The tool's own"),
        Field::optional("dependent_count", &Type::Anything, "The tool's own"),
        Field::optional("comment_count", &Type::Anything, "The tool's own"),
    ],
};

static DEPENDENCY: Object = Object {
    about: "One issue that depends on another",
    fields: &[
        Field::optional("issue_id", &Type::Text, "The issue that depends on the other"),
        Field::required("depends_on_id", &Type::Name, "The issue that it depends on"),
        Field::optional("type", &Type::Text, "How"),
    ],
};

/// One issue, as far as others must know it.
struct Issue {
    new: New,
    parents: Vec<String>,
}

pub(super) fn read(import: &mut Import<'_>, source: &str) {
    let file = import.drafts.file.clone();
    let mut issues: Vec<Issue> = Vec::new();
    let (mut related, mut gone) = (Vec::new(), Vec::new());
    for line in lines(source).filter(|line| !line.text.trim().is_empty()) {
        let base = Span::new(line.start, line.start).start;
        let (issue, findings) = apart(&mut import.reading, |reading| {
            let document = reading.document(&file, &ABOUT, Severity::Error, line.text)?;
            check(reading, &file, &ABOUT, &document, &TYPE);
            if reading.findings.has_errors() {
                return None;
            }
            one(document.root(), &file, base, &mut related, &mut gone, &mut reading.findings)
        });
        ndjson::place(&mut import.reading.findings, &findings, base, None);
        issues.extend(issue);
    }
    let dropped: HashSet<&String> = gone.iter().collect();
    join(&mut issues, &dropped);
    for Issue { mut new, .. } in issues {
        new.dependencies.retain(|(id, _)| !dropped.contains(id));
        import.take(new);
    }
    import.leave("deleted or deferred issues; nothing waits for them any more", &gone);
    import.leave("dependencies that only relate issues", &related);
}

fn one(
    root: Value<'_, '_>,
    file: &Arc<str>,
    base: u32,
    related: &mut Vec<String>,
    gone: &mut Vec<String>,
    findings: &mut crate::finding::Findings,
) -> Option<Issue> {
    let own = |name: &str| field(root, &ISSUE, name).and_then(fields::filled);
    let id = own("id")?;
    let status = own("status").unwrap_or_default();
    match status.as_str() {
        "" | "open" | "in_progress" | "blocked" | "closed" => {}
        "tombstone" | "deferred" => {
            gone.push(id);
            return None;
        }
        other => {
            let place = field(root, &ISSUE, "status").map_or(root.span(), Value::span);
            let finding = Finding::error(Code::InvalidField, format!("{}: unknown status '{other}'", ABOUT.subject));
            let finding = finding.at(file, place, "expected open, in_progress, blocked, closed or deferred");
            findings.push(finding.help("set another one with: bd update ID --status open"));
            return None;
        }
    }
    let at = |value: Value<'_, '_>| Span::at(base, value.span().start as usize, value.span().end as usize);
    let (mut dependencies, mut parents) = (Vec::new(), Vec::new());
    for dependency in field(root, &ISSUE, "dependencies").into_iter().flat_map(Value::items) {
        let Some(on) = text(dependency, &DEPENDENCY, "depends_on_id") else { continue };
        let place = field(dependency, &DEPENDENCY, "depends_on_id").map_or(dependency.span(), Value::span);
        let place = Span::at(base, place.start as usize, place.end as usize);
        match text(dependency, &DEPENDENCY, "type").as_deref() {
            None | Some("blocks") if !on.starts_with("external:") => dependencies.push((on, place)),
            Some("parent-child") => parents.push(on),
            sort => related.push(format!("{id} {} {on}", sort.unwrap_or("blocks"))),
        }
    }
    let others = others(root, &ISSUE);
    let labels = fields::lines(root, &ISSUE, "labels").join(", ");
    let mut more = vec![
        ("Design", own("design")),
        ("Acceptance criteria", own("acceptance_criteria")),
        ("Notes", own("notes")),
        ("Issue type", own("issue_type").filter(|sort| sort != "task")),
        ("Labels", Some(labels)),
    ];
    more.extend(others.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))));
    let new = New {
        file: file.clone(),
        place: field(root, &ISSUE, "id").map_or(at(root), at),
        title: own("title").unwrap_or_default(),
        description: description(&own("description").unwrap_or_default(), &more),
        role: role(own("assignee")),
        is_done: status == "closed",
        priority: match field(root, &ISSUE, "priority").and_then(whole::<u32>) {
            Some(0 | 1) => Priority::P0,
            Some(3..) => Priority::P2,
            _ => Priority::P1,
        },
        dependencies,
        id,
    };
    Some(Issue { new, parents })
}

/// Lets parents wait for their children, and children for what blocks their parents. Parents of parents count too.
fn join(issues: &mut [Issue], gone: &HashSet<&String>) {
    let at: HashMap<String, usize> = issues.iter().enumerate().map(|(at, issue)| (issue.new.id.clone(), at)).collect();
    let blockers: Vec<Vec<(String, Span)>> = issues.iter().map(|issue| issue.new.dependencies.clone()).collect();
    for child in 0..issues.len() {
        let (id, place) = (issues[child].new.id.clone(), issues[child].new.place);
        let direct: HashSet<String> = issues[child].parents.iter().cloned().collect();
        let mut above = issues[child].parents.clone();
        let mut seen: HashSet<String> = HashSet::from([id.clone()]);
        while let Some(parent) = above.pop() {
            let Some(&of) = at.get(&parent).filter(|_| !gone.contains(&parent)) else { continue };
            if !seen.insert(parent.clone()) {
                continue;
            }
            let is_part = |on: &String| *on == id || at.get(on).is_some_and(|on| issues[*on].parents.contains(&parent));
            let waits: Vec<_> = blockers[of].iter().filter(|(on, _)| !is_part(on)).map(|(on, _)| on.clone()).collect();
            issues[child].new.dependencies.extend(waits.into_iter().map(|on| (on, place)));
            if direct.contains(&parent) {
                let place = issues[of].new.place;
                issues[of].new.dependencies.push((id.clone(), place));
            }
            above.extend(issues[of].parents.clone());
        }
    }
}
