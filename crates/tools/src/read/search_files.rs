//! `search_files`: lines that match, in the whole vault, with the whole truth about what was not searched.

use std::fmt::Write as _;

use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::files::{Entry, Kind};
use vault::search::{Case, Cursor, Found, Match, Pattern, Query};
use vault::{Error, VaultFolder, VaultPath};

use crate::page::{count, page};

/// Matches of one answer at most.
const MOST: usize = 500;
/// Lines of context at most.
const MOST_CONTEXT: usize = 10;
/// How many files that could not be searched are named.
const NAMED: usize = 5;

/// The tool.
pub struct SearchFiles;

/// Find lines in the vault's text files by a regular expression, ignoring case. Every file is searched; the answer
/// counts all matching lines and says which files could not be searched.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The folder to search, at any depth; empty or `/` is the whole vault.
    #[serde(default)]
    path: VaultFolder,
    /// Regular expression, matched line by line; no look-around, no back references.
    pattern: String,
    /// Only files that fit this glob, e.g. `*.md` or `Projects/**`.
    file_pattern: Option<String>,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: bool,
    /// Tell `A` from `a`.
    #[serde(default)]
    case_sensitive: bool,
    /// Lines to show before and after each match, up to 10.
    #[serde(default)]
    context: usize,
    /// Matches to show at most, up to 500.
    #[serde(default = "fifty")]
    limit: usize,
    /// Where the page before ended, as its answer said.
    cursor: Option<String>,
}

fn fifty() -> usize {
    50
}

impl Tool for SearchFiles {
    const SPEC: Spec = Spec::new("search_files", Group::Read, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        check_folder(view, &input.path)?;
        let query = query(&input)?;
        let found = view.search(&query).map_err(|error| refusal(error, &input.pattern))?;
        let page = page(&found.matches, 0, MOST, length);
        let next = match (page.next, page.items.last()) {
            (Some(_), Some(last)) => Some(format!("{}:{}", last.line, last.path)),
            _ => found.next.as_ref().map(Cursor::to_string),
        };
        let text = words(&found, page.items, next.as_deref());
        let skipped: Vec<Value> = found
            .files_skipped
            .iter()
            .take(NAMED)
            .map(|(path, reason)| json!({ "path": path, "reason": reason }))
            .collect();
        let data = json!({
            "matches": page.items,
            "total_matches": found.total_matches,
            "files_matched": found.files_matched,
            "files_scanned": found.files_scanned,
            "files_skipped": found.files_skipped.len(),
            "skipped": skipped,
            "next": next,
        });
        let output = Output::new(text, data).from_vault(format!("search in {}", input.path));
        Ok(Plan::Answer(output.telling_rows(view, || page.items.iter().map(row).collect())))
    }
}

fn row(found: &Match) -> ResultRow {
    ResultRow::new(&found.path, format!("L{}: {}", found.line, found.line_text))
}

fn query(input: &Input) -> Result<Query, Refusal> {
    let pattern = match input.literal {
        true => Pattern::Literal(input.pattern.clone()),
        false => Pattern::Regex(input.pattern.clone()),
    };
    Ok(Query {
        case: if input.case_sensitive { Case::Exact } else { Case::Ignore },
        glob: input.file_pattern.clone(),
        folder: Some(input.path.clone()),
        context: input.context.min(MOST_CONTEXT),
        limit: input.limit.clamp(1, MOST),
        after: input.cursor.as_deref().map(str::parse).transpose()?,
        ..Query::new(pattern)
    })
}

/// A folder that is not there would look like one without matches.
fn check_folder(view: &View<'_>, folder: &VaultFolder) -> Result<(), Refusal> {
    let Some(path) = folder.path() else { return Ok(()) };
    // A folder above those that may be read is searched as far as they go.
    if !view.scope().may_read(path) && view.scope().may_enter(path) {
        return Ok(());
    }
    match view.look(path)? {
        Some(Entry { kind: Kind::Folder, .. }) => Ok(()),
        Some(_) => Err(file_instead(path)),
        None => Err(Error::Missing { path: path.clone(), near: view.near(path) }.into()),
    }
}

fn file_instead(path: &VaultPath) -> Refusal {
    let (folder, name) = (path.parent(), path.name());
    Refusal::new(
        "path_is_file",
        format!("`{path}` is a file, and folders are searched"),
        format!("use path \"{folder}\" and file_pattern {name:?}"),
    )
    .with("path", path)
}

/// What is not a regular expression may well have been meant as text; that is for the caller to say.
fn refusal(error: Error, pattern: &str) -> Refusal {
    let mut refusal = Refusal::from(error);
    if refusal.reason == "regex_invalid" {
        let short: String = pattern.chars().take(80).collect();
        refusal.hint += &format!("; to find the text {short:?} as it stands, add \"literal\": true");
    }
    refusal
}

fn length(found: &Match) -> usize {
    let around = found.before.iter().chain(&found.after).map(|line| line.len() + 10);
    found.path.as_str().len() + found.line_text.len() + 10 + around.sum::<usize>()
}

