//! What can be done about a need or a problem: the command to type, and the request that a button sends.

use std::path::Path;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use team_executor_core::CheckpointAction;
use team_executor_core::run::{Bound, Cancel, Measure, Scope};
use team_executor_engine::Halted;
use team_executor_engine::control::{Request, ToRetry};
use team_executor_store::run_folder::folder_name;

use crate::config::{Dollars, PROJECT_FILE, Time, quoted};
use crate::escape;

/// Something that a person can do.
#[derive(Debug, Clone)]
pub struct Action {
    /// On a button.
    pub label: String,
    /// Works when it is pasted where the user is.
    pub command: String,
    /// The same as a request; nothing where only a person at a terminal can do it.
    pub send: Option<ToSend>,
    /// What the person may add in words.
    pub text: Option<TextField>,
}

/// What a button sends, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToSend {
    /// A request to the run.
    Control(Request),
    /// An answer to an agent that converses.
    Talk {
        /// The task that it works on.
        task: String,
        /// Which question.
        question: u64,
        /// Whether it may.
        allow: bool,
    },
    /// A decision about proposed tasks.
    Proposals {
        /// Which.
        tasks: Vec<String>,
        /// They come into the session.
        accept: bool,
    },
    /// An executor is to continue the run.
    Start,
}

/// A field of the request that a person may fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TextField {
    /// Its name.
    pub field: &'static str,
    /// Without it nothing is done.
    pub required: bool,
}

impl ToSend {
    /// To whom it goes, in a word, and what.
    pub fn parts(&self) -> (&'static str, Value) {
        match self {
            Self::Control(request) => ("control", serde_json::from_str(&request.write()).unwrap_or_default()),
            Self::Talk { task, question, allow } => {
                ("talk", json!({"task": task, "answer": {"question": question, "allow": allow}}))
            }
            Self::Proposals { tasks, accept: true } => ("proposals", json!({"accept": tasks})),
            Self::Proposals { tasks, accept: false } => ("proposals", json!({"decline": tasks})),
            Self::Start => ("start", json!({})),
        }
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (to, request) = self.send.as_ref().map(ToSend::parts).unzip();
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("label", &self.label)?;
        map.serialize_entry("command", &self.command)?;
        map.serialize_entry("to", &to)?;
        map.serialize_entry("request", &request)?;
        map.serialize_entry("text", &self.text)?;
        map.end()
    }
}

/// How commands about this run are typed.
pub(crate) struct Typing {
    program: String,
    /// The flag that names the session.
    session: String,
    /// The flags that name a run to look at, and one to continue, if it is not the newest.
    look: Option<String>,
    continued: Option<String>,
}

impl Typing {
    pub(super) fn new(program: String, session: &str, run: Option<&Path>, is_newest: bool) -> Self {
        let run = run.filter(|_| !is_newest).map(folder_name);
        let flag = |flag: &str| run.as_ref().map(|run| format!(" {}", escape::shell_word(&format!("{flag}={run}"))));
        Self { program, session: escape::session(session), look: flag("--run"), continued: flag("--continue") }
    }

    /// Whether requests reach this run: they go to the newest one.
    pub(super) const fn can_steer(&self) -> bool {
        self.look.is_none()
    }

    /// A command about a task, or about the run. An id that begins with a hyphen is no option.
    fn typed(&self, verb: &str, task: Option<&str>, flags: &str) -> String {
        let Self { program, session, .. } = self;
        match task {
            None => format!("{program} {verb} {session}{flags}"),
            Some(task) if task.starts_with('-') => {
                format!("{program} {verb} {session}{flags} -- {}", escape::shell_word(task))
            }
            Some(task) => format!("{program} {verb} {} {session}{flags}", escape::shell_word(task)),
        }
    }

    fn action(&self, label: &str, command: String, send: Option<ToSend>) -> Action {
        Action { label: label.to_owned(), command, send: send.filter(|_| self.can_steer()), text: None }
    }

    /// Looks at something; there is nothing to send.
    fn look(&self, label: &str, verb: &str, task: Option<&str>, flags: &str) -> Action {
        let flags = format!("{flags}{}", self.look.as_deref().unwrap_or_default());
        self.action(label, self.typed(verb, task, &flags), None)
    }

    pub(super) fn logs(&self, task: &str) -> Action {
        self.look("Log", "logs", Some(task), " --tail=20")
    }

    pub(super) fn verify(&self) -> Action {
        self.look("Verify", "artifacts verify", None, "")
    }

    /// Lists the agents, which may do it instead.
    pub(super) fn agents(&self) -> Action {
        self.action("Agents", format!("{} agents", self.program), None)
    }

    /// Lists the hosts.
    pub(super) fn hosts(&self, backend: &str) -> Action {
        let command = format!("{} hosts {}", self.program, escape::shell_word(&format!("--backend={backend}")));
        self.action("Hosts", command, None)
    }

    pub(super) fn doctor(&self) -> Action {
        self.action("Look", self.typed("doctor", None, ""), None)
    }

    pub(super) fn answer(&self, task: &str, question: u64, allow: bool) -> Action {
        let (label, verb) = if allow { ("Allow", "talk allow") } else { ("Deny", "talk deny") };
        let send = ToSend::Talk { task: task.to_owned(), question, allow };
        self.action(label, self.typed(verb, Some(task), &format!(" --question={question}")), Some(send))
    }

