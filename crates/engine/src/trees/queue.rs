//! The queue of results that are to join the trunk, and how the one is found that breaks the tests. It is a function of what it is
//! told: it calls nothing.
//!
//! Results that wait are tried together, on top of each other: one run of the tests for all of them. If that fails, halves are tried until it
//! is known up to where all is well; these join, the next one is the culprit, and those behind it wait again. Only failures are ever
//! concluded from: what joins was tried as it is.

use std::collections::VecDeque;

use team_executor_core::run::{Outcome, Work};

/// How often in a row tests that were lost run again.
const MOST_LOST: u32 = 3;

/// A result that is to join the trunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The slot in which its attempt waits.
    pub(crate) slot: usize,
    pub(crate) work: Work,
    pub(crate) task: String,
    /// Its commit.
    pub(crate) result: String,
    /// What the attempt comes to if it joins.
    pub(crate) outcome: Outcome,
}

/// The next step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// These are merged into the trunk, one after the other.
    Fold(Vec<(String, String)>),
    /// This commit is tried.
    Try(String),
    /// The trunk moves.
    Advance { from: String, to: String },
    /// This one does not merge, for these files.
    Conflict(Box<Member>, Vec<String>),
    /// This one breaks the tests.
    Culprit(Box<Member>),
    /// This one has joined; the commit of the trunk.
    Joined(Box<Member>, String),
    /// It was recalled.
    Void(Box<Member>),
}

/// Results that wait, and those that are tried.
#[derive(Debug)]
pub(crate) struct Queue {
    /// How many are tried together at most.
    most: usize,
    /// How often a failure is tried again.
    flaky: u32,
    /// Something must be run before anything joins.
    tests: bool,
    waiting: VecDeque<Member>,
    /// Those that are being merged and tried.
    batch: Vec<Member>,
    /// Those that were recalled.
    recalled: Vec<Work>,
    round: Option<Round>,
}

/// A batch that has been merged.
#[derive(Debug)]
struct Round {
    trunk: String,
    /// What the trunk would be with each of the batch and those before it.
    steps: Vec<String>,
    /// So many are known to be well.
    well: usize,
    /// With so many it is known to fail.
    fails: Option<usize>,
    /// So many are being tried.
    trying: usize,
    tries: u32,
    /// So often the tests were lost before they said anything.
    lost: u32,
}

impl Queue {
    pub(crate) fn new(most: usize, flaky: u32, tests: bool) -> Self {
        let most = most.max(1);
        Self { most, flaky, tests, waiting: VecDeque::new(), batch: Vec::new(), recalled: Vec::new(), round: None }
    }

    /// In which slot the tests of the batch run.
    pub(crate) fn place(&self) -> Option<&Member> {
        self.batch.first().filter(|_| self.round.is_some())
    }

    /// The commit that is being tried.
    pub(crate) fn trying(&self) -> Option<&str> {
        let round = self.round.as_ref()?;
        round.steps.get(round.trying.checked_sub(1)?).map(String::as_str)
    }

    /// The tasks whose results are in what is being tried.
    pub(crate) fn tested(&self) -> Vec<String> {
        let many = self.round.as_ref().map_or(0, |round| round.trying);
        self.batch.iter().take(many).map(|member| member.task.clone()).collect()
    }

    /// One more waits.
    pub(crate) fn add(&mut self, member: Member) -> Vec<Step> {
        self.waiting.push_back(member);
        self.next()
    }

    /// The attempt in a slot is recalled.
    pub(crate) fn recall(&mut self, slot: usize) -> Vec<Step> {
        if let Some(at) = self.waiting.iter().position(|member| member.slot == slot) {
            return self.waiting.remove(at).map(|member| Step::Void(Box::new(member))).into_iter().collect();
        }
        self.recalled.extend(self.batch.iter().filter(|member| member.slot == slot).map(|member| member.work));
        Vec::new()
    }

    /// Gives back all that wait and are not being tried.
    pub(crate) fn give_up(&mut self) -> Vec<Member> {
        std::mem::take(&mut self.waiting).into()
    }

    /// The batch was merged.
    pub(crate) fn folded(&mut self, trunk: String, merged: Vec<Result<String, Vec<String>>>) -> Vec<Step> {
        let (mut steps, mut commits, mut batch) = (Vec::new(), Vec::new(), Vec::new());
        for (member, merged) in std::mem::take(&mut self.batch).into_iter().zip(merged) {
            match merged {
                Ok(commit) => {
                    commits.push(commit);
                    batch.push(member);
                }
                Err(files) => steps.push(Step::Conflict(Box::new(member), files)),
            }
        }
        self.batch = batch;
        if self.batch.is_empty() {
            steps.extend(self.next());
            return steps;
        }
        let trying = commits.len();
        // What changes nothing needs no tests.
        let changes = commits.last() != Some(&trunk);
        let well = if self.tests && changes { 0 } else { trying };
        self.round = Some(Round { trunk, steps: commits, well, fails: None, trying, tries: 0, lost: 0 });
        steps.extend(self.go_on());
        steps
    }

