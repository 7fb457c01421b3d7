use team_executor_core::TaskId;

use super::*;
use crate::folder::MemoryFolder;

const SPEC_KIT: &str = include_str!("../../../../fixtures/import/spec-kit/tasks.md");
const TASK_MASTER: &str = include_str!("../../../../fixtures/import/task-master/tasks.json");
const BEADS: &str = include_str!("../../../../fixtures/import/beads/issues.jsonl");
const CHECK_LIST: &str = include_str!("../../../../fixtures/import/check-list/todo.md");

/// Each task as `id role status<priority: what it waits for`.
fn tasks(imported: &Imported) -> Vec<String> {
    let session = imported.session.as_ref().unwrap_or_else(|| panic!("{:?}", imported.findings));
    let one = |task: &Task| {
        let waits: Vec<_> = task.dependencies.iter().map(TaskId::as_str).collect();
        format!("{} {} {} {}: {}", task.id, task.role, task.status, task.priority, waits.join(" "))
    };
    session.tasks.iter().map(one).collect()
}

fn description<'i>(imported: &'i Imported, id: &str) -> &'i str {
    let session = imported.session.as_ref().expect("a session");
    let task = session.tasks.iter().find(|task| task.id.as_str() == id);
    task.map(|task| task.description.as_str()).unwrap_or_else(|| panic!("no {id}"))
}

fn errors(tool: Tool, text: &str) -> Vec<String> {
    let imported = read(tool, "f", text, None);
    assert!(imported.session.is_none(), "{:?}", imported.session);
    imported.findings.iter().map(|finding| finding.message.clone()).collect()
}

