//! Requests to a run as lines of JSON. Any other line is refused.

use team_executor_core::run::{Assignment, Cancel, Group, Input, Which};
use team_executor_core::{CheckpointAction, Priority, RoleName, TaskIndex, Timestamp};
use team_executor_files::json::{self, Kind, Layout, Value, Writer};

use super::VERSION;
use crate::bus::{NewTask, TaskEdit};

/// A request to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// No new workers until [`Request::Resume`].
    Pause {
        /// For people.
        reason: String,
    },
    /// Goes on after a pause.
    Resume,
    /// No new workers; over when the running ones have ended.
    Drain,
    /// No new workers, and the running ones are ended.
    Stop,
    /// Tasks that are over run again.
    Retry {
        /// Which.
        which: ToRetry,
        /// Also everything that depends on them.
        downstream: bool,
        /// Words of the person for their next attempts; may be empty.
        feedback: String,
        /// Who does them from now on, if that changes.
        with: Option<Assignment>,
    },
    /// The worker of a task is ended.
    Cancel {
        /// The id of the task.
        task: String,
        /// What becomes of it.
        then: Cancel,
        /// For people.
        reason: String,
        /// Words of the person for its next attempt; may be empty.
        feedback: String,
        /// Who does it from now on, if that changes.
        with: Option<Assignment>,
    },
    /// A task is added, to the session's own file and to the run.
    Create(Wanted),
    /// A task is changed or removed, in the session's own file and in the run.
    Edit(TaskEdit),
    /// What the session's files have more than the run is taken into it.
    Adopt,
    /// A task is not to run.
    Skip {
        /// Its id.
        task: String,
        /// For people.
        reason: String,
    },
    /// At most so many workers at a time.
    Limit {
        /// Which workers.
        group: Group,
        /// How many; nothing lifts the limit.
        most: Option<u32>,
    },
    /// A person has judged what there is.
    Decide {
        /// The work, in words.
        action: CheckpointAction,
        /// Which tasks are to be done again, by their ids.
        tasks: Vec<String>,
        /// In the person's words.
        text: String,
    },
    /// An agent wants to be allowed something, and a person is to be asked.
    Ask(Permission),
    /// Which attempt the process that asks belongs to.
    Whose,
    /// What workers are doing at the moment.
    Activity,
    /// The durable records of the journal, those that are there and those that come, until the run ends.
    Subscribe {
        /// From this one on; the first is 1.
        from: u64,
        /// Also events that are only live.
        live: bool,
    },
    /// A worker reports how far it is.
    Progress {
        /// The key of its attempt.
        attempt: String,
        /// In its words.
        words: String,
    },
}

/// A task that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Unique in its session.
    pub id: String,
    /// For people.
    pub title: String,
    /// The work, in words.
    pub description: String,
    /// Who does it.
    pub role: String,
    /// What must be done before.
    pub dependencies: Vec<String>,
    /// What waits for it from then on.
    pub before: Vec<String>,
    /// The wave that is expected.
    pub wave: Option<u32>,
}

impl Wanted {
    /// The request for a task.
    pub(crate) fn of(new: &NewTask<'_>) -> Self {
        Self {
            id: new.id.to_owned(),
            title: new.title.to_owned(),
            description: new.description.to_owned(),
            role: new.role.to_owned(),
            dependencies: new.dependencies.to_vec(),
            before: new.before.to_vec(),
            wave: new.wave,
        }
    }

    /// The task.
    pub(crate) fn as_new(&self) -> NewTask<'_> {
        let Self { id, title, description, role, dependencies, before, wave } = self;
        NewTask { id, title, description, role, dependencies, before, wave: *wave }
    }
}

/// What an agent wants to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The task that it works on.
    pub task: String,
    /// The key of its attempt.
    pub attempt: String,
    /// The number of the question in the conversation.
    pub question: u64,
    /// What it wants to use.
    pub tool: String,
    /// What for, in its words.
    pub what: String,
}

/// Which tasks are to run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToRetry {
    /// These, by their ids.
    Tasks(Vec<String>),
    /// Every failed one.
    Failed,
}

