//! The tools of any client that wants to run a team: an assistant, an editor, another agent.
//!
//! Each tool does what the command of its name does, by calling `app`. A run is started in a process apart from the client and
//! followed (`follow`), so it outlives the client. Where a tool may look and write is settled by
//! `roots`; what is run, only by the user's configuration and the flags that this server was started with.

mod documents;
mod follow;
mod planning;
mod resources;
mod room;
mod roots;
mod sessions;
mod steering;
mod table;
mod tasks;
mod texts;
mod uri;

use std::path::{Path, PathBuf};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, GetTaskParams, GetTaskResult, Implementation,
    JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use team_executor_app::bus::Refusal;
use team_executor_app::{App, Error};

use self::follow::Follower;
use self::room::{ANSWER_BYTES, fitted};
use self::roots::{Inside, Roots};
use crate::tool;

/// What a client is told about the tools as a whole.
const INSTRUCTIONS: &str = "Runs teams of coding agents. A session is a folder of tasks: validate it, plan it, rehearse it, run \
it. spawn_agents_on_csv makes a session of a table and gives each of its rows to an agent. Runs go on in the background: status shows their progress, and the same call continues an interrupted run.";

/// Serves one client.
#[derive(Debug)]
pub struct Client {
    app: App,
    /// What the user has settled for all runs.
    flags: Vec<Flag>,
    /// Where a client works that declares no roots.
    current: PathBuf,
    /// The only folders that clients may reach, whatever they declare.
    fixed: Vec<PathBuf>,
}

/// A flag as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Its long name.
    pub name: String,
    /// The whole word: `--name` or `--name=value`.
    pub word: String,
}

/// One call of a tool.
pub(crate) struct Call<'c> {
    app: &'c App,
    flags: &'c [Flag],
    roots: Roots,
    follower: Follower,
}

impl Client {
    /// For clients that this program serves from a folder.
    pub fn new(app: App, flags: Vec<Flag>, current: PathBuf) -> Self {
        Self { app, flags, current, fixed: Vec::new() }
    }

    /// The same, and clients reach these folders and no others.
    pub fn within(self, fixed: Vec<PathBuf>) -> Self {
        Self { fixed, ..self }
    }

    /// All that it offers.
    pub fn tools() -> Vec<Tool> {
        [sessions::TOOLS, steering::TOOLS, planning::TOOLS, table::TOOLS]
            .concat()
            .into_iter()
            .map(|tool| tool())
            .collect()
    }

    async fn begin(&self, context: RequestContext<RoleServer>) -> Result<Call<'_>, Refusal> {
        let roots = Roots::ask(&context, &self.current, &self.fixed).await?;
        Ok(Call { app: &self.app, flags: &self.flags, roots, follower: Follower::new(context) })
    }
}

impl Call<'_> {
    /// The user's flags, but for those that a call settles itself.
    fn flags<'p>(&'p self, settled: &'p [&str]) -> impl Iterator<Item = String> + 'p {
        let open = self.flags.iter().filter(|flag| !settled.contains(&flag.name.as_str()));
        open.map(|flag| flag.word.clone())
    }

    /// Does something about a session in its project, beside the thread that serves the client.
    async fn with<T: Send + 'static>(
        &self,
        session: &str,
        act: impl FnOnce(&App, Option<&Path>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Inside { path, root } = self.roots.session(session)?;
        self.within(root, move |app| act(app, Some(&path))).await
    }

    /// Does something in a folder, beside the thread that serves the client.
    async fn within<T: Send + 'static>(
        &self,
        folder: PathBuf,
        act: impl FnOnce(&App) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Refusal> {
        let app = self.app.within(folder);
        let done = tokio::task::spawn_blocking(move || act(&app)).await;
        let lost = |error| Refusal { what: format!("the call was lost: {error}"), help: "call again".to_owned() };
        Ok(done.map_err(lost)??)
    }

    /// Carries it out; nothing if there is no such tool.
    async fn carry_out(&self, name: &str, arguments: Option<JsonObject>) -> Result<Option<Value>, Refusal> {
        if let Some(done) = sessions::call(self, name, arguments.clone()).await? {
            return Ok(Some(done));
        }
        if let Some(done) = steering::call(self, name, arguments.clone()).await? {
            return Ok(Some(done));
        }
        match planning::call(self, name, arguments.clone()).await? {
            None => table::call(self, name, arguments).await,
            done => Ok(done),
        }
    }
}

impl ServerHandler for Client {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build())
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
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        let knows_tasks = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        if knows_tasks && tasks::is_for(&name, arguments.as_ref()) {
            return match self.begin(context).await {
                Ok(call) => tasks::create(&call, &name, arguments).await,
                Err(refusal) => tool::answer(Err::<Value, _>(refusal)).map(Into::into),
            };
        }
        let result = match self.begin(context).await {
            Ok(call) => call.carry_out(&name, arguments).await,
            Err(refusal) => Err(refusal),
        };
        let result = result.transpose().ok_or_else(|| tool::unknown(&name))?;
        tool::answer(result.map(|answer| fitted(answer, ANSWER_BYTES))).map(Into::into)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let call = self.begin(context).await.map_err(resources::failed)?;
        tasks::get(&call, &request.task_id).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.begin(context).await.map_err(resources::failed)?;
        tasks::update(&call, &request.task_id, request.input_responses).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.begin(context).await.map_err(resources::failed)?;
        tasks::cancel(&call, &request.task_id).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let call = self.begin(context).await.map_err(resources::failed)?;
        Ok(ListResourcesResult::with_all_items(resources::list(&call).await))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = self.begin(context).await.map_err(resources::failed)?;
        resources::read(&call, &request.uri).await.map(Into::into).map_err(resources::failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_names_every_tool_and_every_argument() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/mcp.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, text) = text.split_once("### The tools of a client").unwrap();
        for tool in Client::tools() {
            let row = text.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{}`", tool.name)));
            let row = row.unwrap_or_else(|| panic!("{} is not there", tool.name));
            let arguments = tool.input_schema.get("properties").and_then(Value::as_object).unwrap();
            for argument in arguments.keys() {
                assert!(row.contains(&format!("`{argument}`")), "{argument} of {} is not there", tool.name);
            }
        }
    }
}
