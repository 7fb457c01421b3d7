//! A session of 100,000 tasks: judging and planning it, against plain parsing of the same files. The goal is a ratio of
//! at most 3; `cargo xtask bench load` prints all three.

#![expect(clippy::expect_used, reason = "a benchmark that cannot read its own session has nothing to measure")]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use team_executor_core::Plan;
use team_executor_files::{MemoryFolder, load};

const TASKS: usize = 100_000;
const WIDTH: usize = 316;

/// Layers of tasks, each waiting for up to three of the layer before, as both files hold them.
fn graph() -> String {
    let mut graph = String::from("{\n");
    for task in 0..TASKS {
        let mut dependencies = String::new();
        if task >= WIDTH {
            let layer = (task / WIDTH - 1) * WIDTH;
            for nth in 0..=task % 3 {
                let separator = if nth == 0 { "" } else { ", " };
                write!(dependencies, "{separator}\"WORK-{:06}\"", layer + (task * 7 + nth * 11) % WIDTH)
                    .expect("a string");
            }
        }
        let comma = if task + 1 == TASKS { "" } else { "," };
        writeln!(
            graph,
            "    \"WORK-{task:06}\": {{\n      \"depends_on\": [{dependencies}],\n      \"role\": \"worker\"\n    }}{comma}"
        )
        .expect("a string");
    }
    graph.push_str("  }");
    graph
}

fn files() -> [(&'static str, String); 3] {
    let graph = graph();
    let role = r#"{ "name": "worker", "prefix": "WORK", "inner_loop": false, "role_spec": "role-specs/worker.md" }"#;
    let session = format!(
        r#"{{
  "session_id": "TC-bench-2026-03-24", "task_description": "benchmark", "status": "active", "team_name": "bench",
  "roles": [{role}],
  "pipeline": {{ "dependency_graph": {graph}, "tasks_total": {TASKS}, "tasks_completed": 0 }},
  "active_workers": [], "completed_tasks": [], "completion_action": "auto_keep", "created_at": "2026-03-24T00:00:00Z"
}}"#
    );
    let analysis = format!(r#"{{ "capabilities": [], "dependency_graph": {graph}, "roles": [{role}] }}"#);
    let spec = "---\nrole: worker\nprefix: WORK\ninner_loop: false\nmessage_types:\n  success: done\n---\n\
                ## Phase 2: Load\n## Phase 3: Work\n## Phase 4: Check\n";
    [("team-session.json", session), ("task-analysis.json", analysis), ("role-specs/worker.md", spec.to_owned())]
}

fn bench(c: &mut Criterion) {
    let files = files();
    let folder = files.iter().fold(MemoryFolder::default(), |folder, (path, text)| folder.with(path, text.as_str()));
    let mut group = c.benchmark_group("100,000 tasks");
    group.sample_size(10);
    group.bench_function("plain parsing", |b| {
        b.iter(|| {
            for (_, text) in &files[..2] {
                black_box(serde_json::from_str::<serde_json::Value>(text).expect("valid"));
            }
        });
    });
    group.bench_function("validate", |b| {
        b.iter(|| {
            let loaded = load(&folder, "bench", None);
            assert!(loaded.session.is_some());
            black_box(loaded)
        });
    });
    group.bench_function("validate and plan", |b| {
        b.iter(|| {
            let (session, graph) = load(&folder, "bench", None).session.expect("valid");
            black_box(Plan::make(&session, graph))
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
