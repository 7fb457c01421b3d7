//! The rules of a run: what happens when, as a function.
//!
//! A [`Run`] is fed with inputs ([`Run::step`]) and answers with events and effects. Only events change it
//! ([`Run::apply`]). The driver makes the events of a step durable *before* carrying out any effect of that
//! step; after a crash a new run is fed all durable events through `apply`, whole steps or not, and then
//! [`Input::Recovered`]. Everything that a cut-off step had not yet said is derived again from the state, and
//! comes out the same.
//!
//! Reading order: `policy`, `input`, `event`, `effect` (the words), `facts` (what never changes), `state` and `apply`
//! (what events do), `decide` (what inputs do) and the rules that it calls: `schedule` over `queue` and `slots`,
//! `limit`, `assign`, `wave_cadence`, `budget` over `used`, `retry`, `halt`, `part`, `skip`, `cancel`, `review`, `decision`, `reset`, `edited`, `added` after `longer`, `replanned`, `recover`, `finish`. `times` counts how long it took. `view` is what others see, [`invariants`] what
//! always holds.

mod added;
mod apply;
mod assign;
mod budget;
mod cancel;
mod decide;
mod decision;
mod edited;
mod effect;
mod event;
mod facts;
mod finish;
mod halt;
mod input;
pub mod invariants;
mod learned;
mod limit;
mod longer;
mod part;
mod policy;
mod queue;
mod recover;
mod replanned;
mod reset;
mod retry;
mod review;
mod schedule;
mod skip;
mod slots;
mod state;
mod times;
mod used;
mod view;
mod wave_cadence;

pub use assign::Assignment;
pub use budget::{AT_FIRST, Bound, Budget, Budgets, Live, Measure, Scope};
pub use cancel::Cancel;
pub use decision::Decision;
pub use effect::{Effect, Ending, Step};
pub use event::{Event, Halt, PauseReason, SkipReason, Then, WaveThen};
pub use input::{ErrorClass, Input, Outcome, Refused, Which, Work, WorkEnded};
pub use learned::Learned;
pub use limit::{Group, Limits};
pub use longer::NewTask;
pub use policy::{Agents, AtCheckpoint, Backoff, Cadence, KeptWaves, Policy, TaskPolicy, WaveFailed};
pub use replanned::{NextPlan, PlanMark};
pub use review::{Cause, Review, ReviewThen, Reviewed};
pub use state::{NotTheGraph, Run, Stage};
pub use times::Durations;
pub use used::Used;
pub use view::{Asks, Counts, Standing, TaskView};
