//! An agent that a person gives tasks to while their run goes on: who that is, and whether it may and can do them.

use team_executor_core::run::Assignment;
use team_executor_core::{Session, TaskIndex};
use team_executor_engine::{Worker, Workers};
use team_executor_files::{Code, Finding};

use super::choose::{self, Program};
use super::{Config, Flags, check};
use crate::environment::Place;
use crate::error::Error;

/// The workers of tasks, one for each, and what they will run.
pub(crate) struct Hired {
    workers: Workers,
    programs: Vec<Program>,
    config: Config,
}

impl Hired {
    /// The workers that the configuration says now.
    pub(crate) fn find(
        place: &Place,
        flags: &Flags,
        session: &Session,
        tasks: &[TaskIndex],
        to: &Assignment,
    ) -> Result<Self, Error> {
        let config = place.config()?;
        let chosen = choose::given(&config, flags, session, place.app.exe()?, (tasks, to))?;
        Ok(Self { workers: chosen.workers, programs: chosen.programs, config })
    }

    /// The workers, one for each task, with the programs that are there. None is started for that.
    pub(crate) fn into_workers(mut self, tasks: usize, place: &Place) -> Result<Vec<Worker>, Error> {
        check::programs_exist(&mut self.workers, place)?;
        check::name_programs(&mut self.workers, place);
        Ok((0..).map(TaskIndex).take(tasks).filter_map(|nth| self.workers.first(nth).cloned()).collect())
    }

    /// Whether what will be run was chosen by the user alone.
    fn is_users(&self) -> bool {
        self.programs.iter().all(|program| program.by_project.is_none())
    }

    /// Whether the programs are there and new enough, which starts them.
    pub(crate) fn must_be_usable(&mut self, place: &Place) -> Result<(), Error> {
        check::programs_exist(&mut self.workers, place)?;
        if self.is_users() {
            check::agents_are_new_enough(&mut self.workers, place)?;
        }
        Ok(())
    }

    /// Refuses programs that the project's file chose, unless the user agreed to them or trusts it.
    pub(crate) fn must_be_trusted(&self, is_new: impl Fn(&&Program) -> bool, trusts: bool) -> Result<(), Error> {
        let chosen = self.programs.iter().filter(is_new).find_map(|it| Some((it, it.by_project.as_ref()?)));
        let Some((program, spot)) = chosen.filter(|_| !trusts && !self.config.trusts_project()) else { return Ok(()) };
        let message = format!(
            "{}:{} came with the project and chooses what is run: {}; you have not agreed to that",
            spot.file, spot.line, program.command
        );
        let project = self.config.project.display();
        let help = format!("trusted_projects = [\"{project}\"] in [defaults] of your own configuration file trusts it");
        let finding = Finding::error(Code::Usage, message).help(help);
        Err(finding.help("or stop the run, and resume it with --trust-project").into())
    }
}

/// Why not and what to do, for the answer to a request.
pub(crate) fn in_a_line(why: &Error) -> String {
    match why {
        Error::Refused(finding, _) => {
            let helps = finding.help.iter().map(|help| format!("; {help}"));
            std::iter::once(finding.message.clone()).chain(helps).collect()
        }
        Error::Files(_) => "the configuration has errors; `team-executor config` shows them".to_owned(),
    }
}
