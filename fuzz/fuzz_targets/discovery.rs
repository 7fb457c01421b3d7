//! `discoveries/A-1.json` is judged with places inside the text, whatever it holds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder};
use team_executor_fuzz::judge;

fuzz_target!(|bytes: &[u8]| {
    let folder = MemoryFolder::default()
        .with("tasks.json", r#"{"tasks":{"A-1":{"role":"a","status":"completed"}}}"#)
        .with("discoveries/A-1.json", bytes);
    judge(&folder, Dialect::TasksJson);
});
