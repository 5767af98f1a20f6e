//! What a server rejects of a request is left out, and the request is sent once more.
//!
//! Servers that speak one dialect differ in what they know: a model that reasons takes no temperature, an older server no
//! `stream_options`. What was learnt is kept with the model. Deliberately not here: what a request cannot do without.

use serde_json::{Value, json};

/// How a request is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Without this.
    Without(&'static str),
    /// This, under the other name.
    Renamed(&'static str, &'static str),
    /// At most this many tokens.
    AtMost(u64),
    /// Anthropic's older way to ask for thoughts.
    OlderThinking,
}

/// What may be left out, the likelier culprit first where a message names two.
const OPTIONAL: [&str; 14] = [
    "eager_input_streaming",
    "cache_control",
    "stream_options",
    "prompt_cache_key",
    "top_p",
    "temperature",
    "stop",
    "stop_sequences",
    "reasoning_effort",
    "reasoning",
    "include",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
];

/// Those of them that are ordinary words: they count only where they are quoted or stand before a colon or a dot.
const ORDINARY: [&str; 3] = ["stop", "reasoning", "include"];

/// The fields in which the dialects ask for thoughts; servers name the thing and not the field.
const THOUGHTS: [&str; 3] = ["thinkingConfig", "think", "thinking"];

/// Words of a server that does not know something or will not have it.
const REJECTIONS: [&str; 15] = [
    "unsupported",
    "not supported",
    "not support",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra inputs",
    "extra fields",
    "not permitted",
    "not allowed",
    "only be set",
    "cannot both",
    "must be verified",
    "deprecated",
    "only the default",
];

/// What to change after this answer to this request.
pub(super) fn asked(status: u16, answer: &[u8], sent: &Value) -> Option<Change> {
    if !matches!(status, 400 | 422) {
        return None;
    }
    let text = String::from_utf8_lossy(answer);
    let low = text.to_lowercase();
    if let Some(most) = most_tokens(&low).filter(|_| sent.get("max_tokens").is_some()) {
        return Some(Change::AtMost(most));
    }
    let adaptive = sent.pointer("/thinking/type").and_then(Value::as_str) == Some("adaptive");
    if adaptive && ["adaptive", "output_config", "effort"].iter().any(|word| low.contains(word)) {
        return Some(Change::OlderThinking);
    }
    if !REJECTIONS.iter().any(|word| low.contains(word)) {
        return None;
    }
    let named = OPTIONAL.iter().find(|name| holds(sent, name) && mentions(&text, name));
    let thoughts = || THOUGHTS.iter().find(|name| holds(sent, name) && low.contains("think"));
    let name = named.or_else(thoughts).copied()?;
    Some(match name {
        "max_tokens" if mentions(&text, "max_completion_tokens") => {
            Change::Renamed("max_tokens", "max_completion_tokens")
        }
        "max_completion_tokens" => Change::Renamed("max_completion_tokens", "max_tokens"),
        other => Change::Without(other),
    })
}

/// Changes a request.
pub(super) fn apply(change: &Change, body: &mut Value) {
    match change {
        Change::Without(name) => remove(body, name),
        Change::Renamed(from, to) => {
            if let Some(fields) = body.as_object_mut()
                && let Some(value) = fields.shift_remove(*from)
            {
                fields.insert((*to).to_owned(), value);
            }
        }
        Change::AtMost(most) => {
            if let Some(tokens) = body.get_mut("max_tokens") {
                *tokens = json!(tokens.as_u64().unwrap_or(*most).min(*most));
            }
        }
        Change::OlderThinking => older_thinking(body),
    }
}

/// How many tokens this much effort may think, for models that want a number.
pub(super) fn thinking_tokens(effort: &str) -> u64 {
    match effort {
        "low" => 2_048,
        "medium" => 8_192,
        _ => 16_384,
    }
}

fn older_thinking(body: &mut Value) {
    if body.pointer("/thinking/type").and_then(Value::as_str) != Some("adaptive") {
        return;
    }
    // Whoever did not think before its last call may not begin to think after it.
    if called_without_thinking(body) {
        remove(body, "output_config");
        return remove(body, "thinking");
    }
    let budget =
        thinking_tokens(body.pointer("/output_config/effort").and_then(Value::as_str).unwrap_or("low"));
    let tokens = body.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
    body["max_tokens"] = json!(tokens + budget);
    remove(body, "output_config");
}

fn called_without_thinking(body: &Value) -> bool {
    let mut messages = body["messages"].as_array().into_iter().flatten().rev();
    let last = messages.find(|message| message["role"] == "assistant");
    let blocks = last.and_then(|message| message["content"].as_array());
    blocks.is_some_and(|blocks| {
        let kind = |block: &Value| block["type"].as_str().unwrap_or_default().to_owned();
        blocks.iter().any(|block| kind(block) == "tool_use")
            && !blocks.first().is_some_and(|block| kind(block).ends_with("thinking"))
    })
}

/// Anthropic: "max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens".
fn most_tokens(low: &str) -> Option<u64> {
    let (before, _) = low.split_once(", which is the maximum allowed number of output tokens")?;
    before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Whether a text names a field as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        let alone = !before.is_some_and(part) && !after.is_some_and(part);
        let marked = before.is_some_and(|letter| "\"'`.".contains(letter))
            || after.is_some_and(|letter| ":.".contains(letter));
        alone && (marked || !ORDINARY.contains(&name))
    })
}

