//! `obsidian_write_note`: a whole note, or the content of one section.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::edit::section::{Content, Instruction, Operation};
use vault::{Error, VaultPath};

use super::section::{self, ContentType, Offers, SectionInput, without_note};
use super::shape::sizes_and_created;
use super::target::NoteTarget;
use crate::edit::rewrite::Original;
use crate::edit::write_file::refuse_formats;

/// Create a note with its folders, replace it with `overwrite`, or replace the body of one section and nothing else.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    target: NoteTarget,
    content: String,
    /// Replace only this part: its heading, id or key stays.
    section: Option<SectionInput>,
    /// `json`: a JSON literal, for frontmatter and table rows.
    #[serde(default)]
    content_type: ContentType,
    /// Replace a whole note that exists.
    #[serde(default)]
    overwrite: bool,
    /// Version you read.
    if_match: Option<String>,
}

/// The tool.
pub struct WriteNote;

impl Tool for WriteNote {
    const SPEC: Spec = Spec::new("obsidian_write_note", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = input.target.exact(view)?;
        refuse_formats(&path)?;
        let if_match = input.if_match.as_deref();
        let Some(part) = input.section else {
            let original = Original::read_if_any(view, path, if_match)?;
            if !original.is_new() && !input.overwrite {
                return Err(exists(original.path()));
            }
            let done = if original.is_new() { "created" } else { "overwrote" };
            let plan = original.becomes(input.content, done, json!({ "sectionTargeted": false }))?;
            return Ok(sizes_and_created(plan));
        };
        let original = Original::read(view, path, if_match).map_err(without_note)?;
        let named = part.resolved(original.text());
        let content = match input.content_type.read(input.content)? {
            Content::Text(text) => {
                Content::Text(without_heading(text, part.heading(original.text()).as_deref()))
            }
            value => value,
        };
        let mut instruction = Instruction::new(part.target(), Operation::Replace, content);
        instruction.apply_if_content_preexists = true;
        let after = section::apply(&original, &instruction, &OFFERS)?;
        let data = json!({ "sectionTargeted": true, "sectionTarget": named.name() });
        Ok(sizes_and_created(original.becomes(after, "wrote a section of", data)?))
    }
}

const OFFERS: Offers = Offers {
    missing: "use an entry of the document map (obsidian_get_note), or make it with obsidian_append_to_note and createTargetIfMissing",
    preexists: "give some content",
};

fn exists(path: &VaultPath) -> Refusal {
    let mut refusal = Refusal::from(Error::Exists { path: path.clone() });
    refusal.hint = "change a part with obsidian_patch_note, obsidian_append_to_note or obsidian_replace_in_note, or replace all of it with overwrite true".to_owned();
    refusal
}

