//! How long tasks took, as columns of `results.csv`.

use team_executor_core::run::Run;
use team_executor_core::{Session, TaskIndex};
use team_executor_files::tasks_csv;

use super::present::Present;

/// The columns behind those of a table of tasks.
const COLUMNS: [&str; 3] = ["attempts", "duration_s", "waiting_s"];

/// The table of all tasks, with the number of attempts, how long they took and how long the task was ready without a worker.
pub(super) fn results(session: &Session, rules: &Run) -> String {
    let cells = |task: TaskIndex| {
        let Some(view) = rules.view(task) else { return vec![String::new(); COLUMNS.len()] };
        let in_seconds = |millis: u64| format!("{}.{:03}", millis / 1000, millis % 1000);
        let (ran, waited) = (view.durations.ran.0, view.durations.waited.0);
        vec![view.attempt.to_string(), in_seconds(ran), in_seconds(waited)]
    };
    match Present::of(session, rules) {
        Some(Present { session, graph, numbers }) => {
            let cells = |task: TaskIndex| numbers.get(task.get()).map_or_else(Vec::new, |task| cells(*task));
            tasks_csv::write_results(&session, &graph, (&COLUMNS, &cells))
        }
        None => tasks_csv::write_results(session, rules.graph(), (&COLUMNS, &cells)),
    }
}
