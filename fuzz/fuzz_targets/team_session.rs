//! `team-session.json` is judged with places inside the text, whatever it holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder};
use team_executor_fuzz::judge;

fuzz_target!(|bytes: &[u8]| {
    let folder = MemoryFolder::default().with("task-analysis.json", r#"{"capabilities":[],"dependency_graph":{"A-1":{"depends_on":[],"role":"a"}},"roles":[{"name":"a"}]}"#).with("role-specs/a.md", "---\nrole: a\nprefix: A\ninner_loop: false\nmessage_types:\n  error: e\n---\n## Phase 2\n## Phase 3\n## Phase 4\n").with("team-session.json", bytes);
    judge(&folder, Dialect::Tc);
});
