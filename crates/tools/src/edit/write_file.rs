//! `write_file`: a whole file, new or in place of what is there.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;

use super::rewrite::Original;

/// Write a whole text file: a new one with the folders on the way, or in place of all that is there. To change a part of
/// a note use edit_file, append_to_file or update_frontmatter, which leave the rest alone. Not for Office files, drawio
/// and Excalidraw drawings; a `.canvas` must be valid JSON.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path inside the vault with its extension, e.g. `Projects/Plan.md`.
    path: VaultPath,
    /// The whole new text.
    content: String,
    /// The version that you read; the write is refused if the file has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// The tool.
pub struct WriteFile;

impl Tool for WriteFile {
    const SPEC: Spec = Spec::new("write_file", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        refuse_formats(&input.path)?;
        let original = Original::read_if_any(view, input.path, input.if_match.as_deref())?;
        original.becomes(input.content, "wrote", json!({}))
    }
}

/// Formats that are not the text one sees: text written there makes a file that its program cannot open.
pub(crate) fn refuse_formats(path: &VaultPath) -> Result<(), Refusal> {
    const OFFICE: [&str; 3] = [".pptx", ".docx", ".xlsx"];
    const DRAWINGS: [&str; 5] = [".drawio", ".drawio.svg", ".drawio.png", ".excalidraw", ".excalidraw.md"];
    let name = path.name().to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let (what, instead) = if ends(&OFFICE) {
        ("an Office file, which is not text", "write a Markdown note instead")
    } else if ends(&DRAWINGS) {
        (
            "a drawing, which only its own program writes",
            "draw a `.canvas` instead, or a Mermaid block in a note",
        )
    } else {
        return Ok(());
    };
    Err(Refusal::new("format_unsupported", format!("`{path}` would be {what}"), instead).with("path", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn a_new_file_is_created_with_its_folders() {
        check(
            WriteFile,
            "a.md: x",
            json!({"path": "New/b.md", "content": "# B\n"}),
            expect![[r#"
            wrote `New/b.md`: +1 -0 lines, 0 -> 4 bytes, version cc26037499ea0012
            + New/b.md (0 -> 4 bytes)
            +# B
        "#]],
        );
    }

    #[test]
    fn an_existing_file_is_overwritten() {
        check(
            WriteFile,
            "a.md: one\ntwo\n",
            json!({"path": "a.md", "content": "one\n2\n"}),
            expect![[r#"
            wrote `a.md`: +1 -1 lines, 8 -> 6 bytes, version 9a71a42e3e7be47f
            ~ a.md (8 -> 6 bytes)
             one
            -two
            +2
        "#]],
        );
    }

    #[test]
    fn the_same_text_changes_nothing() {
        check(
            WriteFile,
            "a.md: x",
            json!({"path": "a.md", "content": "x"}),
            expect!["nothing to change in `a.md`"],
        );
    }

    #[test]
    fn formats_that_are_not_text_are_refused() {
        check(
            WriteFile,
            "",
            json!({"path": "a.Docx", "content": "x"}),
            expect![
                "refused: format_unsupported: `a.Docx` would be an Office file, which is not text. write a Markdown note instead"
            ],
        );
        check(
            WriteFile,
            "",
            json!({"path": "a.excalidraw.md", "content": "x"}),
            expect![
                "refused: format_unsupported: `a.excalidraw.md` would be a drawing, which only its own program writes. draw a `.canvas` instead, or a Mermaid block in a note"
            ],
        );
    }

    #[test]
    fn a_canvas_must_be_a_canvas() {
        check(
            WriteFile,
            "",
            json!({"path": "a.canvas", "content": "{\"nodes\": ["}),
            expect![[
                r#"refused: canvas_invalid: `a.canvas` would not be a canvas: it must be a JSON object with `nodes` and `edges`. give the whole file as JSON, e.g. {"nodes":[],"edges":[]}"#
            ]],
        );
        check(
            WriteFile,
            "",
            json!({"path": "a.canvas", "content": "{\"nodes\": {}}"}),
            expect![[
                r#"refused: canvas_invalid: `a.canvas` would not be a canvas: it must be a JSON object with `nodes` and `edges`. give the whole file as JSON, e.g. {"nodes":[],"edges":[]}"#
            ]],
        );
        check(
            WriteFile,
            "",
            json!({"path": "a.canvas", "content": "{\"nodes\": []}"}),
            expect![[r#"
            wrote `a.canvas`: +1 -0 lines, 0 -> 13 bytes, version d9e0944a28399ab5
            + a.canvas (0 -> 13 bytes)
            +{"nodes": []}
        "#]],
        );
    }

    #[test]
    fn a_write_on_an_old_version_is_refused_with_the_current_one() {
        check(
            WriteFile,
            "a.md: x",
            json!({"path": "a.md", "content": "y", "ifMatch": "0000"}),
            expect![
                "refused: version_mismatch: `a.md` is at version 3ae7d805f6789a64, not 0000: it was changed meanwhile. read it again and repeat the edit on the new text"
            ],
        );
        check(
            WriteFile,
            "",
            json!({"path": "a.md", "content": "y", "ifMatch": "0000"}),
            expect![
                "refused: version_mismatch: `a.md` is not there, so it has no version 0000. leave out ifMatch to create it"
            ],
        );
    }

    #[test]
    fn a_folder_and_a_file_on_the_way_are_refused() {
        check(
            WriteFile,
            "F/a.md: x",
            json!({"path": "F", "content": "y"}),
            expect!["refused: path_is_directory: `F` is a folder. list the folder and name one of its files"],
        );
        check(
            WriteFile,
            "a.md: x",
            json!({"path": "a.md/b.md", "content": "y"}),
            expect![
                "refused: path_is_file: `a.md` is not a folder. name a folder, or use the file's own path"
            ],
        );
    }

    #[test]
    fn settings_and_rule_files_are_not_written() {
        for path in [".obsidian/app.json", ".vergerignore", "../x.md"] {
            check_refused(path);
        }
    }

    #[track_caller]
    fn check_refused(path: &str) {
        let registry = pipeline::Registry::default();
        registry.add(WriteFile);
        let rig = pipeline::testing::Rig::new(".obsidian/app.json: {}", registry);
        let outcome =
            rig.call("write_file", json!({"path": path, "content": "x"}), &pipeline::approve::Beforehand);
        let reason = outcome.refusal().map(|refusal| refusal.reason.to_string()).unwrap_or_default();
        assert!(["path_forbidden", "path_traversal"].contains(&reason.as_str()), "{path}: {outcome:?}");
    }
}