/// Reasons that are longer are refused.
const REASON_CHARS: usize = 1000;
/// A person's text at a checkpoint may be longer.
const TEXT_CHARS: usize = 10_000;

impl Request {
    /// The request as a line, without its end.
    pub fn write(&self) -> String {
        let mut out = Writer::new(Layout::Compact);
        out.begin_object();
        out.key("version");
        out.plain(VERSION);
        let mut text = |key: &str, text: &str| {
            out.key(key);
            out.text(text);
        };
        text("request", self.word());
        match self {
            Self::Pause { reason } => text("reason", reason),
            Self::Resume | Self::Drain | Self::Stop | Self::Whose | Self::Activity | Self::Adopt => {}
            Self::Create(Wanted { id, title, description, role, dependencies, before, wave }) => {
                text("task", id);
                text("title", title);
                text("description", description);
                text("role", role);
                out.key("deps");
                out.texts(dependencies);
                if !before.is_empty() {
                    out.key("before");
                    out.texts(before);
                }
                if let Some(wave) = wave {
                    out.key("wave");
                    out.plain(wave);
                }
            }
            Self::Edit(edit) => write_edit(&mut out, edit),
            Self::Skip { task, reason } => {
                text("task", task);
                text("reason", reason);
            }
            Self::Limit { group, most } => {
                match group {
                    Group::All => {}
                    Group::Role(role) => text("role", role.as_str()),
                    Group::Agent(agent) => text("agent", agent),
                }
                if let Some(most) = most {
                    out.key("workers");
                    out.plain(most);
                }
            }
            Self::Decide { action, tasks, text: words } => {
                text("action", action.word());
                text("text", words);
                out.key("tasks");
                out.texts(tasks);
            }
            Self::Ask(Permission { task, attempt, question, tool, what }) => {
                text("task", task);
                text("attempt", attempt);
                text("tool", tool);
                text("what", what);
                out.key("question");
                out.plain(question);
            }
            Self::Progress { attempt, words } => {
                text("attempt", attempt);
                text("words", words);
            }
            Self::Subscribe { from, live } => {
                out.key("from");
                out.plain(from);
                out.key("live");
                out.plain(live);
            }
            Self::Cancel { task, then, reason, feedback, with } => {
                assignment(&mut text, with.as_ref());
                text("task", task);
                text("then", then.word());
                text("reason", reason);
                text("feedback", feedback);
            }
            Self::Retry { which, downstream, feedback, with } => {
                assignment(&mut text, with.as_ref());
                if !feedback.is_empty() {
                    text("feedback", feedback);
                }
                if let ToRetry::Tasks(tasks) = which {
                    out.key("tasks");
                    out.texts(tasks);
                }
                out.key("downstream");
                out.plain(downstream);
            }
        }
        out.end_object();
        out.finish().trim_end().to_owned()
    }

