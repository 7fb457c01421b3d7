//! Tests that need more than this machine has: they say so, and the test command repeats it at its end.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::must;

/// Names that must not be missing: a list with commas, or `all`.
const REQUIRED: &str = "CI_REQUIRE";
/// The file that gets a line for each test that was left out.
const NOTED: &str = "TEAM_EXECUTOR_LACKS";

/// Says that something is missing on this machine, for instance `strace`, and what was not tested for that. Where
/// `CI_REQUIRE` names it, the test fails.
#[track_caller]
pub fn lacks(what: &str, untested: &str) {
    let required = std::env::var(REQUIRED).unwrap_or_default();
    assert!(!is_required(&required, what), "{what} is missing, {untested} was not tested, and {REQUIRED}={required}");
    let line = format!("{what}: {untested}\n");
    // The runner shows nothing of a test that passes.
    if let Some(file) = std::env::var_os(NOTED) {
        let file = Path::new(&file);
        let noted = OpenOptions::new().append(true).create(true).open(file);
        must("noting in", file, noted.and_then(|mut noted| noted.write_all(line.as_bytes())));
    }
}

fn is_required(required: &str, what: &str) -> bool {
    required.split(',').map(str::trim).any(|name| name == what || name == "all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_names_are_a_list_or_all() {
        assert!(is_required("strace, npm", "npm") && is_required("all", "npm"));
        assert!(!is_required("", "npm") && !is_required("strace,npmx", "npm"));
    }
}
