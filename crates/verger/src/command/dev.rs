//! `dev`: for those who work on Verger. `conformance-client` plays the client for one scenario of the public suite with
//! the real client's code: it lists the tools and calls them. `become-server` is how a server comes to end with us.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tools::egress::Way;
use tools::foreign::connection::Era;
use tools::foreign::handler::Forms;
use tools::foreign::oauth::Browser;
use tools::foreign::{Foreign, Means, Origin, Server, Trouble, process};

use crate::args::Dev;
use crate::failure::{Exit, Failure};
use crate::foreign;

/// Does one of them.
pub fn dev(what: Dev) -> Result<(), Failure> {
    let failed = |message: String| Failure::new(Exit::Failed, "dev", message, "see what the other side says");
    match what {
        Dev::ConformanceClient { url } => {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.map_err(|error| failed(error.to_string()))?;
            runtime.block_on(play(&url)).map_err(|trouble| Failure::from(pipeline::Refusal::from(trouble)))
        }
        // `main` does it: it needs a vault.
        Dev::Prompt { .. } => Ok(()),
        Dev::BecomeServer { parent, command } => match command.split_first() {
            Some((program, args)) => Err(failed(process::become_server(parent, program, args).to_string())),
            None => Err(failed("no program".to_owned())),
        },
    }
}

const NAME: &str = "referee";
/// A tool that wants to see the schema of the other one as it came to us.
const ECHO: &str = "json_schema_echo";

/// Plays the client: log in where that is asked, list the tools, call them, list them again.
async fn play(url: &str) -> Result<(), Trouble> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let context: Value = serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let scenario = variable("MCP_CONFORMANCE_SCENARIO");
    let era = match variable("MCP_CONFORMANCE_PROTOCOL_VERSION").as_str() {
        "" => Era::Either,
        revision if revision >= "2026" => Era::Stateless,
        _ => Era::Handshake,
    };
    let server = Server::parse(NAME, &entry(url, &scenario, &context), Origin::Config)?;
    let means = Means {
        forms: Forms::Defaults,
        browser: Some(Arc::new(Headless(Way::naming([url])))),
        era,
        ..foreign::means()
    };
    let servers = Foreign::in_memory(vec![server], means);
    let played = calls(&servers, &context).await;
    servers.close().await;
    played
}

async fn calls(servers: &Foreign, context: &Value) -> Result<(), Trouble> {
    let tools = servers.tools(NAME).await?;
    let named = context.get("toolCalls").and_then(Value::as_array);
    let calls: Vec<(String, Map<String, Value>)> = match named {
        Some(calls) => calls
            .iter()
            .map(|call| {
                let name = call["name"].as_str().unwrap_or_default().to_owned();
                (name, call["arguments"].as_object().cloned().unwrap_or_default())
            })
            .collect(),
        None => {
            let echoed = tools.iter().find(|tool| tool.name != ECHO).map(|tool| tool.input_schema.clone());
            let arguments = |tool: &rmcp::model::Tool| match &echoed {
                Some(schema) if tool.name == ECHO => {
                    [("schema".to_owned(), json!(schema))].into_iter().collect()
                }
                _ => filled(&tool.input_schema),
            };
            tools.iter().map(|tool| (tool.name.to_string(), arguments(tool))).collect()
        }
    };
    for (name, arguments) in calls {
        let (_, pin) = servers.planned(NAME, &name)?;
        servers.call(NAME, &name, arguments, &pin.seen).await?;
    }
    Ok(())
}

/// The entry of the scenario's server, with what the referee says about logging in.
fn entry(url: &str, scenario: &str, context: &Value) -> Value {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut auth = json!({ "client_metadata_url": "https://conformance-test.local/client-metadata.json" });
    for (field, value) in [
        ("client_id", text("client_id")),
        ("client_secret", text("client_secret")),
        ("private_key", text("private_key_pem")),
        ("assertion", text("valid_jwt")),
    ] {
        if let Some(value) = value {
            auth[field] = value.into();
        }
    }
    let machine = scenario.starts_with("auth/client-credentials") || text("valid_jwt").is_some();
    auth["machine"] = machine.into();
    if let (Some(token), Some(client), Some(endpoint)) =
        (text("idp_id_token"), text("idp_client_id"), text("idp_token_endpoint"))
    {
        auth["identity"] = json!({ "id_token": token, "client_id": client, "token_endpoint": endpoint });
    }
    json!({ "url": url, "timeout": 20, "auth": auth })
}

/// Arguments that fit a schema: something of the right type for each required field.
fn filled(schema: &Map<String, Value>) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema.get("properties").and_then(|fields| fields[name]["type"].as_str()) {
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("test"),
    };
    names.map(|name| (name.to_owned(), value(name))).collect()
}

/// A browser without a person: it asks for the page and says where it is sent on to.
struct Headless(Way);

impl Browser for Headless {
    fn redirect(&self) -> &str {
        "http://localhost:3000/callback"
    }

    fn visit<'v>(
        &'v self,
        page: &'v str,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'v>> {
        Box::pin(async move {
            let client = self.0.client().map_err(|error| error.to_string())?;
            let asked = client.get(page).timeout(Duration::from_secs(10)).send().await;
            let response = asked.map_err(|error| error.to_string())?;
            let to = response.headers().get("location").and_then(|to| to.to_str().ok());
            to.map(str::to_owned).ok_or_else(|| "the page sends nobody on".to_owned())
        })
    }
}
