//! `obsidian_append_to_note`: text at the end of a note or of one section.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::edit::section::{Instruction, Operation};

use super::section::{self, ContentType, Offers, SectionInput, without_note};
use super::shape::sizes_and_created;
use super::target::NoteTarget;
use crate::edit::append_to_file::appended;
use crate::edit::rewrite::Original;
use crate::edit::write_file::refuse_formats;

/// Add text at the end of a note, which is created if it is missing, or at the end of one section of it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    target: NoteTarget,
    content: String,
    /// Add to this part; the note must exist.
    section: Option<SectionInput>,
    /// `json`: a JSON literal, for frontmatter and table rows.
    #[serde(default)]
    content_type: ContentType,
    /// Make the section if it is missing.
    #[serde(default)]
    create_target_if_missing: bool,
    /// Version you read.
    if_match: Option<String>,
}

/// The tool.
pub struct AppendToNote;

impl Tool for AppendToNote {
    const SPEC: Spec = Spec::new("obsidian_append_to_note", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = input.target.exact(view)?;
        refuse_formats(&path)?;
        let if_match = input.if_match.as_deref();
        let Some(part) = input.section else {
            let original = Original::read_if_any(view, path, if_match)?;
            let after = appended(original.text(), "\n", &input.content);
            let done = if original.is_new() { "there was no such note: created" } else { "appended to" };
            let plan = original.becomes(after, done, json!({ "sectionTargeted": false }))?;
            return Ok(sizes_and_created(plan));
        };
        let original = Original::read(view, path, if_match).map_err(without_note)?;
        let named = part.resolved(original.text());
        let content = input.content_type.read(input.content)?;
        let mut instruction = Instruction::new(part.target(), Operation::Append, content);
        instruction.create_target_if_missing = input.create_target_if_missing;
        let after = section::apply(&original, &instruction, &OFFERS)?;
        let data = json!({ "sectionTargeted": true, "sectionTarget": named.name() });
        Ok(sizes_and_created(original.becomes(after, "appended to a section of", data)?))
    }
}

const OFFERS: Offers = Offers {
    missing: "use an entry of the document map (obsidian_get_note), or set createTargetIfMissing to true",
    preexists: "change the content, or use obsidian_patch_note with patchOptions.applyIfContentPreexists true",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::Value;

    fn at(path: &str, section: Value) -> Value {
        json!({"target": {"type": "path", "path": path}, "content": "- two", "section": section})
    }

    #[test]
    fn text_goes_to_the_end_of_the_note_which_is_made_if_need_be() {
        check(
            AppendToNote,
            "a.md: - one",
            at("a.md", Value::Null),
            expect![[r#"
            appended to `a.md`: +2 -1 lines, 5 -> 11 bytes, version d1bdbc0440e36c9d
            ~ a.md (5 -> 11 bytes)
            -- one
            +- one
            +- two
        "#]],
        );
        check(
            AppendToNote,
            "a.md: - one",
            at("F/b.md", Value::Null),
            expect![[r#"
            there was no such note: created `F/b.md`: +1 -0 lines, 0 -> 5 bytes, version 1f2d3f6027d9b88d
            + F/b.md (0 -> 5 bytes)
            +- two
        "#]],
        );
        expect![[r#"{"path":"b.md","created":true,"previousSizeInBytes":0,"currentSizeInBytes":5,"version":"1f2d3f6027d9b88d","sectionTargeted":false}"#]].assert_eq(&data(AppendToNote, "a.md: - one", at("b.md", Value::Null)).to_string());
    }

    #[test]
    fn text_goes_to_the_end_of_a_section_which_is_made_on_demand() {
        let section = json!({"type": "heading", "target": "Log"});
        check(
            AppendToNote,
            "a.md: # Log\n- one\n# Rest\n",
            at("a.md", section.clone()),
            expect![[r#"
            appended to a section of `a.md`: +1 -0 lines, 19 -> 25 bytes, version 5b3d39636669e50b
            ~ a.md (19 -> 25 bytes)
             # Log
             - one
            +- two
             # Rest
        "#]],
        );
        let mut made = at("a.md", json!({"type": "heading", "target": "Log::New"}));
        made["createTargetIfMissing"] = json!(true);
        check(
            AppendToNote,
            "a.md: # Log\n- one\n# Rest\n",
            made.clone(),
            expect![[r#"
            appended to a section of `a.md`: +2 -0 lines, 19 -> 32 bytes, version 2f5f462965a65cd5
            ~ a.md (19 -> 32 bytes)
             # Log
             - one
            +## New
            +- two
             # Rest
        "#]],
        );
        expect![[r#"{"path":"a.md","created":false,"previousSizeInBytes":6,"currentSizeInBytes":18,"version":"1859c96b99ee4a38","sectionTargeted":true,"sectionTarget":"Log::New"}"#]].assert_eq(&data(AppendToNote, "a.md: # Log\n", made).to_string());
        check(
            AppendToNote,
            "a.md: # Rest\n",
            at("a.md", section.clone()),
            expect![
                "refused: section_target_missing: there is no heading `Log` in this note. use an entry of the document map (obsidian_get_note), or set createTargetIfMissing to true; there is `Rest`"
            ],
        );
        check(
            AppendToNote,
            "a.md: # Log\n- two\n",
            at("a.md", section.clone()),
            expect![
                "refused: content_preexists: the target holds this content already, or the content is empty. change the content, or use obsidian_patch_note with patchOptions.applyIfContentPreexists true"
            ],
        );
        check(
            AppendToNote,
            "a.md: x",
            at("b.md", section),
            expect![
                "refused: note_missing: there is no `b.md` in the vault. did you mean `a.md`? To create it, leave out section."
            ],
        );
    }
}
