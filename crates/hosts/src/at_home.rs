//! From an errand to what a keeper on this host is given: the paths, the program and the environment of this machine.

use std::path::{Path, PathBuf};

use team_executor_agents::Assignment;
use team_executor_agents::environment::without_contract;
use team_executor_agents::token::{TOKEN, token};
use team_executor_beneath::make_ours;

use crate::link::Trouble;
use crate::places::Places;
use crate::taken::Taken;
use crate::wire::Errand;

/// What the names of our own variables begin with.
const OURS: &str = "TEAM_EXECUTOR_";

/// What a host is, to errands.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// Where the projects of runs are.
    pub(crate) runs: PathBuf,
    /// The ledgers of this host's keepers.
    pub(crate) ledgers: PathBuf,
    /// This program.
    pub(crate) exe: PathBuf,
    /// The environment of this program.
    pub(crate) environment: Vec<(String, String)>,
}

impl Home {
    /// The project of a run on this host.
    pub(crate) fn project(&self, run: &str) -> PathBuf {
        self.runs.join(team_executor_store::run_folder::component(run)).join("project")
    }

    fn places(&self, errand: &Errand, project: &Path) -> Places {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let [program, name] = errand.program.clone();
        let program = if name.is_empty() { None } else { Some((program, name)) };
        let ours = [
            (text(&errand.project), text(project)),
            (text(&errand.exe), text(&self.exe)),
            (text(&errand.ledgers), text(&self.ledgers)),
        ];
        Places::new(ours.into_iter().chain(program))
    }

    /// What this host notes of an errand; it must stay within the project.
    pub(crate) fn taken(&self, errand: &Errand) -> Result<Taken, Trouble> {
        let below = |path: &Path| below(&errand.project, path);
        let Assignment { key, artifacts, logs: [out, err], .. } = &errand.assignment;
        Ok(Taken {
            key: key.clone(),
            run: errand.run.clone(),
            project: self.project(&errand.run),
            artifacts: artifacts.as_deref().map(below).transpose()?,
            result: Some(below(&errand.result)?),
            logs: [below(out)?, below(err)?],
        })
    }

    /// What a keeper of this host is given.
    pub(crate) fn assignment(&self, errand: &Errand) -> Assignment {
        let project = self.project(&errand.run);
        let places = self.places(errand, &project);
        let Assignment { key, program, args, env, cwd, stdin, limits, logs, output_cap, .. } = &errand.assignment;
        let Assignment { artifacts, aside, leftover, adapter, .. } = &errand.assignment;
        let contract = env.iter().filter(|(name, _)| name.starts_with(OURS) && name != TOKEN);
        let mut own = without_contract(&self.environment, &errand.pass_env, &errand.env);
        own.extend(contract.map(|(name, value)| (name.clone(), places.text(value))));
        own.extend(token(key).map(|token| (TOKEN.to_owned(), token)));
        Assignment {
            key: key.clone(),
            program: places.text(program),
            args: args.iter().map(|arg| places.text(arg)).collect(),
            env: own,
            cwd: places.path(cwd),
            stdin: stdin.as_deref().map(|path| places.path(path)),
            limits: *limits,
            logs: [places.path(&logs[0]), places.path(&logs[1])],
            output_cap: *output_cap,
            artifacts: artifacts.as_deref().map(|path| places.path(path)),
            aside: places.path(aside),
            leftover: *leftover,
            adapter: *adapter,
            seat: None,
        }
    }

    /// The prompt, with the paths of this host.
    pub(crate) fn prompt(&self, errand: &Errand) -> String {
        self.places(errand, &self.project(&errand.run)).text(&errand.prompt)
    }

    /// Makes the folders that the files of an attempt are in.
    pub(crate) fn make_room(assignment: &Assignment, result: &Path) -> std::io::Result<()> {
        let Assignment { stdin, logs: [out, _], artifacts, aside, .. } = assignment;
        let files = [Some(out.as_path()), stdin.as_deref(), artifacts.as_deref(), Some(aside), Some(result)];
        files.into_iter().flatten().filter_map(Path::parent).try_for_each(|folder| make_ours(folder).map(drop))?;
        make_ours(&assignment.cwd).map(drop)
    }
}

/// A path below a folder, as text.
pub(crate) fn below(folder: &Path, path: &Path) -> Result<String, Trouble> {
    let below = path.strip_prefix(folder).ok().and_then(Path::to_str).filter(|path| !path.is_empty());
    let below = below.filter(|path| path.split('/').all(|part| !matches!(part, "" | "." | "..")));
    let outside = || Trouble(format!("{} is not below {}", path.display(), folder.display()));
    below.map(str::to_owned).ok_or_else(outside)
}

