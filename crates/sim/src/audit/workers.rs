//! The auditor's books about workers: which ones really ran, and whether they should have.

use std::collections::BTreeMap;

use crc32c::crc32c;
use team_executor_core::TaskStatus;
use team_executor_core::run::Work;
use team_executor_store::sim_disk::SimDisk;

use super::model::{demand, index};
use super::reader::{Record, task};
use super::{Auditor, Truth, Verdict};
use crate::worker::{End, Script};

/// What is known of the workers of one task.
#[derive(Debug, Default)]
pub(super) struct Starts {
    last: u32,
    count: u32,
    /// Ends that spend nothing: refusals for want of quota or login, and workers that were ended on purpose.
    free: u32,
}

/// Something of a worker that is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alive {
    /// What it holds.
    pub work: Work,
    /// The incarnation that started it.
    pub incarnation: u64,
}

impl Auditor<'_> {
    /// A worker may start now, or what it left be checked again.
    pub fn begins(&mut self, executor: &SimDisk, work: Work) -> Verdict {
        self.look(executor)?;
        let Work { task, attempt } = work;
        let (task, name) = (task.get(), task.0);
        demand!(task < self.starts.len(), "a worker for a task that there is not");
        let written = &self.written.model.tasks[task];
        let claimed = written.status == TaskStatus::InProgress && written.attempt == attempt;
        demand!(claimed, "I2, I8: attempt {attempt} at T{name} starts and is not claimed");
        let durable = &self.durable.model;
        let own = &durable.tasks[task];
        let claimed = own.status == TaskStatus::InProgress && own.attempt == attempt;
        demand!(claimed || own.intended == attempt, "I8: attempt {attempt} at T{name} starts and is not durable");
        demand!(durable.admits(task) == Some(true), "I9: T{name} starts before what it needs is durable");
        let facts = &self.facts.tasks[task];
        let early = (0..self.starts.len()).find(|other| {
            self.facts.waves && self.facts.tasks[*other].wave < facts.wave && !durable.tasks[*other].status.is_over()
        });
        demand!(early.is_none(), "I9: T{name} starts before T{}, of an earlier wave, is durable", early.unwrap_or(0));
        Ok(())
    }

    /// A worker starts now, while these are alive.
    pub fn started(&mut self, executor: &SimDisk, started: Alive, alive: &[Alive]) -> Verdict {
        self.begins(executor, started.work)?;
        let Work { task, attempt } = started.work;
        let (task, name) = (task.get(), task.0);
        let facts = &self.facts.tasks[task];
        for other in alive {
            demand!(other.work.task != started.work.task, "I3: T{name} has two workers");
            demand!(other.incarnation == started.incarnation, "I4: a worker of an earlier executor is alive");
            let shared = self.facts.share_a_worker(task, other.work.task.get());
            demand!(!shared, "I3: T{name} and T{} share a resident worker", other.work.task.0);
        }
        demand!(alive.len() < self.written.model.most, "I3: more workers than slots");
        let starts = &mut self.starts[task];
        demand!(attempt > starts.last, "I8: attempt {attempt} at T{name} starts after attempt {}", starts.last);
        (starts.last, starts.count) = (attempt, starts.count + 1);
        let (count, free) = (starts.count, starts.free);
        if !self.scenario.weather.requests {
            let own = &self.written.model.tasks[task];
            let once = 1 + facts.retries + self.facts.interruptions + facts.rounds;
            let most = once * (1 + own.returns) + free + self.power_cuts;
            demand!(count <= most, "I8: T{name} is started {count} times, at most {most} are allowed");
        }
        Ok(())
    }

    /// A worker has ended, or could not start.
    pub fn ended(&mut self, work: Work, end: End) {
        let (says, used) = (Script::draw(self.scenario, work).says, end.used(self.scenario, work));
        self.truth.insert(work, Truth { end, says, used });
        if let Some(starts) = self.starts.get_mut(work.task.get()) {
            starts.free += u32::from(matches!(end, End::Quota | End::Auth));
        }
    }

    /// What a task delivered before is checked again, without a worker.
    pub fn checked_again(&mut self, work: Work) {
        let says = Script::draw(self.scenario, work).says;
        self.truth.insert(work, Truth { end: End::Completed, says, used: None });
    }

    /// A worker was ended on purpose.
    pub fn ended_on_purpose(&mut self, work: Work) {
        if let Some(starts) = self.starts.get_mut(work.task.get()) {
            starts.free += 1;
        }
    }

    /// A worker is told to end. Where the disk is full, those that run are let finish, unless what they do is void.
    pub fn spared(&self) -> Verdict {
        let model = &self.written.model;
        let is_cancelled = model.running().any(|task| model.tasks[task].cancelled.is_some());
        demand!(
            !model.is_full || !model.recalled.is_empty() || is_cancelled,
            "I12: the disk is full, and a worker is ended"
        );
        Ok(())
    }

    /// A new executor is about to decide what became of the workers of earlier ones, of which these are alive.
    pub fn before_recovery(&mut self, ledgers: &SimDisk, alive: &[Alive]) -> Verdict {
        demand!(alive.is_empty(), "I4: {} workers of earlier executors are alive", alive.len());
        let ends = ends(ledgers);
        let works = self.written.model.running().map(|task| {
            let attempt = self.written.model.tasks[task].attempt;
            Work { task: index(task), attempt }
        });
        let works = works.filter(|work| self.written.model.tasks[work.task.get()].cancelled.is_none());
        let returns = |work: Work| self.written.model.tasks[work.task.get()].returns;
        let ended = works.filter_map(|work| ends.get(&work).map(|end| (work, *end, returns(work))));
        self.expected = ended.filter(|(_, end, _)| *end != End::Interrupted).collect();
        Ok(())
    }

    /// It has decided.
    pub fn recovered(&mut self, executor: &SimDisk) -> Verdict {
        self.settled(executor, "recovered")?;
        for (work, end, returns) in std::mem::take(&mut self.expected) {
            let (task, name) = (work.task.get(), work.task.0);
            let status = self.durable.model.tasks[task].status;
            let says = Script::draw(self.scenario, work).says;
            let returned = self.durable.model.tasks[task].returns > returns;
            let kept = match end {
                // It is being checked, was found wanting, or has been sent back since.
                End::Completed if says.checked.is_some() => status != TaskStatus::Pending || returned,
                End::Completed => status == TaskStatus::Completed || returned,
                // It has counted: a record about it says so.
                _ => self.durable.model.tasks[task].counted.contains(&work.attempt) || returned,
            };
            demand!(kept, "I2: T{name}, attempt {}, had ended with {}, and is {status}", work.attempt, end.word());
        }
        Ok(())
    }
}

