//! Tables that depart from the format: how they are read, and the findings about them.

use team_executor_core::{ExecMode, Priority, RunOn, Task, TaskStatus};

use super::*;
use crate::Code;

/// R: W-05
#[test]
fn the_columns_of_the_format_are_read_without_a_word() {
    let text = format!(
        "{HEADER}\n1,Build,\"Do it,\nwell\",,,\"csv-wave\",\"implementer\",1,completed,\"said \"\"yes\"\"\",\"\"\n\
         2,Review,Look,1,1,interactive,reviewer,2,pending,,\n"
    );
    assert_eq!(found(&text), []);
    let session = session(&text);
    assert_eq!((session.id.as_str(), session.requirement.as_str(), session.roles.len()), ("EX-1", "", 2));
    let [first, second] = session.tasks.as_slice() else { panic!("two tasks") };
    assert_eq!((first.title.as_str(), first.description.as_str()), ("Build", "Do it,\nwell"));
    assert_eq!((first.status, first.findings.as_deref()), (TaskStatus::Completed, Some("said \"yes\"")));
    assert_eq!((first.error.as_deref(), first.declared_wave), (None, Some(1)));
    assert_eq!((second.exec_mode, second.role.as_str()), (ExecMode::Interactive, "reviewer"));
    assert_eq!((&second.dependencies, &second.context_from), (&vec![first.id.clone()], &vec![first.id.clone()]));
}

#[test]
fn missing_columns_are_done_without() {
    let missing = |name: &str, without: &str| (format!("`{name}` is missing: {without}"), "id".to_owned());
    let expected = vec![
        missing("title", "the id is shown instead"),
        missing("description", "the title is used"),
        missing("deps", "no task waits for another"),
        missing("context_from", "each task is given the findings of its dependencies"),
        missing("exec_mode", "it is `csv-wave`, unless the role's instructions say otherwise"),
        missing("role", "every task has the role `worker`"),
        missing("wave", "it was computed from the dependencies"),
        missing("status", "every task is `pending`"),
        missing("findings", "there are none"),
        missing("error", "there is none"),
    ];
    let finished = "id,status,findings\nIMPL-1,completed,done\n";
    let expected: Vec<_> = expected
        .into_iter()
        .filter(|(message, _)| !message.contains("status` is") && !message.contains("findings` is"))
        .map(|(message, _)| message)
        .collect();
    assert_eq!(found(finished).into_iter().map(|(message, _)| message).collect::<Vec<_>>(), expected);
    assert_eq!(session(finished).tasks[0].role.as_str(), "worker");
    assert!(loaded(finished).findings.iter().all(|finding| finding.code == Code::DefaultUsed));
}

#[test]
fn a_table_without_ids_is_refused() {
    let missing = "!Invalid session: tasks.csv missing required field 'id'";
    assert_eq!(found("title,role\nx,y\n")[0], (missing.to_owned(), "title,role".to_owned()));
    assert_eq!(found("")[0], (missing.to_owned(), String::new()));
    assert_eq!(found_in_rows(",x,,,,csv-wave,r,1,pending,,\n"), pairs(&[(missing, "")]));
    let semicolons = loaded("id;title\n1;x\n");
    let finding = semicolons.findings.iter().next().unwrap();
    assert_eq!((finding.code, finding.help.join("")), (Code::MissingField, "separate the columns by `,`".to_owned()));
}

/// R: W-15
#[test]
fn a_quote_that_is_never_closed_is_found_where_it_opens() {
    let text = format!("{HEADER}\n1,\"open,x\n2,y,,,,,,,,,\n");
    assert_eq!(found(&text), pairs(&[("!Invalid session: tasks.csv corrupt", "\"")]));
    let loaded = loaded(&text);
    let place = loaded.findings.iter().next().and_then(|finding| finding.place.clone()).unwrap();
    let position = loaded.sources.get("tasks.csv").unwrap().position(place.span.unwrap().start);
    assert_eq!((place.label.as_str(), position.line, position.column), ("this quote is never closed", 2, 3));
}

