//! `task-analysis.json` is judged with places inside the text, whatever it holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder};
use team_executor_fuzz::judge;

fuzz_target!(|bytes: &[u8]| {
    let folder = MemoryFolder::default().with("team-session.json", r#"{"session_id":"s","task_description":"t","status":"active","team_name":"n","roles":[{"name":"a","prefix":"A","role_spec":"role-specs/a.md"}]}"#).with("role-specs/a.md", "---\nrole: a\nprefix: A\ninner_loop: false\nmessage_types:\n  error: e\n---\n## Phase 2\n## Phase 3\n## Phase 4\n").with("task-analysis.json", bytes);
    judge(&folder, Dialect::Tc);
});
