//! How a call ended, as a tool result: text for the model, data for programs, and errors in the form that clients of
//! the well-known Obsidian server read.

use pipeline::{Outcome, Output, Refusal, Task, wrap};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData, JsonObject, MetaObject};
use serde_json::{Value, json};

/// Where the checkpoint of a change stands in a result's `_meta`.
const CHECKPOINT: &str = "verger/checkpoint";

/// How much of an answer's text is given at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// The first page; `read_result` has the rest.
    Pages,
    /// All of it, for surfaces without `read_result`.
    Whole,
}

/// The result of a call. An unknown tool is the one mistake that MCP wants told as an error of the protocol.
pub fn result(
    outcome: Outcome,
    task: &Task,
    tool: &str,
    paging: Paging,
) -> Result<CallToolResult, ErrorData> {
    match outcome {
        Outcome::Answered(output) | Outcome::Steered(_, output) => Ok(success(output, task, paging)),
        Outcome::Done { output, checkpoint, .. } => {
            let mut result = success(output, task, paging);
            result.meta = checkpoint.map(meta);
            Ok(result)
        }
        Outcome::Shown { summary, changes, would_say } => {
            let text = format!("Would: {summary}\n{}", vault::change::diff_all(&changes));
            let paths: Vec<_> = changes.iter().map(|change| change.path()).collect();
            // What the tool would say, so that the answer has the shape that was announced.
            let mut data = would_say.data;
            if !data.is_object() {
                data = json!({});
            }
            data["dryRun"] = json!(true);
            data["summary"] = json!(summary);
            data["paths"] = json!(paths);
            // The diff shows what stands in the notes.
            Ok(success(Output::of(text, data).from_vault("dry run"), task, paging))
        }
        Outcome::Refused(refusal) if refusal.reason == "tool_unknown" => {
            Err(ErrorData::invalid_params(format!("Unknown tool: {tool}. {}", refusal.hint), None))
        }
        Outcome::Refused(refusal) | Outcome::Denied(refusal) => Ok(failure(&refusal, tool)),
    }
}

fn success(output: Output, task: &Task, paging: Paging) -> CallToolResult {
    let text = wrap::for_model(&output);
    let text = match paging {
        Paging::Pages => task.results.present(&text),
        Paging::Whole => text,
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(output.data).filter(Value::is_object);
    result
}

fn meta(checkpoint: String) -> MetaObject {
    let mut meta = JsonObject::new();
    meta.insert(CHECKPOINT.to_owned(), Value::String(checkpoint));
    MetaObject(meta)
}

fn failure(refusal: &Refusal, tool: &str) -> CallToolResult {
    if refusal.reason == "input_invalid" {
        let text = format!(
            "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {}; {}",
            refusal.message, refusal.hint
        );
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    }
    let text = format!("Error: {}\n\nRecovery: {}", refusal.message, refusal.hint);
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(
        json!({"error": {"code": code(&refusal.reason), "message": refusal.message, "data": data(refusal)}}),
    );
    result
}

/// A refusal as an error of the protocol, for requests that are no tool calls.
pub fn error(refusal: &Refusal) -> ErrorData {
    let message = format!("{}. {}", refusal.message, refusal.hint);
    match refusal.reason.as_ref() {
        // The SDK knows what each revision of the protocol says here.
        "note_missing" => ErrorData::resource_not_found(message, Some(data(refusal))),
        reason => ErrorData::new(ErrorCode(code(reason)), message, Some(data(refusal))),
    }
}

fn data(refusal: &Refusal) -> Value {
    let mut data = json!({"reason": refusal.reason, "recovery": {"hint": refusal.hint}});
    for (key, value) in refusal.data.iter().filter(|(key, _)| !["reason", "recovery"].contains(&key.as_str()))
    {
        data[key] = value.clone();
    }
    data
}

/// The number that clients know for a reason. What is not named is a mistake in the input.
fn code(reason: &str) -> i32 {
    match reason {
        "note_missing"
        | "no_active_file"
        | "periodic_not_found"
        | "section_missing"
        | "command_unknown"
        | "template_missing"
        | "checkpoint_missing"
        | "checkpoint_file_missing"
        | "task_missing"
        | "result_missing"
        | "grant_missing" => NOT_FOUND,
        "ambiguous_path"
        | "ambiguous_section"
        | "file_exists"
        | "stale"
        | "folder_not_empty"
        | "version_mismatch"
        | "key_exists"
        | "block_id_taken"
        | "checkpoint_ambiguous"
        | "checkpoint_exists"
        | "checkpoint_undone"
        | "restore_conflict" => CONFLICT,
        "timeout" => TIMEOUT,
        "path_forbidden" | "checkpoint_forbidden" | "denied" | "not_permitted" => FORBIDDEN,
        "settings_invalid" => CONFIGURATION,
        "omnisearch_unreachable" | "app_unreachable" => UNAVAILABLE,
        "app_unauthorized" => UNAUTHORIZED,
        "cancelled" | "repeated_call" | "repeated_search" | "tool_deferred" => INVALID_REQUEST,
        "cursor_invalid" => INVALID_PARAMS,
        "io" | "internal" | "store_damaged" | "audit_unavailable" | "grants_unreadable"
        | "plan_not_allowed" => INTERNAL,
        _ => VALIDATION,
    }
}

const UNAVAILABLE: i32 = -32000;
const NOT_FOUND: i32 = -32001;
const CONFLICT: i32 = -32002;
const TIMEOUT: i32 = -32004;
const FORBIDDEN: i32 = -32005;
const UNAUTHORIZED: i32 = -32006;
const VALIDATION: i32 = -32007;
const CONFIGURATION: i32 = -32008;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(refusal: Refusal, expected: &Value) {
        let result = failure(&refusal, "obsidian_get_note");
        assert_eq!(serde_json::to_value(result).unwrap(), *expected);
    }

    #[test]
    fn a_refusal_has_the_envelope_that_clients_read() {
        check(
            Refusal::new("note_missing", "there is no `a.md`", "list the folder").with("path", "a.md"),
            &json!({
                "resultType": "complete",
                "content": [{"type": "text", "text": "Error: there is no `a.md`\n\nRecovery: list the folder"}],
                "structuredContent": {"error": {
                    "code": -32001,
                    "message": "there is no `a.md`",
                    "data": {"reason": "note_missing", "recovery": {"hint": "list the folder"}, "path": "a.md"},
                }},
                "isError": true,
            }),
        );
        check(
            Refusal::new("input_invalid", "no", "the fields are path"),
            &json!({
                "resultType": "complete",
                "content": [{"type": "text", "text": "MCP error -32602: Input validation error: Invalid arguments for \
                    tool obsidian_get_note: no; the fields are path"}],
                "isError": true,
            }),
        );
    }

    #[test]
    fn reasons_have_the_codes_of_the_specification() {
        for (reason, expected) in [
            ("path_forbidden", -32005),
            ("path_traversal", -32007),
            ("path_is_directory", -32007),
            ("note_missing", -32001),
            ("ambiguous_path", -32002),
            ("section_target_missing", -32007),
            ("file_exists", -32002),
            ("regex_invalid", -32007),
            ("cancelled", -32600),
            ("command_unknown", -32001),
            ("some_new_reason", -32007),
        ] {
            assert_eq!(code(reason), expected, "{reason}");
        }
    }
}
