//! `obsidian_open_in_ui`: a note on the user's screen. Where no app can be reached, the address under which Obsidian opens
//! it is given instead, and the answer says that nothing was opened.

use std::sync::Arc;
use std::time::Duration;

use pipeline::plan::Leaves;
use pipeline::{Action, Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;

use super::app::{App, Page, TARGET, Tab};
use super::rooted::Rooted;
use super::target::find;

/// How long the app may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Open a note in Obsidian on the user's screen; without the app you get its `obsidian://` address.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Path of the note.
    path: Rooted<VaultPath>,
    /// Refuse a missing note; else the app creates it.
    #[serde(default = "yes")]
    fail_if_missing: bool,
    /// In a new tab.
    #[serde(default)]
    new_leaf: bool,
}

fn yes() -> bool {
    true
}

/// The tool.
#[derive(Default)]
pub struct OpenInUi(pub App);

impl Tool for OpenInUi {
    const SPEC: Spec = Spec::new("obsidian_open_in_ui", Group::Read, Effect::Acts);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let (path, is_there) = match find(view, &input.path.0) {
            Ok(path) => (path, true),
            Err(refusal) if refusal.reason == "note_missing" && !input.fail_if_missing => {
                check_write(view, &input.path.0)?;
                (input.path.0, false)
            }
            Err(refusal) => return Err(refusal),
        };
        let uri = self.address(&path, is_there, input.new_leaf);
        let Some(link) = &self.0.link else { return Ok(Plan::Answer(not_opened(&path, is_there, &uri))) };
        let link = Arc::clone(link);
        let tab = if input.new_leaf { Tab::New } else { Tab::Current };
        let summary = format!("open {path} in Obsidian");
        Ok(Plan::Act(Action::new(summary, TARGET, Leaves::Nothing, PATIENCE, move || async move {
            let page = Page { path: path.clone(), uri: uri.clone(), tab };
            if !link.open(page).await? {
                return Ok(not_opened(&path, is_there, &uri));
            }
            let made = if is_there { "" } else { "; it was not there, so Obsidian makes it" };
            let data = json!({ "path": path, "opened": true, "createdIfMissing": !is_there, "uri": uri });
            Ok(Output::new(format!("opened `{path}` in Obsidian{made}"), data))
        })))
    }
}

impl OpenInUi {
    fn address(&self, path: &VaultPath, is_there: bool, new_leaf: bool) -> String {
        let action = if is_there { "open" } else { "new" };
        let vault =
            self.0.vault.as_deref().map(|name| format!("vault={}&", encoded(name))).unwrap_or_default();
        let tab = if new_leaf { "&paneType=tab" } else { "" };
        format!("obsidian://{action}?{vault}file={}{tab}", encoded(path.as_str()))
    }
}

fn not_opened(path: &VaultPath, is_there: bool, uri: &str) -> Output {
    let text = match is_there {
        true => format!("not opened: no app is connected. To see `{path}`, follow {uri}"),
        false => format!("there is no `{path}`. Nothing was created or opened; {uri} does both"),
    };
    Output::new(text, json!({ "path": path, "opened": false, "createdIfMissing": false, "uri": uri }))
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
            OpenInUi::default(),
            vault,
            json!({"path": "/F/übung 1.md", "newLeaf": true}),
            expect![
                "not opened: no app is connected. To see `F/Übung 1.md`, follow obsidian://open?file=F%2F%C3%9Cbung%201.md&paneType=tab"
            ],
        );
        expect![[r#"{"path":"F/Übung 1.md","opened":false,"createdIfMissing":false,"uri":"obsidian://open?file=F%2F%C3%9Cbung%201.md"}"#]].assert_eq(&data(OpenInUi::default(), vault, json!({"path": "F/Übung 1.md"})).to_string());
        check(
            OpenInUi::default(),
            vault,
            json!({"path": "F/", "failIfMissing": false}),
            expect!["refused: path_is_directory: `F` is a folder. list the folder and name one of its files"],
        );
        check(
            OpenInUi::default(),
            vault,
            json!({"path": "new.md"}),
            expect![
                "refused: note_missing: there is no `new.md` in the vault. list the folder or search for the name"
            ],
        );
        check(
            OpenInUi::default(),
            vault,
            json!({"path": "new.md", "failIfMissing": false}),
            expect![
                "there is no `new.md`. Nothing was created or opened; obsidian://new?file=new.md does both"
            ],
        );
        check(
            OpenInUi::default(),
            vault,
            json!({"path": ".obsidian/x.md", "failIfMissing": false}),
            expect![
                "refused: path_forbidden: `.obsidian/x.md` may not be created. writable: the whole vault, except hidden, ignored and protected paths"
            ],
        );
    }
}
