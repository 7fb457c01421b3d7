//! The tools of a worker in a run. Who calls is told by the environment, is held against the journal at every call, and can
//! touch nothing but its own attempt. Whatever is answered is on the disk; no executor is needed for it.

mod board;
mod report;

use std::sync::OnceLock;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use team_executor_core::{Graph, Session, Task};
use team_executor_engine::bus::{Attempt, Refusal};

use crate::tool;

/// What an agent is told about the tools as a whole.
const INSTRUCTIONS: &str = "You work on one task of a team. Report how it ended with report_result, once, as the last thing that \
you do. What others can use while they work, tell with add_discovery.";

/// Serves one worker: the attempt that it is.
#[derive(Debug)]
pub struct Worker {
    attempt: Attempt,
    /// Read at the first call: the tasks of a run do not change.
    session: OnceLock<(Session, Graph)>,
}

impl Worker {
    /// For an attempt that an environment names.
    pub fn new(attempt: Attempt) -> Self {
        Self { attempt, session: OnceLock::new() }
    }

    /// All that it offers.
    pub fn tools() -> Vec<Tool> {
        [report::TOOLS, board::TOOLS].concat().into_iter().map(|tool| tool()).collect()
    }

    /// Carries out a call.
    fn call(&self, name: &str, given: Option<JsonObject>) -> Option<Result<Value, Refusal>> {
        Some(match name {
            report::REPORT_RESULT => {
                tool::arguments(name, given).and_then(|wanted| report::report_result(self, wanted))
            }
            board::ADD_DISCOVERY => tool::arguments(name, given).and_then(|wanted| board::add_discovery(self, wanted)),
            _ => return None,
        })
    }

    /// The session, and the task that the attempt has at this moment.
    fn verified(&self) -> Result<(&(Session, Graph), &Task), Refusal> {
        let session = match self.session.get() {
            Some(session) => session,
            None => {
                let opened = self.attempt.open()?;
                self.session.get_or_init(|| opened)
            }
        };
        Ok((session, self.attempt.verified(&session.0, &session.1)?))
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
