//! That nothing is lost between the model and the table, whatever the texts are, and that no text does harm.

use proptest::prelude::*;
use team_executor_core::{
    ExecMode, Graph, Position, Priority, Role, RoleName, RunOn, Session, SessionId, Task, TaskId, TaskIndex,
    TaskStatus, Verdict,
};

use super::loaded;
use crate::Finding;
use crate::tasks_csv::{ROW, patch, write};

/// Anything that a cell may have to hold.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,20}", "[,;\"\r\n\t =@'-]{0,8}", "[\\PC\n]{0,12}", "[ä…]{495,505}"]
}

/// A text that says something.
fn some_text() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), text().prop_map(|text| Some(text).filter(|text| !text.is_empty()))]
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

/// A task that waits for some of those before it. What must go with its status is there.
fn task(number: usize) -> impl Strategy<Value = Task> {
    let before = || prop::sample::subsequence((0..number).collect::<Vec<_>>(), 0..=number.min(3));
    let words = (
        one_of(TaskStatus::ALL),
        one_of(ExecMode::ALL),
        one_of(Position::ALL),
        one_of(RunOn::ALL),
        one_of(Priority::ALL),
        prop::option::of(one_of(Verdict::ALL)),
    );
    let numbers = (0u32..4, prop::option::of(0.0..=100.0f64), 0..3usize);
    let texts = (text(), text(), some_text(), some_text());
    (texts, words, numbers, before(), before()).prop_map(move |(texts, words, numbers, before, context)| {
        let role = RoleName::parse(["developer", "tester", "worker"][numbers.2]).unwrap();
        let mut task = Task::new(id(number), role);
        (task.title, task.description, task.findings, task.error) = texts;
        (task.status, task.exec_mode, task.position, task.run_on, task.priority, task.verdict) = words;
        (task.attempt_count, task.quality_score, _) = numbers;
        task.dependencies = before.into_iter().map(id).collect();
        task.context_from = context.into_iter().map(id).collect();
        match task.status {
            TaskStatus::Ready => task.status = TaskStatus::Pending,
            TaskStatus::Completed => task.findings = task.findings.or(Some("done".to_owned())),
            TaskStatus::Failed | TaskStatus::Skipped => task.error = task.error.or(Some("why".to_owned())),
            _ => {}
        }
        task.take_planner_notes();
        if task.title.trim().is_empty() {
            task.title = format!("Do {number}");
        }
        task
    })
}

fn id(number: usize) -> TaskId {
    let shape = ["IMPL-00#", "#", "任务-#", "a b,#", "=-#"][number % 5];
    TaskId::parse(&shape.replace('#', &number.to_string())).unwrap()
}

/// A session of which the table can hold everything.
fn session() -> impl Strategy<Value = (Session, Graph)> {
    let tasks = (0..8usize).prop_flat_map(|count| (0..count).map(task).collect::<Vec<_>>());
    tasks.prop_map(|mut tasks| {
        let graph = Graph::seal(&tasks).graph.unwrap();
        let mut session = Session::new(SessionId::parse("EX-1").unwrap());
        for (index, task) in (0..).map(TaskIndex).zip(&mut tasks) {
            task.declared_wave = Some(graph.wave(index));
            if session.role(task.role.as_str()).is_none() {
                let prefix = task.id.as_str().split('-').next().unwrap().to_owned();
                session.roles.push(Role { prefix, ..Role::new(task.role.clone()) });
            }
        }
        session.tasks = tasks;
        (session, graph)
    })
}

/// A text that is nearly a table of tasks.
fn table_like() -> impl Strategy<Value = String> {
    let name = prop::sample::select(ROW.fields.iter().map(|field| field.name).collect::<Vec<_>>());
    const ODD: [&str; 10] = ["A;B", "\"A, 1\"", "done", "csv-wave", " x", "\"a\"\"b\"", "\"", "ä\n", "\0", ",,"];
    let odd = prop::sample::select(&ODD[..]).prop_map(str::to_owned);
    let cell = prop_oneof![3 => "[AB1-3]?", 2 => odd, 1 => "\\PC{0,6}"];
    let header = prop::collection::vec(prop_oneof![4 => name.prop_map(str::to_owned), 1 => "\\PC{0,4}"], 0..6);
    let rows = prop::collection::vec(prop::collection::vec(cell, 0..7), 0..6);
    (header, rows).prop_map(|(header, rows)| {
        let rows: String = rows.iter().map(|row| format!("{}\n", row.join(","))).collect();
        format!("id,{}\n{rows}", header.join(","))
    })
}

