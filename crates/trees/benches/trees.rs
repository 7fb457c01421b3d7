//! How long a tree takes and how much of the disk, beside `git worktree add`, in repositories of 6,500 and 100,000 files.
//! `cargo xtask bench trees` prints the median of three, one after the other in turns.

#![expect(clippy::disallowed_methods, reason = "a benchmark makes a repository and calls git")]

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use team_executor_trees::{Dirty, Extras, Repository, Submodules, Trees};

/// How often each is measured.
const TIMES: usize = 3;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut sizes: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![6_500, 100_000];
    }
    let mut out = std::io::stdout();
    writeln!(out, "{:>8}  {:24}  {:>8}  {:>10}", "files", "by", "seconds", "disk")?;
    for files in sizes {
        for (by, mut seconds, bytes) in measured(files)? {
            seconds.sort_by(f64::total_cmp);
            let disk = format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
            writeln!(out, "{files:>8}  {by:24}  {:>8.2}  {disk:>10}", seconds[seconds.len() / 2])?;
        }
    }
    Ok(())
}

fn measured(files: usize) -> Outcome<[(&'static str, Vec<f64>, u64); 2]> {
    let place = tempfile::tempdir()?;
    let (project, root) = (place.path().canonicalize()?.join("project"), place.path().canonicalize()?.join("trees"));
    for nth in 0..files {
        let folder = project.join(format!("d{}/e{}", nth / 2_000, nth / 50 % 40));
        fs::create_dir_all(&folder)?;
        // Texts of different lengths that do not compress to nothing.
        let lines = (0..20 + nth % 40).map(|line| format!("{} {}\n", nth * 7_919 % 100_003, line * nth % 9_973));
        fs::write(folder.join(format!("f{nth}.txt")), lines.collect::<String>())?;
    }
    git(&project, &["init", "-q"])?;
    git(&project, &["add", "-A"])?;
    git(&project, &["-c", "user.name=U", "-c", "user.email=u@localhost", "commit", "-q", "-m", "c"])?;
    let env: Vec<(String, String)> = std::env::vars().collect();
    let repository = Repository::open(&project, &env, Submodules::Refuse)?;
    let trees = Trees::open(repository, ("EX", "EX"), &root, ("HEAD", Dirty::Refuse), Extras::default())?;
    let (mut ours, mut theirs, mut used) = (Vec::new(), Vec::new(), (0, 0));
    for nth in 1..=TIMES {
        let began = Instant::now();
        let made = trees.make(&format!("T-{nth}"), 1, &[])?;
        ours.push(began.elapsed().as_secs_f64());
        used.0 = disk(&made.path)?;
        let linked = place.path().join(format!("linked-{nth}"));
        let began = Instant::now();
        git(&project, &["worktree", "add", "-q", "--detach", &linked.display().to_string()])?;
        theirs.push(began.elapsed().as_secs_f64());
        used.1 = disk(&linked)?;
    }
    Ok([("team-executor", ours, used.0), ("git worktree add --detach", theirs, used.1)])
}

fn git(project: &Path, words: &[&str]) -> Outcome<()> {
    let status = Command::new("git").args(words).current_dir(project).status()?;
    if status.success() { Ok(()) } else { Err(format!("git {words:?}: {status}").into()) }
}

/// How much of the disk everything below a folder takes.
fn disk(folder: &Path) -> Outcome<u64> {
    let mut all = 0;
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            all += found.blocks() * 512;
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(all)
}
