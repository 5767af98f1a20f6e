//! A part of a note, as this surface names it, and edits of it in the 1.x format.

use pipeline::Refusal;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use vault::edit::section::{self, Content, Instruction};
use vault::note::outline::{Outline, Purpose, Target, TargetKind};

use crate::edit::rewrite::Original;
use crate::page::clip;

// No doc comment: it would stand in the schema of every tool.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct SectionInput {
    #[serde(rename = "type")]
    #[schemars(schema_with = "kinds")]
    kind: TargetKind,
    target: String,
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["heading", "block", "frontmatter"] })
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ContentType {
    #[default]
    Markdown,
    Json,
}

impl ContentType {
    /// The content of an edit: the text as it is, or the value that it is the JSON of.
    pub(super) fn read(self, text: String) -> Result<Content, Refusal> {
        match self {
            ContentType::Markdown => Ok(Content::Text(text)),
            ContentType::Json => serde_json::from_str(&text).map(Content::Json).map_err(|error| {
                Refusal::new(
                    "content_type_invalid",
                    format!("the content is not JSON: {}", clip(&error.to_string(), 200)),
                    "write a JSON literal (a text needs quotes), or leave out contentType",
                )
            }),
        }
    }
}

/// What a tool can offer where an edit of a section does not fit.
pub(super) struct Offers {
    /// If the section is not there.
    pub(super) missing: &'static str,
    /// If it holds the content already.
    pub(super) preexists: &'static str,
}

impl SectionInput {
    /// What it means to the engine.
    pub(super) fn target(&self) -> Target {
        Target::parse(self.kind, &self.target)
    }

    /// The same under the name by which the note knows it.
    pub(super) fn named(&self, target: String) -> SectionInput {
        SectionInput { kind: self.kind, target }
    }

    /// The section with its full address in the text; as given where the text does not have it.
    pub(super) fn resolved(&self, text: &str) -> SectionInput {
        let target = match self.target() {
            Target::Heading(path) => {
                let outline = Outline::read(text);
                let found = outline.heading(&path, Purpose::Write).map(|section| section.address.clone());
                found.unwrap_or_else(|_| path.join("::"))
            }
            Target::Block(name) | Target::Front(name) => name,
            Target::Root => self.target.clone(),
        };
        self.named(target)
    }

    /// The name of it.
    pub(super) fn name(&self) -> &str {
        &self.target
    }

    /// The text of the heading that it is in this note; none for other sections.
    pub(super) fn heading(&self, text: &str) -> Option<String> {
        let Target::Heading(path) = self.target() else { return None };
        Outline::read(text).heading(&path, Purpose::Write).ok().map(|section| section.label.clone())
    }
}

/// The note's text after the edit, or a refusal that says what this tool can do about it.
pub(super) fn apply(
    original: &Original,
    instruction: &Instruction,
    offers: &Offers,
) -> Result<String, Refusal> {
    section::apply(original.text(), instruction).map_err(|error| {
        let mut refusal = Refusal::from(error).with("path", original.path());
        let there: Vec<&str> = refusal
            .data
            .get("candidates")
            .and_then(|candidates| candidates.as_array())
            .map(|candidates| candidates.iter().filter_map(|name| name.as_str()).collect())
            .unwrap_or_default();
        let hint = match &*refusal.reason {
            "section_target_missing" if there.is_empty() => offers.missing.to_owned(),
            "section_target_missing" => format!("{}; there is `{}`", offers.missing, there.join("`, `")),
            "content_preexists" => offers.preexists.to_owned(),
            _ => return refusal,
        };
        refusal.hint = hint;
        refusal
    })
}

/// A note that a section is written to must be there.
pub(super) fn without_note(mut refusal: Refusal) -> Refusal {
    if refusal.reason == "note_missing" {
        refusal.hint += " To create it, leave out section.";
    }
    refusal
}