    /// The request of a line, or why it is none.
    pub fn read(line: &str) -> Result<Self, String> {
        let document = json::parse(line).map_err(|error| format!("the request is not JSON: {}", error.message))?;
        if !document.repeated_keys().is_empty() {
            return Err("the request has a field twice".to_owned());
        }
        let fields = Fields { root: document.root() };
        match fields.root.get("version").and_then(Value::as_i64) {
            Some(VERSION) => {}
            _ => return Err(format!("the request is not of version {VERSION}")),
        }
        let word = fields.text("request")?;
        let (request, known): (Self, &[&str]) = match word.as_str() {
            "pause" => (Self::Pause { reason: fields.reason()? }, &["reason"]),
            "resume" => (Self::Resume, &[]),
            "drain" => (Self::Drain, &[]),
            "stop" => (Self::Stop, &[]),
            "whose" => (Self::Whose, &[]),
            "activity" => (Self::Activity, &[]),
            "subscribe" => {
                let from = fields.root.get("from").and_then(Value::as_i64).and_then(|from| u64::try_from(from).ok());
                let from = from.ok_or("the request has no readable `from`")?;
                let live = fields.root.get("live").and_then(Value::as_bool).unwrap_or(false);
                (Self::Subscribe { from, live }, &["from", "live"])
            }
            "retry" => {
                let downstream = fields.root.get("downstream").and_then(Value::as_bool);
                let downstream = downstream.ok_or("the request has no readable `downstream`")?;
                let feedback =
                    fields.root.get("feedback").map_or(Ok(String::new()), |_| fields.words("feedback", TEXT_CHARS))?;
                let (which, with) = (fields.wanted()?, fields.assignment()?);
                let known = &["tasks", "downstream", "feedback", "agent", "model"];
                (Self::Retry { which, downstream, feedback, with }, known)
            }
            "cancel" => {
                let then = Cancel::from_word(&fields.text("then")?).ok_or("the request has no readable `then`")?;
                let (task, reason) = (fields.text("task")?, fields.reason()?);
                let (feedback, with) = (fields.words("feedback", TEXT_CHARS)?, fields.assignment()?);
                let known = &["task", "then", "reason", "feedback", "agent", "model"];
                (Self::Cancel { task, then, reason, feedback, with }, known)
            }
            "adopt" => (Self::Adopt, &[]),
            "create" => {
                (Self::Create(fields.new_task()?), &["task", "title", "description", "role", "deps", "before", "wave"])
            }
            "edit" => (Self::Edit(fields.edit()?), EDIT),
            "limit" => (fields.limit()?, &["role", "agent", "workers"]),
            "decide" => {
                let action = CheckpointAction::from_word(&fields.text("action")?);
                let action = action.ok_or("the request has no readable `action`")?;
                let tasks = fields.wanted_of("tasks")?.ok_or("the request has no readable `tasks`")?;
                (Self::Decide { action, tasks, text: fields.words("text", TEXT_CHARS)? }, &["action", "tasks", "text"])
            }
            "ask" => {
                let question = fields.root.get("question").and_then(Value::as_i64);
                let question = question.and_then(|number| u64::try_from(number).ok());
                let asked = Permission {
                    task: fields.text("task")?,
                    attempt: fields.text("attempt")?,
                    question: question.ok_or("the request has no readable `question`")?,
                    tool: fields.words("tool", REASON_CHARS)?,
                    what: fields.words("what", REASON_CHARS)?,
                };
                (Self::Ask(asked), &["task", "attempt", "question", "tool", "what"])
            }
            "progress" => {
                let (attempt, words) = (fields.text("attempt")?, fields.words("words", REASON_CHARS)?);
                (Self::Progress { attempt, words }, &["attempt", "words"])
            }
            "skip" => (Self::Skip { task: fields.text("task")?, reason: fields.reason()? }, &["task", "reason"]),
            _ => return Err("unknown request".to_owned()),
        };
        let is_known = |name: &str| matches!(name, "version" | "request") || known.contains(&name);
        if fields.root.entries().any(|entry| !is_known(&entry.name())) {
            return Err(format!("the request `{word}` has an unknown field"));
        }
        Ok(request)
    }

    /// The input to the rules, or the task that does not exist.
    pub(crate) fn input(&self, now: Timestamp, index: impl Fn(&str) -> Option<TaskIndex>) -> Result<Input, String> {
        let index = |id: &String| index(id).ok_or_else(|| format!("there is no task '{id}'"));
        Ok(match self {
            Self::Pause { reason } => Input::Pause { now, reason: reason.clone() },
            Self::Resume => Input::Resume { now },
            Self::Drain => Input::Drain { now },
            Self::Stop => Input::Stop { now },
            Self::Decide { action, tasks, text } => {
                let tasks = tasks.iter().map(index).collect::<Result<_, _>>()?;
                Input::Decide { now, action: *action, tasks, text: text.clone() }
            }
            Self::Create(_) | Self::Edit(_) | Self::Adopt => {
                return Err("no executor is running; the session's own files are the place".to_owned());
            }
            Self::Ask(_) | Self::Whose | Self::Activity | Self::Subscribe { .. } | Self::Progress { .. } => {
                return Err("no executor is running, so no question is open".to_owned());
            }
            Self::Cancel { task, then, reason, feedback, with } => {
                let (task, reason, feedback) = (index(task)?, reason.clone(), feedback.clone());
                Input::Cancel { now, task, then: *then, reason, feedback, with: with.clone() }
            }
            Self::Limit { group, most } => Input::Limit { now, group: group.clone(), most: *most },
            Self::Skip { task, reason } => Input::Skip { now, task: index(task)?, reason: reason.clone() },
            Self::Retry { which, downstream, feedback, with } => {
                let which = match which {
                    ToRetry::Failed => Which::AllFailed,
                    ToRetry::Tasks(ids) => Which::Tasks(ids.iter().map(index).collect::<Result<_, _>>()?),
                };
                let (feedback, with) = (feedback.clone(), with.clone());
                Input::Retry { now, which, downstream: *downstream, feedback, with }
            }
        })
    }

