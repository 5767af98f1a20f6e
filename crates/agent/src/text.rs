//! Texts that people write for the agent (agents, skills, rules, workflows), and how their front matter is read.
//!
//! Whoever loads them (`verger`) knows the disk; here they are texts with an origin. What the vault brings may have come
//! with a download, so an origin is part of every text and a fault never stops the others from being read.

use pipeline::front::{self, FrontError};
use pipeline::refusal::nearest;
use serde::Serialize;
use serde_json::{Map, Value};

/// The longest file of this kind, in characters.
pub const LONGEST: usize = 50_000;

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// With Verger itself.
    BuiltIn,
    /// The person's own configuration.
    Global,
    /// The vault's `.verger` folder, or its root.
    Vault,
}

impl Origin {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Origin::BuiltIn => "built-in",
            Origin::Global => "global",
            Origin::Vault => "vault",
        }
    }
}

/// A text and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Whose it is.
    pub origin: Origin,
    /// Its path, from the vault's root or from the configuration's folder.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

impl Text {
    /// The file's name without its extension.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// Whether the person has trusted a text of the vault as it is now.
pub type Trusted<'t> = &'t dyn Fn(&Text) -> bool;

/// A text that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which.
    pub path: String,
    /// Why.
    pub fault: Fault,
}

/// Why a text cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing between `---` lines at its start.
    #[error("it has no front matter")]
    NoFront,
    /// Front matter that cannot be read.
    #[error(transparent)]
    Front(#[from] FrontError),
    /// Too long.
    #[error("it is longer than {most} characters")]
    TooLong {
        /// What would be allowed.
        most: usize,
    },
    /// Too many of them.
    #[error("there are more than {most} of its kind")]
    TooMany {
        /// What would be allowed.
        most: usize,
    },
    /// Others of its kind have taken all the room.
    #[error("it and the others of its kind are longer than {most} characters together")]
    NoRoom {
        /// What would be allowed.
        most: usize,
    },
    /// Something that must be said.
    #[error("`{field}` is missing")]
    Missing {
        /// What.
        field: &'static str,
    },
    /// Something said in another form.
    #[error("`{field}` is no {wanted}")]
    Kind {
        /// What.
        field: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// Something said at too great a length.
    #[error("`{field}` is longer than {most} characters")]
    FieldTooLong {
        /// What.
        field: &'static str,
        /// What would be allowed.
        most: usize,
    },
    /// A name that is none.
    #[error("`{name}` is no name")]
    Name {
        /// What was given.
        name: String,
    },
    /// A skill whose folder has another name.
    #[error("its name is `{name}`, and its folder is `{folder}`")]
    NameDiffers {
        /// The name it gives itself.
        name: String,
        /// The folder.
        folder: String,
    },
    /// A key that means nothing: perhaps a misspelt limit.
    #[error("there is no key `{key}`")]
    UnknownKey {
        /// What was given.
        key: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// No group of tools.
    #[error("there is no group `{name}`")]
    UnknownGroup {
        /// What was given.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// No tool.
    #[error("there is no tool `{name}`")]
    UnknownTool {
        /// What was given.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// A tool that could never be called.
    #[error("`{tool}` is a tool of the group `{group}`, which it does not have")]
    OutsideGroups {
        /// The tool.
        tool: String,
        /// Its group.
        group: &'static str,
    },
}

impl Fault {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Fault::NoFront => "start the file with `---`, `key: value` lines and `---`".to_owned(),
            Fault::Front(FrontError::Yaml { .. }) => {
                "mend that line; a value that holds `: ` or `#` goes in quotes".to_owned()
            }
            Fault::Front(_) => "write plain `key: value` lines".to_owned(),
            Fault::TooLong { .. } | Fault::FieldTooLong { .. } => "shorten it".to_owned(),
            Fault::NoRoom { .. } => "shorten it, or one of the others".to_owned(),
            Fault::TooMany { .. } => "remove those that are not needed".to_owned(),
            Fault::Missing { field } => format!("add a line `{field}: …`"),
            Fault::Kind { wanted, .. } => format!("write it as a {wanted}"),
            Fault::Name { .. } => {
                "use lower-case letters, digits and single hyphens between them, at most 64".to_owned()
            }
            Fault::NameDiffers { .. } => "make them the same".to_owned(),
            Fault::UnknownKey { near, .. }
            | Fault::UnknownGroup { near, .. }
            | Fault::UnknownTool { near, .. } => match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it, or see docs/guide/agents.md".to_owned(),
            },
            Fault::OutsideGroups { group, .. } => format!("add `{group}` to the groups, or remove the tool"),
        }
    }
}

/// Whether a text is a name: lower-case letters and digits, with single hyphens between them, at most 64.
pub fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// Words on one line: what breaks lines or hides is taken out, so that a description cannot pose as something else.
pub fn one_line(text: &str) -> String {
    let seen: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_invisible(*c))
        .collect();
    seen.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// At most so many characters; `…` says that something is missing.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Refuses a text of more characters.
pub(crate) fn fits(text: &str, most: usize) -> bool {
    text.len() <= most || text.chars().nth(most).is_none()
}

/// The front matter of a text, field by field.
pub(crate) struct Fields {
    values: Map<String, Value>,
}

impl Fields {
    /// Reads a text: its fields, and the body behind them.
    pub(crate) fn read(text: &str, longest: usize) -> Result<(Fields, &str), Fault> {
        if !fits(text, longest) {
            return Err(Fault::TooLong { most: longest });
        }
        let front = front::split(text).ok_or(Fault::NoFront)?;
        let body = text.get(front.block.end..).unwrap_or_default().trim();
        Ok((Fields { values: front.values? }, body))
    }

    /// Refuses keys that are not among these: a misspelt limit must not look like none.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Fault> {
        match self.values.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(Fault::UnknownKey {
                key: one_line(&clip(key, 64)),
                near: nearest(key, known.iter().copied()).map(str::to_owned),
            }),
            None => Ok(()),
        }
    }

    fn value(&self, field: &str) -> Option<&Value> {
        self.values.get(field).filter(|value| !value.is_null())
    }

    /// A text; blank counts as not there.
    pub(crate) fn text(&self, field: &'static str, most: usize) -> Result<Option<String>, Fault> {
        let text = match self.value(field) {
            None => return Ok(None),
            Some(Value::String(text)) => text.trim().to_owned(),
            // `name: 2024` is a number to YAML and a name to people.
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => return Err(Fault::Kind { field, wanted: "text" }),
        };
        match text.as_str() {
            "" => Ok(None),
            text if !fits(text, most) => Err(Fault::FieldTooLong { field, most }),
            _ => Ok(Some(text)),
        }
    }

    /// A list of words, written as a list or in one line. Not there and empty are two things.
    pub(crate) fn list(&self, field: &'static str) -> Result<Option<Vec<String>>, Fault> {
        let wrong = Fault::Kind { field, wanted: "list of names" };
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(line)) => Ok(Some(words(line))),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(|text| text.trim().to_owned()));
                texts.collect::<Option<Vec<String>>>().ok_or(wrong).map(Some)
            }
            Some(_) => Err(wrong),
        }
    }
}

