//! OpenAI's Chat Completions, and what the many servers that speak it do in their own way: OpenRouter, Azure, LM Studio,
//! llama.cpp, vLLM, Z.ai.

mod read;

use serde_json::{Value, json};

use super::wire::{Target, as_object, data_url, work_begins};
use super::{Effort, Message, Part, Proof, Request, Role, ToolChoice};
use crate::http::Base;
use crate::models::Flavour;
pub(super) use read::Reading;

/// The mark of thoughts that came in a field of their own.
pub(super) const DIALECT: &str = "openai";
/// The mark of thoughts as OpenRouter writes them.
pub(super) const OPENROUTER: &str = "openrouter";

/// Where requests of this kind go.
pub(super) fn address(target: &Target<'_>, path: &str) -> Base {
    let base = &target.provider.base;
    let root = root(target.provider.flavour);
    match (&target.provider.settings.api_version, target.provider.flavour) {
        (Some(version), Flavour::Azure) if path == "responses" => {
            base.at("/openai", path).with("api-version", version)
        }
        (Some(version), Flavour::Azure) => {
            let deployment = base.at("/openai", "deployments").piece(target.model);
            deployment.at("", path).with("api-version", version)
        }
        _ => base.at(root, path),
    }
}

/// The path of an address that has none.
pub(crate) fn root(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::OpenRouter => "/api/v1",
        Flavour::Zai => "/api/paas/v4",
        Flavour::Azure => "/openai/v1",
        _ => "/v1",
    }
}

/// What the request says.
pub(super) fn body(target: &Target<'_>, request: &Request) -> Value {
    let flavour = target.provider.flavour;
    let stream = target.provider.streams();
    let mut body = json!({"model": target.model, "messages": messages(target, request), "stream": stream});
    if stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(request);
        body["tool_choice"] = choice(request.choice).into();
    }
    if let Some(tokens) = request.max_tokens {
        let name = if is_openai(flavour) { "max_completion_tokens" } else { "max_tokens" };
        body[name] = tokens.into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = plain(temperature);
    }
    if let Some(share) = request.top_p {
        body["top_p"] = plain(share);
    }
    if !request.stop.is_empty() {
        body["stop"] = json!(request.stop);
    }
    effort(flavour, request.effort, &mut body);
    if is_openai(flavour) && !request.conversation.id.is_empty() {
        body["prompt_cache_key"] = cache_key(&request.conversation.id);
    }
    if flavour == Flavour::OpenRouter {
        body["usage"] = json!({"include": true});
    }
    body
}

/// The word for a choice.
pub(super) fn choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
    }
}

/// A number as a person would write it: 0.7, not 0.699999988079071.
pub(super) fn plain(number: f32) -> Value {
    json!(number.to_string().parse::<f64>().unwrap_or_else(|_| f64::from(number)))
}

/// The name under which a provider keeps a prompt; it may not be long.
pub(super) fn cache_key(id: &str) -> Value {
    if id.len() <= 64 { json!(id) } else { json!(blake3::hash(id.as_bytes()).to_hex().as_str()) }
}

/// The word for an effort; `None` for the model's own way.
pub(super) fn effort_word(effort: Effort) -> Option<&'static str> {
    match effort {
        Effort::Usual => None,
        Effort::None => Some("none"),
        Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
    }
}

fn is_openai(flavour: Flavour) -> bool {
    matches!(flavour, Flavour::OpenAi | Flavour::Azure)
}

fn effort(flavour: Flavour, effort: Effort, body: &mut Value) {
    let Some(word) = effort_word(effort) else { return };
    match flavour {
        Flavour::OpenRouter if effort == Effort::None => body["reasoning"] = json!({"enabled": false}),
        Flavour::OpenRouter => body["reasoning"] = json!({"effort": word}),
        Flavour::Zai => {
            let kind = if effort == Effort::None { "disabled" } else { "enabled" };
            body["thinking"] = json!({"type": kind});
        }
        _ => body["reasoning_effort"] = word.into(),
    }
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &super::ToolSpec| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.schema,
        }})
    };
    request.tools.iter().map(tool).collect()
}

fn messages(target: &Target<'_>, request: &Request) -> Vec<Value> {
    // Claude keeps prompts only where it is told to, also behind OpenRouter.
    let marks = target.provider.flavour == Flavour::OpenRouter && target.model.contains("claude");
    let mut messages = Vec::new();
    let system: Vec<&String> = request.system.iter().filter(|part| !part.is_empty()).collect();
    if !system.is_empty() {
        let text = system.iter().map(|part| part.as_str()).collect::<Vec<_>>().join("\n\n");
        let mut parts: Vec<Value> = system.iter().map(|part| json!({"type": "text", "text": part})).collect();
        parts[0]["cache_control"] = json!({"type": "ephemeral"});
        messages.push(json!({"role": "system", "content": if marks { json!(parts) } else { json!(text) }}));
    }
    let begin = work_begins(&request.messages);
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.extend(assistant(target, message, at >= begin)),
        }
    }
    if marks && let Some(last) = messages.last_mut() {
        mark(last);
    }
    messages
}

/// Tells the provider to keep everything up to the end of this message.
fn mark(message: &mut Value) {
    if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    if let Some(part) = message["content"].as_array_mut().and_then(|parts| parts.last_mut()) {
        part["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// What tools answered comes first, each as a message of its own.
fn user(message: &Message, messages: &mut Vec<Value>) {
    let mut parts = Vec::new();
    let mut pictures = false;
    for part in &message.parts {
        match part {
            Part::Result { id, text, .. } => {
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
            }
            Part::Text { text } => parts.push(json!({"type": "text", "text": text})),
            Part::Image { media_type, base64 } => {
                pictures = true;
                let url = data_url(media_type, base64);
                parts.push(json!({"type": "image_url", "image_url": {"url": url}}));
            }
            Part::Thinking { .. } | Part::Call { .. } => {}
        }
    }
    if pictures {
        messages.push(json!({"role": "user", "content": parts}));
    } else if !parts.is_empty() {
        messages.push(json!({"role": "user", "content": message.text()}));
    }
}

fn assistant(target: &Target<'_>, message: &Message, at_work: bool) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message
        .calls()
        .map(|call| {
            let arguments = as_object(&call.input).to_string();
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut said =
        json!({"role": "assistant", "content": if text.is_empty() { Value::Null } else { json!(text) }});
    if !calls.is_empty() {
        said["tool_calls"] = json!(calls);
    }
    thoughts(target, message, at_work, &mut said);
    Some(said)
}

/// Thoughts go back to whom they came from: OpenRouter's always, plain ones while the work goes on.
fn thoughts(target: &Target<'_>, message: &Message, at_work: bool, said: &mut Value) {
    let mut details = Vec::new();
    let mut plain = String::new();
    let mut field = None;
    for part in &message.parts {
        let Part::Thinking { text, proof: Some(Proof { dialect, value }) } = part else { continue };
        match (dialect.as_str(), target.provider.flavour) {
            (OPENROUTER, Flavour::OpenRouter) if value["model"] == target.model => {
                details.extend(value["details"].as_array().cloned().unwrap_or_default());
            }
            (DIALECT, flavour) if at_work && !is_openai(flavour) => {
                field = value["field"].as_str().map(str::to_owned);
                plain.push_str(text);
            }
            _ => {}
        }
    }
    if !details.is_empty() {
        said["reasoning_details"] = json!(details);
    } else if let Some(field) = field.filter(|_| !plain.is_empty()) {
        said[field] = json!(plain);
    }
}
