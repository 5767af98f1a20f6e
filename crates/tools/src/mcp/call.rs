//! Planning a call of a foreign tool: what `use_mcp_tool` and `invoke_mcp_server` share.

use std::sync::Arc;
use std::time::Duration;

use pipeline::plan::{Action, Leaves};
use pipeline::{Plan, Refusal};
use serde_json::{Map, Value};

use crate::foreign::Foreign;

/// How much of the arguments whoever approves sees in one line.
const SHOWN: usize = 400;

/// The plan of a call. Nothing is started and nothing is sent before it is approved.
pub fn plan(
    foreign: &Arc<Foreign>,
    server: String,
    tool: String,
    arguments: Map<String, Value>,
) -> Result<Plan, Refusal> {
    let (entry, pin) = foreign.planned(&server, &tool)?;
    let shown = Value::Object(arguments.clone()).to_string();
    let mut summary =
        format!("call `{tool}` of the MCP server `{server}` ({}) with {}", entry.place(), cut(&shown, SHOWN));
    if let Some(change) = pin.change() {
        summary += &format!(". IT DESCRIBES ITSELF OTHERWISE than when you approved it: {change}");
    } else if pin.approved.is_none() {
        let first = pin.description.lines().next().unwrap_or_default();
        summary += &format!(". It was never used before and says of itself: \"{}\"", cut(first, 200));
    }
    // A grant names the description, so that it ends with it.
    let target = format!("{server}/{tool}@{}", pin.mark());
    // Starting, listing and calling each have the server's limit; the road's own is a net below them.
    let limit = entry.timeout * 3 + Duration::from_secs(10);
    let foreign = Arc::clone(foreign);
    Ok(Plan::Act(Action::new(summary, target, Leaves::Something, limit, move || async move {
        Ok(foreign.call(&server, &tool, arguments, &pin.seen).await?)
    })))
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
    }
}
