//! `cargo xtask fuzz`: feeds the targets in fuzz/ with generated input for a bounded time. New inputs go to a temporary
//! folder, so the checked-in corpus stays as it is.

use std::fmt;
use std::path::Path;
use std::process::Stdio;

use crate::shell::{Outcome, command, files, must_succeed, read, root, succeeds};

/// Fuzzes each target, or only one, for so many seconds and prints one table.
pub(crate) fn run(seconds: u32, only: Option<&str>) -> Outcome {
    let targets = choose(targets(&read("fuzz/Cargo.toml")?, &files("fuzz/fuzz_targets", "rs")?)?, only)?;
    prepare()?;
    let mut reports = Vec::new();
    for target in targets {
        println!("building {target}");
        must_succeed(&mut command(&format!("cargo +nightly fuzz build {target}")))?;
        println!("fuzzing {target} for {seconds} s");
        reports.push(fuzz(target, seconds)?);
    }
    println!("\n{:<24} {:>14}  result", "target", "executions");
    for report in &reports {
        println!("{report}");
    }
    let failed: Vec<_> = reports.iter().filter(|report| report.failed).collect();
    if failed.is_empty() { Ok(()) } else { Err(explain(&failed)) }
}

/// The names in the manifest; an error if they are not those of the source files, lest one is never run.
fn targets(manifest: &str, sources: &[String]) -> Outcome<Vec<String>> {
    let manifest: toml::Table =
        manifest.parse().map_err(|error: toml::de::Error| format!("fuzz/Cargo.toml: {error}"))?;
    let bins = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    let mut named: Vec<_> = bins.filter_map(|bin| Some(bin.get("name")?.as_str()?.to_owned())).collect();
    named.sort_unstable();
    let written: Vec<_> = sources.iter().filter_map(|path| Path::new(path).file_stem()?.to_str()).collect();
    if named == written {
        Ok(named)
    } else {
        Err(format!("fuzz/Cargo.toml has the [[bin]]s {named:?}, but fuzz/fuzz_targets has the files {written:?}"))
    }
}

fn choose(targets: Vec<String>, only: Option<&str>) -> Outcome<Vec<String>> {
    let Some(only) = only else { return Ok(targets) };
    if targets.iter().any(|target| target == only) {
        Ok(vec![only.to_owned()])
    } else {
        Err(format!("there is no fuzz target `{only}`; there are: {}", targets.join(", ")))
    }
}

/// Finds the nightly toolchain, which is the user's to install, and cargo-fuzz, which is installed where it is missing.
fn prepare() -> Outcome {
    let toolchains = command("rustup toolchain list").output().map(|output| output.stdout).unwrap_or_default();
    if !String::from_utf8_lossy(&toolchains).lines().any(|line| line.starts_with("nightly")) {
        return Err("fuzzing needs a nightly toolchain\n\
                    help: type `rustup toolchain install nightly --profile minimal`"
            .to_owned());
    }
    if !succeeds("cargo fuzz --version") {
        println!("cargo-fuzz is missing: installing it with `cargo install cargo-fuzz --locked`");
        must_succeed(&mut command("cargo install cargo-fuzz --locked"))?;
    }
    Ok(())
}

/// How one target fared.
struct Report {
    target: String,
    executions: Option<String>,
    failed: bool,
    /// The input that broke it, where there is one.
    input: Option<String>,
    /// What the fuzzer said where it went wrong.
    said: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = if self.failed { "FAILED" } else { "ok" };
        write!(f, "{:<24} {:>14}  {result}", self.target, self.executions.as_deref().unwrap_or("?"))
    }
}

fn fuzz(target: String, seconds: u32) -> Outcome<Report> {
    let wrong = |error: std::io::Error| format!("{target}: {error}");
    let found = tempfile::tempdir().map_err(wrong)?;
    let mut command = command(&format!("cargo +nightly fuzz run {target}"));
    command.arg(found.path());
    let corpus = root().join("fuzz/corpus").join(&target);
    if corpus.is_dir() {
        command.arg(corpus);
    }
    // An input that takes ten seconds has found a flaw as surely as one that panics.
    command.args(["--", "-print_final_stats=1", "-timeout=10", &format!("-max_total_time={seconds}")]);
    let output = command.stdin(Stdio::null()).output().map_err(wrong)?;
    Ok(report(target, output.status.success(), &String::from_utf8_lossy(&output.stderr)))
}

