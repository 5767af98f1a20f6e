//! `read_file`: the text of a file, any part of it.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::note::outline::version;
use vault::{Error, VaultPath};

use crate::window::window;

/// The tool.
pub struct ReadFile;

/// Read a text file of the vault. Long files come in parts; the answer says how to get the rest. A path that differs
/// only in case or lacks its folder or `.md` is found if it is the only one; the answer names the real path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path inside the vault, e.g. `Projects/Verger.md`.
    path: VaultPath,
    /// First line to read, from 1. A negative number counts from the end: -20 reads the last 20 lines.
    #[serde(default = "one")]
    offset: i64,
    /// Lines to read at most. An answer holds at most 50,000 characters.
    limit: Option<usize>,
    /// First character to read in the first line, from 1; only for lines longer than one answer.
    #[serde(default)]
    column: usize,
}

fn one() -> i64 {
    1
}

impl Tool for ReadFile {
    const SPEC: Spec = Spec::new("read_file", Group::Read, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = view.find(&input.path)?;
        let text = view.text(&path)?;
        if let Some(byte) = text.find('\0') {
            return Err(Error::Binary { path, byte }.into());
        }
        let window = window(&text, input.offset, input.column, input.limit)?;
        let asked = if path == input.path { String::new() } else { format!("found for `{}`, ", input.path) };
        let version = version(&text);
        let shown = format!(
            "{path} ({asked}{}, version {version})\n\n{}{}",
            window.lines(),
            window.content,
            window.rest("read_file", json!({ "path": path })),
        );
        let data = json!({
            "path": path,
            "content": window.content,
            "first_line": window.first,
            "last_line": window.last,
            "total_lines": window.total_lines,
            "total_chars": window.total_chars,
            "next": window.next,
            "version": version,
        });
        Ok(Plan::Answer(Output::new(shown, data).from_vault(path.as_str()).telling_note(view, &path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn a_file_is_shown_with_its_path_and_version() {
        check(
            ReadFile,
            "a.md: # A\nhello\n",
            json!({"path": "a.md"}),
            expect![[r#"
            a.md (lines 1-2 of 2, version d6dfa0df1e38b618)

            # A
            hello
        "#]],
        );
    }

    #[test]
    fn the_tail_of_a_long_file_can_be_reached() {
        let long = format!("long.md: {}the end", "a line of text\n".repeat(9_999));
        check(
            ReadFile,
            &long,
            json!({"path": "long.md", "offset": 9_999}),
            expect![[r#"
            long.md (lines 9999-10000 of 10000, version ddeb618840ef4d1a)

            a line of text
            the end"#]],
        );
        check(
            ReadFile,
            &long,
            json!({"path": "long.md", "offset": -1}),
            expect![[r#"
            long.md (lines 10000-10000 of 10000, version ddeb618840ef4d1a)

            the end"#]],
        );
    }

    #[test]
    fn a_part_says_how_to_get_the_rest() {
        check(
            ReadFile,
            "a.md: 1\n2\n3\n4\n",
            json!({"path": "a.md", "offset": 2, "limit": 2}),
            expect![[r#"
            a.md (lines 2-3 of 4, version 0e63e5cf4c708eeb)

            2
            3

            [Lines 2-3 of 4 shown, 4 of 8 characters. The rest: read_file {"path":"a.md","offset":4}]"#]],
        );
    }

    #[test]
    fn another_spelling_finds_the_file_and_the_real_path_is_told() {
        check(
            ReadFile,
            "Projects/Verger.md: x",
            json!({"path": "projects/verger"}),
            expect![[r#"
            Projects/Verger.md (found for `projects/verger`, lines 1-1 of 1, version 3ae7d805f6789a64)

            x"#]],
        );
        check(
            ReadFile,
            "a/x.md: 1\n--- b/x.md: 2",
            json!({"path": "x"}),
            expect![
                "refused: ambiguous_path: `x` could be several files. use one of the exact paths: `a/x.md`, `b/x.md`"
            ],
        );
        check(
            ReadFile,
            "a/plan.canvas: {}",
            json!({"path": "a/plan.md"}),
            expect![[
                r#"refused: note_missing: there is no `a/plan.md` in the vault. did you mean `a/plan.canvas`?"#
            ]],
        );
    }

    #[test]
    fn what_is_no_text_file_is_refused_with_the_reason() {
        check(
            ReadFile,
            "a.md: x",
            json!({"path": "b.md"}),
            expect![[r#"refused: note_missing: there is no `b.md` in the vault. did you mean `a.md`?"#]],
        );
        check(
            ReadFile,
            "a.png: \u{1}\u{0}",
            json!({"path": "a.png"}),
            expect![[
                r#"refused: not_text: `a.png` is not a text file (byte 1 is not UTF-8). it can be moved or deleted, but not read or edited as text"#
            ]],
        );
        check(
            ReadFile,
            "a/b.md: x",
            json!({"path": "a"}),
            expect![[
                r#"refused: path_is_directory: `a` is a folder. list the folder and name one of its files"#
            ]],
        );
        check(
            ReadFile,
            "a.md: x",
            json!({"path": "../a.md"}),
            expect![[
                r#"refused: path_traversal: the path has a `.` or `..` segment: "../a.md". give the path from the vault's root, with no `.` or `..` in any spelling"#
            ]],
        );
        check(
            ReadFile,
            ".git/config: x",
            json!({"path": ".git/config"}),
            expect![[
                r#"refused: path_forbidden: `.git/config` may not be read (hidden). hidden files are settings, version control and keys; they are not read"#
            ]],
        );
        check(
            ReadFile,
            "a.md: x\n",
            json!({"path": "a.md", "offset": 2}),
            expect![[
                r#"refused: offset_past_end: the text has 1 lines, so none starts at 2. use a smaller offset; a negative one counts from the end"#
            ]],
        );
    }
}
