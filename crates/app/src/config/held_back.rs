//! Variables that are set here, that a program seems to want, and that workers are not given. Said only with a reason: the
//! command, its script or what is known of the program names the variable.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use team_executor_agents::adapters::Adapter;
use team_executor_agents::environment::{is_ours, passes};
use team_executor_beneath::ours;
use team_executor_engine::{Worker, Workers};

use crate::environment::Place;
use crate::remark::Remark;

/// How much of a script is read.
const SCRIPT_BYTES: u64 = 256 << 10;

/// What programs are known to want; a star stands for any end.
const WANTED: &[(&[&str], &[&str])] = &[
    (&["git", "ssh", "scp", "rsync", "sftp"], &["SSH_AUTH_SOCK", "GIT_SSH_COMMAND"]),
    (&["gh"], &["GH_TOKEN", "GITHUB_TOKEN"]),
    (&["glab"], &["GITLAB_TOKEN"]),
    (&["aws", "sam", "cdk"], &["AWS_*"]),
    (&["terraform", "tofu"], &["AWS_*", "TF_*"]),
    (&["gcloud", "gsutil", "bq"], &["CLOUDSDK_*", "GOOGLE_APPLICATION_CREDENTIALS"]),
    (&["az"], &["AZURE_*"]),
    (&["kubectl", "helm"], &["KUBECONFIG"]),
    (&["docker", "docker-compose"], &["DOCKER_*"]),
    (&["podman"], &["CONTAINER_HOST"]),
    (&["uv", "poetry", "pip", "pip3"], &["VIRTUAL_ENV"]),
    (&["python", "python3", "pytest"], &["PYTHONPATH"]),
    (&["conda", "mamba"], &["CONDA_*"]),
    (&["cargo", "rustup"], &["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"]),
    (&["go"], &["GOPATH", "GOROOT", "GOPRIVATE", "GOPROXY"]),
    (&["java", "mvn", "gradle"], &["JAVA_HOME"]),
    (&["npm", "npx", "pnpm", "yarn"], &["NPM_TOKEN", "NODE_AUTH_TOKEN"]),
    (&["claude"], &["ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"]),
    (&["codex"], &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"]),
    (&["gemini"], &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_*", "GOOGLE_APPLICATION_CREDENTIALS"]),
    (&["qwen"], &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"]),
    (&["opencode", "aider", "goose"], &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"]),
];

/// What a shell sets itself, or what says nothing about work.
const OF_SHELL: [&str; 14] = [
    "_", "COLUMNS", "EUID", "HOSTNAME", "IFS", "LINENO", "LINES", "OLDPWD", "PPID", "PS1", "PWD", "RANDOM", "SHLVL",
    "UID",
];

/// Variables that are held back, and who wants them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// Their names.
    pub variables: Vec<String>,
    /// The program or script that wants them.
    pub wanted_by: String,
}

impl HeldBack {
    /// For people, with what can be done.
    pub fn words(&self) -> String {
        let flags: Vec<String> = self.variables.iter().map(|name| format!("--pass-env {name}")).collect();
        let (are, them) = if self.variables.len() == 1 { ("is", "it") } else { ("are", "them") };
        let names = self.variables.join(", ");
        format!(
            "{names} {are} set here and not passed to workers; {} uses {them}: add {}",
            self.wanted_by,
            flags.join(" ")
        )
    }
}

/// What is held back from workers, for people.
pub(crate) fn remarks(workers: &Workers, place: &Place) -> Vec<Remark> {
    find(workers, place).into_iter().map(|one| Remark::Note(one.words())).collect()
}

/// What is held back from workers.
pub(crate) fn find(workers: &Workers, place: &Place) -> Vec<HeldBack> {
    let variables = place.app.variables();
    let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for worker in workers.iter() {
        let is_held = |name: &&str| {
            let is_set = worker.env.iter().any(|(set, _)| set == name);
            !(is_set || is_ours(name) || OF_SHELL.contains(name) || passes(name, &worker.pass_env))
        };
        let held: Vec<&str> = names.iter().copied().filter(is_held).collect();
        for (by, name) in wanted(worker, &held, &place.project) {
            found.entry(by).or_default().insert(name.to_owned());
        }
    }
    let mut told = BTreeSet::new();
    let one = |(wanted_by, names): (String, BTreeSet<String>)| {
        let variables: Vec<String> = names.into_iter().filter(|name| told.insert(name.clone())).collect();
        (!variables.is_empty()).then_some(HeldBack { variables, wanted_by })
    };
    found.into_iter().filter_map(one).collect()
}

/// Of some variables those that a worker wants, each with who wants it.
fn wanted<'n>(worker: &Worker, held: &[&'n str], project: &Path) -> Vec<(String, &'n str)> {
    let Some(setup) = &worker.setup else { return of_command(&worker.command, held, project) };
    let is_set = |name: &str| worker.env.iter().any(|(set, value)| set == name && !value.is_empty());
    let patterns: &[&str] = match setup.adapter {
        Adapter::Claude if is_set("CLAUDE_CODE_USE_BEDROCK") => &["AWS_*"],
        Adapter::Claude if is_set("CLAUDE_CODE_USE_VERTEX") => {
            &["GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"]
        }
        Adapter::Acp => known(&worker.typed),
        Adapter::Claude | Adapter::Codex | Adapter::Gemini => &[],
    };
    let by = format!("`{}`", worker.typed);
    held.iter().filter(|name| is_among(name, patterns)).map(|name| (by.clone(), *name)).collect()
}

/// The same of a command: it, the programs that it starts, and its scripts are looked at.
fn of_command<'n>(command: &[String], held: &[&'n str], project: &Path) -> Vec<(String, &'n str)> {
    let text = command.join(" ");
    let mut found = of_text(&text, "the command", held);
    for word in words(&text).filter(|word| !word.contains("..")) {
        let path = project.join(word);
        let has_ending = [".sh", ".py", ".js", ".ts", ".rb", ".pl"].iter().any(|ending| word.ends_with(ending));
        if !(word.contains('/') || has_ending) || !path.starts_with(project) {
            continue;
        }
        let Ok(bytes) = ours::read_chosen(&path, SCRIPT_BYTES) else { continue };
        if let Ok(script) = String::from_utf8(bytes) {
            found.extend(of_text(&script, &format!("`{word}`"), held));
        }
    }
    found
}

