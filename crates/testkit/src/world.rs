//! A throw-away place to run the program in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::limited::LimitedCommand as _;
use crate::limited::{kill, processes};
use crate::tree::children;
use crate::{Run, Tree, must, usual_signals};

/// A temporary folder and an environment in which the program sees nothing of the machine that it runs on. Both are gone
/// when it is dropped.
#[derive(Debug)]
pub struct World {
    binary: PathBuf,
    root: PathBuf,
    dir: PathBuf,
    env: BTreeMap<String, String>,
    through: Vec<String>,
    _keep: TempDir,
}

impl World {
    /// An empty world in which a program is installed, usually `env!("CARGO_BIN_EXE_team-executor")`.
    #[track_caller]
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        usual_signals();
        let keep = must("creating a folder in", &std::env::temp_dir(), tempfile::tempdir());
        let root = must("resolving", keep.path(), keep.path().canonicalize());
        let (dir, home) = (root.join("dir"), root.join("home"));
        must("creating", &dir, fs::create_dir(&dir));
        must("creating", &home, fs::create_dir(&home));
        let (binary, installed) = (binary.into(), root.join("bin"));
        must("creating", &installed, fs::create_dir(&installed));
        if let Some(name) = binary.file_name().filter(|_| binary.is_absolute()) {
            must("linking", &binary, std::os::unix::fs::symlink(&binary, installed.join(name)));
        }
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", installed.display());
        let env = [
            ("COLUMNS", "80"),
            ("HOME", &home.to_string_lossy()),
            ("PATH", &path),
            ("TERM", "xterm-256color"),
            ("TZ", "UTC"),
        ];
        let env = env.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Self { binary, root, dir, env, through: Vec::new(), _keep: keep }
    }

    /// The folder that the program is started in; shown as `$DIR`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Sets an environment variable of all later runs.
    pub fn env(&mut self, key: &str, value: &str) -> &mut Self {
        self.env.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Runs the program through another one from now on: its words stand in front.
    pub fn through(&mut self, words: Vec<String>) -> &mut Self {
        self.through = words;
        self
    }

    /// Writes a file, with the folders above it, and returns where it is.
    #[track_caller]
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.inside(path);
        create_parent(&path);
        must("writing", &path, fs::write(&path, text));
        path
    }

    /// Copies a file or a folder with everything in it; links are copied as links.
    #[track_caller]
    pub fn copy_tree(&self, from: impl AsRef<Path>, to: &str) -> PathBuf {
        let target = self.inside(to);
        create_parent(&target);
        let mut waiting = vec![(from.as_ref().to_owned(), target.clone())];
        while let Some((from, to)) = waiting.pop() {
            let kind = must("looking at", &from, from.symlink_metadata()).file_type();
            if kind.is_dir() {
                must("creating", &to, fs::create_dir_all(&to));
                let inside = children(&from).into_iter();
                waiting.extend(inside.filter_map(|child| Some((child.clone(), to.join(child.file_name()?)))));
            } else if kind.is_symlink() {
                let link = must("reading the link", &from, fs::read_link(&from));
                must("linking", &to, std::os::unix::fs::symlink(link, &to));
            } else {
                must("copying", &from, fs::copy(&from, &to));
            }
        }
        target
    }

    /// Everything in the folder now.
    #[track_caller]
    pub fn tree(&self) -> Tree {
        Tree::read(&self.dir)
    }

    /// The program with these arguments, for a test that wants to start it in its own way.
    pub fn command(&self, args: &[&str]) -> Command {
        let words =
            self.through.iter().map(OsStr::new).chain([self.binary.as_os_str()]).chain(args.iter().map(OsStr::new));
        let words: Vec<_> = words.collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&self.dir).env_clear().envs(&self.env).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end, without input.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Run {
        let output = self.command(args).limited_output();
        let program = self.binary.file_name().unwrap_or_default().to_string_lossy();
        let (dir, root) = (self.dir.to_string_lossy(), self.root.to_string_lossy());
        Run::new(&program, args, &output, &[(&dir, "$DIR"), (&root, "$WORLD")])
    }

    /// Runs a line in a shell, as a user who pastes it.
    #[track_caller]
    pub fn shell(&self, line: &str) -> Run {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(&self.dir).env_clear().envs(&self.env).stdin(Stdio::null());
        let output = command.limited_output();
        let (dir, root) = (self.dir.to_string_lossy(), self.root.to_string_lossy());
        Run::new("sh", &["-c", line], &output, &[(&dir, "$DIR"), (&root, "$WORLD")])
    }

    /// The processes from this world that have a variable in their environment: each with its number and its
    /// command line. A process that has ended has no environment any more.
    #[track_caller]
    pub fn living(&self, variable: &str) -> Vec<(u32, String)> {
        let variable = format!("{variable}=");
        let ours = processes().filter(|process| {
            let environment = seen(*process, "environ");
            has(&environment, variable.as_bytes()) && has(&environment, self.root.as_os_str().as_encoded_bytes())
        });
        ours.map(|process| (process, String::from_utf8_lossy(&seen(process, "cmdline")).replace('\0', " "))).collect()
    }

    /// A path in the folder; one that leaves it is a mistake of the test.
    #[track_caller]
    fn inside(&self, path: &str) -> PathBuf {
        let stays = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        assert!(stays, "{path} leaves the world");
        self.dir.join(path)
    }
}

