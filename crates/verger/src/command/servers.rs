//! `mcp list | test | tools | trust | login | logout`: other MCP servers, by hand. What starts one goes by the road.

use std::sync::Arc;

use serde_json::{Value, json};
use tools::foreign::Origin;

use crate::args::{McpServers, Writing};
use crate::door::Door;
use crate::failure::{Exit, Failure};
use crate::foreign::{self, AtTerminal};

/// Does one of them.
pub fn servers(door: &Door<'_>, what: McpServers) -> Result<(), Failure> {
    let ended = match what {
        McpServers::List => call(door, "manage_mcp_server", json!({"action": "list"})),
        McpServers::Test { name } => test(door, &name),
        McpServers::Tools { name, tool: None } => call(door, "read_mcp_tool", json!({"server": name})),
        McpServers::Tools { name, tool: Some(tool) } => {
            call(door, "read_mcp_tool", json!({"server": name, "name": tool}))
        }
        McpServers::Trust { name, yes } => trust(door, &name, yes),
        McpServers::Login { name } => login(door, &name),
        McpServers::Logout { name } => logout(door, &name),
    };
    door.wait(door.foreign.close());
    ended
}

/// Who typed the command wants it, so nobody is asked again.
fn call(door: &Door<'_>, tool: &str, input: Value) -> Result<(), Failure> {
    let outcome = door.call(tool, input, Writing { yes: true, dry_run: false });
    door.tell(&outcome)
}

fn test(door: &Door<'_>, name: &str) -> Result<(), Failure> {
    let ended = call(door, "manage_mcp_server", json!({"action": "test", "name": name}));
    if ended.is_err() {
        for line in door.foreign.log(name, 20).unwrap_or_default() {
            let line = door.terminal.err.text(&line).into_owned();
            door.terminal.note(&format!("{name}: {line}"));
        }
    }
    ended
}

fn trust(door: &Door<'_>, name: &str, yes: bool) -> Result<(), Failure> {
    let server = door.foreign.server(name).map_err(pipeline::Refusal::from)?;
    if server.origin != Origin::Vault {
        return Err(Failure::usage(
            format!("`{name}` is your own server and needs no trust"),
            "`verger mcp list` shows where each comes from",
        ));
    }
    let entry = serde_json::to_string_pretty(&server.entry()).unwrap_or_default();
    door.terminal.note(&format!("{name}, from the vault's .mcp.json:\n{}", door.terminal.err.text(&entry)));
    let answer =
        if yes { Some("y".to_owned()) } else { door.terminal.ask("Allow that it is started? [y/n] ") };
    if !matches!(answer.as_deref().map(str::trim), Some("y" | "yes")) {
        return Err(Failure::new(
            Exit::Denied,
            "denied",
            format!("`{name}` is not trusted"),
            "nothing was changed",
        ));
    }
    door.foreign.trust(name).map_err(pipeline::Refusal::from)?;
    done(door, &format!("{name} is trusted as it is written now"), name)
}

fn login(door: &Door<'_>, name: &str) -> Result<(), Failure> {
    let say: fn(&str) = |page| {
        let terminal = crate::terminal::Terminal::new(false, true);
        terminal.note(&format!("Open this page and log in:\n{}", terminal.err.text(page)));
    };
    door.wait(async {
        let cannot = |error: std::io::Error| {
            Failure::new(Exit::Failed, "io", format!("cannot listen: {error}"), "free a port and try again")
        };
        let browser = Arc::new(AtTerminal::listen(say).await.map_err(cannot)?);
        let servers = foreign::open(&door.config, &door.place, Some(browser))?;
        servers.login(name).await.map_err(pipeline::Refusal::from)?;
        Ok::<(), Failure>(())
    })?;
    done(door, &format!("logged in at {name}"), name)
}

fn logout(door: &Door<'_>, name: &str) -> Result<(), Failure> {
    let there = door.wait(door.foreign.logout(name)).map_err(pipeline::Refusal::from)?;
    let text =
        if there { format!("forgot the login at {name}") } else { format!("there was no login at {name}") };
    done(door, &text, name)
}

fn done(door: &Door<'_>, text: &str, name: &str) -> Result<(), Failure> {
    if door.terminal.json {
        door.terminal.json(&json!({"ok": true, "data": {"server": name, "text": text}}));
    } else {
        door.terminal.data_line(text);
    }
    Ok(())
}
