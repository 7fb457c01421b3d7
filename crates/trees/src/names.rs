//! What refs and folders are called. Ids of tasks are free text; names of refs are not.

use team_executor_store::run_folder::component;

/// Everything of ours in a repository is below this.
pub const REFS: &str = "refs/team-executor";

/// What a ref of an attempt stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What the attempt began with.
    Base,
    /// What it came to, when its worker ended well.
    Result,
    /// What was in its tree when it had failed or was lost, or only reviewed.
    Lost,
}

impl Part {
    /// As it stands in the name of a ref.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Result => "result",
            Self::Lost => "lost",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Base, Self::Result, Self::Lost].into_iter().find(|part| part.word() == word)
    }
}

/// An id as one part of the name of a ref.
pub fn part(id: &str) -> String {
    let safe = component(id);
    // No component has a percent sign.
    if safe.contains("..") || safe.ends_with(".lock") { safe.replace('.', "%2E") } else { safe }
}

/// Below this are the refs of a run.
pub fn of_run(run: &str) -> String {
    format!("{REFS}/{}", part(run))
}

/// The branch that the user gets of a run that people call by this name.
pub fn branch(run: &str) -> String {
    format!("te/{}", part(run))
}

/// A ref of an attempt.
pub fn of_attempt(run: &str, task: &str, attempt: u32, what: Part) -> String {
    of_part(run, &part(task), attempt, what)
}

/// The same, of the part of a ref that stands for its task.
pub(crate) fn of_part(run: &str, part: &str, attempt: u32, what: Part) -> String {
    format!("{}/t/{part}/{attempt}/{}", of_run(run), what.word())
}

/// The folder of the tree of an attempt, in that of the run.
pub fn folder(task: &str, attempt: u32) -> String {
    format!("{}.{attempt}", component(task))
}

/// The same, of the part of a ref that stands for its task.
pub(crate) fn folder_of_part(part: &str, attempt: u32) -> String {
    format!("{}.{attempt}", part.replace("%2E", "."))
}

/// Which attempt a ref of a run is of: the part of its task, the attempt and what it stands for.
pub(crate) fn read<'r>(run: &str, name: &'r str) -> Option<(&'r str, u32, Part)> {
    let mut parts = name.strip_prefix(&of_run(run))?.strip_prefix("/t/")?.split('/');
    let (task, attempt, what) = (parts.next()?, parts.next()?.parse().ok()?, Part::from_word(parts.next()?)?);
    parts.next().is_none().then_some((task, attempt, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_refs_are_valid_and_read_back() {
        let name = of_attempt("EX-a-2026-01-01", "IMPL-001", 2, Part::Result);
        assert_eq!(name, "refs/team-executor/EX-a-2026-01-01/t/IMPL-001/2/result");
        assert_eq!(read("EX-a-2026-01-01", &name), Some(("IMPL-001", 2, Part::Result)));
        assert_eq!(read("EX-a", &name), None);
        assert_eq!(read("EX-a-2026-01-01", &format!("{name}/x")), None);
        assert_eq!(part("a..b"), "a%2E%2Eb");
        assert_eq!(part("a.lock"), "a%2Elock");
        assert!(part("with space ~^:?*[").starts_with("x-"));
        assert!(part("@{").starts_with("x-"));
    }
}
