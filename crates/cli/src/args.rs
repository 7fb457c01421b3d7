//! Every flag and command, once: help, completions and the man page come from here.

mod bus;
mod csv;
mod making;
mod mcp;
mod options;
mod settings;
mod steering;
mod talking;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use self::bus::*;
pub(crate) use self::csv::Csv;
pub(crate) use self::making::Init;
pub(crate) use self::mcp::Mcp;
pub(crate) use self::options::*;
pub(crate) use self::settings::Settings;
pub(crate) use self::steering::*;
pub(crate) use self::talking::*;

/// Runs teams of coding agents over the dependency graph that a planner wrote
///
/// A session is a folder of files: roles, tasks, dependencies. `validate` says exactly what is wrong with one, `plan`
/// shows what a run would do, `run` does it. After a crash or Ctrl-C the same command continues.
#[derive(Debug, Parser)]
#[command(
    name = "team-executor",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  team-executor init 'Add a login with OAuth to the shop'
  team-executor sessions
  team-executor validate --session=.workflow/.team/TC-auth-2026-02-27
  team-executor plan --session=.workflow/.team/TC-auth-2026-02-27
  team-executor --session=. --agent-command './work.sh' -y -c 4

Exit codes: 0 all tasks completed or nothing wrong, 1 finished with failed or
skipped tasks, 2 usage error or invalid session, 3 stopped and resumable,
4 another executor holds the session, 70 a bug in this program,
74 input/output failure, 130 interrupted."
)]
pub(crate) struct Args {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Session folder, or a unique part of its name; where only one can be meant it may be left out
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) session: Option<PathBuf>,

    /// Append a log of the program itself to this file; TEAM_EXECUTOR_LOG sets its level [default: debug]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log: Option<PathBuf>,

    /// Without a command the session is run
    #[command(flatten)]
    pub(crate) run: Run,
}

impl Args {
    /// Reads arguments. Options in front of a command are refused: they would be those of the run without a command, and
    /// nobody would follow them. Those that may stand anywhere, such as the session, are not.
    pub(crate) fn read(args: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let root = Self::command();
        let mut matches = root.clone().try_get_matches_from(args)?;
        if let Some(command) = matches.subcommand_name().and_then(|name| root.find_subcommand(name)) {
            let anywhere = |option: &Arg| {
                let mut known = command.get_arguments().filter(|known| known.get_id() == option.get_id());
                option.is_global_set() || known.any(Arg::is_global_set)
            };
            let is_typed = |option: &Arg| {
                let source = matches.value_source(option.get_id().as_str());
                source == Some(ValueSource::CommandLine) && !anywhere(option)
            };
            let first = root
                .get_arguments()
                .filter(|option| is_typed(option))
                .min_by_key(|option| matches.index_of(option.get_id().as_str()));
            if let Some(option) = first {
                return Err(misplaced(option, command));
            }
        }
        Self::from_arg_matches_mut(&mut matches)
    }

    /// Whether the command is about one session, which can be left out where only one can be meant. `--continue` finds its own.
    pub(crate) fn is_about_session(&self) -> bool {
        match &self.command {
            None => self.run.continued.is_none(),
            Some(Command::Run(options) | Command::Resume(options)) => options.continued.is_none(),
            Some(
                Command::Init(_)
                | Command::Csv(_)
                | Command::Config(_)
                | Command::Agents(_)
                | Command::Mcp(_)
                | Command::Doctor(_)
                | Command::Archive(_)
                | Command::Runs(_)
                | Command::Sessions(_)
                | Command::Schema(_)
                | Command::Completions(_)
                | Command::Man,
            ) => false,
            Some(_) => true,
        }
    }

