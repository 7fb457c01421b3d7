//! Whatever another tool wrote, what is said about it has places inside the text, and is refused with an error. The first
//! byte says which tool it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::import::{Tool, read};

const TOOLS: [Tool; 5] = [Tool::SpecKit, Tool::TaskMaster, Tool::Beads, Tool::ClaudeTasks, Tool::CheckList];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    for ending in ["md", "json", "jsonl"] {
        Tool::of_file(ending, text);
    }
    let imported = read(TOOLS[usize::from(*first) % TOOLS.len()], "f", text, None);
    for finding in imported.findings.iter() {
        for place in finding.place.iter().chain(&finding.related) {
            if let (Some(span), Some(source)) = (place.span, imported.sources.get(&place.file)) {
                assert!(source.text().get(span.range()).is_some(), "{}", finding.message);
            }
        }
    }
    assert!(imported.session.is_some() || imported.findings.has_errors());
});
