//! A wave table that came back from somewhere else changes nothing but what it may.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_core::TaskIndex;
use team_executor_files::{Findings, tasks_csv};

fuzz_target!(|text: &str| {
    let mut findings = Findings::default();
    let known = |id: &str| (id == "A-1").then_some(TaskIndex(0));
    for outcome in tasks_csv::read_wave(&"wave-1.csv".into(), text, known, &mut findings) {
        assert_eq!(outcome.task, TaskIndex(0));
    }
    assert!(!findings.has_errors());
});
