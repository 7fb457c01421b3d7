//! What an executor and a keeper say to each other: one JSON object per line, requests one way and answers the other.
//! Both are always the same program, so the two sides cannot be of different versions.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::adapters::{Adapter, Usage};
use crate::exit::Exit;

/// One attempt at one task: everything that a keeper must know to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Names the attempt for ever: `<run>/<task>/<attempt>`.
    pub key: String,
    /// A path, or a name that is looked for in the `PATH` of `env`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The file that it reads as its input; without one there is nothing to read.
    pub stdin: Option<PathBuf>,
    /// How long it may take.
    pub limits: Limits,
    /// Where its standard output and its standard error go, once there is any.
    pub logs: [PathBuf; 2],
    /// How many bytes of each output stream are kept: half of them from its start, half from its end.
    pub output_cap: u64,
    /// The folder that it delivers to, which is made; the folder above must be there.
    pub artifacts: Option<PathBuf>,
    /// Where what stands in the place of that folder is moved to: it is nothing that this worker delivered.
    pub aside: PathBuf,
    /// What becomes of what is in that folder.
    pub leftover: Leftover,
    /// Whose events it prints, if it is a known agent: these are counted.
    pub adapter: Option<Adapter>,
}

/// What becomes of what is in the folder of a worker that starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// It is moved aside.
    #[default]
    Moves,
    /// It stays: the worker takes up the conversation in which it was delivered.
    Stays,
    /// It stays likewise. It was not accepted, and the worker changes it, so a copy is made aside.
    StaysCopied,
}

/// The next attempt in a slot, told by what is not as with the one before. Most attempts differ in little.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The key of the one before.
    pub after: String,
    /// As in an [`Assignment`].
    pub key: String,
    /// The values of the environment that are others, by their positions.
    pub env: Vec<(usize, String)>,
    /// As in an [`Assignment`].
    pub stdin: Option<PathBuf>,
    /// As in an [`Assignment`].
    pub logs: [PathBuf; 2],
    /// As in an [`Assignment`].
    pub artifacts: Option<PathBuf>,
    /// As in an [`Assignment`].
    pub aside: PathBuf,
}

impl Assignment {
    /// What is not as in another one; nothing if they differ in more than can be told so.
    pub(crate) fn since(&self, last: &Self) -> Option<Difference> {
        let Self { key, program, args, env, cwd, stdin, limits, logs, output_cap, artifacts, aside, leftover, adapter } =
            self;
        let is_alike = (program, args, cwd, limits, output_cap, leftover, adapter)
            == (&last.program, &last.args, &last.cwd, &last.limits, &last.output_cap, &last.leftover, &last.adapter)
            && env.iter().map(|(name, _)| name).eq(last.env.iter().map(|(name, _)| name));
        let values = env.iter().zip(&last.env).enumerate().filter(|(_, (new, old))| new.1 != old.1);
        is_alike.then(|| Difference {
            after: last.key.clone(),
            key: key.clone(),
            env: values.map(|(at, (new, _))| (at, new.1.clone())).collect(),
            stdin: stdin.clone(),
            logs: logs.clone(),
            artifacts: artifacts.clone(),
            aside: aside.clone(),
        })
    }

    /// The one that differs so from this one.
    pub(crate) fn with(&mut self, difference: Difference) {
        let Difference { after: _, key, env, stdin, logs, artifacts, aside } = difference;
        for (at, value) in env {
            if let Some((_, old)) = self.env.get_mut(at) {
                *old = value;
            }
        }
        (self.key, self.stdin, self.logs) = (key, stdin, logs);
        (self.artifacts, self.aside) = (artifacts, aside);
    }
}

/// How long a worker may take, in milliseconds; what is not given is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Until it prints anything.
    pub first_output_ms: Option<u64>,
    /// Between two outputs.
    pub idle_ms: Option<u64>,
    /// In all.
    pub total_ms: Option<u64>,
    /// Between being asked to end and being killed; without it, it is killed at once.
    pub grace_ms: Option<u64>,
    /// After being urged to come to an end, for one that converses; without it, it is not urged.
    pub converge_ms: Option<u64>,
    /// For a person to say whether it may do what it asks for.
    pub answer_ms: Option<u64>,
}

/// What the executor asks of a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Run this worker.
    Run(Box<Assignment>),
    /// Run the next worker, which is given nearly what the last one was.
    Next(Box<Difference>),
    /// End this worker and all that it started.
    End {
        /// Of the attempt; any other is left alone.
        key: String,
    },
    /// End what runs, then the keeper.
    Close {},
}

/// What a keeper tells the executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What it printed last, for a screen; lines are left out when they come fast.
    Line {
        /// Of the attempt.
        key: String,
        /// One line without control characters.
        text: String,
    },
    /// What a known agent has used so far.
    Used {
        /// Of the attempt.
        key: String,
        /// How much.
        usage: Box<Usage>,
    },
    /// The worker and all that it started are gone.
    Ended {
        /// How it ended; the ledger holds the same.
        exit: Box<Exit>,
        /// Why the ledger does not hold it, if so.
        unrecorded: Option<String>,
    },
}

/// A message as one line with its end.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// The message in a line.
pub(crate) fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_one_line_named_by_its_kind() {
        let line = |request: &Request| String::from_utf8(encode(request).unwrap()).unwrap();
        assert_eq!(line(&Request::Close {}), "{\"close\":{}}\n");
        assert_eq!(line(&Request::End { key: "r/a\nb/1".into() }), "{\"end\":{\"key\":\"r/a\\nb/1\"}}\n");
    }

    #[test]
    fn an_attempt_is_told_whole_by_what_differs_or_not_at_all() {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let last = Assignment {
            key: "r/a/1".into(),
            program: "p".into(),
            args: vec!["x".into()],
            env: pairs(&[("A", "1"), ("B", "2"), ("C", "3")]),
            cwd: "/".into(),
            stdin: Some("/in".into()),
            limits: Limits::default(),
            logs: ["/o".into(), "/e".into()],
            output_cap: 7,
            artifacts: None,
            aside: PathBuf::new(),
            leftover: Leftover::Moves,
            adapter: None,
        };
        let next = Assignment {
            key: "r/b/1".into(),
            env: pairs(&[("A", "1"), ("B", ""), ("C", "4")]),
            stdin: None,
            logs: ["/o2".into(), "/e2".into()],
            artifacts: Some("/art".into()),
            aside: "/aside".into(),
            ..last.clone()
        };
        let difference = next.since(&last).unwrap();
        assert_eq!(difference.env, [(1, String::new()), (2, "4".to_owned())]);
        let mut told = last.clone();
        told.with(decode(&encode(&difference).unwrap()).unwrap());
        assert_eq!((told, difference.after.as_str()), (next.clone(), "r/a/1"));
        let changes: [fn(&mut Assignment); 8] = [
            |it| it.adapter = Some(Adapter::Codex),
            |it| it.program.push('x'),
            |it| it.args.clear(),
            |it| it.cwd.push("x"),
            |it| it.limits.idle_ms = Some(1),
            |it| it.output_cap = 8,
            |it| it.env.truncate(2),
            |it| it.env[0].0.push('x'),
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let mut other = next.clone();
            change(&mut other);
            assert_eq!(other.since(&last), None, "{nth}");
        }
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for line in ["", "{}", "{\"run\":{}}", "{\"end\":{}}", "[", "\u{0}"] {
            assert!(decode::<Request>(line.as_bytes()).is_err(), "{line}");
        }
    }
}
