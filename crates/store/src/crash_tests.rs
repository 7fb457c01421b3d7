//! The store against a disk that loses power and fails, at every operation and at random; and the harness against
//! mistakes that are planted in the store: each of them must be found.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::crash_world::{Plants, Step, Stop, World};
use crate::disk::Disk;
use crate::journal::{Journal, JournalError};
use crate::recover::{Checks, recover};
use crate::sim_disk::SimDisk;
use crate::sim_fault::{Fault, Lies, Strike};
use crate::sim_inode::Damage;

/// A small run with everything in it.
fn script() -> Vec<Step> {
    vec![
        Step::Commit(vec![0]),
        Step::Commit(vec![0, 30, 0]),
        Step::Replace,
        Step::Commit(vec![50]),
        Step::Replace,
        Step::Append(vec![0]),
        Step::Commit(vec![0, 0]),
        Step::Begin(vec![0, 30]),
        Step::Begin(vec![0]),
        Step::Synced,
        Step::Begin(vec![20]),
        Step::Begin(vec![0]),
        Step::Commit(vec![0]),
        Step::Begin(vec![0]),
        Step::Synced,
        Step::Begin(vec![0]),
    ]
}

fn operations_of(steps: &[Step]) -> u64 {
    let mut world = World::new(0, Plants::NONE);
    world.run(steps).expect("no promise is broken");
    world.disk.operations()
}

/// The script with one fault, then a crash, one more commit and view, and a crash again.
fn struck(plants: Plants, seed: u64, strike: Strike, damage: Damage) -> Result<(), Stop> {
    let mut steps = script();
    steps.extend([Step::Crash(damage), Step::Commit(vec![0, 0]), Step::Replace, Step::Commit(vec![0])]);
    let mut world = World::new(seed, plants);
    world.disk.plan(Some(strike));
    world.run(&steps)
}

/// Every operation of the script × every fault × every damage; the disk is new for each.
fn strike_everywhere(plants: Plants, seeds: u64) -> Result<u64, String> {
    let mut runs = 0;
    for at in 0..operations_of(&script()) {
        for (fault, sticky) in [
            (Fault::CrashBefore, false),
            (Fault::CrashAfter, false),
            (Fault::Io, false),
            (Fault::Io, true),
            (Fault::Full, false),
            (Fault::Full, true),
            (Fault::Short, false),
            (Fault::Short, true),
            (Fault::Interrupted, false),
        ] {
            for damage in Damage::ALL {
                for seed in 0..seeds {
                    runs += 1;
                    let strike = Strike { at, fault, sticky };
                    let result = struck(plants, seed, strike, damage);
                    let place = || format!("{strike:?}, {damage:?}, seed {seed}");
                    result.map_err(|stop| format!("{}: {stop:?}", place()))?;
                }
            }
        }
    }
    Ok(runs)
}

/// Two commits that are broken by crashes, with and without a good one between them: what the first one left on the disk
/// may show through where the second one is.
fn break_twice(plants: Plants, seeds: u64) -> Result<(), String> {
    let broken = |records, damage| {
        let cut = Step::Fault { after: 1, fault: Fault::CrashBefore, sticky: false };
        [cut, Step::Commit(vec![0; records]), Step::Crash(damage)]
    };
    for (first, between, second) in (0..27).map(|n| (n % 3 + 1, n / 3 % 3, n / 9 + 1)) {
        for (before, after) in Damage::ALL.iter().flat_map(|a| Damage::ALL.map(|b| (*a, b))) {
            for seed in 0..seeds {
                let mut steps = vec![Step::Commit(vec![0]), Step::Crash(Damage::Kill)];
                steps.extend(broken(first, before));
                steps.extend((between > 0).then_some(Step::Commit(vec![0; between])));
                steps.extend(broken(second, after));
                let place = || format!("{first} {before:?}, {between}, {second} {after:?}, seed {seed}");
                World::new(seed, plants).run(&steps).map_err(|stop| format!("{}: {stop:?}", place()))?;
            }
        }
    }
    Ok(())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let damage = || prop::sample::select(&Damage::ALL[..]);
    let pads = || vec(prop::sample::select(&[0, 0, 0, 16, 37, 200][..]), 1..4);
    let faults = [Fault::Io, Fault::Full, Fault::Short, Fault::Interrupted, Fault::CrashBefore, Fault::CrashAfter];
    let fault = (0..12_u64, prop::sample::select(faults.to_vec()), any::<bool>())
        // A write that is interrupted for ever is waited for, for ever.
        .prop_map(|(after, fault, sticky)| Step::Fault { after, fault, sticky: sticky && fault != Fault::Interrupted });
    let step = prop_oneof![
        1 => pads().prop_map(Step::Append),
        3 => pads().prop_map(Step::Commit),
        3 => pads().prop_map(Step::Begin),
        2 => Just(Step::Synced),
        1 => Just(Step::Replace),
        2 => fault,
        3 => damage().prop_map(Step::Crash),
        1 => (damage(), 0..10_u64, damage()).prop_map(|(a, after, b)| Step::CrashTwice(a, after, b)),
    ];
    vec(step, 1..20)
}

