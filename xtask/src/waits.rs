//! A test that no test waits without a limit: what is waited for goes through `testkit::limited`.

use crate::shell::{files, read};

/// Calls that wait without a limit, and what to call instead.
const ENDLESS: &[(&str, &str)] = &[
    (".wait()", "limited_wait()"),
    (".wait_with_output()", "limited_output()"),
    (".output()", "limited_output()"),
    (".status()", "limited_status()"),
    (".read_line(", "limited_line()"),
    (".recv()", "recv_timeout(…)"),
    (", None).unwrap()", "a limit instead of None"),
];

/// The file that makes limits of them, and the programs that tests start, which end with their tests.
const EXEMPT: &[&str] = &["crates/testkit/src/limited.rs", "/bin/"];

fn found_in(path: &str, text: &str) -> Vec<String> {
    let endless = |line: &str| ENDLESS.iter().find(|(call, _)| line.contains(call)).map(|(_, instead)| *instead);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines.filter_map(|(number, line)| Some(format!("{path}:{number}: use {}", endless(line)?))).collect()
}

#[test]
fn no_test_waits_without_a_limit() {
    let crates = files("crates", "rs").unwrap();
    let tests = crates.iter().filter(|path| path.contains("/tests/it/") || path.starts_with("crates/testkit/"));
    let tests: Vec<_> = tests.filter(|path| !EXEMPT.iter().any(|exempt| path.contains(exempt))).collect();
    assert!(tests.len() > 60, "{}", tests.len());
    let found: Vec<_> = tests.iter().flat_map(|path| found_in(path, &read(path).unwrap())).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn endless_wait_is_found_with_its_line() {
    assert_eq!(found_in("a.rs", "// .wait()\nlet end = child.wait();\n"), ["a.rs:2: use limited_wait()"]);
}