proptest! {
    /// R: W-05
    #[test]
    fn written_table_reads_back_without_findings((session, graph) in session()) {
        let text = write(None, &session, &graph);
        let again = loaded(&text);
        prop_assert_eq!(again.findings.iter().collect::<Vec<_>>(), Vec::<&Finding>::new());
        let mut read = again.session.unwrap().0;
        read.tasks.iter_mut().for_each(|task| task.details.clear());
        prop_assert_eq!(&read, &session);
        prop_assert_eq!(write(Some(&text), &read, &graph), text);
    }

    /// R: M-03
    #[test]
    fn extra_columns_and_surplus_cells_survive(
        (session, graph) in session(),
        name in "[ x]{1,3}",
        extra in prop::collection::vec((text(), prop::collection::vec(text(), 0..3)), 8),
    ) {
        let mut before = String::new();
        crate::csv::write_record(&mut before, ["id", &name].into_iter());
        for (task, (note, surplus)) in session.tasks.iter().zip(&extra).rev() {
            let cells = [task.id.as_str(), note].into_iter().chain(surplus.iter().map(String::as_str));
            crate::csv::write_record(&mut before, cells);
        }
        let after = write(Some(&before), &session, &graph);
        let table = crate::csv::parse(&after).unwrap();
        prop_assert_eq!(&*table.header().get(1).unwrap().value, &*name);
        prop_assert_eq!(table.records().len(), session.tasks.len());
        for (record, (note, surplus)) in table.records().zip(&extra) {
            prop_assert_eq!(&*record.get(1).unwrap().value, note);
            let kept: Vec<_> = record.cells().skip(table.header().len()).map(|cell| cell.value.into_owned()).collect();
            prop_assert_eq!(&kept, surplus);
        }
    }

    /// R: P-05
    #[test]
    fn a_table_stays_but_for_the_row_that_changed(
        text in prop_oneof![table_like(), table_like().prop_map(|text| text.replace('\n', "\r\n"))],
        nth in any::<prop::sample::Index>(),
    ) {
        let Some((mut session, graph)) = loaded(&text).session else { return Ok(()) };
        prop_assert_eq!(&patch(&text, &session, &graph), &text);
        if session.tasks.is_empty() {
            return Ok(());
        }
        let changed = nth.index(session.tasks.len());
        let task = &mut session.tasks[changed];
        (task.status, task.findings, task.error) = (TaskStatus::Completed, Some("done, now".to_owned()), None);
        let after = patch(&text, &session, &graph);
        let tasks = |session: Session| session.tasks.into_iter().map(|task| (task.id, task.status, task.findings));
        prop_assert!(tasks(loaded(&after).session.unwrap().0).eq(tasks(session.clone())), "{after:?}");
        let (old, new) = (crate::csv::parse(&text).unwrap(), crate::csv::parse(&after).unwrap());
        let raw = |text: &str, record: crate::csv::Record<'_, '_>| -> Vec<String> {
            record.cells().map(|cell| text[cell.start as usize..cell.end as usize].to_owned()).collect()
        };
        let (columns, added) = (old.header().len(), new.header().len() - old.header().len());
        prop_assert_eq!(old.records().len(), new.records().len());
        let id = session.tasks[changed].id.as_str();
        for (before, now) in old.records().zip(new.records()).filter(|(old, _)| old.get(0).unwrap().value.trim() != id) {
            let (mut before, mut now) = (raw(&text, before), raw(&after, now));
            if added > 0 {
                before.resize(before.len().max(columns), String::new());
                now.drain(columns..columns + added);
            }
            prop_assert_eq!(before, now);
        }
    }

    #[test]
    fn no_text_does_harm_and_every_place_exists(text in prop_oneof![4 => table_like(), 1 => "\\PC*"]) {
        let read = loaded(&text);
        for place in read.findings.iter().flat_map(|finding| finding.place.iter().chain(&finding.related)) {
            if let (Some(span), Some(source)) = (place.span, read.sources.get(&place.file)) {
                prop_assert!(source.text().get(span.range()).is_some(), "{span:?} of {text:?}");
            }
        }
        if let Some((session, graph)) = read.session {
            let written = write(Some(&text), &session, &graph);
            // A cell that is written as the format demands needs no detail any more.
            let plain = |task| Task { declared_wave: None, details: Vec::new(), ..task };
            let tasks = |session: Session| session.tasks.into_iter().map(plain);
            let again = loaded(&written).session.unwrap().0;
            prop_assert!(tasks(again).eq(tasks(session)), "{text:?} became {written:?}");
            prop_assert_eq!(write(Some(&written), &loaded(&written).session.unwrap().0, &graph), written);
        }
    }
}
