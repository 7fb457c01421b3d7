//! Each pipeline from `init` to the end of its run: work is sent back, supervisors and people stop it, a person revises, a
//! delivered file is damaged, and the executor is killed at each of these moments. The same command goes on each time.

mod telling;

use self::telling::{SHORTER, told};
use crate::run::json;

/// What happens next, seen from outside. At each checkpoint the name is that of its task.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The same command goes on until a worker kills the executor.
    Killed,
    /// It waits for a person at a checkpoint, and is killed while it waits.
    KilledWaiting(&'static str),
    /// No person is there at a checkpoint: it stops.
    Paused(&'static str),
    /// A person has a task done again at a checkpoint where it waits; the worker that does it kills the executor.
    Revised(&'static str, &'static str),
    /// A person lets it go on while no executor is there.
    Resumed,
    /// What a task delivered is damaged while nothing runs.
    Damaged(&'static str),
    /// It comes to its end.
    Completed,
}

use Step::{Completed, Damaged, Killed, KilledWaiting, Paused, Resumed, Revised};

/// A pipeline with what happens in it and how often each task starts.
struct Story {
    pipeline: &'static str,
    dialect: &'static str,
    acts: &'static str,
    steps: &'static [Step],
    starts: &'static [(&'static str, usize)],
}

#[test]
fn a_specification_is_sent_back_revised_and_accepted() {
    told(&Story {
        pipeline: "spec-only",
        dialect: "tc",
        acts: "DRAFT-004 1 DRAFT-003 kill\nDRAFT-004 2 DRAFT-003\nDRAFT-003 2 kill\nQUALITY-001 1 kill\nDRAFT-003 4 kill\n",
        steps: &[
            Killed,
            Killed,
            Killed,
            KilledWaiting("QUALITY-001"),
            Paused("QUALITY-001"),
            Damaged("RESEARCH-001"),
            Revised("QUALITY-001", "DRAFT-003"),
            Paused("QUALITY-001"),
            Resumed,
            Completed,
        ],
        starts: &[
            ("RESEARCH-001", 1),
            ("DRAFT-001", 1),
            ("DRAFT-002", 1),
            ("CHECKPOINT-001", 1),
            ("DRAFT-003", 5),    // sent back and killed, revised and killed
            ("DRAFT-004", 4),    // killed, sends back, after the round, after the revision
            ("SECURITY-001", 2), // built on DRAFT-003; it had not started when that was sent back
            ("QUALITY-001", 3),  // killed, judged, judged after the revision
        ],
    });
}

#[test]
fn an_implementation_whose_plan_is_blocked_is_reviewed_twice() {
    told(&Story {
        pipeline: "impl-only",
        dialect: "tc",
        acts: "CHECKPOINT-001 1 block kill\nCHECKPOINT-001 2 block\nPLAN-001 2 kill\nREVIEW-001 1 IMPL-001 kill\n\
               REVIEW-001 2 IMPL-001\nIMPL-001 2 kill\n",
        steps: &[
            Killed,
            KilledWaiting("CHECKPOINT-001"),
            Paused("CHECKPOINT-001"),
            Revised("CHECKPOINT-001", "PLAN-001"),
            Killed,
            Killed,
            Damaged("PLAN-001"),
            Completed,
        ],
        starts: &[
            ("PLAN-001", 3),
            ("CHECKPOINT-001", 3),
            ("IMPL-001", 3),
            ("TEST-001", 2),
            ("SECURITY-001", 2),
            ("REVIEW-001", 3),
        ],
    });
}

const FULL: Story = Story {
    pipeline: "full-lifecycle",
    dialect: "tc",
    acts: "QUALITY-001 1 kill\nDRAFT-004 2 kill\nREVIEW-001 1 TEST-001 kill\nREVIEW-001 2 TEST-001\nTEST-001 2 kill\n",
    steps: &[
        Killed,
        KilledWaiting("QUALITY-001"),
        Paused("QUALITY-001"),
        Revised("QUALITY-001", "DRAFT-004"),
        Paused("QUALITY-001"),
        Resumed,
        Killed,
        Killed,
        Damaged("PLAN-001"),
        Completed,
    ],
    starts: &[
        ("RESEARCH-001", 1),
        ("DRAFT-001", 1),
        ("DRAFT-002", 1),
        ("CHECKPOINT-001", 1),
        ("DRAFT-003", 1),
        ("DRAFT-004", 3),
        ("QUALITY-001", 3),
        ("PLAN-001", 1),
        ("CHECKPOINT-002", 1),
        ("IMPL-001", 1),
        ("TEST-001", 3),
        ("SECURITY-001", 1), // not built on what was sent back
        ("REVIEW-001", 3),
    ],
};

#[test]
fn a_whole_lifecycle_stops_where_its_specification_is_judged() {
    told(&FULL);
}

#[test]
fn a_lifecycle_session_keeps_its_decisions_in_its_own_file() {
    let world = told(&Story { dialect: "tls", ..FULL });
    let own = json(world.dir().join("S/team-session.json"));
    assert_eq!(own["status"], "completed", "{own}");
    let history = own["checkpoint_history"].as_array().expect("a history");
    let said = |name: &str| -> Vec<&str> { history.iter().map(|one| one[name].as_str().unwrap_or_default()).collect() };
    assert_eq!(said("user_action"), ["revise", "resume"]);
    assert_eq!(said("checkpoint_id"), ["QUALITY-001"; 2]);
    assert!(said("context")[0].contains(SHORTER), "{own}");
    assert!(own["task_list"].as_array().expect("tasks").iter().all(|task| task["status"] == "completed"), "{own}");
    let registry = own["artifact_registry"].as_object().expect("a registry");
    assert_eq!(registry.len(), FULL.starts.len());
    assert!(registry.values().all(|one| one["validation_status"] == "passed"), "{own}");
}

#[test]
fn parallel_team_redoes_only_the_rejected_part() {
    told(&Story {
        pipeline: "enhanced-parallel",
        dialect: "tc",
        acts: "CHECKPOINT-001 1 block kill\nCHECKPOINT-001 2 block\nARCH-001 2 kill\nREVIEW-001 1 BE-001 kill\n\
               REVIEW-001 2 BE-001\nBE-001 2 kill\n",
        steps: &[
            Killed,
            KilledWaiting("CHECKPOINT-001"),
            Paused("CHECKPOINT-001"),
            Damaged("PLAN-001"),
            Revised("CHECKPOINT-001", "ARCH-001"),
            Killed,
            Killed,
            Completed,
        ],
        starts: &[
            ("PLAN-001", 1),
            ("ARCH-001", 3),
            ("CHECKPOINT-001", 3),
            ("IMPL-001", 1),
            ("FE-001", 1),
            ("BE-001", 3),
            ("TEST-001", 2),
            ("SECURITY-001", 2),
            ("REVIEW-001", 3),
        ],
    });
}