#[test]
fn other_names_of_columns_are_understood() {
    let text = "Task_ID,name, description ,blockedBy,context_from,exec_mode,role,wave,status,findings,error,depends_on\n\
                1,x,,,,csv-wave,r,1,pending,,,\n";
    let expected = [
        ("`Task_ID` was read as `id`", "Task_ID"),
        ("`name` was read as `title`", "name"),
        ("blanks around the name of a column were dropped", " description "),
        ("`blockedBy` was read as `deps`", "blockedBy"),
        ("`depends_on` was ignored, because `deps` is there too", "depends_on"),
    ];
    assert_eq!(found(text), pairs(&expected));
    assert_eq!(session(text).tasks[0].title, "x");
    let canonical = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error,depends_on\n";
    assert_eq!(rewritten(text), format!("{canonical}1,x,,,,csv-wave,r,1,pending,,,\n"));
}

#[test]
fn of_two_columns_with_one_name_the_first_is_read() {
    let text = format!("{HEADER},status\n1,x,,,,csv-wave,r,1,failed,,why,completed\n");
    assert_eq!(found(&text), pairs(&[("`status` stands in the header twice: the first was read", "status")]));
    assert_eq!(session(&text).tasks[0].status, TaskStatus::Failed);
    assert_eq!(rewritten(&text), text);
}

#[test]
fn the_columns_of_a_job_are_kept_and_not_read() {
    let job = "job_id,item_id,row_index,source_id,status,attempt_count,last_error,result_json,reported_at,completed_at";
    let text = format!("{HEADER},{job}\n1,x,,,,csv-wave,r,1,failed,,why,j,1,0,1,completed,1,,{{}},t,t\n");
    assert_eq!(found(&text), pairs(&[("the columns of a job from `job_id` on are kept and not read", "job_id")]));
    let (mut session, graph) = loaded(&text).session.unwrap();
    assert_eq!((session.tasks[0].status, session.tasks[0].attempt_count), (TaskStatus::Failed, 0));
    assert_eq!(write(Some(&text), &session, &graph), text);
    session.tasks[0].attempt_count = 2;
    let retried = write(Some(&text), &session, &graph);
    assert_eq!(retried, text.replace("completed_at\n", "completed_at,attempt_count\n").replace("t,t\n", "t,t,2\n"));
    assert_eq!(loaded(&retried).session.unwrap().0.tasks[0].attempt_count, 2);
}

/// R: P-05, M-06
#[test]
fn two_columns_of_dependencies_must_agree() {
    let table = |other: &str| format!("id,title,deps,blocked_by\nA,a,,\nB,b,,\nC,c,A;B,\"{other}\"\n");
    for same in ["", "B;A", "A, B"] {
        assert!(loaded(&table(same)).session.is_some(), "{same}");
    }
    let refused = found(&table("A"));
    let expected = ("!a row names different tasks in `deps` and `blocked_by`".to_owned(), "\"A\"".to_owned());
    assert!(refused.contains(&expected), "{refused:?}");
}

/// R: M-06
#[test]
fn a_misquoted_row_is_named_by_its_quote() {
    let rows = "1,\"Say \"hi, you\" now\",,,,csv-wave,r,1,pending,,\n2,x,,1,,csv-wave,r,2,pending,,\n";
    assert_eq!(found_in_rows(rows), pairs(&[("!Invalid session: tasks.csv corrupt", "\"")]));
    let escaped = rows.replace("\"hi, you\"", "\\\"hi, you\\\"");
    assert_eq!(found_in_rows(&escaped), pairs(&[("`\\\"` within a quoted cell was read as a quote", "\\\"")]));
    let text = format!("{HEADER}\n{escaped}");
    assert_eq!(session(&text).tasks[0].title, "Say \"hi, you\" now");
}