#[test]
fn each_file_is_recognised_by_its_content() {
    let of = |ending: &str, text: &str| Tool::of_file(ending, text);
    assert_eq!(of("md", SPEC_KIT), Some(Tool::SpecKit));
    assert_eq!(of("md", CHECK_LIST), Some(Tool::CheckList));
    assert_eq!(of("json", TASK_MASTER), Some(Tool::TaskMaster));
    assert_eq!(of("jsonl", BEADS), Some(Tool::Beads));
    assert_eq!(of("json", r#"{"tasks":[{"id":1,"title":"t"}]}"#), Some(Tool::TaskMaster));
    for table in [r#"{"tasks":[{"id":1,"role":"r"}]}"#, r#"{"tasks":{"A":{}}}"#, "[]", "{", r#"{"tasks":[{"id":"A"}]}"#]
    {
        assert_eq!(of("json", table), None, "{table}");
    }
    assert_eq!(of("csv", ""), None);
}

/// R: P-07
#[test]
fn spec_kit_phases_and_parallel_marks_give_the_order() {
    let imported = read(Tool::SpecKit, "tasks.md", SPEC_KIT, None);
    assert_eq!(
        tasks(&imported),
        [
            "T001 implementer completed P1: ",
            "T002 implementer pending P1: T001",
            "T003 implementer pending P1: T001",
            "T004 implementer pending P1: T002 T003",
            "T005 implementer pending P1: T004",
            "T006 implementer pending P1: T005 T004",
            "T007 implementer pending P1: T004",
            "T008 implementer pending P1: T006 T007",
        ]
    );
    assert_eq!(imported.session.as_ref().map(|session| session.requirement.as_str()), Some("Gift cards"));
    assert_eq!(
        imported.left,
        ["check boxes without an id such as T001 (1): 'Tidy up'", "lines of text that are no tasks (1)"]
    );
    let text = description(&imported, "T004");
    assert!(text.starts_with("Write the schema in src/db/schema.sql\n\nNotes:\n- One table"), "{text}");
    assert_eq!(errors(Tool::SpecKit, "- [ ] T001 a\n- [ ] T002 b\n- [ ] T001 c\n")[0], "task id 'T001' is not unique");
    let unknown = errors(Tool::SpecKit, "- [ ] T001 a (depends on T009)\n");
    assert_eq!(unknown, ["task 'T001' depends on 'T009', which does not exist"]);
}

/// R: P-07
#[test]
fn task_master_subtasks_come_before_their_task() {
    let imported = read(Tool::TaskMaster, "tasks.json", TASK_MASTER, None);
    assert_eq!(
        tasks(&imported),
        [
            "1 implementer completed P0: ",
            "2.1 implementer completed P1: 1",
            "2.2 implementer pending P1: 2.1 1",
            "2 implementer pending P1: 1 2.1 2.2",
            "4 implementer pending P2: 2",
        ]
    );
    assert_eq!(
        imported.left,
        [
            "other tags with their tasks (1): later (1)",
            "cancelled or deferred tasks; nothing waits for them any more (1): 3"
        ]
    );
    let text = description(&imported, "2");
    assert_eq!(text, "Customers buy cards.\n\nTest strategy:\nBuy a card in the test shop.\n\ncomplexity:\n7");
    let later = read(Tool::TaskMaster, "tasks.json", TASK_MASTER, Some("later"));
    assert_eq!(tasks(&later), ["1 implementer pending P1: "]);
    let none = read(Tool::TaskMaster, "tasks.json", TASK_MASTER, Some("x"));
    assert_eq!(none.findings.iter().map(|f| f.message.as_str()).collect::<Vec<_>>(), ["no tag 'x'"]);
    let legacy = r#"{"tasks":[{"id":1,"title":"t","dependencies":[2]}]}"#;
    assert_eq!(errors(Tool::TaskMaster, legacy), ["task '1' depends on '2', which does not exist"]);
    assert_eq!(errors(Tool::TaskMaster, r#"{"tasks":[{"id":1}]}"#).len(), 1);
}

/// R: P-07
#[test]
fn beads_blocks_and_parents_give_the_order() {
    let imported = read(Tool::Beads, "issues.jsonl", BEADS, None);
    assert_eq!(
        tasks(&imported),
        [
            "shop-1 implementer pending P0: shop-2 shop-3",
            "shop-2 implementer completed P0: ",
            "shop-3 backend pending P1: shop-2",
            "shop-4 implementer pending P2: ",
        ]
    );
    assert_eq!(
        imported.left,
        [
            "deleted or deferred issues; nothing waits for them any more (1): shop-5",
            "dependencies that only relate issues (1): shop-4 discovered-from shop-3"
        ]
    );
    let text = description(&imported, "shop-3");
    assert!(text.contains("Design:\nOne booking a card") && text.contains("estimated_minutes:\n60"), "{text}");
    let imported = read(Tool::Beads, "f", "{\"id\":\"a\",\"title\":\"t\"}\n{\"id\":\"b\",\"title\":1}\n", None);
    let place = imported.findings.iter().find_map(|finding| finding.place.clone()).expect("a place");
    assert_eq!(place.span, Some(Span::new(41, 42)), "{place:?}");
    assert_eq!(errors(Tool::Beads, "{\"id\":\"a\",\"title\":\"t\",\"status\":\"odd\"}").len(), 1);
}

/// R: P-07
#[test]
fn claude_tasks_are_blocked_from_both_ends() {
    let file = |name: &str| -> &str {
        match name {
            "1.json" => include_str!("../../../../fixtures/import/claude-tasks/1.json"),
            "2.json" => include_str!("../../../../fixtures/import/claude-tasks/2.json"),
            _ => include_str!("../../../../fixtures/import/claude-tasks/10.json"),
        }
    };
    let folder =
        ["1.json", "2.json", "10.json"].iter().fold(MemoryFolder::default(), |f, name| f.with(name, file(name)));
    let imported = read_list(&folder.clone().with(".lock", "").with(".highwatermark", "10"), "list");
    let expected =
        ["1 implementer completed P1: ", "2 backend pending P1: 1", "10 implementer pending P1: 2"].map(str::to_owned);
    assert_eq!(tasks(&imported), expected);
    assert!(description(&imported, "10").contains("Metadata:\n{ \"ticket\""), "{}", description(&imported, "10"));
    let broken = read_list(&folder.with("3.json", "{\"id\": \"3\"}"), "list");
    let place = broken.findings.iter().find_map(|finding| finding.place.clone()).expect("a place");
    assert_eq!(&*place.file, "3.json");
    let only_blocks = MemoryFolder::default()
        .with("1.json", r#"{"id":"1","subject":"a","blocks":["2"]}"#)
        .with("2.json", r#"{"id":"2","subject":"b"}"#);
    assert_eq!(tasks(&read_list(&only_blocks, "l"))[1], "2 implementer pending P1: 1");
}

/// R: P-07
#[test]
fn check_list_items_run_in_order_and_groups_are_told() {
    let imported = read(Tool::CheckList, "todo.md", CHECK_LIST, None);
    assert_eq!(
        tasks(&imported),
        [
            "ITEM-001 implementer completed P1: ",
            "ITEM-003 implementer pending P1: ITEM-001",
            "ITEM-004 implementer pending P1: ITEM-001",
            "GUIDE-001 implementer pending P1: ITEM-003 ITEM-004",
            "ITEM-006 implementer pending P1: GUIDE-001",
        ]
    );
    assert_eq!(
        description(&imported, "ITEM-003"),
        "Write the form\n\nNotes:\nKeep the old prices.\n\nPart of:\nSell a card\n\nSection:\nShop"
    );
    assert_eq!(
        imported.left,
        ["groups; the items below them name their group (1): 'Sell a card'", "lines of text that are no items (1)"]
    );
    assert_eq!(errors(Tool::CheckList, "# nothing\n"), ["f has no tasks (check list)"]);
}
