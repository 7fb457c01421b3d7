//! Where the files of a run are: `.workflow/.csv-wave/EX-<session>-<date>/` in the project. Names only, nothing is opened.

use std::convert::Infallible;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};
use team_executor_beneath::free;

use crate::derived::hex;

/// The folder of a project that holds sessions and runs.
pub const WORKFLOW: &str = ".workflow";
/// The folder in it that holds runs.
pub const RUNS: &str = ".csv-wave";
/// The folder in it where some planners keep sessions, each as `<id>/runs/<run>/work/team`.
pub const SESSIONS: &str = "sessions";
/// In the folder of a planner's run: where its team works.
pub const NESTED: [&str; 2] = ["work", "team"];
/// The folder beside it that holds runs which were put away.
pub const ARCHIVE: &str = ".archive";
/// In a run: what is the executor's alone.
pub const EXECUTOR: &str = ".executor";
/// In a run: what workers print.
pub const LOGS: &str = "logs";
/// In a run: results of interactive tasks.
pub const INTERACTIVE: &str = "interactive";
/// In a run: prompts and results of agents.
pub const AGENTS: &str = "agents";
/// In the executor's folder: the journal.
pub const JOURNAL: &str = "journal";
/// In the executor's folder: the ledgers of its keepers.
pub const KEEPERS: &str = "keepers";
/// In the executor's folder: the lock.
pub const LOCK: &str = "lock";
/// In the executor's folder: room that is kept for the journal.
pub const RESERVE: &str = "reserve";
/// In the executor's folder: the options that the run was started with.
pub const OPTIONS: &str = "options";
/// In the executor's folder: what was last rendered.
pub const DERIVED: &str = "derived.json";

/// The name of a new run: `EX-<session>-<date>`, and from the second one on a day with `-2`, `-3`, …
pub fn run_id(session_name: &str, date: &str, exists: impl Fn(&str) -> bool) -> String {
    let first = format!("EX-{}-{}", component(session_name), component(date));
    let take = |name: &str| Ok::<_, Infallible>((!exists(name)).then_some(()));
    let Ok((name, ())) = free::plain_or_numbered(&first, take);
    name
}

/// The folder whose `.workflow` holds the session, else the current folder. Both paths are absolute.
pub fn project_root(session: &Path, current: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in session.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    let workflow = plain.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|name| name == WORKFLOW));
    workflow.and_then(Path::parent).unwrap_or(current).to_owned()
}

/// The name of a session, from its folder: the folder's own name, or `<id>-<run>` for a planner's
/// `.workflow/sessions/<id>/runs/<run>/work/team`, whose last part says nothing.
pub fn folder_name(session: &Path) -> String {
    match planned(session) {
        Some((id, run)) => format!("{id}-{run}"),
        None => session.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    }
}

/// The base of the names of a session's runs: its folder, or the `<id>` above a planner's nested folder.
pub fn named_by(session: &Path) -> String {
    planned(session).map_or_else(|| folder_name(session), |(id, _)| id)
}

/// The `<id>` and `<run>` of `.workflow/sessions/<id>/runs/<run>/work/team`.
fn planned(session: &Path) -> Option<(String, String)> {
    let mut parts = session.components().rev().map(|part| part.as_os_str().to_string_lossy());
    let mut next = || parts.next().map(|part| part.into_owned());
    let is = |part: Option<String>, name: &str| part.is_some_and(|part| part == name);
    let (team, work, run) = (next(), next(), next());
    let (runs, id, sessions, workflow) = (next(), next(), next(), next());
    let fits = is(team, NESTED[1]) && is(work, NESTED[0]) && is(runs, "runs");
    (fits && is(sessions, SESSIONS) && is(workflow, WORKFLOW)).then_some(id.zip(run)).flatten()
}

/// The folder of a run.
pub fn run_path(project: &Path, run_id: &str) -> PathBuf {
    project.join(WORKFLOW).join(RUNS).join(run_id)
}

/// A path below a folder, of parts that are no paths. It is made at once; to join them takes twice as long for each.
pub fn below_folder(folder: &Path, parts: &[&str]) -> PathBuf {
    let length = folder.as_os_str().len() + parts.iter().map(|part| part.len() + 1).sum::<usize>();
    let mut path = PathBuf::with_capacity(length);
    path.push(folder);
    path.extend(parts);
    path
}

