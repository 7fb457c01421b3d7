//! Findings for people: the sentence, the place with its source line, and what to do.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use team_executor_app::findings::shown_path;
use team_executor_files::{Finding, Findings, Place, Severity, Source, Sources, Span};

use crate::escape;

/// All findings, errors first, then how many more there are.
pub(crate) fn all(findings: &Findings, sources: &Sources, folder: &str, width: usize) -> String {
    let mut out = String::new();
    for kind in findings.shown() {
        out.push_str(&finding(kind.first, sources, folder, width));
        also(&mut out, &kind.also, sources, folder, width);
        out.push('\n');
    }
    for hidden in findings.hidden() {
        let file = hidden.file.map(|file| format!(" in {}", shown_path(folder, &file))).unwrap_or_default();
        out.push_str(&format!("… and {} more {} findings{file}\n\n", hidden.count, hidden.code.name()));
    }
    out
}

/// The other warnings of a kind, a line each.
fn also(out: &mut String, others: &[&Finding], sources: &Sources, folder: &str, width: usize) {
    const LISTED: usize = 8;
    let mut line = |text: String| {
        let lines = escape::wrap(&escape::line(&text), width.saturating_sub("also: ".len()));
        out.push_str(&format!("also: {}\n", lines.join("\n      ")));
    };
    let listed = if others.len() > LISTED + 1 { LISTED } else { others.len() };
    for other in &others[..listed] {
        let place = other.place.as_ref().map(|place| {
            let position = place.span.and_then(|span| Some(sources.get(&place.file)?.position(span.start)));
            let at = position.map(|position| format!(":{}:{}", position.line, position.column)).unwrap_or_default();
            format!(" ({}{at})", shown_path(folder, &place.file))
        });
        let times = if other.times > 1 { format!(", {} times", other.times) } else { String::new() };
        line(format!("{}{}{times}", other.message, place.unwrap_or_default()));
    }
    let rest = &others[listed..];
    if !rest.is_empty() {
        let times: u32 = rest.iter().map(|other| other.times).sum();
        line(format!("{times} more of this kind; --format json lists them"));
    }
}

/// One finding, with a line end.
pub(crate) fn finding(finding: &Finding, sources: &Sources, folder: &str, width: usize) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // A finding with a place has its label there.
    let times = if finding.times > 1 && finding.place.as_ref().is_none_or(|place| place.span.is_none()) {
        format!(" ({} times)", finding.times)
    } else {
        String::new()
    };
    let title = level.primary_title(escape::line(&format!("{}{times}", finding.message)));
    let mut group = Group::with_title(title);
    for excerpt in excerpts(finding, sources, folder) {
        group = excerpt.add_to(group);
    }
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii).term_width(width);
    let mut text = renderer.render(&[group]);
    text.push('\n');
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::BrightCyan.into()));
    for help in &finding.help {
        let lines = escape::wrap(help, width.saturating_sub("help: ".len()));
        text.push_str(&format!("{style}help{style:#}: {}\n", lines.join("\n      ")));
    }
    text
}

/// Neighbouring lines of one file with the places in them, in the order in which the finding names them.
struct Excerpt {
    path: String,
    first_line: usize,
    text: String,
    /// Where the first place is, if a line is shown without its beginning.
    cut_at: Option<(usize, usize)>,
    marks: Vec<(Range<usize>, bool, String)>,
}

impl Excerpt {
    fn add_to<'a>(self, group: Group<'a>) -> Group<'a> {
        if self.text.is_empty() {
            return group.element(Origin::path(self.path));
        }
        let annotations = self.marks.into_iter().map(|(span, primary, label)| -> Annotation<'a> {
            let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation = kind.span(span);
            if label.is_empty() { annotation } else { annotation.label(label) }
        });
        let snippet = Snippet::source(self.text).line_start(self.first_line).annotations(annotations);
        match self.cut_at {
            None => group.element(snippet.path(self.path)),
            // The excerpt does not tell the column any more.
            Some((line, column)) => {
                group.element(Origin::path(self.path).line(line).char_column(column)).element(snippet)
            }
        }
    }
}

