//! Why a run took as long as it did: from the attempt that ended last back over "started because that one ended".

use std::collections::HashMap;
use std::time::Duration;

use team_executor_core::{Graph, TaskIndex, Timestamp};

use super::Bar;
use crate::attempts::between;

/// One attempt of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Which, in the list of all.
    pub bar: usize,
    /// Why it started when it did.
    pub because: Because,
    /// How long nothing of the chain was at work before it: a pause, a hold, a wait before a retry.
    pub gap: Duration,
}

/// Why an attempt started when it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// It is the first.
    Began,
    /// Its task depends on the one before.
    DependsOn,
    /// The attempt before at its task did not complete it.
    Retried,
    /// The work of the attempt before at its task, or of what it was built on, was not accepted.
    SentBack,
    /// The one before had its slot.
    HadItsSlot,
    /// The one before ended last, for instance the wave before.
    CameAfter,
}

impl Because {
    /// For people, between the names of the two tasks: `B depends on A`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::DependsOn => "depends on",
            Self::Retried => "was retried after",
            Self::SentBack => "was sent back by",
            Self::HadItsSlot => "waited for the slot of",
            Self::CameAfter => "came after",
        }
    }
}

/// How long may pass at the begin of a run before its first attempt.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The chain, from the first attempt to the last. Bars are sorted by their starts.
pub(super) fn find(bars: &[Bar], graph: &Graph, began: Timestamp) -> Vec<Link> {
    let known = Known::new(bars, graph, began);
    let mut chain = Vec::new();
    let mut next = (0..bars.len()).max_by_key(|nth| (bars[*nth].over, bars[*nth].started));
    let mut seen = vec![false; bars.len()];
    while let Some(nth) = next.filter(|nth| !std::mem::replace(&mut seen[*nth], true)) {
        let cause = known.cause(nth).filter(|(cause, _)| !seen[*cause]);
        let since = cause.map_or(began, |(cause, _)| bars[cause].over);
        let because = cause.map_or(Because::Began, |(_, because)| because);
        chain.push(Link { bar: nth, because, gap: between(since, bars[nth].started) });
        next = cause.map(|(cause, _)| cause);
    }
    chain.reverse();
    chain
}

struct Known<'a> {
    bars: &'a [Bar],
    graph: &'a Graph,
    began: Timestamp,
    /// The bars of each task and of each slot, by their starts.
    of_task: HashMap<TaskIndex, Vec<usize>>,
    of_slot: HashMap<u32, Vec<usize>>,
    /// All bars by their ends.
    by_end: Vec<usize>,
}

impl<'a> Known<'a> {
    fn new(bars: &'a [Bar], graph: &'a Graph, began: Timestamp) -> Self {
        let (mut of_task, mut of_slot) = (HashMap::<_, Vec<usize>>::new(), HashMap::<_, Vec<usize>>::new());
        for (nth, bar) in bars.iter().enumerate() {
            of_task.entry(bar.task).or_default().push(nth);
            of_slot.entry(bar.slot).or_default().push(nth);
        }
        let mut by_end: Vec<usize> = (0..bars.len()).collect();
        by_end.sort_by_key(|nth| (bars[*nth].over, *nth));
        Self { bars, graph, began, of_task, of_slot, by_end }
    }

    /// The last of these that was over before another one started.
    fn before(&self, of: Option<&Vec<usize>>, nth: usize) -> Option<usize> {
        let started = self.bars[nth].started;
        let all = of.map(Vec::as_slice).unwrap_or_default();
        let earlier = &all[..all.partition_point(|other| *other < nth)];
        earlier.iter().rev().copied().find(|other| self.bars[*other].over <= started)
    }

    /// Whose end let an attempt start: of all that it waited for, what ended last.
    fn cause(&self, nth: usize) -> Option<(usize, Because)> {
        let bar = &self.bars[nth];
        let of_task = |task: TaskIndex| self.before(self.of_task.get(&task), nth);
        let on = self.graph.dependencies(bar.task).iter().filter_map(|task| of_task(*task));
        let mut causes: Vec<(usize, Because)> = on.map(|on| (on, Because::DependsOn)).collect();
        if let Some(before) = of_task(bar.task) {
            let is_back = self.bars[before].is_sent_back;
            causes.push((before, if is_back { Because::SentBack } else { Because::Retried }));
            if is_back {
                let judges = self.graph.dependents(bar.task).iter().filter_map(|task| of_task(*task));
                causes.extend(judges.map(|judge| (judge, Because::SentBack)));
            }
        }
        let waited = between(bar.ready, bar.started) > Duration::ZERO;
        causes.extend(
            self.before(self.of_slot.get(&bar.slot), nth).filter(|_| waited).map(|it| (it, Because::HadItsSlot)),
        );
        // Of equals the first: what it depends on says more than whose slot it was.
        let last = causes.into_iter().rev().max_by_key(|(cause, _)| self.bars[*cause].over);
        last.or_else(|| self.any_before(nth))
    }

    /// What ended last before an attempt that was not there from the begin.
    fn any_before(&self, nth: usize) -> Option<(usize, Because)> {
        let started = self.bars[nth].started;
        if between(self.began, started) <= AT_ONCE {
            return None;
        }
        let earlier = self.by_end.partition_point(|other| self.bars[*other].over <= started);
        let last = self.by_end[..earlier].iter().rev().find(|other| **other != nth)?;
        Some((*last, Because::CameAfter))
    }
}
