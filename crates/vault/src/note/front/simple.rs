//! The front matter of nearly every note: `key: value` lines and lists of plain words, read without the YAML parser.
//!
//! Called first by [`super::split`], because a first build reads the front matter of every note and the parser was a good
//! part of it. Whatever has a quote, a comment, an indentation or a character with a meaning is not read here: `None`, and
//! `yaml.rs` reads it. What is read is read alike; `what_is_read_simply_is_what_the_parser_reads` holds that.

use serde_json::{Map, Value};

use super::yaml::plain;

/// Longer blocks and keys are not simple.
const LARGEST: usize = 16 << 10;
const LONGEST_KEY: usize = 100;

/// The properties, if all of them are simple.
pub(super) fn read(yaml: &str) -> Option<Map<String, Value>> {
    if yaml.is_empty() || yaml.len() > LARGEST {
        return None;
    }
    let mut map = Map::new();
    let mut lines = yaml.strip_suffix('\n').unwrap_or(yaml).split('\n').peekable();
    while let Some(line) = lines.next() {
        let (key, rest) = line.split_once(':')?;
        if !is_key(key) || map.contains_key(key) {
            return None;
        }
        let value = match rest.strip_prefix(' ') {
            Some(text) => value(text)?,
            None if !rest.is_empty() => return None,
            None => {
                let indent = lines.peek().and_then(|line| item(line)).map(|(indent, _)| indent);
                let mut items = Vec::new();
                while let Some((_, text)) = lines.next_if(|line| is_item(line, indent)).and_then(item) {
                    items.push(block_word(text)?);
                }
                if indent.is_some() { Value::Array(items) } else { Value::Null }
            }
        };
        map.insert(key.to_owned(), value);
    }
    Some(map)
}

fn is_key(key: &str) -> bool {
    key.len() <= LONGEST_KEY
        && key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_item(line: &str, indent: Option<usize>) -> bool {
    item(line).is_some_and(|(found, _)| Some(found) == indent)
}

/// The indentation and the text of `- text`.
fn item(line: &str) -> Option<(usize, &str)> {
    let inner = line.trim_start_matches(' ');
    inner.strip_prefix("- ").map(|text| (line.len() - inner.len(), text))
}

fn value(text: &str) -> Option<Value> {
    let Some(inner) = text.strip_prefix('[') else { return block_word(text) };
    let inner = inner.strip_suffix(']')?.trim_matches(' ');
    if inner.is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    let word = |text: &str| {
        let text = text.trim_matches(' ');
        is_word(text, |byte, _| matches!(byte, b' ' | b'_' | b'.' | b'/' | b'-')).then(|| plain(text))
    };
    inner.split(',').map(word).collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// A word in a line of its own. A colon means nothing if no space follows it.
fn block_word(text: &str) -> Option<Value> {
    let fits = |byte: u8, next: Option<&u8>| match byte {
        b' ' | b'_' | b'.' | b'/' | b'-' | b'+' | b',' | b'(' | b')' => true,
        b':' => next.is_some_and(u8::is_ascii_alphanumeric),
        _ => false,
    };
    is_word(text, fits).then(|| plain(text))
}

fn is_word(text: &str, fits: impl Fn(u8, Option<&u8>) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && !text.ends_with(' ')
        && bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| byte.is_ascii_alphanumeric() || fits(*byte, bytes.get(at + 1)))
}

#[cfg(test)]
mod tests {
    use super::super::yaml;
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    #[test]
    fn usual_front_matter_is_read_simply() {
        let usual = "title: A note 12\ntags:\n  - a/b\n  - c\naliases: [x, Y z]\ncreated: 2021-10-19\n\
            modified: 2021-12-04T08:59:00\npriority: 1\nempty:\ndone: true\nnone: []\n";
        let read = read(usual).expect("all of it is simple");
        assert_eq!(read, yaml::read(usual).unwrap().values);
        assert_eq!(read.len(), 9);
        for odd in [
            "a: 'x'",
            "a: x # y",
            "a: b: c",
            "a:  x",
            "a: x\n  y",
            "a: x\n- y",
            "a: 1\na: 2",
            "- a",
            "a: é",
            "a:x",
            "",
        ] {
            assert_eq!(super::read(odd), None, "{odd:?}");
        }
    }

    fn a_line() -> impl Strategy<Value = String> {
        let key = select(vec!["a", "b", "tags", "null", "true", "k-1", "1", ""]);
        let colon = select(vec![":", ": ", ":  ", " : ", ""]);
        let value = prop_oneof![
            select(vec![
                "",
                "x",
                "x y",
                "12",
                "1.5",
                "0x1f",
                "true",
                "~",
                "null",
                "2021-01-02",
                "08:59",
                "a:b",
                "a: b",
                "a:",
                "x #y",
                "x#y"
            ])
            .prop_map(str::to_owned),
            select(vec![
                "[]",
                "[a]",
                "[a, b]",
                "[a,b]",
                "[a, ]",
                "[ a , b ]",
                "[[a]]",
                "[a: b]",
                "[1, true]",
                "[a b, c/d]",
                "[a",
                "[a:b]"
            ])
            .prop_map(str::to_owned),
            "[a1 _./+,():-]{1,8}",
        ];
        let item = ("[ ]{0,3}", select(vec!["- ", "-", "-  "]), "[a1 :_./,-]{0,6}")
            .prop_map(|(indent, dash, text)| format!("{indent}{dash}{text}"));
        prop_oneof![
            4 => (key, colon, value).prop_map(|(key, colon, value)| format!("{key}{colon}{value}")),
            2 => item,
            1 => "[ a:-]{0,5}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn what_is_read_simply_is_what_the_parser_reads(lines in prop::collection::vec(a_line(), 1..6), end in select(vec!["", "\n"])) {
            let text = lines.join("\n") + end;
            if let Some(simple) = read(&text) {
                prop_assert_eq!(Ok(simple), yaml::read(&text).map(|document| document.values), "{:?}", text);
            }
        }
    }
}
