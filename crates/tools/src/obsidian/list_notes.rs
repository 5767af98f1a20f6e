//! `obsidian_list_notes`: a folder as a tree.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::VaultFolder;
use vault::files::{Entry, Kind};
use vault::view::Depth;

use super::names;
use super::rooted::Rooted;
use crate::page::{CHARS, count};

/// Entries of one answer at most.
const CAP: usize = 1_000;
const DEEPEST: usize = 20;

/// List the files and folders below a folder as a tree.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Folder; the root if left out.
    path: Option<Rooted<VaultFolder>>,
    /// Only files with this extension, e.g. `md`.
    extension: Option<String>,
    /// Only files and folders whose name matches; other folders are not entered.
    name_regex: Option<String>,
    /// Levels to go down.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 20))]
    depth: usize,
}

fn two() -> usize {
    2
}

/// The tool.
pub struct ListNotes;

impl Tool for ListNotes {
    const SPEC: Spec = Spec::new("obsidian_list_notes", Group::Read, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if !(1..=DEEPEST).contains(&input.depth) {
            let message = format!("depth {} is not between 1 and {DEEPEST}", input.depth);
            return Err(Refusal::new("input_invalid", message, "give a depth from 1 to 20"));
        }
        let folder = input.path.map(|path| path.0).unwrap_or_default();
        let mut walk = Walk {
            view,
            extension: input.extension.as_deref().map(|text| text.trim_start_matches('.').to_lowercase()),
            name: names::pattern(input.name_regex.as_deref())?,
            depth: input.depth,
            tree: String::new(),
            entries: Vec::new(),
            files: 0,
            full: false,
        };
        walk.enter(&folder, 1, "")?;
        Ok(Plan::Answer(walk.answer(&folder).from_vault(folder.to_string())))
    }
}

/// A tree as it grows.
struct Walk<'w> {
    view: &'w View<'w>,
    extension: Option<String>,
    name: Option<Regex>,
    depth: usize,
    tree: String,
    entries: Vec<Value>,
    files: usize,
    full: bool,
}

impl Walk<'_> {
    /// Takes in one folder and those below it. The depth is at most [`DEEPEST`], and so is that of the calls.
    fn enter(&mut self, folder: &VaultFolder, depth: usize, indent: &str) -> Result<(), Refusal> {
        let mut children = self.view.list(folder, Depth::One)?;
        children.retain(|child| self.fits(child));
        children.sort_by_cached_key(sort_key);
        let last = children.len().saturating_sub(1);
        for (index, child) in children.into_iter().enumerate() {
            let (branch, below) =
                if index == last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let name = sort_key(&child);
            self.full |= self.entries.len() == CAP || self.tree.len() + name.len() > CHARS;
            if self.full {
                return Ok(());
            }
            self.tree += &format!("{indent}{branch}{name}");
            let stops = child.kind == Kind::Folder && depth == self.depth;
            self.entries.push(data(&child, stops));
            self.files += usize::from(child.kind == Kind::File);
            self.tree += if stops { " …\n" } else { "\n" };
            if child.kind == Kind::Folder && !stops {
                self.enter(&child.path.into(), depth + 1, &format!("{indent}{below}"))?;
            }
        }
        Ok(())
    }

    fn fits(&self, entry: &Entry) -> bool {
        let extension = || entry.path.extension().map(str::to_lowercase);
        self.name.as_ref().is_none_or(|name| name.is_match(entry.path.name()))
            && (entry.kind == Kind::Folder || self.extension.is_none() || self.extension == extension())
    }

    fn answer(self, folder: &VaultFolder) -> Output {
        let folders = self.entries.len() - self.files;
        let mut text = format!("{folder}: {}, {}", count(folders, "folder"), count(self.files, "file"));
        let mut filters = json!({ "depth": self.depth });
        if let Some(extension) = self.extension {
            filters["extension"] = json!(extension);
        }
        if let Some(name) = self.name {
            filters["nameRegex"] = json!(name.as_str());
        }
        let mut data = json!({
            "path": folder,
            "totals": { "entries": self.entries.len(), "files": self.files, "directories": folders },
            "appliedFilters": filters,
        });
        if self.entries.is_empty() {
            let notice = "nothing here fits; leave out a filter or list another folder";
            text += &format!("\n{notice}");
            data["notice"] = json!(notice);
        } else {
            text += &format!("\n```\n{}```", self.tree);
        }
        if self.full {
            let hint = "there is more: list a folder below, or narrow by extension, nameRegex or depth";
            text += &format!("\n{hint}");
            data["excluded"] = json!({ "reason": "entry_cap", "cap": CAP, "hint": hint });
        }
        data["entries"] = json!(self.entries);
        Output::new(text, data)
    }
}

