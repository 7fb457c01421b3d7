use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};
use team_executor_testkit::limited::*;
use team_executor_testkit::{Gate, Pulse, World};

use super::{LIMIT, SESSION, Served, session};

fn only_run(page: &Served) -> String {
    page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned()
}

fn control(request: Value) -> Value {
    let mut request = request;
    request["version"] = json!(1);
    json!({"to": "control", "request": request})
}

/// R: U-04, U-01
#[test]
fn finished_run_is_shown_as_status_says_it() {
    let world = session(&[("A", ""), ("B", "A"), ("C", "B")]);
    let worker = "echo did $TEAM_EXECUTOR_TASK; test $TEAM_EXECUTOR_TASK != B";
    let run = world.run(&["run", SESSION, "--agent-command", worker, "-y", "--retries", "0"]);
    assert_eq!(run.code, Some(1), "{run}");
    let page = Served::start(&world, &[]);
    let name = only_run(&page);
    let shown = page.document(&format!("/api/runs/{name}"));
    let status: Value =
        serde_json::from_str(&world.run(&["status", SESSION, "--format", "json"]).stdout).expect("JSON");
    assert_eq!(shown["attention"]["needs"], status["needs"], "the same list as everywhere");
    assert_eq!(shown["attention"]["problems"], status["problems"]);
    assert_eq!((&shown["seq"], &shown["finished"], &shown["executor"]), (&status["seq"], &true.into(), &false.into()));
    assert_eq!(shown["counts"]["completed"], 1);
    let tasks = page.document(&format!("/api/runs/{name}/tasks"));
    assert_eq!(tasks["ids"], json!(["A", "B", "C"]));
    let word = |nth: usize| {
        tasks["statuses"][usize::try_from(tasks["status"][nth].as_u64().expect("a number")).expect("small")].clone()
    };
    assert_eq!([word(0), word(1), word(2)], ["completed", "failed", "skipped"]);
    let task = page.document(&format!("/api/runs/{name}/tasks/B"));
    assert_eq!(
        (&task["status"], &task["attempt"], &task["needs"][0]["task"]),
        (&"failed".into(), &1.into(), &"A".into())
    );
    assert_eq!(task["attempts"][0]["outcome"], "failed");
    let done = page.document(&format!("/api/runs/{name}/tasks/A"));
    assert_eq!(done["result"]["findings"], "did A");
    let history = page.document(&format!("/api/runs/{name}/tasks/B/history"));
    let kinds: Vec<_> = history["events"].as_array().expect("events").iter().map(|one| one["type"].clone()).collect();
    assert_eq!(kinds, ["task_started", "task_failed"]);
    let attempts = page.document(&format!("/api/runs/{name}/attempts"));
    assert_eq!((&attempts["task"], &attempts["outcome"]), (&json!([0, 1]), &json!([0, 1])));
    let graph = page.document(&format!("/api/runs/{name}/graph"));
    assert_eq!((graph["cards"].as_array().map(Vec::len), graph["curves"].as_array().map(Vec::len)), (Some(3), Some(2)));
    let near = page.document(&format!("/api/runs/{name}/graph?focus=C&up=1&down=1"));
    assert_eq!((&near["tasks"], &near["left_out"]), (&json!([1, 2]), &1.into()));
    let prompt = page.get(&format!("/api/runs/{name}/tasks/A/prompt"));
    assert_eq!(prompt.text(), world.run(&["prompt", SESSION, "A"]).stdout, "as the command prints it");
}

/// R: U-04
#[test]
fn session_that_was_never_run_can_be_planned() {
    let world = session(&[("A", ""), ("B", "A")]);
    let page = Served::start(&world, &[SESSION]);
    assert!(page.address.contains("&v=%2Fplan%3Fsession%3D"), "it is shown first: {}", page.address);
    let list = page.document("/api/runs");
    let path = list["sessions"][0]["path"].as_str().expect("a session");
    assert_eq!((path, list["runs"].as_array().map(Vec::len)), (".workflow/.team/TC-x", Some(0)));
    let plan = page.document(&format!("/api/plan?session={path}"));
    assert_eq!((&plan["waves"], &plan["critical_path"]), (&json!([1, 1]), &json!(["A", "B"])));
    assert_eq!(plan["tasks"]["ids"], json!(["A", "B"]));
}

/// A run whose first task waits at a gate.
struct Gated {
    world: World,
    gate: Gate,
    executor: std::process::Child,
}

impl Gated {
    fn start(tasks: &[(&str, &str)]) -> Self {
        Self::with(session(tasks), &[])
    }

    fn with(world: World, more: &[&str]) -> Self {
        let (mut alive, gate) = (Pulse::new(world.dir().join("alive")), Gate::new(world.dir().join("gate")));
        let waits = format!("printf x > {}; cat {}", alive.arg(), gate.arg());
        let worker = format!("case $TEAM_EXECUTOR_TASK in A) {waits};; esac; echo did it");
        let run = ["run", SESSION, "--agent-command", &worker, "-y", "-c2"];
        let mut command = world.command(&[&run[..], more].concat());
        let executor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        alive.wait_alive(1);
        Self { world, gate, executor }
    }
}

