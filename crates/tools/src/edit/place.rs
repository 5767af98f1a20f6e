//! Where a file is moved to, as people and models write it.

use pipeline::{Refusal, View};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use vault::files::Kind;
use vault::{Error, VaultFolder, VaultPath};

/// A destination: into a folder, or to a path (which may turn out to be a folder that is there).
#[derive(Debug, Clone)]
pub(crate) enum Destination {
    Into(VaultFolder),
    At(VaultPath),
}

impl Destination {
    /// The path that `source` gets.
    pub(super) fn of(self, source: &VaultPath, view: &View<'_>) -> Result<VaultPath, Refusal> {
        match self {
            Destination::Into(folder) => below(&folder, source),
            Destination::At(path) => match view.look(&path)?.map(|entry| entry.kind) {
                // The same folder under another spelling is what a rename of its case looks like on some disks.
                Some(Kind::Folder) if path.folded() != source.folded() => below(&path.into(), source),
                _ => Ok(path),
            },
        }
    }
}

fn below(folder: &VaultFolder, source: &VaultPath) -> Result<VaultPath, Refusal> {
    let name = source.name();
    Ok(folder.join(name).map_err(|error| Error::Path { text: format!("{folder}/{name}"), error })?)
}

impl<'de> Deserialize<'de> for Destination {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Destination, D::Error> {
        let text = String::deserialize(deserializer)?;
        let folder = VaultFolder::deserialize(text.as_str().into_deserializer())?;
        Ok(match folder.path() {
            Some(path) if !text.ends_with(['/', '\\']) => Destination::At(path.clone()),
            _ => Destination::Into(folder),
        })
    }
}

impl JsonSchema for Destination {
    fn schema_name() -> Cow<'static, str> {
        "Destination".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

/// A note stays a note: without `.md` Obsidian would not show it, and no link would lead there.
pub(super) fn check_stays_note(from: &VaultPath, to: &VaultPath) -> Result<(), Refusal> {
    if !from.is_note() || to.is_note() {
        return Ok(());
    }
    Err(Refusal::new(
        "extension_missing",
        format!("`{to}` would not be a note any more"),
        format!("use `{to}.md`, or `{to}/` for a folder"),
    )
    .with("path", from))
}
