//! Pictures for the tests of this module.

use team_executor_core::TaskStatus;

use super::{Node, Picture};

/// A task in a wave.
pub(super) fn node(wave: u32) -> Node {
    Node {
        id: "A-1".to_owned(),
        title: "A task".to_owned(),
        role: "worker".to_owned(),
        status: TaskStatus::Pending,
        wave,
        critical: false,
    }
}

/// Tasks that wait for each other in turn, all of them critical.
pub(super) fn chain(tasks: u32) -> Picture {
    let task = |at: u32| Node { id: format!("STEP-{at}"), critical: true, ..node(at + 1) };
    Picture {
        title: "Chain".to_owned(),
        subtitle: "one after the other".to_owned(),
        nodes: (0..tasks).map(task).collect(),
        edges: (1..tasks).map(|at| (at - 1, at)).collect(),
    }
}

/// Six tasks in four waves.
pub(super) fn diamond() -> Picture {
    let task = |id: &str, title: &str, role: &str, status, wave, critical| Node {
        id: id.to_owned(),
        title: title.to_owned(),
        role: role.to_owned(),
        status,
        wave,
        critical,
    };
    Picture {
        title: "Password reset".to_owned(),
        subtitle: "6 tasks, 4 waves, at most 2 at once".to_owned(),
        nodes: vec![
            task("SPEC-001", "Write the specification", "analyst", TaskStatus::Completed, 1, true),
            task("IMPL-001", "Reset tokens: make, store, expire", "developer", TaskStatus::InProgress, 2, true),
            task("IMPL-002", "The mail and its template", "developer", TaskStatus::Failed, 2, false),
            task(
                "TEST-001",
                "Tests for the tokens, with a clock that can be set",
                "tester",
                TaskStatus::Pending,
                3,
                true,
            ),
            task("TEST-002", "Tests for the mail", "tester", TaskStatus::Skipped, 3, false),
            task("REVIEW-001", "Review and sign off", "reviewer", TaskStatus::Ready, 4, true),
        ],
        edges: vec![(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5), (0, 5)],
    }
}

/// The tasks of a picture many times over, with the edges of the first copy.
pub(super) fn repeated(picture: &Picture, times: usize) -> Picture {
    let mut large = picture.clone();
    large.nodes = std::iter::repeat_n(&picture.nodes, times).flatten().cloned().collect();
    large
}

/// The same plan of any size for the same numbers: tasks in waves, each waiting for some of earlier waves.
pub(super) fn random(tasks: u32, waves: u32, mut seed: u64) -> Picture {
    let mut next = move |bound: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((seed >> 33) % u64::from(bound.max(1))).unwrap_or_default()
    };
    const ROLES: [(&str, &str); 5] =
        [("SPEC", "analyst"), ("IMPL", "developer"), ("TEST", "tester"), ("DOC", "writer"), ("REVIEW", "reviewer")];
    const TITLES: [&str; 4] = [
        "Parse the file",
        "A title that is long enough to need two lines or more of them",
        "写用户登录的接口",
        "Check",
    ];
    let mut picture = Picture { title: "A larger plan".to_owned(), ..Picture::default() };
    picture.subtitle = format!("{tasks} tasks in {waves} waves");
    let first_of = |wave: u32| wave * tasks / waves;
    for at in 0..tasks {
        let wave = (0..waves).take_while(|wave| first_of(*wave) <= at).count() as u32;
        let (prefix, role) = ROLES[next(5) as usize];
        let status = TaskStatus::ALL[next(6) as usize];
        let title = TITLES[next(4) as usize].to_owned();
        picture.nodes.push(Node {
            id: format!("{prefix}-{at:03}"),
            title,
            role: role.to_owned(),
            status,
            wave,
            critical: false,
        });
        if wave > 1 {
            let (here, before) = (first_of(wave - 1), first_of(wave - 2));
            picture.edges.push((before + next(here - before), at));
            if next(3) == 0 {
                picture.edges.push((next(here), at));
            }
        }
    }
    picture
}
