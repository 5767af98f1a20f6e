//! `obsidian_open_in_ui`: the address under which Obsidian opens a note. Nothing is opened from here: whoever has a
//! screen follows the address. Without the vault's name in it, Obsidian takes the vault that was open last.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;

use super::rooted::Rooted;
use super::target::find;

/// Get the `obsidian://` address of a note for the user to follow. It is not opened from here.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Path of the note.
    path: Rooted<VaultPath>,
    /// Refuse a missing note; otherwise the address creates it.
    #[serde(default = "yes")]
    fail_if_missing: bool,
    /// Open it in a new tab.
    #[serde(default)]
    new_leaf: bool,
}

fn yes() -> bool {
    true
}

/// The tool.
pub struct OpenInUi;

impl Tool for OpenInUi {
    const SPEC: Spec = Spec::new("obsidian_open_in_ui", Group::Read, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let (path, action) = match find(view, &input.path.0) {
            Ok(path) => (path, "open"),
            Err(refusal) if refusal.reason == "note_missing" && !input.fail_if_missing => {
                check_write(view, &input.path.0)?;
                (input.path.0, "new")
            }
            Err(refusal) => return Err(refusal),
        };
        let tab = if input.new_leaf { "&paneType=tab" } else { "" };
        let uri = format!("obsidian://{action}?file={}{tab}", encoded(path.as_str()));
        let text = match action {
            "open" => format!("not opened: no app is connected. To see `{path}`, follow {uri}"),
            _ => format!("there is no `{path}`. Nothing was created or opened; {uri} does both"),
        };
        let data = json!({ "path": path, "opened": false, "createdIfMissing": false, "uri": uri });
        Ok(Plan::Answer(Output::new(text, data)))
    }
}

/// An address that creates a note is given out only where this agent may write.
fn check_write(view: &View<'_>, path: &VaultPath) -> Result<(), Refusal> {
    view.scope().check_write(path).map_err(|denial| {
        let hint = format!("writable: {}", view.scope().writable().join(", "));
        Refusal::new("path_forbidden", format!("`{path}` may not be created"), hint)
            .with("path", path)
            .with("op", "write")
            .with("subreason", denial.subreason())
    })
}

/// Percent-encoded, all but letters, digits and `-._~`.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn the_address_of_a_note_is_given_and_nothing_is_opened() {
        let vault = "F/Übung 1.md: x";
        check(
            OpenInUi,
            vault,
            json!({"path": "/F/übung 1.md", "newLeaf": true}),
            expect![
                "not opened: no app is connected. To see `F/Übung 1.md`, follow obsidian://open?file=F%2F%C3%9Cbung%201.md&paneType=tab"
            ],
        );
        expect![[r#"{"path":"F/Übung 1.md","opened":false,"createdIfMissing":false,"uri":"obsidian://open?file=F%2F%C3%9Cbung%201.md"}"#]].assert_eq(&data(OpenInUi, vault, json!({"path": "F/Übung 1.md"})).to_string());
        check(
            OpenInUi,
            vault,
            json!({"path": "F/", "failIfMissing": false}),
            expect!["refused: path_is_directory: `F` is a folder. list the folder and name one of its files"],
        );
        check(
            OpenInUi,
            vault,
            json!({"path": "new.md"}),
            expect![
                "refused: note_missing: there is no `new.md` in the vault. list the folder or search for the name"
            ],
        );
        check(
            OpenInUi,
            vault,
            json!({"path": "new.md", "failIfMissing": false}),
            expect![
                "there is no `new.md`. Nothing was created or opened; obsidian://new?file=new.md does both"
            ],
        );
        check(
            OpenInUi,
            vault,
            json!({"path": ".obsidian/x.md", "failIfMissing": false}),
            expect![
                "refused: path_forbidden: `.obsidian/x.md` may not be created. writable: the whole vault, except hidden, ignored and protected paths"
            ],
        );
    }
}
