use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Diary, World};

use super::{Served, answer};
use crate::csv::{REPORTS, rows, table};
use crate::run::{folder, read};

fn wanted() -> Value {
    json!({
        "csv_path": "people.csv", "instruction": "Greet {name}", "id_column": "id", "max_concurrency": 16, "max_runtime_seconds": 300,
        "output_schema": {"type": "object", "required": ["name"], "properties": {"name": {"pattern": "^p[0-9]+$"}}},
    })
}

#[test]
fn spawn_agents_on_csv_has_the_arguments_that_it_always_had() {
    let world = table(1);
    let listed = Served::new(&world, &[]).ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let all = "validate plan rehearse run status resume retry pause logs changes answer report limit cancel \
               create_task edit_task remove_task spawn_agents_on_csv";
    assert_eq!(names.join(" "), all);
    let schema = &tools.last().expect("a tool")["inputSchema"];
    let mut arguments: Vec<_> =
        schema["properties"].as_object().expect("arguments").keys().map(String::as_str).collect();
    arguments.sort_unstable();
    let known = "csv_path id_column instruction max_concurrency max_runtime_seconds output_csv_path output_schema";
    assert_eq!(arguments.join(" "), known);
    assert_eq!(schema["required"], json!(["csv_path", "instruction"]));
}

#[test]
fn client_gets_progress_of_fifty_rows() {
    let world = table(50);
    let mut client = Served::new(&world, &["--agent-command", REPORTS, "-c", "2"]);
    let job = client.call("spawn_agents_on_csv", &wanted()).expect("it is done");
    assert_eq!(
        (&job["status"], &job["completed_items"], &job["failed_items"]),
        (&"completed".into(), &50.into(), &0.into())
    );
    let rows = rows(&world);
    assert_eq!(rows.len(), 50);
    assert!(rows.iter().all(|row| row["result_json"] == format!(r#"{{"name":"{}"}}"#, row["id"])), "{rows:?}");
    let progress: Vec<_> = client.progress.iter().map(|one| one["progress"].as_f64().expect("a number")).collect();
    assert!(progress.is_sorted() && progress.last() == Some(&50.0), "{progress:?}");
    assert!(client.progress.iter().all(|one| one["progressToken"] == "p" && one["total"] == 50.0));
    // The pong shows that the client has dealt with the last progress; only then it is answered.
    assert_eq!(client.pings, [client.progress.len()], "{:?}", client.progress);
    let again = client.call("spawn_agents_on_csv", &wanted()).expect("it was done");
    assert_eq!(again["output_csv_path"], job["output_csv_path"]);
}

/// R: X-01
#[test]
fn job_outlives_its_client_and_a_killed_executor() {
    let world = table(40);
    let mut diary = Diary::new(world.dir().with_file_name("diary"));
    let say = format!("echo \"$TEAM_EXECUTOR_TASK ${{TEAM_EXECUTOR_ATTEMPT##*/}}\" >'{}'", diary.path().display());
    // One row is never done by its first attempt, so the job goes on until it is killed.
    let hangs = "[ $TEAM_EXECUTOR_TASK = p20 ] && [ ${TEAM_EXECUTOR_ATTEMPT##*/} = 1 ] && exec sleep 60";
    let worker = format!("{say}; {hangs}; {REPORTS}");
    let flags = ["--agent-command", worker.as_str()];
    let wanted =
        json!({"csv_path": "people.csv", "instruction": "Greet {name}", "id_column": "id", "max_concurrency": 2});
    // The server is killed, and the job goes on.
    let mut first = Served::new(&world, &flags);
    first.begin_call("spawn_agents_on_csv", &wanted);
    let mut lines: Vec<String> = (0..6).map(|_| diary.line()).collect();
    first.kill();
    while lines.last().is_none_or(|line| line != "p20 1") {
        lines.push(diary.line());
    }
    // Another server waits for it. Its executor is killed.
    let mut second = Served::new(&world, &flags);
    let call = second.begin_call("spawn_agents_on_csv", &wanted);
    kill_executor(&world);
    let came = answer(&second.wait(call));
    // A caller that waited goes on with it; one that had begun it gets an error.
    let job = came.or_else(|_| second.call("spawn_agents_on_csv", &wanted)).expect("it is done");
    assert_eq!(job["completed_items"], 40, "{job}");
    drop(second);
    lines.extend(diary.rest());
    let journal = read(folder(&world).join(".executor/journal"));
    for row in rows(&world) {
        let last = lines.iter().filter_map(|line| line.strip_prefix(&format!("{} ", row["id"]))).next_back();
        assert_eq!(last, Some(row["attempt_count"].as_str()), "{row:?} {lines:?}");
        let record = format!(r#""type":"completed","task":"{}","#, row["id"]);
        assert_eq!(journal.matches(&record).count(), 1, "{journal}");
    }
}

fn kill_executor(world: &World) {
    let is_executor = |line: &str| line.contains(" csv /") && !line.contains("__detached");
    let found: Vec<_> = world.living("HOME").into_iter().filter(|(_, line)| is_executor(line)).collect();
    assert!(!found.is_empty(), "an executor goes on without its client");
    let session = |pid: &str| {
        let stat = read(format!("/proc/{pid}/stat"));
        stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(4)).expect("a session").to_owned()
    };
    for (pid, _) in found {
        assert_ne!(session(&pid.to_string()), session("self"), "it is in a session of its own");
        let killed = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).limited_status();
        assert!(killed.success());
    }
}

#[test]
fn job_errors_are_answered_to_the_client() {
    let world = table(1);
    let mut client = Served::new(&world, &["--agent-command", REPORTS]);
    let unknown = client.call("spawn_agents_on_csv", &json!({"csv_path": "people.csv", "instruction": "{nmae}"}));
    let unknown = unknown.expect_err("there is no such column");
    assert!(
        unknown.contains("the table has no column 'nmae'") && unknown.contains("did you mean {name}?"),
        "{unknown}"
    );
    let missing = client.call("spawn_agents_on_csv", &json!({"csv_path": "none.csv", "instruction": "x"}));
    assert!(missing.expect_err("there is no such file").contains("none.csv cannot be found"));
}
