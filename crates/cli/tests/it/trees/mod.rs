//! Tasks with trees of their own: what becomes of their changes, and what stays of the user's repository.

mod beginning;
mod changes;
mod crash;
mod extras;
mod merging;
mod odd;
mod queue;
mod real_agents;
mod removal;
mod repositories;
mod reviews;

use std::path::{Path, PathBuf};
use std::process::Command;

use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use crate::run::{arguments, tasks};

/// What the project's file says.
const ISOLATED: &str = "[defaults]\nisolation = \"worktree\"\n";

/// A session of these tasks in a repository with these files.
pub(crate) fn repository(list: &[(&str, &str)], config: &str, files: &[(&str, &str)]) -> World {
    let world = tasks(list);
    world.write("team-executor.toml", format!("{ISOLATED}{config}"));
    let config = "[user]\n\tname = User\n\temail = user@localhost\n[init]\n\tdefaultBranch = main\n";
    std::fs::write(home(&world).join(".gitconfig"), config).expect("a home");
    git(&world, &["init", "-q"]);
    files.iter().for_each(|(name, text)| drop(world.write(name, text)));
    commit(&world);
    world
}

fn commit(world: &World) {
    git(world, &["add", "-A", "--", ".", ":!S", ":!team-executor.toml", ":!.workflow", ":!*.prompt", ":!*.starts"]);
    git(world, &["commit", "-q", "--allow-empty", "-m", "start"]);
}

fn home(world: &World) -> PathBuf {
    world.dir().with_file_name("home")
}

fn git_in(world: &World, folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("HOME", home(world))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let output = command.limited_output();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn git(world: &World, words: &[&str]) -> String {
    git_in(world, world.dir(), words)
}

/// Runs the session to an end, without questions.
pub(crate) fn run(world: &World, worker: &str, more: &[&str]) -> Run {
    world.run(&arguments("--session=S", worker, &[&["--trust-project", "--retries", "1"], more].concat()))
}

/// A worker that does what the script `<task>.sh` says, in its tree. It keeps what it was told, and counts its starts.
fn scripted(world: &World) -> String {
    let dir = world.dir().display();
    format!(
        "sh -c 'cat > \"{dir}/$TEAM_EXECUTOR_TASK.prompt\"; echo \"$TEAM_EXECUTOR_ATTEMPT\" >> \"{dir}/$TEAM_EXECUTOR_TASK.starts\"; \
         . \"{dir}/S/$TEAM_EXECUTOR_TASK.sh\"; echo did it'"
    )
}

fn does(world: &World, task: &str, script: &str) {
    world.write(&format!("S/{task}.sh"), script);
}

fn starts(world: &World, task: &str) -> usize {
    std::fs::read_to_string(world.dir().join(format!("{task}.starts"))).map_or(0, |text| text.lines().count())
}

fn prompt(world: &World, task: &str) -> String {
    std::fs::read_to_string(world.dir().join(format!("{task}.prompt"))).expect("the worker was told something")
}

/// The branch of the only run.
fn branch(world: &World) -> String {
    let name = crate::run::folder(world).file_name().expect("a name").to_string_lossy().into_owned();
    format!("te/{name}")
}

fn shown(world: &World, branch: &str, file: &str) -> String {
    git(world, &["show", &format!("{branch}:{file}")])
}

/// Which tasks changed something in a branch, in the order of their ids: one entry for each commit.
fn authors(world: &World, branch: &str) -> Vec<String> {
    let log = git(world, &["log", "--no-merges", "--format=%(trailers:key=Task,valueonly)", branch]);
    let mut tasks: Vec<String> = log.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    tasks.sort();
    tasks
}

/// Everything of the user's that must stay as it is, to the byte.
fn users(world: &World) -> Vec<String> {
    let asked = [
        "status --porcelain=v2 --branch",
        "stash list",
        "reflog",
        "config --local --list",
        "for-each-ref --exclude=refs/team-executor --exclude=refs/heads/te",
    ];
    let mut seen: Vec<String> = asked.iter().map(|words| git(world, &words.split(' ').collect::<Vec<_>>())).collect();
    for file in [".git/index", ".git/HEAD", ".git/config"] {
        seen.push(format!("{:?}", std::fs::read(world.dir().join(file)).expect(file)));
    }
    let mut files: Vec<_> = std::fs::read_dir(world.dir().join(".git")).expect("a repository").collect();
    files.sort_by_key(|entry| entry.as_ref().expect("an entry").file_name());
    seen.extend(files.into_iter().map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()));
    seen
}

/// Where the trees of the only run are.
fn root(world: &World) -> PathBuf {
    let inner = |path: PathBuf| std::fs::read_dir(path).expect("trees").next().expect("one").expect("an entry").path();
    inner(inner(home(world).join(".local/state/team-executor/trees")))
}

/// The trees that are there.
fn trees(world: &World) -> Vec<String> {
    let root = home(world).join(".local/state/team-executor/trees");
    let inner =
        |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let folders = inner(root).flat_map(inner).flat_map(inner).filter(|path| path.is_dir() && !path.is_symlink());
    let mut names: Vec<_> = folders.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}
