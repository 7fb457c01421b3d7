//! What is written, what survives, and what a wave is given.

use team_executor_core::{Graph, Task, TaskId, TaskIndex, TaskStatus};

use super::*;
use crate::tasks_csv::{patch, write_results, write_wave};

/// R: M-03
#[test]
fn extra_columns_surplus_cells_and_foreign_references_survive() {
    let text = "note,id,deps,context_from,hint, Note \n\
                \" keep, me \",2,1,other session;1,\"a\"\"b\",z,surplus,\"more, of it\"\n\
                first,1,,,,\n";
    let expected = "note,id,deps,context_from,hint,\" Note \",title,description,exec_mode,role,wave,status,findings,error\n\
                    \" keep, me \",2,1,other session;1,\"a\"\"b\",z,,,csv-wave,worker,2,pending,,,surplus,\"more, of it\"\n\
                    first,1,,,,,,,csv-wave,worker,1,pending,,\n";
    assert_eq!(rewritten(text), expected);
    assert_eq!(rewritten(expected), expected);
    let (mut session, graph) = loaded(text).session.unwrap();
    session.tasks[0].context_from.clear();
    assert!(write(Some(text), &session, &graph).contains(",other session,"), "only the task's own reference goes");
}

/// R: P-05
#[test]
fn only_the_cells_of_a_changed_row_change() {
    let text = "\u{FEFF}note,id,depends_on,status , findings,\"error\"\r\n\
                \" keep, me \",2,\"1\",\"todo\",\"\",\r\n\
                first, 1 ,,done,\"a \"\"b\"\"\" ,\r\n\r\nshort,3";
    let (mut session, graph) = loaded(text).session.unwrap();
    assert_eq!(patch(text, &session, &graph), text);
    session.tasks[0].status = TaskStatus::Completed;
    session.tasks[0].findings = Some("one, two".to_owned());
    let expected = text.replace("\"todo\",\"\"", "completed,\"one, two\"");
    assert_eq!(patch(text, &session, &graph), expected);
    session.tasks[2].status = TaskStatus::Failed;
    session.tasks[2].error = Some("why".to_owned());
    assert_eq!(patch(text, &session, &graph), format!("{expected},,failed,,why"));
    session.tasks[2].attempt_count = 1;
    let expected = format!(
        "{},,failed,,why,1",
        expected.replace(",\r\n", ",,\r\n").replace("\"error\"\r\n", "\"error\",attempt_count\r\n")
    );
    assert_eq!(patch(text, &session, &graph), expected);
}

/// R: P-05
#[test]
fn a_column_is_added_only_for_what_it_has_to_hold() {
    let text = "id,title,wave\nA,one,1\nB,two,2\n";
    let (mut session, graph) = loaded(text).session.unwrap();
    session.tasks[0].status = TaskStatus::Completed;
    session.tasks[0].findings = Some("x".to_owned());
    assert_eq!(patch(text, &session, &graph), "id,title,wave,status,findings\nA,one,1,completed,x\nB,two,2,pending,\n");
    session.tasks.push(Task { dependencies: vec![session.tasks[0].id.clone()], ..session.tasks[1].clone() });
    session.tasks[2].id = TaskId::parse("C").unwrap();
    let graph = Graph::seal(&session.tasks).graph.unwrap();
    let expected = "id,title,wave,deps,status,findings\nA,one,1,,completed,x\nB,two,2,,pending,\nC,two,2,A,pending,\n";
    assert_eq!(patch(text, &session, &graph), expected);
}

/// R: W-05
#[test]
fn without_an_original_the_columns_are_those_of_the_format() {
    let (mut session, graph) = loaded("id,title,deps\nB,x,A\nA,y,\n").session.unwrap();
    session.tasks[1].status = TaskStatus::Ready;
    let expected = format!("{HEADER}\nB,x,,A,,csv-wave,worker,2,pending,,\nA,y,,,,csv-wave,worker,1,pending,,\n");
    assert_eq!(write(None, &session, &graph), expected);
    for useless in ["", "title\nx\n", "id\n\"open\n"] {
        assert_eq!(write(Some(useless), &session, &graph), expected);
    }
}

