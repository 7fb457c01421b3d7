//! What keys do in a live view: they show problems, needs and logs above it, and steer the run by the same requests as the commands.

use std::path::PathBuf;
use std::sync::mpsc::Sender;

use team_executor_app::asking::Asked;
use team_executor_app::attention::{Action, Item, ToSend};
use team_executor_app::logs::{Attempts, Form, Query};
use team_executor_app::talk::Said;
use team_executor_app::{App, Error, Reading, Request};
use team_executor_core::run::{Cancel, Group};

use super::screen::Message;
use crate::escape;

/// How many lines of a log are shown.
const TAIL: usize = 20;
/// What there is to press.
const HELP: &str = "\
?      these keys
p      problems             n      needs, and answer them
t      what runs now, with its last lines
1-9    the log of the first to ninth task that runs
+ -    one worker more or less at a time
space  pause, and go on
c      cancel a task
q      leave this view; the run goes on";

/// The run that keys steer.
#[derive(Clone)]
pub(crate) struct Steered {
    pub(crate) app: App,
    pub(crate) session: PathBuf,
    pub(crate) reading: Reading,
    /// The view can go while the run goes on: another process executes it.
    pub(crate) can_leave: bool,
}

/// What the view knows of the run when a key is pressed.
pub(super) struct Now<'a> {
    /// The tasks that run, in the order in which they are shown, each with what it printed last.
    pub(super) running: &'a [(String, Vec<String>)],
    /// How many workers there may be.
    pub(super) slots: u32,
    pub(super) is_paused: bool,
}

/// What a key is about.
#[derive(Debug, Default)]
enum Mode {
    #[default]
    Watching,
    /// Which of these is cancelled?
    Choosing(Vec<String>),
    /// Is this one really cancelled?
    Confirming(String),
    /// What is done about the first of these needs?
    Answering(Vec<Item>),
}

/// Keys, and what they are about.
pub(super) struct Steering {
    run: Steered,
    view: Sender<Message>,
    mode: Mode,
}

impl Steering {
    pub(super) fn new(run: Steered, view: Sender<Message>) -> Self {
        Self { run, view, mode: Mode::default() }
    }

    /// The line that says what can be pressed.
    pub(super) fn line(&self) -> Option<String> {
        match &self.mode {
            Mode::Watching => None,
            Mode::Choosing(tasks) => {
                let tasks = (1..).zip(tasks).map(|(number, task)| format!("{number} {}", escape::line(task)));
                Some(format!("Cancel which? {}  (Esc: none)", tasks.collect::<Vec<_>>().join("  ")))
            }
            Mode::Confirming(task) => Some(format!("Cancel {}? y/n", escape::line(task))),
            Mode::Answering(needs) => {
                let need = needs.first()?;
                let actions = (1..).zip(sendable(need)).map(|(number, action)| format!("{number} {}", action.label));
                let others = if needs.len() > 1 { "  (n: the next, Esc: later)" } else { "  (Esc: later)" };
                Some(format!("{}: {}{others}", words(need), actions.collect::<Vec<_>>().join("  ")))
            }
        }
    }

    /// These needs were found.
    pub(super) fn found(&mut self, needs: Vec<Item>) {
        if !needs.is_empty() {
            self.mode = Mode::Answering(needs);
        }
    }

    /// Does what a key means. Says whether the view is to go.
    pub(super) fn press(&mut self, key: u8, now: &Now<'_>) -> bool {
        match (std::mem::take(&mut self.mode), key) {
            (Mode::Choosing(mut tasks), b'1'..=b'9') if usize::from(key - b'1') < tasks.len() => {
                self.mode = Mode::Confirming(tasks.swap_remove(usize::from(key - b'1')));
            }
            (Mode::Confirming(task), b'y' | b'Y') => {
                let (reason, feedback) = ("cancelled by a key".to_owned(), String::new());
                self.ask(Request::Cancel { task, then: Cancel::Fail, reason, feedback, with: None });
            }
            (Mode::Answering(needs), b'1'..=b'9') => self.answer(needs, usize::from(key - b'1')),
            (Mode::Answering(mut needs), b'n') => {
                needs.rotate_left(1);
                self.mode = Mode::Answering(needs);
            }
            (Mode::Watching, key) => return self.command(key, now),
            _ => {}
        }
        false
    }

    fn command(&mut self, key: u8, now: &Now<'_>) -> bool {
        match key {
            b'?' | b'h' => self.say(HELP.to_owned()),
            b'p' => self.look(|run| Ok(list("No problems", &run.attention()?.1)), Message::Say),
            b'n' => self.look(|run| Ok(run.attention()?.0), Message::Needs),
            b't' => self.say(running(now.running)),
            b'1'..=b'9' => match now.running.get(usize::from(key - b'1')) {
                Some((task, _)) => {
                    let task = task.clone();
                    self.look(move |run| run.log(&task), Message::Say);
                }
                None => self.say(format!("No task {} runs", char::from(key))),
            },
            b'+' | b'=' => self.limit(now.slots.saturating_add(1)),
            b'-' => self.limit(now.slots.saturating_sub(1).max(1)),
            b' ' if now.is_paused => self.ask(Request::Resume),
            b' ' => self.ask(Request::Pause { reason: "paused by a key".to_owned() }),
            b'c' if now.running.is_empty() => self.say("Nothing runs".to_owned()),
            b'c' => self.mode = Mode::Choosing(now.running.iter().take(9).map(|(task, _)| task.clone()).collect()),
            // Where signals are keys, Ctrl-C leaves the view too.
            b'q' | 0x03 if self.run.can_leave => return true,
            b'q' => self
                .say("This terminal executes the run: Ctrl-C stops it; begun with --detach it needs none".to_owned()),
            _ => {}
        }
        false
    }

