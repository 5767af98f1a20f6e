//! Every tool there is. Add a line here and nothing else.

use pipeline::Registry;

use crate::edit;

/// A registry with all built-in tools.
pub fn all() -> Registry {
    let registry = Registry::default();
    add_read(&registry);
    add_vault(&registry);
    add_edit(&registry);
    add_agent(&registry);
    registry
}

fn add_read(registry: &Registry) {
    let _ = registry;
}

fn add_vault(registry: &Registry) {
    let _ = registry;
}

pub(crate) fn add_edit(registry: &Registry) {
    registry
        .add(edit::AppendToFile)
        .add(edit::BatchFiles)
        .add(edit::CreateFolder)
        .add(edit::DeleteFile)
        .add(edit::EditFile)
        .add(edit::ManageTags)
        .add(edit::MoveFile)
        .add(edit::PatchNote)
        .add(edit::ReplaceInFile)
        .add(edit::RestoreCheckpoint)
        .add(edit::UpdateFrontmatter)
        .add(edit::WriteFile);
}

fn add_agent(registry: &Registry) {
    let _ = registry;
}
