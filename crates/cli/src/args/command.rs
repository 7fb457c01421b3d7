//! The commands, each with its help: first line, examples, and what else to know.

use clap::Subcommand;

use super::{
    Agents, Archive, Artifacts, Attach, Backend, Cancel, Changes, Checkpoint, Completions, Csv, Doctor, Events, Export,
    Host, Hosts, Init, Limit, Logs, Man, Mcp, Merge, Msg, Pause, Plan, Prompt, Prune, Rehearse, ReportOf, Restart,
    Retry, Run, Runs, Schema, Sessions, ShowConfig, Skip, StatusOf, Stop, Talk, TaskOf, TimelineOf, Ui, Validate,
};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a session, or continue its unfinished run
    #[command(after_help = "\
Examples:
  team-executor run --agent claude
  team-executor run --session=auth --agent-command './work.sh' -y
  team-executor run --agent-command 'make $TEAM_EXECUTOR_TASK' -c 8 -y
  team-executor run --agent coder --idle-limit 10m --format json -y
  team-executor run --continue EX-auth-2026-02-27

A command agent gets the prompt of its task on standard input and
TEAM_EXECUTOR_TASK, _ROLE, _RESULT, _ARTIFACTS and _PROMPT in its environment.
After a crash or Ctrl-C the same command continues. Completed tasks do not run
again.")]
    Run(Run),

    /// Create a session from a requirement or a task list
    #[command(after_help = "\
Examples:
  team-executor init 'Fix invoice export'
  team-executor init --pipeline full-lifecycle 'Add OAuth login to the shop'
  team-executor init --complexity high 'New public API'
  team-executor init --role security-expert 'Import customer data'
  team-executor init --from tasks.csv --dialect tasks-json 'Release 2.0'

Pipelines: impl-only plans, implements, tests and reviews; spec-only writes a
specification; full-lifecycle does both; enhanced-parallel fits the team to the
complexity. No file is overwritten. Edit the new role-specs as you like.")]
    Init(Init),

    /// Run an agent on each row of a table
    #[command(after_help = "\
Examples:
  team-executor csv urls.csv --instruction 'Summarise {url}' --agent claude
  team-executor csv people.csv --instruction 'Greet {name}' --id-column email \\
    --output-schema greeting.schema.json --output greetings.csv -c 16 -y \\
    --agent codex

Each worker reports a JSON object for its row. A report that does not match the
schema is asked for once more. After a crash or Ctrl-C the same command
continues; completed rows do not run again. `status`, `logs` and `retry` work
on the session of the table, which is below .workflow/.team/.")]
    Csv(Csv),

    /// Check a session and report every problem
    #[command(after_help = "\
Examples:
  team-executor validate
  team-executor validate --session=.workflow/.team/TC-auth-2026-02-27 --strict
  team-executor validate --format json | jq '.findings[].message'

Changes no file. Exit code 0 if the session can run (warnings are fine), 2 if
not.")]
    Validate(Validate),

    /// Show the tasks, waves and critical path of a session
    #[command(after_help = "\
Examples:
  team-executor plan
  team-executor plan --session=.workflow/.team/TC-auth-2026-02-27
  team-executor plan --format svg > plan.svg
  team-executor plan --format mermaid >> README.md
  team-executor plan --format json | jq '.ready'")]
    Plan(Plan),

    /// Continue a paused or stopped run
    #[command(
        alias = "continue",
        after_help = "\
Examples:
  team-executor resume
  team-executor resume --session=auth --agent-command './work.sh' -y

A paused run starts workers again, and its status is shown. A stopped run
continues as `run` continues it, with the options of its last start. Options
given here win."
    )]
    Resume(Run),

    /// Start no new workers until `resume`
    #[command(after_help = "\
Examples:
  team-executor pause
  team-executor pause --session=auth --reason 'the tests of main fail'

