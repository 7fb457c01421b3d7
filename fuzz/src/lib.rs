//! What several targets do alike.

use team_executor_files::{Dialect, MemoryFolder, load};

/// Loads a folder and looks at everything that is said about it: each place is inside its text, and a session that is
/// refused is refused with an error.
pub fn judge(folder: &MemoryFolder, dialect: Dialect) {
    let loaded = load(folder, "fuzzed", Some(dialect));
    for finding in loaded.findings.iter() {
        for place in finding.place.iter().chain(&finding.related) {
            if let (Some(span), Some(source)) = (place.span, loaded.sources.get(&place.file)) {
                assert!(source.text().get(span.range()).is_some(), "{}", finding.message);
                assert!(source.position(span.start).line > 0);
            }
        }
    }
    assert!(loaded.session.is_some() || loaded.findings.has_errors());
}
