//! `msg` and `task`: what workers and people say, and what they say about tasks.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use team_executor_core::{TaskStatus, Verdict};

use super::options::{Format, Reading};

#[derive(Debug, ClapArgs)]
pub(crate) struct Msg {
    #[command(subcommand)]
    pub(crate) verb: MsgVerb,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// What is done with the message bus.
#[derive(Debug, Subcommand)]
pub(crate) enum MsgVerb {
    /// Say something
    #[command(after_help = "\
Examples:
  team-executor msg log 'the API is agreed' --to tester --type decision
  team-executor msg log 'half done' --type state_update --data '{\"step\": 2}'
  team-executor msg log 'please wait' --session=. --from maria

A worker speaks as its role. With the type state_update its data is also what
the role remembers, in .msg/meta.json.")]
    Log(MsgLog),

    /// Show messages whole: one by its id, or all that a filter leaves
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

    /// Show the last message of each role, and what it remembers
    #[command(after_help = "\
Examples:
  team-executor msg status --session=.
  team-executor msg status --format json | jq '.roles[].state'")]
    Status,

    /// Say something to everybody, and note it in the session's wisdom
    #[command(after_help = "\
Examples:
  team-executor msg broadcast 'tests need a running database'
  team-executor msg broadcast 'we use UTC everywhere' --wisdom decisions")]
    Broadcast(MsgBroadcast),

    /// Show where tasks stand and what their discoveries say
    #[command(after_help = "\
Examples:
  team-executor msg get-state DRAFT-001
  team-executor msg get-state --session=. --format json | jq '.tasks[].status'

Without a task: those that a worker's own task builds on; for people, all.")]
    GetState(GetState),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgLog {
    /// In a few words; more than 500 characters are cut
    #[arg(value_name = "SUMMARY")]
    pub(crate) summary: String,

    /// Who is told
    #[arg(long, value_name = "ROLE", default_value = "all")]
    pub(crate) to: String,

    /// What sort of message it is
    #[arg(long = "type", value_name = "TYPE", default_value = "message")]
    pub(crate) kind: String,

    /// The rest, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,

    /// Who says it, if a person does [default: user]
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgRead {
    /// Which one
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

    /// Only to this role, or to everybody
    #[arg(long, value_name = "ROLE")]
    pub(crate) to: Option<String>,

    /// Only of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,

    /// Only the last ones
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MsgBroadcast {
    /// In a few words; more than 500 characters are cut
    #[arg(value_name = "SUMMARY")]
    pub(crate) summary: String,

    /// Where it is noted
    #[arg(long, value_name = "FILE", value_enum, default_value_t)]
    pub(crate) wisdom: Wisdom,

    /// The rest, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,

    /// Who says it, if a person does [default: user]
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
}

/// One of the files in `wisdom/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Wisdom {
    /// What was learned
    #[default]
    Learnings,
    /// What was decided, and why
    Decisions,
    /// What went wrong or needs a look
    Issues,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GetState {
    /// Which tasks
    #[arg(value_name = "TASK")]
    pub(crate) tasks: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskOf {
    #[command(subcommand)]
    pub(crate) verb: TaskVerb,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How to print
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
}

/// What is done with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Add a task to a session that no run has open; a worker only proposes it
    #[command(
        override_usage = "team-executor task create <TASK> --title <TEXT> --assignee <ROLE>",
        after_help = "\
Examples:
  team-executor task create DOCS-001 --title Docs --assignee writer --session=.
  team-executor task create B --title b --assignee dev --deps A --session=.

Refused, with nothing changed, unless the session is valid with it."
    )]
    Create(TaskCreate),

    /// Say how a task stands: a worker its own, a person what is to become of it
    #[command(after_help = "\
Examples:
  team-executor task update --status completed --findings 'all tests pass'
  team-executor task update --status failed --error 'no database'
  team-executor task update IMPL-001 --status pending --session=.
  team-executor task update IMPL-001 --status skipped --session=.

A worker can only say completed or failed, of its own task; that is its result.
A person can set pending, as `retry` does, and skipped, as `skip` does.")]
    Update(TaskUpdate),

    /// List what workers of the newest run proposed, and what is not decided on
    #[command(after_help = "\
Examples:
  team-executor task proposals --session=.
  team-executor task proposals --session=. --format json | jq '.proposals[].id'")]
    Proposals,

    /// Add tasks that workers proposed
    #[command(after_help = "\
Examples:
  team-executor task accept DOCS-001 --session=.
  team-executor task accept DOCS-001 TEST-004 --session=. --format json

The run that they were proposed in must be finished; `run` then does them.")]
    Accept(TaskNames),

    /// Do not add tasks that workers proposed
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

    /// Show one task whole
    #[command(after_help = "\
Examples:
  team-executor task get IMPL-001 --session=.
  team-executor task get IMPL-001 --format json | jq '.task.metadata.deps'")]
    Get(TaskGet),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskCreate {
    /// Unique in the session
    #[arg(value_name = "TASK")]
    pub(crate) id: String,

    /// For people
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: String,

    /// What is to be done
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) description: String,

    /// The role that does it
    #[arg(long, value_name = "ROLE", alias = "role")]
    pub(crate) assignee: String,

    /// What must be completed before, with commas between
    #[arg(long, value_name = "TASKS", alias = "metadata.deps", value_delimiter = ',')]
    pub(crate) deps: Vec<String>,

    /// The wave that it is expected in; refused if the dependencies say otherwise
    #[arg(long, value_name = "N", alias = "metadata.wave")]
    pub(crate) wave: Option<u32>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskUpdate {
    /// Which task; a worker's own if it is left out
    #[arg(value_name = "TASK")]
    pub(crate) id: Option<String>,

    /// What it is to be
    #[arg(long, value_name = "STATUS", value_parser = status_parser())]
    pub(crate) status: TaskStatus,

    /// What came out, from a worker
    #[arg(long, value_name = "TEXT")]
    pub(crate) findings: Option<String>,

    /// Why it failed, or why it is skipped
    #[arg(long, value_name = "TEXT")]
    pub(crate) error: Option<String>,

    /// Whether the team may go on, from the worker of a CHECKPOINT
    #[arg(long, value_name = "WORD", value_parser = verdict_parser())]
    pub(crate) verdict: Option<Verdict>,

    /// The `data` of a result, from a worker, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) data: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskList {
    /// Only of this status
    #[arg(long, value_name = "STATUS", value_parser = status_parser())]
    pub(crate) status: Option<TaskStatus>,

    /// Only of this role
    #[arg(long, value_name = "ROLE", alias = "role")]
    pub(crate) assignee: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskNames {
    /// Which ones
    #[arg(value_name = "TASK", required = true)]
    pub(crate) tasks: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TaskGet {
    /// Which task
    #[arg(value_name = "TASK")]
    pub(crate) id: String,
}

fn status_parser() -> impl clap::builder::TypedValueParser<Value = TaskStatus> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let words = PossibleValuesParser::new(TaskStatus::WORDS);
    words.try_map(|word| TaskStatus::from_word(&word).ok_or("no such status"))
}

fn verdict_parser() -> impl clap::builder::TypedValueParser<Value = Verdict> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Verdict::WORDS).try_map(|word| Verdict::from_word(&word).ok_or("no such verdict"))
}