    /// Who does tasks from now on, if that changes.
    pub fn assignment(&self) -> Option<&Assignment> {
        match self {
            Self::Retry { with, .. } | Self::Cancel { with, .. } => with.as_ref(),
            _ => None,
        }
    }

    /// The attempt for which a worker sends it, if it is one that workers send.
    pub(crate) fn of_attempt(&self) -> Option<&str> {
        match self {
            Self::Ask(Permission { attempt, .. }) | Self::Progress { attempt, .. } => Some(attempt),
            _ => None,
        }
    }

    /// Whether it wants this executor to end.
    pub(crate) const fn ends(&self) -> bool {
        matches!(self, Self::Drain | Self::Stop)
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Drain => "drain",
            Self::Stop => "stop",
            Self::Retry { .. } => "retry",
            Self::Skip { .. } => "skip",
            Self::Create(_) => "create",
            Self::Edit(_) => "edit",
            Self::Adopt => "adopt",
            Self::Cancel { .. } => "cancel",
            Self::Limit { .. } => "limit",
            Self::Decide { .. } => "decide",
            Self::Ask(_) => "ask",
            Self::Whose => "whose",
            Self::Activity => "activity",
            Self::Subscribe { .. } => "subscribe",
            Self::Progress { .. } => "progress",
        }
    }
}

/// The fields of an edit.
const EDIT: &[&str] =
    &["task", "remove", "title", "description", "role", "priority", "after", "not_after", "before", "not_before"];

fn write_edit(out: &mut Writer, edit: &TaskEdit) {
    let TaskEdit { task, remove, title, description, role, priority, after, not_after, before, not_before } = edit;
    let priority = priority.map(|priority| priority.word().to_owned());
    let texts = [("task", Some(task)), ("title", title.as_ref()), ("description", description.as_ref())];
    for (key, text) in texts.into_iter().chain([("role", role.as_ref()), ("priority", priority.as_ref())]) {
        if let Some(text) = text {
            out.key(key);
            out.text(text);
        }
    }
    out.key("remove");
    out.plain(remove);
    for (key, ids) in [("after", after), ("not_after", not_after), ("before", before), ("not_before", not_before)] {
        out.key(key);
        out.texts(ids);
    }
}

/// Who does tasks from now on.
fn assignment(text: &mut impl FnMut(&str, &str), with: Option<&Assignment>) {
    if let Some(Assignment { agent, model }) = with {
        text("agent", agent);
        model.iter().for_each(|model| text("model", model));
    }
}

struct Fields<'d, 's> {
    root: Value<'d, 's>,
}

impl Fields<'_, '_> {
    fn text(&self, name: &str) -> Result<String, String> {
        let text = self.root.get(name).and_then(Value::as_text);
        text.map(|text| text.into_owned()).ok_or_else(|| format!("the request has no readable `{name}`"))
    }

    fn new_task(&self) -> Result<Wanted, String> {
        let wave = |value: Value<'_, '_>| value.as_i64().and_then(|wave| u32::try_from(wave).ok());
        let wave = self.root.get("wave").map(|value| wave(value).ok_or("the request has no readable `wave`"));
        Ok(Wanted {
            id: self.text("task")?,
            title: self.words("title", REASON_CHARS)?,
            description: self.text("description")?,
            role: self.text("role")?,
            dependencies: self.wanted_of("deps")?.ok_or("the request has no readable `deps`")?,
            before: self.wanted_of("before")?.unwrap_or_default(),
            wave: wave.transpose()?,
        })
    }

