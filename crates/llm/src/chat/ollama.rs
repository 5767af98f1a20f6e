//! Ollama's own `/api/chat`: one line of JSON for each piece, calls whole.

mod read;

use std::time::Duration;

use serde_json::{Value, json};

use super::openai::{effort_word, plain};
use super::wire::{Target, as_object, work_begins};
use super::{Effort, Message, Part, Request, Role, ToolChoice};
use crate::http::Patience;
use crate::models::Provider;
pub(super) use read::Reading;

/// The mark of what goes back to this dialect only.
pub(super) const DIALECT: &str = "ollama";
/// Tokens for which room is made if nobody says: enough for work with notes, and not yet too much for a small machine.
const ROOM: u64 = 32_768;

/// Tokens for which to make room: what the person says, else what the model can hold up to a sensible size.
pub(super) fn room(wanted: Option<u64>, most: Option<u64>) -> u64 {
    wanted.unwrap_or_else(|| most.map_or(ROOM, |most| most.clamp(1, ROOM)))
}

/// How many tokens the model can hold, if Ollama tells it soon.
pub(super) async fn shown_window(provider: &Provider, model: &str) -> Option<u64> {
    let patience = Patience { tries: 1, limit: Duration::from_secs(3), pause: Duration::ZERO };
    let body = json!({ "model": model });
    let shown = provider.http.post(&provider.base.at("", "api/show"), &body, patience).await.ok()?;
    let info = shown.get("model_info")?.as_object()?;
    info.iter().find(|(name, _)| name.ends_with(".context_length"))?.1.as_u64()
}

/// What the request says.
pub(super) fn body(target: &Target<'_>, request: &Request) -> Value {
    let mut options = json!({"num_ctx": target.window});
    if let Some(tokens) = request.max_tokens {
        options["num_predict"] = tokens.into();
    }
    if let Some(temperature) = request.temperature {
        options["temperature"] = plain(temperature);
    }
    if let Some(share) = request.top_p {
        options["top_p"] = plain(share);
    }
    if !request.stop.is_empty() {
        options["stop"] = json!(request.stop);
    }
    let mut body = json!({
        "model": target.model,
        "messages": messages(request),
        "stream": target.provider.streams(),
        "options": options,
    });
    // It knows no way to list tools and forbid them.
    if !request.tools.is_empty() && request.choice != ToolChoice::None {
        body["tools"] = tools(request);
    }
    match request.effort {
        Effort::Usual => {}
        Effort::None => body["think"] = json!(false),
        // Only some models know levels; all that think know yes and no.
        effort if target.model.starts_with("gpt-oss") => body["think"] = json!(effort_word(effort)),
        _ => body["think"] = json!(true),
    }
    body
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &super::ToolSpec| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.schema,
        }})
    };
    request.tools.iter().map(tool).collect()
}

fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::new();
    let system: Vec<&str> =
        request.system.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    let begin = work_begins(&request.messages);
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.push(assistant(message, at >= begin)),
        }
    }
    messages
}

fn user(message: &Message, messages: &mut Vec<Value>) {
    let mut pictures = Vec::new();
    for part in &message.parts {
        match part {
            Part::Result { id, name, text, .. } => {
                messages.push(json!({"role": "tool", "tool_name": name, "tool_call_id": id, "content": text}))
            }
            Part::Image { base64, .. } => pictures.push(base64.clone()),
            Part::Text { .. } | Part::Thinking { .. } | Part::Call { .. } => {}
        }
    }
    let text = message.text();
    if text.is_empty() && pictures.is_empty() {
        return;
    }
    let mut said = json!({"role": "user", "content": text});
    if !pictures.is_empty() {
        said["images"] = json!(pictures);
    }
    messages.push(said);
}

fn assistant(message: &Message, at_work: bool) -> Value {
    let mut said = json!({"role": "assistant", "content": message.text()});
    let thought: String = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, proof: Some(proof) } if proof.dialect == DIALECT => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if at_work && !thought.is_empty() {
        said["thinking"] = json!(thought);
    }
    let calls: Vec<Value> = message
        .calls()
        .map(|call| json!({"id": call.id, "function": {"name": call.name, "arguments": as_object(&call.input)}}))
        .collect();
    if !calls.is_empty() {
        said["tool_calls"] = json!(calls);
    }
    said
}
