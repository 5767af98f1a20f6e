//! Anthropic's Messages.

mod read;

use serde_json::{Value, json};

use super::openai::{effort_word, plain};
use super::wire::{Target, as_object};
use super::{Effort, Message, Part, Request, Role, ToolChoice};
use crate::http::Base;
use crate::models::{Flavour, Provider};
pub(super) use read::Reading;

/// The mark of what goes back to this dialect only.
pub(super) const DIALECT: &str = "anthropic";
/// This dialect demands a largest number of tokens; a model that allows less says so and is asked again.
const MAX_TOKENS: u64 = 16_384;

/// Where requests go.
pub(crate) fn address(provider: &Provider, path: &str) -> Base {
    let base = &provider.base;
    match base.path() {
        own if own.ends_with("/v1") => base.at("", path),
        _ => base.at("", "v1").at("", path),
    }
}

/// What the request says.
pub(super) fn body(target: &Target<'_>, request: &Request) -> Value {
    let mut messages = messages(request);
    mark_last(&mut messages);
    let mut body = json!({
        "model": target.model,
        "max_tokens": request.max_tokens.map_or(MAX_TOKENS, u64::from),
        "messages": messages,
        "stream": target.provider.streams(),
    });
    if let Some(system) = system(request) {
        body["system"] = system;
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(target, request);
        match request.choice {
            ToolChoice::Auto => {}
            ToolChoice::None => body["tool_choice"] = json!({"type": "none"}),
            ToolChoice::Required => body["tool_choice"] = json!({"type": "any"}),
        }
    }
    if !request.stop.is_empty() {
        body["stop_sequences"] = json!(request.stop);
    }
    // Thoughts and a forced call, or thoughts and a temperature, do not go together.
    if thinks(request) {
        body["thinking"] = json!({"type": "adaptive"});
        body["output_config"] = json!({"effort": effort_word(request.effort)});
        return body;
    }
    if request.effort == Effort::None {
        body["thinking"] = json!({"type": "disabled"});
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = plain(temperature.min(1.0));
    }
    if let Some(share) = request.top_p {
        body["top_p"] = plain(share);
    }
    body
}

fn thinks(request: &Request) -> bool {
    matches!(request.effort, Effort::Low | Effort::Medium | Effort::High)
        && request.choice != ToolChoice::Required
}

fn keep() -> Value {
    json!({"type": "ephemeral"})
}

fn system(request: &Request) -> Option<Value> {
    let parts = request.system.iter().filter(|part| !part.trim().is_empty());
    let mut parts: Vec<Value> = parts.map(|part| json!({"type": "text", "text": part})).collect();
    parts.first_mut()?["cache_control"] = keep();
    Some(json!(parts))
}

fn tools(target: &Target<'_>, request: &Request) -> Value {
    let eager = target.provider.flavour == Flavour::Anthropic && target.provider.streams();
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            let mut tool =
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
            if eager {
                tool["eager_input_streaming"] = json!(true);
            }
            tool
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last["cache_control"] = keep();
    }
    json!(tools)
}

fn messages(request: &Request) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let last = request.messages.len().saturating_sub(1);
    for (at, message) in request.messages.iter().enumerate() {
        let role = if message.role == Role::User { "user" } else { "assistant" };
        let blocks = blocks(message, at == last);
        // A message that holds nothing for this dialect is none; two of one side are one.
        match messages.last_mut().filter(|last| last["role"] == role) {
            _ if blocks.is_empty() => {}
            Some(before) => {
                if let Some(all) = before["content"].as_array_mut() {
                    all.extend(blocks);
                    all.sort_by_key(|block| role == "user" && block["type"] != "tool_result");
                }
            }
            None => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    messages
}

/// What tools answered comes first. Text of blanks only is refused by the service.
fn blocks(message: &Message, is_last: bool) -> Vec<Value> {
    let mut blocks = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } if is_last && message.role == Role::Assistant => {
                blocks.push(json!({"type": "text", "text": text.trim_end()}));
            }
            Part::Text { text } => blocks.push(json!({"type": "text", "text": text})),
            Part::Image { media_type, base64 } => {
                let source = json!({"type": "base64", "media_type": media_type, "data": base64});
                blocks.push(json!({"type": "image", "source": source}));
            }
            Part::Thinking { text, proof: Some(proof) } if proof.dialect == DIALECT => {
                blocks.push(match proof.value.get("redacted") {
                    Some(data) => json!({"type": "redacted_thinking", "data": data}),
                    None => json!({"type": "thinking", "thinking": text, "signature": proof.value["signature"]}),
                });
            }
            Part::Thinking { .. } => {}
            Part::Call { call } => blocks.push(json!({
                "type": "tool_use", "id": allowed(&call.id), "name": call.name, "input": as_object(&call.input),
            })),
            Part::Result { id, text, failed, .. } => {
                let mut block = json!({"type": "tool_result", "tool_use_id": allowed(id), "content": text});
                if *failed {
                    block["is_error"] = json!(true);
                }
                blocks.push(block);
            }
        }
    }
    if message.role == Role::User {
        blocks.sort_by_key(|block| block["type"] != "tool_result");
    }
    blocks
}

/// The service takes no other letters in an id, and other providers use them.
fn allowed(id: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() || "_-".contains(letter) { letter } else { '_' };
    id.chars().map(letter).collect()
}

/// Everything up to here is kept for the next request.
fn mark_last(messages: &mut [Value]) {
    let blocks = messages.last_mut().and_then(|message| message["content"].as_array_mut());
    let markable =
        |block: &&mut Value| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    if let Some(block) = blocks.and_then(|blocks| blocks.iter_mut().rev().find(markable)) {
        block["cache_control"] = keep();
    }
}
