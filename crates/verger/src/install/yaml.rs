//! YAML, edited in place: one entry below a top-level key is set or removed, line by line. The vault's own YAML reader
//! compares both sides afterwards: where more than the entry would change, nothing is changed.

use serde_json::{Map, Value};
use vault::note::front;

use super::Refused;

/// The text with `text[outer][name]` set. The same text if it is so already.
pub fn set(text: &str, outer: &str, name: &str, fields: &Value) -> Result<String, Refused> {
    let before = read(text)?;
    if before.get(outer).and_then(|entries| entries.get(name)) == Some(fields) {
        return Ok(text.to_owned());
    }
    let mut meant = before;
    let entries = meant.entry(outer).or_insert_with(|| Value::Object(Map::new()));
    if entries.is_null() {
        *entries = Value::Object(Map::new());
    }
    let Some(entries) = entries.as_object_mut() else { return Err(odd(outer)) };
    entries.insert(name.to_owned(), fields.clone());
    let lines = Lines::of(text);
    let after = match lines.entry(outer, name) {
        Some(range) => lines.with(range, &lines.show(outer, name, fields)),
        None => match lines.key(outer) {
            Some(at) => lines.with(at + 1..at + 1, &lines.show(outer, name, fields)),
            None => {
                let mut new = vec![format!("{outer}:")];
                new.extend(lines.show(outer, name, fields));
                lines.with(lines.all.len()..lines.all.len(), &new)
            }
        },
    };
    verified(after, &meant)
}

/// The text without `text[outer][name]`.
pub fn remove(text: &str, outer: &str, name: &str) -> Result<String, Refused> {
    let mut meant = read(text)?;
    let gone = meant.get_mut(outer).and_then(Value::as_object_mut).and_then(|entries| entries.remove(name));
    if gone.is_none() {
        return Ok(text.to_owned());
    }
    let lines = Lines::of(text);
    let range = lines.entry(outer, name).ok_or_else(|| odd(outer))?;
    let after = lines.with(range, &[]);
    // A key with nothing below it reads as null.
    if meant.get(outer).and_then(Value::as_object).is_some_and(Map::is_empty) {
        meant.insert(outer.to_owned(), Value::Null);
    }
    verified(after, &meant)
}

fn verified(after: String, meant: &Map<String, Value>) -> Result<String, Refused> {
    let is_as_meant = read(&after).is_ok_and(|now| now == *meant);
    is_as_meant.then_some(after).ok_or_else(|| {
        Refused::new(
            "it is written in a form that cannot be edited without touching other entries".to_owned(),
        )
    })
}

fn odd(outer: &str) -> Refused {
    Refused::new(format!("`{outer}` is not a list of entries on lines of their own"))
}

fn read(text: &str) -> Result<Map<String, Value>, Refused> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let body = body.strip_prefix("---\n").unwrap_or(body);
    if body.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Map::new());
    }
    let fenced = format!("---\n{}\n---\n", body.trim_end());
    let found = front::split(&fenced).filter(|front| front.block.end == fenced.len());
    let found = found.ok_or_else(|| Refused::new("it holds several documents".to_owned()))?;
    found.values.map_err(|error| {
        Refused::new(match error {
            // One line of ours stands before it.
            front::FrontError::Yaml { line, message } => {
                format!("{message} (line {})", line.saturating_sub(1))
            }
            other => other.to_string(),
        })
    })
}