/// R: M-05
#[test]
fn odd_rows_are_read() {
    let text =
        format!("\u{FEFF}{HEADER}\n1, \"x\",,,,csv-wave,r,1,pending,,,more\n\n,,,\n2,y,,,,csv-wave, r ,1,pending\n");
    let expected = [
        ("a byte order mark at the start was skipped", ""),
        (
            "a row has more cells than the header: the surplus ones have no name",
            "1, \"x\",,,,csv-wave,r,1,pending,,,more",
        ),
        ("blanks around the quotes of a cell were dropped", " "),
        ("blank lines were skipped", "\n"),
        ("a row has fewer cells than the header: the missing ones were read as empty", ",,,"),
        ("a row without any value was skipped", ""),
        ("blanks around a value of `role` were dropped", " r "),
    ];
    assert_eq!(found(&text), pairs(&expected));
    assert_eq!(session(&text).tasks.iter().map(|task| task.title.as_str()).collect::<Vec<_>>(), ["x", "y"]);
}

/// R: M-05
#[test]
fn foreign_statuses_are_read_and_unknown_ones_refused() {
    let row = |id: u8, status: &str| format!("{id},x,,,,csv-wave,r,1,{status},f,e\n");
    let words = ["done", "pass", "planned", "blocked", "warning", "", "Completed", "ready", "timed_out"];
    let text: String = (1..).zip(words).map(|(id, word)| row(id, word)).collect();
    let expected = [
        ("`status` `done` was read as `completed`", "done"),
        ("`status` `pass` was read as `completed`", "pass"),
        ("`status` `planned` was read as `pending`", "planned"),
        ("`status` `blocked` was read as `pending`", "blocked"),
        ("`status` `warning` was read as `completed`", "warning"),
        ("an empty `status` was read as `pending`", ""),
        ("`status` `Completed` was read as `completed`", "Completed"),
        ("`status` `ready` was read as `pending`", "ready"),
        ("`status` `timed_out` was read as `failed`", "timed_out"),
    ];
    assert_eq!(found_in_rows(&text), pairs(&expected));
    let unknown = [("!Invalid session: tasks.csv invalid field 'status'", "nearly")];
    assert_eq!(found_in_rows(&row(1, "nearly")), pairs(&unknown));
}

/// R: M-06
#[test]
fn ambiguous_row_is_an_error() {
    let expected = [("!Invalid session: tasks.csv invalid field 'exec_mode'", "\"batch\"")];
    assert_eq!(found_in_rows("1,x,,,,\"batch\",r,1,pending,,\n"), pairs(&expected));
    let expected = [("!Invalid session: tasks.csv missing required field 'role'", "")];
    assert_eq!(found_in_rows("1,x,,,,csv-wave,,1,pending,,\n"), pairs(&expected));
    let two = "1,x,,,,csv-wave,r,1,pending,,\n1,y,,,,csv-wave,r,1,pending,,\n";
    assert_eq!(found_in_rows(two), pairs(&[("!task id '1' is not unique", "1")]));
    let unknown = [("!task '1' depends on 'B', which does not exist", "B")];
    assert_eq!(
        found_in_rows("1,x,,\"A; B\",,csv-wave,r,2,pending,,\nA,x,,,,csv-wave,r,1,pending,,\n"),
        pairs(&unknown)
    );
}

#[test]
fn a_row_that_stands_there_twice_is_read_once() {
    let row = "1,x,,,,csv-wave,r,1,pending,,\n";
    let expected = [("a row that appears twice was read once", "1")];
    assert_eq!(found_in_rows(&[row, row].concat()), pairs(&expected));
    assert_eq!(session(&format!("{HEADER}\n{row}{row}")).tasks.len(), 1);
}

