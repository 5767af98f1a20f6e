//! A call that a model wrote as text instead of making it. It is recognised and reported, never carried out.

use serde_json::Value;

use super::ToolSpec;

/// The name of the tool that this text calls in words: JSON in a fence, between `<tool_call>` tags, or as the whole text.
/// Only names of tools that were offered count, so that an answer about JSON is no call.
pub fn leaked_call(text: &str, tools: &[ToolSpec]) -> Option<String> {
    candidates(text).into_iter().find_map(|piece| named(piece, tools))
}

fn candidates(text: &str) -> Vec<&str> {
    let mut found = vec![text];
    found.extend(text.split("```").skip(1).step_by(2));
    for (open, close) in [("<tool_call>", "</tool_call>"), ("<function_call>", "</function_call>")] {
        found.extend(text.split(open).skip(1).map(|rest| rest.split(close).next().unwrap_or(rest)));
    }
    found.extend(text.split("[TOOL_CALLS]").skip(1));
    found
}

fn named(piece: &str, tools: &[ToolSpec]) -> Option<String> {
    // The word behind a fence names its language.
    let start = piece.find(['{', '['])?;
    if piece[..start].trim().contains(char::is_whitespace) {
        return None;
    }
    let value = serde_json::Deserializer::from_str(&piece[start..]).into_iter::<Value>().next()?.ok()?;
    let call = match &value {
        Value::Array(calls) => calls.first()?,
        other => other,
    };
    let call = call.get("function").filter(|inner| inner.is_object()).unwrap_or(call);
    let name = ["name", "tool", "tool_name"].iter().find_map(|field| call.get(field)?.as_str())?;
    let has_input =
        ["arguments", "parameters", "input", "args"].iter().any(|field| call.get(field).is_some());
    (has_input && tools.iter().any(|tool| tool.name == name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_in_words_is_recognised_and_other_json_is_not() {
        let tool = ToolSpec { name: "read_file".into(), description: String::new(), schema: json!({}) };
        for text in [
            "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"A.md\"}}\n```",
            "I will read it.\n```\n{\"name\": \"read_file\", \"parameters\": {}}\n```\nDone.",
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>{\"name\": \"read_file\", \"arguments\": {}}",
            "{\"name\": \"read_file\", \"arguments\": \"{}\"}",
            "{\"type\": \"function\", \"function\": {\"name\": \"read_file\", \"arguments\": {}}}",
            "[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {}}]",
        ] {
            assert_eq!(
                leaked_call(text, std::slice::from_ref(&tool)).as_deref(),
                Some("read_file"),
                "{text}"
            );
        }
        for text in [
            "",
            "```json\n{\"name\": \"Anna\", \"arguments\": {}}\n```",
            "```json\n{\"name\": \"read_file\"}\n```",
            "Use `read_file` with {\"name\": \"read_file\", \"arguments\": {}} if you like.",
            "```json\n{\"name\": \"read_file\", \"arg",
            "``` ```json",
        ] {
            assert_eq!(leaked_call(text, std::slice::from_ref(&tool)), None, "{text}");
        }
        assert_eq!(leaked_call("{\"name\": \"read_file\", \"arguments\": {}}", &[]), None);
    }
}