/// Reads what the fuzzer said.
fn report(target: String, succeeded: bool, said: &str) -> Report {
    let after = |mark: &str| said.lines().find_map(|line| Some(line.split_once(mark)?.1.trim().to_owned()));
    let lines: Vec<_> = said.lines().collect();
    let wrong = lines.iter().position(|line| line.contains("panicked at") || line.contains("ERROR: "));
    let from = wrong.unwrap_or(lines.len().saturating_sub(4));
    let executions = after("stat::number_of_executed_units:");
    Report {
        target,
        // A fuzzer that ran nothing has proved nothing.
        failed: !succeeded || executions.is_none(),
        executions,
        input: after("Test unit written to ").map(|path| relative(&path)),
        said: lines.into_iter().skip(from).take(4).collect::<Vec<_>>().join("\n"),
    }
}

fn relative(path: &str) -> String {
    Path::new(path).strip_prefix(root()).unwrap_or(Path::new(path)).display().to_string()
}

fn explain(failed: &[&Report]) -> String {
    let mut text = format!("{} fuzz target(s) failed", failed.len());
    for Report { target, input, said, .. } in failed {
        text.push_str(&match input {
            Some(path) => format!(
                "\n\n{target} fails on {path}\n{said}\nhelp: to see it again: cargo +nightly fuzz run {target} {path}"
            ),
            None => format!("\n\n{target} ended without naming an input\n{said}"),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_would_never_run_is_an_error() {
        let manifest = "[[bin]]\nname = 'b'\n[[bin]]\nname = 'a'\n";
        let source = |name: &str| format!("fuzz/fuzz_targets/{name}.rs");
        assert_eq!(targets(manifest, &[source("a"), source("b")]), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(
            targets(manifest, &[source("a")]),
            Err("fuzz/Cargo.toml has the [[bin]]s [\"a\", \"b\"], but fuzz/fuzz_targets has the files [\"a\"]"
                .to_owned())
        );
        assert!(targets(manifest, &[source("a"), source("b"), source("c")]).is_err());
        assert!(targets("not toml", &[]).is_err_and(|e| e.starts_with("fuzz/Cargo.toml: ")));
    }

    #[test]
    fn the_projects_own_targets_are_all_listed() {
        let found = targets(&read("fuzz/Cargo.toml").unwrap(), &files("fuzz/fuzz_targets", "rs").unwrap()).unwrap();
        assert!(!found.is_empty());
    }

    #[test]
    fn one_target_can_be_chosen_if_it_exists() {
        let all = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(choose(all(), None), Ok(all()));
        assert_eq!(choose(all(), Some("b")), Ok(vec!["b".to_owned()]));
        assert_eq!(choose(all(), Some("c")), Err("there is no fuzz target `c`; there are: a, b".to_owned()));
    }

    #[test]
    fn a_clean_run_is_reported_with_its_executions() {
        let said = "INFO: Seed: 1\nDone 70 runs in 2 second(s)\nstat::number_of_executed_units: 70\n";
        let report = report("ids".to_owned(), true, said);
        assert_eq!(report.to_string(), "ids                                  70  ok");
        assert_eq!(report.input, None);
    }

    #[test]
    fn fuzz_crash_has_cause_input_and_command() {
        let path = root().join("fuzz/artifacts/ids/crash-1");
        let said = format!(
            "INFO: Seed: 1\nthread 'main' panicked at ids.rs:9:5:\nseeded\nnote: run\n== ERROR: libFuzzer\n    #0 0x\n\
             artifact_prefix='x'; Test unit written to {}\nstat::number_of_executed_units: 3\n",
            path.display()
        );
        let report = report("ids".to_owned(), false, &said);
        assert_eq!(report.to_string(), "ids                                   3  FAILED");
        assert_eq!(
            explain(&[&report]),
            "1 fuzz target(s) failed\n\nids fails on fuzz/artifacts/ids/crash-1\n\
             thread 'main' panicked at ids.rs:9:5:\nseeded\nnote: run\n== ERROR: libFuzzer\n\
             help: to see it again: cargo +nightly fuzz run ids fuzz/artifacts/ids/crash-1"
        );
    }

    #[test]
    fn success_without_work_is_a_failure_and_shows_the_last_lines() {
        let report = report("ids".to_owned(), true, "1\n2\n3\n4\n5\n");
        assert_eq!(report.to_string(), "ids                                   ?  FAILED");
        assert_eq!(explain(&[&report]), "1 fuzz target(s) failed\n\nids ended without naming an input\n2\n3\n4\n5");
    }
}
