//! The tools of a worker in a run. Who calls is told by the environment, is held against the journal at every call, and can
//! touch nothing but its own attempt. Whatever is answered is on the disk; no executor is needed for it.

mod board;
#[cfg(test)]
mod docs;
mod report;
mod tasks;
mod team;

use std::sync::OnceLock;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use team_executor_app::bus::{Attempt, Refusal, state};
use team_executor_core::{Graph, Session, Task};

use crate::tool;

/// What an agent is told about the tools as a whole.
const INSTRUCTIONS: &str = "You work on one task of a team. Report its result with report_result, once, as your \
     last action. Share findings that others can use with add_discovery; read theirs with get_context.";

/// Serves one worker: the attempt that it is.
#[derive(Debug)]
pub struct Worker {
    attempt: Attempt,
    /// How many tasks may be proposed in its run.
    most_proposals: usize,
    /// Read at the first call: the tasks of a run do not change.
    session: OnceLock<(Session, Graph)>,
}

impl Worker {
    /// For an attempt that an environment names, in whose run so many tasks may be proposed.
    pub fn new(attempt: Attempt, most_proposals: usize) -> Self {
        Self { attempt, most_proposals, session: OnceLock::new() }
    }

    /// All that it offers.
    pub fn tools() -> Vec<Tool> {
        [report::TOOLS, board::TOOLS, team::TOOLS, tasks::TOOLS].concat().into_iter().map(|tool| tool()).collect()
    }

    /// Carries out a call.
    fn call(&self, name: &str, given: Option<JsonObject>) -> Option<Result<Value, Refusal>> {
        Some(match name {
            report::REPORT_RESULT => self.with(name, given, report::report_result),
            board::ADD_DISCOVERY => self.with(name, given, board::add_discovery),
            team::TEAM_MSG => self.with(name, given, team::team_msg),
            team::PROGRESS => self.with(name, given, team::progress),
            team::CAPABILITY_GAP => self.with(name, given, team::capability_gap),
            tasks::GET_CONTEXT => self.with(name, given, tasks::get_context),
            tasks::TASK_CREATE => self.with(name, given, tasks::task_create),
            tasks::TASK_UPDATE => self.with(name, given, tasks::task_update),
            tasks::TASK_LIST => self.with(name, given, tasks::task_list),
            tasks::TASK_GET => self.with(name, given, tasks::task_get),
            _ => return None,
        })
    }

    /// Carries out a call with its arguments.
    fn with<T: DeserializeOwned>(
        &self,
        name: &str,
        given: Option<JsonObject>,
        call: fn(&Self, T) -> Result<Value, Refusal>,
    ) -> Result<Value, Refusal> {
        call(self, tool::arguments(name, given)?)
    }

    /// The session that it is part of.
    fn opened(&self) -> Result<&(Session, Graph), Refusal> {
        if let Some(session) = self.session.get() {
            return Ok(session);
        }
        let opened = self.attempt.open()?;
        Ok(self.session.get_or_init(|| opened))
    }

    /// The session, and the task that the attempt has at this moment.
    fn verified(&self) -> Result<(&(Session, Graph), &Task), Refusal> {
        let session = self.opened()?;
        Ok((session, self.attempt.verified(&session.0, &session.1)?))
    }

    /// The session as its run says it is now.
    fn now(&self) -> Result<Session, Refusal> {
        let (session, graph) = self.opened()?;
        let now = state::of_run(session, graph, &self.attempt.run);
        now.map_err(|error| Refusal::new(error.to_string(), "try again; otherwise continue with your prompt"))
    }

    /// Refuses to touch another task.
    fn must_be_own(&self, task: Option<&str>) -> Result<(), Refusal> {
        match task.filter(|task| *task != self.attempt.task) {
            Some(other) => Err(self.attempt.not_its_own(other)),
            None => Ok(()),
        }
    }
}

impl ServerHandler for Worker {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("team-executor", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(Self::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        let result = self.call(&name, arguments).ok_or_else(|| tool::unknown(&name))?;
        tool::answer(result).map(Into::into)
    }
}

/// What a call answers, as JSON.
fn value(shown: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(shown).map_err(|error| Refusal::new(error.to_string(), "try again"))
}

/// A task of the session.
fn task<'s>(session: &'s Session, graph: &Graph, id: &str) -> Result<&'s Task, Refusal> {
    let index = graph.index_of(id).and_then(|index| session.tasks.get(index.get()));
    index.ok_or_else(|| Refusal::new(format!("there is no task '{id}'"), "TaskList shows all"))
}
