//! `obsidian_search_notes`: notes that hold all words of a query, in their name or their text.
//!
//! Offsets in a match are relative to its context and count UTF-16 units, as the clients of the original slice them.
//! The other modes (Dataview, JSONLogic, ranked) are in `search_modes.rs`.

use std::num::NonZeroUsize;

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::index::{Holders, WordsQuery};

use super::search_modes;
use crate::page::{count, page};

/// Hits on one page.
const PAGE: usize = 50;
/// Words of one query at most.
const WORDS: usize = 32;
/// Characters on each side of a match at most.
const MOST_CONTEXT: usize = 500;
/// Matches of one note at most.
const MOST_MATCHES: usize = 50;
const CURSOR: &str = "after:";

/// Find notes. `text`: all words of `query` occur in the note or its name, in any case. `dataview`: a Dataview query
/// (TABLE, LIST, TASK, CALENDAR). `jsonlogic`: a rule over each note. `omnisearch`: the best notes by words and meaning.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    mode: Mode,
    /// The words or the Dataview query, for all modes but `jsonlogic`.
    query: Option<String>,
    /// For mode `jsonlogic`.
    logic: Option<Map<String, Value>>,
    /// Characters around each match, up to 500.
    #[serde(default = "hundred")]
    context_length: NonZeroUsize,
    /// Only paths that start with this; case counts.
    path_prefix: Option<String>,
    /// Matches to show of each note, up to 50.
    #[serde(default = "ten")]
    max_matches_per_hit: NonZeroUsize,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Mode {
    Text,
    Dataview,
    Jsonlogic,
    Omnisearch,
}

fn hundred() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(99)
}

fn ten() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(9)
}

/// The tool.
pub struct SearchNotes;

impl Tool for SearchNotes {
    const SPEC: Spec = Spec::new("obsidian_search_notes", Group::Read, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        check(&input)?;
        let (query, cursor) = (input.query.as_deref().unwrap_or_default(), input.cursor.as_deref());
        let structured = match input.mode {
            Mode::Text => None,
            Mode::Dataview => Some(search_modes::dataview(view, query, cursor)?),
            Mode::Jsonlogic => {
                Some(search_modes::logic(view, input.logic.clone().unwrap_or_default(), cursor)?)
            }
            Mode::Omnisearch => Some(search_modes::ranked(view, query, cursor)?),
        };
        if let Some(output) = structured {
            return Ok(Plan::Answer(output.from_vault("search")));
        }
        let search = Search::new(&input)?;
        let after = input.cursor.as_deref().map(read_cursor).transpose()?;
        let found = search.run(view, input.path_prefix.as_deref().unwrap_or_default(), after.as_ref())?;
        let page = page(&found.hits, 0, PAGE, Hit::length);
        let next = page.next.and(page.items.last()).map(|hit| format!("{CURSOR}{}", hit.path));
        let mut result = json!({
            "mode": "text",
            "hits": page.items.iter().map(Hit::data).collect::<Vec<Value>>(),
            "totalCount": found.total,
        });
        let mut text = format!("{} for {:?}", count(found.total, "note"), search.query);
        page.items.iter().for_each(|hit| text += &hit.words());
        if let Some(next) = &next {
            text += &format!("\n\n[{} shown. Go on with cursor {next:?}]", page.items.len());
            result["nextCursor"] = json!(next);
        }
        let mut data = json!({ "result": result, "effectiveQuery": search.query });
        if let Some(notice) = notice(found.total, found.unread) {
            text += &format!("\n{notice}");
            data["notice"] = json!(notice);
        }
        Ok(Plan::Answer(Output::new(text, data).from_vault("search")))
    }
}

/// Whether the input fits its mode.
fn check(input: &Input) -> Result<(), Refusal> {
    let refuse = |reason: &'static str, message: &str, hint: &str| {
        Err(Refusal::new(reason, message, hint).with("mode", input.mode))
    };
    let blank = input.query.as_deref().is_none_or(|query| query.trim().is_empty());
    match input.mode {
        Mode::Jsonlogic if input.logic.is_none() => refuse(
            "logic_required",
            "mode `jsonlogic` needs logic",
            "pass logic, or use mode text with query",
        ),
        Mode::Text | Mode::Dataview | Mode::Omnisearch if blank => {
            refuse("query_required", "there is nothing to search for", "pass query")
        }
        Mode::Text => Ok(()),
        _ if input.path_prefix.is_some() => {
            refuse("path_prefix_invalid_mode", "pathPrefix goes with mode `text` only", "drop pathPrefix")
        }
        Mode::Dataview | Mode::Jsonlogic | Mode::Omnisearch => Ok(()),
    }
}

