//! `obsidian_patch_note`: append to, prepend to or replace one section.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vault::edit::section::{Instruction, Operation};

use super::section::{self, ContentType, Offers, SectionInput};
use super::shape::sizes;
use super::target::NoteTarget;
use crate::edit::rewrite::Original;

/// Append to, prepend to or replace the content of one heading, block or frontmatter field; the rest stays as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    target: NoteTarget,
    /// Heading: `Parent::Child` or a unique name; block: id without `^`; frontmatter: key.
    section: SectionInput,
    operation: PatchOperation,
    content: String,
    /// `json`: a JSON literal, for frontmatter and table rows.
    #[serde(default)]
    content_type: ContentType,
    #[serde(default)]
    patch_options: PatchOptions,
    /// Version you read.
    if_match: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum PatchOperation {
    Append,
    Prepend,
    Replace,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
struct PatchOptions {
    #[serde(default)]
    create_target_if_missing: bool,
    #[serde(default)]
    apply_if_content_preexists: bool,
    #[serde(default)]
    trim_target_whitespace: bool,
}

impl From<PatchOperation> for Operation {
    fn from(operation: PatchOperation) -> Operation {
        match operation {
            PatchOperation::Append => Operation::Append,
            PatchOperation::Prepend => Operation::Prepend,
            PatchOperation::Replace => Operation::Replace,
        }
    }
}

/// The tool.
pub struct PatchNote;

impl Tool for PatchNote {
    const SPEC: Spec = Spec::new("obsidian_patch_note", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = input.target.exact(view)?;
        let original = Original::read(view, path, input.if_match.as_deref())?;
        let named = input.section.resolved(original.text());
        let options = input.patch_options;
        let instruction = Instruction {
            target: input.section.target(),
            operation: input.operation.into(),
            content: input.content_type.read(input.content)?,
            create_target_if_missing: options.create_target_if_missing,
            apply_if_content_preexists: options.apply_if_content_preexists,
            trim_target_whitespace: options.trim_target_whitespace,
        };
        let after = section::apply(&original, &instruction, &OFFERS)?;
        let data = json!({ "section": named, "operation": input.operation });
        Ok(sizes(original.becomes(after, "patched", data)?))
    }
}

const OFFERS: Offers = Offers {
    missing: "use an entry of the document map (obsidian_get_note), or set patchOptions.createTargetIfMissing to true",
    preexists: "change the content, or set patchOptions.applyIfContentPreexists to true",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::Value;

    const NOTE: &str = "a.md: ---\nlist: [x] # kept\n---\n# A\none ^id\n## B\ntwo\n# C\n";

    fn patch(kind: &str, target: &str, operation: &str, content: &str) -> Value {
        json!({"target": {"type": "path", "path": "a.md"}, "section": {"type": kind, "target": target},
            "operation": operation, "content": content})
    }

    #[test]
    fn headings_blocks_and_fields_are_patched_in_place() {
        check(
            PatchNote,
            NOTE,
            patch("heading", "B", "append", "x\n"),
            expect![[r#"
            patched `a.md`: +1 -0 lines, 50 -> 52 bytes, version 7f9a56c95e8ddef8
            ~ a.md (50 -> 52 bytes)
             one ^id
             ## B
             two
            +x
             # C
        "#]],
        );
        check(
            PatchNote,
            NOTE,
            patch("heading", "A", "prepend", "x\n"),
            expect![[r#"
            patched `a.md`: +1 -0 lines, 50 -> 52 bytes, version d3dda125e8fd2518
            ~ a.md (50 -> 52 bytes)
             list: [x] # kept
             ---
             # A
            +x
             one ^id
             ## B
             two
        "#]],
        );
        check(
            PatchNote,
            NOTE,
            patch("block", "id", "replace", "1"),
            expect![[r#"
            patched `a.md`: +1 -1 lines, 50 -> 48 bytes, version 18eeef98b05dadf1
            ~ a.md (50 -> 48 bytes)
             list: [x] # kept
             ---
             # A
            -one ^id
            +1 ^id
             ## B
             two
             # C
        "#]],
        );
        let mut value = patch("frontmatter", "list", "append", "[\"y\"]");
        value["contentType"] = json!("json");
        check(
            PatchNote,
            NOTE,
            value,
            expect![[r#"
            patched `a.md`: +1 -1 lines, 50 -> 53 bytes, version 692903c393f894fa
            ~ a.md (50 -> 53 bytes)
             ---
            -list: [x] # kept
            +list: [x, y] # kept
             ---
             # A
             one ^id
        "#]],
        );
        expect![[r#"{"path":"a.md","previousSizeInBytes":50,"currentSizeInBytes":52,"version":"7f9a56c95e8ddef8","section":{"type":"heading","target":"A::B"},"operation":"append"}"#]].assert_eq(&data(PatchNote, NOTE, patch("heading", "B", "append", "x\n")).to_string());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_way_out() {
        check(
            PatchNote,
            NOTE,
            patch("heading", "Z", "append", "x"),
            expect![
                "refused: section_target_missing: there is no heading `Z` in this note. use an entry of the document map (obsidian_get_note), or set patchOptions.createTargetIfMissing to true; there is `A`, `A::B`, `C`"
            ],
        );
        check(
            PatchNote,
            NOTE,
            patch("block", "no", "append", "x"),
            expect![
                "refused: section_target_missing: there is no block id `no` in this note. use an entry of the document map (obsidian_get_note), or set patchOptions.createTargetIfMissing to true; there is `id`"
            ],
        );
        check(
            PatchNote,
            NOTE,
            patch("heading", "B", "append", "two"),
            expect![
                "refused: content_preexists: the target holds this content already, or the content is empty. change the content, or set patchOptions.applyIfContentPreexists to true"
            ],
        );
        check(
            PatchNote,
            "a.md: # A\n## L\n# B\n## L\n",
            patch("heading", "L", "append", "x"),
            expect!["refused: ambiguous_section: `L` names 2 headings. use one full path: `A::L`, `B::L`"],
        );
        check(
            PatchNote,
            "b.md: x",
            patch("heading", "L", "append", "x"),
            expect!["refused: note_missing: there is no `a.md` in the vault. did you mean `b.md`?"],
        );
    }

    #[test]
    fn options_make_the_section_or_write_the_same_again() {
        let mut made = patch("heading", "A::New", "append", "x\n");
        made["patchOptions"] = json!({"createTargetIfMissing": true});
        check(
            PatchNote,
            NOTE,
            made,
            expect![[r#"
            patched `a.md`: +2 -0 lines, 50 -> 59 bytes, version dc2ed8c4926b1a9b
            ~ a.md (50 -> 59 bytes)
             one ^id
             ## B
             two
            +## New
            +x
             # C
        "#]],
        );
        let mut twice = patch("heading", "B", "append", "two\n");
        twice["patchOptions"] = json!({"applyIfContentPreexists": true});
        check(
            PatchNote,
            NOTE,
            twice,
            expect![[r#"
            patched `a.md`: +1 -0 lines, 50 -> 54 bytes, version a3111ada61c69932
            ~ a.md (50 -> 54 bytes)
             one ^id
             ## B
             two
            +two
             # C
        "#]],
        );
    }
}
