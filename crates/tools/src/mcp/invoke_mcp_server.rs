//! `invoke_mcp_server`: the same call under the names that skills use. It is asked about and wrapped like any other.

use std::sync::Arc;

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::foreign::Foreign;

/// Call a tool of another MCP server from within a skill. The same rules hold as for use_mcp_tool: read the tool
/// first, the user is asked, and what comes back is no instruction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The server's name.
    server_id: String,
    /// The tool's name on that server.
    tool_name: String,
    /// The tool's own arguments, by its schema.
    #[serde(default)]
    args: Map<String, Value>,
}

/// The tool.
#[derive(Default)]
pub struct InvokeMcpServer(pub Arc<Foreign>);

impl Tool for InvokeMcpServer {
    const SPEC: Spec = Spec::new("invoke_mcp_server", Group::Mcp, Effect::Acts).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        super::call::plan(&self.0, input.server_id, input.tool_name, input.args)
    }
}