Running workers finish. Exit code 0 if the run is paused, 2 if not: no run is
active, or the request was refused.")]
    Pause(Pause),

    /// Stop a run; `resume` continues it
    #[command(after_help = "\
Examples:
  team-executor stop
  team-executor stop --session=auth --now

Running workers finish first. With --now they are ended, and their tasks run
again after `resume`. Exit code 0 if the run stops, 2 if no run is active or
the request was refused.")]
    Stop(Stop),

    /// Run failed or skipped tasks again
    #[command(after_help = "\
Examples:
  team-executor retry IMPL-001
  team-executor retry --failed
  team-executor retry DRAFT-001 --downstream --session=auth
  team-executor retry IMPL-001 --with codex --session=.
  team-executor retry IMPL-001 --with claude:opus --feedback 'use the new API' --session=.

Tasks that were skipped because of them run too. An active run starts them;
otherwise `resume` does. A finished run is opened again. With --with the tasks
are done by that agent from now on, also after a crash; then they may also be
tasks that wait.")]
    Retry(Retry),

    /// Skip a task
    #[command(after_help = "\
Examples:
  team-executor skip DEPLOY-001
  team-executor skip DEPLOY-001 --session=auth --reason 'done by hand'

Tasks that depend on it are skipped too, unless they run after failures.")]
    Skip(Skip),

    /// End the worker of one task; the others go on
    #[command(after_help = "\
Examples:
  team-executor cancel IMPL-001 --session=.
  team-executor cancel IMPL-001 --skip --reason 'not needed' --session=.
  team-executor cancel IMPL-001 --retry --session=.

The worker is asked to end, and killed after its grace. The task fails; with
--skip it is skipped, with --retry it begins a new attempt. What the attempt
came to in the meantime counts no more.")]
    Cancel(Cancel),

    /// End the worker of a task and begin a new attempt
    #[command(after_help = "\
Examples:
  team-executor restart IMPL-001 --session=.
  team-executor restart IMPL-001 --feedback 'use the new API' --session=.
  team-executor restart IMPL-001 --with codex --session=.

The next attempt spends no retry, and its prompt has the feedback. A task that
failed is started again by `retry`.")]
    Restart(Restart),

    /// Change how many workers run at a time
    #[command(after_help = "\
Examples:
  team-executor limit 8 --session=.
  team-executor limit 1 --role reviewer --session=.
  team-executor limit 2 --agent claude --session=.
  team-executor limit none --agent claude --session=.

Workers beyond a lower limit go on; no other takes their place. The limit stays
with the run until it is changed, also after a crash.")]
    Limit(Limit),

    /// Approve or send back work at a checkpoint
    #[command(after_help = "\
Examples:
  team-executor checkpoint
  team-executor checkpoint resume
  team-executor checkpoint revise IMPL-001 'handle empty input'
  team-executor checkpoint improve 'shorter, with an example' --session=auth
  team-executor checkpoint feedback 'the deadline moved'

A run pauses after tasks named QUALITY-*, when a CHECKPOINT-* task says `block`,
when work was sent back too often, and on `pause`. The decision is recorded. If
no run is active, `resume` continues with it.")]
    Checkpoint(Checkpoint),

    /// Talk to agents at work: send, interrupt, close, allow, deny
    #[command(after_help = "\
Examples:
  team-executor talk
  team-executor talk send IMPL-001 'leave the parser as it is'
  team-executor talk interrupt IMPL-001
  team-executor talk close IMPL-001 --session=auth
  team-executor talk allow IMPL-001

Agents converse on interactive tasks, and where `converse = true` or
`permissions = \"ask\"` is set. Exit code 2 if there is no such conversation.")]
    Talk(Talk),

    /// Rehearse a run on a copy, without any agent
    #[command(after_help = "\
Examples:
  team-executor rehearse
  team-executor rehearse --session=auth --fail IMPL-001 --slow TEST-001
  team-executor rehearse -c 8 --cadence wave