/// A text by its lines.
struct Lines<'t> {
    all: Vec<&'t str>,
    end: &'static str,
    /// Whether the last line is ended.
    ended: bool,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Lines { all: text.lines().collect(), end, ended: text.is_empty() || text.ends_with('\n') }
    }

    /// The line of a top-level key with nothing behind it.
    fn key(&self, name: &str) -> Option<usize> {
        let is = |line: &str| {
            line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')).is_some_and(|rest| {
                let rest = rest.trim();
                rest.is_empty() || rest.starts_with('#') || rest == "{}" || rest == "null"
            })
        };
        self.all.iter().position(|line| is(line))
    }

    /// The lines of an entry below a top-level key.
    fn entry(&self, outer: &str, name: &str) -> Option<std::ops::Range<usize>> {
        let below = self.key(outer)? + 1;
        let indent = |line: &str| line.len() - line.trim_start().len();
        let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        let end = (below..self.all.len())
            .find(|at| !blank(self.all[*at]) && indent(self.all[*at]) == 0)
            .unwrap_or(self.all.len());
        let start = (below..end).find(|at| {
            let line = self.all[*at].trim();
            [format!("{name}:"), format!("\"{name}\":"), format!("'{name}':")].contains(&line.to_owned())
        })?;
        let own = indent(self.all[start]);
        let next = (start + 1..end).find(|at| !blank(self.all[*at]) && indent(self.all[*at]) <= own);
        let mut last = next.unwrap_or(end);
        while last > start + 1 && blank(self.all[last - 1]) {
            last -= 1;
        }
        Some(start..last)
    }

    /// The lines of a new entry, indented like those that are there.
    fn show(&self, outer: &str, name: &str, fields: &Value) -> Vec<String> {
        let unit = self.key(outer).and_then(|at| {
            let line = self.all.get(at + 1)?;
            let indent = &line[..line.len() - line.trim_start().len()];
            (!indent.is_empty() && !line.trim().is_empty() && !indent.contains('\t'))
                .then(|| indent.to_owned())
        });
        let unit = unit.unwrap_or_else(|| "  ".to_owned());
        let mut lines = vec![format!("{unit}{name}:")];
        for (key, field) in fields.as_object().into_iter().flatten() {
            match field {
                Value::Array(items) if !items.is_empty() => {
                    lines.push(format!("{unit}{unit}{key}:"));
                    // JSON's quotes are YAML's.
                    lines.extend(items.iter().map(|item| format!("{unit}{unit}- {item}")));
                }
                other => lines.push(format!("{unit}{unit}{key}: {other}")),
            }
        }
        lines
    }

    fn with(&self, range: std::ops::Range<usize>, new: &[String]) -> String {
        let mut lines: Vec<&str> = self.all[..range.start].to_vec();
        // A map that was written as empty is one no more.
        let key = range.start.checked_sub(1).and_then(|at| lines[at].strip_suffix("{}"));
        if let (Some(key), false) = (key, new.is_empty()) {
            lines[range.start - 1] = key.trim_end();
        }
        lines.extend(new.iter().map(String::as_str));
        lines.extend(&self.all[range.end..]);
        let mut text = lines.join(self.end);
        if self.ended && !text.is_empty() {
            text += self.end;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NASTY: &str = "# goose\nGOOSE_MODEL: x # mine\nextensions:\n  # tools\n  developer:\n    enabled: true\n    args:\n    - \"a: b\"\n\n  other: {enabled: false}\nafter: |\n  extensions:\n    verger: no\n";

    #[test]
    fn an_entry_is_added_and_removed_and_every_other_byte_stays() {
        let fields =
            json!({"type": "stdio", "cmd": "/bin/v", "args": ["mcp", "--vault", "/a: b"], "enabled": true});
        for text in
            ["", NASTY, "a: 1", "extensions:\n", "a: 1\nextensions: {}\nb: 2\n", &NASTY.replace('\n', "\r\n")]
        {
            let after = set(text, "extensions", "verger", &fields).unwrap();
            assert_eq!(read(&after).unwrap()["extensions"]["verger"], fields, "{after}");
            let lines: Vec<&str> = after.lines().collect();
            assert!(text.lines().all(|line| lines.contains(&line.trim_end_matches(" {}"))), "{after}");
            assert_eq!(set(&after, "extensions", "verger", &fields).unwrap(), after, "twice is as once");
            let back = remove(&after, "extensions", "verger").unwrap();
            assert_eq!(read(&back).unwrap().get("a"), read(text).unwrap().get("a"), "{back}");
            if text == NASTY {
                assert_eq!(back, text);
            }
        }
        let changed = set(NASTY, "extensions", "developer", &fields).unwrap();
        assert!(changed.contains("  other: {enabled: false}\nafter: |"), "{changed}");
    }

    #[test]
    fn what_cannot_be_read_or_edited_is_refused() {
        for (text, expected) in [
            ("a: [1\nb: 2\n", "(line"),
            ("extensions: {a: {b: 1}}\n", "cannot be edited"),
            ("extensions: 3\n", "`extensions` is not a list"),
            ("- a\n- b\n", "not a list of `key: value`"),
        ] {
            let error = set(text, "extensions", "verger", &json!({"x": 1})).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
