//! `cargo xtask sanitize`: runs the tests of `crates/agents`, which has all of the unsafe code, with AddressSanitizer. The
//! toolchain of the project has it; only its switch is reserved for nightly ones.

use std::process::{Command, Stdio};

use crate::flakes::Binary;
use crate::shell::{Outcome, command, files, must_succeed, read, root};

/// Where the unsafe code is.
const UNSAFE: &str = "crates/agents/src/unix";
/// Where what is built with the sanitizer is.
const BUILD: &str = "target/sanitize";
/// What is not tried, and why.
const UNTRIED: [&str; 2] = [
    "Miri: it cannot start processes, and every unsafe block is about starting them or about their signals",
    "MemorySanitizer and ThreadSanitizer: they need a standard library that is built with them",
];

/// One run of a test binary.
struct Part {
    binary: &'static str,
    filter: &'static str,
    /// Some tests forget memory on purpose, as a killed process does.
    leaks: bool,
}

/// The unsafe code by itself, then all that uses it: keepers that start and end real workers.
const PARTS: [Part; 3] = [
    Part { binary: "agents/team_executor_agents", filter: "unix::", leaks: true },
    Part { binary: "agents/team_executor_agents", filter: "", leaks: false },
    Part { binary: "agents/it", filter: "", leaks: false },
];

/// Builds and runs all parts, up to the first thing that is found.
pub(crate) fn run() -> Outcome {
    let blocks = blocks()?;
    let binaries = build()?;
    for part in &PARTS {
        let found = binaries.iter().find(|binary| binary.name == part.binary);
        let binary = found.ok_or_else(|| format!("{} was not built", part.binary))?;
        let name = if part.filter.is_empty() { "all tests" } else { part.filter };
        println!("AddressSanitizer: {} ({name})", part.binary);
        must_succeed(&mut part.command(binary))?;
    }
    println!("AddressSanitizer found nothing in the {blocks} unsafe blocks of {UNSAFE}, nor around them");
    UNTRIED.iter().for_each(|untried| println!("not tried: {untried}"));
    Ok(())
}

impl Part {
    fn command(&self, binary: &Binary) -> Command {
        let mut command = Command::new(&binary.path);
        command.args(Some(self.filter).filter(|filter| !filter.is_empty())).current_dir(&binary.folder);
        let leaks = u8::from(self.leaks);
        command
            .env("ASAN_OPTIONS", format!("detect_leaks={leaks}:exitcode=99"))
            .env("CARGO_MANIFEST_DIR", &binary.folder);
        command
    }
}

/// How many unsafe blocks there are, outside of tests. Every other crate forbids them.
fn blocks() -> Outcome<usize> {
    let mut count = 0;
    for path in files(UNSAFE, "rs")? {
        let text = read(&path)?;
        count += text.split("#[cfg(test)]").next().unwrap_or_default().matches("unsafe {").count();
    }
    Ok(count)
}

/// Builds the tests with the sanitizer, and says where they are. What builds them is built without it.
fn build() -> Outcome<Vec<Binary>> {
    let host = host()?;
    let line =
        format!("cargo test -p team-executor-agents --lib --tests --no-run --message-format json --target {host}");
    let mut cargo = command(&line);
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    cargo.env("CARGO_TARGET_DIR", root().join(BUILD)).stderr(Stdio::inherit());
    let built = cargo.output().map_err(|error| format!("cargo could not be started: {error}"))?;
    if !built.status.success() {
        return Err(format!("the tests cannot be built with AddressSanitizer for {host}"));
    }
    Ok(String::from_utf8_lossy(&built.stdout).lines().filter_map(Binary::parse).collect())
}

/// The system that this machine builds for.
fn host() -> Outcome<String> {
    let output = command("rustc -vV").output().map_err(|error| format!("rustc could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say what it builds for".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_unsafe_code_is_in_the_folder_that_is_tried() {
        assert!(blocks().unwrap() > 5);
        for path in files("crates", "rs").unwrap() {
            let is_unsafe = read(&path).unwrap().lines().any(|line| line.trim_start().starts_with("unsafe {"));
            assert!(!is_unsafe || path.starts_with(UNSAFE), "{path}");
        }
    }

    #[test]
    fn leaks_are_looked_for_only_where_no_test_leaks_on_purpose() {
        let binary = Binary { name: "b".to_owned(), path: "/bin/true".into(), folder: "/".into() };
        let options = |part: &Part| {
            let command = part.command(&binary);
            let options = command.get_envs().find(|(key, _)| *key == "ASAN_OPTIONS").and_then(|(_, value)| value);
            options.unwrap().to_string_lossy().into_owned()
        };
        assert!(options(&PARTS[0]).contains("detect_leaks=1") && options(&PARTS[1]).contains("detect_leaks=0"));
    }
}