    /// What was tried is well, or not.
    pub(crate) fn tried(&mut self, is_well: bool) -> Vec<Step> {
        let flaky = self.flaky;
        let Some(round) = &mut self.round else { return Vec::new() };
        round.lost = 0;
        if is_well {
            (round.well, round.tries) = (round.trying, 0);
        } else if round.tries < flaky {
            round.tries += 1;
        } else {
            (round.fails, round.tries) = (Some(round.trying), 0);
        }
        self.go_on()
    }

    /// The tests were lost with their keeper, which says nothing of what was tried. They run again, unless they end their keeper each time.
    pub(crate) fn lost(&mut self) -> Vec<Step> {
        match &mut self.round {
            Some(round) if round.lost < MOST_LOST => {
                round.lost += 1;
                self.go_on()
            }
            _ => self.tried(false),
        }
    }

    /// What was tried was ended before it said anything: the batch waits again.
    pub(crate) fn ended(&mut self) -> Vec<Step> {
        self.round = None;
        let mut steps = Vec::new();
        for member in std::mem::take(&mut self.batch).into_iter().rev() {
            if self.recalled.contains(&member.work) {
                steps.push(Step::Void(Box::new(member)));
            } else {
                self.waiting.push_front(member);
            }
        }
        self.recalled.clear();
        steps
    }

    /// The trunk has moved.
    pub(crate) fn advanced(&mut self) -> Vec<Step> {
        let Some(round) = self.round.take() else { return Vec::new() };
        self.recalled.clear();
        let mut batch = std::mem::take(&mut self.batch);
        let behind = batch.split_off(round.well.min(batch.len()));
        let commit = round.well.checked_sub(1).and_then(|last| round.steps.get(last)).cloned().unwrap_or(round.trunk);
        let mut steps: Vec<Step> =
            batch.into_iter().map(|member| Step::Joined(Box::new(member), commit.clone())).collect();
        let mut behind = behind.into_iter();
        if round.fails.is_some() {
            steps.extend(behind.next().map(|member| Step::Culprit(Box::new(member))));
        }
        behind.rev().for_each(|member| self.waiting.push_front(member));
        steps.extend(self.next());
        steps
    }

    /// Begins with those that wait, if nothing is tried now.
    pub(crate) fn next(&mut self) -> Vec<Step> {
        if !self.batch.is_empty() || self.waiting.is_empty() {
            return Vec::new();
        }
        let many = self.waiting.len().min(self.most);
        self.batch = self.waiting.drain(..many).collect();
        let results = self.batch.iter().map(|member| (member.task.clone(), member.result.clone()));
        vec![Step::Fold(results.collect())]
    }

    /// What is tried next, or that the trunk moves.
    fn go_on(&mut self) -> Vec<Step> {
        if !self.recalled.is_empty() {
            let mut steps = self.ended();
            steps.extend(self.next());
            return steps;
        }
        let Some(round) = &mut self.round else { return Vec::new() };
        let up_to = round.fails.map_or(round.steps.len(), |fails| fails - 1);
        if round.well < up_to {
            let mid = if round.tries > 0 {
                round.trying
            } else if round.fails.is_none() {
                round.steps.len()
            } else {
                round.well + (up_to + 1 - round.well) / 2
            };
            round.trying = mid;
            return round.steps.get(mid - 1).cloned().map(Step::Try).into_iter().collect();
        }
        match round.well.checked_sub(1).and_then(|last| round.steps.get(last)) {
            Some(to) => vec![Step::Advance { from: round.trunk.clone(), to: to.clone() }],
            None => self.advanced(),
        }
    }
}

#[cfg(test)]
mod tests {
    use team_executor_core::TaskIndex;

    use super::*;

    fn member(slot: usize) -> Member {
        let task = TaskIndex(u32::try_from(slot).unwrap());
        let outcome = Outcome::completed(None);
        let work = Work { task, attempt: 1 };
        Member { slot, work, task: format!("T{slot}"), result: format!("r{slot}"), outcome }
    }

