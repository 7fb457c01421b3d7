use super::*;
use crate::dialect::Dialect;
use crate::folder::MemoryFolder;
use crate::load::{Loaded, load};

fn folder(files: &[(&str, &str)]) -> MemoryFolder {
    files.iter().fold(MemoryFolder::default(), |folder, (name, text)| folder.with(name, *text))
}

fn loaded(files: &[(&str, &str)]) -> Loaded {
    load(&folder(files), "WFS-x", None)
}

/// Each task as `id role status wave: what it waits for`.
fn tasks(loaded: &Loaded) -> Vec<String> {
    let (session, graph) = loaded.session.as_ref().unwrap_or_else(|| panic!("{:?}", loaded.findings));
    let one = |task: &Task| {
        let waits: Vec<_> = task.dependencies.iter().map(TaskId::as_str).collect();
        let wave = graph.index_of(task.id.as_str()).map_or(0, |index| graph.wave(index));
        format!("{} {} {} {wave}: {}", task.id, task.role, task.status, waits.join(" "))
    };
    session.tasks.iter().map(one).collect()
}

fn said(loaded: &Loaded) -> Vec<&str> {
    loaded.findings.iter().map(|finding| finding.message.as_str()).collect()
}

const A: (&str, &str) = ("tasks/A.json", r#"{"id":"A","title":"a"}"#);
const B: (&str, &str) = ("tasks/B.json", r#"{"id":"B","title":"b"}"#);

/// R: P-06
#[test]
fn per_task_files_are_a_session() {
    let read = loaded(&[
        (
            ".task/IMPL-001.json",
            r#"{"id":"IMPL-001","title":"Form","description":"Write it","status":"pending","meta":{"agent":"@dev","type":"feature"},
                "context":{"requirements":["r1"],"depends_on":["IMPL-002"]}}"#,
        ),
        (".task/IMPL-002.json", r#"{"id":"IMPL-002","title":"Base","status":"done","priority":"high"}"#),
        (".task/IMPL-003.json", r#"{"id":"IMPL-003","title":"All","status":"container"}"#),
        ("plan.json", r#"{"summary":"Gift cards","task_ids":["IMPL-002","IMPL-001"]}"#),
    ]);
    assert_eq!(read.dialect, Dialect::TaskFiles);
    assert_eq!(tasks(&read), ["IMPL-002 worker completed 1: ", "IMPL-001 dev pending 2: IMPL-002"]);
    assert_eq!(said(&read), [""; 0]);
    let (session, _) = read.session.as_ref().expect("a session");
    assert_eq!((session.id.as_str(), session.requirement.as_str()), ("WFS-x", "Gift cards"));
    let details: Vec<_> = session.tasks[1].details.iter().map(|detail| &*detail.name).collect();
    assert_eq!(details, ["meta", "context"]);
}

/// R: P-06
#[test]
fn statuses_of_reviewing_planners_are_understood() {
    for (word, expected) in [
        ("open", "pending"),
        ("assigned", "pending"),
        ("in_progress", "in_progress"),
        ("pending_review", "completed"),
        ("done", "completed"),
        ("closed", "completed"),
        ("failed", "failed"),
    ] {
        let text = format!(r#"{{"id":"A","title":"a","status":"{word}"}}"#);
        let read = loaded(&[("tasks/A.json", &text)]);
        assert_eq!(tasks(&read), [format!("A worker {expected} 1: ")]);
        assert_eq!(said(&read), [""; 0], "{word}");
    }
    let odd = loaded(&[("tasks/A.json", r#"{"id":"A","title":"a","status":"odd"}"#)]);
    assert!(odd.session.is_none());
}

/// R: P-06
#[test]
fn graph_beside_the_tasks_gives_the_order_or_is_refused() {
    let graph = |text: &str| loaded(&[A, B, ("dependency-graph.json", text)]);
    for text in [
        r#"{"B":["A"]}"#,
        r#"{"dependencies":{"B":["A"],"A":[]}}"#,
        r#"{"graph":{"B":{"depends_on":["A"]}}}"#,
        r#"{"nodes":[{"id":"A"},{"id":"B","depends_on":["A"]}]}"#,
    ] {
        assert_eq!(tasks(&graph(text)), ["A worker pending 1: ", "B worker pending 2: A"], "{text}");
    }
    let edges = r#"{"nodes":["A","B"],"edges":[{"from":"A","to":"B"}]}"#;
    assert_eq!(said(&graph(edges)), ["dependency-graph.json is not understood"]);
    let told = loaded(&[
        A,
        ("tasks/B.json", r#"{"id":"B","title":"b","depends_on":["A"]}"#),
        ("dependency-graph.json", edges),
    ]);
    assert_eq!(tasks(&told), ["A worker pending 1: ", "B worker pending 2: A"]);
    assert_eq!(said(&graph(r#"{"B":["C"]}"#)), ["dependency-graph.json names 'C', which is no task"]);
    let other = loaded(&[
        A,
        ("tasks/B.json", r#"{"id":"B","title":"b","depends_on":[]}"#),
        ("dependency-graph.json", r#"{"B":["A"]}"#),
    ]);
    assert_eq!(said(&other), ["task 'B' and dependency-graph.json say differently what it waits for"]);
    assert!(graph("{").session.is_none());
}

/// R: P-06
#[test]
fn waves_beside_the_tasks_are_read_in_every_form() {
    for text in [
        r#"[["A"],["B"]]"#,
        r#"{"waves":[{"wave":1,"tasks":["A"]},{"wave":2,"tasks":[{"id":"B"}]}]}"#,
        r#"{"1":["A"],"2":["B"]}"#,
    ] {
        let read = loaded(&[A, B, ("tasks/waves.json", text)]);
        let (session, _) = read.session.as_ref().unwrap_or_else(|| panic!("{text}: {:?}", read.findings));
        let waves: Vec<_> = session.tasks.iter().map(|task| task.declared_wave).collect();
        assert_eq!(waves, [Some(1), Some(2)], "{text}");
        assert!(session.waves_are_barriers, "{text}");
    }
    assert_eq!(said(&loaded(&[A, ("waves.json", "7")])), ["waves.json is not understood"]);
    assert_eq!(said(&loaded(&[A, ("waves.json", r#"[["X"]]"#)])), ["waves.json names 'X', which is no task"]);
}

#[test]
fn problems_are_placed_in_the_file_of_their_task() {
    let read = loaded(&[A, ("tasks/B.json", r#"{"id":"B","title":"b","depends_on":["X"]}"#)]);
    let place = read.findings.iter().find_map(|finding| finding.place.clone()).expect("a place");
    assert_eq!(&*place.file, "tasks/B.json");
    let twice = loaded(&[A, ("tasks/C.json", r#"{"id":"A","title":"b"}"#)]);
    assert!(said(&twice).contains(&"task id 'A' is not unique"), "{:?}", said(&twice));
    assert_eq!(
        said(&loaded(&[("tasks/A.json", r#"{"id":"A","status":"open"}"#)])),
        ["task 'A' does not say what to do"]
    );
}