    /// A decision at a checkpoint, about one task or about all that are reviewed.
    pub(super) fn decide(&self, label: &str, action: CheckpointAction, task: Option<&str>) -> Action {
        let (verb, text) = match action {
            CheckpointAction::Resume => ("checkpoint approve", None),
            CheckpointAction::Improve => ("checkpoint reject", Some(TextField { field: "text", required: false })),
            CheckpointAction::Revise => ("checkpoint revise", Some(TextField { field: "text", required: false })),
            CheckpointAction::Recheck => ("checkpoint recheck", None),
            CheckpointAction::Feedback => (
                "checkpoint feedback 'a note for all later workers'",
                Some(TextField { field: "text", required: true }),
            ),
        };
        let tasks = task.into_iter().map(str::to_owned).collect();
        let request = Request::Decide { action, tasks, text: String::new() };
        Action { text, ..self.action(label, self.typed(verb, task, ""), Some(ToSend::Control(request))) }
    }

    /// Tasks that failed begin anew.
    pub(super) fn retry(&self, tasks: &[&str]) -> Action {
        let which = ToRetry::Tasks(tasks.iter().map(|task| (*task).to_owned()).collect());
        let request = Request::Retry { which, downstream: false, feedback: String::new(), with: None };
        let command = match tasks {
            [task] => self.typed("retry", Some(task), ""),
            _ => {
                let tasks: Vec<_> = tasks.iter().map(|task| escape::shell_word(task)).collect();
                format!("{} -- {}", self.typed("retry", None, ""), tasks.join(" "))
            }
        };
        let text = Some(TextField { field: "feedback", required: false });
        Action { text, ..self.action("Retry", command, Some(ToSend::Control(request))) }
    }

    /// A completed task is done again, with everything that is built on it.
    pub(super) fn redo(&self, task: &str) -> Action {
        let which = ToRetry::Tasks(vec![task.to_owned()]);
        let request = Request::Retry { which, downstream: true, feedback: String::new(), with: None };
        let text = Some(TextField { field: "feedback", required: false });
        let command = self.typed("retry --downstream", Some(task), "");
        Action { text, ..self.action("Redo", command, Some(ToSend::Control(request))) }
    }

    /// Every failed task begins anew.
    pub(super) fn retry_failed(&self) -> Action {
        let request = Request::Retry { which: ToRetry::Failed, downstream: false, feedback: String::new(), with: None };
        self.action("Retry all", self.typed("retry --failed", None, ""), Some(ToSend::Control(request)))
    }

    pub(super) fn restart(&self, task: &str) -> Action {
        let reason = "restarted by hand".to_owned();
        let request =
            Request::Cancel { task: task.to_owned(), then: Cancel::Retry, reason, feedback: String::new(), with: None };
        let text = Some(TextField { field: "feedback", required: false });
        Action { text, ..self.action("Restart", self.typed("restart", Some(task), ""), Some(ToSend::Control(request))) }
    }

    pub(super) fn cancel(&self, task: &str) -> Action {
        let reason = "cancelled by hand".to_owned();
        let request =
            Request::Cancel { task: task.to_owned(), then: Cancel::Fail, reason, feedback: String::new(), with: None };
        self.action("Cancel", self.typed("cancel", Some(task), ""), Some(ToSend::Control(request)))
    }

    pub(super) fn skip(&self, task: &str) -> Action {
        let request = Request::Skip { task: task.to_owned(), reason: "skipped by hand".to_owned() };
        self.action("Skip", self.typed("skip", Some(task), ""), Some(ToSend::Control(request)))
    }

    /// The executor that is there stops.
    pub(super) fn stop(&self) -> Action {
        self.action("Stop", self.typed("stop", None, ""), Some(ToSend::Control(Request::Drain)))
    }

    /// The run goes on: its executor is told so, or another one begins.
    pub(super) fn resume(&self, is_heard: bool) -> Action {
        let send = if is_heard { ToSend::Control(Request::Resume) } else { ToSend::Start };
        let flags = self.continued.as_deref().unwrap_or_default();
        self.action("Resume", self.typed("resume", None, flags), Some(send))
    }

    /// The run goes on with options that no request has.
    pub(super) fn resume_with(&self, flag: &str) -> Action {
        let flags = format!("{} {flag}", self.continued.as_deref().unwrap_or_default());
        self.action("Resume with more", self.typed("resume", None, &flags), None)
    }

    pub(super) fn proposal(&self, task: &str, accept: bool) -> Action {
        let (label, verb) = if accept { ("Accept", "task accept") } else { ("Decline", "task decline") };
        let send = ToSend::Proposals { tasks: vec![task.to_owned()], accept };
        self.action(label, self.typed(verb, Some(task), ""), Some(send))
    }
}

/// The option that gives a run twice the budget that was in the way, and enough for the next attempt. Budgets of roles and tasks
/// have none.
pub fn budget_flag(bound: &Bound) -> Option<(String, String)> {
    if bound.scope != Scope::Run {
        return None;
    }
    let most = bound.budget.saturating_mul(2).max(bound.used.saturating_add(bound.next));
    let most = match bound.measure {
        Measure::Usd => Dollars(most).to_string(),
        Measure::Tokens | Measure::Turns => most.to_string(),
        Measure::Wall => Time(Some(most.div_ceil(1000).saturating_mul(1000))).to_string(),
    };
    Some((format!("--budget-{}", bound.measure), most))
}

/// What must be set in the project's file, where no option helps.
pub fn budget_setting(bound: &Bound, halted: &Halted) -> Option<String> {
    let section = match bound.scope {
        Scope::Run => return None,
        Scope::Role(_) => "roles",
        Scope::Task(_) => "tasks",
    };
    let name = quoted(halted.name.as_deref().unwrap_or_default());
    Some(format!("set more `{}` in [{section}.{name}.budget] of {PROJECT_FILE}", bound.measure))
}
