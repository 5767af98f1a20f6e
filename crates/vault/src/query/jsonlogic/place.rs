//! Where something stands in a rule: its path for machines, and a line with a caret for people.

use std::fmt;

use serde_json::Value as Json;

/// How much of a rule is shown on either side of the caret.
const SHOWN: usize = 60;

/// A place in a rule; empty if it could not be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The way there, e.g. `and[1].fly`.
    pub path: String,
    /// The rule around it, on one line.
    line: String,
    /// Characters in front of the caret.
    column: usize,
}

impl Place {
    /// The first operator for which `is_it` says yes.
    pub(super) fn of(rule: &Json, is_it: impl Fn(&str, &Json) -> bool) -> Place {
        let mut search = Search { is_it: &|operator, values, _| is_it(operator, values), ..Search::new() };
        search.walk(rule, 0);
        search.place()
    }

    /// The first operator that is nested deeper than this.
    pub(super) fn deeper_than(rule: &Json, depth: u32) -> Place {
        let mut search = Search { is_it: &|_, _, at| at >= depth, ..Search::new() };
        search.walk(rule, 0);
        search.place()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return Ok(());
        }
        write!(out, "\nat {}\n{}\n{}^", self.path, self.line, " ".repeat(self.column))
    }
}

/// Writes a rule on one line and stops behind what was looked for.
struct Search<'a> {
    is_it: &'a dyn Fn(&str, &Json, u32) -> bool,
    text: String,
    path: Vec<String>,
    found: Option<(String, usize)>,
}

impl Search<'_> {
    fn new() -> Search<'static> {
        Search { is_it: &|_, _, _| false, text: String::new(), path: Vec::new(), found: None }
    }

    fn walk(&mut self, rule: &Json, depth: u32) {
        // Enough behind the place is written; a rule may be as large as a message.
        if self.found.as_ref().is_some_and(|(_, at)| self.text.len() > at + SHOWN * 4) {
            return;
        }
        match rule {
            Json::Array(items) => {
                self.text.push('[');
                for (number, item) in items.iter().enumerate() {
                    self.separate(number);
                    self.inside(format!("[{number}]"), item, depth + 1);
                }
                self.text.push(']');
            }
            Json::Object(map) => {
                self.text.push('{');
                for (number, (key, value)) in map.iter().enumerate() {
                    self.separate(number);
                    if self.found.is_none() && map.len() == 1 && (self.is_it)(key, value, depth) {
                        let path = format!("{}{}", self.path.concat(), dotted(key, self.path.is_empty()));
                        self.found = Some((path, self.text.len()));
                    }
                    self.text += &Json::from(key.as_str()).to_string();
                    self.text.push(':');
                    self.inside(dotted(key, self.path.is_empty()), value, depth + 1);
                }
                self.text.push('}');
            }
            other => self.text += &other.to_string(),
        }
    }

    fn inside(&mut self, step: String, value: &Json, depth: u32) {
        self.path.push(step);
        self.walk(value, depth);
        self.path.pop();
    }

    fn separate(&mut self, number: usize) {
        if number > 0 {
            self.text.push(',');
        }
    }

    fn place(self) -> Place {
        let Some((path, at)) = self.found else { return Place::default() };
        let (before, behind) = self.text.split_at(at);
        let before: Vec<char> = before.chars().rev().take(SHOWN).collect();
        let line: String = before.iter().rev().copied().chain(behind.chars().take(SHOWN)).collect();
        Place { path, line, column: before.len() }
    }
}

fn dotted(key: &str, first: bool) -> String {
    let key: String = key.chars().take(40).collect();
    if first { key } else { format!(".{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_caret_stands_under_the_operator() {
        let rule = json!({"and": [{"==": [1, 1]}, {"fly": [{"var": "path"}]}]});
        let place = Place::of(&rule, |operator, _| operator == "fly");
        assert_eq!(
            place.to_string(),
            "\nat and[1].fly\n{\"and\":[{\"==\":[1,1]},{\"fly\":[{\"var\":\"path\"}]}]}\n                      ^"
        );
        assert_eq!(Place::of(&rule, |operator, _| operator == "none").to_string(), "");
    }

    #[test]
    fn only_a_part_of_a_large_rule_is_shown() {
        let rule = json!({"or": [vec![json!("x".repeat(50)); 100], {"fly": "ü".repeat(1_000)}]});
        let shown = Place::of(&rule, |operator, _| operator == "fly").to_string();
        assert!(shown.lines().all(|line| line.chars().count() <= 2 * SHOWN), "{shown}");
    }
}