    /// Whether programs read what is printed.
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            None => self.run.start.format == Format::Json,
            Some(Command::Run(options) | Command::Resume(options)) => options.start.format == Format::Json,
            Some(Command::Csv(options)) => options.start.format == Format::Json,
            Some(Command::Rehearse(options)) => options.format == Format::Json,
            Some(Command::Config(options)) => options.format == Format::Json,
            Some(Command::Agents(options)) => options.format == Format::Json,
            Some(Command::Pause(options)) => options.format == Format::Json,
            Some(Command::Stop(options)) => options.format == Format::Json,
            Some(Command::Retry(options)) => options.format == Format::Json,
            Some(Command::Skip(options)) => options.format == Format::Json,
            Some(Command::Checkpoint(options)) => options.format == Format::Json,
            Some(Command::Talk(options)) => options.format == Format::Json,
            Some(Command::Validate(options)) => options.format == Format::Json,
            Some(Command::Init(options)) => options.format == Format::Json,
            Some(Command::Plan(options)) => options.format == PlanFormat::Json,
            Some(Command::Attach(options)) => options.format == Format::Json,
            Some(Command::Runs(options)) => options.format == Format::Json,
            Some(Command::Status(options)) => options.format == Format::Json,
            Some(Command::Logs(options)) => options.format == Format::Json,
            Some(Command::Events(options)) => options.format == Format::Json,
            Some(Command::Msg(options)) => options.format == Format::Json,
            Some(Command::Task(options)) => options.format == Format::Json,
            Some(Command::Prompt(options)) => options.format == Format::Json,
            Some(Command::Doctor(options)) => options.format == Format::Json,
            Some(Command::Artifacts(options)) => options.format == Format::Json,
            Some(Command::Export(options)) => options.format == Format::Json,
            Some(Command::Archive(options)) => options.format == Format::Json,
            Some(Command::Sessions(options)) => options.format == Format::Json,
            Some(Command::Schema(options)) => options.format == Format::Json,
            Some(Command::Mcp(_) | Command::Completions(_) | Command::Man) => false,
        }
    }
}

/// Says that an option stands in front of a command, and where it would count.
fn misplaced(option: &Arg, command: &clap::Command) -> clap::Error {
    let (option, command_name) = (option.get_long().unwrap_or_default(), command.get_name());
    let help = match command.get_arguments().any(|known| known.get_long() == Some(option)) {
        true => format!("write it after `{command_name}`: team-executor {command_name} --{option}"),
        false => format!("leave it out: `{command_name}` has no such option"),
    };
    let message = format!("--{option} does not count in front of `{command_name}`\n{help}\n");
    clap::Error::raw(ErrorKind::ArgumentConflict, message)
}

/// Whether arguments that could not be understood ask for JSON.
pub(crate) fn seem_to_want_json(args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<_> = args.collect();
    let apart = args.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    apart || args.iter().any(|arg| arg == "--format=json")
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Execute a session, or continue it where it was left
    #[command(after_help = "\
Examples:
  team-executor run --session=. --agent-command './work.sh' -y
  team-executor run --session=. --agent-command 'make $TEAM_EXECUTOR_TASK' -y
  team-executor run --session=. --agent-command './work.sh' --cadence wave
  team-executor run --session=. --agent-command true -y --format json
  team-executor run --continue EX-auth-2026-02-27 --agent-command './work.sh'
  team-executor run --session=. --agent coder --idle-limit 10m

Each task runs the command once, with its prompt on standard input and
TEAM_EXECUTOR_TASK, _ROLE, _RESULT, _ARTIFACTS and _PROMPT in its environment.
After a crash or Ctrl-C the same command continues: nothing that was completed
is lost or done twice.")]
    Run(Run),

    /// Make a new session from a requirement, or from a table of tasks
    #[command(after_help = "\
Examples:
  team-executor init 'Add a login with OAuth to the shop'
  team-executor init --pipeline impl-only 'Fix the export of invoices'
  team-executor init --pipeline enhanced-parallel --complexity high 'New API'
  team-executor init --role security-expert 'Import of customer data'
  team-executor init --from tasks.csv --dialect tasks-json 'Release 2.0'

Pipelines: spec-only writes a specification; impl-only plans, builds, tests and
reviews; full-lifecycle does both; enhanced-parallel lets the complexity of the
work decide who joins in. Nothing that is there is overwritten: a session
appears whole, with role-specs that are meant to be edited, or not at all.")]
    Init(Init),

    /// Give each row of a table to a worker, and collect their results in a table
    #[command(after_help = "\
Examples:
  team-executor csv urls.csv --instruction 'Summarise {url}' --agent claude
  team-executor csv people.csv --instruction 'Greet {name}' --id-column email \\
    --output-schema greeting.schema.json --output greetings.csv -c 16 -y \\
    --agent codex

Each worker must report a JSON object for its row; one that does not follow the
schema is asked once more. After a crash or Ctrl-C the same command goes on, and
no row that is done is done again. The session is below .workflow/.team/, for
status, logs and retry. Nothing that the job has not written is overwritten.")]
    Csv(Csv),

    /// Say everything that is wrong or odd about a session; change nothing
    #[command(after_help = "\
Examples:
  team-executor validate --session=.workflow/.team/TC-auth-2026-02-27
  team-executor validate --session=. --strict
  team-executor validate --session=. --format json | jq '.findings[].message'

Exit code 0 if the session can be run (warnings are fine), 2 if not.")]
    Validate(Validate),

    /// Show what a run would do: tasks, waves, critical path, who starts first
    #[command(after_help = "\
Examples:
  team-executor plan --session=.workflow/.team/TC-auth-2026-02-27
  team-executor plan --session=. --format svg > plan.svg
  team-executor plan --session=. --format mermaid >> README.md
  team-executor plan --session=. --format json | jq '.ready'
  team-executor plan --session=. --role security-expert")]
    Plan(Plan),

    /// Go on with a run: with its executor if one waits, else as `run` does
    #[command(
        alias = "continue",
        after_help = "\
Examples:
  team-executor resume --session=.
  team-executor resume --session=. --agent-command './work.sh' -y

If an executor has the run, it is told to start workers again, and how the run
stands is shown. Else this is the same as `run`, with the same options."
    )]
    Resume(Run),

    /// Start no new workers until `resume`; those that run finish, and the executor waits
    #[command(after_help = "\
