//! The page's scripts as `tsc` sees them: names, properties and calls that are not there.

use std::path::Path;
use std::process::Command;

use team_executor_testkit::limited::*;
use team_executor_testkit::modules;

use super::browser::target;

/// R: U-04
#[test]
fn scripts_of_the_page_have_no_type_errors() {
    let Some(modules) = modules(&target(), &["typescript"], "the types of the page's scripts") else { return };
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("web");
    let check = |project: &Path| {
        let tsc = modules.join("typescript/bin/tsc");
        let told = Command::new("node").arg(tsc).arg("--project").arg(project).limited_output();
        (told.status.code(), String::from_utf8_lossy(&told.stdout).into_owned())
    };
    assert_eq!(check(&web), (Some(0), String::new()));
    // It does find a mistake.
    let scratch = tempfile::tempdir().expect("a folder");
    let extended = serde_json::json!({"extends": web.join("tsconfig.json"), "include": ["wrong.js"]});
    std::fs::write(scratch.path().join("tsconfig.json"), extended.to_string()).expect("written");
    std::fs::write(scratch.path().join("wrong.js"), "export const wrong = 'text'.lenght;\n").expect("written");
    let (code, told) = check(scratch.path());
    assert!(code != Some(0) && told.contains("lenght"), "{code:?} {told}");
}
