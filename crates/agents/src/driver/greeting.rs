//! Agents that speak the Agent Client Protocol, tried before anything depends on them: who they are, and whether they answer.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::acp::Acp;
use super::dialogue::{Dialogue as _, News};
use super::peer::{AgentProcess, Heard};
use crate::adapters::{Adapter, Setup, Stream};

/// A program with its environment and its folder.
type Place<'p> = (&'p [(String, String)], &'p Path);

/// An agent that was started, and until when it may answer.
struct Tried {
    peer: AgentProcess,
    inbox: Receiver<Heard>,
    until: Instant,
}

impl Tried {
    fn start(command: (&Path, &[String]), place: Place<'_>, limit: Duration) -> Result<Self, String> {
        let program = std::iter::once(command.0.display().to_string());
        let words: Vec<String> = program.chain(command.1.iter().cloned()).collect();
        let (outbox, inbox) = mpsc::channel();
        let peer = AgentProcess::start(&words, Some(place), outbox).map_err(|error| error.to_string())?;
        Ok(Self { peer, inbox, until: Instant::now() + limit })
    }

    fn send(&mut self, messages: &[Value]) {
        messages.iter().for_each(|message| self.peer.send(message));
    }

    /// The next thing that it says, or why it says nothing more.
    fn next(&self) -> Result<Value, &'static str> {
        loop {
            match self.inbox.recv_timeout(self.until.saturating_duration_since(Instant::now())) {
                Ok(Heard::Said(said)) => return Ok(said),
                Ok(Heard::Told(_) | Heard::Ended) => {}
                Ok(Heard::Gone) | Err(RecvTimeoutError::Disconnected) => return Err("ends without output"),
                Err(RecvTimeoutError::Timeout) => return Err("does not answer"),
            }
        }
    }
}

/// Starts an agent, asks it who it is, and ends it. Nothing is done.
pub fn greet(
    command: (&Path, &[String]),
    env: &[(String, String)],
    cwd: &Path,
    limit: Duration,
) -> Result<String, String> {
    let mut tried = Tried::start(command, (env, cwd), limit)?;
    let mut hello = Vec::new();
    Acp::new(None, PathBuf::new(), "", Vec::new()).open(&mut hello);
    tried.send(&hello);
    let said = loop {
        match tried.next() {
            Ok(said) if said.get("id").is_some() && said.get("method").is_none() => break Ok(said),
            Ok(_) => {}
            Err("does not answer") => {
                break Err("does not answer in the Agent Client Protocol: is it the right program?");
            }
            Err(_) => break Err("ends without speaking the Agent Client Protocol: is it the right program?"),
        }
    };
    tried.peer.close(Duration::ZERO);
    let said = said?;
    if said["result"]["protocolVersion"] != 1 {
        return Err("does not speak version 1 of the Agent Client Protocol".to_owned());
    }
    Ok(said["result"]["agentInfo"]["version"].as_str().unwrap_or_default().to_owned())
}

/// Starts an agent, says something to it as `setup` wants it, and ends it. What it says, or why it says nothing. It is allowed
/// nothing that it must ask for.
pub fn say_once(
    command: &Path,
    setup: &Setup,
    env: &[(String, String)],
    cwd: &Path,
    words: &str,
    limit: Duration,
) -> Result<String, String> {
    let mut tried = Tried::start((command, &setup.args), (env, cwd), limit)?;
    let acp = Acp::new(None, cwd.to_owned(), "", Vec::new());
    let mut acp = acp.wanting(setup.model.clone(), setup.effort.clone());
    let (mut stream, mut out) = (Stream::default(), Vec::new());
    acp.open(&mut out);
    let over = loop {
        tried.send(&std::mem::take(&mut out));
        let said = match tried.next() {
            Ok(said) => said,
            Err(why) => break Err(format!("it {why}")),
        };
        Adapter::Acp.hear(&mut stream, &said, 0);
        match acp.hear(&said, &mut out) {
            Some(News::Ready) => acp.say(words, &mut out),
            Some(News::Asks(question)) => acp.answer(&question, false, &mut out),
            Some(News::TurnOver | News::Failed) => break Ok(()),
            Some(News::Lacks(why)) => break Err(why),
            Some(News::NotResumed | News::TooLate(_)) | None => {}
        }
    };
    tried.peer.close(Duration::ZERO);
    over?;
    match stream.error {
        Some(trouble) if !stream.ok => Err(trouble.words),
        _ => Ok(stream.text.trim().to_owned()),
    }
}