Examples:
  team-executor pause --session=.
  team-executor pause --session=. --reason 'the tests of main are red'

Exit code 0 if the run is paused now, 2 if it is not: nothing runs, or the
request was refused.")]
    Pause(Pause),

    /// End a running executor; the run can be resumed
    #[command(after_help = "\
Examples:
  team-executor stop --session=.
  team-executor stop --session=. --now

Workers that run may finish, unless --now is given: then they are ended, and
their tasks run again when the run is resumed. Exit code 0 if the executor ends,
2 if nothing runs or the request was refused.")]
    Stop(Stop),

    /// Run tasks again that failed or were skipped, with what was skipped because of them
    #[command(after_help = "\
Examples:
  team-executor retry IMPL-001 --session=.
  team-executor retry --failed --session=.
  team-executor retry DRAFT-001 --downstream --session=.

If an executor has the run, it starts them; else they are noted, and `resume`
starts them. A finished run is opened again.")]
    Retry(Retry),

    /// Do not run a task
    #[command(after_help = "\
Examples:
  team-executor skip DEPLOY-001 --session=.
  team-executor skip DEPLOY-001 --session=. --reason 'done by hand'

What depends on it is skipped too, unless it runs after failures.")]
    Skip(Skip),

    /// Judge what there is at a checkpoint: go on, improve, revise, recheck, or say something
    #[command(after_help = "\
Examples:
  team-executor checkpoint --session=.
  team-executor checkpoint resume --session=.
  team-executor checkpoint revise IMPL-001 'handle empty input' --session=.
  team-executor checkpoint improve 'shorter, with an example' --session=.
  team-executor checkpoint feedback 'the deadline moved' --session=.

A run pauses after tasks named QUALITY-*, when a CHECKPOINT-* says `block`, when
work was sent back too often, and when it is told to. If no executor has the run,
the decision is noted, and `resume` continues. Every decision is kept.")]
    Checkpoint(Checkpoint),

    /// Reach into conversations with agents: say something, interrupt, close, allow or deny
    #[command(after_help = "\
Examples:
  team-executor talk --session=.
  team-executor talk send IMPL-001 'leave the parser as it is' --session=.
  team-executor talk interrupt IMPL-001 --session=.
  team-executor talk close IMPL-001 --session=.
  team-executor talk allow IMPL-001 --session=.

Agents converse about interactive tasks, and wherever `converse = true` or
`permissions = \"ask\"` is set. Exit code 2 if there is no such conversation.")]
    Talk(Talk),

    /// Rehearse a whole run on a copy of the session: no model, no work, a few seconds
    #[command(after_help = "\