Takes a few seconds and calls no model. The session does not change: the copy
is below .workflow/.rehearsal/, and the next rehearsal replaces it.")]
    Rehearse(Rehearse),

    /// Show the effective config and its sources
    #[command(after_help = "\
Examples:
  team-executor config
  team-executor config --session=.workflow/.team/TC-auth-2026-02-27
  team-executor config --retries 1 --format json | jq '.settings'")]
    Config(ShowConfig),

    /// List the agents that are installed and usable
    #[command(after_help = "\
Examples:
  team-executor agents
  team-executor agents claude --test
  team-executor agents --format json | jq '.agents[] | select(.usable).name'

`claude`, `codex` and `gemini` need no configuration: `run --agent claude`. With
--test each agent answers one short question and may use no tools. Exit code 1
if a tested agent does not answer.")]
    Agents(Agents),

    /// Show the live view of a run that goes on elsewhere
    #[command(after_help = "\
Examples:
  team-executor attach
  team-executor attach --session=auth
  team-executor attach --format json | jq -r .type

The view ends with the run, and the exit code is that of the run. Ctrl-C ends
only the view. Exit code 3 if no executor has the run any more.")]
    Attach(Attach),

    /// Watch and steer runs in a browser
    #[command(after_help = "\
Examples:
  team-executor ui
  team-executor ui --session=auth
  team-executor ui --port 8080 --no-open
  ssh -L 8080:127.0.0.1:8080 host -t team-executor ui --port 8080 --no-open

The page is served on 127.0.0.1 only, and the address has a token that is new with
each start. Ctrl-C ends the page and nothing else: runs go on.")]
    Ui(Ui),

    /// Run workers on this machine for runs elsewhere
    #[command(after_help = "\
Examples:
  team-executor host --backend nats://127.0.0.1:4222
  team-executor host --backend nats://127.0.0.1:4222 --slots 8 --label gpu=yes

The host takes work until it gets SIGTERM or Ctrl-C; then its workers finish. A
second signal ends them, and their tasks run again elsewhere. Agents use the
logins of this machine. The backend can also be named in TEAM_EXECUTOR_BACKEND,
or by [backend] in your own config file.")]
    Host(Host),

    /// List the hosts that a backend knows
    #[command(after_help = "\
Examples:
  team-executor hosts --backend nats://127.0.0.1:4222
  team-executor hosts --format json | jq '.hosts[] | select(.state == \"ready\")'

A host is ready, draining (it takes no more work), missing (it was not heard of
for its lease), gone (it ended) or refused (its version is another one).")]
    Hosts(Hosts),

    /// Look at the server where hosts and runs meet
    #[command(after_help = "\
Examples:
  team-executor backend check --backend nats://127.0.0.1:4222
  team-executor backend check --format json | jq '.checks'")]
    Backend(Backend),

    /// List the runs of this project and their executors
    #[command(after_help = "\
Examples:
  team-executor runs
  team-executor runs --all
  team-executor runs --format json | jq '.runs[] | select(.process)'

A run is running while an executor has it, paused until it is resumed, and
finished when every task is over. Finished runs are listed with --all.")]
    Runs(Runs),

    /// Print a report of a run for other programs
    #[command(after_help = "\
Examples:
  team-executor report | jq '.tasks[] | select(.status == \"failed\")'
  team-executor report --format junit > junit.xml
  team-executor report --format markdown >> \"$GITHUB_STEP_SUMMARY\"
  team-executor report --format html > run.html

Reports are made from the journal, during a run and long after it.
`run --report` writes one when the run ends.")]
    Report(ReportOf),

    /// Show when tasks ran, and why the run took so long
    #[command(after_help = "\
Examples:
  team-executor timeline
  team-executor timeline --all --session=auth
  team-executor timeline --format svg > timeline.svg
  team-executor timeline --format trace > trace.json

