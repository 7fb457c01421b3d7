//! The graph of a run as places of cards and links: all of it, in groups where it is large, or what is around one task.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, json};
use team_executor_app::Error;
use team_executor_core::{Graph, Session, TaskIndex, TaskStatus};
use team_executor_files::picture::{Geometry, Node, Picture};

use crate::watched::Looked;

/// What part of the graph is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    /// Around this task.
    pub(crate) focus: String,
    /// How many steps back and on.
    pub(crate) up: u32,
    pub(crate) down: u32,
    /// How many tasks at most.
    pub(crate) limit: usize,
}

/// The most tasks of a neighbourhood.
pub(crate) const MOST: usize = 400;

/// The graph of a run, or what is around a task of it.
pub(crate) fn graph(looked: &Looked, around: Option<&Around>) -> Result<Value, Error> {
    let (session, graph) = looked.opened.runnable()?;
    let statuses = &looked.status.statuses;
    let (tasks, left_out) = match around {
        None => ((0..).map(TaskIndex).take(session.tasks.len()).collect(), 0),
        Some(around) => {
            let (_, _, focus) = looked.opened.task(&around.focus)?;
            neighbourhood(graph, focus, around)
        }
    };
    let picture = picture(session, graph, statuses, &tasks);
    Ok(document(&picture.geometry(), &tasks, left_out))
}

/// The tasks around one, the nearest first, and how many more there are within the steps.
fn neighbourhood(graph: &Graph, focus: TaskIndex, around: &Around) -> (Vec<TaskIndex>, usize) {
    let mut found = HashSet::from([focus]);
    for (steps, is_up) in [(around.up, true), (around.down, false)] {
        let mut open = VecDeque::from([(focus, 0)]);
        while let Some((task, depth)) = open.pop_front() {
            if depth >= steps {
                continue;
            }
            let next = if is_up { graph.dependencies(task) } else { graph.dependents(task) };
            for other in next {
                if found.len() <= around.limit.min(MOST) && found.insert(*other) {
                    open.push_back((*other, depth + 1));
                }
            }
        }
    }
    let edge = |task: &TaskIndex| {
        graph.dependencies(*task).iter().chain(graph.dependents(*task)).filter(|other| !found.contains(other)).count()
    };
    let left_out = found.iter().map(edge).sum();
    let mut tasks: Vec<_> = found.into_iter().collect();
    tasks.sort();
    (tasks, left_out)
}

/// These tasks as a picture; the critical path is the longest chain of what is left to do.
fn picture(session: &Session, graph: &Graph, statuses: &[TaskStatus], tasks: &[TaskIndex]) -> Picture {
    let critical = critical(graph, statuses);
    let mut place = vec![u32::MAX; session.tasks.len()];
    for (nth, task) in (0..).zip(tasks) {
        place[task.get()] = nth;
    }
    let node = |index: &TaskIndex| {
        let task = &session.tasks[index.get()];
        Node {
            id: task.id.to_string(),
            title: task.title.clone(),
            role: task.role.to_string(),
            status: statuses.get(index.get()).copied().unwrap_or(TaskStatus::Pending),
            wave: graph.wave(*index),
            critical: critical.contains(index),
        }
    };
    let edges = tasks.iter().flat_map(|task| {
        let (to, place) = (place[task.get()], &place);
        graph.dependencies(*task).iter().map(move |from| (place[from.get()], to))
    });
    let edges = edges.filter(|(from, _)| *from != u32::MAX).collect();
    Picture { title: String::new(), subtitle: String::new(), nodes: tasks.iter().map(node).collect(), edges }
}

/// The longest chain of tasks that are not over.
fn critical(graph: &Graph, statuses: &[TaskStatus]) -> HashSet<TaskIndex> {
    let is_left = |task: TaskIndex| statuses.get(task.get()).is_some_and(|status| !status.is_over());
    let mut length = vec![0_u32; statuses.len()];
    for task in graph.order().iter().rev().filter(|task| is_left(**task)) {
        let behind = graph.dependents(*task).iter().filter(|next| is_left(**next)).map(|next| length[next.get()]);
        length[task.get()] = behind.max().unwrap_or(0) + 1;
    }
    let begins = graph.order().iter().filter(|task| is_left(**task));
    let mut chain = HashSet::new();
    let mut next =
        begins.copied().reduce(|best, task| if length[task.get()] > length[best.get()] { task } else { best });
    while let Some(task) = next {
        chain.insert(task);
        let behind = graph.dependents(task).iter().filter(|next| is_left(**next)).copied();
        next = behind.reduce(|best, task| if length[task.get()] > length[best.get()] { task } else { best });
    }
    chain
}

fn document(geometry: &Geometry, tasks: &[TaskIndex], left_out: usize) -> Value {
    let card = |card: &team_executor_files::picture::PlacedCard| {
        json!({"x": card.x, "y": card.y, "heading": card.heading, "lines": card.lines, "role": card.role,
               "critical": card.critical})
    };
    let curve = |curve: &team_executor_files::picture::PlacedCurve| {
        json!([
            curve.from.0,
            curve.from.1,
            curve.to.0,
            curve.to.1,
            curve.weight,
            u8::from(curve.arrow),
            u8::from(curve.critical)
        ])
    };
    json!({
        "version": 1, "width": geometry.width, "height": geometry.height,
        "card": [geometry.card.0, geometry.card.1],
        "columns": geometry.columns, "groups": geometry.is_of_groups, "notes": geometry.notes,
        "cards": geometry.cards.iter().map(card).collect::<Vec<_>>(),
        "curves": geometry.curves.iter().map(curve).collect::<Vec<_>>(),
        // Of each task that is drawn, its position in the session and its card.
        "tasks": tasks.iter().map(|task| task.0).collect::<Vec<_>>(), "card_of": geometry.card_of, "left_out": left_out,
    })
}
