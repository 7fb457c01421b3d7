//! `wave-N.csv`: what the one-shot tasks of a wave are given, for people and agents. It is there from the first start of a
//! task of the wave until the wave is merged. Nothing is ever read back from it: outcomes come from the workers themselves.

use team_executor_core::run::Run;
use team_executor_core::{ExecMode, Graph, Session, TaskIndex};
use team_executor_files::tasks_csv::write_wave;
use team_executor_store::{Disk, DiskError, Durability, ReplaceError, remove};

use super::put::put;
use super::state::refresh_task;

/// The tables of the waves.
#[derive(Debug, Default)]
pub(super) struct Waves {
    /// The one-shot tasks of each wave, from the first.
    tasks: Vec<Vec<TaskIndex>>,
    /// The wave whose table is there.
    there: Option<u32>,
}

impl Waves {
    /// The tables of a session that is run wave by wave.
    pub(super) fn plan(session: &Session, graph: &Graph) -> Self {
        let mut tasks = vec![Vec::new(); graph.wave_count() as usize];
        for (index, task) in (0..).map(TaskIndex).zip(&session.tasks) {
            if task.exec_mode == ExecMode::CsvWave
                && let Some(wave) = tasks.get_mut(graph.wave(index) as usize - 1)
            {
                wave.push(index);
            }
        }
        Self { tasks, there: None }
    }

    /// There are more tasks.
    pub(super) fn grow(&mut self, session: &Session, graph: &Graph) {
        self.tasks = Self::plan(session, graph).tasks;
    }

    /// Writes the table of a wave, if it is not there; that of an earlier one goes.
    pub(super) fn begins<D: Disk>(
        &mut self,
        disk: &D,
        session: &mut Session,
        graph: &Graph,
        rules: &Run,
        wave: u32,
    ) -> Result<(), ReplaceError> {
        let Some(tasks) = self.tasks.get(wave as usize - 1).filter(|tasks| !tasks.is_empty()) else { return Ok(()) };
        if self.there == Some(wave) {
            return Ok(());
        }
        let context = tasks.iter().filter_map(|task| session.tasks.get(task.get()));
        let context = context.flat_map(|task| &task.context_from).filter_map(|id| graph.index_of(id.as_str()));
        let shown: Vec<_> = tasks.iter().copied().chain(context).collect();
        for index in shown {
            if let Some(task) = session.tasks.get_mut(index.get()) {
                refresh_task(task, index, rules);
            }
        }
        let text = write_wave(session, graph, tasks);
        self.remove(disk)?;
        put(disk, &name(wave), &text, Durability::Rendered)?;
        self.there = Some(wave);
        Ok(())
    }

    /// A wave is merged, or the run stops: its table goes.
    pub(super) fn remove<D: Disk>(&mut self, disk: &D) -> Result<(), ReplaceError> {
        Ok(self.there.take().map_or(Ok(()), |wave| remove(disk, &name(wave)))?)
    }
}

/// Removes what a run that was killed left behind.
pub(super) fn clean<D: Disk>(disk: &D) -> Result<(), ReplaceError> {
    let names = disk.list().map_err(|errno| DiskError { action: "list", name: "the run".to_owned(), errno })?;
    Ok(names.iter().filter(|name| is_table(name)).try_for_each(|name| remove(disk, name))?)
}

fn name(wave: u32) -> String {
    format!("wave-{wave}.csv")
}

fn is_table(name: &str) -> bool {
    let number = name.strip_prefix("wave-").and_then(|rest| rest.strip_suffix(".csv"));
    number.is_some_and(|number| number.parse::<u32>().is_ok_and(|wave| wave > 0 && wave.to_string() == number))
}
