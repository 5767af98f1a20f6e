//! What the public conformance suites call by name: tools, resources and prompts with fixed answers.
//!
//! Only with the hidden `verger mcp --conformance-fixtures`; nothing here is listed or callable otherwise. They stand
//! behind the same server and transport as the real tools, so what the suites judge is what clients meet. They never
//! touch the vault. Deliberately not here: the suites (`scripts/conformance.sh`).

mod asking;
mod content;
mod prompts;
mod rounds;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, ErrorData, GetPromptRequestParams, GetPromptResponse, JsonObject, Prompt,
    ReadResourceResult, RequestStateCodec, Resource, ResourceTemplate, ServerCapabilities, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use serde_json::{Value, json};

/// The fixtures, and who listens for changes that they pretend.
pub struct Fixtures {
    seal: RequestStateCodec,
    listeners: Mutex<HashMap<u64, SubscriptionSink>>,
    next: AtomicU64,
}

/// A list that is said to have changed.
#[derive(Clone, Copy)]
enum Changed {
    Tools,
    Prompts,
}

impl Fixtures {
    /// Fixtures that seal what clients carry for them.
    pub fn new(seal: RequestStateCodec) -> Fixtures {
        Fixtures { seal, listeners: Mutex::default(), next: AtomicU64::new(0) }
    }

    /// What a server with fixtures can do.
    pub fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .build();
        capabilities.logging = Some(JsonObject::new());
        capabilities
    }

    /// All tools.
    pub fn tools(&self) -> Vec<Tool> {
        let all = content::TOOLS.iter().chain(asking::TOOLS).chain(rounds::TOOLS).chain(TOOLS);
        all.map(|(name, about)| Tool::new(*name, *about, Arc::new(schema(name)))).collect()
    }

    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    /// Calls a tool.
    pub async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if rounds::TOOLS.iter().any(|(name, _)| *name == request.name) {
            return rounds::call(&self.seal, &request, &context);
        }
        if asking::TOOLS.iter().any(|(name, _)| *name == request.name) {
            return asking::call(&request, &context).await;
        }
        match request.name.as_ref() {
            "test_trigger_tool_change" => Ok(self.announce(Changed::Tools).await),
            "test_trigger_prompt_change" => Ok(self.announce(Changed::Prompts).await),
            name => content::call(name, &request, &context).await,
        }
    }

    /// All resources with an address of their own.
    pub fn resources(&self) -> Vec<Resource> {
        content::resources()
    }

    /// All resources whose address has a blank.
    pub fn templates(&self) -> Vec<ResourceTemplate> {
        content::templates()
    }

    /// Reads a resource of the fixtures.
    pub fn read(&self, uri: &str) -> Option<ReadResourceResult> {
        content::read(uri)
    }

    /// All prompts.
    pub fn prompts(&self) -> Vec<Prompt> {
        prompts::list()
    }

    /// One prompt.
    pub fn prompt(&self, request: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(request)
    }

    /// What could stand for an argument.
    pub fn complete(&self, request: &CompleteRequestParams) -> CompleteResult {
        prompts::complete(request)
    }

    /// Keeps a listener until it goes.
    pub async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.listening().insert(number, context.sink().clone());
        context.cancelled().await;
        self.listening().remove(&number);
        Ok(())
    }

    fn listening(&self) -> std::sync::MutexGuard<'_, HashMap<u64, SubscriptionSink>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn announce(&self, changed: Changed) -> CallToolResponse {
        let listeners: Vec<SubscriptionSink> = self.listening().values().cloned().collect();
        for listener in listeners {
            // A listener that is gone, or did not ask for this list, hears nothing.
            match changed {
                Changed::Tools => listener.notify_tool_list_changed().await.ok(),
                Changed::Prompts => listener.notify_prompt_list_changed().await.ok(),
            };
        }
        said("The change was announced")
    }
}

const TOOLS: &[(&str, &str)] = &[
    ("test_trigger_tool_change", "Say that the list of tools has changed"),
    ("test_trigger_prompt_change", "Say that the list of prompts has changed"),
];

/// A result of one text.
fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text.into())]).into()
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// What a tool takes.
fn schema(tool: &str) -> JsonObject {
    let one =
        |name: &str, field: Value| json!({"type": "object", "properties": {name: field}, "required": [name]});
    object(match tool {
        "test_sampling" => one("prompt", json!({"type": "string", "description": "What the model is asked"})),
        "test_elicitation" => {
            one("message", json!({"type": "string", "description": "What the user is asked"}))
        }
        "test_custom_header" => one("value", json!({"type": "string", "x-mcp-header": "Value"})),
        "json_schema_2020_12_tool" => content::rich_schema(),
        _ => json!({"type": "object", "properties": {}}),
    })
}