fn read_cursor(text: &str) -> Result<VaultPath, Refusal> {
    text.strip_prefix(CURSOR).and_then(|path| VaultPath::parse(path).ok()).ok_or_else(|| {
        let hint = "pass nextCursor of the page before as it came, or leave it out";
        Refusal::new("cursor_invalid", "the cursor is not one of a search", hint)
    })
}

fn notice(hits: usize, unread: usize) -> Option<String> {
    match (hits, unread) {
        (0, 0) => Some("no note holds all of these words; try fewer, or another spelling".to_owned()),
        (_, 0) => None,
        (_, unread) => Some(format!("{} could not be read as text", count(unread, "note"))),
    }
}

/// The words of a query.
struct Search {
    query: String,
    /// Each word: all must occur.
    each: Vec<Regex>,
    /// Any of them: what is shown.
    any: Regex,
    context: usize,
    most: usize,
}

impl Search {
    fn new(input: &Input) -> Result<Search, Refusal> {
        let query = input.query.as_deref().unwrap_or_default();
        let mut words: Vec<String> = query.split_whitespace().map(regex::escape).collect();
        let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let compile =
            |source: &str| RegexBuilder::new(source).case_insensitive(true).build().map_err(|_| too_long());
        if words.len() > WORDS {
            return Err(too_long());
        }
        let each: Vec<Regex> = words.iter().map(|word| compile(word)).collect::<Result<_, _>>()?;
        // The longest first: where one word starts another, all of it is the match.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let any = match each.as_slice() {
            [only] => only.clone(),
            _ => compile(&words.join("|"))?,
        };
        Ok(Search {
            query,
            each,
            any,
            context: input.context_length.get().min(MOST_CONTEXT),
            most: input.max_matches_per_hit.get().min(MOST_MATCHES),
        })
    }

    /// The hits behind `after` in path order, and how many there are in all.
    fn run(&self, view: &View<'_>, prefix: &str, after: Option<&VaultPath>) -> Result<Found, Refusal> {
        let words: Vec<&str> = self.query.split(' ').collect();
        let most = PAGE + 1;
        match view.holders(&WordsQuery { words: &words, prefix, after, most })? {
            Some(holders) if holders.certain => self.page_of(view, &words, prefix, holders),
            Some(holders) => {
                let all = WordsQuery { words: &words, prefix, after: None, most: usize::MAX };
                let Some(Holders { paths, .. }) = view.holders(&all)? else {
                    return self.by_reading(view, prefix, after);
                };
                self.look_into(view, &paths, after, holders.unread)
            }
            None => self.by_reading(view, prefix, after),
        }
    }

    /// The page of notes that are known to be hits. One more than it holds is looked at, to know that there is another.
    fn page_of(
        &self,
        view: &View<'_>,
        words: &[&str],
        prefix: &str,
        holders: Holders,
    ) -> Result<Found, Refusal> {
        let mut found = Found { total: holders.total, unread: holders.unread, hits: Vec::new() };
        let mut paths = holders.paths;
        while let Some(last) = paths.last() {
            for path in &paths {
                view.go_on()?;
                match self.look(view, path) {
                    Looked::Hit(hit) => found.hits.push(hit),
                    // What the index knew has changed a moment ago.
                    Looked::None => found.total = found.total.saturating_sub(1),
                    Looked::Unread => {
                        found.total = found.total.saturating_sub(1);
                        found.unread += 1;
                    }
                }
            }
            let missing = (PAGE + 1).saturating_sub(found.hits.len());
            if missing == 0 || paths.len() <= PAGE {
                break;
            }
            // Others take the place of those that are hits no more.
            let more = WordsQuery { words, prefix, after: Some(last), most: PAGE + 1 };
            paths = view.holders(&more)?.map(|holders| holders.paths).unwrap_or_default();
        }
        Ok(found)
    }

    /// All hits among these notes, each of which is read.
    fn look_into(
        &self,
        view: &View<'_>,
        paths: &[VaultPath],
        after: Option<&VaultPath>,
        unread: usize,
    ) -> Result<Found, Refusal> {
        let mut found = Found { unread, ..Found::default() };
        for path in paths {
            view.go_on()?;
            match self.look(view, path) {
                Looked::Hit(hit) => {
                    found.total += 1;
                    if found.hits.len() <= PAGE && after.is_none_or(|after| after < path) {
                        found.hits.push(hit);
                    }
                }
                Looked::None => {}
                Looked::Unread => found.unread += 1,
            }
        }
        Ok(found)
    }

    /// Without an index: every note is read, on all cores, and those of the page once more.
    fn by_reading(&self, view: &View<'_>, prefix: &str, after: Option<&VaultPath>) -> Result<Found, Refusal> {
        let word = |pattern: &Regex| {
            regex::bytes::RegexBuilder::new(pattern.as_str())
                .case_insensitive(true)
                .build()
                .map_err(|_| too_long())
        };
        let words = self.each.iter().map(word).collect::<Result<Vec<_>, _>>()?;
        let (paths, unread) = view.read_for_words(prefix, &words)?;
        view.go_on()?;
        let start = after.map_or(0, |after| paths.partition_point(|path| path <= after));
        let mut found = Found { total: paths.len(), unread, hits: Vec::new() };
        for path in &paths[start..] {
            if found.hits.len() > PAGE {
                break;
            }
            match self.look(view, path) {
                Looked::Hit(hit) => found.hits.push(hit),
                Looked::None => found.total -= 1,
                Looked::Unread => {
                    found.total -= 1;
                    found.unread += 1;
                }
            }
        }
        Ok(found)
    }

    fn look(&self, view: &View<'_>, path: &VaultPath) -> Looked {
        let Ok(text) = view.text(path) else { return Looked::Unread };
        let holds = |word: &Regex| word.is_match(path.stem()) || word.is_match(&text);
        match self.each.len() > 1 && !self.each.iter().all(holds) {
            true => Looked::None,
            false => match self.hit(path, &text) {
                // The one word is the one that was looked for.
                hit if hit.total == 0 => Looked::None,
                hit => Looked::Hit(hit),
            },
        }
    }

    fn hit(&self, path: &VaultPath, text: &str) -> Hit {
        let name = path.stem();
        let mut hit = Hit { matches: Vec::new(), total: 0, path: path.clone() };
        for found in self.any.find_iter(name) {
            hit.take(self.most, || Shown::new(name, found.range(), usize::MAX, None));
        }
        let (mut line, mut counted) = (1, 0);
        for found in self.any.find_iter(text) {
            hit.take(self.most, || {
                line += text[counted..found.start()].matches('\n').count();
                counted = found.start();
                Shown::new(text, found.range(), self.context, Some(line))
            });
        }
        hit
    }
}

