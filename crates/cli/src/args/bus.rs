//! The options of `msg` and `task`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use team_executor_core::{Priority, TaskStatus, Verdict};

use super::options::{Format, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct Msg {
    #[command(subcommand)]
    pub(crate) verb: MsgVerb,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// An action on the message bus.
#[derive(Debug, Subcommand)]
pub(crate) enum MsgVerb {
    /// Send a message to a role
    #[command(after_help = "\
Examples:
  team-executor msg log 'the API is agreed' --to tester --type decision
  team-executor msg log 'half done' --type state_update --data '{\"step\": 2}'
  team-executor msg log 'please wait' --session=. --from maria

A worker sends as its role. With --type state_update the data is also stored as
the state of the role, in .msg/meta.json.")]
    Log(MsgLog),

    /// Show messages in full
    #[command(after_help = "\
Examples:
  team-executor msg read MSG-004 --session=.
  team-executor msg read --to tester --last 3 --format json")]
    Read(MsgRead),

    /// List messages, one line each
    #[command(after_help = "\
Examples:
  team-executor msg list --session=.
  team-executor msg list --from builder --type decision --last 50")]
    List(MsgFilter),

    /// Show the last message and the state of each role
    #[command(after_help = "\
Examples:
  team-executor msg status --session=.
  team-executor msg status --format json | jq '.roles[].state'")]
    Status,

    /// Send a message to all roles and note it in wisdom/
    #[command(after_help = "\
Examples:
  team-executor msg broadcast 'tests need a running database'
  team-executor msg broadcast 'we use UTC everywhere' --wisdom decisions")]
    Broadcast(MsgBroadcast),

    /// Show the status and discoveries of tasks
    #[command(after_help = "\
Examples:
  team-executor msg get-state DRAFT-001
  team-executor msg get-state --session=. --format json | jq '.tasks[].status'

Without a task: all tasks; for a worker, the tasks that its own depends on.")]
    GetState(GetState),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgLog {
    /// Text; cut after 500 characters
    #[arg(value_name = "SUMMARY")]
    pub(crate) summary: String,

    /// Role to send to
    #[arg(long, value_name = "ROLE", default_value = "all")]
    pub(crate) to: String,

    /// Type of the message
    #[arg(long = "type", value_name = "TYPE", default_value = "message")]
    pub(crate) kind: String,

    /// More data, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,

    /// Name of the sender, outside of a worker [default: user]
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgRead {
    /// ID of the message
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    #[command(flatten)]
    pub(crate) filter: MsgFilter,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgFilter {
    /// Only from this role
    #[arg(long, value_name = "ROLE")]
    pub(crate) from: Option<String>,

    /// Only to this role or to all
    #[arg(long, value_name = "ROLE")]
    pub(crate) to: Option<String>,

    /// Only of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,

    /// Only the last N messages
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgBroadcast {
    /// Text; cut after 500 characters
    #[arg(value_name = "SUMMARY")]
    pub(crate) summary: String,

    /// File in wisdom/ to add it to
    #[arg(long, value_name = "FILE", value_enum, default_value_t)]
    pub(crate) wisdom: Wisdom,

    /// More data, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,

    /// Name of the sender, outside of a worker [default: user]
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
}

/// One of the files in `wisdom/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Wisdom {
    /// Learnings
    #[default]
    Learnings,
    /// Decisions and their reasons
    Decisions,
    /// Problems and open points
    Issues,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GetState {
    /// IDs of the tasks
    #[arg(value_name = "TASK")]
    pub(crate) tasks: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskOf {
    #[command(subcommand)]
    pub(crate) verb: TaskVerb,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// An action on tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Add a task, or propose one as a worker
    #[command(
        override_usage = "team-executor task create <TASK> --title <TEXT> --assignee <ROLE>",
        after_help = "\
Examples:
  team-executor task create DOCS-001 --title Docs --assignee writer --session=.
  team-executor task create B --title b --assignee dev --deps A --session=.
  team-executor task create C --title c --assignee dev --after A --before B

While a run is active its executor adds the task, to the session and to the run.
Refused if the session would become invalid."
    )]
    Create(TaskCreate),

    /// Change the plan of a task that has not begun
    #[command(after_help = "\
Examples:
  team-executor task edit TEST-001 --after IMPL-002 --not-after IMPL-001
  team-executor task edit DOCS-001 --assignee writer --priority P0
  team-executor task edit LINT-001 --before TEST-001 --session=.

While a run is active its executor changes the session and the run. What has
begun stays as it is.")]
    Edit(TaskChange),

    /// Remove a task that has not begun
    #[command(after_help = "\
Examples:
  team-executor task remove DOCS-001 --session=.

Refused while another task depends on it. Its ID stays used in an open run.")]
    Remove(TaskGet),

    /// Set the status of a task
    #[command(after_help = "\
Examples:
  team-executor task update --status completed --findings 'all tests pass'
  team-executor task update --status failed --error 'no database'
  team-executor task update IMPL-001 --status pending --session=.
  team-executor task update IMPL-001 --status skipped --session=.

A worker sets completed or failed on its own task; that is its result. A person
sets pending, as `retry` does, or skipped, as `skip` does.")]
    Update(TaskUpdate),

    /// List proposed tasks without a decision
    #[command(after_help = "\
Examples:
  team-executor task proposals --session=.
  team-executor task proposals --session=. --format json | jq '.proposals[].id'")]
    Proposals,

    /// Add proposed tasks
    #[command(after_help = "\
Examples:
  team-executor task accept DOCS-001 --session=.
  team-executor task accept DOCS-001 TEST-004 --session=. --format json

While their run is active they start in it; otherwise `run` runs them.")]
    Accept(TaskNames),

    /// Decline proposed tasks
    #[command(after_help = "\
Examples:
  team-executor task decline DOCS-001 --session=.")]
    Decline(TaskNames),

    /// List tasks, one line each
    #[command(after_help = "\
Examples:
  team-executor task list --session=.
  team-executor task list --status failed --format json | jq '.tasks[].error'")]
    List(TaskList),

    /// Show one task in full
    #[command(after_help = "\
Examples:
  team-executor task get IMPL-001 --session=.
  team-executor task get IMPL-001 --format json | jq '.task.metadata.deps'")]
    Get(TaskGet),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskCreate {
    /// ID, unique in the session
    #[arg(value_name = "TASK")]
    pub(crate) id: String,

    /// Title
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: String,

    /// Description
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) description: String,

    /// Role that does the task
    #[arg(long, value_name = "ROLE", alias = "role")]
    pub(crate) assignee: String,

    /// Tasks to complete first, separated by commas
    #[arg(long, value_name = "TASKS", aliases = ["metadata.deps", "after"], value_delimiter = ',')]
    pub(crate) deps: Vec<String>,

    /// Tasks that wait for it, separated by commas
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    pub(crate) before: Vec<String>,

    /// Expected wave; an error if the dependencies give another
    #[arg(long, value_name = "N", alias = "metadata.wave")]
    pub(crate) wave: Option<u32>,
}

#[derive(Debug, ClapArgs)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true)))]
pub(crate) struct TaskChange {
    /// ID of the task
    #[arg(value_name = "TASK")]
    pub(crate) id: String,

    /// Title
    #[arg(long, value_name = "TEXT", group = "change")]
    pub(crate) title: Option<String>,

    /// Description
    #[arg(long, value_name = "TEXT", group = "change")]
    pub(crate) description: Option<String>,

    /// Role that does the task
    #[arg(long, value_name = "ROLE", alias = "role", group = "change")]
    pub(crate) assignee: Option<String>,

    /// Priority
    #[arg(long, value_name = "PRIORITY", value_parser = priority_parser(), group = "change")]
    pub(crate) priority: Option<Priority>,

    /// Tasks to complete first too, separated by commas
    #[arg(long, value_name = "TASKS", value_delimiter = ',', group = "change")]
    pub(crate) after: Vec<String>,

    /// Tasks that it waits for no longer
    #[arg(long, value_name = "TASKS", value_delimiter = ',', group = "change")]
    pub(crate) not_after: Vec<String>,

    /// Tasks that wait for it too
    #[arg(long, value_name = "TASKS", value_delimiter = ',', group = "change")]
    pub(crate) before: Vec<String>,

    /// Tasks that wait for it no longer
    #[arg(long, value_name = "TASKS", value_delimiter = ',', group = "change")]
    pub(crate) not_before: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskUpdate {
    /// ID of the task [default: the worker's own]
    #[arg(value_name = "TASK")]
    pub(crate) id: Option<String>,

    /// New status
    #[arg(long, value_name = "STATUS", value_parser = status_parser())]
    pub(crate) status: TaskStatus,

    /// Findings, from a worker
    #[arg(long, value_name = "TEXT")]
    pub(crate) findings: Option<String>,

    /// Reason of a failure or a skip
    #[arg(long, value_name = "TEXT")]
    pub(crate) error: Option<String>,

    /// Verdict, from the worker of a CHECKPOINT task
    #[arg(long, value_name = "WORD", value_parser = verdict_parser())]
    pub(crate) verdict: Option<Verdict>,

    /// Data of the result, from a worker, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskList {
    /// Only with this status
    #[arg(long, value_name = "STATUS", value_parser = status_parser())]
    pub(crate) status: Option<TaskStatus>,

    /// Only of this role
    #[arg(long, value_name = "ROLE", alias = "role")]
    pub(crate) assignee: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskNames {
    /// IDs of the tasks
    #[arg(value_name = "TASK", required = true)]
    pub(crate) tasks: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskGet {
    /// ID of the task
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
}

fn status_parser() -> impl clap::builder::TypedValueParser<Value = TaskStatus> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let words = PossibleValuesParser::new(TaskStatus::WORDS);
    words.try_map(|word| TaskStatus::from_word(&word).ok_or("no such status"))
}

fn priority_parser() -> impl clap::builder::TypedValueParser<Value = Priority> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Priority::WORDS).try_map(|word| Priority::from_word(&word).ok_or("no such priority"))
}

fn verdict_parser() -> impl clap::builder::TypedValueParser<Value = Verdict> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Verdict::WORDS).try_map(|word| Verdict::from_word(&word).ok_or("no such verdict"))
}
