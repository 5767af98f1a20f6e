//! `batch_files`: many renames, moves and transforms as one plan, so one approval and one undo.
//!
//! Everything that can be refused is refused before anything is planned, and each failing item is named: a batch is made
//! as a whole or not at all. What the items mean is worked out in `work.rs`.

mod work;

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vault::{VaultFolder, VaultPath};

use super::replacement::ReplacementInput;
use super::rewrite::{count, some_of};
use work::Batch;

/// More files than this in one batch are refused.
const MOST_FILES: usize = 1_000;

/// Rename, move or transform many files in one step: one approval, one checkpoint, one undo. Links follow renamed and moved
/// files. Every operation names files by their paths as they are now, before the batch. If one item fails (no such file,
/// name taken, two files with one new name) nothing is done and the answer names it. At most 1,000 files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to do. A file may be renamed once, moved once and transformed several times.
    #[schemars(length(min = 1))]
    operations: Vec<Operation>,
}

/// One operation, on the file `path` or on all files that fit `glob` (as in `.gitignore`, e.g. `/Inbox/*.md`).
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Operation {
    /// Another name in the same folder: `new_name` for one path; `find` and `replace` on the names without extension of all
    /// files that fit a glob.
    Rename {
        /// The file or folder.
        #[serde(default)]
        path: Option<VaultPath>,
        /// Or the files.
        #[serde(default)]
        glob: Option<String>,
        /// The new name; without an extension the old one is kept.
        #[serde(default)]
        new_name: Option<String>,
        /// A regular expression on the name without its extension, e.g. `^Draft (.*)`.
        #[serde(default)]
        find: Option<String>,
        /// What to put there; `$1` is the first group.
        #[serde(default)]
        replace: Option<String>,
    },
    /// The same name in another folder.
    Move {
        /// The file or folder.
        #[serde(default)]
        path: Option<VaultPath>,
        /// Or the files.
        #[serde(default)]
        glob: Option<String>,
        /// The folder to move into; it is made if it is not there. Empty for the vault's root.
        destination: VaultFolder,
    },
    /// The text changed: search and replace, then properties. It is made on the text whose links have followed already.
    Transform {
        /// The file.
        #[serde(default)]
        path: Option<VaultPath>,
        /// Or the files.
        #[serde(default)]
        glob: Option<String>,
        /// What to replace, in order.
        #[serde(default)]
        replacements: Vec<ReplacementInput>,
        /// Properties to set.
        #[serde(default)]
        updates: Map<String, Value>,
        /// Properties to remove.
        #[serde(default)]
        remove: Vec<String>,
    },
}

/// The tool.
pub struct BatchFiles;

impl Tool for BatchFiles {
    const SPEC: Spec = Spec::new("batch_files", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let batch = Batch::gather(view, &input.operations)?;
        let planned = batch.plan(view, &input.operations)?;
        let moved = planned.pairs.len();
        let text = answer(&planned);
        let data = json!({
            "moved": planned.pairs.iter().map(|(from, to)| json!({ "source": from, "path": to })).collect::<Vec<_>>(),
            "transformed": planned.transformed,
            "unchanged": planned.unchanged,
            "relinked": planned.relinked,
            "left": planned.left,
        });
        if planned.changes.is_empty() {
            return Ok(Plan::answer(text, data));
        }
        let summary = format!("move {}, transform {}", count(moved, "file"), planned.transformed.len());
        Ok(Plan::edit(planned.changes, summary, Output::new(text, data)))
    }
}

fn answer(planned: &work::Planned) -> String {
    let mut lines = Vec::new();
    if !planned.pairs.is_empty() {
        let pairs: Vec<String> = planned.pairs.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
        lines.push(format!("moved {}: {}", count(pairs.len(), "file"), some_of(&pairs)));
    }
    if !planned.transformed.is_empty() {
        let number = count(planned.transformed.len(), "file");
        lines.push(format!("transformed {number}: {}", some_of(&planned.transformed)));
    }
    if !planned.relinked.is_empty() {
        lines.push(format!("links rewritten in {}", some_of(&planned.relinked)));
    }
    if !planned.left.is_empty() {
        let left = some_of(&planned.left);
        lines.push(format!("warning: links left as they were, because it may not be written: {left}"));
    }
    if !planned.unchanged.is_empty() {
        lines.push(format!("nothing to change in {}", some_of(&planned.unchanged)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
