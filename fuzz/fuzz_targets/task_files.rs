//! Per-task files and those beside them, one after the other with a NUL between, are judged with places inside the texts,
//! and each is the same bytes when nothing has happened.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::{Dialect, MemoryFolder, load, task_files, write};
use team_executor_fuzz::judge;

const NAMES: [&str; 5] = ["tasks/A.json", "tasks/B.json", "plan.json", "dependency-graph.json", "waves.json"];

fuzz_target!(|bytes: &[u8]| {
    let parts: Vec<(&str, &[u8])> = NAMES.into_iter().zip(bytes.split(|byte| *byte == 0)).collect();
    let folder = parts.iter().fold(MemoryFolder::default(), |folder, (name, text)| folder.with(name, *text));
    judge(&folder, Dialect::TaskFiles);
    let (files, words) = task_files::files(&folder);
    let Some((session, graph)) = load(&folder, "fuzzed", Some(Dialect::TaskFiles)).session else { return };
    for (name, id) in files {
        let part = parts.iter().find(|(path, _)| path.strip_prefix("tasks/") == Some(&*name));
        let text = part.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok());
        if let (Some(text), Some(index)) = (text, graph.index_of(&id)) {
            assert_eq!(write::task_file(text, &session.tasks[index.get()], words), text);
        }
    }
});
