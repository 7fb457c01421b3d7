//! Reads docs/internals/requirements.md: headings, and under each a table with one requirement a row.

use crate::shell::Outcome;

/// A heading with its requirements.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The heading's text.
    pub(crate) title: String,
    /// In the order of the file.
    pub(crate) requirements: Vec<Requirement>,
}

/// One thing that the program must do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// A capital letter and two digits, for instance `S-03`.
    pub(crate) id: String,
    /// In one sentence.
    pub(crate) text: String,
}

/// The groups of a requirements file; an error names the line.
pub(crate) fn parse(markdown: &str) -> Outcome<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (n, line) in markdown.lines().enumerate() {
        let wrong = |what: String| format!("docs/internals/requirements.md:{}: {what}", n + 1);
        if let Some(title) = line.strip_prefix("## ") {
            groups.push(Group { title: title.trim().to_owned(), requirements: Vec::new() });
        } else if let Some(row) = line.strip_prefix('|') {
            let cells: Vec<_> = row.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
            let [id, text] = cells[..] else {
                return Err(wrong(format!("a row has two cells, this one has {}", cells.len())));
            };
            if matches!((id, text), ("id", "requirement") | ("---", "---")) {
                continue;
            }
            if !is_id(id) {
                return Err(wrong(format!("`{id}` is not an id such as `S-03`")));
            }
            if groups.iter().flat_map(|group| &group.requirements).any(|known| known.id == id) {
                return Err(wrong(format!("{id} is there twice")));
            }
            let group = groups.last_mut().ok_or_else(|| wrong(format!("{id} comes before the first `## ` heading")))?;
            group.requirements.push(Requirement { id: id.to_owned(), text: text.to_owned() });
        }
    }
    Ok(groups)
}

/// Whether a text has the shape of a requirement's id.
pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.as_bytes(), [b'A'..=b'Z', b'-', b'0'..=b'9', b'0'..=b'9'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## A: one\n\n| id | requirement |\n|---|---|\n";

    #[test]
    fn groups_and_rows_are_read_in_order() {
        let groups = parse(&format!("# R\n\n{TABLE}| A-01 | First. |\n| A-02 | Second. |\n\n## B: two\n")).unwrap();
        let row = |id: &str, text: &str| Requirement { id: id.to_owned(), text: text.to_owned() };
        assert_eq!(
            groups,
            [
                Group { title: "A: one".to_owned(), requirements: vec![row("A-01", "First."), row("A-02", "Second.")] },
                Group { title: "B: two".to_owned(), requirements: Vec::new() },
            ]
        );
    }

    #[test]
    fn error_has_its_line() {
        let error = |rows: &str| parse(&format!("{TABLE}{rows}")).unwrap_err();
        assert_eq!(error("| A-1 | x |"), "docs/internals/requirements.md:5: `A-1` is not an id such as `S-03`");
        assert_eq!(error("| A-01 | x |\n| A-01 | y |"), "docs/internals/requirements.md:6: A-01 is there twice");
        assert_eq!(error("| A-01 | x | y |"), "docs/internals/requirements.md:5: a row has two cells, this one has 3");
        assert_eq!(
            parse("| A-01 | x |").unwrap_err(),
            "docs/internals/requirements.md:1: A-01 comes before the first `## ` heading"
        );
    }
}
