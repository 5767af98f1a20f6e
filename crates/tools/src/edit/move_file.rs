//! `move_file`: another path for a file or folder, and every link that leads there follows.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::files::{Entry, Kind};
use vault::moves::{self, MovePlan};
use vault::store::blob::Hash;
use vault::{Change, Error, VaultPath};

use super::place::{Destination, check_stays_note};
use super::rewrite::{count, some_of};

/// Move or rename a file or folder. Links to it (wiki links, Markdown links, embeds, properties, canvases, bases) are rewritten in
/// the same step, and all of it is undone as one. Nothing is ever overwritten.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to move: the path of a file or folder.
    source: VaultPath,
    /// The new path with its extension; or a folder to move it into (one that exists, or any with `/` at the end).
    destination: Destination,
}

/// The tool.
pub struct MoveFile;

impl Tool for MoveFile {
    const SPEC: Spec = Spec::new("move_file", Group::Edit, Effect::Edits);
    type Input = Input;

    async fn plan(&self, Input { source, destination }: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        move_to(source, destination, view)
    }
}

/// The plan that moves a file or folder and takes its links along.
pub(crate) fn move_to(source: VaultPath, destination: Destination, view: &View<'_>) -> Result<Plan, Refusal> {
    let Some(entry) = view.look(&source)? else {
        let near = view.near(&source);
        return Err(Error::Missing { path: source, near }.into());
    };
    let to = destination.of(&source, view)?;
    if to == source {
        return Ok(Plan::answer(
            format!("`{source}` is there already"),
            json!({ "source": source, "path": to, "relinked": [], "left": [] }),
        ));
    }
    if entry.kind == Kind::File {
        check_stays_note(&source, &to)?;
    }
    let plan = moves::plan(view, &[(source.clone(), to.clone())])?;
    let output = answer(view, &entry, &to, &plan);
    Ok(Plan::edit(plan.changes, summary(&source, &to, plan.relinked.len()), output))
}

fn summary(from: &VaultPath, to: &VaultPath, relinked: usize) -> String {
    match relinked {
        0 => format!("move {from} to {to}"),
        number => format!("move {from} to {to} and rewrite its links in {}", count(number, "file")),
    }
}