/// An id as one path component: the id itself if it is safe on every system, else a digest of it.
pub fn component(id: &str) -> String {
    if is_safe(id) { id.to_owned() } else { format!("x-{}", hex(&Sha256::digest(id)[..DIGEST_BYTES])) }
}

const MAX_BYTES: usize = 80;
const DIGEST_BYTES: usize = 8;

fn is_safe(id: &str) -> bool {
    let plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    plain
        && (1..=MAX_BYTES).contains(&id.len())
        && !id.starts_with(['.', '-'])
        && !id.ends_with('.')
        && !is_device(id)
        && !is_digest(id)
}

/// Names that some systems keep for devices, with or without an extension.
fn is_device(id: &str) -> bool {
    let stem = id.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or(stem.strip_prefix("lpt"));
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || numbered.is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
}

/// What looks like a digest might be that of another id.
fn is_digest(id: &str) -> bool {
    let digits = id.strip_prefix("x-").or(id.strip_prefix("X-"));
    digits.is_some_and(|digits| digits.len() == 2 * DIGEST_BYTES && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: W-02
    #[test]
    fn a_nested_session_is_named_by_the_planner() {
        let nested = Path::new("/p/.workflow/sessions/WFS-auth/runs/r1/work/team");
        assert_eq!((folder_name(nested).as_str(), named_by(nested).as_str()), ("WFS-auth-r1", "WFS-auth"));
        for other in ["/p/.workflow/.team/team", "/p/sessions/a/runs/r/work/team", "/p/work/team", "team"] {
            assert_eq!((folder_name(Path::new(other)), named_by(Path::new(other))), ("team".into(), "team".into()));
        }
    }

    #[test]
    fn the_second_run_of_a_day_gets_a_number() {
        let mut there: Vec<String> = Vec::new();
        for expected in ["EX-TC-auth-2026-02-27", "EX-TC-auth-2026-02-27-2", "EX-TC-auth-2026-02-27-3"] {
            let id = run_id("TC-auth", "2026-02-27", |id| there.iter().any(|known| known == id));
            assert_eq!(id, expected);
            there.push(id);
        }
        assert_eq!(
            run_id("TC-auth", "2026-02-28", |id| there.iter().any(|known| known == id)),
            "EX-TC-auth-2026-02-28"
        );
        assert_eq!(run_id("../up", "2026-02-28", |_| false), format!("EX-{}-2026-02-28", component("../up")));
    }

    /// R: W-02
    #[test]
    fn the_project_is_the_folder_whose_workflow_holds_the_session() {
        let root = |session: &str| project_root(Path::new(session), Path::new("/here"));
        assert_eq!(root("/p/.workflow/.team/TC-auth"), Path::new("/p"));
        assert_eq!(root("/p/.workflow/TC-auth/"), Path::new("/p"));
        assert_eq!(root("/p/.workflow/a/.workflow/b"), Path::new("/p/.workflow/a"));
        assert_eq!(root("/.workflow/a"), Path::new("/"));
        for elsewhere in ["/p/TC-auth", "/p/.workflow", "/p/.workflow/../TC-auth", "/p/x.workflow/a", "/", ""] {
            assert_eq!(root(elsewhere), Path::new("/here"), "{elsewhere}");
        }
        let run = run_path(Path::new("/p"), "EX-TC-auth-2026-02-27");
        assert_eq!(run, Path::new("/p/.workflow/.csv-wave/EX-TC-auth-2026-02-27"));
    }

    #[test]
    fn safe_ids_are_kept_and_others_are_digested() {
        for id in ["IMPL-001", "1", "a.b_c-d", "console", "com", "x-1", &"a".repeat(80)] {
            assert_eq!(component(id), id);
        }
        let unsafe_ids = [
            "",
            ".",
            "..",
            ".a",
            "-a",
            "a/b",
            "a\\b",
            "a b",
            "任务",
            "a\0",
            "a.",
            "CON",
            "nul.txt",
            "COM1",
            "lpt9.log",
            "x-0123456789abcdef",
            &"a".repeat(81),
        ];
        assert!(unsafe_ids.iter().all(|id| component(id) != *id));
        let mut digests: Vec<_> = unsafe_ids.iter().map(|id| component(id)).collect();
        assert!(digests.iter().all(|digest| is_digest(digest)), "{digests:?}");
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), unsafe_ids.len());
        // The SHA-256 of nothing, as everybody knows it.
        assert_eq!(component(""), "x-e3b0c44298fc1c14");
    }
}