Bars show when each task was ready, at work, being checked and sent back. The
chain of tasks that made the run as long as it was is marked with *. Open a trace
in Perfetto or in chrome://tracing.")]
    Timeline(TimelineOf),

    /// Show the progress of a run
    #[command(
        alias = "check",
        after_help = "\
Examples:
  team-executor status
  team-executor status --session=auth --watch
  team-executor status --format json | jq '.running'

Shows the newest run of the session. Changes no file."
    )]
    Status(StatusOf),

    /// Print the output of a task's last attempt
    #[command(after_help = "\
Examples:
  team-executor logs IMPL-001
  team-executor logs -f IMPL-001 --session=auth
  team-executor logs -f
  team-executor logs IMPL-001 --attempt all --timestamps
  team-executor logs IMPL-001 --tail 20 --since 10m
  team-executor logs IMPL-001 --raw | less

Without a task: the output of all tasks, each line behind its task. The streams
of Claude Code, Codex, Gemini CLI and ACP agents are decoded: → is a call of a
tool, | its result, ✗ a result that failed, ~ a thought, · a remark. Other
output is printed as it is.")]
    Logs(Logs),

    /// Print the events of a run
    #[command(after_help = "\
Examples:
  team-executor events
  team-executor events -f --session=auth
  team-executor events --from 120 --format json | jq -r .type

A finished run has the same events as while it was active. Exit code 3 if -f
ends before the run does.")]
    Events(Events),

    /// Print the prompt of a task
    #[command(after_help = "\
Examples:
  team-executor prompt IMPL-001
  team-executor prompt IMPL-001 --session=auth | wc -c

Starts no worker. The prompt has the findings of earlier tasks as far as the
newest run has them.")]
    Prompt(Prompt),

    /// Read and write the messages of a session
    #[command(after_help = "\
Examples:
  team-executor msg log 'the API is agreed' --to tester --type decision
  team-executor msg list --session=auth --from builder --last 5
  team-executor msg broadcast 'tests need a database'
  team-executor msg get-state DRAFT-001 --format json

A worker needs no --session. Its messages carry its role and attempt.")]
    Msg(Msg),

    /// Create, update and list tasks
    #[command(after_help = "\
Examples:
  team-executor task list
  team-executor task get IMPL-001 --session=auth --format json
  team-executor task update --status completed --findings 'all tests pass'
  team-executor task create DOCS-001 --title Docs --assignee writer

A worker can only report on its own task.")]
    Task(TaskOf),

    /// Serve workers and editors over the Model Context Protocol
    #[command(after_help = "\
Examples:
  claude mcp add team -- team-executor mcp --serve --agent claude
  codex mcp add team -- team-executor mcp --serve --agent codex -c 8
  claude --mcp-config '{\"mcpServers\": {\"executor\": {\"command\": \"team-executor\",
    \"args\": [\"mcp\"]}}}'
  codex -c 'mcp_servers.executor.command=\"team-executor\"' \\
    -c 'mcp_servers.executor.args=[\"mcp\"]'

With --serve it gives an assistant or an editor tools that run sessions and
tables. Only these flags and the config choose the agents.

Without --serve it gives a worker its tools. The worker's agent starts it with
TEAM_EXECUTOR_SESSION, _RUN, _TASK, _ATTEMPT and _RESULT in its environment.
Known coding agents are set up for this automatically.")]
    Mcp(Mcp),

    /// Check this machine and a run's files; `--repair` them
    #[command(after_help = "\
Examples:
  team-executor doctor
  team-executor doctor --session=.workflow/.team/TC-auth-2026-02-27
  team-executor doctor --run EX-auth-2026-02-27 --repair
  team-executor doctor --session=auth --format json | jq '.run.checks[].says'

A damaged journal is copied before it is cut. Exit code 0 if the run can
continue, 2 if not, 4 if the run is active and --repair is given.")]
    Doctor(Doctor),

    /// List, show or verify the artifacts of a run
    #[command(after_help = "\
Examples:
  team-executor artifacts
  team-executor artifacts show IMPL-001/report.md
  team-executor artifacts verify --session=auth
  team-executor artifacts list --format json | jq '.artifacts[].path'

