//! What a plan would take, from what attempts in the project took.

use serde_json::Value;
use team_executor_testkit::World;

use crate::run::{run, tasks};

fn estimate(world: &World) -> Value {
    let shown = world.run(&["plan", "--session=S", "--format", "json"]);
    let plan: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    plan["estimate"].clone()
}

/// R: U-03
#[test]
fn plan_estimates_time_and_cost_from_earlier_runs() {
    let world = tasks(&[("A", ""), ("B", "A"), ("C", "A"), ("D", "B;C")]);
    assert_eq!(estimate(&world), Value::Null, "nothing is known yet");
    assert!(!world.run(&["plan", "--session=S"]).stdout.contains("Estimate"));
    let usage = r#"{"model":"m","input_tokens":1000,"cached_tokens":0,"output_tokens":230,"cost_usd":0.25}"#;
    let result = format!(r#"{{"status":"completed","findings":"f","usage":{usage}}}"#);
    let worker = format!("echo '{result}' >$TEAM_EXECUTOR_RESULT; sleep 0.3");
    assert_eq!(run(&world, &worker, &["-c", "1"]).code, Some(0));
    assert_eq!(estimate(&world), Value::Null, "nothing is left to do");
    // Another session of the same role.
    let table = "id,title,deps,role\nX,x,,worker\nY,y,X,worker\nZ,z,,unheard\n";
    world.write("S/tasks.csv", table);
    let plan = world.run(&["plan", "--session=S"]);
    let found = estimate(&world);
    assert_eq!((&found["samples"], &found["guessed_tasks"]), (&4.into(), &1.into()), "{plan}");
    let number = |range: &str, end: &str| found[range][end].as_u64().unwrap_or_else(|| panic!("{found}"));
    for (range, least, most) in
        [("time_ms", 600, 60_000), ("cost_micros", 500_000, 1_000_000), ("tokens", 2_400, 5_000)]
    {
        let [low, likely, high] = ["low", "likely", "high"].map(|end| number(range, end));
        assert!(low <= likely && likely <= high && likely >= least && high <= most, "{range}: {found}");
    }
    let lines: Vec<&str> = plan.stdout.lines().skip_while(|line| !line.starts_with("Estimate ")).take(2).collect();
    assert!(lines[0].contains(" s") && lines[0].contains("$0.7"), "{plan}");
    assert!(lines[1].ends_with("9 times of 10, from 4 attempts; 1 task guessed from other roles"), "{plan}");
}

/// R: U-03
#[test]
fn history_outlives_a_killed_executor_and_is_no_session() {
    let world = tasks(&[("A", "")]);
    assert_eq!(run(&world, "true", &[]).code, Some(0));
    let history = world.dir().join(".workflow/.csv-wave/history.json");
    let before = std::fs::read_to_string(&history).expect("it is there");
    assert!(before.contains("[\"worker\",\"--agent-command\",null,"), "{before}");
    let list = world.run(&["sessions"]);
    assert!(!list.stdout.contains("history") && list.code == Some(0), "{list}");
    let killed = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); exec tail -f /dev/null";
    world.write("T/tasks.csv", "id,title,deps,role\nX,x,,worker\n");
    let run = world.run(&["run", "--session=T", "-y", "--agent-command", killed]);
    assert_ne!(run.code, Some(0), "{run}");
    assert_eq!(std::fs::read_to_string(&history).expect("it is there"), before);
    // A file that cannot be used makes no run fail.
    std::fs::remove_file(&history).expect("removed");
    std::fs::create_dir(&history).expect("something else of that name");
    let resumed = world.run(&["run", "--session=T", "-y", "--agent-command", "true"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert!(resumed.stderr.contains("warning: what attempts took was not noted for estimates: "), "{resumed}");
}
