//! Google's `generateContent`. A signature belongs to the part on which it came and goes back on it.

mod read;

use serde_json::{Value, json};

use super::adjust::thinking_tokens;
use super::openai::{effort_word, plain};
use super::wire::{Target, as_object};
use super::{Effort, Message, Part, Request, Role, ToolChoice};
use crate::http::Base;
pub(super) use read::Reading;

/// The mark of what goes back to this dialect only.
pub(super) const DIALECT: &str = "gemini";
/// What the service takes for the signature of a call that another provider's model made.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Where requests go. The key is in a header, never here.
pub(super) fn address(target: &Target<'_>) -> Base {
    let verb = if target.provider.streams() { "streamGenerateContent" } else { "generateContent" };
    let model = target.model.strip_prefix("models/").unwrap_or(target.model);
    let (folder, model) = model.split_once('/').unwrap_or(("models", model));
    let address = target.provider.base.at("/v1beta", "").piece(folder).piece(&format!("{model}:{verb}"));
    if target.provider.streams() { address.with("alt", "sse") } else { address }
}

/// What the request says.
pub(super) fn body(target: &Target<'_>, request: &Request) -> Value {
    let mut body = json!({"contents": contents(target.model, request)});
    let system: Vec<Value> =
        request.system.iter().filter(|part| !part.is_empty()).map(|part| json!({"text": part})).collect();
    if !system.is_empty() {
        body["systemInstruction"] = json!({"parts": system});
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(request);
        let mode = match request.choice {
            ToolChoice::Auto => "AUTO",
            ToolChoice::None => "NONE",
            ToolChoice::Required => "ANY",
        };
        body["toolConfig"] = json!({"functionCallingConfig": {"mode": mode}});
    }
    let config = config(target.model, request);
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        body["generationConfig"] = config;
    }
    body
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &super::ToolSpec| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema});
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    json!([{"functionDeclarations": tools}])
}

fn config(model: &str, request: &Request) -> Value {
    let mut config = json!({});
    if let Some(temperature) = request.temperature {
        config["temperature"] = plain(temperature);
    }
    if let Some(share) = request.top_p {
        config["topP"] = plain(share);
    }
    if let Some(tokens) = request.max_tokens {
        config["maxOutputTokens"] = tokens.into();
    }
    if !request.stop.is_empty() {
        config["stopSequences"] = json!(request.stop);
    }
    let Some(word) = effort_word(request.effort) else { return config };
    // The second generation is told a number of tokens, later ones a level.
    let second = model.contains("gemini-2");
    let none = request.effort == Effort::None;
    config["thinkingConfig"] = match (second, none) {
        (true, true) => json!({"thinkingBudget": 0}),
        (true, false) => json!({"includeThoughts": true, "thinkingBudget": thinking_tokens(word)}),
        (false, true) => json!({"thinkingLevel": "MINIMAL"}),
        (false, false) => json!({"includeThoughts": true, "thinkingLevel": word.to_uppercase()}),
    };
    config
}

fn contents(model: &str, request: &Request) -> Vec<Value> {
    let mut contents: Vec<Value> = Vec::new();
    for message in &request.messages {
        let role = if message.role == Role::User { "user" } else { "model" };
        let parts = parts(model, message);
        match contents.last_mut().filter(|last| last["role"] == role) {
            _ if parts.is_empty() => {}
            Some(last) => {
                if let Some(all) = last["parts"].as_array_mut() {
                    all.extend(parts);
                }
            }
            None => contents.push(json!({"role": role, "parts": parts})),
        }
    }
    contents
}

fn parts(model: &str, message: &Message) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text { text } if text.is_empty() => {}
            Part::Text { text } => parts.push(json!({"text": text})),
            Part::Image { media_type, base64 } => {
                parts.push(json!({"inlineData": {"mimeType": media_type, "data": base64}}));
            }
            Part::Thinking { text, proof: Some(proof) } if proof.dialect == DIALECT => {
                signed(&mut parts, text, &proof.value);
            }
            Part::Thinking { .. } => {}
            Part::Call { call } => {
                let function = json!({"id": call.id, "name": call.name, "args": as_object(&call.input)});
                let mut part = json!({"functionCall": function});
                if let Some(proof) = call.proof.as_ref().filter(|proof| proof.dialect == DIALECT) {
                    part["thoughtSignature"] = proof.value["signature"].clone();
                }
                parts.push(part);
            }
            Part::Result { id, name, text, failed } => {
                let field = if *failed { "error" } else { "result" };
                let function = json!({"id": id, "name": name, "response": {field: text}});
                parts.push(json!({"functionResponse": function}));
            }
        }
    }
    let first_call = parts.iter_mut().find(|part| part.get("functionCall").is_some());
    if let Some(call) = first_call
        && call.get("thoughtSignature").is_none()
        && !model.contains("gemini-2")
        && !model.contains("gemini-1")
    {
        call["thoughtSignature"] = json!(NO_SIGNATURE);
    }
    parts
}

/// Puts a signature back where it was: on the text before it, on the thought itself, or on an empty part.
fn signed(parts: &mut Vec<Value>, text: &str, proof: &Value) {
    let signature = &proof["signature"];
    let before =
        parts.last_mut().filter(|part| part.get("text").is_some() && part.get("thoughtSignature").is_none());
    match (proof["on"].as_str(), before) {
        (Some("text"), Some(part)) => part["thoughtSignature"] = signature.clone(),
        (Some("thought"), _) => {
            parts.push(json!({"text": text, "thought": true, "thoughtSignature": signature}));
        }
        _ => parts.push(json!({"text": "", "thoughtSignature": signature})),
    }
}