`verify` reads each file again and compares its SHA-256 with the recorded one.
Exit code 1 if a file is missing, empty or changed, or if an object of a commit
is missing. The changes of a task with a tree of its own are one artifact, the
commit `git:SHA`. Without --run: the artifacts
of the newest run, and those of tasks that only earlier runs did.")]
    Artifacts(Artifacts),

    /// Show the changes that tasks made in trees of their own
    #[command(after_help = "\
Examples:
  team-executor changes
  team-executor changes IMPL-001
  team-executor changes IMPL-001 --patch | git apply --check
  team-executor changes IMPL-001 --branch review/IMPL-001 --session=auth
  team-executor changes --stat --format json | jq '.tasks[].files_changed'

Each task is compared with the work of others that it builds on; without a task,
everything that is merged with the commit that the run began with. Works while
the run is active and after it. Exit code 2 if the run has no trees.")]
    Changes(Changes),

    /// Show merged changes; land them or merge again
    #[command(after_help = "\
Examples:
  team-executor merge
  team-executor merge land
  team-executor merge land --ff --session=auth
  team-executor merge retry IMPL-002
  team-executor merge status --format json | jq '.not_merged'

`land` makes the branch te/RUN from everything that is merged so far. With --ff
it moves the branch that is checked out, if nothing uncommitted is there and it
has no other commits; else it makes the branch and gives the reason. `retry`
runs tasks again, and what was built on them; each begins with both sides. Exit
code 1 if the branch was changed by hand, so that it stays as it is.")]
    Merge(Merge),

    /// Copy the artifacts and reports of a run to a folder
    #[command(after_help = "\
Examples:
  team-executor export --to ../delivery
  team-executor export --session=auth --to ~/delivery --format json | jq '.copied'

Changes in trees of their own come as changes.patch, a patch of each task in
patches/, and changes.bundle with all commits: git fetch changes.bundle.
Writes export-manifest.json with the SHA-256 of each file last. No file is
overwritten or deleted, and links are not followed. After an interruption the
same command continues. Exit code 1 if an artifact has changed since it was
delivered. Without --run: the newest artifacts of each task, of all runs.")]
    Export(Export),

    /// Move finished runs to `.workflow/.archive/`
    #[command(after_help = "\
Examples:
  team-executor archive --session=.workflow/.team/TC-auth-2026-02-27
  team-executor archive EX-auth-2026-02-27
  team-executor archive --older-than 30d
  team-executor archive --session=auth --give-up 'we bought the service instead'

No file is deleted: move the folder back to .workflow/.csv-wave/ to undo it. The
session becomes archived; a tc session becomes completed, or paused if tasks
failed. An unfinished run is refused; --older-than passes over it. --give-up
archives an unfinished or unreadable run too: its session becomes failed, and
wisdom/issues.md in the session gives the reason.")]
    Archive(Archive),

    /// Free the disk space of old finished runs
    #[command(after_help = "\
Examples:
  team-executor prune --dry-run
  team-executor prune --older-than 7d --keep 3
  team-executor prune --session=auth --older-than 0s -y

Removes the logs of finished runs, the trees of their tasks whose work is kept
as commits, and archived runs whole once all their artifacts are exported.
Unfinished runs, the newest runs of each session (--keep), and artifacts and
changes that exist nowhere else stay. Asks first.")]
    Prune(Prune),

    /// List the sessions and runs of a project
    #[command(after_help = "\
Examples:
  team-executor sessions
  team-executor sessions ~/project
  team-executor sessions --format json | jq '.sessions[].path'")]
    Sessions(Sessions),

    /// Print the JSON Schema of a file format
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

    /// Print the manual page of a command
    #[command(after_help = "\
Examples:
  team-executor man | man -l -
  team-executor man task create | man -l -
  team-executor man > ~/.local/share/man/man1/team-executor.1")]
    Man(Man),
}
