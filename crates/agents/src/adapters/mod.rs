//! Known coding agents: how each is asked to do one task, and what its stream of events says about how that went.
//!
//! An adapter is a value with pure functions. Each agent has one file: its arguments, the variables that reach it, and how one
//! event of its stream is understood. What they share is here and in `stream`; `trouble` sorts what went wrong.

mod acp;
mod app_server;
mod claude;
mod codex;
mod count;
mod ear;
mod gemini;
mod glimpse;
mod report;
pub mod server;
mod stream;
#[cfg(test)]
mod talk_tests;
#[cfg(test)]
mod tests;
pub mod transcript;
mod trouble;
mod version;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::exit::Ended;

pub(crate) use codex::{CHANGE, COMMAND};
pub use ear::Ear;
pub use glimpse::progress_words;
pub use server::{Given, Reached, Server};
pub(crate) use stream::MARK;
pub use stream::{Stream, Usage};
pub use trouble::{Class, Trouble};
pub use version::Version;

/// What an agent that can be held to a JSON Schema must report. Every field is required and nothing else is allowed, because
/// strict services take no other schemas; what does not apply is null.
pub const RESULT_SCHEMA: &str = include_str!("result.schema.json");

/// A known coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adapter {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Any agent that speaks the Agent Client Protocol; it always converses.
    Acp,
}

/// What an agent may do, translated to its own flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Look, and report.
    Read,
    /// Also change files of the project.
    #[default]
    Edit,
    /// Also run commands and reach the network.
    Full,
    /// Look; a person is asked about everything else. Only who converses can ask.
    Ask,
}

/// How an agent is asked, the same for all its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Which agent.
    pub adapter: Adapter,
    /// Which model, if not the agent's own choice.
    pub model: Option<String>,
    /// How hard it thinks, in the agent's own word, if not its own choice.
    pub effort: Option<String>,
    /// What it may do.
    pub permissions: Permissions,
    /// It is given the tools of a worker.
    pub mcp: bool,
    /// Servers of tools of the user, beside ours.
    pub servers: Vec<Given>,
    /// Arguments of the user, behind all others.
    pub args: Vec<String>,
    /// It can be spoken to while it works, and takes up what it did before.
    pub converses: bool,
}

/// How an agent is asked to do one task. The prompt itself is its standard input, however long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order<'a> {
    /// How it is asked anyway.
    pub setup: &'a Setup,
    /// What it must know besides the prompt.
    pub note: &'a str,
    /// A file that holds [`RESULT_SCHEMA`], if that is to be reported.
    pub schema: Option<&'a Path>,
    /// The tools that it is given, if it is.
    pub server: Option<&'a Server>,
    /// The folder that it delivers to, if that is not below the one that it works in; and how it was told of it, maybe by a link.
    pub beside: Option<(&'a Path, &'a Path)>,
}

impl Order<'_> {
    /// The folder that it delivers to by all of its names, each behind an option. An agent may compare names without following links.
    fn besides(&self, option: &str) -> Vec<String> {
        let Some((folder, told)) = self.beside else { return Vec::new() };
        let both = [Some(folder), Some(told).filter(|told| *told != folder)];
        both.into_iter().flatten().map(|folder| format!("{option}={}", folder.display())).collect()
    }

    /// What the agent must know, and what the user's own arguments tell it the same way.
    fn noted(&self) -> String {
        let (own, _) = self.setup.adapter.own_instructions(&self.setup.args);
        if own.is_empty() { self.note.to_owned() } else { format!("{}\n\n{own}", self.note) }
    }
}

impl Permissions {
    /// The words of a configuration file.
    pub const WORDS: [&'static str; 4] = ["read", "edit", "full", "ask"];

    /// As a configuration file says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Full => "full",
            Self::Ask => "ask",
        }
    }

    /// What a word of a configuration file means.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Read, Self::Edit, Self::Full, Self::Ask].into_iter().find(|one| one.word() == word)
    }
}

