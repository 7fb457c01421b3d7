//! When each attempt did what, and how long tasks took.

use serde_json::Value;
use team_executor_core::Timestamp;
use team_executor_files::{csv, time};

use super::{folder, read, run, tasks};

#[test]
fn status_tells_the_times_of_every_attempt() {
    let world = tasks(&[("A", ""), ("B", "A")]);
    let once = "[ -e failed ] || { : > failed; echo no >&2; exit 1; }; echo did";
    let ran = run(&world, once, &["--retries", "1"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let shown = world.run(&["status", "--session=S", "--format", "json"]);
    let status: Value = serde_json::from_str(&shown.stdout).expect("a document");
    let [a, b] = [0, 1].map(|nth| &status["tasks"][nth]);
    let outcomes = |task: &Value| -> Vec<String> {
        let attempts = task["attempts"].as_array().expect("attempts").iter();
        attempts.map(|one| one["outcome"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(
        (outcomes(a), outcomes(b)),
        (vec!["failed".to_owned(), "completed".to_owned()], vec!["completed".to_owned()])
    );
    assert_eq!((&a["attempt_count"], &b["attempt_count"]), (&1.into(), &0.into()));
    for attempt in [&a["attempts"][0], &a["attempts"][1], &b["attempts"][0]] {
        let at = ["ready", "started", "first_output", "ended", "checked"].map(|name| moment(&attempt[name]));
        // Ends and outputs are told by the clock of the keeper, to the millisecond.
        assert!(at[0] <= at[1] && at[2] <= at[3] && at[1] <= at[4], "{attempt}");
    }
    // What a task waits for ends before it is ready.
    assert!(moment(&a["attempts"][1]["checked"]) <= moment(&b["attempts"][0]["ready"]), "{status}");
    assert!(status["idle_ms"].as_u64() > Some(0), "the wait before the second attempt: {status}");
    let text = read(folder(&world).join("results.csv"));
    let table = csv::parse(&text).expect("a table");
    let header: Vec<String> = table.header().cells().map(|cell| cell.value.into_owned()).collect();
    assert!(header.ends_with(&["attempts", "duration_s", "waiting_s"].map(str::to_owned)), "{header:?}");
    let row: Vec<String> = table.records().next().expect("a row").cells().map(|cell| cell.value.into_owned()).collect();
    assert_eq!(row[header.len() - 3], "2");
    let duration = a["duration_ms"].as_u64().expect("a duration");
    assert_eq!(row[header.len() - 2], format!("{}.{:03}", duration / 1000, duration % 1000));
    assert!(read(folder(&world).join("context.md")).contains("- attempts: 2; they took "));
}

/// Written with as many digits as are needed, so times do not sort as texts.
pub(crate) fn moment(written: &Value) -> Timestamp {
    time::parse(written.as_str().expect("a time")).expect("a time").time
}
