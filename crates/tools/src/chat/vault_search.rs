//! `vault_search`: notes by name or text, for chats that live in a note.

use std::collections::BTreeSet;

use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault::VaultPath;
use vault::finder::{FindQuery, How};

/// Notes of one answer at most.
const MOST: usize = 50;

/// The tool. It never finds the chat itself.
pub struct VaultSearch {
    /// The note in which the chat lives.
    pub chat: Option<VaultPath>,
}

/// Search the Obsidian vault for files by name or content. Returns file paths and names, the best first; notes whose name holds a
/// word of the query come before those whose text does. Use this to find relevant notes before reading them with file_read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The words to look for. A note matches if any of them occurs.
    query: String,
    /// Notes to list at most, up to 50.
    #[serde(default = "ten")]
    limit: usize,
}

fn ten() -> usize {
    10
}

/// A note that was found.
#[derive(Debug, Serialize)]
struct Hit {
    path: VaultPath,
    basename: String,
    matches: usize,
}

impl Tool for VaultSearch {
    const SPEC: Spec = Spec::new("vault_search", Group::Read, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let words: Vec<String> = input.query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let hits = match words.is_empty() {
            true => Vec::new(),
            false => self.find(view, &input.query, &words, input.limit.clamp(1, MOST))?,
        };
        let text = match hits.as_slice() {
            [] => "no files found; try other words".to_owned(),
            hits => serde_json::to_string(hits).unwrap_or_default(),
        };
        let row = |hit: &Hit| ResultRow { title: hit.basename.clone(), ..ResultRow::new(&hit.path, "") };
        let output = Output::new(text, &hits).from_vault("vault_search");
        Ok(Plan::Answer(output.telling_rows(view, || hits.iter().map(row).collect())))
    }
}

impl VaultSearch {
    fn find(
        &self,
        view: &View<'_>,
        query: &str,
        words: &[String],
        limit: usize,
    ) -> Result<Vec<Hit>, Refusal> {
        let mut seen: BTreeSet<VaultPath> = self.chat.iter().cloned().collect();
        let mut paths = named(view, words)?;
        let now = i64::try_from(view.now().timestamp().as_nanosecond()).unwrap_or(i64::MAX);
        let ranked = FindQuery {
            text: query.to_owned(),
            folder: None,
            only: None,
            since_ns: None,
            limit: limit + paths.len().min(MOST) + 1,
            how: How::Ranked,
        };
        paths.extend(view.find_notes(&ranked, now)?.notes.into_iter().map(|note| note.path));
        let fresh = paths.into_iter().filter(|path| path.is_note() && seen.insert(path.clone()));
        let mut hits = Vec::new();
        for path in fresh.take(limit) {
            view.go_on()?;
            let text = view.text(&path).unwrap_or_default().to_lowercase();
            let name = path.stem().to_lowercase();
            let matches = words.iter().map(|word| count(&text, word) + count(&name, word)).sum();
            hits.push(Hit { basename: path.stem().to_owned(), path, matches });
        }
        Ok(hits)
    }
}

fn count(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

/// Notes whose name holds a word, those that hold most of them first.
fn named(view: &View<'_>, words: &[String]) -> Result<Vec<VaultPath>, Refusal> {
    let held = |path: &VaultPath| {
        let name = path.stem().to_lowercase();
        words.iter().filter(|word| name.contains(word.as_str())).count()
    };
    let mut found: Vec<(usize, VaultPath)> = view.catalog()?.ask(|catalog, visible| {
        let notes = catalog.notes(visible).map(|info| (held(&info.path), info.path.clone()));
        notes.filter(|(held, _)| *held > 0).collect()
    });
    found.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    Ok(found.into_iter().map(|(_, path)| path).take(MOST + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    const VAULT: &str = "Quince.md: a tree\n--- Garden/Trees.md: the quince and the apple\n--- Chat.md: quince\n--- Other.md: nothing\n--- Secret.md: quince\n--- .vergerignore: Secret.md\n";

    fn tool() -> VaultSearch {
        VaultSearch { chat: VaultPath::parse("Chat.md").ok() }
    }

    #[test]
    fn names_come_first_and_neither_the_chat_nor_what_is_ignored_is_found() {
        check(
            tool(),
            VAULT,
            json!({"query": "QUINCE pear"}),
            expect![[
                r#"[{"path":"Quince.md","basename":"Quince","matches":1},{"path":"Garden/Trees.md","basename":"Trees","matches":1}]"#
            ]],
        );
        check(
            tool(),
            VAULT,
            json!({"query": "quince", "limit": 1}),
            expect![[r#"[{"path":"Quince.md","basename":"Quince","matches":1}]"#]],
        );
    }

    #[test]
    fn nothing_to_look_for_finds_nothing() {
        check(tool(), VAULT, json!({"query": "  "}), expect!["no files found; try other words"]);
        check(tool(), VAULT, json!({"query": "zebra"}), expect!["no files found; try other words"]);
    }
}
