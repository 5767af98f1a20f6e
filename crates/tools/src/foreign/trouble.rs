//! What can go wrong with a foreign server: reasons, in Verger's own words. What the server itself said is never in
//! here, because a refusal reaches a model unwrapped; it is in the server's log, which a person can read.

use pipeline::Refusal;

/// Why a foreign server or tool was not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// No such server.
    #[error("there is no MCP server `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// Switched off.
    #[error("the MCP server `{0}` is switched off")]
    Disabled(String),
    /// From the vault, and nobody said that it may run.
    #[error("the MCP server `{0}` comes from the vault's .mcp.json and nobody has trusted it yet")]
    Untrusted(String),
    /// Its entry cannot be used.
    #[error("the entry of the MCP server `{name}` cannot be used: {why}")]
    Entry {
        /// The server.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A variable that its entry needs is not set.
    #[error("the MCP server `{name}` needs the variable {variable}, which is not set")]
    Variable {
        /// The server.
        name: String,
        /// The variable.
        variable: String,
    },
    /// Not on its allow list.
    #[error("the tool `{tool}` of the MCP server `{server}` is not on its list of allowed tools")]
    NotAllowed {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// Its description was never read.
    #[error("the tool `{tool}` of the MCP server `{server}` has not been looked at yet")]
    Unseen {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The server has no such tool.
    #[error("the MCP server `{server}` has no tool `{tool}`")]
    NoTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// It describes itself otherwise than when it was approved.
    #[error(
        "the tool `{tool}` of the MCP server `{server}` describes itself otherwise than when it was approved"
    )]
    Changed {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// It did not start.
    #[error("the MCP server `{name}` did not start: {why}")]
    Start {
        /// The server.
        name: String,
        /// Why, in our words.
        why: String,
    },
    /// It failed a moment ago; it is not tried again yet.
    #[error("the MCP server `{name}` failed a moment ago and is not tried again for {seconds} s")]
    Waiting {
        /// The server.
        name: String,
        /// How long still.
        seconds: u64,
    },
    /// Somebody must log in.
    #[error("the MCP server `{0}` wants somebody to log in")]
    Login(String),
    /// Logging in failed.
    #[error("logging in at the MCP server `{name}` failed: {why}")]
    LoginFailed {
        /// The server.
        name: String,
        /// Why, in our words.
        why: String,
    },
    /// The connection ended while it was busy.
    #[error("the MCP server `{0}` went away during the call; what it did until then is not known")]
    Gone(String),
    /// It took too long.
    #[error("the MCP server `{name}` did not answer within {seconds} s")]
    Slow {
        /// The server.
        name: String,
        /// The limit.
        seconds: u64,
    },
    /// It broke the protocol.
    #[error("the MCP server `{name}` broke the protocol: {why}")]
    Protocol {
        /// The server.
        name: String,
        /// How, in our words.
        why: String,
    },
    /// Servers that start servers that start servers.
    #[error(
        "the MCP server `{0}` would be started by a server that was itself started by a server, too often"
    )]
    Depth(String),
    /// Its address may not be reached.
    #[error("the address of the MCP server `{name}` may not be reached: {why}")]
    Blocked {
        /// The server.
        name: String,
        /// Why.
        why: String,
    },
    /// A file of ours could not be read or written.
    #[error("{file} cannot be used: {why}")]
    File {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
}

impl Trouble {
    /// The reason code.
    pub fn reason(&self) -> &'static str {
        match self {
            Trouble::Unknown { .. } => "mcp_server_unknown",
            Trouble::Disabled(_) => "mcp_server_disabled",
            Trouble::Untrusted(_) => "mcp_server_untrusted",
            Trouble::Entry { .. } | Trouble::Variable { .. } => "mcp_server_invalid",
            Trouble::NotAllowed { .. } => "mcp_tool_forbidden",
            Trouble::Unseen { .. } => "mcp_tool_unseen",
            Trouble::NoTool { .. } => "mcp_tool_unknown",
            Trouble::Changed { .. } => "mcp_tool_changed",
            Trouble::Start { .. } | Trouble::Waiting { .. } => "mcp_server_unavailable",
            Trouble::Login(_) | Trouble::LoginFailed { .. } => "mcp_login_needed",
            Trouble::Gone(_) => "mcp_server_gone",
            Trouble::Slow { .. } => "timeout",
            Trouble::Protocol { .. } => "mcp_protocol",
            Trouble::Depth(_) => "mcp_too_deep",
            Trouble::Blocked { .. } => "address_forbidden",
            Trouble::File { .. } => "io",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Trouble::Unknown { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Trouble::Unknown { .. } => "`manage_mcp_server` with the action `list` names them".to_owned(),
            Trouble::Disabled(name) => format!("ask the user to switch it on (manage_mcp_server, enable {name})"),
            Trouble::Untrusted(name) => format!("ask the user to look at it and run `verger mcp trust {name}`"),
            Trouble::Entry { .. } => "ask the user to mend its entry".to_owned(),
            Trouble::Variable { variable, .. } => format!("ask the user to set {variable} and start verger again"),
            Trouble::NotAllowed { .. } => "use another tool, or ask the user to add it to `tools`".to_owned(),
            Trouble::Unseen { server, tool } => {
                format!("call read_mcp_tool for `{tool}` of `{server}` first, then call it")
            }
            Trouble::NoTool { server, .. } => format!("call read_mcp_tool with only the server `{server}` for the list"),
            Trouble::Changed { .. } => {
                "nothing was called; read it again with read_mcp_tool, then call it and the user is asked anew".to_owned()
            }
            Trouble::Start { name, .. } => format!("ask the user to run `verger mcp test {name}`"),
            Trouble::Waiting { .. } => "wait, or do without it".to_owned(),
            Trouble::Login(name) | Trouble::LoginFailed { name, .. } => {
                format!("ask the user to run `verger mcp login {name}`")
            }
            Trouble::Gone(_) => "nothing is repeated by itself; look whether it was done before you call again".to_owned(),
            Trouble::Slow { .. } => "the call was cancelled; look whether it was done before you call again".to_owned(),
            Trouble::Protocol { name, .. } => format!("ask the user to run `verger mcp test {name}`"),
            Trouble::Depth(_) => "do it without that server".to_owned(),
            Trouble::Blocked { .. } => "ask the user; only addresses in their own configuration may be private".to_owned(),
            Trouble::File { .. } => "ask the user to check the file and its permissions".to_owned(),
        }
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Refusal {
        Refusal::new(trouble.reason(), trouble.to_string(), trouble.hint())
    }
}
