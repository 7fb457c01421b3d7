//! A changed plan in the table that a user wrote: other cells of what is planned, and fewer rows.

use std::collections::HashMap;

use team_executor_core::{Graph, Session, Task, TaskIndex};

use super::columns::{Header, ROW};
use super::read::cell_of;
use super::write::{cell, fit};
use crate::csv::{self, write_cell};
use crate::shape::Field;
use crate::span::spliced;
use crate::write::PLANNED;

/// The table changed from one plan to another; nothing if it is no table of these tasks.
pub(crate) fn replan(original: &str, before: (&Session, &Graph), after: (&Session, &Graph)) -> Option<String> {
    let bare = original.strip_prefix('\u{FEFF}').unwrap_or(original);
    let table = csv::parse(bare).ok()?;
    let header = Header::read(table.header());
    let id = header.column("id")?;
    let (was, is) = (by_id(before.0), by_id(after.0));
    let both = || was.iter().filter_map(|(id, was)| Some((*was, *is.get(id)?)));
    let differs = |field: &&&Field| both().any(|(was, is)| says(field, was, before.1) != says(field, is, after.1));
    let missing = ROW.fields.iter().filter(|field| header.column(field.name).is_none());
    let added: Vec<&Field> = missing.filter(|field| PLANNED.contains(&field.name)).filter(|f| differs(&f)).collect();
    let mut end = table.header().end() as usize;
    let mut edits = vec![(end..end, added.iter().map(|field| format!(",{}", field.name)).collect::<String>())];
    for record in table.records() {
        let (start, name) = (end, cell_of(record, id).value.trim().to_owned());
        end = record.end() as usize;
        let is = is.get(name.as_str());
        match (was.get(name.as_str()), is) {
            (Some(_), None) => {
                edits.push((start..end, String::new()));
                continue;
            }
            (Some(was), Some(is)) => {
                for (column, field) in header.fields().filter(|(_, field)| PLANNED.contains(&field.name)) {
                    let to = says(field, *is, after.1);
                    if says(field, *was, before.1) != to {
                        let there = record.get(column)?;
                        let mut text = String::new();
                        write_cell(&mut text, &to);
                        edits.push((there.start as usize..there.end as usize, text));
                    }
                }
            }
            _ => {}
        }
        let mut more = String::new();
        if !added.is_empty() {
            more.extend(std::iter::repeat_n(',', header.len().saturating_sub(record.len())));
        }
        for field in &added {
            more.push(',');
            is.iter().for_each(|is| write_cell(&mut more, &says(field, **is, after.1)));
        }
        edits.push((end..end, more));
    }
    Some(format!("{}{}", &original[..original.len() - bare.len()], spliced(bare, edits)))
}

/// What a plan says in a cell.
fn says(field: &Field, (index, task): (TaskIndex, &Task), graph: &Graph) -> String {
    fit(cell(field, task, index, graph, "".into())).into_owned()
}

fn by_id(session: &Session) -> HashMap<&str, (TaskIndex, &Task)> {
    let tasks = (0..).map(TaskIndex).zip(&session.tasks);
    tasks.map(|(index, task)| (task.id.as_str(), (index, task))).collect()
}
