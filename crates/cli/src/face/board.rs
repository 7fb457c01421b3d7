//! What a live view shows of a run: how far it is, who works on what, and about how long it will take.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use team_executor_app::event::{Counts, Kind};
use team_executor_app::{count, seconds};
use team_executor_core::{Graph, Session, TaskIndex};
use unicode_width::UnicodeWidthStr;

use super::spending::Spending;
use super::steering::Now;
use crate::escape;
use team_executor_app::left::Left;
use team_executor_app::usage::so_far;

/// The widest that names are shown.
const NAME: usize = 24;
/// How many lines that a worker printed last are known.
const LAST: usize = 3;

/// The state of a run, as far as it is shown.
pub(crate) struct Board {
    tasks: HashMap<String, TaskIndex>,
    left: Left,
    workers: Vec<Worker>,
    counts: Counts,
    slots: u32,
    since: Instant,
    /// Agents without quota, and until when.
    held: Vec<(String, Instant)>,
    /// The limit of the machine, while the run waits for it.
    machine: Option<u32>,
    is_paused: bool,
    spending: Spending,
}

struct Worker {
    task: String,
    role: String,
    index: Option<TaskIndex>,
    since: Instant,
    /// What it printed last, the newest at the end.
    lines: Vec<String>,
    /// How far it says that it is.
    progress: Option<String>,
    /// What it has used, and by which model.
    used: String,
}

impl Worker {
    fn print(&mut self, line: &str) {
        self.lines.drain(..(self.lines.len() + 1).saturating_sub(LAST));
        self.lines.push(line.to_owned());
    }
}

impl Board {
    /// A board for a run that has not begun, with the milliseconds that its tasks are expected to take, if that is known.
    pub(crate) fn new(session: &Session, graph: &Graph, slots: u32, expected: &[u32]) -> Self {
        let indexes = (0..).map(TaskIndex).take(session.tasks.len());
        Self {
            tasks: session.tasks.iter().map(|task| task.id.to_string()).zip(indexes).collect(),
            left: Left::new(graph, expected),
            workers: Vec::new(),
            counts: Counts::default(),
            slots,
            since: Instant::now(),
            held: Vec::new(),
            machine: None,
            is_paused: false,
            spending: Spending::default(),
        }
    }