/// What came of reading one note.
enum Looked {
    Hit(Hit),
    None,
    Unread,
}

fn too_long() -> Refusal {
    Refusal::new("query_too_long", format!("the query has more than {WORDS} words"), "search for fewer words")
}

/// What a search found.
#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    total: usize,
    unread: usize,
}

/// A note with all the words.
struct Hit {
    path: VaultPath,
    matches: Vec<Shown>,
    total: usize,
}

impl Hit {
    fn take(&mut self, most: usize, shown: impl FnOnce() -> Shown) {
        self.total += 1;
        if self.matches.len() < most {
            self.matches.push(shown());
        }
    }

    fn length(&self) -> usize {
        self.path.as_str().len() + self.matches.iter().map(|shown| shown.context.len() + 60).sum::<usize>()
    }

    fn data(&self) -> Value {
        let matches: Vec<Value> = self.matches.iter().map(Shown::data).collect();
        let mut data = json!({ "filename": self.path, "matches": matches });
        if self.matches.len() < self.total {
            data["totalMatches"] = json!(self.total);
            data["truncated"] = json!(true);
        }
        data
    }

    fn words(&self) -> String {
        let mut text = format!(
            "\n\n{} ({})",
            self.path,
            match self.total {
                1 => "1 match".to_owned(),
                total => format!("{total} matches"),
            }
        );
        let mut last = None;
        for shown in &self.matches {
            // A line with several matches is read once.
            if last.replace(shown.line) == Some(shown.line) {
                continue;
            }
            let line = shown.line.map_or("name".to_owned(), |line| format!("L{line}"));
            let context = shown.context.split_whitespace().collect::<Vec<_>>().join(" ");
            text += &format!("\n{line}: {context}");
        }
        text
    }
}

/// One match with what stands around it.
struct Shown {
    context: String,
    start: usize,
    end: usize,
    /// None in the name.
    line: Option<usize>,
}

impl Shown {
    fn new(text: &str, at: std::ops::Range<usize>, around: usize, line: Option<usize>) -> Shown {
        let first = text[..at.start].char_indices().rev().take(around).last().map_or(at.start, |(at, _)| at);
        let last = text[at.end..].char_indices().nth(around).map_or(text.len(), |(more, _)| at.end + more);
        let units = |text: &str| text.encode_utf16().count();
        let start = units(&text[first..at.start]);
        Shown { context: text[first..last].to_owned(), start, end: start + units(&text[at]), line }
    }

