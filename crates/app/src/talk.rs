//! What people say to agents that converse, and what these ask.

use std::path::Path;

use serde::Serialize;
use team_executor_agents::driver::door::{Open, State, Word};
use team_executor_engine::talk::{self, Talk};
use team_executor_files::{Code, Finding};

use crate::App;
use crate::asking::named;
use crate::error::Error;

/// A message to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A text.
    Text(String),
    /// It is to stop what it does.
    Interrupt,
    /// It is to end.
    Close,
    /// An answer to what it asks; without a number to the oldest question.
    Answer {
        /// Which question.
        question: Option<u64>,
        /// Whether it may.
        allow: bool,
    },
}

/// The conversations of a run that go on.
#[derive(Debug, Serialize)]
pub struct Talks {
    version: u32,
    /// The run.
    pub run: String,
    /// Each of them.
    pub conversations: Vec<Conversation>,
}

/// A conversation.
#[derive(Debug, Serialize)]
pub struct Conversation {
    /// What it is about.
    pub task: String,
    /// Which attempt.
    pub attempt: u32,
    /// What it does now, in words.
    pub state: &'static str,
    session_id: Option<String>,
    /// What it asks.
    pub questions: Vec<Open>,
}

/// What came of something that was said.
#[derive(Debug, Serialize)]
pub struct Told {
    version: u32,
    /// The task.
    pub task: String,
    /// What was done.
    pub did: String,
}

impl App {
    /// The conversations of the newest run of a session.
    pub fn talks(&self, session: Option<&Path>) -> Result<Talks, Error> {
        let found = self.found(session)?;
        let conversations = talk::all(&found.folder).into_iter().map(Conversation::from).collect();
        Ok(Talks { version: 1, run: found.run, conversations })
    }

    /// Says something to the conversation about a task.
    pub fn say(&self, session: Option<&Path>, task: &str, said: Said) -> Result<Told, Error> {
        let found = self.found(session)?;
        let help = format!("list the open conversations: team-executor talk {}", named(session));
        let refusal = |why: String| Error::from(Finding::error(Code::Usage, why).help(help));
        let word = match said {
            Said::Text(text) => Word::Send(text),
            Said::Interrupt => Word::Interrupt {},
            Said::Close => Word::Close {},
            Said::Answer { question, allow } => Word::Answer { question, allow },
        };
        match talk::tell(&found.folder, task, &word)? {
            Some(Ok(state)) => Ok(Told { version: 1, task: task.to_owned(), did: state.did }),
            Some(Err(why)) => Err(refusal(format!("nothing was done: {why}"))),
            None => Err(refusal(format!("no agent converses about task '{task}' now"))),
        }
    }
}

impl From<Talk> for Conversation {
    fn from(Talk { task, attempt, state }: Talk) -> Self {
        Self { task, attempt, state: word(&state), session_id: state.session_id, questions: state.questions }
    }
}

fn word(state: &State) -> &'static str {
    match (state.questions.is_empty(), state.busy, state.urged) {
        (false, ..) => "waits for an answer",
        (true, true, false) => "at work",
        (true, true, true) => "at work, urged to come to an end",
        (true, false, _) => "waits to be told something",
    }
}
