//! Which id was probably meant. Only a courtesy, so its cost is bounded and it may have no answer.

use crate::graph::TaskIndex;
use crate::task::Task;

/// How many questions are answered; a file with more wrong ids has another problem than spelling.
const MAX_QUESTIONS: usize = 20;
/// How many pairs of ids are compared for all questions together.
const MAX_COMPARISONS: usize = 200_000;
/// Longer ids are compared with nothing.
const MAX_LETTERS: usize = 40;
/// More letters than this are never wrong: then another id was meant.
const MAX_WRONG: usize = 3;

/// Answers a few questions for the nearest id.
#[derive(Debug)]
pub(crate) struct Near<'a> {
    tasks: &'a [Task],
    questions: usize,
}

impl<'a> Near<'a> {
    /// Ids are looked for among these tasks.
    pub(crate) fn new(tasks: &'a [Task]) -> Self {
        Self { tasks, questions: MAX_QUESTIONS.min(MAX_COMPARISONS / tasks.len().max(1)) }
    }

    /// The first task among those whose id is most like the wrong one, other than the task that asks.
    pub(crate) fn find(&mut self, wrong: &str, asking: &Task) -> Option<TaskIndex> {
        self.questions = self.questions.checked_sub(1)?;
        let wrong = letters(wrong);
        if wrong.len() > MAX_LETTERS {
            return None;
        }
        let mut limit = (wrong.len() / 3).min(MAX_WRONG);
        if limit == 0 {
            return None; // every short id is like every other
        }
        let mut nearest = None;
        for (index, task) in (0..).map(TaskIndex).zip(self.tasks).filter(|(_, task)| task.id != asking.id) {
            let Some(distance) = distance(&wrong, &letters(task.id.as_str()), limit) else { continue };
            nearest = Some(index);
            match distance.checked_sub(1) {
                Some(nearer) => limit = nearer,
                None => break,
            }
        }
        nearest
    }
}

/// How many letters must be added, removed or replaced to turn one name into the other, if `limit` are enough. Case does
/// not count.
pub fn letters_apart(one: &str, other: &str, limit: usize) -> Option<usize> {
    distance(&letters(one), &letters(other), limit)
}

/// What counts in a comparison: case does not.
fn letters(id: &str) -> Vec<char> {
    id.chars().flat_map(char::to_lowercase).collect()
}

/// How many letters must be added, removed or replaced to turn one id into the other, if `limit` are enough.
fn distance(one: &[char], other: &[char], limit: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > limit {
        return None;
    }
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count(); // ids mostly begin alike
    let (one, other) = (&one[same..], &other[same..]);
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().all(|distance| *distance > limit) {
            return None;
        }
    }
    row.last().copied().filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{RoleName, TaskId};

    fn tasks(ids: &[&str]) -> Vec<Task> {
        let role = RoleName::parse("developer").unwrap();
        ids.iter().map(|id| Task::new(TaskId::parse(id).unwrap(), role.clone())).collect()
    }

    fn near(ids: &[&str], wrong: &str) -> Option<usize> {
        let tasks = tasks(ids);
        Near::new(&tasks).find(wrong, &tasks[0]).map(TaskIndex::get)
    }

    #[test]
    fn the_distance_counts_letters() {
        let count = |a, b, limit| distance(&letters(a), &letters(b), limit);
        assert_eq!(count("IMPL-001", "IMPL-001", 0), Some(0));
        assert_eq!(count("IMPL-001", "impl-01", 2), Some(1));
        assert_eq!(count("kitten", "sitting", 3), Some(3));
        assert_eq!(count("kitten", "sitting", 2), None);
        assert_eq!(count("", "ab", 2), Some(2));
        assert_eq!(count("ab", "", 1), None);
    }

    #[test]
    fn the_nearest_id_is_found_and_never_the_asking_one() {
        assert_eq!(near(&["TEST-001", "PLAN-001", "IMPL-001"], "IMPL-01"), Some(2));
        assert_eq!(near(&["TEST-001", "IMPX-001", "IMPL-001"], "impl-001"), Some(2));
        assert_eq!(near(&["TEST-001", "IMPL-001", "IMPL-003"], "IMPL-002"), Some(1), "the first of equals");
        assert_eq!(near(&["IMPL-001", "TEST-009"], "IMPL-002"), None);
        assert_eq!(near(&["IMPL-001"], &"x".repeat(200)), None);
        assert_eq!(near(&["A", "B"], "C"), None, "every short id is like every other");
    }

    #[test]
    fn only_a_few_questions_are_answered() {
        let tasks = tasks(&["A", "IMPL-001"]);
        let mut near = Near::new(&tasks);
        let answers = (0..100).filter(|_| near.find("IMPL-002", &tasks[0]).is_some()).count();
        assert_eq!(answers, MAX_QUESTIONS);
    }
}