/// A place with its bytes and its line.
type Member<'a> = (&'a Place, Span, usize);

fn excerpts(finding: &Finding, sources: &Sources, folder: &str) -> Vec<Excerpt> {
    /// Places closer than this are shown together.
    const NEIGHBOURS: usize = 6;
    let places = finding.place.iter().chain(&finding.related);
    let mut groups: Vec<(&str, Vec<Member<'_>>)> = Vec::new();
    let mut out = Vec::new();
    let mut other_files = Vec::new();
    for place in places {
        let source = sources.get(&place.file);
        let (Some(span), Some(source)) = (place.span, source) else {
            let path = shown_path(folder, &place.file);
            let list = if finding.place.as_ref() == Some(place) { &mut out } else { &mut other_files };
            list.push(Excerpt { path, first_line: 0, text: String::new(), cut_at: None, marks: Vec::new() });
            continue;
        };
        let line = source.position(span.start).line;
        let near = groups.iter_mut().find(|(file, members)| {
            *file == &*place.file && members.iter().any(|(_, _, other)| other.abs_diff(line) <= NEIGHBOURS)
        });
        match near {
            Some((_, members)) => members.push((place, span, line)),
            None => groups.push((&place.file, vec![(place, span, line)])),
        }
    }
    for (file, members) in groups {
        if let Some(source) = sources.get(file) {
            out.push(excerpt(source, shown_path(folder, file), &members, finding));
        }
    }
    out.extend(other_files);
    out
}

fn excerpt(source: &Source, path: String, members: &[Member<'_>], finding: &Finding) -> Excerpt {
    let first_line = members.iter().map(|(_, _, line)| *line).min().unwrap_or(1);
    let last_line = members.iter().map(|(_, _, line)| *line).max().unwrap_or(1);
    let position = members.first().map(|(_, span, _)| source.position(span.start));
    let mut text = String::new();
    let mut is_cut = false;
    let mut marks: Vec<(Range<usize>, bool, String)> = Vec::new();
    for line in first_line..=last_line {
        let bytes = source.line(line).range();
        let on_line: Vec<_> = members.iter().filter(|(_, _, at)| *at == line).collect();
        let window = window(source.text(), bytes.clone(), on_line.iter().map(|(_, span, _)| *span));
        is_cut |= window.start > bytes.start;
        let mut offsets = vec![(window.start, text.len())];
        for (at, c) in source.text()[window.clone()].char_indices() {
            text.push(escape::visible(c));
            offsets.push((window.start + at + c.len_utf8(), text.len()));
        }
        let shown = |offset: usize| {
            let at = offsets.partition_point(|(original, _)| *original < offset).min(offsets.len() - 1);
            offsets[at].1
        };
        for (place, span, _) in on_line {
            // An empty span, such as the end of a file, still gets one caret.
            let range = shown(span.start as usize)..shown((span.end as usize).min(bytes.end).max(span.start as usize));
            let is_primary = finding.place.as_ref().is_some_and(|primary| std::ptr::eq(primary, *place));
            let label = if is_primary && place.label.is_empty() && finding.times > 1 {
                format!("the first of {}", finding.times)
            } else {
                escape::line(&place.label)
            };
            marks.push((range, is_primary, label));
        }
        text.push('\n');
    }
    let cut_at = position.filter(|_| is_cut).map(|position| (position.line, position.column));
    Excerpt { path, first_line, text, cut_at, marks }
}

/// The part of a line that is shown: all of it, unless it is longer than any screen.
fn window(text: &str, line: Range<usize>, spans: impl Iterator<Item = Span>) -> Range<usize> {
    const LONGEST: usize = 2000;
    const AROUND: usize = 100;
    if line.len() <= LONGEST {
        return line;
    }
    let (mut start, mut end) = (line.end, line.start);
    for span in spans {
        start = start.min(span.start as usize);
        end = end.max((span.start as usize + AROUND).min(span.end as usize));
    }
    let mut start = start.min(end).saturating_sub(AROUND).max(line.start);
    let mut end = (end + AROUND).min(line.end).min(start + LONGEST);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end.max(start)
}
