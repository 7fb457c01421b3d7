//! Results beside a table report only tasks that are open in it, and a table that nothing changed stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder, load, tasks_csv};

const TABLE: &str = "id,title,wave,status\nA-1,a,1,pending\nB-1,b,2,completed\n";

fuzz_target!(|text: &str| {
    let folder = MemoryFolder::default().with("tasks.csv", TABLE).with("results.csv", text);
    let folder = folder.with("discoveries/A-1.json", text);
    if let Some((session, _)) = load(&folder, "s", Some(Dialect::TasksCsv)).session {
        assert!(session.reported.iter().all(|one| one.task.as_str() == "A-1"));
    }
    let own = MemoryFolder::default().with("tasks.csv", text);
    if let Some((session, graph)) = load(&own, "s", Some(Dialect::TasksCsv)).session {
        assert_eq!(tasks_csv::patch(text, &session, &graph), text);
    }
});
