//! The check boxes of a Markdown text, with the headings above them and what is nested below them.

use crate::lines::lines;
use crate::span::Span;

/// One line `- [ ] text`.
#[derive(Debug)]
pub(super) struct Item {
    /// How many blanks stand before its mark; a tab counts four.
    pub(super) indent: usize,
    pub(super) is_done: bool,
    /// What follows the box.
    pub(super) text: String,
    /// Where that stands.
    pub(super) place: Span,
    /// Lines below it that belong to it and are no items.
    pub(super) more: Vec<String>,
    /// Which heading it stands under, by number; nothing above the first one.
    pub(super) heading: Option<usize>,
}

/// What a Markdown text holds.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) items: Vec<Item>,
    /// Level and text.
    pub(super) headings: Vec<(u8, String)>,
    /// How many lines with words are neither headings nor items nor below an item.
    pub(super) prose: usize,
}

/// Reads a text. Lines in fences, comments and front matter are no items.
pub(super) fn read(text: &str) -> Text {
    let mut found = Text::default();
    let (mut fence, mut in_comment) = (None::<String>, false);
    let mut in_front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    for (number, line) in lines(text).enumerate() {
        let trimmed = line.text.trim();
        if in_front_matter {
            in_front_matter = number == 0 || trimmed != "---";
        } else if let Some(open) = &fence {
            if trimmed.starts_with(open.as_str()) && trimmed.trim_start_matches(['`', '~']).is_empty() {
                fence = None;
            }
        } else if in_comment {
            in_comment = !trimmed.contains("-->");
        } else if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fence = Some(trimmed.chars().take_while(|c| ['`', '~'].contains(c)).collect());
        } else if trimmed.starts_with("<!--") {
            in_comment = !trimmed.contains("-->");
        } else if let Some(heading) = heading(line.text) {
            found.headings.push(heading);
        } else if let Some((indent, is_done, text)) = boxed(line.text) {
            let start = line.start + line.text.trim_end().len() - text.len();
            let heading = found.headings.len().checked_sub(1);
            let place = Span::new(start, start + text.len());
            found.items.push(Item { indent, is_done, text: text.to_owned(), place, more: Vec::new(), heading });
        } else {
            found.line(line.text);
        }
    }
    found
}

impl Text {
    /// A line that is deeper than the last item belongs to it.
    fn line(&mut self, text: &str) {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.chars().all(|c| matches!(c, '-' | '*' | '_' | '=')) {
            return;
        }
        let under = self.headings.len().checked_sub(1);
        match self.items.last_mut().filter(|item| item.heading == under && indent(text) > item.indent) {
            Some(item) => item.more.push(trimmed.to_owned()),
            None => self.prose += 1,
        }
    }
}

fn indent(text: &str) -> usize {
    text.chars()
        .map_while(|c| [(' ', 1), ('\t', 4)].iter().find(|(blank, _)| *blank == c).map(|(_, width)| width))
        .sum()
}

fn heading(text: &str) -> Option<(u8, String)> {
    let rest = text.trim_start_matches('#');
    let level = u8::try_from(text.len() - rest.len()).ok().filter(|level| (1..=6).contains(level))?;
    let title = rest.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim();
    (!title.is_empty()).then(|| (level, title.to_owned()))
}

/// The parts of `- [x] text`; the mark may be `-`, `*`, `+` or a number.
fn boxed(line: &str) -> Option<(usize, bool, &str)> {
    let text = line.trim();
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = match text.len() - digits.len() {
        0 => text.strip_prefix(['-', '*', '+'])?,
        _ => digits.strip_prefix(['.', ')'])?,
    };
    let inside = after.strip_prefix([' ', '\t'])?.trim_start().strip_prefix('[')?;
    let mut chars = inside.chars();
    let mark = chars.next()?;
    let rest = chars.as_str().strip_prefix(']')?;
    let rest = if rest.is_empty() { rest } else { rest.strip_prefix([' ', '\t'])? };
    matches!(mark, ' ' | 'x' | 'X').then(|| (indent(line), mark != ' ', rest.trim()))
}

/// A text without one `[word]` at its beginning, if it has that.
pub(super) fn without_label(text: &str, is: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once(']')?;
    is(label).then(|| (label, rest.trim_start()))
}
