//! Random plans, random policies, random worlds.

use proptest::prelude::*;
use team_executor_core::run::{
    Agents, Backoff, Cadence, Cancel, Ending, ErrorClass, Event, Group, KeptWaves, Outcome, Policy, Review, TaskPolicy,
    WaveFailed,
};
use team_executor_core::{
    CheckpointAction, Complexity, ExecMode, Position, Priority, RoleName, RunOn, Task, TaskIndex, TaskStatus, Verdict,
};

use crate::plan::{Plan, at, id, index};
use crate::world::{Act, World};

fn policies() -> impl Strategy<Value = Policy> {
    let (cadence, wave_failed) = (prop::sample::select(Cadence::ALL), prop::sample::select(WaveFailed::ALL));
    let waves =
        prop_oneof![2 => Just(KeptWaves::Computed), 1 => Just(KeptWaves::Planned), 1 => Just(KeptWaves::Barriers)];
    (cadence, 0..4_u32, 0..3_u32, 0..3_u32, wave_failed, any::<u64>(), (0..3_u32, waves)).prop_map(
        |(cadence, slots, retries, interruptions, wave_failed, seed, (rounds, waves))| Policy {
            rounds,
            cadence,
            waves,
            slots,
            retries,
            interruptions,
            wave_failed,
            seed,
            backoff: Backoff::default(),
            ..Policy::default()
        },
    )
}

