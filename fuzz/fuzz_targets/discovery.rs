//! `discoveries/A-1.json` is judged with places inside the text, whatever it holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder, load};

fuzz_target!(|bytes: &[u8]| {
    let folder = MemoryFolder::default()
        .with("tasks.json", r#"{"tasks":{"A-1":{"role":"a","status":"completed"}}}"#)
        .with("discoveries/A-1.json", bytes);
    let loaded = load(&folder, "fuzzed", Some(Dialect::TasksJson));
    for finding in loaded.findings.iter() {
        for place in finding.place.iter().chain(&finding.related) {
            if let (Some(span), Some(source)) = (place.span, loaded.sources.get(&place.file)) {
                assert!(source.text().get(span.range()).is_some(), "{}", finding.message);
                let _ = source.position(span.start);
            }
        }
    }
    assert!(loaded.session.is_some() || loaded.findings.has_errors());
});