    fn limit(&self, workers: u32) {
        self.ask(Request::Limit { group: Group::All, most: Some(workers) });
    }

    fn ask(&self, request: Request) {
        self.look(move |run| run.ask(&request), Message::Say);
    }

    fn answer(&mut self, mut needs: Vec<Item>, nth: usize) {
        match needs.first().and_then(|need| sendable(need).nth(nth)) {
            Some(action) => {
                let action = action.clone();
                self.look(move |run| run.act(&action), Message::Say);
                needs.remove(0);
                self.found(needs);
            }
            None => self.mode = Mode::Answering(needs),
        }
    }

    /// Does something beside the view, which goes on meanwhile, and says what came of it.
    fn look<T>(
        &self,
        work: impl FnOnce(&Steered) -> Result<T, Error> + Send + 'static,
        tell: impl FnOnce(T) -> Message + Send + 'static,
    ) {
        let (run, view) = (self.run.clone(), self.view.clone());
        let work = move || {
            let said = work(&run).map_or_else(|error| Message::Say(refusal(error)), tell);
            view.send(said).ok(); // a view that is gone shows nothing
        };
        if std::thread::Builder::new().name("key".to_owned()).spawn(work).is_err() {
            self.say("The machine has no room for another thread; try again".to_owned());
        }
    }

    fn say(&self, text: String) {
        self.view.send(Message::Say(text)).ok();
    }
}

impl Steered {
    /// What a person must do, and what is wrong.
    fn attention(&self) -> Result<(Vec<Item>, Vec<Item>), Error> {
        let opened = self.app.open(Some(&self.session), self.reading)?;
        let status = self.app.status(&opened)?;
        let all = status.map(|status| self.app.attention(&opened, &status)).unwrap_or_default();
        Ok((all.needs, all.problems))
    }

    /// The end of what the last attempt at a task printed.
    fn log(&self, task: &str) -> Result<String, Error> {
        let opened = self.app.open(Some(&self.session), self.reading)?;
        let query = Query {
            task: Some(task),
            attempts: Attempts::Last,
            tail: Some(TAIL),
            since: None,
            follow: false,
            form: Form::Text { in_lines: true },
        };
        let mut text = format!("Log of {}:", escape::line(task));
        let mut is_empty = true;
        self.app.logs(&opened, query)?.read(&mut |piece| {
            is_empty = false;
            text += &format!("\n  {}", escape::line(&piece.text()));
        })?;
        Ok(if is_empty { format!("{} has printed nothing", escape::line(task)) } else { text })
    }

    /// Asks the executor. What it did is an event, which the view shows.
    fn ask(&self, request: &Request) -> Result<String, Error> {
        let Asked { outcome, .. } = self.app.ask(Some(&self.session), request)?;
        outcome.map(|_| String::new())
    }

    /// Does something about a need.
    fn act(&self, action: &Action) -> Result<String, Error> {
        match &action.send {
            Some(ToSend::Control(request)) => self.ask(request),
            Some(ToSend::Talk { task, question, allow }) => {
                let said = Said::Answer { question: Some(*question), allow: *allow };
                self.app.say(Some(&self.session), task, said)?;
                Ok(format!("{}: {}", action.label, escape::line(task)))
            }
            Some(ToSend::Proposals { .. } | ToSend::Start) | None => Ok(format!("Type: {}", action.command)),
        }
    }
}

/// What can be done about a need by a key; where words are needed, or a decision about files, the command is shown.
fn sendable(need: &Item) -> impl Iterator<Item = &Action> {
    need.actions.iter().filter(|action| action.text.is_none_or(|text| !text.required)).take(9)
}

fn words(item: &Item) -> String {
    let task = item.task.as_ref().map(|task| format!("{} ", escape::line(task))).unwrap_or_default();
    format!("{task}{}", escape::line(&item.why))
}

pub(super) fn list(none: &str, items: &[Item]) -> String {
    if items.is_empty() {
        return none.to_owned();
    }
    items.iter().map(|item| format!("! {}\n  {}", words(item), item.command)).collect::<Vec<_>>().join("\n")
}

fn running(running: &[(String, Vec<String>)]) -> String {
    if running.is_empty() {
        return "Nothing runs".to_owned();
    }
    let one = |(number, (task, lines)): (usize, &(String, Vec<String>))| {
        let lines = lines.iter().map(|line| format!("\n  {}", escape::line(line))).collect::<String>();
        format!("{number} {}{lines}", escape::line(task))
    };
    (1..).zip(running).map(one).collect::<Vec<_>>().join("\n")
}

fn refusal(error: Error) -> String {
    match error {
        Error::Refused(finding, _) => {
            let help = finding.help.iter().map(|help| format!("\nhelp: {}", escape::line(help)));
            format!("error: {}{}", escape::line(&finding.message), help.collect::<String>())
        }
        Error::Files(_) => "error: the files of the session cannot be read; see: team-executor validate".to_owned(),
    }
}