#[test]
fn lists_with_commas_are_split_and_point_at_their_entries() {
    let rows = "A,x,,,,csv-wave,r,1,pending,,\nB,x,,\"A,no\",nothing;A,csv-wave,r,2,pending,,\n";
    let expected = [
        ("`deps` with `,` between its ids was split there", "\"A,no\""),
        (
            "an entry of `context_from` was ignored: no task, no row of a table beside it and no file has that name",
            "nothing",
        ),
        ("!task 'B' depends on 'no', which does not exist", "no"),
    ];
    assert_eq!(found_in_rows(rows), pairs(&expected));
    let doubled = "A,x,,,,csv-wave,r,1,pending,,\nB,x,,\"A;\"\"no\",,csv-wave,r,2,pending,,\n";
    let expected = [("!task 'B' depends on '\"no', which does not exist", "\"A;\"\"no\"")];
    assert_eq!(found_in_rows(doubled), pairs(&expected));
}

/// R: M-05
#[test]
fn declared_waves_that_contradict_the_dependencies_are_named() {
    let rows = "A,x,,,,csv-wave,r,2,pending,,\nB,x,,A,,csv-wave,r,2,pending,,\nC,x,,A,,csv-wave,r,soon,pending,,\n\
                D,x,,C,,csv-wave,r,,pending,,\nE,x,,D,,csv-wave,r,1,pending,,\n";
    let expected = [
        ("a value of `wave` was ignored: it is not a whole number of at least 1", "soon"),
        ("an empty `wave` was computed from the dependencies", ""),
        ("task 'B' of wave 2 depends on 'A' of wave 2: waves were computed anew", "A"),
    ];
    assert_eq!(found_in_rows(rows), pairs(&expected));
}

#[test]
fn incomplete_state_is_reported_and_a_repair_is_not() {
    let rows = "A,,,,,csv-wave,r,1,completed,,\nB,,,,,csv-wave,r,1,failed,,\nC,,,B,,csv-wave,r,2,completed,fixed,\n\
                CHECKPOINT-1,,,C,,csv-wave,r,3,completed,ok,\nD,,,,,csv-wave,r,1,skipped,,\n";
    let expected = [
        ("a completed task has no findings", "A"),
        ("a failed task has no error", "B"),
        ("a skipped task has no error that says why", "D"),
    ];
    assert_eq!(found_in_rows(rows), pairs(&expected));
}

#[test]
fn unreadable_optional_cells_are_kept() {
    let text = format!(
        "{HEADER},position,run_on,priority,quality_score,supervision_verdict,attempt_count,agent\n\
         1,x,,,,interactive,r,1,pending,,,pre-wave,failure,p0,99.5,warn,3,strong\n\
         2,x,,,,csv-wave,r,1,pending,,,,,high,good,fine,many,\n"
    );
    let expected = [
        ("`priority` `p0` was read as `P0`", "p0"),
        ("a value of `priority` was ignored: it is not one of P0, P1, P2", "high"),
        ("a value of `quality_score` was ignored: it is not a number from 0 to 100", "good"),
        ("a value of `supervision_verdict` was ignored: it is not one of pass, warn, block", "fine"),
        ("a value of `attempt_count` was ignored: it is not a whole number of at least 0", "many"),
    ];
    assert_eq!(found(&text), pairs(&expected));
    let task = &session(&text).tasks[0];
    assert_eq!((task.run_on, task.priority, task.attempt_count), (RunOn::Failure, Priority::P0, 3));
    assert_eq!((task.agent.as_deref(), &session(&text).tasks[1].agent), (Some("strong"), &None));
    assert_eq!(
        (task.position.word(), task.quality_score, task.verdict.map(|v| v.word())),
        ("pre-wave", Some(99.5), Some("warn"))
    );
    assert_eq!(rewritten(&text), text.replace("p0", "P0"));
    let typo = format!("{HEADER},run_on\n1,x,,,,csv-wave,r,1,pending,,,faliure\n");
    assert_eq!(found(&typo), pairs(&[("!Invalid session: tasks.csv invalid field 'run_on'", "faliure")]));
}

