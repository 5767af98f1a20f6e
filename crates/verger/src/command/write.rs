//! `new`, `append`, `mv`, `rm`: changing the vault. The road shows the diff, asks, checkpoints and commits.

use serde_json::json;
use vault::VaultPath;

use crate::args::Writing;
use crate::door::{Door, parse, text_or_stdin};
use crate::failure::{Exit, Failure};

/// Makes a note. What is there already is not overwritten.
pub fn new(door: &Door<'_>, path: &str, content: String, writing: Writing) -> Result<(), Failure> {
    let path = with_extension(path);
    let parsed = parse(&path)?;
    let scope = door.scope()?;
    if door.road.vault().view(&scope).look(&parsed)?.is_some() {
        return Err(Failure::new(
            Exit::Failed,
            "file_exists",
            format!("`{parsed}` exists already"),
            "choose another name, or add to it with `verger append`",
        ));
    }
    let content = text_or_stdin(door.terminal, content)?;
    door.write("write_file", json!({"path": path, "content": content}), writing)
}

/// Adds text at the end of a note.
pub fn append(door: &Door<'_>, note: &str, text: String, writing: Writing) -> Result<(), Failure> {
    let path = door.resolve(note)?;
    let text = whole_lines(text_or_stdin(door.terminal, text)?);
    door.write("append_to_file", json!({"path": path, "content": text}), writing)
}

/// Moves a note or folder, with the links that lead to it. Into a folder that is there, it keeps its name.
pub fn mv(door: &Door<'_>, from: &str, to: &str, writing: Writing) -> Result<(), Failure> {
    let from = door.resolve_any(from)?;
    let scope = door.scope()?;
    let view = door.road.vault().view(&scope);
    let is_folder = |path: &VaultPath| {
        Ok::<bool, Failure>(
            matches!(view.look(path)?, Some(entry) if entry.kind == vault::files::Kind::Folder),
        )
    };
    let to = match to.strip_suffix('/').unwrap_or(to) {
        "" | "." => from.name().to_owned(),
        folder if to.ends_with('/') || is_folder(&parse(folder)?)? => format!("{folder}/{}", from.name()),
        name if from.is_note() => with_extension(name),
        name => name.to_owned(),
    };
    door.write("move_file", json!({"source": from, "destination": to}), writing)
}

/// Moves a note to the vault's trash.
pub fn rm(door: &Door<'_>, note: &str, writing: Writing) -> Result<(), Failure> {
    let path = door.resolve_any(note)?;
    door.write("delete_file", json!({"path": path}), writing)
}

/// Text that ends its line, as `echo` would.
pub fn whole_lines(text: String) -> String {
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}

/// A name without an extension is a note's.
fn with_extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let has = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=10).contains(&extension.len())
            && extension.chars().all(char::is_alphanumeric)
            && !extension.chars().all(|c| c.is_ascii_digit())
    });
    if has || name.is_empty() || name.starts_with('.') { path.to_owned() } else { format!("{path}.md") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_an_extension_is_a_note() {
        for (given, expected) in [
            ("Idea", "Idea.md"),
            ("a/Idea.md", "a/Idea.md"),
            ("Map.canvas", "Map.canvas"),
            ("Release 1.2", "Release 1.2.md"),
            ("Dr. Fenn", "Dr. Fenn.md"),
            (".env", ".env"),
            ("..", ".."),
            ("a/", "a/"),
        ] {
            assert_eq!(with_extension(given), expected);
        }
    }
}