impl Drop for World {
    /// A test that has failed may have left processes that wait for it.
    fn drop(&mut self) {
        let root = self.root.as_os_str().as_encoded_bytes();
        let is_ours = |process: &u32| ["environ", "cmdline"].iter().any(|file| has(&seen(*process, file), root));
        if std::thread::panicking() {
            processes().filter(|process| *process != std::process::id()).filter(is_ours).for_each(kill);
        }
    }
}

/// What the system shows of a process; nothing if it is gone.
fn seen(process: u32, file: &str) -> Vec<u8> {
    fs::read(format!("/proc/{process}/{file}")).unwrap_or_default()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[track_caller]
fn create_parent(path: &Path) {
    if let Some(folder) = path.parent() {
        must("creating", folder, fs::create_dir_all(folder));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;
    use crate::limited::LimitedChild as _;

    #[test]
    fn the_program_sees_only_the_world() {
        let mut world = World::new("/usr/bin/env");
        world.env("NO_COLOR", "1");
        let run = world.run(&[]);
        assert_eq!(
            run.to_string(),
            "$ env\n------- stdout -------\nCOLUMNS=80\nHOME=$WORLD/home\nNO_COLOR=1\n\
             PATH=$WORLD/bin:/usr/local/bin:/usr/bin:/bin\nTERM=xterm-256color\nTZ=UTC\n[exit status: 0]\n"
        );
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    }

    #[test]
    fn it_runs_in_its_folder_without_input() {
        let run = World::new("/bin/sh").run(&["-c", "cat; pwd; echo bad >&2; exit 3"]);
        assert_eq!(
            run.to_string(),
            "$ sh -c 'cat; pwd; echo bad >&2; exit 3'\n------- stdout -------\n$DIR\n\
             ------- stderr -------\nbad\n[exit status: 3]\n"
        );
        assert_eq!((run.code, run.stderr.as_str()), (Some(3), "bad\n"));
    }

    #[test]
    fn live_processes_are_listed_until_their_end() {
        let world = World::new("/bin/cat");
        let mut child =
            world.command(&["-"]).env("A_MARK", "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Its answer is the sign that it is no copy of the test any more.
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        input.write_all(b".").unwrap();
        output.read_exact(&mut [0]).unwrap();
        assert_eq!(world.living("A_MARK"), [(child.id(), "/bin/cat - ".to_owned())]);
        assert_eq!(world.living("MARK_B"), []);
        assert_eq!(World::new("/bin/cat").living("A_MARK"), []);
        drop(input);
        child.limited_wait();
        assert_eq!(world.living("A_MARK"), []);
    }

    #[test]
    fn trees_are_copied_whole() {
        let world = World::new("/bin/true");
        let file = world.write("a/b/c.txt", "text");
        assert_eq!(file, world.dir().join("a/b/c.txt"));
        std::os::unix::fs::symlink("b/c.txt", world.dir().join("a/link")).unwrap();
        world.copy_tree(world.dir().join("a"), "x/y");
        let copy = Tree::read(&world.dir().join("x/y")).to_string();
        assert_eq!(copy, Tree::read(&world.dir().join("a")).to_string());
        assert!(copy.contains("link -> b/c.txt\n"), "{copy}");
    }

    #[test]
    fn a_run_that_writes_nothing_leaves_the_tree_equal() {
        let world = World::new("/bin/sh");
        world.write("a", "1");
        let before = world.tree();
        world.run(&["-c", "cat a"]);
        assert_eq!(world.tree(), before);
        world.run(&["-c", "echo 2 >b"]);
        assert_ne!(world.tree(), before);
    }

    #[test]
    #[should_panic(expected = "../out leaves the world")]
    fn a_path_that_leaves_the_world_is_refused() {
        World::new("/bin/true").write("../out", "");
    }

    #[test]
    fn processes_of_a_failed_test_are_killed() {
        let world = World::new("/bin/cat");
        let mut child = world.command(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let open = child.stdin.take();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            assert!(world.dir().ends_with("nowhere"), "this test fails on purpose");
        }));
        assert!(failed.is_err());
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.limited_wait()), Some(9));
        drop(open);
    }

    #[test]
    fn it_is_gone_when_dropped() {
        let world = World::new("/bin/true");
        let dir = world.dir().to_owned();
        assert!(dir.is_dir());
        drop(world);
        assert!(!dir.exists());
    }
}