/// The attempts that ended by what all ledgers say in whole lines.
fn ends(ledgers: &SimDisk) -> BTreeMap<Work, End> {
    let mut found = BTreeMap::new();
    for name in ledgers.names() {
        ledgers.peek(&name, |cached, _| {
            let lines = cached.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
            found.extend(lines.filter_map(end_of));
        });
    }
    found
}

/// What a line of a ledger says, if its checksum is right and it is about an end.
fn end_of(line: &str) -> Option<(Work, End)> {
    let (body, checksum) = line.strip_suffix("\"}")?.split_once(",\"checksum\":\"")?;
    let right = u32::from_str_radix(checksum, 16).ok()? == crc32c(body.as_bytes());
    let record = Record(body);
    let mut key = record.text("key")?.rsplit('/');
    let attempt = key.next()?.parse().ok()?;
    let task = index(task(key.next()?)?);
    let end = match record.number("exit") {
        _ if !right || !["{\"exited\"", "{\"ended\""].iter().any(|kind| body.starts_with(kind)) => return None,
        Some(code) => {
            let codes = [End::Completed, End::Transient, End::Quota, End::Fatal, End::Auth];
            codes.get(usize::try_from(code).ok()?).copied()?
        }
        None if body.contains("\"limit\"") => End::TimedOut,
        None if body.contains("\"lack\":\"means\"") => End::Shortage,
        None if body.contains("\"could_not_start\"") => End::CouldNotStart,
        None => End::Interrupted,
    };
    Some((Work { task, attempt }, end))
}
