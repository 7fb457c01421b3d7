//! A chain is judged with places inside the text, and is the same bytes when nothing has happened.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder, chain, load, write};
use team_executor_fuzz::judge;

fuzz_target!(|bytes: &[u8]| {
    let folder = MemoryFolder::default().with(chain::FILE, bytes);
    judge(&folder, Dialect::Chain);
    let loaded = load(&folder, "fuzzed", Some(Dialect::Chain));
    if let (Some((session, _)), Ok(text)) = (loaded.session, std::str::from_utf8(bytes)) {
        assert_eq!(write::chain(text, &session), text);
    }
});