#[test]
fn unsaid_findings_and_errors_are_read_as_they_are_written() {
    // The first of them was found by chance: repeated columns are kept, and have no part in it.
    for text in [
        "id,priority,id,priority,status\n1,,,,done\n",
        "id,status,title\n1,completed,\n2,failed,\n3,skipped,\n4,pending,x\n",
    ] {
        let read = session(text);
        let written = rewritten(text);
        let tasks = |session: Session| session.tasks.into_iter().map(|task| Task { declared_wave: None, ..task });
        assert!(tasks(session(&written)).eq(tasks(read)), "{text:?} became {written:?}");
        assert_eq!(rewritten(&written), written);
    }
}

fn details(text: &str) -> Vec<(String, String)> {
    let detail = |detail: &team_executor_core::Detail| (detail.name.to_string(), detail.text.clone());
    session(text).tasks[0].details.iter().map(detail).collect()
}

/// R: P-01
#[test]
fn every_other_column_is_for_the_worker_in_order() {
    let text = "scope,id,title,hints,status,deps,wave,error,Extra One,,name\n\
                src/,A,x,\"a\nb\",pending,,soon,old,y,odd,beside,surplus\n";
    let expected = [
        ("scope", "src/"),
        ("hints", "a\nb"),
        ("wave", "soon"),
        ("Extra One", "y"),
        ("column 10", "odd"),
        ("name", "beside"),
        ("column 12", "surplus"),
    ];
    assert_eq!(details(text), pairs(&expected));
    assert_eq!(details(&format!("{HEADER}\nA,x,d,,,csv-wave,r,1,pending,,\n")), []);
}

/// R: P-02
#[test]
fn other_column_names_are_read() {
    let task = |text: &str| session(text).tasks.remove(0);
    let of = |text: &str| (task(text).title, task(text).description, task(text).role.to_string());
    let texts =
        |title: &str, description: &str, role: &str| (title.to_owned(), description.to_owned(), role.to_owned());
    assert_eq!(of("id,task,status,artifacts,notes\nA,Build,,,\n"), texts("Build", "", "worker"));
    assert_eq!(of("id,subject,task,owner\nA,s,t,@dev\n"), texts("s", "t", "dev"));
    assert_eq!(of("id,title,prompt,assignee\nA,x,p,\n"), texts("x", "p", "worker"));
    assert_eq!(of("id,goal,agent\nA,g,@qa\n"), texts("", "g", "qa"));
    assert_eq!(of("id,goal,role,agent\nA,g,r,codex\n"), texts("", "g", "r"));
    assert_eq!(task("id,goal,role,agent\nA,g,r,codex\n").agent.as_deref(), Some("codex"));
    let skill = "id,skill,args,wave_n,status\nA,plan-it,\"P1 --all\",2,pending\n";
    assert_eq!(of(skill), texts("", "plan-it P1 --all", "worker"));
    assert_eq!((task(skill).declared_wave, details(skill).len()), (Some(2), 2));
    let focus = "id,dimension,focus,target_files,status,findings_json,error\nA,security,auth,src/,pending,,\n";
    assert_eq!(details(focus), pairs(&[("dimension", "security"), ("focus", "auth"), ("target_files", "src/")]));
}

/// R: P-02, M-06
#[test]
fn a_task_without_a_word_to_do_is_an_error() {
    let nothing = |id: &str| (format!("!task '{id}' does not say what to do"), id.to_owned());
    let errors =
        |text: &str| found(text).into_iter().filter(|(message, _)| message.starts_with('!')).collect::<Vec<_>>();
    assert_eq!(
        errors("id,deps,status,done_at,size\nA,,completed,,\nB,\"A,A\",,2026-01-01T00:00:00Z,3\n"),
        [nothing("B")]
    );
    assert_eq!(errors("id,title,description\nA, ,\n"), [nothing("A")]);
    assert_eq!(errors("id,hypothesis\nA,it leaks\n"), []);
    assert_eq!(errors("id,findings\nA,look at the cache\n"), []);
    let folder = MemoryFolder::default().with("tasks.csv", "id,role\nA,dev\n").with("role-specs/dev.md", "# Dev\n");
    assert!(load(&folder, "EX-1", None).session.is_some(), "the role-spec says what to do");
}

