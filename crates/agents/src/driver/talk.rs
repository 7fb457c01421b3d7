//! The loop of a conversation: what the agent says, what others want of it, and the clock, one after the other.
//!
//! The prompt is said first. When its turn is over and there is a report that fits, the conversation is closed; a report that
//! does not fit is asked for once more. An agent that takes too long is urged to come to an end, then interrupted and asked for
//! what it has, then closed.

mod clock;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::{Value, json};
use team_executor_beneath::ours;

use super::acp::Acp;
use super::claude::Claude;
use super::codex::Codex;
use super::dialogue::{Dialogue, News, Question};
use super::door::{Answered, Door, Open, State, Told, Word};
use super::first_start::FirstStart;
use super::peer::{AgentProcess, Heard, print};
use super::permission::settled;
use super::{Brief, door};
use crate::adapters::{Adapter, MARK, Stream};

/// How long an agent has to end after its input is closed.
const CLOSING: Duration = Duration::from_secs(5);
/// How long an agent has to end its turn when a budget is used up.
const WINDING_UP: Duration = Duration::from_secs(8);
/// How many questions can be open at a time.
const QUESTIONS: usize = 64;

/// Holds the conversation to its end. The exit code of the agent, or why there was none.
pub(super) fn hold(brief: Brief, prompt: String) -> Result<u8, String> {
    let cwd = std::env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let (outbox, inbox) = mpsc::channel();
    let command = [brief.command.as_slice(), &brief.resuming].concat();
    let first_start = FirstStart::wait(brief.adapter);
    let peer = AgentProcess::start(&command, None, outbox.clone()).map_err(|error| error.to_string())?;
    let door = Door::open(&brief.door, brief.ledgers.clone(), outbox.clone());
    if let Err(error) = &door {
        mark("unreachable", &json!({"why": error.to_string()}));
    }
    let now = Instant::now();
    let after = |ms: u64| now.checked_add(Duration::from_millis(ms));
    let urge_at = brief.times.urge_ms.and_then(after);
    let converge = Duration::from_millis(brief.times.converge_ms);
    let mut talk = Talk {
        dialogue: dialogue(&brief, &cwd),
        peer,
        outbox,
        stream: Stream::default(),
        prompt,
        waiting: VecDeque::new(),
        questions: Vec::new(),
        asked: 0,
        urge_at,
        cut_at: urge_at.and_then(|at| at.checked_add(converge / 2)),
        close_at: urge_at.and_then(|at| at.checked_add(converge)),
        urged: false,
        cut: false,
        held: false,
        asked_again: false,
        wound_up: false,
        over: false,
        heard: false,
        left: false,
        first_start,
        brief,
        cwd,
    };
    talk.begin();
    talk.go(&inbox);
    drop(inbox); // who asked too late is told so
    drop(door);
    // An agent that does not go although its work is over is no failure of its work.
    Ok(talk.peer.close(CLOSING).unwrap_or(u8::from(!talk.stream.finished)))
}

struct Talk {
    brief: Brief,
    cwd: PathBuf,
    dialogue: Box<dyn Dialogue>,
    peer: AgentProcess,
    /// For an agent that is started again.
    outbox: Sender<Heard>,
    /// What its events add up to, by the same code that judges them afterwards.
    stream: Stream,
    prompt: String,
    /// Messages to send when the turn is over.
    waiting: VecDeque<String>,
    questions: Vec<Asked>,
    /// How many questions there were.
    asked: u64,
    urge_at: Option<Instant>,
    cut_at: Option<Instant>,
    close_at: Option<Instant>,
    urged: bool,
    /// The turn that goes on was ended by us.
    cut: bool,
    /// A person ended the turn, and is waited for.
    held: bool,
    asked_again: bool,
    /// A budget is used up: nothing more is said.
    wound_up: bool,
    over: bool,
    /// The agent has said something.
    heard: bool,
    /// An agent was ended for another one, and will be heard to be gone.
    left: bool,
    /// Others wait until it has.
    first_start: Option<FirstStart>,
}

/// A question that a person is asked.
struct Asked {
    number: u64,
    question: Question,
    until: Option<Instant>,
    since_ms: Option<u64>,
}

impl Talk {
    fn begin(&mut self) {
        let mut out = Vec::new();
        let is_ready = self.dialogue.open(&mut out);
        self.send(&out);
        if is_ready {
            self.say(&self.prompt.clone());
        }
    }

