//! A run as one HTML file that can be mailed: nothing is loaded from elsewhere, no script is in it, and text of agents stays text.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use team_executor_core::{Graph, Session, TaskIndex};
use team_executor_engine::usage::{Spent, Sum, dollars};
use team_executor_engine::{Status, seconds};

use super::MARK;
use crate::attempts::{Course, TaskCourse, TaskEnd, rfc3339};
use crate::attention::Item;
use crate::escape::{line, xml};
use crate::plan::picture;
use crate::timeline::Timeline;
use crate::words::count;

/// How many rows a table has.
const ROWS: usize = 2000;

const STYLE: &str = ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}\
h1{font-size:1.6rem;margin-bottom:0}h2{font-size:1.2rem;margin-top:2.2rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8884}td.n,th.n{text-align:right}\
pre{white-space:pre-wrap;margin:0;font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}.scroll{overflow-x:auto}\
.muted{opacity:.7}.failed{color:#cf222e}.completed{color:#1a7f37}@media (prefers-color-scheme:dark){.failed{color:#f85149}.completed{color:#3fb950}}\
svg{max-width:100%;height:auto}td{overflow-wrap:anywhere}";

/// What the page is made of.
pub(super) struct Page<'a> {
    pub(super) session: &'a Session,
    pub(super) graph: &'a Graph,
    pub(super) status: Status,
    pub(super) needs: Vec<Item>,
    pub(super) problems: Vec<Item>,
}

/// Text on one line, as HTML has it.
fn text(text: &str) -> String {
    xml(&line(text))
}

/// Text with its lines.
fn block(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(self::text).collect();
    format!("<pre>{}</pre>", lines.join("\n"))
}

/// The whole file.
pub(super) fn write(page: Page<'_>) -> String {
    let Page { session, graph, status, needs, problems } = page;
    let timeline = Timeline::new(session, graph, &status);
    let critical: HashSet<TaskIndex> = timeline.chain.iter().map(|link| timeline.bars[link.bar].task).collect();
    let mut out = String::new();
    head(&mut out, session, &status);
    items(&mut out, "Needs", &needs);
    items(&mut out, "Problems", &problems);
    let subtitle = format!("{} of {} completed", status.counts.completed, count(session.tasks.len(), "task"));
    let graph_svg = picture(session, graph, &status.statuses, &critical, subtitle).to_svg();
    section(&mut out, "Tasks and what they wait for", &format!("<div class=\"scroll\">{graph_svg}</div>"));
    section(&mut out, "Timeline", &format!("<div class=\"scroll\">{}</div>", timeline.to_svg(session)));
    chain(&mut out, session, &timeline);
    costs(&mut out, &status.used);
    deliverables(&mut out, &status);
    let course = Course::new(session, status);
    failures(&mut out, session, &course);
    tasks(&mut out, session, &course);
    out.push_str("</main></body></html>\n");
    out
}

fn head(out: &mut String, session: &Session, status: &Status) {
    let title = text(&format!("{} ({})", session.id, status.run));
    let counts = status.counts;
    let state = if status.finished { "finished" } else { status.stage };
    let parts = [
        (counts.completed, "completed"),
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.in_progress, "running"),
    ];
    let parts =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect::<Vec<_>>().join(", ");
    let reason = status.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    write!(
        out,
        "<!doctype html>\n<!-- {MARK} -->\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"referrer\" content=\"no-referrer\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main>\n<h1>{title}</h1>\n<p>{}</p>\n\
         <p><strong>{}</strong> {}</p>\n<p class=\"muted\">Began {}; workers were at work for {}, and none was for {}.</p>\n",
        text(&session.requirement),
        text(&format!("{state}{reason}.")),
        text(&parts),
        rfc3339(status.began),
        seconds(status.active),
        seconds(status.idle),
    )
    .ok();
}

fn section(out: &mut String, title: &str, body: &str) {
    writeln!(out, "<section><h2>{title}</h2>\n{body}\n</section>").ok();
}

/// A table; nothing without rows.
fn table(out: &mut String, title: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let header: String = columns.iter().map(|column| format!("<th scope=\"col\">{column}</th>")).collect();
    let left = rows.len().saturating_sub(ROWS);
    let row = |row: Vec<String>| {
        format!("<tr>{}</tr>\n", row.iter().map(|cell| format!("<td>{cell}</td>")).collect::<String>())
    };
    let rows: String = rows.into_iter().take(ROWS).map(row).collect();
    let more = if left > 0 { format!("<p class=\"muted\">and {left} more</p>") } else { String::new() };
    let body = format!(
        "<div class=\"scroll\"><table><thead><tr>{header}</tr></thead><tbody>\n{rows}</tbody></table></div>{more}"
    );
    section(out, title, &body);
}

