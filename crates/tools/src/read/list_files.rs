//! `list_files`: what lies in a folder.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::files::{Entry, Kind};
use vault::view::Depth;
use vault::{VaultFolder, VaultPath};

use crate::page::{count, page};

/// Entries of one answer at most.
const MOST: usize = 1_000;

/// The tool.
pub struct ListFiles;

/// List the files and folders in a folder of the vault, folders first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The folder; empty or `/` is the root.
    #[serde(default)]
    path: VaultFolder,
    /// Also what lies in its folders, at any depth.
    #[serde(default)]
    recursive: bool,
    /// Entries to list at most, up to 1,000.
    #[serde(default = "two_hundred")]
    limit: usize,
    /// The last line of the page before, e.g. `[FILE] a/b.md`, to go on behind it.
    cursor: Option<String>,
}

fn two_hundred() -> usize {
    200
}

impl Tool for ListFiles {
    const SPEC: Spec = Spec::new("list_files", Group::Read, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let after = input.cursor.as_deref().map(Row::parse).transpose()?;
        let depth = if input.recursive { Depth::All } else { Depth::One };
        let mut rows: Vec<Row> = view.list(&input.path, depth)?.into_iter().map(Row::from).collect();
        rows.sort();
        let folders = rows.iter().take_while(|row| row.kind == Order::Folder).count();
        let files = rows.len() - folders;
        let skipped = after.map_or(0, |after| rows.partition_point(|row| *row <= after));
        let page = page(&rows, skipped, input.limit.min(MOST), |row| row.path.as_str().len() + 7);
        let next = page.next.and(page.items.last()).map(Row::line);
        let mut text = format!("{}: {}, {}", input.path, count(folders, "folder"), count(files, "file"));
        page.items.iter().for_each(|row| text += &format!("\n{}", row.line()));
        if let Some(next) = &next {
            text +=
                &format!("\n[{} more. Go on with cursor {next:?}]", rows.len() - skipped - page.items.len());
        }
        let entries: Vec<Value> = page.items.iter().map(Row::data).collect();
        let data = json!({
            "path": input.path, "folders": folders, "files": files, "entries": entries, "next": next
        });
        Ok(Plan::Answer(Output::new(text, data).from_vault(input.path.to_string()).telling_nothing()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Folder,
    File,
}

/// One line of the listing; rows are in the order of the listing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    kind: Order,
    path: VaultPath,
    bytes: u64,
}

impl From<Entry> for Row {
    fn from(entry: Entry) -> Row {
        let kind = match entry.kind {
            Kind::Folder => Order::Folder,
            Kind::File => Order::File,
        };
        Row { kind, path: entry.path, bytes: entry.stat.size }
    }
}

impl Row {
    fn line(&self) -> String {
        match self.kind {
            Order::Folder => format!("[DIR] {}", self.path),
            Order::File => format!("[FILE] {}", self.path),
        }
    }

    /// A line read back; it stands behind the entry of the same path, whatever that one's size.
    fn parse(line: &str) -> Result<Row, Refusal> {
        let folder = line.strip_prefix("[DIR] ").map(|path| (Order::Folder, path));
        let place = folder.or_else(|| line.strip_prefix("[FILE] ").map(|path| (Order::File, path)));
        let parsed = place.and_then(|(kind, path)| Some((kind, VaultPath::parse(path).ok()?)));
        let Some((kind, path)) = parsed else {
            return Err(Refusal::new(
                "cursor_invalid",
                "the cursor is not a line of a listing",
                "pass the last line of the page before as it came, or leave it out for the first page",
            ));
        };
        Ok(Row { kind, path, bytes: u64::MAX })
    }

    fn data(&self) -> Value {
        match self.kind {
            Order::Folder => json!({ "path": self.path, "kind": "folder" }),
            Order::File => json!({ "path": self.path, "kind": "file", "bytes": self.bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "b.md: 1\n--- a.png: 2\n--- pub/x.md: 3\n--- public/y.md: 4\n--- public/deep/z.md: 5\n\
                         --- empty/:\n--- .obsidian/app.json: {}\n--- .verger/ignore: Hidden/\n--- Hidden/h.md: 6";

    #[test]
    fn folders_come_first_and_hidden_and_ignored_ones_not_at_all() {
        check(
            ListFiles,
            VAULT,
            json!({"path": "/"}),
            expect![[r#"
            /: 3 folders, 2 files
            [DIR] empty
            [DIR] pub
            [DIR] public
            [FILE] a.png
            [FILE] b.md"#]],
        );
        check(
            ListFiles,
            VAULT,
            json!({"recursive": true}),
            expect![[r#"
            /: 4 folders, 5 files
            [DIR] empty
            [DIR] pub
            [DIR] public
            [DIR] public/deep
            [FILE] a.png
            [FILE] b.md
            [FILE] pub/x.md
            [FILE] public/deep/z.md
            [FILE] public/y.md"#]],
        );
    }

    #[test]
    fn a_folder_is_not_its_sibling_whose_name_starts_alike() {
        check(
            ListFiles,
            VAULT,
            json!({"path": "pub", "recursive": true}),
            expect![[r#"
            pub: 0 folders, 1 file
            [FILE] pub/x.md"#]],
        );
        check(
            ListFiles,
            VAULT,
            json!({"path": "publ"}),
            expect![[
                r#"refused: note_missing: there is no `publ` in the vault. list the folder or search for the name"#
            ]],
        );
        check(
            ListFiles,
            VAULT,
            json!({"path": "b.md"}),
            expect![[
                r#"refused: path_is_file: `b.md` is not a folder. name a folder, or use the file's own path"#
            ]],
        );
        check(
            ListFiles,
            VAULT,
            json!({"path": "Hidden"}),
            expect![[
                r#"refused: note_missing: there is no `Hidden` in the vault. list the folder or search for the name"#
            ]],
        );
    }

    #[test]
    fn pages_go_on_behind_the_last_line() {
        let first = json!({"recursive": true, "limit": 4});
        check(
            ListFiles,
            VAULT,
            first,
            expect![[r#"
            /: 4 folders, 5 files
            [DIR] empty
            [DIR] pub
            [DIR] public
            [DIR] public/deep
            [5 more. Go on with cursor "[DIR] public/deep"]"#]],
        );
        let next = json!({"recursive": true, "limit": 3, "cursor": "[DIR] public/deep"});
        check(
            ListFiles,
            VAULT,
            next,
            expect![[r#"
            /: 4 folders, 5 files
            [FILE] a.png
            [FILE] b.md
            [FILE] pub/x.md
            [2 more. Go on with cursor "[FILE] pub/x.md"]"#]],
        );
        check(
            ListFiles,
            VAULT,
            json!({"cursor": "b.md"}),
            expect![[
                r#"refused: cursor_invalid: the cursor is not a line of a listing. pass the last line of the page before as it came, or leave it out for the first page"#
            ]],
        );
    }
}