impl Adapter {
    /// All that have a program of their own.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The agent that is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Acp]).find(|one| one.name() == name)
    }

    /// What it is called, and its program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
        }
    }

    /// The arguments of its program, for one task without a conversation.
    pub fn arguments(self, order: &Order<'_>) -> Vec<String> {
        let mut words = match self {
            Self::Claude => claude::arguments(order),
            Self::Codex => codex::arguments(order),
            Self::Gemini => gemini::arguments(order),
            Self::Acp => Vec::new(),
        };
        words.extend(self.own_instructions(&order.setup.args).1);
        words
    }

    /// What tells the agent how much this attempt may use at most: millionths of a dollar, and turns. Not all can be told.
    pub fn bounds(self, usd_micros: Option<u64>, turns: Option<u64>) -> Vec<String> {
        match self {
            Self::Claude => claude::bounds(usd_micros, turns),
            Self::Codex | Self::Gemini | Self::Acp => Vec::new(),
        }
    }

    /// The arguments of its program for a conversation; the rest is said in its protocol.
    pub fn conversing(self, order: &Order<'_>) -> Vec<String> {
        let mut words = match self {
            Self::Claude => claude::conversing(order),
            Self::Codex => codex::conversing(order),
            Self::Gemini => gemini::conversing(order),
            Self::Acp => Vec::new(),
        };
        words.extend(self.own_instructions(&order.setup.args).1);
        words
    }

    /// What the user's arguments tell the agent by the flag that we use ourselves, which it heeds once only; and the other
    /// arguments.
    pub fn own_instructions(self, args: &[String]) -> (String, Vec<String>) {
        let (mut told, mut others, mut left) = (Vec::new(), Vec::new(), args.iter());
        while let Some(arg) = left.next() {
            let rest = left.as_slice().first();
            let (text, takes_next) = match self {
                Self::Claude => claude::own_instruction(arg, rest),
                Self::Codex => codex::own_instruction(arg, rest),
                Self::Gemini | Self::Acp => (None, false),
            };
            match text {
                Some(text) => told.push(text),
                None => others.push(arg.clone()),
            }
            if takes_next {
                left.next();
            }
        }
        (told.join("\n\n"), others)
    }

    /// Whether it can be told how hard to think. Agents of the Agent Client Protocol say that themselves.
    pub const fn takes_effort(self) -> bool {
        matches!(self, Self::Claude | Self::Codex | Self::Acp)
    }

    /// The arguments besides that take up a conversation, where its protocol does not say that.
    pub fn resuming(self, session: &str) -> Vec<String> {
        match self {
            Self::Claude => vec!["--resume".to_owned(), session.to_owned()],
            Self::Codex | Self::Gemini | Self::Acp => Vec::new(),
        }
    }

    /// The arguments with which a person opens a conversation in a terminal; nothing if the program is not known to have any.
    pub fn attaching(self, program: &str, session: &str) -> Option<[String; 2]> {
        let word = match self {
            Self::Claude | Self::Gemini => "--resume",
            Self::Codex => "resume",
            Self::Acp => match Path::new(program).file_name()?.to_str()? {
                "opencode" => "--session",
                "qwen" => "--resume",
                _ => return None,
            },
        };
        Some([word, session].map(str::to_owned))
    }

    /// The command of a single task that takes up a session, for one more turn.
    pub fn resumed(self, command: &[String], session: &str) -> Vec<String> {
        let behind: &[&str] = match self {
            Self::Claude | Self::Gemini => &["--resume", session],
            Self::Codex => &["resume", session, "-"],
            Self::Acp => &[],
        };
        command.iter().cloned().chain(behind.iter().map(|word| (*word).to_owned())).collect()
    }

    /// What it says it used is that of the whole conversation, the tasks before included: its tokens, then its cost.
    pub const fn counts_on(self) -> (bool, bool) {
        match self {
            Self::Claude => (false, true),
            Self::Codex => (true, false),
            Self::Gemini | Self::Acp => (false, true),
        }
    }

    /// It can be held to a schema; else the prompt says what to report.
    pub const fn takes_schema(self) -> bool {
        match self {
            Self::Claude | Self::Codex => true,
            Self::Gemini | Self::Acp => false,
        }
    }

    /// The variables that pass from the environment to this agent and to no other: its keys, and where its service is.
    pub const fn passes(self) -> &'static [&'static str] {
        match self {
            Self::Claude => claude::PASSES,
            Self::Codex => codex::PASSES,
            Self::Gemini => gemini::PASSES,
            Self::Acp => &[],
        }
    }

    /// The variables that are set for it, unless the user sets them.
    pub const fn sets(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => claude::SETS,
            Self::Codex | Self::Acp => &[],
            Self::Gemini => gemini::SETS,
        }
    }

    /// Whether it can be given the tools of a worker when it is started. Gemini reads its servers from files of the user.
    pub const fn takes_server(self) -> bool {
        match self {
            Self::Claude | Self::Codex | Self::Acp => true,
            Self::Gemini => false,
        }
    }

    /// How to log in.
    pub const fn login(self) -> &'static str {
        match self {
            Self::Claude => "log in with `claude /login`, or set ANTHROPIC_API_KEY",
            Self::Codex => "log in with `codex login`, or set OPENAI_API_KEY",
            Self::Gemini => "log in by starting `gemini` once, or set GEMINI_API_KEY",
            Self::Acp => "log in by starting its program once, or name the variable with its key in `pass_env`",
        }
    }

    /// How it is installed, or made newer.
    pub const fn install(self) -> &'static str {
        match self {
            Self::Claude => "npm i -g @anthropic-ai/claude-code@latest",
            Self::Codex => "npm i -g @openai/codex@latest",
            Self::Gemini => "npm i -g @google/gemini-cli@latest",
            Self::Acp => "the command of its makers, or correct `program` and `args`",
        }
    }

    /// The versions that the tests of this program are run with, or that were tried by hand, the newest last. `program` says which
    /// agent it is of a protocol that many speak.
    pub fn tested(self, program: &str) -> &'static [Version] {
        match self {
            Self::Claude => &[Version(2, 1, 325), Version(2, 1, 326)],
            Self::Codex => &[Version(0, 166, 0), Version(0, 169, 0)],
            Self::Gemini => &[Version(0, 61, 0)],
            Self::Acp => match Path::new(program).file_name().and_then(|name| name.to_str()) {
                Some("opencode") => &[Version(1, 18, 33)],
                Some("qwen") => &[Version(0, 24, 4)],
                _ => &[],
            },
        }
    }

    /// The version in what `--version` prints, or why this program cannot be used and what to do.
    pub fn probe(self, printed: &str) -> Result<Version, String> {
        let least = match self {
            Self::Claude => claude::LEAST,
            Self::Codex => codex::LEAST,
            Self::Gemini => gemini::LEAST,
            Self::Acp => Version(0, 0, 0),
        };
        match Version::find(printed) {
            Some(version) if version >= least => Ok(version),
            Some(version) => Err(format!("is version {version}, but {least} or newer is required")),
            None => Err("does not say its version: is it the right program?".to_owned()),
        }
    }

    /// The program to start for one that was found: where that only starts another one, the other one. A wrapper that is
    /// killed would leave it running.
    pub fn native(self, found: &Path) -> Option<PathBuf> {
        match self {
            Self::Codex => codex::native(found),
            Self::Claude | Self::Gemini | Self::Acp => None,
        }
    }

    /// What the exit code of an agent says that has not said it otherwise.
    pub fn trouble_of_code(self, ended: &Ended) -> Option<Trouble> {
        match (self, ended) {
            (Self::Gemini, Ended::Exit(41)) => {
                let words = "it has no key for its service (exit code 41)".to_owned();
                Some(Trouble { class: Class::Auth, words })
            }
            _ => None,
        }
    }

    /// What an agent that has ended printed: line by line, what is no event or unknown is skipped. `ended_at` is when it
    /// ended, in milliseconds since 1970: times of a reset may be relative to it.
    pub fn read(self, output: impl BufRead, ended_at: u64) -> Stream {
        stream::read(output, |stream, one| self.hear(stream, one, ended_at))
    }

    /// Takes one event.
    pub(crate) fn hear(self, stream: &mut Stream, event: &Value, at: u64) {
        // A conversation is in another protocol than a single task.
        let is_rpc = event.get("type").is_none();
        stream.steps += u64::from(!is_complaint(event));
        match self {
            _ if event.get(MARK).is_some() => stream.mark(event),
            Self::Claude => claude::event(stream, event, at),
            Self::Codex if is_rpc => app_server::event(stream, event, at),
            Self::Codex => codex::event(stream, event, at),
            Self::Gemini if !is_rpc => gemini::event(stream, event, at),
            Self::Gemini | Self::Acp => acp::event(stream, event, at),
        }
        stream.notes(event);
    }
}

/// Whether an event only says that the service does not answer, and that the agent tries again.
fn is_complaint(event: &Value) -> bool {
    let is = |key: &str, word: &str| event.get(key).and_then(Value::as_str) == Some(word);
    is("type", "error") || is("method", "error") || is("subtype", "api_retry") || event.get(MARK).is_some()
}