    fn data(&self) -> Value {
        let mut data = json!({ "context": self.context, "match": { "start": self.start, "end": self.end } });
        if let Some(line) = self.line {
            data["line"] = json!(line);
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "Tea.md: # Leaves\n\n🍵 green TEA and tea\n--- F/b.md: green only\n--- F/c.md: tea\ngreen\n--- d.txt: green tea";

    fn text(query: &str) -> Value {
        json!({"mode": "text", "query": query})
    }

    #[test]
    fn a_note_must_hold_all_words_in_any_case() {
        check(
            SearchNotes,
            VAULT,
            text(" green  tea "),
            expect![[r#"
            2 notes for "green tea"

            F/c.md (2 matches)
            L1: tea green
            L2: tea green

            Tea.md (4 matches)
            name: Tea
            L3: # Leaves 🍵 green TEA and tea"#]],
        );
        let mut one = text("tea green");
        one["maxMatchesPerHit"] = json!(1);
        one["contextLength"] = json!(3);
        one["pathPrefix"] = json!("T");
        expect![[r#"{"result":{"mode":"text","hits":[{"filename":"Tea.md","matches":[{"context":"Tea","match":{"start":0,"end":3}}],"totalMatches":4,"truncated":true}],"totalCount":1},"effectiveQuery":"tea green"}"#]].assert_eq(&data(SearchNotes, VAULT, one).to_string());
        check(
            SearchNotes,
            VAULT,
            text("coffee"),
            expect![[r#"
            0 notes for "coffee"
            no note holds all of these words; try fewer, or another spelling"#]],
        );
        check(
            SearchNotes,
            &format!("{VAULT}\n--- .verger/ignore: F/"),
            text("green"),
            expect![[r#"
            1 note for "green"

            Tea.md (1 match)
            L3: # Leaves 🍵 green TEA and tea"#]],
        );
    }

    #[test]
    fn offsets_are_those_of_the_context_in_utf16() {
        let answer = data(SearchNotes, "a.md: 🍵🍵 tea 🍵", text("tea"));
        let found = &answer["result"]["hits"][0]["matches"][0];
        let units: Vec<u16> = found["context"].as_str().unwrap().encode_utf16().collect();
        let at = |key: &str| usize::try_from(found["match"][key].as_u64().unwrap()).unwrap();
        assert_eq!(String::from_utf16_lossy(&units[at("start")..at("end")]), "tea");
    }

    #[test]
    fn pages_put_together_are_all_hits() {
        let fixture: Vec<String> = (0..120).map(|number| format!("{number:03}.md: tea")).collect();
        let (mut cursor, mut seen) = (None, Vec::new());
        loop {
            let mut input = text("tea");
            input["cursor"] = json!(cursor);
            let result = data(SearchNotes, &fixture.join("\n--- "), input)["result"].take();
            assert_eq!(result["totalCount"], 120);
            seen.extend(result["hits"].as_array().unwrap().iter().map(|hit| hit["filename"].to_string()));
            match result.get("nextCursor") {
                Some(next) => cursor = next.as_str().map(str::to_owned),
                None => break,
            }
        }
        assert_eq!(seen.len(), 120);
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    }

    #[test]
    fn modes_without_their_input_are_refused_and_with_it_answered() {
        for (input, reason) in [
            (json!({"mode": "text"}), "query_required"),
            (json!({"mode": "text", "query": " "}), "query_required"),
            (json!({"mode": "dataview"}), "query_required"),
            (json!({"mode": "jsonlogic"}), "logic_required"),
            (json!({"mode": "jsonlogic", "logic": {}, "pathPrefix": "F/"}), "path_prefix_invalid_mode"),
            (json!({"mode": "omnisearch", "query": "x", "pathPrefix": "F/"}), "path_prefix_invalid_mode"),
        ] {
            let parsed: Input = serde_json::from_value(input.clone()).unwrap();
            let refusal = super::check(&parsed).unwrap_err();
            assert_eq!(refusal.reason, reason, "{input}");
        }
        check(SearchNotes, VAULT, json!({"mode": "jsonlogic", "logic": {"var": "tags"}}), expect!["0 hits"]);
        check(
            SearchNotes,
            VAULT,
            json!({"mode": "dataview", "query": "TABLE file.size AS size SORT file.size LIMIT 2"}),
            expect![[r#"
                2 hits
                F/c.md: {"size":9}
                F/b.md: {"size":10}"#]],
        );
        check(
            SearchNotes,
            VAULT,
            json!({"mode": "text", "query": "x", "cursor": "7"}),
            expect![
                "refused: cursor_invalid: the cursor is not one of a search. pass nextCursor of the page before as it came, or leave it out"
            ],
        );
        check(
            SearchNotes,
            VAULT,
            json!({"mode": "text", "query": "x", "contextLength": 0}),
            expect![
                "refused: input_invalid: the input does not fit: invalid value: integer `0`, expected a nonzero usize. the fields are mode, query, logic, contextLength, pathPrefix, maxMatchesPerHit, cursor"
            ],
        );
    }
}
