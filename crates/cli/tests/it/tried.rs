//! Agents that are tried before anything depends on them, and odd words around a report.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use team_executor_testkit::World;

use crate::coding_agents::{CLAUDE, CLAUDE_OK, USER, claude_says, fake, world};
use crate::conversations::ACP;
use crate::run::column;

/// A world with an agent of the Agent Client Protocol that does this when it is prompted.
fn speaking(prompted: &str) -> World {
    let world = world(&[("A", "")]);
    let path = world.write("agent", ACP.replace("PROMPTED", prompted).replace("LOADS", "true"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    let program = path.display().to_string();
    world.write(USER, format!("[defaults]\nagent = \"fake\"\n[agents.fake]\nkind = \"acp\"\nprogram = {program:?}\n"));
    world
}

/// R: A-02
#[test]
fn test_asks_an_acp_agent_for_a_word() {
    for (prompted, code, told) in [
        ("say 'OK.'; turn end_turn", 0, "answered in "),
        ("ask execute ls; say 'OK'; turn end_turn", 0, "answered in "),
        ("say 'API error: invalid token'; turn end_turn", 1, "it was asked for OK, and said: API error: invalid token"),
        ("turn end_turn", 1, "it was asked for OK, and said: nothing"),
        ("turn refusal", 1, "the agent stopped: refusal"),
        ("exit 3", 1, "it ends without output"),
    ] {
        let world = speaking(prompted);
        let tested = world.run(&["agents", "fake", "--test"]);
        assert_eq!(tested.code, Some(code), "{prompted}: {tested}");
        assert!(tested.stdout.contains(told), "{prompted}: {tested}");
    }
}

/// R: A-02
#[test]
fn agent_newer_than_the_tested_versions_is_noted() {
    let world = world(&[("A", "")]);
    fake(&world, ("claude", "9.1.0 (Claude Code)"), &claude_says(CLAUDE_OK));
    let listed = world.run(&["agents", "claude"]);
    assert!(listed.code == Some(0) && listed.stdout.contains("usable, newer than the tested 2."), "{listed}");
    fake(&world, CLAUDE, &claude_says(CLAUDE_OK));
    let listed = world.run(&["agents", "claude", "--format=json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let row = &listed["agents"][0];
    assert_eq!((&row["newer"], &row["version"]), (&false.into(), &"2.1.325".into()), "{row}");
}

/// R: A-02
#[test]
fn versions_that_the_tests_install_are_listed_as_tested() {
    let world = world(&[("A", "")]);
    let listed = world.run(&["agents", "--format=json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let pinned = include_str!("../../../../xtask/src/agents.rs");
    for (name, package) in [
        ("claude", "@anthropic-ai/claude-code@"),
        ("codex", "@openai/codex@"),
        ("gemini", "@google/gemini-cli@"),
        ("opencode", "opencode-ai@"),
    ] {
        let version = pinned.split_once(package).and_then(|(_, rest)| rest.split('"').next()).expect("a version");
        let mut agents = listed["agents"].as_array().expect("agents").iter();
        let row = agents.find(|row| row["name"] == name).expect("a row");
        let tested = row["tested"].as_array().expect("versions");
        assert!(tested.iter().any(|one| one == version), "{name} {version}: {row}");
    }
}

/// Copilot says such lines before and behind its own words.
/// R: A-11
#[test]
fn info_lines_around_a_report_do_not_hide_it() {
    let info = "say 'Info: MCP server executor connected.\\n'";
    let report = r#"say '{"status":"completed","findings":"found"}'"#;
    for words in [format!("{info}; {report}"), format!("{report}; say '\\nInfo: 1 request used.'")] {
        let world = speaking(&format!("{words}; turn end_turn"));
        let run = world.run(&["run", "--session=S", "-y", "--retries=0"]);
        assert_eq!((run.code, column(&world, "findings")), (Some(0), vec!["found".to_owned()]), "{run}");
    }
}
