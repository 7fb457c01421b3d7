use std::process::Command;

use serde_json::Value;
use team_executor_testkit::limited::*;

use crate::csv::{REPORTS, rows, table};
use crate::mcp::sdk;

/// R: A-08
#[test]
fn official_sdk_client_runs_fifty_rows_on_sixteen_workers() {
    let Some(sdk) = sdk() else { return };
    let world = table(50);
    let client = world.write("client.mjs", include_str!("client.mjs"));
    let mut node = Command::new("node");
    node.arg(client).args([&sdk, env!("CARGO_BIN_EXE_team-executor")]).arg(world.dir()).arg(REPORTS);
    let output = node.current_dir(world.dir()).limited_output();
    let told = String::from_utf8_lossy(&output.stdout);
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told} {output:?}"));
    assert_eq!(told["tools"].as_array().map(Vec::len), Some(18));
    let job = &told["job"]["structuredContent"];
    assert_eq!((&job["completed_items"], &job["failed_items"]), (&50.into(), &0.into()), "{told}");
    let last = told["progress"].as_array().and_then(|all| all.last()).expect("progress");
    assert_eq!((&last["progress"], &last["total"]), (&50.into(), &50.into()));
    assert!(rows(&world).iter().all(|row| row["status"] == "completed"));
    assert_eq!(told["resources"].as_array().map(Vec::len), Some(2), "a report and a graph");
    assert!(told["read"][0]["contents"][0]["text"].as_str().is_some_and(|svg| svg.starts_with("<svg")), "{told}");
}