/// The variables that a text names, or that programs want which it starts.
fn of_text<'n>(text: &str, by: &str, held: &[&'n str]) -> Vec<(String, &'n str)> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let names = |line: &str, name: &str| {
        let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        let follows = |before: &str| {
            line.match_indices(before).any(|(at, _)| line[at + before.len()..].strip_prefix(name).is_some_and(is_end))
        };
        let asks = ["environ", "getenv", "process.env", "ENV["].iter().any(|word| line.contains(word));
        follows("$") || follows("${") || asks && ["'", "\"", "."].into_iter().any(follows)
    };
    let is_own = |name: &str| lines().any(|line| line.trim_start_matches("export ").starts_with(&format!("{name}=")));
    let mut found: Vec<(String, &str)> = Vec::new();
    for name in held {
        if lines().any(|line| names(line, name)) && !is_own(name) {
            found.push((by.to_owned(), name));
        }
    }
    // A program is started by the first word of a command.
    let starts = lines().flat_map(|line| line.split(['|', ';', '&', '(', '`'])).filter_map(|part| words(part).next());
    for program in starts.collect::<BTreeSet<_>>() {
        let patterns = known(program);
        let of_program = held.iter().filter(|name| is_among(name, patterns));
        found.extend(of_program.map(|name| (format!("`{}`", file_name(program)), *name)));
    }
    found
}

/// The words of a command, without assignments, shells and what runs others.
fn words(text: &str) -> impl Iterator<Item = &str> {
    const BEFORE: [&str; 14] =
        ["sh", "bash", "env", "exec", "sudo", "time", "timeout", "nice", "-c", "if", "then", "do", "while", "!"];
    let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'', '{', '}', ')']));
    words.filter(|word| !word.is_empty() && !word.contains('=') && !BEFORE.contains(&file_name(word)))
}

fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What a program is known to want.
fn known(program: &str) -> &'static [&'static str] {
    let name = file_name(program);
    WANTED.iter().find(|(programs, _)| programs.contains(&name)).map_or(&[], |(_, patterns)| patterns)
}

fn is_among(name: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| pattern.strip_suffix('*').map_or(*pattern == name, |begin| name.starts_with(begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str, held: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("work.sh"), "#!/bin/sh\n# $HIDDEN\nOWN=1\necho $OWN ${API_URL}\ngh pr list\n")
            .unwrap();
        std::fs::write(dir.path().join("work.py"), "import os\nkey = os.environ[\"MY_KEY\"]\nprint('MY_OTHER')\n")
            .unwrap();
        let words = super::super::command::words(command);
        let found = of_command(&words, held, dir.path());
        found.into_iter().map(|(by, name)| format!("{name} {by}")).collect()
    }

    #[test]
    fn variables_are_held_back_with_a_reason_only() {
        for (command, held, expected) in [
            ("make all", &["GITHUB_TOKEN", "AWS_PROFILE"][..], &[][..]),
            ("gh pr create", &["GITHUB_TOKEN", "AWS_PROFILE"], &["GITHUB_TOKEN `gh`"]),
            ("echo gh", &["GITHUB_TOKEN"], &[]),
            ("cd x && /usr/bin/aws s3 ls", &["AWS_PROFILE", "AWS_REGION"], &["AWS_PROFILE `aws`", "AWS_REGION `aws`"]),
            ("curl -H $MY_TOKEN https://x", &["MY_TOKEN", "MY_TOKENS", "MY"], &["MY_TOKEN the command"]),
            ("./work.sh", &["OWN", "API_URL", "HIDDEN", "GH_TOKEN"], &["API_URL `./work.sh`", "GH_TOKEN `gh`"]),
            ("python3 work.py", &["MY_KEY", "MY_OTHER", "VIRTUAL_ENV"], &["MY_KEY `work.py`"]),
            ("./none.sh", &["API_URL"], &[]),
        ] {
            assert_eq!(told(command, held), expected, "{command}");
        }
    }

    #[test]
    fn note_names_what_to_add() {
        let one = HeldBack { variables: vec!["A".to_owned(), "B".to_owned()], wanted_by: "`gh`".to_owned() };
        let words = "A, B are set here and not passed to workers; `gh` uses them: add --pass-env A --pass-env B";
        assert_eq!(one.words(), words);
    }
}
