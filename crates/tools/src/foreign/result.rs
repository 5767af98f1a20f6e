//! What a foreign tool gave back, as an answer from outside: text bounded, pictures and files named, not carried.

use pipeline::Output;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ResourceContents, Tool};
use serde_json::{Value, json};

/// The most characters of one result that are kept; the rest is counted.
const MOST: usize = 200_000;
/// The most characters of structured data that are kept.
const MOST_DATA: usize = 100_000;
/// The most pieces of one result that are named one by one.
const PIECES: usize = 200;
/// The most characters of one tool's description or schema that are shown.
const MOST_SHOWN: usize = 8_000;

/// The result of a call.
pub fn output(server: &str, tool: &str, result: CallToolResult) -> Output {
    let failed = result.is_error == Some(true);
    let mut texts = Vec::new();
    if failed {
        texts.push("[the tool reports an error]".to_owned());
    }
    let count = result.content.len();
    texts.extend(result.content.iter().take(PIECES).map(piece));
    if count > PIECES {
        texts.push(format!("[{} more pieces left out]", count - PIECES));
    }
    if texts.len() == usize::from(failed)
        && let Some(data) = &result.structured_content
    {
        texts.push(data.to_string());
    }
    if texts.is_empty() {
        texts.push("[the tool gave back nothing]".to_owned());
    }
    let structured = result.structured_content.filter(|data| data.to_string().len() <= MOST_DATA);
    let data = json!({ "server": server, "tool": tool, "isError": failed, "structured": structured });
    from(server, tool, bounded(&texts.join("\n"), MOST), data)
}

/// An error that the server answered with instead of a result.
pub fn error(server: &str, tool: &str, error: &ErrorData) -> Output {
    let text = format!("[the server answers with error {}] {}", error.code.0, error.message);
    let data = json!({ "server": server, "tool": tool, "isError": true, "code": error.code.0 });
    from(server, tool, bounded(&text, 4_000), data)
}

/// One tool with all that it says of itself.
pub fn described(server: &str, tool: &Tool) -> Output {
    let schema = serde_json::to_string_pretty(&*tool.input_schema).unwrap_or_default();
    let text = format!(
        "{}\n\n{}\n\ninput schema:\n{}",
        tool.name,
        bounded(tool.description.as_deref().unwrap_or("(no description)"), MOST_SHOWN),
        bounded(&schema, MOST_SHOWN),
    );
    let schema = (schema.len() <= MOST_DATA).then(|| Value::Object((*tool.input_schema).clone()));
    from(server, &tool.name, text, json!({ "server": server, "tool": tool.name, "inputSchema": schema }))
}

/// All tools of a server, a line each.
pub fn listed(server: &str, tools: &[&Tool]) -> Output {
    let line = |tool: &&Tool| {
        let first = tool.description.as_deref().unwrap_or("").lines().next().unwrap_or("");
        let short: String = first.chars().take(200).collect();
        if short.is_empty() { format!("{}\n", tool.name) } else { format!("{}: {short}\n", tool.name) }
    };
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).take(1_000).collect();
    let count = if tools.len() == 1 { "1 tool".to_owned() } else { format!("{} tools", tools.len()) };
    let text = format!("{count}\n{}", tools.iter().map(line).collect::<String>());
    from(server, "tools", bounded(text.trim_end(), 40_000), json!({ "server": server, "tools": names }))
}

fn from(server: &str, tool: &str, text: String, data: Value) -> Output {
    let name: String = format!("mcp {server}/{tool}").chars().take(200).collect();
    Output::new(text, data).from_outside(name)
}

fn piece(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            format!("[image {}, {} bytes]", word(&image.mime_type), bytes(&image.data))
        }
        ContentBlock::Audio(audio) => {
            format!("[audio {}, {} bytes]", word(&audio.mime_type), bytes(&audio.data))
        }
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {}]\n{text}", word(uri))
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[resource {}, {} bytes]", word(uri), bytes(blob))
            }
            _ => "[a resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[link {} {}]", word(&link.name), word(&link.uri)),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// How many bytes a base64 text stands for.
fn bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn word(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

fn bounded(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let rest = text[end..].chars().count();
            format!("{}\n[{rest} more characters left out]", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn result(value: Value) -> Output {
        output("s", "t", serde_json::from_value(value).unwrap())
    }

    #[test]
    fn every_kind_of_content_is_told_and_pictures_are_only_named() {
        let output = result(json!({"isError": true, "content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": "QUJDREVG", "mimeType": "image/png"},
            {"type": "audio", "data": "QUI=", "mimeType": "audio/wav\n"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "a://c", "blob": "QUJD"}},
            {"type": "resource_link", "uri": "a://d", "name": "d"},
        ]}));
        expect![[r#"
            [the tool reports an error]
            hello
            [image image/png, 6 bytes]
            [audio audio/wav, 2 bytes]
            [resource a://b]
            inside
            [resource a://c, 3 bytes]
            [link d a://d]"#]]
        .assert_eq(&output.text);
        assert!(matches!(output.source, Some(pipeline::plan::Source::Outside(name)) if name == "mcp s/t"));
    }

    #[test]
    fn a_huge_result_is_cut_and_the_rest_is_counted() {
        let output = result(json!({"content": [{"type": "text", "text": "é".repeat(MOST + 5)}]}));
        assert!(output.text.ends_with("\n[5 more characters left out]"));
        let many: Vec<Value> = (0..PIECES + 3).map(|_| json!({"type": "text", "text": "x"})).collect();
        assert!(result(json!({"content": many})).text.ends_with("[3 more pieces left out]"));
        let big = result(json!({"content": [], "structuredContent": {"a": "x".repeat(MOST_DATA)}}));
        assert_eq!(big.data["structured"], Value::Null);
        assert_eq!(result(json!({"content": []})).text, "[the tool gave back nothing]");
    }
}
