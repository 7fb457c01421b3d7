//! A test that links between the pages of this project lead somewhere: to a file that exists and a heading that it has.

use std::path::{Component, Path, PathBuf};

use crate::shell::{files, read, root};

/// Folders whose Markdown is data of tests, not documentation.
const DATA: &[&str] = &["fixtures/", "fuzz/", "crates/", "examples/"];

/// A link of a page: where it is and where it leads.
struct Link<'a> {
    line: usize,
    target: &'a str,
}

fn links(text: &str) -> Vec<Link<'_>> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (n, line) in text.lines().enumerate() {
        is_code ^= line.starts_with("```");
        let parts = line.split("](").skip(1).filter(|_| !is_code);
        let targets = parts.filter_map(|part| part.split_once(')')).map(|(target, _)| target);
        found.extend(targets.filter(|target| !target.contains("://")).map(|target| Link { line: n + 1, target }));
    }
    found
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if !is_code && title.len() < line.len() {
            let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            found.push(kept.collect::<String>().to_lowercase().replace(' ', "-"));
        }
    }
    found
}

/// The file that a link of a page names, relative to the root.
fn aim(page: &str, file: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in Path::new(page).parent().unwrap_or(Path::new("")).join(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}

/// Why a link of a page leads nowhere, if it does not lead anywhere.
fn fault(page: &str, text: &str, link: &Link<'_>) -> Option<String> {
    let (file, anchor) = link.target.split_once('#').unwrap_or((link.target, ""));
    let path = aim(page, file);
    let wrong = |why: &str| Some(format!("{page}:{}: {}: {why}", link.line, link.target));
    if !file.is_empty() && !root().join(&path).exists() {
        return wrong("there is no such file");
    }
    let aimed = if file.is_empty() { text.to_owned() } else { read(&path.to_string_lossy()).unwrap_or_default() };
    if !anchor.is_empty() && !anchors(&aimed).iter().any(|known| known == anchor) {
        return wrong("the page has no such heading");
    }
    None
}

#[test]
fn links_of_pages_lead_somewhere() {
    let mut faults = Vec::new();
    let pages = files(".", "md").unwrap();
    for page in pages.iter().filter(|page| !DATA.iter().any(|folder| page.starts_with(folder))) {
        let text = read(page).unwrap();
        faults.extend(links(&text).iter().filter_map(|link| fault(page, &text, link)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_to_nothing_are_found() {
    let text = "# One: `two`\n[a](#one-two) [b](#three) ![c](gone.svg) [d](https://x)\n```\n[e](gone.md)\n```\n";
    let found: Vec<String> = links(text).iter().filter_map(|link| fault("docs/tutorial.md", text, link)).collect();
    let nothing = [
        "docs/tutorial.md:2: #three: the page has no such heading",
        "docs/tutorial.md:2: gone.svg: there is no such file",
    ];
    assert_eq!(found, nothing);
}
