//! `cargo xtask test`: everything that must hold before a commit, step by step, up to the first failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::shell::{Outcome, command, must_succeed, root, succeeds};

/// A program that the steps need.
struct Tool {
    name: &'static str,
    /// Succeeds where the program is present.
    probe: &'static str,
    /// What to type where it is not.
    fix: &'static str,
}

/// Looked for before the first step. To add one, add a line.
const TOOLS: &[Tool] = &[
    Tool { name: "rustfmt", probe: "cargo fmt --version", fix: "rustup component add rustfmt" },
    Tool { name: "clippy", probe: "cargo clippy --version", fix: "rustup component add clippy" },
];

/// One command that must succeed.
struct Step {
    name: &'static str,
    line: &'static str,
    env: Option<(&'static str, &'static str)>,
}

impl Step {
    const fn new(name: &'static str, line: &'static str) -> Self {
        Self { name, line, env: None }
    }

    /// What to type to run only this step.
    fn rerun(&self) -> String {
        match self.env {
            Some((key, value)) => format!("{key}='{value}' {}", self.line),
            None => self.line.to_owned(),
        }
    }
}

const TESTS: Step = Step::new("tests", "cargo test --workspace --lib --bins --tests");

/// Cheapest first, so that a small slip is told at once.
const STEPS: &[Step] = &[
    Step::new("formatting", "cargo fmt --all --check"),
    Step::new("conformance", "cargo xtask conformance --check"),
    Step::new("events", "cargo xtask events --check"),
    Step::new("lints", "cargo clippy --workspace --all-targets -- -D warnings"),
    // It never fails for want of them: it says that they are left out.
    Step::new("agents", "cargo xtask agents"),
    Step::new("nats", "cargo xtask nats"),
    TESTS,
    Step { name: "documentation", line: "cargo doc --workspace --no-deps", env: Some(("RUSTDOCFLAGS", "-D warnings")) },
];

/// Runs every step, or with `quick` only the tests.
pub(crate) fn run(quick: bool) -> Outcome {
    let tools = if quick { &[] } else { TOOLS };
    let steps = if quick { &[TESTS] } else { STEPS };
    find(tools)?;
    let lacks = target().join("lacks");
    forget(&lacks)?;
    let begin = Instant::now();
    for (n, step) in steps.iter().enumerate() {
        println!("[{}/{}] {}: {}", n + 1, steps.len(), step.name, step.rerun());
        let step_begin = Instant::now();
        run_step(step, &lacks)?;
        println!("[{}/{}] {}: {:.1} s", n + 1, steps.len(), step.name, step_begin.elapsed().as_secs_f64());
    }
    for line in untested(&fs::read_to_string(&lacks).unwrap_or_default()) {
        println!("{line}");
    }
    println!("all {} steps passed in {:.1} s", steps.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

fn find(tools: &[Tool]) -> Outcome {
    let missing: Vec<_> = tools.iter().filter(|tool| !succeeds(tool.probe)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let lines = missing.iter().map(|tool| format!("\n  {} is missing; type: {}", tool.name, tool.fix));
    Err(format!("the tests need programs that are not here{}", lines.collect::<String>()))
}

/// The folder of builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Removes what an earlier run noted.
fn forget(lacks: &Path) -> Outcome {
    match fs::remove_file(lacks) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(format!("{}: {error}", lacks.display())),
        _ => Ok(()),
    }
}

/// What this machine lacks, a line each with what was not tested for that.
fn untested(noted: &str) -> Vec<String> {
    let mut lacks = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (what, test) in noted.lines().filter_map(|line| line.split_once(": ")) {
        lacks.entry(what).or_default().insert(test);
    }
    let line = |(what, tests): (&str, BTreeSet<&str>)| {
        let tests: Vec<_> = tests.into_iter().collect();
        format!("not tested for lack of {what}: {}", tests.join(", "))
    };
    lacks.into_iter().map(line).collect()
}

fn run_step(step: &Step, lacks: &Path) -> Outcome {
    let mut command = command(step.line);
    command.envs(step.env).env("TEAM_EXECUTOR_LACKS", lacks);
    must_succeed(&mut command).map_err(|error| {
        format!("the step `{}` failed: {error}\nhelp: to run only this step: {}", step.name, step.rerun())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_tool_is_named_with_its_fix() {
        let tools = [
            Tool { name: "here", probe: "true", fix: "nothing" },
            Tool { name: "gone", probe: "no-such-program-here --version", fix: "apt-get install gone" },
            Tool { name: "broken", probe: "false", fix: "apt-get install broken" },
        ];
        assert_eq!(find(&tools[..1]), Ok(()));
        assert_eq!(
            find(&tools),
            Err("the tests need programs that are not here\n  gone is missing; type: apt-get install gone\n  \
                 broken is missing; type: apt-get install broken"
                .to_owned())
        );
    }

    #[test]
    fn what_a_machine_lacks_is_said_once() {
        let noted = "strace: faults\nnpm: install\nstrace: faults\nstrace: disk\n";
        let lines = ["not tested for lack of npm: install", "not tested for lack of strace: disk, faults"];
        assert_eq!(untested(noted), lines);
        assert_eq!(untested(""), Vec::<String>::new());
    }

    #[test]
    fn a_failed_step_says_which_and_how_to_run_it_again() {
        let step = Step { name: "docs", line: "false --no-deps", env: Some(("FLAGS", "-D warnings")) };
        assert_eq!(
            run_step(&step, Path::new("/dev/null")),
            Err("the step `docs` failed: `false` ended with exit status: 1\n\
                 help: to run only this step: FLAGS='-D warnings' false --no-deps"
                .to_owned())
        );
        assert_eq!(run_step(&Step::new("fine", "true"), Path::new("/dev/null")), Ok(()));
    }
}
