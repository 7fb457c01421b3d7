//! An agent that a person gives tasks to while their run goes on: who that is, and whether it may and can do them.

use team_executor_core::run::Assignment;
use team_executor_core::{Session, TaskIndex};
use team_executor_engine::{Hire, Worker, Workers};
use team_executor_files::{Code, Finding};

use super::choose::{self, Program};
use super::{Config, Flags, check};
use crate::environment::Place;
use crate::error::Error;

/// With what a run was started, and to what the user agreed then.
pub(crate) struct Hiring {
    pub(crate) place: Place,
    pub(crate) flags: Flags,
    pub(crate) agreed: Vec<Program>,
    /// The project's file may choose programs.
    pub(crate) trusts: bool,
}

/// The workers of tasks, one for each, and what they will run.
pub(crate) struct Hired {
    workers: Workers,
    programs: Vec<Program>,
    config: Config,
}

impl Hiring {
    /// Where a run finds the workers that a person chooses while it goes on.
    pub(crate) fn into_hire(self) -> Hire {
        Hire::new(move |session, tasks, to| self.workers(session, tasks, to).map_err(|why| in_a_line(&why)))
    }

    fn workers(&self, session: &Session, tasks: &[TaskIndex], to: &Assignment) -> Result<Vec<Worker>, Error> {
        let mut hired = Hired::find(&self.place, &self.flags, session, tasks, to)?;
        let is_new = |program: &&Program| !self.agreed.contains(program);
        hired.must_be_trusted(is_new, self.trusts)?;
        check::programs_exist(&mut hired.workers, &self.place)?;
        check::name_programs(&mut hired.workers, &self.place);
        Ok((0..).map(TaskIndex).take(tasks.len()).filter_map(|nth| hired.workers.first(nth).cloned()).collect())
    }
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

    /// Whether what will be run was chosen by the user alone.
    pub(crate) fn is_users(&self) -> bool {
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
fn in_a_line(why: &Error) -> String {
    match why {
        Error::Refused(finding, _) => {
            let helps = finding.help.iter().map(|help| format!("; {help}"));
            std::iter::once(finding.message.clone()).chain(helps).collect()
        }
        Error::Files(_) => "the configuration has errors; `team-executor config` shows them".to_owned(),
    }
}
