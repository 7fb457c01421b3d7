//! What a record may say, by the auditor's own model of a run: judged before it is applied.

use std::collections::BTreeMap;

use team_executor_core::TaskStatus;
use team_executor_core::run::{WaveFailed, Work};

use super::Truth;
use super::model::{Model, Stage, TaskModel, attempt, choice, demand, index};
use super::reader::Record;
use crate::worker::End;

impl Model {
    /// Whether a record may come next; `truth` is how the workers really ended.
    pub(crate) fn judge(&self, record: Record<'_>, truth: &BTreeMap<Work, Truth>) -> Result<(), String> {
        let kind = record.text("type").unwrap_or_default();
        match kind {
            "plan" => return Ok(()),
            "began" => demand!(self.stage == Stage::NotBegun, "I5: the run begins twice"),
            "finished" => {
                demand!(self.all_over(), "I12: the run is finished and a task is not over");
                demand!(
                    !self.asks() && self.recalled.is_empty(),
                    "I12: the run is finished, and a person had to be asked"
                );
            }
            "resumed" => demand!(self.open.is_empty(), "I15: it goes on, and {:?} are to be judged", self.open),
            "halted" => return self.judge_halt(record),
            "used" => return Ok(()),
            "added" => {
                let tasks = record.tasks();
                let new = tasks.iter().all(|(task, _)| self.tasks.get(*task).is_some_and(|task| task.absent));
                demand!(new && !tasks.is_empty(), "I19: what is there is added again: {}", record.0);
                demand!(self.stage != Stage::Finished, "I19: a finished run grows: {}", record.0);
            }
            "replanned" => self.judge_plan(record)?,
            "assigned" => {
                let there = |(task, _): &(usize, u32)| self.tasks.get(*task).is_some_and(|task| !task.absent);
                let tasks = record.tasks();
                demand!(!tasks.is_empty() && tasks.iter().all(there), "I20: nothing is given away: {}", record.0);
            }
            "limited" => {
                demand!(record.number("most") != Some(0), "I12: nothing may start any more: {}", record.0);
                demand!(self.stage != Stage::Finished, "a finished run is limited: {}", record.0);
            }
            "returned" => self.judge_return(record)?,
            "decided" => self.judge_decision(record)?,
            "wave_merged" => self.judge_merge(record)?,
            _ => {}
        }
        let Some(task) = record.task("task") else { return Ok(()) };
        demand!(task < self.tasks.len(), "a task that there is not: {}", record.0);
        let at = record.number("at").unwrap_or(i64::MIN).max(self.clock);
        match kind {
            "claimed" => self.judge_claim(task, record, at),
            "skipped" => self.judge_skip(task, record),
            "cancelled" => {
                let own = &self.tasks[task];
                let runs = own.status == TaskStatus::InProgress && own.attempt == attempt(record);
                demand!(runs, "I5: an attempt is cancelled that does not run: {}", record.0);
                Ok(())
            }
            _ => self.judge_end(kind, task, record, truth),
        }
    }

    /// Only what no one has tried may be planned in another way.
    fn judge_plan(&self, record: Record<'_>) -> Result<(), String> {
        demand!(self.stage != Stage::Finished, "I21: the plan of a finished run is changed: {}", record.0);
        let Some((needs, gone)) = self.replanned(record) else {
            return Err(format!("I21: no one planned that: {}", record.0));
        };
        let said: Vec<usize> = record.list("changed").into_iter().map(|(task, _)| task).collect();
        for (task, own) in self.tasks.iter().enumerate() {
            let goes = gone[task] && !own.absent;
            let differs = needs[task] != self.needs[task] && !gone[task];
            demand!(
                !differs || said.contains(&task),
                "I21: T{task} waits for others, and no one says so: {}",
                record.0
            );
            let is_untouched = own.status == TaskStatus::Pending && own.attempt == 0;
            let is_there = !differs || !own.absent;
            demand!(!(differs || goes) || is_untouched && is_there, "I21: T{task} has begun: {}", record.0);
        }
        Ok(())
    }

    fn judge_merge(&self, record: Record<'_>) -> Result<(), String> {
        let wave = self.merged + 1;
        demand!(record.number("wave") == Some(i64::from(wave)), "a wave is left out: {}", record.0);
        let of_wave = |(task, _): &(usize, &TaskModel)| self.facts.tasks[*task].wave == wave;
        let tasks: Vec<_> = self.tasks.iter().enumerate().filter(of_wave).map(|(_, task)| task).collect();
        demand!(tasks.iter().all(|task| task.status.is_over()), "wave {wave} is merged too early");
        let failed = tasks.iter().any(|task| task.status == TaskStatus::Failed && task.attempt > 0);
        let all_failed = failed && tasks.iter().all(|task| task.status != TaskStatus::Completed);
        let then = match self.facts.wave_failed {
            WaveFailed::Ask if all_failed => "ask",
            WaveFailed::Abort if all_failed && !self.all_over() => "abort",
            _ => "go_on",
        };
        demand!(record.text("then") == Some(then), "after wave {wave} it must {then}: {}", record.0);
        Ok(())
    }

