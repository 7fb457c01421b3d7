//! `cargo xtask conformance`: writes docs/internals/conformance.md from docs/internals/requirements.md and the marks above tests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::marks;
use crate::requirements::{self, Group};
use crate::shell::{Outcome, files, read, root};

const PAGE: &str = "docs/internals/conformance.md";

/// Writes the page, or with `check` fails unless the page on disk is the one that would be written.
pub(crate) fn run(check: bool) -> Outcome {
    let groups = requirements::parse(&read("docs/internals/requirements.md")?)?;
    let page = render(&groups, &proofs(&groups)?);
    if !check {
        fs::write(root().join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
        println!("wrote {PAGE}");
    } else if fs::read_to_string(root().join(PAGE)).ok().as_deref() != Some(page.as_str()) {
        return Err(format!("{PAGE} is out of date\nhelp: type `cargo xtask conformance` and commit the file"));
    }
    Ok(())
}

/// The tests that prove a requirement, by its id.
type Proofs = BTreeMap<String, Vec<Proof>>;

struct Proof {
    path: String,
    test: String,
}

fn proofs(groups: &[Group]) -> Outcome<Proofs> {
    let mut proofs = Proofs::new();
    for path in files(".", "rs")? {
        collect(groups, &path, &read(&path)?, &mut proofs)?;
    }
    Ok(proofs)
}

fn collect(groups: &[Group], path: &str, source: &str, proofs: &mut Proofs) -> Outcome {
    for mark in marks::find(path, source)? {
        for id in mark.ids {
            if !groups.iter().flat_map(|group| &group.requirements).any(|known| known.id == id) {
                return Err(format!(
                    "{path}: the test `{}` names {id}, which docs/internals/requirements.md lacks",
                    mark.test
                ));
            }
            let proof = Proof { path: path.to_owned(), test: mark.test.clone() };
            proofs.entry(id).or_default().push(proof);
        }
    }
    Ok(())
}

fn render(groups: &[Group], proofs: &Proofs) -> String {
    let mut covered = String::new();
    let mut missing = String::new();
    for group in groups {
        let (yes, no): (Vec<_>, Vec<_>) = group.requirements.iter().partition(|known| proofs.contains_key(&known.id));
        if !yes.is_empty() {
            let (n, of) = (yes.len(), group.requirements.len());
            add(&mut covered, format_args!("\n## {} ({n} of {of})\n\n", group.title));
            add(&mut covered, format_args!("| id | requirement | proved by |\n|---|---|---|\n"));
        }
        for known in yes {
            let tests = proofs.get(&known.id).map(|proofs| links(proofs)).unwrap_or_default();
            add(&mut covered, format_args!("| {} | {} | {tests} |\n", known.id, known.text));
        }
        for known in no {
            add(&mut missing, format_args!("| {} | {} |\n", known.id, known.text));
        }
    }
    if missing.is_empty() {
        missing.push_str("Nothing.\n");
    } else {
        missing.insert_str(0, "| id | requirement |\n|---|---|\n");
    }
    let total: usize = groups.iter().map(|group| group.requirements.len()).sum();
    format!(
        "# Conformance\n\n\
         <!-- Written by `cargo xtask conformance` from requirements.md and the marks above tests. Do not edit. -->\n\n\
         Which tests prove which of the [requirements](requirements.md). A requirement counts as covered when at least \
         one\ntest names it: {} of {total}.\n{covered}\n## Not yet covered\n\n{missing}",
        proofs.len()
    )
}

fn links(proofs: &[Proof]) -> String {
    let links: Vec<_> = proofs.iter().map(|proof| format!("[`{}`](../../{})", proof.test, proof.path)).collect();
    links.join("<br>")
}

fn add(to: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _infallible = to.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIREMENTS: &str = "## A: one\n| A-01 | First. |\n| A-02 | Second. |\n## B: two\n| B-01 | Third. |\n";
    const SOURCE: &str = "/// R: A-02\n#[test] fn t() {}\n/// R: A-02\n#[test] fn u() {}";

    fn page(source: &str) -> Outcome<String> {
        let groups = requirements::parse(REQUIREMENTS)?;
        let mut proofs = Proofs::new();
        collect(&groups, "crates/a/src/b.rs", source, &mut proofs)?;
        Ok(render(&groups, &proofs))
    }

    #[test]
    fn page_lists_covered_then_uncovered_requirements() {
        let page = page(SOURCE).unwrap();
        let (_, tables) = page.split_once("names it: 1 of 3.\n").unwrap();
        assert_eq!(
            tables,
            "\n## A: one (1 of 2)\n\n| id | requirement | proved by |\n|---|---|---|\n\
             | A-02 | Second. | [`t`](../../crates/a/src/b.rs)<br>[`u`](../../crates/a/src/b.rs) |\n\
             \n## Not yet covered\n\n| id | requirement |\n|---|---|\n| A-01 | First. |\n| B-01 | Third. |\n"
        );
    }

    #[test]
    fn when_all_is_covered_it_says_so() {
        let page = page("/// R: A-01, A-02, B-01\n#[test] fn t() {}").unwrap();
        assert!(page.ends_with("\n## Not yet covered\n\nNothing.\n"), "{page}");
    }

    #[test]
    fn a_mark_with_an_unknown_id_is_an_error() {
        assert_eq!(
            page("/// R: A-03\n#[test] fn t() {}"),
            Err("crates/a/src/b.rs: the test `t` names A-03, which docs/internals/requirements.md lacks".to_owned())
        );
    }
}
