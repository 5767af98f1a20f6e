//! `similar_notes`: the notes that are most like one, and whether they are linked.

use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vault::VaultPath;

use crate::page::count;

/// Notes of one answer at most.
const MOST: usize = 50;

/// The tool.
pub struct SimilarNotes;

/// Find the notes that are most like a note as a whole, linked or not: candidates for a link, or for merging.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The note.
    path: VaultPath,
    /// Notes to return, up to 50.
    #[serde(default = "ten")]
    limit: usize,
    /// Leave out the notes that it links to or that link to it.
    #[serde(default)]
    unlinked: bool,
}

fn ten() -> usize {
    10
}

/// A similar note.
#[derive(Serialize)]
struct Similar {
    path: VaultPath,
    similarity: f32,
    linked: bool,
}

impl Tool for SimilarNotes {
    const SPEC: Spec = Spec::new("similar_notes", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let path = view.find(&input.path)?;
        let limit = input.limit.clamp(1, MOST);
        let linked: Vec<VaultPath> = view.catalog()?.ask(|catalog, visible| {
            let forward = catalog.outgoing(&path, visible).into_iter().filter_map(|link| link.to.cloned());
            forward
                .chain(catalog.backlinks(&path, visible).into_iter().map(|link| link.from.clone()))
                .collect()
        });
        let mut similar: Vec<Similar> = view
            .similar_notes(&path, limit + linked.len())?
            .into_iter()
            .map(|(other, similarity)| Similar { linked: linked.contains(&other), path: other, similarity })
            .filter(|note| !(input.unlinked && note.linked))
            .collect();
        similar.truncate(limit);
        let mut text = format!("{} like {path}", count(similar.len(), "note"));
        let caution = view.meaning_caution()?;
        if let Some(caution) = &caution {
            text += &format!("\n({caution})");
        }
        for note in &similar {
            let linked = if note.linked { ", linked" } else { "" };
            text += &format!("\n{} ({:.2}{linked})", note.path, note.similarity);
        }
        let data = json!({"path": path, "notes": similar, "caution": caution});
        let rows = || similar.iter().map(|note| ResultRow::new(&note.path, "")).collect();
        Ok(Plan::Answer(Output::new(text, data).from_vault("similar notes").telling_rows(view, rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::testing::Rig;

    #[test]
    fn the_like_comes_first_and_linked_notes_can_be_left_out() {
        let registry = pipeline::Registry::default();
        registry.add(SimilarNotes);
        let rig = Rig::new(
            "a.md: Baking bread with flour, yeast and a hot oven. [[b]]\n--- b.md: Bread needs flour, yeast and time in the oven.\n\
             --- c.md: A loaf of bread is baked from dough.\n--- d.md: The engine of the car was repaired.",
            registry,
        );
        rig.task.activate(&["similar_notes".to_owned()]);
        let paths = |input| {
            let outcome = rig.call("similar_notes", input, &pipeline::Nobody);
            let notes = outcome.output().unwrap().data["notes"].as_array().unwrap().clone();
            notes.iter().map(|note| note["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(paths(json!({"path": "a.md"}))[0], "b.md");
        assert_eq!(paths(json!({"path": "a.md", "unlinked": true}))[0], "c.md");
    }
}
