//! `append_to_file`: text at the end of a file, or at the end of one section of it.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::VaultPath;
use vault::edit::section::{self, Content, Instruction, Operation};
use vault::note::outline::{Target, TargetKind, with_newlines_of};

use super::rewrite::Original;
use super::write_file::refuse_formats;

/// Add text at the end of a file, or with `section` at the end of one heading, block or property. The file is created if
/// it is not there (not with `section`).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path inside the vault, e.g. `Journal/2026-03-14.md`.
    path: VaultPath,
    /// The text to add.
    content: String,
    /// Put between the old text and the new, unless the file is empty or ends in it already. Only without `section`.
    #[serde(default = "line_end")]
    separator: String,
    /// Add to this part of the note instead of its end.
    #[serde(default)]
    section: Option<SectionInput>,
    /// The version that you read; nothing is added if the file has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// A part of a note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SectionInput {
    /// What kind of part.
    #[serde(rename = "type")]
    kind: TargetKind,
    /// A heading (`Log`, or `Project::Log` where several have that name), a block id without `^`, or a property's name.
    target: String,
    /// Make the heading, block or property if the note does not have it.
    #[serde(default, rename = "createTargetIfMissing")]
    create_target_if_missing: bool,
}

fn line_end() -> String {
    "\n".to_owned()
}

/// The tool.
pub struct AppendToFile;

impl Tool for AppendToFile {
    const SPEC: Spec = Spec::new("append_to_file", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        refuse_formats(&input.path)?;
        let if_match = input.if_match.as_deref();
        match input.section {
            None => {
                let original = Original::read_if_any(view, input.path, if_match)?;
                let after = appended(original.text(), &input.separator, &input.content);
                original.becomes(after, "appended to", json!({}))
            }
            Some(part) => {
                let original = Original::read(view, input.path, if_match)?;
                let mut instruction = Instruction::new(
                    Target::parse(part.kind, &part.target),
                    Operation::Append,
                    Content::Text(input.content),
                );
                instruction.create_target_if_missing = part.create_target_if_missing;
                // Whoever appends means it: a log may say the same thing twice.
                instruction.apply_if_content_preexists = true;
                let after = section::apply(original.text(), &instruction)?;
                let section = json!({ "section": { "type": part.kind, "target": part.target } });
                original.becomes(after, "appended to", section)
            }
        }
    }
}

/// The text with the content behind it, in the line ends that it has.
pub(crate) fn appended(text: &str, separator: &str, content: &str) -> String {
    let own = with_newlines_of(text, separator);
    let between =
        if text.is_empty() || text.ends_with(separator) || text.ends_with(&*own) { "" } else { &*own };
    format!("{text}{between}{}", with_newlines_of(text, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn the_separator_comes_between_unless_the_text_ends_in_it() {
        for (text, separator, content, expected) in [
            ("", "\n", "x", "x"),
            ("a", "\n", "x", "a\nx"),
            ("a\n", "\n", "x", "a\nx"),
            ("a\n", "\n\n", "x", "a\n\n\nx"),
            ("a\n\n", "\n\n", "x", "a\n\nx"),
            ("a", "", "x", "ax"),
            ("a", "\n---\n", "x\n", "a\n---\nx\n"),
            ("a\r\nb", "\n", "x\ny", "a\r\nb\r\nx\r\ny"),
            ("a\r\nb\r\n", "\n", "x\r\n", "a\r\nb\r\nx\r\n"),
        ] {
            assert_eq!(appended(text, separator, content), expected, "{text:?} {separator:?}");
        }
    }

    #[test]
    fn a_missing_file_is_created_with_exactly_the_content() {
        check(
            AppendToFile,
            "a.md: x",
            json!({"path": "Log/b.md", "content": "- one"}),
            expect![[r#"
            appended to `Log/b.md`: +1 -0 lines, 0 -> 5 bytes, version 4f1a161a80afe042
            + Log/b.md (0 -> 5 bytes)
            +- one
        "#]],
        );
    }

    #[test]
    fn text_goes_to_the_end_of_a_section() {
        check(
            AppendToFile,
            "a.md: # Log\n- one\n# Rest\n",
            json!({"path": "a.md", "content": "- two", "section": {"type": "heading", "target": "Log"}}),
            expect![[r#"
                appended to `a.md`: +1 -0 lines, 19 -> 25 bytes, version 5b3d39636669e50b
                ~ a.md (19 -> 25 bytes)
                 # Log
                 - one
                +- two
                 # Rest
            "#]],
        );
    }

    #[test]
    fn the_same_line_may_be_appended_twice() {
        check(
            AppendToFile,
            "a.md: # Log\n- tea\n",
            json!({"path": "a.md", "content": "- tea\n", "section": {"type": "heading", "target": "Log"}}),
            expect![[r#"
                appended to `a.md`: +1 -0 lines, 12 -> 18 bytes, version bad602bc989ec0cd
                ~ a.md (12 -> 18 bytes)
                 # Log
                 - tea
                +- tea
            "#]],
        );
    }

    #[test]
    fn a_missing_section_is_refused_or_made() {
        let section = json!({"type": "heading", "target": "Lg"});
        check(
            AppendToFile,
            "a.md: # Log\n",
            json!({"path": "a.md", "content": "x", "section": section}),
            expect![
                "refused: section_target_missing: there is no heading `Lg` in this note. read the document map and use an entry of it, or set createTargetIfMissing to make it; there is `Log`"
            ],
        );
        let section = json!({"type": "heading", "target": "New", "createTargetIfMissing": true});
        check(
            AppendToFile,
            "a.md: # Log\n",
            json!({"path": "a.md", "content": "x", "section": section}),
            expect![[r#"
                appended to `a.md`: +2 -0 lines, 6 -> 13 bytes, version 0a5c2b3fd2c38b4c
                ~ a.md (6 -> 13 bytes)
                 # Log
                +# New
                +x
            "#]],
        );
    }

    #[test]
    fn a_property_takes_one_more() {
        check(
            AppendToFile,
            "a.md: ---\naliases: [b] # names\n---\n",
            json!({"path": "a.md", "content": "c", "section": {"type": "frontmatter", "target": "aliases"}}),
            expect![[r#"
                appended to `a.md`: +1 -1 lines, 29 -> 32 bytes, version 72d023f59397b265
                ~ a.md (29 -> 32 bytes)
                 ---
                -aliases: [b] # names
                +aliases: [b, c] # names
                 ---
            "#]],
        );
    }
}
