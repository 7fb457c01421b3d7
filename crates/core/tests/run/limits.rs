//! How many workers there may be at a time, as a person changes it: of the run, of a role, of an agent.

use team_executor_core::RoleName;
use team_executor_core::run::{Agents, Group, Input, Policy, Refused, Step};

use crate::drive::Drive;
use crate::plan::Plan;

fn limit(drive: &mut Drive, group: Group, most: Option<u32>) -> Step {
    drive.tell(|now| Input::Limit { now, group, most })
}

fn role(name: &str) -> Group {
    Group::Role(RoleName::parse(name).unwrap())
}

#[test]
fn raised_limit_starts_workers_at_once() {
    let (mut drive, step) = Drive::start(Plan::new(&["A:", "B:", "C:"], Policy { slots: 1, ..Policy::default() }));
    assert_eq!(drive.started(&step), "A");
    let step = limit(&mut drive, Group::All, Some(2));
    assert_eq!((drive.started(&step).as_str(), drive.run.most_workers()), ("B", 2));
    let step = limit(&mut drive, Group::All, None);
    assert_eq!((drive.started(&step).as_str(), drive.run.most_workers()), ("", 1), "as it was started");
}

#[test]
fn lowered_limit_ends_and_starts_no_worker() {
    let (mut drive, step) =
        Drive::start(Plan::new(&["A:", "B:", "C:", "D:"], Policy { slots: 3, ..Policy::default() }));
    assert_eq!(drive.started(&step), "A B C");
    let step = limit(&mut drive, Group::All, Some(1));
    assert_eq!((step.effects.len(), drive.run.counts().in_progress), (0, 3));
    for done in ["A", "B"] {
        let step = drive.complete(done);
        assert_eq!(drive.started(&step), "", "after {done}");
    }
    let step = drive.complete("C");
    assert_eq!(drive.started(&step), "D");
}

#[test]
fn limit_of_a_role_holds_that_role_only() {
    let plan =
        Plan::new(&["A reviewer:", "B reviewer:", "C reviewer:", "D:"], Policy { slots: 2, ..Policy::default() });
    let (mut drive, step) = Drive::start(plan);
    assert_eq!(drive.started(&step), "A B");
    limit(&mut drive, role("reviewer"), Some(1));
    let step = drive.complete("A");
    assert_eq!(drive.started(&step), "D", "B is the one reviewer");
    let step = drive.complete("B");
    assert_eq!(drive.started(&step), "C");
}

#[test]
fn limit_of_an_agent_holds_that_agent_only() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let agents = Agents { chains: vec![names(&["claude"]), names(&["codex"])], of: vec![0, 0, 1] };
    let policy = Policy { slots: 3, agents, ..Policy::default() };
    let (mut limited, step) = Drive::start(Plan::new(&["A:", "B:", "C:"], policy));
    assert_eq!(limited.started(&step), "A B C");
    let unknown = limit(&mut limited, Group::Agent("gemini".to_owned()), Some(1));
    assert_eq!(unknown.refused, Some(Refused::NoSuchAgent));
    limit(&mut limited, Group::Agent("claude".to_owned()), Some(1));
    let step = limited.end("A", team_executor_core::run::Outcome::Interrupted);
    assert_eq!(limited.started(&step), "", "B is the one of claude");
    let step = limited.complete("B");
    assert_eq!(limited.started(&step), "A");
}

#[test]
fn limit_that_makes_no_sense_is_refused() {
    let (mut drive, _) = Drive::start(Plan::new(&["A:"], Policy::default()));
    assert_eq!(limit(&mut drive, Group::All, Some(0)).refused, Some(Refused::NoWorkers));
    assert_eq!(limit(&mut drive, role("stranger"), Some(1)).refused, Some(Refused::NoSuchRole));
    drive.complete("A");
    assert_eq!(limit(&mut drive, Group::All, Some(2)).refused, Some(Refused::Stage { stage: "finished" }));
}