/// The name, with a slash behind a folder's: the order of the listing.
fn sort_key(entry: &Entry) -> String {
    match entry.kind {
        Kind::File => entry.path.name().to_owned(),
        Kind::Folder => format!("{}/", entry.path.name()),
    }
}

fn data(entry: &Entry, stops: bool) -> Value {
    match (entry.kind, stops) {
        (Kind::File, _) => json!({ "path": entry.path, "type": "file" }),
        (Kind::Folder, false) => json!({ "path": entry.path, "type": "directory" }),
        (Kind::Folder, true) => json!({ "path": entry.path, "type": "directory", "truncated": true }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: x\n--- F/b.md: x\n--- F/p.png: x\n--- F/G/H/c.md: x\n--- F.md: x";

    #[test]
    fn a_folder_is_a_tree_down_to_its_depth() {
        check(
            ListNotes,
            VAULT,
            json!({}),
            expect![[r#"
            /: 2 folders, 4 files
            ```
            ├── F.md
            ├── F/
            │   ├── G/ …
            │   ├── b.md
            │   └── p.png
            └── a.md
            ```"#]],
        );
        check(
            ListNotes,
            VAULT,
            json!({"path": "/F/", "depth": 3, "extension": ".MD"}),
            expect![[r#"
            F: 2 folders, 2 files
            ```
            ├── G/
            │   └── H/
            │       └── c.md
            └── b.md
            ```"#]],
        );
        check(
            ListNotes,
            VAULT,
            json!({"nameRegex": "^[aF]", "depth": 1}),
            expect![[r#"
            /: 1 folder, 2 files
            ```
            ├── F.md
            ├── F/ …
            └── a.md
            ```"#]],
        );
        expect![[r#"{"path":"F","totals":{"entries":3,"files":2,"directories":1},"appliedFilters":{"depth":1},"entries":[{"path":"F/G","type":"directory","truncated":true},{"path":"F/b.md","type":"file"},{"path":"F/p.png","type":"file"}]}"#]].assert_eq(&data(ListNotes, VAULT, json!({"path": "F", "depth": 1})).to_string());
        expect![[r#"{"path":"","totals":{"entries":0,"files":0,"directories":0},"appliedFilters":{"depth":2,"nameRegex":"^$"},"notice":"nothing here fits; leave out a filter or list another folder","entries":[]}"#]].assert_eq(&data(ListNotes, VAULT, json!({"nameRegex": "^$"})).to_string());
    }

    #[test]
    fn a_thousand_entries_are_enough_and_the_rest_is_told() {
        let fixture: Vec<String> = (0..1_200).map(|number| format!("{number}.md: x")).collect();
        let answer = data(ListNotes, &fixture.join("\n--- "), json!({}));
        assert_eq!(answer["entries"].as_array().map(Vec::len), Some(CAP));
        assert_eq!(answer["excluded"]["reason"], "entry_cap");
    }

    #[test]
    fn what_cannot_be_listed_is_refused() {
        check(
            ListNotes,
            VAULT,
            json!({"path": "Nope"}),
            expect![
                "refused: note_missing: there is no `Nope` in the vault. list the folder or search for the name"
            ],
        );
        check(
            ListNotes,
            VAULT,
            json!({"path": "F/.."}),
            expect![[
                r#"refused: path_traversal: the path has a `.` or `..` segment: "F/..". give the path from the vault's root, with no `.` or `..` in any spelling"#
            ]],
        );
        check(
            ListNotes,
            VAULT,
            json!({"nameRegex": "(a"}),
            expect![
                "refused: regex_invalid: nameRegex is not valid: unclosed group. mend it; look-around and back-references are not known"
            ],
        );
        check(
            ListNotes,
            VAULT,
            json!({"nameRegex": "(a{999}){999}"}),
            expect![
                "refused: regex_unsafe: nameRegex would become too large. use no counted repeats inside of others"
            ],
        );
        check(
            ListNotes,
            VAULT,
            json!({"depth": 21}),
            expect!["refused: input_invalid: depth 21 is not between 1 and 20. give a depth from 1 to 20"],
        );
    }
}
