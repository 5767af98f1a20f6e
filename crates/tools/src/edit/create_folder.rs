//! `create_folder`: a folder with those on the way.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::files::Kind;
use vault::{Change, Error, VaultPath};

/// Create a folder, with the folders on the way. One that is there already is no error. Writing or moving a file makes its
/// folders by itself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the folder inside the vault, e.g. `Projects/2026`.
    path: VaultPath,
}

/// The tool.
pub struct CreateFolder;

impl Tool for CreateFolder {
    const SPEC: Spec = Spec::new("create_folder", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, Input { path }: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        match view.look(&path)?.map(|entry| entry.kind) {
            Some(Kind::Folder) => Ok(Plan::answer(
                format!("the folder `{path}` exists already"),
                json!({ "path": path, "created": false }),
            )),
            Some(Kind::File) => Err(Error::Exists { path }.into()),
            None => {
                let output = Output::new(
                    format!("created the folder `{path}`"),
                    json!({ "path": path, "created": true }),
                );
                Ok(Plan::edit(
                    vec![Change::MakeFolder { path: path.clone() }],
                    format!("create the folder {path}"),
                    output,
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn a_folder_is_made_once() {
        check(
            CreateFolder,
            "",
            json!({"path": "A/B"}),
            expect![[r#"
                created the folder `A/B`
                + A/B/
            "#]],
        );
        check(
            CreateFolder,
            "",
            json!({"path": ".trash/x"}),
            expect![
                "refused: path_forbidden: `.trash/x` may not be written (hidden). writable: the whole vault, except hidden, ignored and protected paths"
            ],
        );
        check(CreateFolder, "A/B/:", json!({"path": "A/B"}), expect!["the folder `A/B` exists already"]);
        check(
            CreateFolder,
            "A: x",
            json!({"path": "A"}),
            expect!["refused: file_exists: `A` exists already. choose another name, or edit what is there"],
        );
        check(
            CreateFolder,
            "A: x",
            json!({"path": "A/B"}),
            expect!["refused: path_is_file: `A` is not a folder. name a folder, or use the file's own path"],
        );
    }
}
