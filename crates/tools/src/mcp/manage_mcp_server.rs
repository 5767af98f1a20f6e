//! `manage_mcp_server`: which servers there are and how they stand; add, remove and switch them with the user's leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pipeline::plan::{Action, Leaves};
use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::foreign::servers::Standing;
use crate::foreign::{Change, Foreign, Origin, Server};

/// List the MCP servers that the user has set up, see how one stands, test or reconnect it; add, remove, enable or
/// disable one (the user is asked). Write keys as ${VARIABLE}, never as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to do.
    action: Doing,
    /// The server's name; needed for all but `list`.
    name: Option<String>,
    /// For `add`: a program that speaks on stdin and stdout.
    command: Option<String>,
    /// For `add`: the program's arguments.
    args: Option<Vec<String>>,
    /// For `add`: variables for the program.
    env: Option<BTreeMap<String, String>>,
    /// For `add`: `http` (streamable HTTP) or `sse` (the old transport).
    r#type: Option<String>,
    /// For `add`: the address.
    url: Option<String>,
    /// For `add`: headers for every request.
    headers: Option<BTreeMap<String, String>>,
    /// For `add`: only these of its tools may be used.
    tools: Option<BTreeSet<String>>,
    /// For `add`: seconds that a call may take (60).
    timeout: Option<u64>,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Doing {
    List,
    Status,
    Test,
    Reconnect,
    Add,
    Remove,
    Enable,
    Disable,
}

/// The tool.
#[derive(Default)]
pub struct ManageMcpServer(pub Arc<Foreign>);

impl Tool for ManageMcpServer {
    const SPEC: Spec = Spec::new("manage_mcp_server", Group::Mcp, Effect::Acts).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, _: &View<'_>) -> Result<Plan, Refusal> {
        if input.action == Doing::List {
            return Ok(list(&self.0));
        }
        let name = input.name.clone().ok_or_else(|| {
            Refusal::new("input_invalid", "this action needs the server's `name`", "give `name`")
        })?;
        match input.action {
            Doing::List | Doing::Status => status(&self.0, &name),
            Doing::Test => {
                let server = self.0.server(&name)?;
                let summary =
                    format!("start the MCP server `{name}` ({}) to see whether it works", server.place());
                let limit = server.timeout * 2 + Duration::from_secs(10);
                Ok(act(&self.0, summary, name, limit, |foreign, name| async move {
                    let facts = foreign.test(&name).await?;
                    let text = format!(
                        "{name} works: {} tools, revision {}, {} ms",
                        facts["tools"],
                        facts["revision"].as_str().unwrap_or_default(),
                        facts["milliseconds"]
                    );
                    Ok(Output::new(text, facts))
                }))
            }
            Doing::Reconnect => {
                self.0.server(&name)?;
                let summary = format!(
                    "give up the connection to the MCP server `{name}`; the next call makes a new one"
                );
                Ok(act(&self.0, summary, name, Duration::from_secs(10), |foreign, name| async move {
                    foreign.reconnect(&name).await?;
                    Ok(Output::new(format!("{name}: connection given up"), json!({ "server": name })))
                }))
            }
            Doing::Add | Doing::Remove | Doing::Enable | Doing::Disable => self.change(&input, name),
        }
    }
}

impl ManageMcpServer {
    fn change(&self, input: &Input, name: String) -> Result<Plan, Refusal> {
        let (change, summary) = match input.action {
            Doing::Add => {
                let server = Server::parse(&name, &entry(input), Origin::Added)?;
                let summary = format!("add the MCP server `{name}`: {}", server.entry());
                (Change::Add(Box::new(server)), summary)
            }
            Doing::Remove => (Change::Remove(name.clone()), format!("remove the MCP server `{name}`")),
            Doing::Enable => {
                (Change::Enable(name.clone(), true), format!("switch on the MCP server `{name}`"))
            }
            _ => (Change::Enable(name.clone(), false), format!("switch off the MCP server `{name}`")),
        };
        self.0.may_change(&change)?;
        let done = format!("done: {}", summary.split(": ").next().unwrap_or_default());
        Ok(act(&self.0, summary, name, Duration::from_secs(30), move |foreign, name| async move {
            foreign.change(change).await?;
            Ok(Output::new(done, json!({ "server": name })))
        }))
    }
}

fn act<F>(
    foreign: &Arc<Foreign>,
    summary: String,
    name: String,
    limit: Duration,
    fire: impl FnOnce(Arc<Foreign>, String) -> F + Send + 'static,
) -> Plan
where
    F: Future<Output = Result<Output, Refusal>> + Send + 'static,
{
    let (foreign, target) = (Arc::clone(foreign), name.clone());
    Plan::Act(Action::new(summary, target, Leaves::Nothing, limit, move || fire(foreign, name)))
}

/// The entry that the input describes.
fn entry(input: &Input) -> Value {
    let fields = json!({
        "command": input.command, "args": input.args, "env": input.env, "type": input.r#type, "url": input.url,
        "headers": input.headers, "tools": input.tools, "timeout": input.timeout,
    });
    let Value::Object(fields) = fields else { return Value::Null };
    Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

fn list(foreign: &Foreign) -> Plan {
    let (standing, problems) = (foreign.standing(), foreign.problems());
    let mut text = match standing.as_slice() {
        [] => "no MCP server is set up".to_owned(),
        some => some.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    for problem in &problems {
        text += &format!("\nproblem: {}", problem.chars().take(300).collect::<String>());
    }
    let data = json!({ "servers": standing, "problems": problems });
    Plan::Answer(told(Output::new(text, data), &standing, &problems))
}

fn status(foreign: &Foreign, name: &str) -> Result<Plan, Refusal> {
    foreign.server(name)?;
    let standing = foreign.standing().into_iter().find(|standing| standing.name == name);
    let text = standing.as_ref().map(line).unwrap_or_default();
    let data = json!({ "server": standing });
    Ok(Plan::Answer(told(Output::new(text, data), standing.as_slice(), &[])))
}

/// What stands in a vault's `.mcp.json` was written by whoever can write there.
fn told(output: Output, standing: &[Standing], problems: &[String]) -> Output {
    let of_the_vault = standing.iter().any(|standing| standing.origin == Origin::Vault);
    if of_the_vault || !problems.is_empty() { output.from_outside(".mcp.json") } else { output }
}

fn line(standing: &Standing) -> String {
    let tools = standing.tools.map(|tools| format!(", {tools} tools")).unwrap_or_default();
    format!("{}  {}  {}  {}{tools}", standing.name, standing.transport, standing.place, standing.state)
}