    /// Plays the rest of the program: those in `bad` break the tests. What joined in order, who is guilty, and how often the tests ran.
    fn play(queue: &mut Queue, first: Vec<Step>, bad: &[usize]) -> (Vec<usize>, Vec<usize>, usize) {
        let (mut joined, mut guilty, mut runs, mut folded) = (Vec::new(), Vec::new(), 0, Vec::new());
        let mut steps: VecDeque<Step> = first.into();
        while let Some(step) = steps.pop_front() {
            steps.extend(match step {
                Step::Fold(results) => {
                    folded = results.iter().map(|(task, _)| task[1..].parse::<usize>().unwrap()).collect();
                    let merged = (1..=folded.len()).map(|many| Ok(format!("c{many}"))).collect();
                    queue.folded("trunk".to_owned(), merged)
                }
                Step::Try(commit) => {
                    runs += 1;
                    let many: usize = commit[1..].parse().unwrap();
                    queue.tried(!folded[..many].iter().any(|slot| bad.contains(slot)))
                }
                Step::Advance { .. } => queue.advanced(),
                Step::Joined(member, _) => {
                    joined.push(member.slot);
                    Vec::new()
                }
                Step::Culprit(member) => {
                    guilty.push(member.slot);
                    Vec::new()
                }
                other => panic!("{other:?}"),
            });
        }
        (joined, guilty, runs)
    }

    fn queued(most: usize, tests: bool, many: usize) -> (Queue, Vec<Step>) {
        let mut queue = Queue::new(most, 0, tests);
        // Those that come while the first is merged wait for it.
        queue.waiting.extend((0..many).map(member));
        let first = queue.next();
        (queue, first)
    }

    #[test]
    fn culprit_of_a_batch_is_found_and_all_others_join() {
        for bad in 0..5 {
            let (mut queue, first) = queued(5, true, 5);
            let (joined, guilty, runs) = play(&mut queue, first, &[bad]);
            assert_eq!(guilty, [bad]);
            assert_eq!(joined, (0..5).filter(|slot| *slot != bad).collect::<Vec<_>>());
            assert!(runs <= 5, "{bad}: {runs} runs");
            assert!(queue.waiting.is_empty() && queue.batch.is_empty());
        }
        let (mut queue, first) = queued(5, true, 5);
        assert_eq!(play(&mut queue, first, &[0, 1, 2, 3, 4]).1, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn one_run_of_the_tests_is_enough_for_a_batch_that_is_well() {
        let (mut queue, first) = queued(5, true, 7);
        assert_eq!(play(&mut queue, first, &[]), ((0..7).collect(), vec![], 2));
        let (mut queue, first) = queued(5, false, 7);
        assert_eq!(play(&mut queue, first, &[]), ((0..7).collect(), vec![], 0), "without tests none is run");
    }

    #[test]
    fn flaky_failure_is_tried_again_before_it_counts() {
        let mut queue = Queue::new(5, 1, true);
        queue.add(member(0));
        assert_eq!(queue.folded("t".into(), vec![Ok("c1".into())]), [Step::Try("c1".into())]);
        assert_eq!(queue.tried(false), [Step::Try("c1".into())]);
        assert!(matches!(queue.tried(true)[..], [Step::Advance { .. }]));
        queue.advanced();
        queue.add(member(1));
        queue.folded("t".into(), vec![Ok("c1".into())]);
        queue.tried(false);
        assert!(matches!(queue.tried(false)[..], [Step::Culprit(_)]));
    }

    #[test]
    fn lost_tests_run_again_and_a_result_is_not_to_blame() {
        let mut queue = Queue::new(5, 0, true);
        queue.add(member(0));
        queue.folded("t".into(), vec![Ok("c1".into())]);
        for _ in 0..MOST_LOST {
            assert_eq!(queue.lost(), [Step::Try("c1".into())]);
        }
        assert!(matches!(queue.tried(true)[..], [Step::Advance { .. }]));
        queue.advanced();
        queue.add(member(1));
        queue.folded("t".into(), vec![Ok("c1".into())]);
        for _ in 0..MOST_LOST {
            queue.lost();
        }
        assert!(matches!(queue.lost()[..], [Step::Culprit(_)]), "tests that always end their keeper fail");
    }

    #[test]
    fn what_does_not_merge_drops_out_and_the_others_go_on() {
        let (mut queue, _) = queued(5, false, 2);
        let steps = queue.folded("t".into(), vec![Err(vec!["a".into()]), Ok("c".into())]);
        assert!(matches!(&steps[0], Step::Conflict(member, files) if member.slot == 0 && files[0] == "a"));
        assert!(matches!(&steps[1], Step::Advance { to, .. } if to == "c"));
        assert!(matches!(&queue.advanced()[..], [Step::Joined(member, _)] if member.slot == 1));
    }

    #[test]
    fn recalled_member_joins_nothing() {
        let (mut queue, _) = queued(2, true, 3);
        assert!(matches!(&queue.recall(2)[..], [Step::Void(member)] if member.slot == 2));
        queue.folded("t".into(), vec![Ok("c1".into()), Ok("c2".into())]);
        assert!(queue.recall(0).is_empty());
        let steps = queue.tried(true);
        assert!(matches!(&steps[0], Step::Void(member) if member.slot == 0));
        assert!(matches!(&steps[1], Step::Fold(results) if results.len() == 1 && results[0].0 == "T1"));
    }
}
