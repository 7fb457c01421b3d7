//! Guesses the type of an artifact from its file, where no manifest gives one.

use team_executor_core::ArtifactKind;

const CODE: &[&str] = &[
    "bash", "c", "cc", "cpp", "cs", "css", "ex", "go", "h", "hpp", "hs", "java", "js", "jsx", "kt", "lua", "mjs",
    "php", "pl", "py", "rb", "rs", "scala", "sh", "sql", "svelte", "swift", "ts", "tsx", "vue", "zig",
];
const CONFIG: &[&str] =
    &["cfg", "conf", "env", "ini", "json", "json5", "lock", "properties", "toml", "xml", "yaml", "yml"];
const REPORT: &[&str] = &["csv", "html", "log", "ndjson", "tsv"];

/// By the name of the file and of its folders.
pub(super) fn guess(path: &str) -> ArtifactKind {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let words = |text: &str, word: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word);
    let is_test = ["test", "tests", "spec"].iter().any(|word| words(&path, word));
    match end {
        end if CODE.contains(&end) && is_test => ArtifactKind::Test,
        end if CODE.contains(&end) => ArtifactKind::Code,
        _ if words(name, "report") => ArtifactKind::Report,
        end if CONFIG.contains(&end) => ArtifactKind::Config,
        end if REPORT.contains(&end) => ArtifactKind::Report,
        _ => ArtifactKind::Document,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells() {
        for (path, kind) in [
            ("artifacts/A/plan.md", "document"),
            ("artifacts/A/README", "document"),
            ("src/auth.rs", "code"),
            ("tests/auth.rs", "test"),
            ("src/auth.test.ts", "test"),
            ("src/contest.ts", "code"),
            ("app.toml", "config"),
            ("review-report.md", "report"),
            ("results.CSV", "report"),
            ("report.json", "report"),
        ] {
            assert_eq!(guess(path).word(), kind, "{path}");
        }
    }
}
