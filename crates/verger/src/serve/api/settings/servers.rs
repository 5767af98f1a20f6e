//! Other MCP servers: which there are and how they stand, added and switched by the person; and how an AI client is connected to
//! this vault. What starts or changes a server walks the road, as it does for `verger mcp`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pipeline::approve::Deciding;
use pipeline::{Asker, Call, Decision, Lifetime, Outcome, Question, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tools::foreign::Origin;

use crate::install;
use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>("/api/settings/servers", "Other MCP servers and how they stand.", shown)
        .post::<Doing, _, _>(
            "/api/settings/servers",
            "Adds, removes, switches, tests or trusts one of them.",
            done,
        )
        .get::<Nothing, _, _>(
            "/api/settings/clients",
            "How an AI client is connected to this vault.",
            clients,
        )
}

/// What is done with a server.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum What {
    /// Writes one down.
    Add,
    /// Takes it out.
    Remove,
    /// Switches it on.
    Enable,
    /// Switches it off.
    Disable,
    /// Starts it and looks at its tools.
    Test,
    /// Trusts one that the vault brings, as it was shown.
    Trust,
}

/// Something to be done with a server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Doing {
    /// What.
    action: What,
    /// The server's name.
    name: String,
    /// For `add`: a program that speaks on stdin and stdout.
    command: Option<String>,
    /// For `add`: its arguments.
    args: Option<Vec<String>>,
    /// For `add`: variables for it; write keys as `${VARIABLE}`.
    env: Option<BTreeMap<String, String>>,
    /// For `add`: an address.
    url: Option<String>,
    /// For `add`: headers for every request.
    headers: Option<BTreeMap<String, String>>,
    /// For `trust`: the `mark` that was shown.
    mark: Option<String>,
}

/// A person who pressed a button for exactly this server.
struct Pressed(String);

impl Asker for Pressed {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            match question.tool == "manage_mcp_server" && question.target == Some(self.0.as_str()) {
                true => Decision::Yes(Lifetime::Once),
                false => Decision::No { reason: None },
            }
        })
    }

    fn name(&self) -> &str {
        "web"
    }

    fn is_person(&self) -> bool {
        true
    }
}

async fn shown(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(all).await.map(Json)
}

fn all(house: &House) -> Result<Value, Problem> {
    let study = house.study();
    let foreign = &study.foreign;
    let mut servers = Vec::new();
    for standing in foreign.standing() {
        let server = foreign.server(&standing.name).map_err(Refusal::from)?;
        let tools = foreign.known_tools(&standing.name).ok().flatten();
        let tools = tools.map(|tools| {
            let line = |text: Option<&str>| text.unwrap_or_default().chars().take(200).collect::<String>();
            tools
                .iter()
                .map(|tool| json!({"name": tool.name, "about": line(tool.description.as_deref())}))
                .collect::<Vec<_>>()
        });
        // What the vault brings is shown whole before it is trusted; what the person wrote may hold keys of theirs.
        let entry = (server.origin == Origin::Vault).then(|| server.entry());
        servers.push(json!({
            "name": standing.name, "transport": standing.transport, "place": standing.place,
            "origin": standing.origin, "state": standing.state, "tools": tools, "entry": entry,
            "mark": server.fingerprint(),
        }));
    }
    Ok(json!({"servers": servers, "problems": foreign.problems()}))
}

async fn done(State(house): State<Arc<House>>, Told(doing): Told<Doing>) -> Result<Json<Value>, Problem> {
    house.look(move |house| carry_out(house, &doing)).await.map(Json)
}

fn carry_out(house: &House, doing: &Doing) -> Result<Value, Problem> {
    if doing.name.is_empty() || doing.name.len() > 100 {
        return Err(Problem::bad("this is no name of a server", "use letters, digits, `-` and `_`"));
    }
    if doing.action == What::Trust {
        return trust(house, doing);
    }
    let fields = json!({
        "action": doing.action, "name": doing.name, "command": doing.command, "args": doing.args, "env": doing.env,
        "url": doing.url, "headers": doing.headers,
    });
    let given: serde_json::Map<String, Value> = match fields {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => serde_json::Map::new(),
    };
    let call = Call::new("manage_mcp_server", Value::Object(given));
    match house.call(call, &Pressed(doing.name.clone())) {
        Outcome::Refused(mut refusal) | Outcome::Denied(mut refusal) => {
            if doing.action == What::Test {
                // What it wrote to stderr says more than we could.
                let log = house.study().foreign.log(&doing.name, 5).unwrap_or_default().join("\n");
                refusal.hint = match log.is_empty() {
                    true => "check the program, its arguments and its variables".to_owned(),
                    false => format!("it said: {log}"),
                };
            }
            Err(refusal.into())
        }
        outcome => {
            house.beat(|pulse| pulse.settings += 1);
            Ok(
                json!({"done": {"text": outcome.output().map(|output| output.text.clone()).unwrap_or_default()}}),
            )
        }
    }
}

fn trust(house: &House, doing: &Doing) -> Result<Value, Problem> {
    let study = house.study();
    let server = study.foreign.server(&doing.name).map_err(Refusal::from)?;
    if server.origin != Origin::Vault {
        return Err(Problem::bad(
            "this is your own server and needs no trust",
            "switch it off if you do not want it",
        ));
    }
    if doing.mark.as_deref() != Some(server.fingerprint().as_str()) {
        let hint = "look at it again, then decide";
        return Err(Problem::new(StatusCode::CONFLICT, "stale", "it was changed after it was shown", hint));
    }
    study.foreign.trust(&doing.name).map_err(Refusal::from)?;
    house.beat(|pulse| pulse.settings += 1);
    Ok(json!({"done": {"text": format!("{} is trusted as it is written now", doing.name)}}))
}

async fn clients(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    let look = |house: &House| {
        let study = house.study();
        let root = study.place.root.display().to_string();
        let clients: Vec<Value> = install::clients()
            .into_iter()
            .map(|(name, file)| {
                let command = format!("verger --vault {} mcp install {name}", quoted(&root));
                json!({"name": name, "command": command, "file": file.map(|file| file.display().to_string())})
            })
            .collect();
        let program = install::program().unwrap_or_else(|_| "verger".to_owned());
        let entry = json!({"mcpServers": {"verger": {"command": program, "args": ["mcp", "--vault", root]}}});
        Ok(json!({"clients": clients, "entry": entry}))
    };
    house.look(look).await.map(Json)
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@:".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        for (text, expected) in [
            ("/a/b-c.d", "/a/b-c.d"),
            ("/my notes", "'/my notes'"),
            ("/it's; rm", "'/it'\\''s; rm'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
