//! OpenAI's Responses. Nothing is stored at the provider: the whole conversation goes with every request, thoughts as
//! the provider encrypted them.

mod read;

use serde_json::{Value, json};

use super::openai::{cache_key, choice, effort_word, plain};
use super::wire::{Target, as_object, data_url};
use super::{Message, Part, Request, Role};
pub(super) use read::Reading;

/// The mark of what goes back to this dialect only.
pub(super) const DIALECT: &str = "responses";

/// What the request says.
pub(super) fn body(target: &Target<'_>, request: &Request) -> Value {
    let input: Vec<Value> = request.messages.iter().flat_map(items).collect();
    let mut body = json!({
        "model": target.model,
        "input": input,
        "stream": target.provider.streams(),
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    let system: Vec<&str> =
        request.system.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    if !system.is_empty() {
        body["instructions"] = system.join("\n\n").into();
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(request);
        body["tool_choice"] = choice(request.choice).into();
    }
    if let Some(tokens) = request.max_tokens {
        body["max_output_tokens"] = tokens.into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = plain(temperature);
    }
    if let Some(share) = request.top_p {
        body["top_p"] = plain(share);
    }
    if let Some(word) = effort_word(request.effort) {
        body["reasoning"] = json!({"effort": word, "summary": "auto"});
    }
    if !request.conversation.id.is_empty() {
        body["prompt_cache_key"] = cache_key(&request.conversation.id);
    }
    body
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &super::ToolSpec| {
        json!({
            "type": "function", "name": tool.name, "description": tool.description,
            "parameters": tool.schema, "strict": false,
        })
    };
    request.tools.iter().map(tool).collect()
}

/// A message as items: calls, their answers and thoughts stand beside what is said.
fn items(message: &Message) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text { text } if text.is_empty() => {}
            Part::Text { text } if message.role == Role::User => {
                speak(&mut items, "user", json!({"type": "input_text", "text": text}));
            }
            Part::Text { text } => {
                speak(&mut items, "assistant", json!({"type": "output_text", "text": text}))
            }
            Part::Image { media_type, base64 } => {
                let url = data_url(media_type, base64);
                speak(&mut items, "user", json!({"type": "input_image", "image_url": url}));
            }
            Part::Thinking { proof: Some(proof), .. } if proof.dialect == DIALECT => {
                items.push(proof.value.clone());
            }
            Part::Thinking { .. } => {}
            Part::Call { call } => items.push(json!({
                "type": "function_call", "call_id": call.id, "name": call.name,
                "arguments": as_object(&call.input).to_string(),
            })),
            Part::Result { id, text, .. } => {
                items.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
            }
        }
    }
    items
}

fn speak(items: &mut Vec<Value>, role: &str, part: Value) {
    match items.last_mut().filter(|item| item["role"] == role) {
        Some(item) => {
            if let Some(content) = item["content"].as_array_mut() {
                content.push(part);
            }
        }
        None => items.push(json!({"type": "message", "role": role, "content": [part]})),
    }
}
