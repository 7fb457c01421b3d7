//! Files and rows beside the tasks are given bounded and by name, whatever they hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder, load};
use team_executor_fuzz::judge;

fuzz_target!(|bytes: &[u8]| {
    let tasks = "id,title,context_from\nA,x,E1;1;explore.csv#a;explore.csv;session.json\n";
    let folder = MemoryFolder::default().with("tasks.csv", tasks).with("explore.csv", bytes);
    let (session, _) = load(&folder, "S", Some(Dialect::TasksCsv)).session.expect("nothing beside it is an error");
    for given in &session.tasks[0].given {
        assert!(given.text.starts_with('[') && given.text.chars().count() < 4100, "{given:?}");
    }
    judge(&folder, Dialect::TasksCsv);
    let foreign = MemoryFolder::default().with("session.json", bytes);
    assert!(load(&foreign, "S", None).findings.iter().count() > 0 || bytes.len() > 10);
});