#[test]
fn missing_findings_and_errors_are_put_into_words() {
    let (mut session, graph) = loaded("id,title\nA,x\nB,x\nC,x\n").session.unwrap();
    let statuses = [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Skipped];
    session.tasks.iter_mut().zip(statuses).for_each(|(task, status)| task.status = status);
    let text = write(None, &session, &graph);
    assert!(
        text.contains("completed,nothing was reported,\n") && text.contains("failed,,no reason was given\n"),
        "{text}"
    );
    assert_eq!(loaded(&text).findings.iter().count(), 0, "{text}");
}

/// R: W-10
#[test]
fn long_findings_are_cut_and_kept_beside() {
    let (mut session, graph) = loaded(&format!("{HEADER}\n1,x,,,,csv-wave,r,1,completed,f,\n")).session.unwrap();
    let whole = "ä".repeat(501);
    session.tasks[0].findings = Some(whole.clone());
    let text = write(None, &session, &graph);
    assert_eq!(
        text,
        format!("{HEADER},findings_full\n1,x,,,,csv-wave,r,1,completed,{} […],,{whole}\n", "ä".repeat(496))
    );
    assert_eq!(found(&text), []);
    assert_eq!(loaded(&text).session.unwrap().0, session);
    let edited = text.replacen("ää", "", 1);
    assert_eq!(found(&edited)[0].0, "`findings_full` was ignored, because `findings` says something else");
    session.tasks[0].findings = Some("ä".repeat(500));
    assert!(write(Some(&text), &session, &graph).ends_with("ä,,\n"), "nothing is cut, nothing is kept beside");
}

#[test]
fn overlong_text_is_cut_and_the_table_stays_readable() {
    let (mut session, graph) = loaded(&format!("{HEADER}\n1,x,,,,csv-wave,r,1,pending,,\n")).session.unwrap();
    session.tasks[0].description = "ä\"".repeat(crate::csv::MAX_CELL_BYTES);
    let text = write(None, &session, &graph);
    assert_eq!(found(&text), []);
}

#[test]
fn results_hold_no_formulas() {
    let rows = "-1,=1+1,+x,,,csv-wave,r,1,completed,\"@a\",\"\t=b\"\nA,a=b,,,,csv-wave,r,1,failed,,\"\rx\"\n";
    let (session, graph) = loaded(&format!("{HEADER}\n{rows}")).session.unwrap();
    let expected = "'-1,'=1+1,'+x,,,csv-wave,r,1,completed,'@a,'\t=b\nA,a=b,,,,csv-wave,r,1,failed,,\"'\rx\"\n";
    assert_eq!(write_results(&session, &graph, (&[], &|_| Vec::new())), format!("{HEADER}\n{expected}"));
    let more = write_results(&session, &graph, (&["more"], &|index| vec![index.0.to_string()]));
    assert!(
        more.starts_with(&format!("{HEADER},more\n")) && more.lines().nth(1).is_some_and(|row| row.ends_with(",0")),
        "{more}"
    );
    assert!(write(None, &session, &graph).contains(",=1+1,"), "the master table is left alone");
}

/// R: W-07
#[test]
fn a_wave_is_given_the_findings_that_it_builds_on() {
    let rows = "1,a,,,,csv-wave,r,1,completed,first,\n2,b,,,,csv-wave,r,1,failed,,why\n\
                3,c,,1;2,2;1;2,csv-wave,r,2,pending,,\n4,d,,1,1,interactive,r,2,pending,,\n5,e,,1,,csv-wave,r,2,pending,,\n";
    let (session, graph) = loaded(&format!("{HEADER}\n{rows}")).session.unwrap();
    let expected = format!(
        "{HEADER},prev_context\n3,c,,1;2,2;1;2,csv-wave,r,2,pending,,,\"[Task 1] first\n\n[Task 2] \"\n\
         5,e,,1,,csv-wave,r,2,pending,,,\n"
    );
    assert_eq!(write_wave(&session, &graph, &[TaskIndex(2), TaskIndex(4), TaskIndex(9)]), expected);
}