/// The task and what differs for it; its dependencies are bits.
fn tasks() -> impl Strategy<Value = (Task, u16, TaskPolicy)> {
    let run_on = prop_oneof![3 => Just(RunOn::Success), 1 => Just(RunOn::Failure), 1 => Just(RunOn::Always)];
    let mode = prop_oneof![2 => Just(ExecMode::CsvWave), 1 => Just(ExecMode::Interactive)];
    let words = (prop::sample::select(Priority::ALL), mode, prop::sample::select(Position::ALL), run_on);
    let least = prop::option::weighted(0.2, prop::sample::select(Complexity::ALL));
    let rounds = prop::option::weighted(0.2, 0..3_u32);
    let own = (prop::option::weighted(0.2, 0..3_u32), 0..2_u32, rounds, least, 0..100_u32);
    let own = own.prop_map(|(retries, pool, rounds, least, chance)| TaskPolicy {
        retries,
        pool,
        rounds,
        least,
        asks: chance < 10,
        is_off: (10..20).contains(&chance),
    });
    let wave = prop::option::of(prop::sample::select(&[1, 2, 5][..]));
    (words, 0..2_usize, any::<(u16, u16)>(), own, wave).prop_map(|(words, role, bits, own, wave)| {
        let mut task = Task::new(id("T"), RoleName::parse(["writer", "tester"][role]).unwrap());
        (task.priority, task.exec_mode, task.position, task.run_on) = words;
        task.declared_wave = wave;
        (task, bits.0 & bits.1, own)
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    (policies(), prop::collection::vec(tasks(), 1..12)).prop_map(|(mut policy, drafts)| {
        let mut tasks = Vec::new();
        policy.agents = Agents { chains: vec![vec!["one".to_owned()], vec!["other".to_owned()]], of: Vec::new() };
        for (nth, (mut task, bits, own)) in drafts.into_iter().enumerate() {
            task.id = id(&format!("T{nth}"));
            task.dependencies = (0..nth).filter(|on| bits >> on & 1 == 1).map(|on| id(&format!("T{on}"))).collect();
            policy.tasks.insert(index(nth), own);
            policy.agents.of.push(usize::from(bits & 1 == 1));
            tasks.push(task);
        }
        Plan { tasks, policy }
    })
}

fn judgements() -> impl Strategy<Value = Review> {
    let verdict = prop::option::weighted(0.5, prop::sample::select(Verdict::ALL));
    let complexity = prop::option::weighted(0.5, prop::sample::select(Complexity::ALL));
    let rejects = prop::collection::vec((0..14_u32).prop_map(TaskIndex), 0..4);
    let rounds = prop::option::weighted(0.2, 0..3_u32);
    (verdict, complexity, rejects, rounds).prop_map(|(verdict, complexity, rejects, rounds)| Review {
        verdict,
        rejects,
        critique: "not good".to_owned(),
        rounds,
        complexity,
    })
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let class = prop_oneof![
        4 => Just(ErrorClass::Transient),
        2 => Just(ErrorClass::Rejected),
        2 => Just(ErrorClass::Fatal),
        2 => Just(ErrorClass::Shortage),
        1 => Just(ErrorClass::Quota { until: None }),
        1 => (0..100_000_i64).prop_map(|millis| ErrorClass::Quota { until: Some(at(millis)) }),
    ];
    let error = || "it broke".to_owned();
    prop_oneof![
        8 => Just(Outcome::completed(Some("done".to_owned()))),
        4 => judgements().prop_map(|review| {
            Outcome::Completed { findings: Some("judged".to_owned()), review: Some(Box::new(review)) }
        }),
        5 => class.prop_map(move |class| Outcome::Failed { class, error: error() }),
        1 => Just(Outcome::TimedOut { error: error() }),
        1 => Just(Outcome::CouldNotStart { error: error() }),
        2 => Just(Outcome::Interrupted),
    ]
}

fn acts() -> impl Strategy<Value = Act> {
    let simple = || {
        prop_oneof![
            20 => (any::<usize>(), outcomes()).prop_map(|(which, outcome)| Act::End { which, outcome }),
            6 => (0..20_000_i64).prop_map(|millis| Act::Wait { millis }),
            1 => Just(Act::Pause),
            3 => Just(Act::Resume),
            1 => Just(Act::Drain),
            1 => Just(Act::NoRoom),
            1 => Just(Act::Stop),
            2 => (any::<Option<usize>>(), any::<bool>()).prop_map(|(which, downstream)| Act::Retry { which, downstream }),
            1 => any::<usize>().prop_map(|which| Act::Skip { which }),
            3 => (any::<usize>(), prop::sample::select(Cancel::ALL)).prop_map(|(which, then)| Act::Cancel { which, then }),
            2 => (groups(), prop::option::weighted(0.8, 0..4_u32)).prop_map(|(group, most)| Act::Limit { group, most }),
            4 => (any::<usize>(), any::<usize>(), prop::bool::weighted(0.3))
                .prop_map(|(which, on, gone)| Act::Replan { which, on, gone }),
            3 => (prop::sample::select(CheckpointAction::ALL), any::<Option<usize>>())
                .prop_map(|(action, which)| Act::Decide { action, which }),
        ]
    };
    let set_back = prop_oneof![3 => Just(0), 1 => 0..50_000_i64];
    let crash = (simple(), any::<usize>(), any::<u64>(), set_back).prop_map(|(before, durable, fates, set_back)| {
        Act::Crash { before: Box::new(before), durable, fates, set_back }
    });
    prop_oneof![8 => simple(), 1 => crash]
}

fn groups() -> impl Strategy<Value = Group> {
    let role = prop::sample::select(&["writer", "tester", "stranger"][..]);
    prop_oneof![
        2 => Just(Group::All),
        1 => role.prop_map(|role| Group::Role(RoleName::parse(role).unwrap())),
        1 => prop::sample::select(&["one", "other", "stranger"][..]).prop_map(|agent| Group::Agent(agent.to_owned())),
    ]
}

/// Lets a world happen; gives back all its events, and how it ended.
fn happen(plan: &Plan, acts: &[Act]) -> Result<(Vec<Event>, Option<Ending>), TestCaseError> {
    let mut world = World::new(plan)?;
    for act in acts {
        world.act(act)?;
    }
    world.finish()?;
    let counts = world.run.counts();
    let completed = counts.count(TaskStatus::Completed) + world.run.not_needed() == counts.total();
    let expected = if completed { Ending::AllCompleted } else { Ending::WithFailures };
    prop_assert_eq!(world.over, Some(expected));
    Ok((world.durable, world.over))
}

proptest! {
    /// Every event is right at its moment, nothing that should happen is missing, and every world comes to its end,
    /// through crashes at every point of a step.
    ///
    /// R: E-02
    /// R: E-03
    /// R: D-05
    /// R: D-06
    /// R: D-07
    /// R: W-08
    /// R: W-09
    #[test]
    fn whatever_happens_the_rules_hold(plan in plans(), acts in prop::collection::vec(acts(), 0..60)) {
        let first = happen(&plan, &acts)?;
        prop_assert_eq!(first, happen(&plan, &acts)?, "the same world happens differently");
    }
}