    /// The part of the run that keys are about.
    pub(super) fn now<T>(&self, use_it: impl FnOnce(&Now<'_>) -> T) -> T {
        let running: Vec<_> = self.workers.iter().map(|worker| (worker.task.clone(), worker.lines.clone())).collect();
        use_it(&Now { running: &running, slots: self.slots, is_paused: self.is_paused })
    }

    /// Takes note of what happened.
    pub(crate) fn take(&mut self, kind: &Kind, now: Instant) {
        self.spending.take(kind);
        match kind {
            Kind::RunStarted { counts, statuses, .. } => {
                self.counts = *counts;
                self.left.begin(statuses);
            }
            Kind::TaskStarted { task, role, counts, .. } => {
                self.counts = *counts;
                self.wait(task, false);
                let worker = Worker {
                    task: task.clone(),
                    role: role.clone(),
                    index: self.tasks.get(task).copied(),
                    since: now,
                    lines: Vec::new(),
                    progress: None,
                    used: String::new(),
                };
                self.workers.push(worker);
            }
            Kind::TaskOutput { task, text } => {
                for worker in self.workers.iter_mut().filter(|worker| worker.task == *task) {
                    worker.print(text);
                }
            }
            Kind::TaskActivity { task, activity, .. } => {
                for worker in self.workers.iter_mut().filter(|worker| worker.task == *task) {
                    let used = [activity.model.clone().unwrap_or_default(), so_far(activity)];
                    worker.used = used.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
                    worker.progress.clone_from(&activity.progress);
                }
            }
            Kind::TaskChanged { task, files, added, removed, .. } => {
                let line = format!("changed {}, +{added} -{removed}; waits to be merged", count(*files, "file"));
                self.say(std::slice::from_ref(task), &line);
            }
            Kind::TasksTested { tasks, .. } => self.say(tasks, "is tested with what is merged"),
            Kind::TaskCompleted { task, counts, .. } => self.ended(task, *counts, false, Some(now)),
            Kind::TaskFailed { task, counts, again, .. } => self.ended(task, *counts, *again, Some(now)),
            Kind::QuotaHeld { agent, wait_ms } => {
                self.held.retain(|(one, _)| one != agent);
                self.held.push((agent.clone(), now + Duration::from_millis(*wait_ms)));
            }
            Kind::TaskInterrupted { task, counts } => self.ended(task, *counts, true, None),
            Kind::TaskSkipped { task, counts, .. } => {
                self.counts = *counts;
                self.wait(task, false);
            }
            Kind::Returned { tasks, counts } | Kind::TasksReset { tasks, counts } => {
                self.counts = *counts;
                for task in tasks {
                    self.wait(task, true);
                }
            }
            Kind::Limited { role: None, agent: None, workers: Some(workers) } => self.slots = *workers,
            Kind::MachineLimit { workers, waits } => self.machine = waits.then_some(*workers),
            Kind::Paused { .. } => self.is_paused = true,
            Kind::Resumed => self.is_paused = false,
            Kind::Reconciled { .. }
            | Kind::Limited { .. }
            | Kind::TaskCancelled { .. }
            | Kind::TasksAdvised { .. }
            | Kind::TasksAssigned { .. }
            | Kind::TasksAdded { .. }
            | Kind::PlanChanged { .. }
            | Kind::Checkpoint { .. }
            | Kind::Asks { .. }
            | Kind::Decided { .. }
            | Kind::SentBack { .. }
            | Kind::Adopted { .. }
            | Kind::TaskMerged { .. }
            | Kind::BranchLanded { .. }
            | Kind::TaskUsed { .. }
            | Kind::RunFinished { .. }
            | Kind::WaveMerged { .. }
            | Kind::WaveFailed { .. }
            | Kind::Draining { .. }
            | Kind::Halted { .. }
            | Kind::Stopping
            | Kind::Warning { .. } => {}
        }
    }

    /// The view, at most so large. Nothing before the run begins.
    pub(crate) fn lines(&self, now: Instant, columns: usize, rows: usize) -> Vec<String> {
        let total = self.counts.total;
        if total == 0 {
            return Vec::new();
        }
        let width = columns.saturating_sub(1);
        let most = (rows / 2).max(3).min(rows.saturating_sub(1)).max(1);
        let mut lines = vec![escape::cut(&self.progress(now, width), width)];
        if most > 1 {
            let Counts { ready, waiting, .. } = self.counts;
            let spent = self.spending.words();
            let line = format!("{} running, {ready} ready, {waiting} waiting{spent}", self.workers.len());
            lines.push(escape::cut(&line, width));
        }
        if let Some(workers) = self.machine
            && lines.len() < most
        {
            let line = format!("waiting: all runs on this machine share a limit of {workers} workers");
            lines.push(escape::cut(&line, width));
        }
        for (agent, until) in self.held.iter().filter(|(_, until)| *until > now) {
            if lines.len() < most {
                let line = format!("no quota for {agent}, {} left", clock(until.saturating_duration_since(now)));
                lines.push(escape::cut(&line, width));
            }
        }
        let room = most - lines.len();
        let shown = if self.workers.len() > room { room.saturating_sub(1) } else { self.workers.len() };
        // Those that began first come first, and so do those that have run for longest.
        let widest = |of: fn(&Worker) -> &str| {
            self.workers.iter().take(shown).map(|worker| of(worker).width()).max().unwrap_or(0).min(NAME)
        };
        let (task, role) = (widest(|worker| &worker.task), widest(|worker| &worker.role));
        for worker in self.workers.iter().take(shown) {
            let cell = |text: &str, columns| escape::pad(&escape::cut(text, columns), columns);
            let time = clock(now.saturating_duration_since(worker.since));
            let used = if worker.used.is_empty() { String::new() } else { format!("({}) ", worker.used) };
            let progress = worker.progress.as_ref().map(|progress| format!("[{progress}] ")).unwrap_or_default();
            let doing = format!("{used}{progress}{}", worker.lines.last().map_or("", String::as_str));
            let line = format!("▶ {}  {}  {time:>5}  {doing}", cell(&worker.task, task), cell(&worker.role, role));
            lines.push(escape::cut(line.trim_end(), width));
        }
        if shown < self.workers.len() && room > 0 {
            lines.push(format!("  and {} more", self.workers.len() - shown));
        }
        lines
    }

    fn progress(&self, now: Instant, width: usize) -> String {
        let Counts { completed, failed, skipped, .. } = self.counts;
        let total = self.counts.total;
        let bar = (width / 3).min(30);
        let full = (bar * completed).checked_div(total).unwrap_or(bar);
        let mut text = format!("[{}{}] {completed}/{total}", "█".repeat(full), "░".repeat(bar - full));
        for (n, what) in [(failed, "failed"), (skipped, "skipped")] {
            if n > 0 {
                text.push_str(&format!(", {n} {what}"));
            }
        }
        text.push_str(&format!("  {}", clock(now.saturating_duration_since(self.since))));
        if let Some(left) = self.left(now) {
            let rounded = Duration::from_secs(left.as_secs_f64().round() as u64);
            let left = if rounded.is_zero() { "1 s".to_owned() } else { seconds(rounded).replace(".0 s", " s") };
            text.push_str(&format!(", about {left} left"));
        }
        text
    }

    /// About how long it will take.
    fn left(&self, now: Instant) -> Option<Duration> {
        let at_work = |worker: &Worker| Some((worker.index?, now.saturating_duration_since(worker.since)));
        self.left.left(&self.workers.iter().filter_map(at_work).collect::<Vec<_>>(), self.slots)
    }

    /// What becomes of the work of tasks whose workers have ended.
    fn say(&mut self, tasks: &[String], line: &str) {
        for worker in self.workers.iter_mut().filter(|worker| tasks.contains(&worker.task)) {
            worker.print(line);
        }
    }

    /// A task waits from now on, or no longer.
    fn wait(&mut self, task: &str, begins: bool) {
        if let Some(index) = self.tasks.get(task) {
            self.left.wait(*index, begins);
        }
    }

    fn ended(&mut self, task: &str, counts: Counts, again: bool, measured: Option<Instant>) {
        self.counts = counts;
        let at = self.workers.iter().position(|worker| worker.task == task);
        let worker = at.map(|at| self.workers.remove(at));
        if again {
            self.wait(task, true);
        }
        if let (Some(Worker { index: Some(index), since, .. }), Some(now)) = (worker, measured) {
            self.left.measure(index, now.saturating_duration_since(since));
        }
    }
}

/// A time that goes on: `0:07`, `12:34`, `1:02:03`.
fn clock(time: Duration) -> String {
    let all = time.as_secs();
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use team_executor_app::event::Activity;
    use team_executor_core::{RoleName, SessionId, Task, TaskId};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A chain `c1 -> c2 -> c3` beside so many single tasks, all to do.
    struct Bench {
        board: Board,
        counts: Counts,
        now: Instant,
    }

    impl Bench {
        fn new(singles: usize, slots: u32) -> Self {
            let task = |id: String, after: &[&str]| Task {
                dependencies: after.iter().map(|id| TaskId::parse(id).unwrap()).collect(),
                ..Task::new(TaskId::parse(&id).unwrap(), RoleName::parse("builder").unwrap())
            };
            let mut session = Session::new(SessionId::parse("s").unwrap());
            session.tasks = vec![task("c1".into(), &[]), task("c2".into(), &["c1"]), task("c3".into(), &["c2"])];
            session.tasks.extend((0..singles).map(|nth| task(format!("s{nth}"), &[])));
            let graph = Graph::seal(&session.tasks).graph.unwrap();
            let counts = Counts { total: 3 + singles, waiting: 2, ready: 1 + singles, ..Counts::default() };
            let mut board = Board::new(&session, &graph, slots, &[]);
            let statuses = session.tasks.iter().map(|task| task.status).collect();
            let now = board.since;
            board.take(&Kind::RunStarted { run: "EX".into(), resumed: false, counts, statuses }, now);
            Self { board, counts, now }
        }

        fn start(&mut self, task: &str) {
            self.counts.ready -= 1;
            self.counts.running += 1;
            let (task, role, counts) = (task.to_owned(), "builder".to_owned(), self.counts);
            let notice = Kind::TaskStarted {
                task,
                role,
                attempt: 1,
                fast_advance: false,
                agent: String::new(),
                instead: false,
                counts,
            };
            self.board.take(&notice, self.now);
        }

        fn complete(&mut self, task: &str) {
            self.counts.running -= 1;
            self.counts.completed += 1;
            let notice =
                Kind::TaskCompleted { task: task.to_owned(), took_ms: 0, findings: String::new(), counts: self.counts };
            self.board.take(&notice, self.now);
        }

        fn shown(&self, columns: usize, rows: usize) -> Vec<String> {
            self.board.lines(self.now, columns, rows)
        }
    }

    #[test]
    fn progress_and_each_worker_have_a_line() {
        let mut bench = Bench::new(1, 2);
        bench.start("c1");
        bench.now += 61 * SECOND;
        bench.start("s0");
        bench.now += 4 * SECOND;
        let text = "compiling".to_owned();
        bench.board.take(&Kind::TaskOutput { task: "c1".into(), text }, bench.now);
        assert_eq!(
            bench.shown(60, 24),
            [
                "[░░░░░░░░░░░░░░░░░░░] 0/4  1:05",
                "2 running, 0 ready, 2 waiting",
                "▶ c1  builder   1:05  compiling",
                "▶ s0  builder   0:04",
            ]
        );
        bench.complete("c1");
        assert_eq!(bench.shown(60, 24)[0], "[████░░░░░░░░░░░░░░░] 1/4  1:05, about 2 min 10 s left");
    }

    #[test]
    fn worker_shows_model_tokens_cost_and_progress() {
        let mut bench = Bench::new(1, 2);
        bench.start("c1");
        let activity = Activity {
            model: Some("opus".to_owned()),
            input: 12_000,
            output: 345,
            cost_micros: Some(140_000),
            retries: 1,
            progress: Some("half done (50 %)".to_owned()),
            ..Activity::default()
        };
        let notice = Kind::TaskActivity { task: "c1".into(), attempt: 1, agent: "claude".into(), activity };
        bench.board.take(&notice, bench.now);
        bench.board.take(&Kind::TaskOutput { task: "c1".into(), text: "edits src/lib.rs".into() }, bench.now);
        assert_eq!(bench.shown(80, 24)[1], "1 running, 1 ready, 2 waiting; 12k tokens, $0.14 so far");
        let line = "▶ c1  builder   0:00  (opus, 12k tokens, $0.14, 1 retry) [half done (50 %)] edits src/lib.rs";
        assert_eq!(bench.shown(120, 24)[2..], [line]);
    }

    #[test]
    fn wait_for_quota_is_counted_down() {
        let mut bench = Bench::new(1, 2);
        let held = |wait_ms| Kind::QuotaHeld { agent: "claude".to_owned(), wait_ms };
        bench.board.take(&held(9_000), bench.now);
        bench.board.take(&held(65_000), bench.now);
        bench.now += 2 * SECOND;
        assert_eq!(bench.shown(60, 24)[2..], ["no quota for claude, 1:03 left"]);
        bench.now += 63 * SECOND;
        assert_eq!(bench.shown(60, 24).len(), 2);
    }

    /// Ten tasks of ten seconds for two workers take fifty seconds; a chain of three takes thirty with any number.
    #[test]
    fn the_estimate_is_the_longer_of_the_work_and_the_chain() {
        for (slots, left) in [(2, 50), (100, 30)] {
            let mut bench = Bench::new(8, slots);
            bench.start("s0");
            assert_eq!(bench.board.left(bench.now), None);
            bench.now += 10 * SECOND;
            bench.complete("s0");
            assert_eq!(bench.board.left(bench.now), Some(left * SECOND));
            bench.start("c1");
            bench.now += 5 * SECOND;
            // The other worker has nothing yet: five tasks of ten seconds are before it.
            let less = if slots == 2 { Duration::ZERO } else { 5 * SECOND };
            assert_eq!(bench.board.left(bench.now), Some(left * SECOND - less));
        }
    }

    #[test]
    fn what_takes_longer_than_the_others_makes_the_estimate_longer() {
        let mut bench = Bench::new(1, 1);
        bench.start("s0");
        bench.now += SECOND;
        bench.complete("s0");
        bench.start("c1");
        bench.now += 99 * SECOND;
        assert_eq!(bench.board.left(bench.now), Some(100 * SECOND), "two more of fifty seconds each");
    }

    #[test]
    fn more_workers_than_lines_are_counted() {
        let mut bench = Bench::new(20, 20);
        for nth in 0..20 {
            bench.start(&format!("s{nth}"));
            bench.now += SECOND;
        }
        let shown = bench.shown(40, 10);
        assert_eq!(shown.len(), 5, "half of the terminal");
        assert!(shown[2].starts_with("▶ s0 ") && shown[3].starts_with("▶ s1 "), "{shown:?}");
        assert_eq!(shown[4], "  and 18 more");
        assert_eq!(bench.shown(40, 2).len(), 1);
        assert_eq!(bench.shown(40, 0).len(), 1);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_can_steer_it() {
        let mut bench = Bench::new(1, 1);
        bench.start("s0");
        let text = "正在编译第三章 \u{1b}[2J".repeat(9);
        bench.board.take(&Kind::TaskOutput { task: "s0".into(), text }, bench.now);
        for columns in [0, 1, 2, 7, 20, 40, 80, 200] {
            for line in bench.shown(columns, 24) {
                assert!(line.width() < columns.max(2), "{columns}: {line}");
                assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
    }

    #[test]
    fn times_are_shown_as_clocks_do() {
        let shown = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!([shown(7), shown(754), shown(3723)], ["0:07", "12:34", "1:02:03"]);
    }
}