/// R: U-04, U-03
#[test]
fn running_run_says_its_bounds_and_what_is_expected() {
    let world = session(&[("OLD", "")]);
    let earlier = world.run(&["run", SESSION, "--agent-command", "true", "-y"]);
    assert_eq!(earlier.code, Some(0), "{earlier}");
    // Another session, with roles that are known by now.
    let table = "id,title,deps,role\nA,Do A,,worker\nB,Do B,A,worker\nC,Do C,B,worker\n";
    world.write(".workflow/.team/TC-x/tasks.csv", table);
    let mut run = Gated::with(world, &["--budget-wall", "1h"]);
    let page = Served::start(&run.world, &[]);
    let list = page.document("/api/runs");
    let name = list["runs"].as_array().expect("runs").iter().find(|run| run["state"] == "running").expect("it runs");
    let name = name["run"].as_str().expect("a name");
    let shown = page.document(&format!("/api/runs/{name}"));
    assert_eq!(shown["most_workers"], 2);
    let budget = &shown["budgets"][0];
    assert_eq!(
        (&budget["measure"], &budget["most"], shown["budgets"].as_array().map(Vec::len)),
        (&"wall".into(), &3_600_000.into(), Some(1))
    );
    assert!(budget["used"].is_u64(), "{budget}");
    assert!(shown["left_ms"].is_u64(), "{shown}");
    let trace = shown["commands"]["trace"].as_str().expect("a command");
    let traced = run.world.shell(&format!("{trace} && cat trace.json"));
    assert!(traced.code == Some(0) && traced.stdout.contains("traceEvents"), "{traced}");
    let future = page.document(&format!("/api/runs/{name}/attempts"))["future"].clone();
    let tasks: Vec<_> = future.as_array().expect("a list").iter().map(|one| one[0].clone()).collect();
    assert_eq!(tasks, [0, 1, 2], "A is at work, then B, then C: {future}");
    assert_eq!(future[0][2], future[1][1], "B follows on A: {future}");
    run.gate.open();
    assert!(run.executor.limited_wait().success());
    // The page reads a run only so often.
    limited_until("nothing is expected of a run that is over", || {
        let over = page.document(&format!("/api/runs/{name}"));
        (over["left_ms"].is_null() && over["most_workers"].is_null()).then_some(())
    });
}