/// Words between commas and spaces; what stands in brackets belongs to its word.
fn words(line: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = line.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case() {
        for name in ["a", "tidy-up", "2024", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "A", "a_b", "a/b", "..", "ä", &"x".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_line_stays_a_line() {
        assert_eq!(one_line("a\r\nb\u{200b}\u{202e}\u{1b}[2J \t c"), "a b[2J c");
    }

    #[test]
    fn windows_line_ends_and_a_byte_order_mark_are_read() {
        let (fields, body) =
            Fields::read("\u{feff}---\r\nname: a\r\nlist:\r\n  - x\r\n---\r\nBody\r\n", 100).unwrap();
        assert_eq!(fields.text("name", 10).unwrap().as_deref(), Some("a"));
        assert_eq!(fields.list("list").unwrap(), Some(vec!["x".to_owned()]));
        assert_eq!(body, "Body");
    }

    #[test]
    fn hostile_front_matter_is_a_fault_and_not_a_hang() {
        let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n---\n";
        let deep = format!("---\na: {}\n---\n", "[".repeat(5_000));
        for text in [
            "",
            "no front",
            "---\nopen",
            "---\n[1]\n---\n",
            "---\na: 1\na: 2\n---\n",
            "---\na: \"x\n---\n",
            "---\na: b: c\n---\n",
            bomb,
            &deep,
        ] {
            assert!(Fields::read(text, LONGEST).is_err(), "{text}");
        }
        let huge = format!("---\nname: a\n---\n{}", "x".repeat(LONGEST));
        assert_eq!(Fields::read(&huge, LONGEST).err(), Some(Fault::TooLong { most: LONGEST }));
    }

    #[test]
    fn lists_are_written_in_several_ways() {
        let list = |line: &str| Fields::read(&format!("---\n{line}\n---\n"), 1_000).unwrap().0.list("t");
        let ab = Some(vec!["a".to_owned(), "b".to_owned()]);
        for line in ["t: [a, b]", "t:\n- a\n- b", "t: a, b", "t: a b", "t: \"a,b\""] {
            assert_eq!(list(line).unwrap(), ab, "{line}");
        }
        assert_eq!(
            list("t: Bash(git add:*, git commit) Read").unwrap().unwrap(),
            ["Bash(git add:*, git commit)", "Read"]
        );
        assert_eq!(list("t: []").unwrap(), Some(vec![]));
        assert_eq!(list("t:").unwrap(), None);
        assert_eq!(list("u: 1").unwrap(), None);
        for line in ["t: 3", "t: {a: b}", "t: [a, 3]"] {
            assert!(list(line).is_err(), "{line}");
        }
    }
}