    fn judge_claim(&self, task: usize, record: Record<'_>, at: i64) -> Result<(), String> {
        let slot = record.number("slot").unwrap_or(-1);
        let own = &self.tasks[task];
        demand!(own.status != TaskStatus::Completed, "I2: a completed task is claimed: {}", record.0);
        demand!(self.admits(task) == Some(true), "I9: claimed before what it needs: {}", record.0);
        demand!(self.has_room() && self.can_start(task, at), "claimed although it cannot start: {}", record.0);
        demand!(attempt(record) > own.attempt, "I8: attempt {} after {}", attempt(record), own.attempt);
        demand!(self.choice(task, at) == Some(choice(record)), "I20: T{task} is done by the wrong agent: {}", record.0);
        demand!(self.running().all(|other| self.tasks[other].slot != slot), "two tasks in slot {slot}");
        let better = |other: &usize| self.facts.order(*other) < self.facts.order(task);
        let passed = (0..self.tasks.len()).filter(better).find(|other| self.can_start(*other, self.settled));
        demand!(passed.is_none(), "T{task} starts before T{}, which comes first", passed.unwrap_or(0));
        Ok(())
    }

    fn judge_skip(&self, task: usize, record: Record<'_>) -> Result<(), String> {
        demand!(self.tasks[task].status == TaskStatus::Pending, "skipped and not pending: {}", record.0);
        let by_rule = record.text("person").is_none();
        if record.value("switched_off").or(record.value("too_simple")).is_some() {
            let right = self.admits(task) == Some(true) && self.is_needless(task);
            demand!(right, "I9: said not to be needed, and it is: {}", record.0);
            return Ok(());
        }
        demand!(!by_rule || self.tasks[task].cancelled.is_none(), "I17: a person wants it skipped: {}", record.0);
        demand!(!by_rule || self.admits(task) == Some(false), "skipped without a reason: {}", record.0);
        for (key, status) in [("dependency_failed", TaskStatus::Failed), ("dependency_skipped", TaskStatus::Skipped)] {
            let Some(on) = record.task(key) else { continue };
            let right = self.needs[task].contains(&on) && self.tasks[on].status == status;
            demand!(right, "skipped for a wrong reason: {}", record.0);
        }
        Ok(())
    }

    fn judge_end(
        &self,
        kind: &str,
        task: usize,
        record: Record<'_>,
        truth: &BTreeMap<Work, Truth>,
    ) -> Result<(), String> {
        let own = &self.tasks[task];
        let work = Work { task: index(task), attempt: attempt(record) };
        let runs = own.status == TaskStatus::InProgress && own.attempt == work.attempt;
        demand!(runs, "I5: an attempt ends that does not run: {}", record.0);
        let really = truth.get(&work);
        let says = really.map(|really| really.says).unwrap_or_default();
        let class = match really.map(|really| really.end) {
            Some(End::Completed) if says.checked == Some(false) => "rejected",
            Some(End::Completed) => "completed",
            Some(End::Transient | End::TimedOut | End::CouldNotStart) => "transient",
            Some(End::Shortage) if self.running().count() > 1 || self.stage != Stage::Going => "shortage",
            Some(End::Shortage) => "transient",
            Some(End::Quota) => "quota",
            Some(End::Auth) => "auth",
            Some(End::Fatal) => "fatal",
            // What was about to start when the disk was full is taken back.
            None if self.is_full || self.stage == Stage::Stopping => "shortage",
            Some(End::Interrupted) | None => "interrupted",
        };
        if let Some(then) = &own.cancelled {
            let (kinds, class) = if then == "fail" { ("failed", Some("fatal")) } else { ("interrupted", None) };
            let again = record.number("again").is_some();
            let right = (kind, record.text("class"), again) == (kinds, class, then != "fail");
            demand!(right, "I17: T{task} was to {then} when its worker had ended: {}", record.0);
            return Ok(());
        }
        let said = if kind == "failed" { record.text("class").unwrap_or_default() } else { kind };
        demand!(said == "interrupted" || said == class, "I1: said {said}, it really was {class}: {}", record.0);
        if said == "completed" {
            self.judge_judgement(task, says, record)?;
        }
        self.judge_then(task, said, record)
    }

    /// Whether there is another attempt, and when.
    fn judge_then(&self, task: usize, said: &str, record: Record<'_>) -> Result<(), String> {
        let (own, facts) = (&self.tasks[task], &self.facts.tasks[task]);
        let at = record.number("at").unwrap_or(0);
        let times = match said {
            "completed" => return Ok(()),
            "interrupted" if self.stage == Stage::Stopping || !self.recalled.is_empty() => Some(0),
            "interrupted" if own.interruptions < self.facts.interruptions => Some(0),
            "rejected" if own.rounds < facts.rounds => Some(0),
            "shortage" | "auth" => Some(0),
            "transient" if own.failures < facts.retries => Some(own.failures + 1),
            "quota" => Some(own.refusals + 1),
            _ => None,
        };
        let again = record.number("again");
        demand!(times.is_some() == again.is_some(), "I8: wrong about another attempt: {}", record.0);
        let (Some(times), Some(again)) = (times, again) else { return Ok(()) };
        let (least, most) = if times == 0 { (0, 0) } else { self.facts.wait(times) };
        let wanted = self.wanted(task);
        let others = wanted.iter().map(|(_, quota)| quota);
        let others = others.filter(|quota| said == "quota" && **quota != self.quota(task));
        // Where another agent can do the task, only the quota waits.
        let waits = if others.into_iter().any(|quota| self.is_usable(*quota, at)) {
            demand!(again == at, "another agent could do it at once: {}", record.0);
            record.number("until").unwrap_or(i64::MIN)
        } else {
            again
        };
        demand!((least..=most).contains(&waits.saturating_sub(at)), "not {least} to {most} are waited: {}", record.0);
        Ok(())
    }
}