Examples:
  team-executor rehearse --session=.workflow/.team/TC-auth-2026-02-27
  team-executor rehearse --session=. --fail IMPL-001 --slow TEST-001
  team-executor rehearse --session=. -c 8 --cadence wave

The session itself is not touched: the copy and the files of the rehearsed run
are below .workflow/.rehearsal/, and the next rehearsal replaces them.")]
    Rehearse(Rehearse),

    /// Show the settings that count and where each comes from
    #[command(after_help = "\
Examples:
  team-executor config
  team-executor config --session=.workflow/.team/TC-auth-2026-02-27
  team-executor config --retries 1 --format json | jq '.settings'")]
    Config(ShowConfig),

    /// List who can do tasks: what is installed, in which version, and whether it is usable
    #[command(after_help = "\
Examples:
  team-executor agents
  team-executor agents claude --test
  team-executor agents --format json | jq '.agents[] | select(.usable).name'

`claude`, `codex` and `gemini` need no configuration: run --agent claude uses
one. With --test each one is asked for a word, without being allowed to do
anything. Exit code 1 if one that was tested does not answer.")]
    Agents(Agents),

    /// Show a run that goes on in another place
    #[command(after_help = "\
Examples:
  team-executor attach
  team-executor attach --session=auth
  team-executor attach --format json | jq -r .type

The live view ends with the run. Ctrl-C ends only the view; the run goes on.
The exit code is that of the run, 3 if no executor has it any more.")]
    Attach(Attach),

    /// List the runs of this project, with who executes them
    #[command(after_help = "\
Examples:
  team-executor runs
  team-executor runs --all
  team-executor runs --format json | jq '.runs[] | select(.state == \"running\")'

A run is running while an executor has it, paused until it is resumed, and
finished when every task is over. Finished runs are listed with --all.")]
    Runs(Runs),

    /// Show how the newest run of a session stands; change nothing
    #[command(
        alias = "check",
        after_help = "\
Examples:
  team-executor status --session=.workflow/.team/TC-auth-2026-02-27
  team-executor status --session=. --watch
  team-executor status --session=. --format json | jq '.running'"
    )]
    Status(StatusOf),

    /// Print what the last attempt at a task printed, or that at each task
    #[command(after_help = "\
Examples:
  team-executor logs IMPL-001 --session=.workflow/.team/TC-auth-2026-02-27
  team-executor logs -f IMPL-001 --session=.
  team-executor logs -f --session=.
  team-executor logs IMPL-001 --session=. | less")]
    Logs(Logs),

    /// Print the events of a session's newest run
    #[command(after_help = "\
Examples:
  team-executor events --session=.workflow/.team/TC-auth-2026-02-27
  team-executor events -f --session=.
  team-executor events --from 120 --format json --session=. | jq -r .type

The events come from the journal, so a finished run has the same ones as while
it ran. Exit code 3 if -f ends because no executor has the run any more.")]
    Events(Events),

    /// Print what a worker is told about a task; start nothing
    #[command(after_help = "\
Examples:
  team-executor prompt IMPL-001 --session=.workflow/.team/TC-auth-2026-02-27
  team-executor prompt IMPL-001 --session=. | wc -c

What earlier tasks found is included as far as the newest run has it.")]
    Prompt(Prompt),

    /// The message bus of a session: say something, listen, look who remembers what
    #[command(after_help = "\
Examples:
  team-executor msg log 'the API is agreed' --to tester --type decision
  team-executor msg list --session=. --from builder --last 5
  team-executor msg broadcast 'tests need a database' --session=.
  team-executor msg get-state DRAFT-001 --format json

A worker inside a run needs no --session: it speaks as its role, and what it
says carries its attempt.")]
    Msg(Msg),

    /// Tasks: add one, report one's own, say what is to become of one, look
    #[command(after_help = "\
Examples:
  team-executor task list --session=.
  team-executor task get IMPL-001 --session=. --format json
  team-executor task update --status completed --findings 'all tests pass'
  team-executor task create DOCS-001 --title Docs --assignee writer --session=.

