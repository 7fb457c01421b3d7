//! From the plan and the records of a run to where it stands. Nothing is opened, written or started here.

use team_executor_core::Session;
use team_executor_core::run::{Ending, Policy, Run, Stage, WaveFailed};
use team_executor_store::records;

use crate::options::{Failure, Options, Report};
use crate::run_at::{Done, Plan};

/// The session as the run began it, and the rules after all of its records.
pub(crate) fn replay(options: &Options, run: &str, plan: &Plan, all: &[String]) -> Result<(Session, Run), Failure> {
    let mut session = options.session.clone();
    plan.put_into(&mut session.tasks);
    let policy = Policy {
        cadence: plan.cadence,
        slots: options.slots,
        retries: options.retries,
        seed: plan.seed,
        wave_failed: WaveFailed::Abort, // nobody is asked while a run goes on
        ..Policy::default()
    };
    let mut rules = Run::new(&session.tasks, options.graph.clone(), policy)
        .map_err(|error| Failure::Changed(format!("the run {run} cannot go on: {error}")))?;
    for record in all {
        rules.apply(&records::read(record, |id| options.graph.index_of(id))?);
    }
    Ok((session, rules))
}

/// How a finished run ended; nothing while it is not finished.
pub(crate) fn ending(rules: &Run) -> Option<Ending> {
    let counts = rules.counts();
    let all = counts.failed + counts.skipped == 0;
    (*rules.stage() == Stage::Finished).then_some(if all { Ending::AllCompleted } else { Ending::WithFailures })
}

/// The report of a run that was finished before, if it was.
pub(crate) fn already(options: &Options, done: Done) -> Result<Option<Report>, Failure> {
    let (_, rules) = replay(options, &done.id, &done.plan, &done.records)?;
    let counts = rules.counts();
    let report = |ending| Report { run: done.id, folder: done.path, ending, counts, already: true };
    Ok(ending(&rules).map(report))
}
