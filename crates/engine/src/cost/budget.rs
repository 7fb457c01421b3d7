//! Why a run stopped by itself, for people.

use std::time::Duration;

use team_executor_core::run::{Bound, Halt, Measure, Run, Scope};
use team_executor_core::{Session, TaskIndex};

use crate::render::run_report::seconds;

/// Why a run stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halted {
    /// For people.
    pub words: String,
    /// The role or the task that it is about, if it is one.
    pub name: Option<String>,
    /// Why.
    pub why: Halt,
}

impl Halted {
    /// Describes it with the names of a session.
    pub(crate) fn describe(why: &Halt, rules: &Run, session: &Session) -> Self {
        let id = |task: TaskIndex| session.tasks.get(task.get()).map(|task| task.id.to_string());
        let bound = match why {
            Halt::Budget(bound) => bound,
            Halt::NoRoom => {
                let words =
                    "the disk is full, so nothing more was started; workers that ran were let finish".to_owned();
                return Self { words, name: None, why: why.clone() };
            }
            Halt::PartDone => return Self { words: of_part(rules, session), name: None, why: why.clone() },
            Halt::NotLoggedIn(task) => {
                let said = rules.view(*task).and_then(|view| view.error);
                let said = said.unwrap_or("its agent is not logged in");
                let name = id(*task);
                let words = format!("{}: {said}", name.as_deref().unwrap_or_default());
                return Self { words, name, why: why.clone() };
            }
        };
        let name = name_of(bound, session);
        Self { words: words(bound, name.as_deref()), name, why: why.clone() }
    }
}

/// What became of the chosen part of the plan, and what is left out.
fn of_part(rules: &Run, session: &Session) -> String {
    let id = |task: TaskIndex| session.tasks.get(task.get()).map_or("", |task| task.id.as_str());
    let Some(part) = rules.part() else {
        return "only a part of the plan was run".to_owned(); // who only looks does not know which
    };
    let (counts, over) = (rules.counts(), part.completed + part.failed + part.skipped);
    let left = counts.pending + counts.ready - (part.total() - over);
    let words = format!("{over} of the {} chosen tasks are over; {left} others stay pending", part.total());
    match rules.waits_for_left_out() {
        Some((task, on)) => format!("{words}; {} waits for {}, which was left out", id(task), id(on)),
        None => words,
    }
}

/// The role or the task whose budget it is, if it is one's.
fn name_of(bound: &Bound, session: &Session) -> Option<String> {
    match &bound.scope {
        Scope::Run => None,
        Scope::Role(role) => Some(role.to_string()),
        Scope::Task(task) => session.tasks.get(task.get()).map(|task| task.id.to_string()),
    }
}

/// A budget that is in the way, for people.
pub(crate) fn of_bound(bound: &Bound, session: &Session) -> String {
    words(bound, name_of(bound, session).as_deref())
}

/// How much of a measure, for people: `$0.25`, `1200 tokens`, `7 turns`, `3 min 5 s`.
pub fn amount(measure: Measure, number: u64) -> String {
    match measure {
        Measure::Usd => {
            let cents = number.div_ceil(10_000);
            format!("${}.{:02}", cents / 100, cents % 100)
        }
        Measure::Tokens | Measure::Turns => format!("{number} {measure}"),
        Measure::Wall => format!("{} of work", seconds(Duration::from_millis(number))),
    }
}

fn words(bound: &Bound, name: Option<&str>) -> String {
    let Bound { scope, measure, used, budget, next } = bound;
    let whose = match (scope, name.unwrap_or_default()) {
        (Scope::Run, _) => "the run".to_owned(),
        (Scope::Role(_), name) => format!("role {name}"),
        (Scope::Task(_), name) => format!("task {name}"),
    };
    let (used_words, budget_words) = (amount(*measure, *used), amount(*measure, *budget));
    let more = if used >= budget || *next == 0 {
        String::new()
    } else {
        format!(", and one more attempt takes about {}", amount(*measure, *next))
    };
    format!("the budget of {whose} is {budget_words}: {used_words} used{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_budget_names_owner_use_and_limit() {
        let bound = |scope, measure, used, next| Bound { scope, measure, used, budget: 2_500_000, next };
        let told = |bound: &Bound, name| words(bound, name);
        let run = bound(Scope::Run, Measure::Usd, 2_400_001, 300_000);
        let expected = "the budget of the run is $2.50: $2.41 used, and one more attempt takes about $0.30";
        assert_eq!(told(&run, None), expected);
        let task = bound(Scope::Task(team_executor_core::TaskIndex(0)), Measure::Wall, 2_500_000, 9);
        let expected = "the budget of task A is 41 min 40 s of work: 41 min 40 s of work used";
        assert_eq!(told(&task, Some("A")), expected);
        assert_eq!(amount(Measure::Tokens, 7), "7 tokens");
    }
}