fn words(found: &Found, shown: &[Match], next: Option<&str>) -> String {
    let mut text = format!(
        "{} in {}; {} searched",
        count(found.total_matches, "matching line"),
        count(found.files_matched, "file"),
        count(found.files_scanned, "file"),
    );
    if !found.files_skipped.is_empty() {
        let named: Vec<String> =
            found.files_skipped.iter().map(|(path, reason)| format!("{path} ({reason})")).collect();
        let _ = write!(text, "\nnot searched: {}", crate::page::first_few(&named, NAMED));
    }
    let mut file = None;
    for found in shown {
        if file != Some(&found.path) {
            let _ = write!(text, "\n\n{}", found.path);
            file = Some(&found.path);
        }
        lines(&mut text, found);
    }
    if let Some(next) = next {
        let _ = write!(text, "\n\n[{} shown. Go on with cursor {next:?}]", shown.len());
    }
    text
}

fn lines(text: &mut String, found: &Match) {
    let first = found.line.saturating_sub(found.before.len());
    for (number, line) in (first..).zip(&found.before) {
        let _ = write!(text, "\nL{number}- {line}");
    }
    let _ = write!(text, "\nL{}: {}", found.line, found.line_text);
    for (number, line) in (found.line + 1..).zip(&found.after) {
        let _ = write!(text, "\nL{number}- {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: one\nTwo (ab)+ x\nthree\n--- Projects/b.md: two\ntwo abab\n--- c.txt: two\n--- d.png: two\u{0}";

    #[test]
    fn lines_are_found_in_any_case_and_what_was_not_searched_is_said() {
        check(
            SearchFiles,
            VAULT,
            json!({"path": "/", "pattern": "^two"}),
            expect![[r#"
            4 matching lines in 3 files; 3 files searched
            not searched: d.png (it is not text (it holds NUL bytes))

            Projects/b.md
            L1: two
            L2: two abab

            a.md
            L2: Two (ab)+ x

            c.txt
            L1: two"#]],
        );
    }

    #[test]
    fn a_glob_means_what_it_says() {
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "two", "file_pattern": "*.md"}),
            expect![[r#"
            3 matching lines in 2 files; 2 files searched

            Projects/b.md
            L1: two
            L2: two abab

            a.md
            L2: Two (ab)+ x"#]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "two", "file_pattern": "*.txt"}),
            expect![[r#"
            1 matching line in 1 file; 1 file searched

            c.txt
            L1: two"#]],
        );
    }

    #[test]
    fn a_pattern_is_never_taken_literally_unless_asked() {
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "(ab)+"}),
            expect![[r#"
            2 matching lines in 2 files; 3 files searched
            not searched: d.png (it is not text (it holds NUL bytes))

            Projects/b.md
            L2: two abab

            a.md
            L2: Two (ab)+ x"#]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "(ab)+", "literal": true}),
            expect![[r#"
            1 matching line in 1 file; 3 files searched
            not searched: d.png (it is not text (it holds NUL bytes))

            a.md
            L2: Two (ab)+ x"#]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "(ab"}),
            expect![[
                r#"refused: regex_invalid: the regular expression is not valid at character 1: unclosed group. escape special characters with `\`, or search for the text literally; to find the text "(ab" as it stands, add "literal": true"#
            ]],
        );
    }

    #[test]
    fn context_folder_and_pages() {
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "ab", "path": "Projects", "context": 1}),
            expect![[r#"
            1 matching line in 1 file; 1 file searched

            Projects/b.md
            L1- two
            L2: two abab"#]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "two", "limit": 2}),
            expect![[r#"
            4 matching lines in 3 files; 3 files searched
            not searched: d.png (it is not text (it holds NUL bytes))

            Projects/b.md
            L1: two
            L2: two abab

            [2 shown. Go on with cursor "2:Projects/b.md"]"#]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "two", "cursor": "2:Projects/b.md"}),
            expect![[r#"
            4 matching lines in 3 files; 3 files searched
            not searched: d.png (it is not text (it holds NUL bytes))

            a.md
            L2: Two (ab)+ x

            c.txt
            L1: two"#]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "two", "path": "Nowhere"}),
            expect![[
                r#"refused: note_missing: there is no `Nowhere` in the vault. list the folder or search for the name"#
            ]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "two", "path": "Projects/b.md"}),
            expect![[
                r#"refused: path_is_file: `Projects/b.md` is a file, and folders are searched. use path "Projects" and file_pattern "b.md""#
            ]],
        );
        check(
            SearchFiles,
            VAULT,
            json!({"pattern": "nothing like it"}),
            expect![[r#"
            0 matching lines in 0 files; 3 files searched
            not searched: d.png (it is not text (it holds NUL bytes))"#]],
        );
    }

    #[test]
    fn no_file_is_skipped_however_many_there_are() {
        let many: Vec<String> = (0..700).map(|number| format!("n/{number:03}.md: needle")).collect();
        let input = json!({"pattern": "needle", "limit": 1});
        check(
            SearchFiles,
            &many.join("\n--- "),
            input,
            expect![[r#"
            700 matching lines in 700 files; 700 files searched

            n/000.md
            L1: needle

            [1 shown. Go on with cursor "1:n/000.md"]"#]],
        );
    }
}
