//! One conversation, as it is said in every dialect.

use std::path::Path;
use std::sync::Arc;

use expect_test::expect_file;
use llm::chat::{CallInput, Effort, Message, Part, Proof, Request, Role, ToolCall, ToolSpec};
use llm::{Dialect, ProviderSettings};
use serde_json::{Value, json};

use super::rig::{Server, ask, limits, model, reply, settings};

fn proof(dialect: &str, value: Value) -> Option<Proof> {
    Some(Proof { dialect: dialect.to_owned(), value })
}

fn call(id: &str, input: CallInput, proof: Option<Proof>) -> Part {
    Part::Call { call: ToolCall { id: id.into(), name: "read_file".into(), input, proof } }
}

fn thought(text: &str, proof: Option<Proof>) -> Part {
    Part::Thinking { text: text.into(), proof }
}

fn result(id: &str, text: &str, failed: bool) -> Part {
    Part::Result { id: id.into(), name: "read_file".into(), text: text.into(), failed }
}

/// System, tools, a picture, thoughts of every provider, two calls (one broken), two results.
pub fn conversation() -> Request {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="});
    let details = json!({"model": "anthropic/claude-garden", "details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}]});
    let messages = vec![
        Message {
            role: Role::User,
            parts: vec![
                Part::Text { text: "What is this?".into() },
                Part::Image { media_type: "image/png".into(), base64: "iVBORw==".into() },
            ],
        },
        Message {
            role: Role::Assistant,
            parts: vec![
                thought("claude", proof("anthropic", json!({"signature": "c2ln"}))),
                thought("", proof("anthropic", json!({"redacted": "cmVk"}))),
                thought("gpt", proof("responses", reasoning)),
                thought("router", proof("openrouter", details)),
                thought("plain", proof("openai", json!({"field": "reasoning_content"}))),
                thought("qwen", proof("ollama", json!(true))),
                thought("nobody's", None),
                Part::Text { text: "An apple. I look it up.".into() },
                thought("", proof("gemini", json!({"on": "text", "signature": "Z2Vt"}))),
                call(
                    "call/1",
                    CallInput::Object(json!({"path": "A.md"})),
                    proof("gemini", json!({"on": "call", "signature": "Z2Vt"})),
                ),
                call("call/2", CallInput::Broken("{\"path\": ".into()), None),
            ],
        },
        Message {
            role: Role::User,
            parts: vec![result("call/1", "# Apples", false), result("call/2", "not JSON", true)],
        },
    ];
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    };
    let mut request = Request::new(messages);
    request.system = vec!["You look after notes.".into(), "Today is Sunday.".into()];
    request.tools = Arc::from([tool("read_file"), tool("list_files")]);
    request.max_tokens = Some(1_000);
    request.temperature = Some(0.7);
    request.stop = vec!["END".into()];
    request.conversation.id = "c1".into();
    request
}

async fn sent(name: &str, settings: ProviderSettings, request: Request) -> (String, Value) {
    let server = Server::start(|_, seen| match seen.path.as_str() {
        "/api/show" => reply(200, &[], r#"{"model_info":{"q.context_length":100000}}"#),
        _ => reply(401, &[], "{}"),
    })
    .await;
    let settings = ProviderSettings {
        url: Some(server.url.clone() + settings.url.as_deref().unwrap_or("")),
        ..settings
    };
    ask(model(name, settings, limits()).as_ref(), request).await;
    let seen = server.seen().pop().unwrap();
    (seen.path, seen.body)
}

/// Compares a request with the file of this name in `fixtures/llm/requests`.
async fn check(name: &str, dialect: Option<Dialect>, file: &str) {
    let settings = ProviderSettings { dialect, ..ProviderSettings::default() };
    let (path, body) = sent(name, settings, conversation()).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/llm/requests");
    let text = format!("POST {path}\n{}\n", serde_json::to_string_pretty(&body).unwrap());
    expect_file![folder.join(file)].assert_eq(&text);
}

#[tokio::test]
async fn one_conversation_is_said_in_every_dialect() {
    check("azure@gpt-garden", None, "azure.txt").await;
    check("mine@deep-garden", Some(Dialect::OpenAi), "compatible.txt").await;
    check("openrouter@anthropic/claude-garden", None, "openrouter.txt").await;
    check("openai@gpt-garden", Some(Dialect::Responses), "responses.txt").await;
    check("anthropic@claude-garden", None, "anthropic.txt").await;
    check("gemini@gemini-3-garden", None, "gemini.txt").await;
    check("ollama@qwen-garden", None, "ollama.txt").await;
}

#[tokio::test]
async fn every_provider_has_its_address() {
    let at = |url: &str| ProviderSettings { url: Some(url.to_owned()), ..ProviderSettings::default() };
    let version = |url: &str| ProviderSettings { api_version: Some("2024-10-21".into()), ..at(url) };
    let spoken = |dialect, url: &str| ProviderSettings { dialect: Some(dialect), ..at(url) };
    for (name, settings, path) in [
        ("openai@m", at(""), "/v1/chat/completions"),
        ("openai@m", at("/v1/"), "/v1/chat/completions"),
        ("openai@m", at("/proxy/v1/chat/completions"), "/proxy/v1/chat/completions"),
        ("openrouter@a/b", at(""), "/api/v1/chat/completions"),
        ("openrouter@a/b", at("/api/v1"), "/api/v1/chat/completions"),
        ("lmstudio@m", at(""), "/v1/chat/completions"),
        ("zai@glm", at(""), "/api/paas/v4/chat/completions"),
        ("zai@glm", at("/api/paas/v4"), "/api/paas/v4/chat/completions"),
        ("zai@glm", at("/api/anthropic"), "/api/anthropic/v1/messages"),
        ("anthropic@m", at(""), "/v1/messages"),
        ("anthropic@m", at("/v1"), "/v1/messages"),
        ("azure@dep", at(""), "/openai/v1/chat/completions"),
        ("azure@dep", version(""), "/openai/deployments/dep/chat/completions?api-version=2024-10-21"),
        ("azure@../x", version(""), "/openai/deployments/..%2Fx/chat/completions?api-version=2024-10-21"),
        ("gemini@m", at(""), "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini@models/m", at("/v1beta"), "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("gemini@m", ProviderSettings { stream: Some(false), ..at("") }, "/v1beta/models/m:generateContent"),
        ("ollama@m", at(""), "/api/chat"),
        ("ollama@m", at("/v1"), "/api/chat"),
        ("mine@m", spoken(Dialect::Responses, ""), "/v1/responses"),
        ("azure@m", spoken(Dialect::Responses, ""), "/openai/v1/responses"),
        (
            "azure@m",
            ProviderSettings { dialect: Some(Dialect::Responses), ..version("") },
            "/openai/responses?api-version=2024-10-21",
        ),
    ] {
        assert_eq!(sent(name, settings, conversation()).await.0, path, "{name}");
    }
}

#[tokio::test]
async fn effort_is_asked_for_in_every_dialect() {
    for (name, dialect, effort, place, value) in [
        ("openai@m", None, Effort::Low, "/reasoning_effort", json!("low")),
        ("openai@m", Some(Dialect::Responses), Effort::High, "/reasoning/effort", json!("high")),
        ("openrouter@m", None, Effort::Medium, "/reasoning", json!({"effort": "medium"})),
        ("openrouter@m", None, Effort::None, "/reasoning", json!({"enabled": false})),
        ("zai@m", None, Effort::None, "/thinking/type", json!("disabled")),
        ("anthropic@m", None, Effort::High, "/thinking/type", json!("adaptive")),
        ("anthropic@m", None, Effort::High, "/output_config/effort", json!("high")),
        ("anthropic@m", None, Effort::None, "/thinking/type", json!("disabled")),
        (
            "gemini@gemini-2.5-pro",
            None,
            Effort::Low,
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(2_048),
        ),
        (
            "gemini@gemini-3-pro",
            None,
            Effort::Low,
            "/generationConfig/thinkingConfig/thinkingLevel",
            json!("LOW"),
        ),
        ("ollama@m", None, Effort::High, "/think", json!(true)),
        ("ollama@gpt-oss:20b", None, Effort::High, "/think", json!("high")),
    ] {
        let mut request = conversation();
        request.effort = effort;
        let (_, body) =
            sent(name, ProviderSettings { dialect, ..ProviderSettings::default() }, request).await;
        assert_eq!(body.pointer(place), Some(&value), "{name} {effort:?}: {body}");
        let free = dialect.is_some() || !name.starts_with("anthropic") || effort == Effort::None;
        assert!(free || body.get("temperature").is_none(), "a model that thinks takes no temperature");
    }
}

#[tokio::test]
async fn without_streaming_the_body_says_so() {
    for (name, dialect) in [
        ("openai@m", None),
        ("openai@m", Some(Dialect::Responses)),
        ("anthropic@m", None),
        ("ollama@m", None),
    ] {
        let settings = ProviderSettings { stream: Some(false), dialect, ..settings("", None) };
        let (_, body) = sent(name, settings, conversation()).await;
        assert_eq!(body["stream"], false, "{name}");
        assert!(body.get("stream_options").is_none(), "{name}");
        assert!(!body.to_string().contains("eager_input_streaming"), "{name}");
    }
}