    fn edit(&self) -> Result<TaskEdit, String> {
        let text = |name: &str| self.root.get(name).map(|_| self.text(name)).transpose();
        let list = |name: &str| Ok::<_, String>(self.wanted_of(name)?.unwrap_or_default());
        let priority = text("priority")?;
        let priority = priority.map(|word| Priority::from_word(&word).ok_or("the request has no readable `priority`"));
        Ok(TaskEdit {
            task: self.text("task")?,
            remove: self.root.get("remove").and_then(Value::as_bool).unwrap_or(false),
            title: text("title")?,
            description: text("description")?,
            role: text("role")?,
            priority: priority.transpose()?,
            after: list("after")?,
            not_after: list("not_after")?,
            before: list("before")?,
            not_before: list("not_before")?,
        })
    }

    fn limit(&self) -> Result<Request, String> {
        let named = |name: &str| self.root.get(name).map(|_| self.words(name, REASON_CHARS)).transpose();
        let role = named("role")?.map(|role| RoleName::parse(&role).map_err(|error| error.to_string())).transpose()?;
        let group = match (role, named("agent")?) {
            (None, None) => Group::All,
            (Some(role), None) => Group::Role(role),
            (None, Some(agent)) => Group::Agent(agent),
            (Some(_), Some(_)) => return Err("the request limits a role or an agent, not both".to_owned()),
        };
        let workers = |value: Value<'_, '_>| value.as_i64().and_then(|most| u32::try_from(most).ok());
        let most = self.root.get("workers").map(|value| workers(value).ok_or("the request has no readable `workers`"));
        Ok(Request::Limit { group, most: most.transpose()? })
    }

    fn assignment(&self) -> Result<Option<Assignment>, String> {
        let named = |name: &str| self.root.get(name).map(|_| self.words(name, REASON_CHARS)).transpose();
        match (named("agent")?, named("model")?) {
            (Some(agent), model) => Ok(Some(Assignment { agent, model })),
            (None, Some(_)) => Err("the request names a model and no agent".to_owned()),
            (None, None) => Ok(None),
        }
    }

    fn reason(&self) -> Result<String, String> {
        self.words("reason", REASON_CHARS)
    }

    fn words(&self, name: &str, most: usize) -> Result<String, String> {
        let words = self.text(name)?;
        if words.chars().count() > most {
            return Err(format!("the {name} has more than {most} characters"));
        }
        Ok(words)
    }

    /// A list of texts; nothing if there is no such field.
    fn wanted_of(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        let Some(list) = self.root.get(name) else { return Ok(None) };
        let texts = list.items().map(|text| text.as_text().map(|text| text.into_owned()));
        match texts.collect::<Option<Vec<String>>>() {
            Some(texts) if list.kind() == Kind::Array => Ok(Some(texts)),
            _ => Err(format!("the request has no readable `{name}`")),
        }
    }

