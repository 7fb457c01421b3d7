//! The plan of a run: the startable tasks, their order, and the critical path. Nothing is started here.

use std::cmp::Reverse;

use crate::graph::{Graph, TaskIndex};
use crate::ids::RoleName;
use crate::map::Map;
use crate::reconcile::Reconciliation;
use crate::session::Session;
use crate::task::{RunOn, TaskStatus};

/// What a run would do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What waits for what.
    pub graph: Graph,
    /// What must change in the session first.
    pub reconciliation: Reconciliation,
    /// Where each task stands after that; a task is ready if and only if it can start now.
    pub statuses: Vec<TaskStatus>,
    /// The tasks of each wave, in order of appearance.
    pub waves: Vec<Vec<TaskIndex>>,
    /// A longest chain of tasks that are not over, each waiting for the one before.
    pub critical_path: Vec<TaskIndex>,
    /// What can start now, in the order in which it starts.
    pub ready: Vec<TaskIndex>,
    /// Who has how much to do: the session's roles, then those that only tasks mention.
    pub roles: Vec<RoleLoad>,
}

/// How much one role has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleLoad {
    /// Which role.
    pub name: RoleName,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many of them are completed.
    pub completed: usize,
}

impl RoleLoad {
    /// Who has how much to do: the session's roles, then those that only tasks mention.
    pub fn all(session: &Session, statuses: &[TaskStatus]) -> Vec<Self> {
        let mut loads: Map<&RoleName, (usize, usize)> = session.roles.iter().map(|role| (&role.name, (0, 0))).collect();
        for (task, status) in session.tasks.iter().zip(statuses) {
            let (tasks, completed) = loads.entry(&task.role).or_default();
            *tasks += 1;
            *completed += usize::from(*status == TaskStatus::Completed);
        }
        loads.into_iter().map(|(name, (tasks, completed))| Self { name: name.clone(), tasks, completed }).collect()
    }
}

impl Plan {
    /// Plans a session; the graph is the one of its tasks.
    pub fn make(session: &Session, graph: Graph) -> Self {
        let reconciliation = Reconciliation::compare(session);
        let mut statuses = reconciliation.statuses(session);
        let ready = ready(session, &graph, &statuses);
        for status in statuses.iter_mut().filter(|status| **status == TaskStatus::Ready) {
            *status = TaskStatus::Pending; // what a file says about this is out of date
        }
        for task in &ready {
            statuses[task.get()] = TaskStatus::Ready;
        }
        let waves = graph.order().chunk_by(|a, b| graph.wave(*a) == graph.wave(*b)).map(<[_]>::to_vec).collect();
        let critical_path = critical_path(&graph, &statuses);
        let roles = RoleLoad::all(session, &statuses);
        Self { graph, reconciliation, statuses, waves, critical_path, ready, roles }
    }
}

/// What can start now: by priority, then by the length of what hangs on it, then in order of appearance.
fn ready(session: &Session, graph: &Graph, statuses: &[TaskStatus]) -> Vec<TaskIndex> {
    let startable = |task: &TaskIndex| {
        let mut dependencies = graph.dependencies(*task).iter().map(|on| statuses[on.get()]);
        matches!(statuses[task.get()], TaskStatus::Pending | TaskStatus::Ready)
            && match session.tasks[task.get()].run_on {
                RunOn::Success => dependencies.all(|status| status == TaskStatus::Completed),
                RunOn::Failure => {
                    dependencies.clone().all(TaskStatus::is_over)
                        && dependencies.any(|status| status != TaskStatus::Completed)
                }
                RunOn::Always => dependencies.all(TaskStatus::is_over),
            }
    };
    let is_open = |task: &TaskIndex| !statuses[task.get()].is_over();
    let barrier = graph.order().iter().copied().filter(|_| session.waves_are_barriers).find(is_open);
    let is_ahead = |task: &TaskIndex| barrier.is_some_and(|first| graph.wave(*task) > graph.wave(first));
    let startable = |task: &TaskIndex| !is_ahead(task) && startable(task);
    let mut ready: Vec<_> = graph.order().iter().copied().filter(startable).collect();
    ready.sort_by_key(|task| (session.tasks[task.get()].priority, Reverse(graph.remaining(*task)), *task));
    ready
}

