//! `delete_file`: into the vault's trash, and a word about what still links there.

use std::collections::BTreeSet;

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::{Change, VaultPath, moves};

use super::rewrite::{count, some_of};

/// Delete a file: it is moved into the vault's `.trash` and can be restored. A folder must be empty. The answer says which
/// notes still link to the file; their links are left as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path inside the vault, exactly as it is.
    path: VaultPath,
}

/// The tool.
pub struct DeleteFile;

impl Tool for DeleteFile {
    const SPEC: Spec = Spec::new("delete_file", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, Input { path }: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        delete(path, view)
    }
}

/// The plan that deletes a file or an empty folder.
pub(crate) fn delete(path: VaultPath, view: &View<'_>) -> Result<Plan, Refusal> {
    let changes = moves::plan_delete(view, &path)?;
    let size = view.look(&path)?.map_or(0, |entry| entry.stat.size);
    let trashed = changes.iter().find_map(|change| match change {
        Change::Move { to, .. } => Some(to.clone()),
        _ => None,
    });
    let (links, linking) = backlinks(view, &path)?;
    let mut text = match &trashed {
        Some(place) => format!("deleted `{path}`: it is now `{place}`"),
        None => format!("deleted the empty folder `{path}`"),
    };
    let mut warnings = Vec::new();
    if links > 0 {
        let warning = format!("{} to it left as they are, in {}", count(links, "link"), some_of(&linking));
        text.push_str(&format!("\nwarning: {warning}"));
        warnings.push(warning);
    }
    let data = json!({
        "path": path,
        "deleted": true,
        "trashedAs": trashed,
        "previousSizeInBytes": if trashed.is_some() { size } else { 0 },
        "currentSizeInBytes": 0,
        "linkedFrom": linking,
        "backlinks": links,
        "warnings": warnings,
    });
    Ok(Plan::edit(changes, format!("delete {path} (to the trash)"), Output::new(text, data)))
}

/// How many links lead to a file, and from which notes.
fn backlinks(view: &View<'_>, path: &VaultPath) -> Result<(usize, Vec<VaultPath>), Refusal> {
    Ok(view.catalog()?.ask(|catalog, visible| {
        let links = catalog.backlinks(path, visible);
        let from: BTreeSet<VaultPath> = links.iter().map(|link| link.from.clone()).collect();
        (links.len(), from.into_iter().collect())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn a_file_goes_to_the_trash_and_dangling_links_are_named() {
        check(
            DeleteFile,
            "a.md: x\n--- b.md: [[a]] [[a|again]]\n--- c.md: no link",
            json!({"path": "a.md"}),
            expect![[r#"
                deleted `a.md`: it is now `.trash/a.md`
                warning: 2 links to it left as they are, in `b.md`
                - a.md (to the trash, as .trash/a.md)
            "#]],
        );
    }

    #[test]
    fn a_name_that_is_taken_in_the_trash_gets_a_number() {
        check(
            DeleteFile,
            "F/a.md: x\n--- .trash/a.md: old",
            json!({"path": "F/a.md"}),
            expect![[r#"
            deleted `F/a.md`: it is now `.trash/a 1.md`
            - F/a.md (to the trash, as .trash/a 1.md)
        "#]],
        );
    }

    #[test]
    fn only_empty_folders_go() {
        check(
            DeleteFile,
            "F/a.md: x",
            json!({"path": "F"}),
            expect![
                "refused: folder_not_empty: the folder `F` is not empty. move or delete what is in it first"
            ],
        );
        check(
            DeleteFile,
            "F/:",
            json!({"path": "F"}),
            expect![[r#"
                deleted the empty folder `F`
                - F/
            "#]],
        );
        check(
            DeleteFile,
            "F/.hidden: x",
            json!({"path": "F"}),
            expect![
                "refused: folder_not_empty: the folder `F` is not empty. move or delete what is in it first"
            ],
        );
    }

    #[test]
    fn the_trash_is_not_deleted() {
        check(
            DeleteFile,
            ".trash/:",
            json!({"path": ".trash"}),
            expect![
                "refused: path_forbidden: `.trash` is in the trash already. only people empty the trash; restore_checkpoint takes things out of it"
            ],
        );
        check(
            DeleteFile,
            ".trash/a.md: x",
            json!({"path": ".trash/a.md"}),
            expect![
                "refused: path_forbidden: `.trash/a.md` is in the trash already. only people empty the trash; restore_checkpoint takes things out of it"
            ],
        );
    }

    #[test]
    fn there_is_no_case_fallback() {
        check(
            DeleteFile,
            "Plan.md: x",
            json!({"path": "plan.md"}),
            expect!["refused: note_missing: there is no `plan.md` in the vault. did you mean `Plan.md`?"],
        );
    }
}