/// Random runs; the same ones every time.
fn random_runs(plants: Plants, cases: u32) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let run = |(steps, seed): (Vec<Step>, u64)| {
        World::new(seed, plants).run(&steps).map_err(|stop| TestCaseError::fail(format!("{stop:?}")))
    };
    TestRunner::new_with_rng(config, random).run(&(steps(), any::<u64>()), run).map_err(|error| error.to_string())
}

/// Every bit of a durable journal, one at a time.
fn flip_every_bit(plants: Plants) -> Result<(), String> {
    let commits: [&[&str]; 4] = [&["{}"], &["{\"a\":1}", "2"], &["3"], &["4", "5"]];
    let disk = SimDisk::new(0, Lies::default());
    let mut journal = Journal::create(&disk, "journal").map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    let mut tail_starts = 0;
    for commit in commits {
        tail_starts = disk.read("journal").map_or(0, |bytes| bytes.len());
        for json in commit {
            journal.append(json).map_err(|error| error.to_string())?;
            records.push(json.to_string());
        }
        journal.commit().map_err(|error| error.to_string())?;
    }
    let whole = disk.read("journal").map_err(|error| error.to_string())?;
    for bit in 0..whole.len() * 8 {
        let copy = SimDisk::new(0, Lies::default());
        let mut file = copy.create("journal").map_err(|error| error.to_string())?;
        crate::disk::DiskFile::write_all_at(&mut file, 0, &whole).map_err(|error| error.to_string())?;
        copy.flip("journal", bit);
        match Journal::open_with(&copy, "journal", plants.checks) {
            Err(JournalError::Damaged(_)) => {}
            Err(error) => return Err(error.to_string()),
            // The line end before the last commit counts as part of it: without it the two lines are one.
            Ok(_) if bit / 8 + 1 < tail_starts => return Err(format!("bit {bit} of a closed commit is accepted")),
            Ok((_, history)) => {
                let found: Vec<_> = history.records().map(|record| record.json.to_owned()).collect();
                if history.torn().is_none() || found.len() == records.len() || !records.starts_with(&found) {
                    return Err(format!("bit {bit} of the last commit is accepted: {found:?}"));
                }
            }
        }
    }
    Ok(())
}

/// All that the harness has. The plants are found by one or the other.
fn hunt(plants: Plants) -> Result<(), String> {
    flip_every_bit(plants)?;
    strike_everywhere(plants, 1)?;
    break_twice(plants, 4)?;
    random_runs(plants, 1000)
}

#[test]
fn nothing_promised_is_lost_whatever_strikes_at_any_operation() {
    let runs = strike_everywhere(Plants::NONE, 4);
    assert!(runs.as_ref().is_ok_and(|runs| *runs > 5000), "{runs:?}");
}

#[test]
fn nothing_of_a_broken_commit_shows_through_later() {
    assert_eq!(break_twice(Plants::NONE, 8), Ok(()));
}

#[test]
fn nothing_promised_is_lost_in_random_runs() {
    assert_eq!(random_runs(Plants::NONE, 4000), Ok(()));
}

#[test]
fn no_flipped_bit_is_accepted() {
    assert_eq!(flip_every_bit(Plants::NONE), Ok(()));
}

proptest! {
    /// Whole lines, parts of lines and junk in any order.
    #[test]
    fn whatever_is_read_is_read_the_same_once_it_is_cut(parts in vec((0..6_usize, 0..80_usize, any::<u8>()), 0..12)) {
        let disk = SimDisk::new(0, Lies::default());
        let mut journal = Journal::create(&disk, "journal").expect("a new journal");
        for json in ["1", "2", "3"] {
            journal.append(json).and_then(|_| journal.commit()).expect("committed");
        }
        let whole = disk.read("journal").expect("readable");
        let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let mut bytes = Vec::new();
        for (line, length, junk) in parts {
            let Some(line) = lines.get(line) else {
                bytes.push(junk);
                continue;
            };
            bytes.extend_from_slice(&line[..length.min(line.len())]);
        }
        if let Ok(found) = recover(&bytes) {
            let again = recover(&bytes[..found.end]).expect("what is kept is whole");
            prop_assert_eq!(again.tail, None);
            prop_assert_eq!(again.records, found.records);
        }
    }
}

#[test]
fn every_planted_mistake_is_found() {
    let none = Plants::NONE;
    let lies = none.lies;
    let plants = [
        ("files are not synced", Plants { lies: Lies { sync: true, ..lies }, ..none }),
        ("names are not synced", Plants { lies: Lies { sync_folder: true, ..lies }, ..none }),
        ("the torn tail is not cut", Plants { lies: Lies { truncate: true, ..lies }, ..none }),
        ("the cache is trusted after a failed sync", Plants { lies: Lies { rewrite: true, ..lies }, ..none }),
        ("the checksum is not checked", Plants { checks: Checks { checksum: false, ..Checks::ALL }, ..none }),
        ("the chain is not checked", Plants { checks: Checks { chain: false, ..Checks::ALL }, ..none }),
        ("bad lines are skipped", Plants { checks: Checks { every_line: false, ..Checks::ALL }, ..none }),
        ("a file is renamed before it is synced", Plants { rename_first: true, ..none }),
    ];
    let missed: Vec<_> = plants.iter().filter(|(_, plants)| hunt(*plants).is_ok()).map(|(name, _)| name).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