#[cfg(test)]
mod tests {
    use team_executor_agents::{Leftover, Limits};

    use super::*;
    use crate::parcel::Parcel;
    use crate::wire::PROTOCOL;

    fn errand() -> Errand {
        let env = [
            ("TEAM_EXECUTOR_RESULT", "/w/p/.x/EX/agents/A.1.result.json"),
            ("TEAM_EXECUTOR_TOKEN", "leader's"),
            ("PATH", "/leader/bin"),
        ];
        let assignment = Assignment {
            key: "EX~1/A/1".to_owned(),
            program: "/opt/te".to_owned(),
            args: vec!["__driver".to_owned(), r#"{"command":["/usr/bin/claude","--add-dir","/w/p"]}"#.to_owned()],
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            cwd: "/w/p".into(),
            stdin: Some("/w/p/.x/EX/agents/slot-0.prompt.md".into()),
            limits: Limits::default(),
            logs: ["/w/p/.x/EX/logs/A.1.out".into(), "/w/p/.x/EX/logs/A.1.err".into()],
            output_cap: 10,
            artifacts: Some("/w/p/.x/EX/artifacts/A".into()),
            aside: "/w/p/.x/EX/quarantine/A.0".into(),
            leftover: Leftover::Moves,
            adapter: None,
            seat: Some("/seat".into()),
        };
        Errand {
            protocol: PROTOCOL,
            run: "EX~1".to_owned(),
            assignment,
            prompt: "Write to /w/p/.x/EX/artifacts/A.".to_owned(),
            project: "/w/p".into(),
            exe: "/opt/te".into(),
            ledgers: "/w/p/.x/EX/.executor/keepers".into(),
            program: ["/usr/bin/claude".to_owned(), "claude".to_owned()],
            env: vec![("MODE".to_owned(), "x".to_owned())],
            pass_env: vec!["KEY_*".to_owned()],
            result: "/w/p/.x/EX/agents/A.1.result.json".into(),
            files: Parcel::default(),
        }
    }

    fn home() -> Home {
        let environment = [("PATH", "/host/bin"), ("KEY_1", "host's"), ("OTHER", "x"), ("TEAM_EXECUTOR_BACKEND", "y")];
        Home {
            runs: "/h/runs".into(),
            ledgers: "/h/keepers".into(),
            exe: "/usr/bin/te".into(),
            environment: environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        }
    }

    #[test]
    fn errand_has_the_paths_and_programs_of_its_host() {
        let (home, errand) = (home(), errand());
        let project = home.project("EX~1");
        let at = |path: &str| project.join(path);
        let assignment = home.assignment(&errand);
        assert_eq!(assignment.program, "/usr/bin/te");
        let told = format!(r#"{{"command":["claude","--add-dir","{}"]}}"#, project.display());
        assert_eq!(assignment.args, ["__driver".to_owned(), told]);
        assert_eq!((assignment.cwd, assignment.seat), (project.clone(), None));
        assert_eq!(assignment.artifacts, Some(at(".x/EX/artifacts/A")));
        assert_eq!(home.prompt(&errand), format!("Write to {}.", at(".x/EX/artifacts/A").display()));
        assert_eq!(home.taken(&errand).unwrap().result.as_deref(), Some(".x/EX/agents/A.1.result.json"));
    }

    #[test]
    fn environment_is_the_hosts_but_for_what_is_configured() {
        let assignment = home().assignment(&errand());
        let value =
            |name: &str| assignment.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        assert_eq!((value("PATH"), value("KEY_1"), value("MODE")), (Some("/host/bin"), Some("host's"), Some("x")));
        assert_eq!((value("OTHER"), value("TEAM_EXECUTOR_BACKEND")), (None, None));
        assert_ne!(value("TEAM_EXECUTOR_TOKEN"), Some("leader's"));
        let result = home().project("EX~1").join(".x/EX/agents/A.1.result.json");
        assert_eq!(value("TEAM_EXECUTOR_RESULT"), result.to_str());
    }

    #[test]
    fn errand_outside_of_its_project_is_refused() {
        for path in ["/w/other", "/w/p/../x", "/w/p", "x"] {
            let errand = Errand { result: path.into(), ..errand() };
            assert!(home().taken(&errand).is_err(), "{path}");
        }
    }
}