/// R: U-04, U-05
#[test]
fn stream_tells_what_happens_with_the_numbers_of_the_journal() {
    let mut run = Gated::start(&[("A", ""), ("B", "A")]);
    let page = Served::start(&run.world, &[]);
    let name = only_run(&page);
    let seq = page.document(&format!("/api/runs/{name}"))["seq"].as_u64().expect("a number");
    let open = |known: u64| {
        let mut stream = page.connect();
        let headers = page.headers();
        let request = format!("GET /api/stream?run={name} HTTP/1.1\r\n{headers}Last-Event-ID: {name}:{known}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        BufReader::new(stream)
    };
    let mut lines = open(seq);
    let mut next = |wanted: &str| -> (u64, Value) {
        let (mut id, mut line, mut told) = (0, String::new(), String::new());
        let before = std::time::Instant::now();
        loop {
            line.clear();
            // The stream says again and again that it is there.
            assert!(lines.read_until_line(&mut line) > 0 && before.elapsed() < LIMIT, "{wanted}: {told}");
            told += &line;
            if let Some(number) = line.trim_end().strip_prefix("id: ").and_then(|id| id.rsplit_once(':')) {
                id = number.1.parse().expect("a number");
            }
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let event: Value = serde_json::from_str(data).expect("JSON");
            assert_eq!(event["run"], name.as_str());
            let there = &event["change"][wanted];
            if wanted.is_empty() || there.is_object() || there.is_boolean() {
                return (id, event["change"].clone());
            }
        }
    };
    assert_eq!(next("executor").1["executor"], true);
    run.gate.open();
    let (first, change) = next("tasks");
    assert!(first > seq, "{first} {seq}");
    assert!(change["tasks"].get("A").is_some(), "{change}");
    // What comes together is told together.
    let mut last = (first, change);
    while last.1["executor"] != false {
        if last.1["tasks"]["B"][0] == 3 {
            assert_eq!(last.1["counts"]["completed"], 2);
        }
        last = next("");
    }
    assert!(run.executor.limited_wait().success());
    // A reader who was away is told what it missed, from the number that it knows.
    let mut late = String::new();
    let mut missed = open(seq);
    let before = std::time::Instant::now();
    while !late.contains("\"B\":[3") {
        let mut line = String::new();
        assert!(missed.read_until_line(&mut line) > 0 && before.elapsed() < LIMIT, "{late}");
        late += &line;
    }
    assert!(late.contains("\"A\":["), "{late}");
}

/// A line of a stream, with the limit of its socket.
trait Lines {
    fn read_until_line(&mut self, line: &mut String) -> usize;
}

impl<R: std::io::Read> Lines for BufReader<R> {
    fn read_until_line(&mut self, line: &mut String) -> usize {
        let mut bytes = Vec::new();
        let count = self.read_until(b'\n', &mut bytes).expect("a line in time");
        line.push_str(&String::from_utf8_lossy(&bytes));
        count
    }
}

/// R: U-04
#[test]
fn page_steers_a_run_through_its_control_socket() {
    let mut run = Gated::start(&[("A", ""), ("B", "A"), ("C", "A")]);
    let page = Served::start(&run.world, &[]);
    let name = only_run(&page);
    let done = |request: Value| {
        let answer = page.ask(&name, &control(request));
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_slice::<Value>(&answer.body).expect("JSON")
    };
    let paused = done(json!({"request": "pause", "reason": "a look"}));
    assert_eq!(paused["stage"], "paused", "{paused}");
    let shown = page.document(&format!("/api/runs/{name}"));
    assert_eq!((&shown["stage"], &shown["reason"]), (&"paused".into(), &"a look".into()));
    done(json!({"request": "resume"}));
    done(json!({"request": "skip", "task": "C", "reason": "not needed"}));
    let refused = page.ask(&name, &control(json!({"request": "skip", "task": "nothing", "reason": ""})));
    assert_eq!(refused.status, 409, "{refused:?}");
    for foreign in [
        json!({"request": "whose"}),
        json!({"request": "activity"}),
        json!({"request": "subscribe", "from": 1, "live": false}),
        json!({"request": "progress", "attempt": "x/A/1", "words": "x"}),
        json!({"request": "create", "task": "N", "title": "", "description": "", "role": "worker", "deps": []}),
        json!({"request": "explode"}),
    ] {
        assert_eq!(page.ask(&name, &control(foreign.clone())).status, 409, "{foreign}");
    }
    for wrong in [
        json!([]),
        json!({"to": "start", "request": {}}),
        json!({"to": "talk", "request": {"task": "A", "text": "hi"}}),
    ] {
        assert_eq!(page.ask(&name, &wrong).status, 409, "{wrong}");
    }
    run.gate.open();
    assert!(run.executor.limited_wait().code().is_some());
    let tasks = page.document(&format!("/api/runs/{name}/tasks"));
    assert_eq!(tasks["status"], json!([3, 3, 5]), "{tasks}");
    let gone = page.ask(&name, &control(json!({"request": "pause", "reason": ""})));
    assert_eq!(gone.status, 409, "nothing runs: {gone:?}");
}

/// R: U-04
#[test]
fn log_is_read_in_windows_and_searched_as_a_whole() {
    let world = session(&[("A", "")]);
    let worker = "seq 1 5000; echo 'It FAILED here'; seq 5001 9999; echo to stderr >&2; printf 'no end'";
    let run = world.run(&["run", SESSION, "--agent-command", worker, "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    let page = Served::start(&world, &[]);
    let name = only_run(&page);
    let log = |query: &str| page.document(&format!("/api/runs/{name}/tasks/A/log?{query}"));
    let begin = log("from=0&count=3");
    assert_eq!((&begin["total"], &begin["lines"]), (&10_001.into(), &json!(["1", "2", "3"])));
    assert_eq!(log("from=5000&count=1")["lines"], json!(["It FAILED here"]));
    let end = log("count=2");
    assert_eq!((&end["from"], &end["lines"]), (&9_999.into(), &json!(["9999", "no end"])));
    let found = log("find=failed");
    assert_eq!((&found["hits"], &found["hits_total"]), (&json!([5000]), &1.into()));
    assert_eq!(log("find=nowhere")["hits_total"], 0);
    assert_eq!(log("error=1")["hits"], json!([5000]), "the first error");
    assert_eq!(log("find=99&count=1")["hits_total"], 280);
    assert_eq!(log("stream=stderr&from=0")["lines"], json!(["to stderr"]));
    assert_eq!(page.get(&format!("/api/runs/{name}/tasks/A/log?attempt=2")).status, 409);
    let text = page.get(&format!("/api/runs/{name}/tasks/A/log/text"));
    assert!(text.head.contains("transfer-encoding: chunked"), "{}", text.head);
    assert!(text.text().contains("no end"), "the whole log");
}

/// R: U-04
#[test]
fn page_beside_a_run_ends_without_open_tabs() {
    let world = session(&[("A", "")]);
    let run = world.run(&["run", SESSION, "--agent-command", "true", "-y", "--ui", "--format", "json"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    let first: Value = serde_json::from_str(run.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["type"], "page");
    let address = first["address"].as_str().expect("an address");
    let port: u16 =
        address.split('/').nth(2).and_then(|host| host.rsplit_once(':')).expect("a port").1.parse().expect("a number");
    limited_until("the end of the page", || std::net::TcpStream::connect(("127.0.0.1", port)).is_err().then_some(()));
}