/// R: P-01
#[test]
fn notes_of_a_planner_stay_when_findings_take_their_place() {
    let text = format!("{HEADER}\nA,x,,,,csv-wave,r,1,pending,look first,\n");
    let (mut read, graph) = loaded(&text).session.unwrap();
    assert_eq!((read.tasks[0].planner_notes.as_deref(), &read.tasks[0].findings), (Some("look first"), &None));
    assert_eq!(write(Some(&text), &read, &graph), text);
    (read.tasks[0].status, read.tasks[0].findings) = (TaskStatus::Completed, Some("found".to_owned()));
    let written = write(Some(&text), &read, &graph);
    assert_eq!(written, format!("{HEADER},planner_notes\nA,x,,,,csv-wave,r,1,completed,found,,look first\n"));
    read.tasks[0].notes_in_findings = false;
    assert_eq!((found(&written), session(&written)), (vec![], read));
}

/// R: P-02
#[test]
fn the_table_of_a_job_is_pointed_to_the_command_for_jobs() {
    let job = "job_id,item_id,row_index,source_id,status,attempt_count,last_error,result_json,reported_at,completed_at";
    let output = format!("id,url,{job}\n1,x.org,j,1,0,1,completed,1,,{{}},t,t\n");
    for (text, message) in [
        (output.as_str(), "Invalid session: tasks.csv is the table of a job, not of a team"),
        ("url,owner\nx.org,me\n", "Invalid session: tasks.csv missing required field 'id'"),
    ] {
        let loaded = loaded(text);
        let finding = loaded.findings.iter().find(|finding| finding.severity == Severity::Error).unwrap();
        assert_eq!(finding.message, message);
        assert!(finding.help.last().unwrap().contains("team-executor csv tasks.csv --instruction '"), "{finding:?}");
    }
}

/// R: P-01
#[test]
fn context_comes_from_rows_beside_and_from_files() {
    let tasks = "id,title,context_from\nA,x,\nB,x,A;E1;explore.csv#E2;notes/plan.md;pic.png;nowhere;neither\n";
    let folder = MemoryFolder::default()
        .with("tasks.csv", tasks)
        .with("explore.csv", "id,findings\nE1,the cache leaks\nE2,\n")
        .with("wave-1.csv", "id,findings\nnowhere,x\n")
        .with("notes/plan.md", "# Plan\n")
        .with("pic.png", b"\x89PNG\xff".to_vec());
    let loaded = load(&folder, "EX-1", None);
    let unknown: Vec<_> = loaded.findings.iter().filter(|f| f.code == Code::UnknownContext).map(|f| f.times).collect();
    assert_eq!(unknown, [2]);
    let (session, graph) = loaded.session.unwrap();
    let texts: Vec<_> = session.tasks[1].given.iter().map(|given| &*given.text).collect();
    let expected = [
        "[Row E1 of explore.csv] the cache leaks",
        "[Row E2 of explore.csv] no findings",
        "[File notes/plan.md]\n# Plan",
        "[File pic.png] not text: open it there",
    ];
    assert_eq!(texts, expected);
    let wave = crate::tasks_csv::write_wave(&session, &graph, &[team_executor_core::TaskIndex(1)]);
    assert!(wave.ends_with(&format!(",\"[Task A] \n\n{}\"\n", expected.join("\n\n"))), "{wave}");
    let json = r#"{"tasks": {"A": {"title": "x", "role": "r", "context_from": ["E1"]}}}"#;
    let loaded = load(&folder.with("tasks.json", json), "EX-1", Some(Dialect::TasksJson));
    assert_eq!(loaded.session.unwrap().0.tasks[0].given.len(), 1);
}
