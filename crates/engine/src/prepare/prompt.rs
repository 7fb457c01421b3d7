//! What a worker is told about its task. Texts of other workers are data: marked as such, bounded, never instructions.

mod before;
mod knowledge;
mod planned;
mod upstream;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use team_executor_beneath::Dir;
use team_executor_core::run::{Decision, Run};
use team_executor_core::{CheckpointAction, Session, Task, TaskIndex};
use team_executor_store::run_folder::{AGENTS, below_folder, component};

use self::before::Left;
pub(crate) use self::knowledge::{Knowledge, wisdom};
use crate::begin::run_at::result_name;
use crate::conclude;
use crate::conclude::artifacts::{FOLDER, quarantine};
use crate::prepare::paths::Paths;
use crate::render::run_report::one_line;

/// A longer role-spec is read by the agent itself.
const SPEC_BYTES: u64 = 32 << 10;
/// As long as a prompt usually is, so that it need not grow.
const USUAL: usize = 4096;

/// The prompt for one task, with what the tasks that it builds on have found: those that it names, else its dependencies;
/// and with what the session's files say that the team knows.
pub(crate) fn render(
    session: &Session,
    rules: &Run,
    index: TaskIndex,
    (paths, knowledge): (Paths<'_>, &mut Knowledge),
    before: &[TaskIndex],
    keeps: bool,
) -> String {
    let (task, graph) = (&session.tasks[index.get()], rules.graph());
    let sources = sources(session, rules, index);
    let id = |source: TaskIndex| &session.tasks[source.get()].id;
    let upstream = sources.into_iter().filter_map(|source| Some((id(source), findings(session, rules, source)?)));
    let knowledge = knowledge.now(paths);
    let mut text = text(session, task, paths);
    text.push_str(&upstream::section(knowledge.discoveries.as_ref(), &upstream.collect::<Vec<_>>()));
    text.push_str(&upstream::given(task));
    text.push_str(&knowledge.team);
    let left = |attempt| quarantine::find(paths.run?, task.id.as_str(), attempt).map(|left| paths.told(&left));
    if let Some(view) = rules.view(index) {
        let done = before.iter().filter_map(|task| Some((id(*task), findings(session, rules, *task)?)));
        let left = (view.attempt > 1 && !keeps).then(|| left(view.attempt - 1)).flatten();
        let left = if keeps { Left::InPlace } else { left.as_deref().map_or(Left::Nothing, Left::At) };
        text.push_str(&before::section(task, &view, &done.collect::<Vec<_>>(), left));
        text.push_str(&before::failure(&view, left));
    }
    let left = |attempt| left(attempt).filter(|_| !keeps);
    text.push_str(&rounds(rules, index, &left));
    match &knowledge.job {
        Some(of_job) => text.push_str(of_job),
        None => text.push_str(&how_to_report(task, !graph.dependencies(index).is_empty())),
    }
    if let (Some(run), Some(view)) = (paths.run, rules.view(index)) {
        text.push_str(&where_to_write(paths, run, task, view.attempt.max(1)));
    }
    text
}

/// The tasks that a task builds on: those that it names, else its dependencies.
pub(crate) fn sources(session: &Session, rules: &Run, index: TaskIndex) -> Vec<TaskIndex> {
    let (task, graph) = (&session.tasks[index.get()], rules.graph());
    let of_context: Vec<_> = task.context_from.iter().filter_map(|id| graph.index_of(id.as_str())).collect();
    if of_context.is_empty() { graph.dependencies(index).to_vec() } else { of_context }
}

/// The paths of an attempt. An agent may have no way to look at its environment, and one that takes up a conversation knows those
/// of another task.
fn where_to_write(paths: Paths<'_>, run: &Path, task: &Task, attempt: u32) -> String {
    let id = task.id.as_str();
    let artifacts = paths.told(&below_folder(run, &[FOLDER, &component(id)]));
    let result = paths.told(&below_folder(run, &[AGENTS, &result_name(id, attempt)]));
    format!(
        "\n## Where to write\nTEAM_EXECUTOR_ARTIFACTS is the folder {}\nTEAM_EXECUTOR_RESULT is the file {}\n\
         Both are for this task only. Paths that you were given for other tasks no longer count.\n",
        artifacts.display(),
        result.display()
    )
}

/// What was not accepted the last time, and what people have said since the run began.
fn rounds(rules: &Run, task: TaskIndex, left: &dyn Fn(u32) -> Option<PathBuf>) -> String {
    let mut text = String::new();
    if let Some(view) = rules.view(task)
        && let Some(critique) = view.critique
    {
        text.push_str("\n## What was not accepted\n");
        text.push_str("This task was done before and must be done again. The reviewer said, quoted line by line:\n\n");
        quote(&mut text, critique);
        if let Some(folder) = (1..view.attempt).rev().find_map(left) {
            writeln!(text, "\nThe earlier delivery is in {}: reuse what is good.", folder.display()).ok();
        }
    }
    if let Some(advice) = rules.view(task).and_then(|view| view.advice) {
        text.push_str("\n## What the user said about this task\n\n");
        quote(&mut text, advice);
    }
    let feedback = |decision: &&Decision| decision.action == CheckpointAction::Feedback;
    let said: Vec<_> = rules.decisions().iter().filter(feedback).map(|decision| decision.text.as_str()).collect();
    if !said.is_empty() {
        text.push_str("\n## What the user said to the team\n\n");
        said.into_iter().for_each(|words| quote(&mut text, words));
    }
    text
}

/// A text of others, marked on each of its lines, so that nothing in it can look like ours.
fn quote(text: &mut String, words: &str) {
    for line in words.lines() {
        writeln!(text, "> {}", one_line(line)).ok();
    }
}

fn how_to_report(task: &Task, builds_on_others: bool) -> String {
    let mut text = String::from(
        "\n## How to report\n\
         Write files that you deliver to the folder in TEAM_EXECUTOR_ARTIFACTS. Write a result to the path in\n\
         TEAM_EXECUTOR_RESULT: {\"status\": \"completed\" or \"failed\", \"findings\": what came out in at most 500 characters,\n\
         \"error\": why not, \"data\": {\"key_findings\", \"decisions\", \"files_modified\": lists of texts, \"wisdom\":\n\
         {\"learnings\", \"decisions\", \"issues\": lists of what others should know}}}; all but the status may be left out.\n\
         Without a result the exit status decides, and the last line that is printed becomes the findings.\n\
         `team-executor msg --help` says how to tell the team something while you work.\n",
    );
    if conclude::is_supervised(task) {
        text.push_str(
            "You supervise: the result must have \"supervision_verdict\": \"pass\" to go on, \"warn\" to go on with a remark,\n\
             or \"block\" to stop the team until a person has decided.\n",
        );
    } else if builds_on_others {
        text.push_str(
            "If the work that this task builds on must be done again, the result may say so: \"data\": {\"verdict\": \"reject\",\n\
             \"rejects\": [ids of those tasks], \"critique\": what is wrong and what would be right}.\n",
        );
    }
    text
}

/// What a task found, in this run or before it.
fn findings<'a>(session: &'a Session, rules: &'a Run, task: TaskIndex) -> Option<&'a str> {
    let view = rules.view(task)?;
    let before = || session.tasks[task.get()].findings.as_deref().filter(|_| view.since.is_none());
    view.findings.or_else(before)
}

/// The role-spec itself, if it is short enough: an agent that must read the file needs a turn for that.
fn role_spec(text: &mut String, folder: &Path, spec: &str) {
    let read = Dir::open(folder).and_then(|folder| folder.read(spec, SPEC_BYTES)).ok();
    let Some(content) = read.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return text.push_str("\nRead the role_spec file to load Phase 2-4 domain instructions.\n");
    };
    // A fence that is longer than any in it.
    let longest = content.lines().map(|line| line.len() - line.trim_start_matches('~').len()).max().unwrap_or(0);
    let fence = "~".repeat(longest.max(3) + 1);
    text.push_str("\nThis is the role_spec file. Follow its Phase 2-4 domain instructions.\n\n");
    writeln!(text, "{fence}markdown\n{}\n{fence}", content.trim_end()).ok();
}

fn text(session: &Session, task: &Task, paths: Paths<'_>) -> String {
    let role = session.role(task.role.as_str());
    let folder = paths.told(paths.session);
    let spec = role.and_then(|role| role.spec.as_deref()).map(|spec| folder.join(spec).display().to_string());
    let mut text = String::with_capacity(USUAL);
    text.push_str("## Role Assignment\n");
    let mut field = |name: &str, value: &str| {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push('\n');
    };
    field("role", task.role.as_str());
    field("role_spec", spec.as_deref().unwrap_or("none"));
    field("session", &folder.display().to_string());
    field("session_id", session.id.as_str());
    field("team_name", &session.name);
    field("requirement", &session.requirement);
    field("inner_loop", if role.is_some_and(|role| role.inner_loop) { "true" } else { "false" });
    if let Some(spec) = role.and_then(|role| role.spec.as_deref()) {
        role_spec(&mut text, paths.session, spec);
    }
    planned::section(&mut text, task);
    text
}