fn items(out: &mut String, title: &str, items: &[Item]) {
    let row = |item: &Item| {
        let (kind, task) = (item.kind.word().replace('_', " "), item.task.as_deref().unwrap_or_default());
        let since = item.since.map(rfc3339).unwrap_or_default();
        vec![kind, text(task), block(&item.why), since, format!("<code>{}</code>", text(&item.command))]
    };
    table(out, title, &["kind", "task", "why", "since", "do"], items.iter().map(row).collect());
}

fn chain(out: &mut String, session: &Session, timeline: &Timeline) {
    let id = |nth: usize| text(session.tasks[timeline.bars[nth].task.get()].id.as_str());
    let mut rows = Vec::new();
    for (nth, link) in timeline.chain.iter().enumerate() {
        let bar = &timeline.bars[link.bar];
        let before = nth.checked_sub(1).map(|before| id(timeline.chain[before].bar)).unwrap_or_default();
        let took = seconds(crate::attempts::between(bar.started, bar.over));
        let why = format!("{} {before}", link.because.words());
        rows.push(vec![id(link.bar), bar.attempt.to_string(), took, why, seconds(link.gap)]);
    }
    table(out, "Why it took so long", &["task", "attempt", "time", "because it", "time before"], rows);
}

fn costs(out: &mut String, used: &[Spent]) {
    type Key<'a> = (&'a str, &'a str, &'a str);
    let mut by: BTreeMap<Key<'_>, Vec<&Spent>> = BTreeMap::new();
    for one in used {
        let key = (one.role.as_str(), one.used.agent.as_str(), one.used.model.as_deref().unwrap_or_default());
        by.entry(key).or_default().push(one);
    }
    let row = |name: Key<'_>, sum: &Sum| {
        let about = if sum.is_estimated { "about " } else { "" };
        let cost = sum.cost_micros.map(|micros| format!("{about}{}", dollars(micros))).unwrap_or_default();
        let numbers = [sum.attempts, sum.input, sum.cached, sum.output].map(|number| number.to_string());
        let names = [name.0, name.1, name.2].map(text);
        names.into_iter().chain(numbers).chain([cost]).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = by.iter().map(|(key, all)| row(*key, &Sum::total(all.iter().copied()))).collect();
    if !rows.is_empty() {
        rows.push(row(("all", "", ""), &Sum::total(used)));
    }
    let columns = ["role", "agent", "model", "attempts", "tokens in", "of them cached", "tokens out", "cost"];
    table(out, "Costs", &columns, rows);
}

fn deliverables(out: &mut String, status: &Status) {
    let faults: BTreeMap<usize, String> = status.faults.iter().map(|(nth, fault)| (*nth, fault.describe())).collect();
    let row = |(nth, shelved): (usize, &team_executor_engine::artifacts::Shelved)| {
        let artifact = &shelved.artifact;
        let task = artifact.task.as_ref().map(ToString::to_string).unwrap_or_default();
        let state = faults.get(&nth).cloned().unwrap_or_else(|| artifact.validation.word().to_owned());
        let size = artifact.file_size.map(|size| size.to_string()).unwrap_or_default();
        vec![text(&artifact.path), text(&task), text(artifact.creator.as_str()), text(&state), size]
    };
    let rows = status.artifacts.iter().enumerate().map(row).collect();
    table(out, "Deliverables", &["file", "task", "role", "state", "bytes"], rows);
}

fn failures(out: &mut String, session: &Session, course: &Course) {
    let all = session.tasks.iter().zip(&course.tasks);
    let failed = all.filter_map(|(task, course)| match &course.end {
        Some(TaskEnd::Failed(why)) => {
            Some(vec![text(task.id.as_str()), text(task.role.as_str()), course.attempts.len().to_string(), block(why)])
        }
        _ => None,
    });
    table(out, "Failures", &["task", "role", "attempts", "why"], failed.collect());
}

fn tasks(out: &mut String, session: &Session, course: &Course) {
    let word = |task: &TaskCourse| match &task.end {
        Some(TaskEnd::Completed) => "completed",
        Some(TaskEnd::Failed(_)) => "failed",
        Some(TaskEnd::Skipped(_)) => "skipped",
        None => "open",
    };
    let row = |(task, told): (&team_executor_core::Task, &TaskCourse)| {
        let state = word(told);
        let words = match &told.end {
            Some(TaskEnd::Skipped(why)) => why.as_str(),
            _ => told.findings.as_str(),
        };
        let now = course.last.unwrap_or(course.began);
        vec![
            text(task.id.as_str()),
            text(&task.title),
            text(task.role.as_str()),
            format!("<span class=\"{state}\">{state}</span>"),
            told.attempts.len().to_string(),
            seconds(told.length(now)),
            block(words),
        ]
    };
    let rows = session.tasks.iter().zip(&course.tasks).map(row).collect();
    table(out, "All tasks", &["task", "title", "role", "state", "attempts", "time", "findings"], rows);
}