    fn go(&mut self, inbox: &Receiver<Heard>) {
        while !self.over {
            let now = Instant::now();
            let heard = match self.next_time() {
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(now)),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(Heard::Said(said)) => self.hear(&said),
                Ok(Heard::Gone) => self.gone(),
                Ok(Heard::Ended) => {}
                Ok(Heard::Told(Told { word, reply })) => {
                    let answer = self.told(word);
                    let _has_gone = reply.send(answer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.over = true,
            }
            self.look_at_the_clock(Instant::now());
        }
    }

    fn send(&mut self, messages: &[Value]) {
        messages.iter().for_each(|message| self.peer.send(message));
    }

    /// Begins a turn with these words.
    fn say(&mut self, words: &str) {
        if self.heard {
            self.mark("prompted", &json!({}));
        }
        // Agents of this protocol forget what a turn was about that was ended.
        let words = match (self.cut, self.brief.adapter) {
            (true, Adapter::Gemini | Adapter::Acp) => Cow::Owned(self.with_task(words)),
            _ => Cow::Borrowed(words),
        };
        (self.held, self.cut) = (false, false);
        let mut out = Vec::new();
        self.dialogue.say(&words, &mut out);
        self.send(&out);
    }

    /// The task once more, then these words.
    fn with_task(&self, words: &str) -> String {
        format!(
            "You were interrupted while you did this task:\n\n{}\n{}\n\n## What to do now\n{words}\n",
            self.prompt, self.brief.note
        )
    }

    fn interrupt(&mut self) {
        self.cut = true;
        let mut out = Vec::new();
        self.dialogue.interrupt(&mut out);
        // Its open request is void, but an agent may wait for an answer before it stops.
        for Asked { question, .. } in std::mem::take(&mut self.questions) {
            self.dialogue.answer(&question, false, &mut out);
        }
        self.send(&out);
    }

    /// Notes something in the log, where it is judged with everything else.
    fn mark(&mut self, what: &str, rest: &Value) {
        let event = mark(what, rest);
        self.brief.adapter.hear(&mut self.stream, &event, wall_clock());
    }

    fn hear(&mut self, said: &Value) {
        self.heard = true;
        self.first_start = None;
        self.brief.adapter.hear(&mut self.stream, said, wall_clock());
        let mut out = Vec::new();
        let news = self.dialogue.hear(said, &mut out);
        self.send(&out);
        match news {
            None => {}
            Some(News::Ready) => self.say(&self.prompt.clone()),
            Some(News::NotResumed) => self.mark("not resumed", &json!({})),
            Some(News::TurnOver) => self.turn_is_over(),
            Some(News::Asks(question)) => self.ask(question),
            Some(News::TooLate(words)) if self.dialogue.is_busy() => self.waiting.push_back(words),
            Some(News::TooLate(words)) => self.say(&words),
            Some(News::Failed) => self.over = true,
            Some(News::Lacks(why)) => {
                self.mark("lacks", &json!({"why": why}));
                self.over = true;
            }
        }
    }

    /// The agent says nothing more.
    fn gone(&mut self) {
        if std::mem::take(&mut self.left) {
            return;
        }
        if self.brief.resuming.is_empty() || self.heard {
            self.over = true;
            return;
        }
        self.begin_anew();
    }

    /// Starts an agent that could not take up its conversation without it.
    fn begin_anew(&mut self) {
        self.brief.resuming.clear();
        self.mark("not resumed", &json!({}));
        self.peer.close(Duration::ZERO);
        match AgentProcess::start(&self.brief.command, None, self.outbox.clone()) {
            Ok(peer) => {
                self.peer = peer;
                self.dialogue = dialogue(&self.brief, &self.cwd);
                self.begin();
            }
            Err(_) => self.over = true,
        }
    }

    fn turn_is_over(&mut self) {
        if !self.brief.resuming.is_empty() && self.stream.knows_no_session() {
            self.left = true;
            return self.begin_anew();
        }
        if let Some(words) = self.waiting.pop_front() {
            return self.say(&words);
        }
        if self.held {
            return;
        }
        if self.cut || !self.stream.ok || self.asked_again || ours::look_at(&self.brief.result).is_ok() {
            self.over = true;
            return;
        }
        let wrong = self.stream.wrong();
        if wrong.is_empty() {
            self.over = true;
            return;
        }
        self.asked_again = true;
        self.mark("asked again", &json!({"wrong": wrong}));
        self.say(&again(&wrong));
    }

    /// Answers as it was settled, or has a person asked.
    fn ask(&mut self, question: Question) {
        let delivers = std::env::var_os("TEAM_EXECUTOR_ARTIFACTS").map(PathBuf::from).unwrap_or_default();
        let reports = self.brief.result.parent().unwrap_or(Path::new("/nowhere")).to_owned();
        let folders = [self.cwd.as_path(), &delivers, &reports];
        if let Some(allow) = settled(self.brief.permissions, &question, &folders) {
            return self.answer(&question, allow, "settings");
        }
        if self.questions.len() == QUESTIONS {
            return self.answer(&question, false, "none");
        }
        self.asked += 1;
        let until = self.brief.times.answer_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        let rest = json!({"question": self.asked, "tool": question.tool, "what": question.what});
        self.mark("asks", &rest);
        door::ask(&self.brief.control, &rest);
        let since_ms = UNIX_EPOCH.elapsed().ok().and_then(|since| u64::try_from(since.as_millis()).ok());
        self.questions.push(Asked { number: self.asked, question, until, since_ms });
    }

    fn answer(&mut self, question: &Question, allow: bool, by: &str) {
        let what = if allow { "allowed" } else { "denied" };
        self.mark(what, &json!({"tool": question.tool, "what": question.what, "by": by}));
        let mut out = Vec::new();
        self.dialogue.answer(question, allow, &mut out);
        self.send(&out);
    }

    /// Carries out a request to the conversation.
    fn told(&mut self, word: Word) -> Answered {
        let did = match word {
            Word::Send(_) | Word::Interrupt {} if self.wound_up => {
                return Err("it is being ended because a budget is used up".to_owned());
            }
            Word::State {} => String::new(),
            Word::Send(words) => self.told_to_say(words),
            Word::Interrupt {} if self.dialogue.is_busy() => {
                self.mark("interrupted", &json!({}));
                self.held = true;
                self.interrupt();
                "interrupted: it waits for instructions".to_owned()
            }
            Word::Interrupt {} => return Err("it is not running".to_owned()),
            Word::Close {} => {
                self.mark("closed", &json!({"by": "person"}));
                self.over = true;
                "closed".to_owned()
            }
            Word::WindUp {} => {
                self.wind_up();
                "winding up".to_owned()
            }
            Word::Answer { question, allow } => {
                let found = self.questions.iter().position(|open| question.is_none_or(|number| open.number == number));
                let Some(found) = found else { return Err("it has not asked this question".to_owned()) };
                let Asked { question, .. } = self.questions.remove(found);
                self.answer(&question, allow, "person");
                format!("{} {}", if allow { "allowed:" } else { "denied:" }, question.tool)
            }
        };
        Ok(State { did, ..self.state() })
    }

    /// Ends the turn, and then the conversation, also if the turn does not end in time.
    fn wind_up(&mut self) {
        self.mark("wound up", &json!({"by": "budget"}));
        (self.wound_up, self.held) = (true, false);
        self.waiting.clear();
        if !self.dialogue.is_busy() {
            self.over = true;
            return;
        }
        let until = Instant::now() + WINDING_UP;
        self.close_at = Some(self.close_at.map_or(until, |at| at.min(until)));
        self.interrupt();
    }

    fn told_to_say(&mut self, words: String) -> String {
        self.mark("sent", &json!({"words": words}));
        if !self.dialogue.is_busy() && self.heard {
            self.say(&words);
            return "said".to_owned();
        }
        if self.dialogue.is_busy() && self.dialogue.joins() {
            let mut out = Vec::new();
            self.dialogue.say(&words, &mut out);
            self.send(&out);
            return "said while it works".to_owned();
        }
        self.waiting.push_back(words);
        "the agent gets it when its turn ends".to_owned()
    }

    fn state(&self) -> State {
        let open = |asked: &Asked| Open {
            question: asked.number,
            tool: asked.question.tool.clone(),
            what: asked.question.what.clone(),
            since_ms: asked.since_ms,
        };
        State {
            did: String::new(),
            busy: self.dialogue.is_busy(),
            urged: self.urged,
            session_id: self.stream.usage.session_id.clone(),
            questions: self.questions.iter().map(open).collect(),
        }
    }
}

/// Prints an event of our own.
pub(super) fn mark(what: &str, rest: &Value) -> Value {
    let mut event = json!({MARK: what});
    for (key, value) in rest.as_object().into_iter().flatten() {
        event[key] = value.clone();
    }
    print(format!("{event}\n").as_bytes());
    event
}

fn dialogue(brief: &Brief, cwd: &Path) -> Box<dyn Dialogue> {
    let (resume, cwd) = (brief.resume.clone(), cwd.to_owned());
    match brief.adapter {
        Adapter::Claude => Box::new(Claude::default()),
        Adapter::Codex => {
            // Its sandbox does not start with a link.
            let delivers =
                std::env::var_os("TEAM_EXECUTOR_ARTIFACTS").and_then(|path| Path::new(&path).canonicalize().ok());
            let delivers = delivers.filter(|folder| !folder.starts_with(&cwd));
            let codex = Codex::new(resume, cwd, &brief.note, brief.model.as_deref(), brief.permissions);
            Box::new(codex.delivering(delivers))
        }
        // Gemini is told by an argument.
        Adapter::Gemini => Box::new(Acp::new(resume, cwd, &brief.note, brief.servers.clone())),
        Adapter::Acp => {
            let acp = Acp::new(resume, cwd, &brief.note, brief.servers.clone());
            Box::new(acp.wanting(brief.model.clone(), brief.effort.clone()))
        }
    }
}

/// How a report is asked for once more.
pub(super) fn again(wrong: &[String]) -> String {
    let wrong = wrong.join("\n- ");
    format!(
        "Your report cannot be used:\n- {wrong}\n\nReply with the report alone: one JSON object with \"status\": \"completed\" \
         or \"failed\", \"findings\": a text, and \"error\": a text if it failed. Do no further work."
    )
}

pub(super) fn wall_clock() -> u64 {
    UNIX_EPOCH.elapsed().map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