/// The content without the section's own heading line and one blank line under it: the heading stays where it is, and
/// would stand there twice.
fn without_heading(content: String, heading: Option<&str>) -> String {
    let Some(heading) = heading else { return content };
    let mut lines = content.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let name = first.trim_end().trim_start_matches('#');
    let level = first.trim_end().len() - name.len();
    if !(1..=6).contains(&level) || !name.starts_with([' ', '\t']) || name.trim() != heading {
        return content;
    }
    let blank = lines.next().filter(|line| line.trim().is_empty()).map_or(0, str::len);
    content[first.len() + blank..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::Value;

    const NOTE: &str = "a.md: ---\nn: 1 # kept\n---\n# A\n## B\n\nold\n## C\nrest\n";

    fn at(path: &str, more: Value) -> Value {
        let mut input = json!({"target": {"type": "path", "path": path}, "content": "new"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    }

    #[test]
    fn a_note_is_created_and_overwritten_only_on_demand() {
        check(
            WriteNote,
            "a.md: x",
            at("/F/b.md", json!({})),
            expect![[r#"
            created `F/b.md`: +1 -0 lines, 0 -> 3 bytes, version b20ab0a020a48d34
            + F/b.md (0 -> 3 bytes)
            +new
        "#]],
        );
        check(
            WriteNote,
            "a.md: x",
            at("a.md", json!({})),
            expect![
                "refused: file_exists: `a.md` exists already. change a part with obsidian_patch_note, obsidian_append_to_note or obsidian_replace_in_note, or replace all of it with overwrite true"
            ],
        );
        check(
            WriteNote,
            "a.md: x",
            at("a.md", json!({"overwrite": true})),
            expect![[r#"
            overwrote `a.md`: +1 -1 lines, 1 -> 3 bytes, version b20ab0a020a48d34
            ~ a.md (1 -> 3 bytes)
            -x
            +new
        "#]],
        );
        check(
            WriteNote,
            "F/a.md: x",
            at("F/", json!({"overwrite": true})),
            expect!["refused: path_is_directory: `F` is a folder. list the folder and name one of its files"],
        );
        check(
            WriteNote,
            "a.md: x",
            at("a.md", json!({"overwrite": true, "ifMatch": "00"})),
            expect![
                "refused: version_mismatch: `a.md` is at version 3ae7d805f6789a64, not 00: it was changed meanwhile. read it again and repeat the edit on the new text"
            ],
        );
        let answer = data(WriteNote, "a.md: x", at("F/b.md", json!({})));
        expect![[r#"{"path":"F/b.md","created":true,"previousSizeInBytes":0,"currentSizeInBytes":3,"version":"b20ab0a020a48d34","sectionTargeted":false}"#]].assert_eq(&answer.to_string());
    }

    #[test]
    fn a_section_gets_a_new_body_and_its_heading_stands_there_once() {
        let heading = json!({"section": {"type": "heading", "target": "B"}, "content": "## B\n\nnew"});
        check(
            WriteNote,
            NOTE,
            at("a.md", heading.clone()),
            expect![[r#"
                wrote a section of `a.md`: +1 -2 lines, 44 -> 43 bytes, version f84132e0c8da96dd
                ~ a.md (44 -> 43 bytes)
                 ---
                 # A
                 ## B
                -
                -old
                +new
                 ## C
                 rest
            "#]],
        );
        expect![[r#"{"path":"a.md","created":false,"previousSizeInBytes":44,"currentSizeInBytes":43,"version":"f84132e0c8da96dd","sectionTargeted":true,"sectionTarget":"A::B"}"#]].assert_eq(&data(WriteNote, NOTE, at("a.md", heading)).to_string());
        let value = json!({"section": {"type": "frontmatter", "target": "n"}, "content": "[2]", "contentType": "json"});
        check(
            WriteNote,
            NOTE,
            at("a.md", value),
            expect![[r#"
                wrote a section of `a.md`: +2 -1 lines, 44 -> 48 bytes, version 401fe3dabb30eaec
                ~ a.md (44 -> 48 bytes)
                 ---
                -n: 1 # kept
                +n: # kept
                +  - 2
                 ---
                 # A
                 ## B
            "#]],
        );
    }

    #[test]
    fn a_section_that_is_not_there_or_not_clear_is_refused() {
        let part = |target: &str| json!({"section": {"type": "heading", "target": target}});
        check(
            WriteNote,
            NOTE,
            at("a.md", part("Z")),
            expect![
                "refused: section_target_missing: there is no heading `Z` in this note. use an entry of the document map (obsidian_get_note), or make it with obsidian_append_to_note and createTargetIfMissing; there is `A`, `A::B`, `A::C`"
            ],
        );
        check(
            WriteNote,
            "a.md: # A\n## L\n# B\n## L\n",
            at("a.md", part("L")),
            expect!["refused: ambiguous_section: `L` names 2 headings. use one full path: `A::L`, `B::L`"],
        );
        check(
            WriteNote,
            NOTE,
            at("z.md", part("B")),
            expect![
                "refused: note_missing: there is no `z.md` in the vault. did you mean `a.md`? To create it, leave out section."
            ],
        );
        let json = json!({"section": {"type": "frontmatter", "target": "n"}, "contentType": "json"});
        check(
            WriteNote,
            NOTE,
            at("a.md", json),
            expect![
                "refused: content_type_invalid: the content is not JSON: expected ident at line 1 column 2. write a JSON literal (a text needs quotes), or leave out contentType"
            ],
        );
    }

    #[test]
    fn only_the_own_heading_is_dropped_from_the_content() {
        for (content, expected) in [
            ("## B\nx", "x"),
            ("# B\n\nx", "x"),
            ("## B\n\n\nx", "\nx"),
            ("## B", ""),
            ("## Bc\nx", "## Bc\nx"),
            ("##B\nx", "##B\nx"),
            ("B\nx", "B\nx"),
            ("####### B\nx", "####### B\nx"),
            ("", ""),
        ] {
            assert_eq!(without_heading(content.to_owned(), Some("B")), expected, "{content:?}");
        }
    }
}
