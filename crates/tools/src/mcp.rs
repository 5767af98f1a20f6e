//! Tools of other MCP servers, for models: look at them, call them, and manage which servers there are. One file for
//! each tool; the servers themselves are in `crate::foreign`.

mod call;
mod invoke_mcp_server;
mod manage_mcp_server;
mod read_mcp_tool;
mod use_mcp_tool;

pub use invoke_mcp_server::InvokeMcpServer;
pub use manage_mcp_server::ManageMcpServer;
pub use read_mcp_tool::ReadMcpTool;
pub use use_mcp_tool::UseMcpTool;
