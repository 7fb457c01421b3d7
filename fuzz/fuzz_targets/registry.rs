//! A registry of agents is read, and what is written of it is read as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::reading::Reading;
use team_executor_files::{MemoryFolder, registry};

fuzz_target!(|bytes: &[u8]| {
    let folder = MemoryFolder::default().with("agents/registry.json", bytes);
    let mut reading = Reading::new(&folder, "fuzzed");
    let first = registry::read(&mut reading);
    let folder = MemoryFolder::default().with("agents/registry.json", registry::write(&first, None));
    assert_eq!(registry::read(&mut Reading::new(&folder, "fuzzed")), first);
});
