//! The checks that need no program.

use team_executor_core::{Artifact, ArtifactKind};
use team_executor_files::{ReadError, markdown};

use super::checks::{Checks, Demands};
use super::collect::{Collected, Delivered, FoundFile};
use super::places::Roots;
use super::schema::{MAX_BYTES, Schemas};

/// The problems of a delivery, one line each. An artifact that is to blame says so in its summary.
pub(super) fn examine(
    delivered: &Delivered,
    collected: &mut Collected,
    roots: &Roots,
    schemas: &mut Schemas,
) -> Result<Vec<String>, ReadError> {
    let mut wrong = std::mem::take(&mut collected.wrong);
    for file in delivered.demands.own.files.iter().flatten() {
        let path = format!("{}/{}", delivered.folder(), file.trim_start_matches("./"));
        if !collected.found.iter().any(|found| found.artifact.path == path || found.artifact.path == *file) {
            wrong.push(format!("{file}: required, but not delivered"));
        }
    }
    for found in &mut collected.found {
        let lines = one(found, &delivered.demands, roots, schemas)?;
        if !lines.is_empty() {
            found.artifact.validation_summary = Some(lines.join("; "));
        }
        wrong.extend(lines.into_iter().map(|line| format!("{}: {line}", found.artifact.path)));
    }
    Ok(wrong)
}

/// The types of what was delivered, each once.
pub(super) fn kinds(collected: &Collected) -> Vec<ArtifactKind> {
    let is_there = |kind: &&ArtifactKind| collected.found.iter().any(|found| found.artifact.kind == **kind);
    ArtifactKind::ALL.iter().filter(is_there).copied().collect()
}

fn one(found: &FoundFile, demands: &Demands, roots: &Roots, schemas: &mut Schemas) -> Result<Vec<String>, ReadError> {
    let FoundFile { place, artifact, .. } = found;
    let Checks { not_empty, schema, sections, .. } = demands.for_kind(artifact.kind);
    if artifact.file_size == Some(0) {
        return Ok(if not_empty.unwrap_or(true) { vec!["it is empty".to_owned()] } else { Vec::new() });
    }
    let schema = schema.filter(|_| ends_with(artifact, &["json"]));
    let sections = sections.filter(|_| ends_with(artifact, &["md", "markdown"]));
    if schema.is_none() && sections.is_none() {
        return Ok(Vec::new());
    }
    let bytes = match roots.read(*place, &artifact.path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(why @ ReadError::Failed(_)) => return Err(why),
        Err(why) => return Ok(vec![format!("it cannot be checked: {why}")]),
    };
    let departures = schema.map(|schema| schemas.departures(&schema, &bytes)).transpose()?;
    let mut wrong = departures.unwrap_or_default();
    wrong.extend(sections.iter().flat_map(|sections| missing_sections(sections, &bytes)));
    Ok(wrong)
}

/// The headings that a markdown text does not have, whatever their level and case.
fn missing_sections(sections: &[String], bytes: &[u8]) -> Vec<String> {
    let headings = markdown::headings(&String::from_utf8_lossy(bytes), 0);
    let has =
        |section: &str| headings.iter().any(|heading| heading.text.to_lowercase() == section.trim().to_lowercase());
    let missing = sections.iter().filter(|section| !has(section));
    missing.map(|section| format!("the section '{section}' is missing")).collect()
}

fn ends_with(artifact: &Artifact, ends: &[&str]) -> bool {
    let end = artifact.path.rsplit_once('.').map_or("", |(_, end)| end);
    ends.iter().any(|one| end.eq_ignore_ascii_case(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_a_heading_outside_of_code() {
        let wanted = ["Summary".to_owned(), "Known risks".to_owned()];
        let missing = |text: &str| missing_sections(&wanted, text.as_bytes()).len();
        assert_eq!(missing("# summary\ntext\n### Known Risks ###\n"), 0);
        assert_eq!(missing("# Summary\n```\n# Known risks\n```\n"), 1);
        assert_eq!(missing("Summary\n\nKnown risks\n"), 2);
    }
}