fn holds(value: &Value, name: &str) -> bool {
    match name {
        "cache_control" | "eager_input_streaming" | "thinkingConfig" => match value {
            Value::Object(fields) => {
                fields.contains_key(name) || fields.values().any(|value| holds(value, name))
            }
            Value::Array(items) => items.iter().any(|item| holds(item, name)),
            _ => false,
        },
        _ => {
            value.get(name).is_some()
                || value.pointer("/options").is_some_and(|options| options.get(name).is_some())
        }
    }
}

fn remove(value: &mut Value, name: &str) {
    match name {
        "cache_control" | "eager_input_streaming" | "thinkingConfig" => match value {
            Value::Object(fields) => {
                fields.shift_remove(name);
                fields.values_mut().for_each(|value| remove(value, name));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| remove(item, name)),
            _ => {}
        },
        _ => {
            if let Some(fields) = value.as_object_mut() {
                fields.shift_remove(name);
            }
            if let Some(options) = value.get_mut("options").and_then(Value::as_object_mut) {
                options.shift_remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_rejects_is_left_out() {
        let sent = json!({
            "model": "m", "messages": [{"role": "user", "content": [{"text": "x", "cache_control": {}}]}],
            "temperature": 0.2, "top_p": 0.5, "max_tokens": 20_000, "stream_options": {}, "tools": [{"eager_input_streaming": true}],
        });
        let message = |text: &str| json!({"error": {"message": text}}).to_string();
        for (text, change) in [
            (
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
                Some(Change::Without("temperature")),
            ),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some(Change::Renamed("max_tokens", "max_completion_tokens")),
            ),
            (
                "`temperature` and `top_p` cannot both be specified for this model.",
                Some(Change::Without("top_p")),
            ),
            (
                "tools.0.custom.eager_input_streaming: Extra inputs are not permitted",
                Some(Change::Without("eager_input_streaming")),
            ),
            ("messages.0.content.0.cache_control: unknown field", Some(Change::Without("cache_control"))),
            (
                "max_tokens: 20000 > 8192, which is the maximum allowed number of output tokens for m",
                Some(Change::AtMost(8_192)),
            ),
            ("unknown field stream_options", Some(Change::Without("stream_options"))),
            ("unknown model m", None),
            ("unsupported content: this stop was unexpected", None),
            ("unsupported: frequency_penalty", None),
            ("temperature must be between 0 and 2", None),
        ] {
            assert_eq!(asked(400, message(text).as_bytes(), &sent), change, "{text}");
        }
        for (sent, text, name) in [
            (json!({"think": true}), "\"m\" does not support thinking", "think"),
            (
                json!({"generationConfig": {"thinkingConfig": {}}}),
                "Thinking level is not supported for this model.",
                "thinkingConfig",
            ),
            (
                json!({"thinking": {"type": "disabled"}}),
                "thinking: Extra inputs are not permitted",
                "thinking",
            ),
            (
                json!({"stop": ["x"]}),
                "Unsupported parameter: 'stop' is not supported with this model.",
                "stop",
            ),
            (
                json!({"reasoning": {}}),
                "Unsupported parameter: 'reasoning.effort' is not supported",
                "reasoning",
            ),
        ] {
            assert_eq!(asked(400, message(text).as_bytes(), &sent), Some(Change::Without(name)), "{text}");
        }
        let kept = json!({"store": false});
        assert_eq!(
            asked(400, message("unknown parameter: 'store'").as_bytes(), &kept),
            None,
            "nothing is stored for want of a word"
        );
        assert_eq!(asked(500, message("unsupported temperature").as_bytes(), &sent), None);
    }

    #[test]
    fn a_change_touches_nothing_else() {
        let mut body = json!({"a": 1, "max_tokens": 9, "temperature": 1, "options": {"temperature": 2, "num_ctx": 3}, "tools": [{"cache_control": 1, "name": "t"}]});
        apply(&Change::Without("temperature"), &mut body);
        apply(&Change::Without("cache_control"), &mut body);
        apply(&Change::Renamed("max_tokens", "max_completion_tokens"), &mut body);
        apply(&Change::OlderThinking, &mut body);
        assert_eq!(
            body,
            json!({"a": 1, "options": {"num_ctx": 3}, "tools": [{"name": "t"}], "max_completion_tokens": 9})
        );
        let mut body =
            json!({"max_tokens": 100, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}});
        assert_eq!(
            asked(400, b"adaptive thinking is not supported on this model", &body),
            Some(Change::OlderThinking)
        );
        apply(&Change::OlderThinking, &mut body);
        assert_eq!(
            body,
            json!({"max_tokens": 2_148, "thinking": {"type": "enabled", "budget_tokens": 2_048}})
        );
        let messages = json!([{"role": "assistant", "content": [{"type": "tool_use"}]}, {"role": "user", "content": []}]);
        let mut body = json!({"max_tokens": 100, "messages": messages, "thinking": {"type": "adaptive"}, "output_config": {}});
        apply(&Change::OlderThinking, &mut body);
        assert_eq!(
            body,
            json!({"max_tokens": 100, "messages": messages}),
            "another model made the call, without a thought"
        );
    }
}