    /// Every failed task, where none is named.
    fn wanted(&self) -> Result<ToRetry, String> {
        match self.wanted_of("tasks")? {
            None => Ok(ToRetry::Failed),
            Some(ids) if !ids.is_empty() => Ok(ToRetry::Tasks(ids)),
            Some(_) => Err("the request has no readable `tasks`".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_read_back() {
        let ids = || vec!["A".to_owned(), "任务 \"2\"\n".to_owned()];
        for request in [
            Request::Pause { reason: "lunch".to_owned() },
            Request::Resume,
            Request::Drain,
            Request::Stop,
            Request::Whose,
            Request::Activity,
            Request::Subscribe { from: 7, live: true },
            Request::Progress { attempt: "r/A/1".to_owned(), words: "half done (50 %)".to_owned() },
            Request::Retry { which: ToRetry::Failed, downstream: false, feedback: String::new(), with: None },
            Request::Retry {
                which: ToRetry::Tasks(ids()),
                downstream: true,
                feedback: "smaller\nsteps".to_owned(),
                with: Some(Assignment { agent: "my \"agent\"".to_owned(), model: Some("m:1".to_owned()) }),
            },
            Request::Cancel {
                task: "A".to_owned(),
                then: Cancel::Retry,
                reason: "it hangs".to_owned(),
                feedback: "smaller \"steps\"\n".to_owned(),
                with: Some(Assignment { agent: "a".to_owned(), model: None }),
            },
            Request::Skip { task: "A".to_owned(), reason: String::new() },
            Request::Decide { action: CheckpointAction::Revise, tasks: ids(), text: "better\n".to_owned() },
            Request::Decide { action: CheckpointAction::Resume, tasks: Vec::new(), text: String::new() },
            Request::Adopt,
            Request::Create(Wanted {
                id: "任务".to_owned(),
                title: "a \"title\"".to_owned(),
                description: "two\nlines".to_owned(),
                role: "dev".to_owned(),
                dependencies: ids(),
                before: ids(),
                wave: Some(3),
            }),
            Request::Edit(TaskEdit {
                task: "A".to_owned(),
                title: Some("a \"title\"".to_owned()),
                priority: Some(Priority::P0),
                after: ids(),
                not_before: ids(),
                ..TaskEdit::default()
            }),
            Request::Edit(TaskEdit { task: "A".to_owned(), remove: true, ..TaskEdit::default() }),
            Request::Limit { group: Group::All, most: Some(5) },
            Request::Limit { group: Group::Role(RoleName::parse("q a").unwrap()), most: Some(1) },
            Request::Limit { group: Group::Agent("my \"agent\"".to_owned()), most: None },
            Request::Ask(Permission {
                task: "A".to_owned(),
                attempt: "r/A/1".to_owned(),
                question: 3,
                tool: "Bash".to_owned(),
                what: "rm \"x\"\n".to_owned(),
            }),
        ] {
            let line = request.write();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(Request::read(&line), Ok(request), "{line}");
        }
    }

    #[test]
    fn inexact_request_is_refused() {
        let long = format!(r#"{{"version":1,"request":"pause","reason":"{}"}}"#, "x".repeat(1001));
        for (line, why) in [
            ("", "is not JSON"),
            ("\u{0}", "is not JSON"),
            ("[]", "not of version 1"),
            (r#"{"request":"stop"}"#, "not of version 1"),
            (r#"{"version":2,"request":"stop"}"#, "not of version 1"),
            (r#"{"version":1,"request":"stop","request":"pause"}"#, "has a field twice"),
            (r#"{"version":1}"#, "no readable `request`"),
            (r#"{"version":1,"request":"explode"}"#, "unknown request"),
            (r#"{"version":1,"request":"stop","reason":""}"#, "`stop` has an unknown field"),
            (r#"{"version":1,"request":"pause"}"#, "no readable `reason`"),
            (&long, "more than 1000 characters"),
            (
                r#"{"version":1,"request":"ask","task":"A","attempt":"a","tool":"t","what":"w"}"#,
                "no readable `question`",
            ),
            (r#"{"version":1,"request":"progress","attempt":"a"}"#, "no readable `words`"),
            (r#"{"version":1,"request":"decide","action":"explode","tasks":[],"text":""}"#, "no readable `action`"),
            (r#"{"version":1,"request":"decide","action":"resume","text":""}"#, "no readable `tasks`"),
            (r#"{"version":1,"request":"retry"}"#, "no readable `downstream`"),
            (r#"{"version":1,"request":"retry","downstream":false,"model":"m"}"#, "names a model and no agent"),
            (r#"{"version":1,"request":"retry","tasks":[],"downstream":false}"#, "no readable `tasks`"),
            (r#"{"version":1,"request":"retry","tasks":"A","downstream":false}"#, "no readable `tasks`"),
            (r#"{"version":1,"request":"retry","tasks":["A",1],"downstream":false}"#, "no readable `tasks`"),
        ] {
            let refused = Request::read(line).expect_err(line);
            assert!(refused.contains(why), "{line}: {refused}");
        }
        assert!(Request::read(&"[".repeat(60_000)).is_err());
    }
}
