//! How well a tool fits a query: words of its name count most, then its parameters and what people call such a thing,
//! then its description. A description alone is not enough, unless it holds the whole query.

use pipeline::registry::Listing;
use serde_json::Value;

/// What people say, and the word in a tool's name that they mean.
const SYNONYMS: [(&str, &str); 41] = [
    ("backlink", "linked"),
    ("backup", "checkpoint"),
    ("bookmark", "link"),
    ("broken", "health"),
    ("change", "diff"),
    ("commit", "checkpoint"),
    ("compare", "diff"),
    ("count", "stats"),
    ("day", "daily"),
    ("diagnose", "health"),
    ("diary", "daily"),
    ("difference", "diff"),
    ("directory", "folder"),
    ("duplicate", "health"),
    ("embed", "linked"),
    ("erase", "delete"),
    ("graph", "linked"),
    ("hashtag", "tag"),
    ("history", "checkpoint"),
    ("journal", "daily"),
    ("label", "tag"),
    ("link", "linked"),
    ("lint", "health"),
    ("many", "stats"),
    ("mention", "linked"),
    ("metadata", "frontmatter"),
    ("month", "daily"),
    ("number", "stats"),
    ("orphan", "health"),
    ("periodic", "daily"),
    ("problem", "health"),
    ("property", "frontmatter"),
    ("remove", "delete"),
    ("rename", "move"),
    ("revert", "restore"),
    ("statistics", "stats"),
    ("today", "daily"),
    ("undo", "restore"),
    ("version", "checkpoint"),
    ("week", "daily"),
    ("yesterday", "daily"),
];

/// Parameters that nearly every tool has say nothing about it.
const COMMON: [&str; 7] = ["path", "limit", "offset", "cursor", "query", "column", "content"];

/// Words that stand in many names and tell tools apart hardly.
const GENERAL: [&str; 5] = ["file", "get", "list", "note", "vault"];

/// A query, cut into words once.
pub(super) struct Query {
    phrase: String,
    words: Vec<String>,
}

impl Query {
    pub(super) fn new(text: &str) -> Query {
        let short: String = text.chars().take(400).collect();
        let phrase = spaced(&short);
        let words = phrase.split(' ').filter(|word| word.chars().count() >= 3).map(stem).collect();
        Query { phrase, words }
    }

    /// How well a tool fits; nothing if it does not.
    pub(super) fn score(&self, tool: &Listing) -> Option<u32> {
        let (name, description) = (spaced(&tool.spec.name), spaced(&tool.description));
        let in_name = !self.phrase.is_empty() && format!(" {name} ").contains(&format!(" {} ", self.phrase));
        let in_description = self.words.len() > 1 && description.contains(&self.phrase);
        let names = stems(&name);
        let parameters = parameters(&tool.schema);
        let mut score = if in_name { 200 } else { 0 } + if in_description { 20 } else { 0 };
        for word in &self.words {
            score += match () {
                () if names.contains(word) && GENERAL.contains(&word.as_str()) => 5,
                () if names.contains(word) => 30,
                () if means(word).any(|meant| names.contains(&meant)) => 25,
                () if parameters.contains(word) => 15,
                () => 0,
            };
        }
        if score == 0 {
            return None;
        }
        let described = stems(&description);
        let also = self.words.iter().filter(|word| described.contains(word)).count();
        Some(score + 3 * u32::try_from(also).unwrap_or(u32::MAX / 4))
    }
}

/// Lower case, everything that is no letter or digit a single space.
fn spaced(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn stems(text: &str) -> Vec<String> {
    text.split(' ').map(stem).collect()
}

/// A word without its ending, so that `links`, `linked` and `link` are one.
fn stem(word: &str) -> String {
    let cut = |ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3);
    ["ing", "ed", "s"].into_iter().find_map(cut).unwrap_or(word).to_owned()
}

fn means(word: &str) -> impl Iterator<Item = String> {
    SYNONYMS.iter().filter(move |(said, _)| stem(said) == *word).map(|(_, meant)| stem(meant))
}

/// The words in the names of a tool's own parameters.
fn parameters(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|map| map.keys());
    names.filter(|name| !COMMON.contains(&name.as_str())).flat_map(|name| stems(&spaced(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_their_endings() {
        for word in ["links", "linked", "linking", "link"] {
            assert_eq!(stem(word), "link");
        }
        assert_eq!(stem("tag"), "tag");
        assert_eq!(stem("used"), "used");
        assert_eq!(spaced("get_daily-note's"), "get daily note s");
    }

    #[test]
    fn synonyms_are_sorted_and_said_once() {
        assert!(SYNONYMS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