fn answer(view: &View<'_>, entry: &Entry, to: &VaultPath, plan: &MovePlan) -> Output {
    let from = &entry.path;
    let mut text = format!("moved `{from}` to `{to}`");
    if !plan.relinked.is_empty() {
        text.push_str(&format!("\nlinks rewritten in {}", some_of(&plan.relinked)));
    }
    if !plan.left.is_empty() {
        let left = some_of(&plan.left);
        text.push_str(&format!("\nwarning: links left as they were, because it may not be written: {left}"));
    }
    let rewritten = plan.changes.iter().find(|change| {
        matches!(change, Change::Replace { .. }) && change.path() == to && entry.kind == Kind::File
    });
    let (version, size) = match rewritten {
        Some(Change::Replace { after, .. }) => (Some(Hash::of(after).short()), after.len() as u64),
        _ if entry.kind == Kind::File => {
            (view.read(from).ok().map(|bytes| Hash::of(&bytes).short()), entry.stat.size)
        }
        _ => (None, 0),
    };
    let before = if entry.kind == Kind::File { entry.stat.size } else { 0 };
    let data = json!({
        "source": from,
        "path": to,
        "created": false,
        "previousSizeInBytes": before,
        "currentSizeInBytes": size,
        "version": version,
        "relinked": plan.relinked,
        "left": plan.left,
    });
    Output::new(text, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn links_of_every_kind_follow_the_file() {
        check(
            MoveFile,
            "a.md: text\n--- b.md: ---\nup: \"[[a]]\"\n---\n[[a|alias]] ![[a#h]] [m](a.md)\n\
             --- c.canvas: {\"nodes\":[{\"id\":\"1\",\"type\":\"file\",\"file\":\"a.md\"}]}\n\
             --- d.base: filters: 'file.hasLink(\"a\") || up == link(\"a\")' # a\n",
            json!({"source": "a.md", "destination": "Archive/z.md"}),
            expect![[r#"
                moved `a.md` to `Archive/z.md`
                links rewritten in `b.md`, `c.canvas`, `d.base`
                > a.md -> Archive/z.md
                ~ b.md (50 -> 58 bytes)
                 ---
                -up: "[[a]]"
                +up: "[[z]]"
                 ---
                -[[a|alias]] ![[a#h]] [m](a.md)
                +[[z|alias]] ![[z#h]] [m](Archive/z.md)
                ~ c.canvas (50 -> 58 bytes)
                -{"nodes":[{"id":"1","type":"file","file":"a.md"}]}
                +{"nodes":[{"id":"1","type":"file","file":"Archive/z.md"}]}
                ~ d.base (52 -> 52 bytes)
                -filters: 'file.hasLink("a") || up == link("a")' # a
                +filters: 'file.hasLink("z") || up == link("z")' # a
            "#]],
        );
    }

    #[test]
    fn a_folder_as_destination_means_into_it() {
        let vault = "a.md: x\n--- F/b.md: y";
        check(
            MoveFile,
            vault,
            json!({"source": "a.md", "destination": "F"}),
            expect![[r#"
            moved `a.md` to `F/a.md`
            > a.md -> F/a.md
        "#]],
        );
        check(
            MoveFile,
            vault,
            json!({"source": "a.md", "destination": "New/"}),
            expect![[r#"
            moved `a.md` to `New/a.md`
            > a.md -> New/a.md
        "#]],
        );
        check(
            MoveFile,
            vault,
            json!({"source": "F/b.md", "destination": "/"}),
            expect![[r#"
            moved `F/b.md` to `b.md`
            > F/b.md -> b.md
        "#]],
        );
    }

    #[test]
    fn a_folder_moves_with_all_that_is_in_it() {
        check(
            MoveFile,
            "F/a.md: [b](b.md)\n--- F/b.md: y\n--- c.md: [[F/a]] [x](F/b.md)",
            json!({"source": "F", "destination": "G/H"}),
            expect![[r#"
                moved `F` to `G/H`
                links rewritten in `c.md`
                > F -> G/H
                ~ c.md (19 -> 23 bytes)
                -[[F/a]] [x](F/b.md)
                +[[G/H/a]] [x](G/H/b.md)
            "#]],
        );
    }

    #[test]
    fn a_taken_place_is_refused_and_the_own_place_is_an_answer() {
        let vault = "a.md: x\n--- b.md: y\n--- F/c.md: z";
        check(
            MoveFile,
            vault,
            json!({"source": "a.md", "destination": "b.md"}),
            expect![
                "refused: file_exists: `b.md` exists already. choose another name, or edit what is there"
            ],
        );
        check(
            MoveFile,
            vault,
            json!({"source": "a.md", "destination": "a.md"}),
            expect!["`a.md` is there already"],
        );
        check(
            MoveFile,
            vault,
            json!({"source": "F/c.md", "destination": "F/"}),
            expect!["`F/c.md` is there already"],
        );
        check(
            MoveFile,
            vault,
            json!({"source": "F", "destination": "F/G"}),
            expect!["refused: move_into_itself: `F` cannot be moved to `F/G`. choose a place outside of it"],
        );
        check(
            MoveFile,
            vault,
            json!({"source": "x.md", "destination": "y.md"}),
            expect![
                "refused: note_missing: there is no `x.md` in the vault. did you mean `F/c.md`, `a.md`, `b.md`?"
            ],
        );
    }

    #[test]
    fn a_rename_of_case_alone_is_a_rename() {
        check(
            MoveFile,
            "a.md: x\n--- b.md: [[a]]",
            json!({"source": "a.md", "destination": "A.md"}),
            expect![[r#"
                moved `a.md` to `A.md`
                > a.md -> A.md
            "#]],
        );
    }

    #[test]
    fn a_note_does_not_lose_its_extension() {
        check(
            MoveFile,
            "a.md: x",
            json!({"source": "a.md", "destination": "Archive/a"}),
            expect![
                "refused: extension_missing: `Archive/a` would not be a note any more. use `Archive/a.md`, or `Archive/a/` for a folder"
            ],
        );
    }

    #[test]
    fn links_in_protected_notes_are_left_and_named() {
        check(
            MoveFile,
            "a.md: x\n--- T/b.md: [[a]]\n--- .vergerprotected: T/\n",
            json!({"source": "a.md", "destination": "z.md"}),
            expect![[r#"
                moved `a.md` to `z.md`
                warning: links left as they were, because it may not be written: `T/b.md`
                > a.md -> z.md
            "#]],
        );
    }

    #[test]
    fn a_protected_note_does_not_move_with_its_folder() {
        check(
            MoveFile,
            "F/a.md: x\n--- F/keep.md: y\n--- .vergerprotected: keep.md\n",
            json!({"source": "F", "destination": "G"}),
            expect![
                "refused: path_forbidden: `F` holds `F/keep.md`, which may not be moved along to `G`. move the files that may be moved one by one, or ask the user"
            ],
        );
    }

    #[test]
    fn an_ignored_note_is_neither_moved_out_of_its_rule_nor_named() {
        check(
            MoveFile,
            "F/a.md: x\n--- F/diary.md: y\n--- .vergerignore: /F/diary.md\n",
            json!({"source": "F", "destination": "G"}),
            expect![
                "refused: path_forbidden: `F` holds something, which may not be moved along to `G`. move the files that may be moved one by one, or ask the user"
            ],
        );
    }
}
