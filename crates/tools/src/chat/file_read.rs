//! `file_read`: the texts of several files, for chats that live in a note.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault::{Error, VaultPath};

/// Files of one call at most.
const MOST: usize = 50;
/// Bytes of one call at most: the rest is read with another call.
const ROOM: usize = 400_000;

/// The tool.
pub struct FileRead;

/// Read the content of specific files in the vault. One that cannot be read says so in its place; the others are read all the same.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Array of file paths to read, up to 50. Use the paths returned from vault_search.
    #[serde(rename = "filePaths")]
    file_paths: Vec<String>,
}

/// A file, or why not.
#[derive(Debug, Serialize)]
struct Content {
    path: String,
    content: String,
    size: usize,
}

impl Tool for FileRead {
    const SPEC: Spec = Spec::new("file_read", Group::Read, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if input.file_paths.is_empty() {
            return Err(Refusal::new("paths_required", "there is no file to read", "name at least one path"));
        }
        if input.file_paths.len() > MOST {
            let message = format!("{} files are too many for one call", input.file_paths.len());
            return Err(Refusal::new("too_many_paths", message, format!("name at most {MOST}")));
        }
        let mut room = ROOM;
        let mut contents = Vec::new();
        for path in input.file_paths {
            view.go_on()?;
            contents.push(read(view, path, &mut room));
        }
        let names: Vec<&str> = contents.iter().map(|content| content.path.as_str()).collect();
        let source = names.join(", ");
        let text = serde_json::to_string(&contents).unwrap_or_default();
        let read = contents.iter().filter(|content| content.size > 0);
        let read: Vec<VaultPath> = match view.is_reviewed() {
            true => read.filter_map(|content| VaultPath::parse(&content.path).ok()).collect(),
            false => Vec::new(),
        };
        Ok(Plan::Answer(Output::new(text, contents).from_vault(source).telling_notes(view, || read)))
    }
}

/// A file that is hidden looks like one that is not there.
fn read(view: &View<'_>, path: String, room: &mut usize) -> Content {
    let failed = |path: String, content: String| Content { path, content, size: 0 };
    let Ok(parsed) = VaultPath::parse(&path) else {
        let content = format!("Error reading file: `{path}` is not a path inside the vault");
        return failed(path, content);
    };
    let text = view.find(&parsed).and_then(|found| view.text(&found).map(|text| (found, text)));
    match text {
        Ok((found, text)) if text.len() <= *room => {
            *room -= text.len();
            Content { path: found.to_string(), size: text.len(), content: text }
        }
        Ok((found, text)) => {
            let content = format!(
                "Error reading file: {} bytes are too much for this call; read it alone or with read_file",
                text.len()
            );
            failed(found.to_string(), content)
        }
        Err(Error::Missing { .. } | Error::Forbidden { .. }) => {
            let content = format!("File not found: {path}");
            failed(path, content)
        }
        Err(error) => failed(path, format!("Error reading file: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    #[test]
    fn one_file_that_fails_does_not_fail_the_others_and_a_hidden_one_is_not_there() {
        check(
            FileRead,
            "a.md: alpha\n--- Secret.md: x\n--- .vergerignore: Secret.md\n",
            json!({"filePaths": ["a.md", "gone.md", "Secret.md", "../x.md"]}),
            expect![[
                r#"[{"path":"a.md","content":"alpha","size":5},{"path":"gone.md","content":"File not found: gone.md","size":0},{"path":"Secret.md","content":"File not found: Secret.md","size":0},{"path":"../x.md","content":"Error reading file: `../x.md` is not a path inside the vault","size":0}]"#
            ]],
        );
    }

    #[test]
    fn nothing_to_read_is_said() {
        check(
            FileRead,
            "a.md: x",
            json!({"filePaths": []}),
            expect!["refused: paths_required: there is no file to read. name at least one path"],
        );
    }
}