/// A longest chain of tasks that are not over; of equals, the ones that appear first.
fn critical_path(graph: &Graph, statuses: &[TaskStatus]) -> Vec<TaskIndex> {
    let mut left = vec![0_u32; statuses.len()]; // the number of tasks on the longest such chain from each task
    let mut first: Option<TaskIndex> = None;
    for &task in graph.order().iter().rev().filter(|task| !statuses[task.get()].is_over()) {
        left[task.get()] = 1 + graph.dependents(task).iter().map(|next| left[next.get()]).max().unwrap_or(0);
        let rank = |task: TaskIndex| (Reverse(left[task.get()]), task);
        first = Some(first.map_or(task, |first| if rank(task) < rank(first) { task } else { first }));
    }
    let next = |task: &TaskIndex| {
        let then = left[task.get()] - 1;
        graph.dependents(*task).iter().copied().find(|next| then > 0 && left[next.get()] == then)
    };
    std::iter::successors(first, next).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{SessionId, TaskId};
    use crate::role::Role;
    use crate::task::{Priority, Task};

    /// One task a line: `id role priority status run_on: dependency dependency`.
    fn session(lines: &[&str]) -> Session {
        let task = |line: &&str| {
            let (head, dependencies) = line.split_once(':').unwrap();
            let [id, role, priority, status, run_on] = head.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            Task {
                priority: Priority::from_word(priority).unwrap(),
                status: TaskStatus::from_word(status).unwrap(),
                run_on: RunOn::from_word(run_on).unwrap(),
                dependencies: dependencies.split_whitespace().map(|id| TaskId::parse(id).unwrap()).collect(),
                ..Task::new(TaskId::parse(id).unwrap(), RoleName::parse(role).unwrap())
            }
        };
        Session { tasks: lines.iter().map(task).collect(), ..Session::new(SessionId::parse("TC-1").unwrap()) }
    }

    fn plan(session: &Session) -> Plan {
        Plan::make(session, Graph::seal(&session.tasks).graph.unwrap())
    }

    fn ids(session: &Session, tasks: &[TaskIndex]) -> String {
        tasks.iter().map(|task| session.tasks[task.get()].id.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// R: D-07
    #[test]
    fn ready_tasks_order_by_priority_dependents_position() {
        let session = session(&[
            "late developer P2 pending success:",
            "short developer P1 pending success:",
            "long developer P1 pending success:",
            "same developer P1 ready success:",
            "first developer P0 pending success:",
            "next developer P0 pending success: long",
            "last developer P0 pending success: next late",
        ]);
        let plan = plan(&session);
        assert_eq!(ids(&session, &plan.ready), "first long short same late");
        assert_eq!(
            plan.waves.iter().map(|wave| ids(&session, wave)).collect::<Vec<_>>(),
            ["late short long same first", "next", "last"]
        );
        assert_eq!(ids(&session, &plan.critical_path), "long next last");
    }

    #[test]
    fn outcome_of_dependencies_decides_which_task_starts() {
        let session = session(&[
            "good developer P1 completed success:",
            "bad developer P1 failed success:",
            "open developer P1 pending success:",
            "s1 developer P1 pending success: good",
            "s2 developer P1 pending success: good bad",
            "f1 developer P1 pending failure: good bad",
            "f2 developer P1 pending failure: good",
            "f3 developer P1 pending failure: bad open",
            "a1 developer P1 pending always: good bad",
            "a2 developer P1 ready always: good open",
        ]);
        let plan = plan(&session);
        assert_eq!(ids(&session, &plan.ready), "open s1 f1 a1");
        assert_eq!(plan.statuses[9], TaskStatus::Pending, "the file is out of date");
    }

    #[test]
    fn a_plan_starts_from_the_reconciled_session() {
        let mut session = session(&[
            "A developer P1 pending success:",
            "B developer P1 in_progress success: A",
            "C developer P1 pending success: B",
        ]);
        session.completed_tasks = vec![session.tasks[0].id.clone()];
        let plan = plan(&session);
        assert_eq!(plan.statuses, [TaskStatus::Completed, TaskStatus::Ready, TaskStatus::Pending]);
        assert_eq!((ids(&session, &plan.ready), ids(&session, &plan.critical_path)), ("B".into(), "B C".into()));
        assert_eq!(plan.reconciliation.changes.len(), 2);
    }

    /// R: P-03
    #[test]
    fn only_the_first_open_wave_is_ready_behind_barriers() {
        let mut session = session(&[
            "A developer P1 completed success:",
            "B developer P1 pending success:",
            "C developer P0 pending success:",
            "D developer P0 pending success:",
        ]);
        for (task, wave) in session.tasks.iter_mut().zip([1, 3, 7, 3]) {
            task.declared_wave = Some(wave);
        }
        assert_eq!(ids(&session, &plan(&session).ready), "C D B", "the dependencies decide");
        session.waves_are_barriers = true;
        let plan = plan(&session);
        assert_eq!(ids(&session, &plan.ready), "D B");
        assert_eq!(plan.waves.iter().map(|wave| ids(&session, wave)).collect::<Vec<_>>(), ["A", "B D", "C"]);
    }

    #[test]
    fn every_role_is_counted_the_idle_and_the_unannounced_too() {
        let mut session =
            session(&["A tester P1 completed success:", "B guest P1 pending success:", "C tester P1 skipped success:"]);
        session.roles = ["planner", "tester"].iter().map(|name| Role::new(RoleName::parse(name).unwrap())).collect();
        let loads: Vec<_> = plan(&session)
            .roles
            .iter()
            .map(|load| format!("{} {}/{}", load.name, load.completed, load.tasks))
            .collect();
        assert_eq!(loads, ["planner 0/0", "tester 1/2", "guest 0/1"]);
    }

    #[test]
    fn nothing_is_left_when_all_is_over() {
        let over = session(&["A developer P1 completed success:", "B developer P1 failed success: A"]);
        let plan = plan(&over);
        assert_eq!((plan.ready, plan.critical_path), (vec![], vec![]));
        let none = session(&[]);
        assert!(Plan::make(&none, Graph::seal(&[]).graph.unwrap()).waves.is_empty());
    }

    /// The number of tasks on the longest chain of tasks that are not over, by walking all chains.
    fn longest(graph: &Graph, statuses: &[TaskStatus], from: TaskIndex) -> usize {
        if statuses[from.get()].is_over() {
            return 0;
        }
        1 + graph.dependents(from).iter().map(|next| longest(graph, statuses, *next)).max().unwrap_or(0)
    }

    proptest! {
        /// R: W-04
        #[test]
        fn the_critical_path_is_a_longest_chain(
            tasks in prop::collection::vec((prop::sample::select(TaskStatus::WORDS), any::<u8>()), 0..8)
        ) {
            let lines: Vec<String> = tasks
                .iter()
                .enumerate()
                .map(|(n, (status, bits))| {
                    let on: Vec<_> = (0..n).filter(|on| bits >> on & 1 == 1).map(|on| format!("T{on}")).collect();
                    format!("T{n} developer P1 {status} success: {}", on.join(" "))
                })
                .collect();
            let session = session(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            let plan = plan(&session);
            let all = plan.graph.order().iter().map(|task| longest(&plan.graph, &plan.statuses, *task));
            prop_assert_eq!(plan.critical_path.len(), all.max().unwrap_or(0));
            for pair in plan.critical_path.windows(2) {
                prop_assert!(plan.graph.dependencies(pair[1]).contains(&pair[0]));
            }
            prop_assert!(plan.critical_path.iter().all(|task| !plan.statuses[task.get()].is_over()));
        }
    }
}