A worker inside a run can only report its own task.")]
    Task(TaskOf),

    /// Serve a worker, or a client that runs teams, over the Model Context Protocol
    #[command(after_help = "\
Examples:
  claude --mcp-config '{\"mcpServers\": {\"executor\": {\"command\": \"team-executor\",
    \"args\": [\"mcp\"]}}}'
  codex -c 'mcp_servers.executor.command=\"team-executor\"' \\
    -c 'mcp_servers.executor.args=[\"mcp\"]'

It is started by a worker inside of a run, which it knows by its environment:
TEAM_EXECUTOR_SESSION, _RUN, _TASK, _ATTEMPT and _RESULT must reach it. Known
coding agents are given it without being asked to; see docs/reference/mcp.md.

With --serve it serves an assistant or an editor instead, with tools that run
sessions and tables; only the flags given here and the configuration say who
does the work:
  claude mcp add team -- team-executor mcp --serve --agent claude
  codex mcp add team -- team-executor mcp --serve --agent codex -c 8")]
    Mcp(Mcp),

    /// Say what protects a run here, and whether a run is whole; `--repair` what can be
    #[command(after_help = "\
Examples:
  team-executor doctor
  team-executor doctor --session=.workflow/.team/TC-auth-2026-02-27
  team-executor doctor --run EX-auth-2026-02-27 --repair
  team-executor doctor --session=. --format json | jq '.run.checks[].says'

A damaged journal is copied before it is cut. Exit code 0 if a run can go on,
2 if not, 4 if an executor holds what is to be repaired.")]
    Doctor(Doctor),

    /// List, show or verify what the newest run of a session delivered
    #[command(after_help = "\
Examples:
  team-executor artifacts --session=.workflow/.team/TC-auth-2026-02-27
  team-executor artifacts show IMPL-001/report.md --session=.
  team-executor artifacts verify --session=.
  team-executor artifacts list --session=. --format json | jq '.artifacts[].path'

`verify` reads each file again and compares its SHA-256 with what was recorded
when its worker ended. Exit code 1 if one is missing, empty or changed.")]
    Artifacts(Artifacts),

    /// Copy what the newest run of a session delivered to a folder
    #[command(after_help = "\
Examples:
  team-executor export --session=.workflow/.team/TC-auth-2026-02-27 --to ../delivery
  team-executor export --session=. --to ~/delivery --format json | jq '.copied'

Copies the artifacts and reports, and last export-manifest.json with the
SHA-256 of each. Nothing that is there is overwritten or deleted; the same
command goes on where it was interrupted. Links are not followed. Exit code 1
if an artifact is not what was delivered any more.")]
    Export(Export),

    /// Put finished runs away, into `.workflow/.archive/`
    #[command(after_help = "\
Examples:
  team-executor archive --session=.workflow/.team/TC-auth-2026-02-27
  team-executor archive EX-auth-2026-02-27
  team-executor archive --older-than 30d
  team-executor archive --session=. --give-up 'the service was bought instead'

The folder of a run moves as it is, and nothing is deleted; moved back to
.workflow/.csv-wave/ it is there again. A session whose newest run is put away
becomes archived; a tc session has no word for that and stays completed, or
paused if tasks failed. A run that is not finished is refused, and passed over
with --older-than. With --give-up it is put away too, and so is one that cannot
be read: its session has failed before, and wisdom/issues.md there says why.")]
    Archive(Archive),

    /// List the sessions and runs below `.workflow/`
    #[command(after_help = "\
Examples:
  team-executor sessions
  team-executor sessions ~/project
  team-executor sessions --format json | jq '.sessions[].path'")]
    Sessions(Sessions),

    /// Print the JSON Schema of a file that is read or written
    #[command(after_help = "\
Examples:
  team-executor schema
  team-executor schema team-session
  team-executor schema tasks > tasks.schema.json")]
    Schema(Schema),

    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  eval \"$(team-executor completions bash)\"
  team-executor completions zsh > ~/.zfunc/_team-executor
  team-executor completions fish > ~/.config/fish/completions/team-executor.fish")]
    Completions(Completions),

    /// Print the manual page
    #[command(after_help = "\
Examples:
  team-executor man | man -l -
  team-executor man > ~/.local/share/man/man1/team-executor.1")]
    Man,
}
