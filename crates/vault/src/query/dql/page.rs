//! The data of a page: its fields and everything under `file`, as far as a query asks for it.
//!
//! Made from what the catalog knows of a note; [`Facts`] are needed only for lists, tasks and outgoing links. What
//! depends on other files (where links lead, who links here) comes from [`Around`], within what the asker may see.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::date::{Civil, Date, Zone};
use super::facts::Facts;
use super::fields::{Typist, front_aliases, front_tags, raw_object, spells};
use super::items::distinct;
use super::parse::{Cursor, literal};
use super::value::{Link, Object, Value};
use super::wants::{FILE_PARTS, Wants};
use crate::catalog::FileInfo;
use crate::path::VaultPath;
use crate::text::Text;

static PART_NAMES: LazyLock<Vec<Text>> =
    LazyLock::new(|| FILE_PARTS.iter().map(|part| Text::from(*part)).collect());
static FILE: LazyLock<Text> = LazyLock::new(|| "file".into());

/// What of a page depends on other files, as far as the asker sees them.
pub(crate) trait Around {
    /// The file to which a target in a note leads.
    fn resolve(&mut self, target: &str, from: &VaultPath) -> Option<VaultPath>;

    /// The notes that link to a file.
    fn linking_to(&mut self, path: &VaultPath) -> Vec<VaultPath>;

    /// Whether the file is bookmarked.
    fn is_starred(&self, path: &VaultPath) -> bool;
}

/// Makes pages for one query.
#[derive(Debug)]
pub struct Maker {
    wants: Wants,
    typist: Typist,
    /// For every wanted field, where its property stood in the last note.
    hints: Vec<Cell<usize>>,
}

impl Maker {
    /// Pages with what is wanted, for a reader in this zone.
    pub fn new(wants: Wants, local: Zone) -> Maker {
        let hints = wants.fields().iter().map(|_| Cell::new(0)).collect();
        Maker { wants, typist: Typist::new(local), hints }
    }

    /// Whole pages.
    pub fn whole(local: &Zone) -> Maker {
        Maker::new(Wants::everything(), local.clone())
    }

    /// What is wanted.
    pub(crate) fn wants(&self) -> &Wants {
        &self.wants
    }

    /// Whether the note's text must be read for this.
    pub(crate) fn needs_text(&self, info: &FileInfo) -> bool {
        let wants = |part| self.wants.of_file(part);
        info.lists && wants("lists")
            || info.boxes && wants("tasks")
            || !info.links.is_empty() && wants("outlinks")
    }

    /// A page as the query sees it.
    pub(crate) fn object(&self, info: &FileInfo, facts: &Facts, around: &mut dyn Around) -> Object {
        let mut out = Object::default();
        let mut follow = Follow { around, from: &info.path, known: HashMap::new() };
        if self.wants.any_of_file() {
            out.set(FILE.clone(), Value::object(self.file(info, facts, &mut follow)));
        }
        if self.wants.all() {
            for (name, value) in self.typist.fields(info).iter().filter(|(name, _)| &***name != "file") {
                out.set(name.clone(), follow.value(value));
            }
            return out;
        }
        for (name, hint) in self.wants.fields().iter().zip(&self.hints) {
            if let Some(value) = self.typist.field(info, name, hint) {
                let value = match value {
                    Value::Link(_) | Value::List(_) | Value::Object(_) => follow.value(&value),
                    plain => plain,
                };
                out.set(name.clone(), value);
            }
        }
        out
    }

    fn file(&self, info: &FileInfo, facts: &Facts, follow: &mut Follow<'_>) -> Object {
        let mut out = Object::default();
        for name in PART_NAMES.iter().filter(|part| self.wants.of_file(part)) {
            let value = match &**name {
                "outlinks" => facts.outlinks(follow),
                "lists" => Value::list(facts.lists(follow, self.typist.local())),
                "tasks" => Value::list(facts.tasks(follow, self.typist.local())),
                "inlinks" => {
                    let from = follow.around.linking_to(&info.path);
                    Value::list(from.iter().map(|from| Value::link(Link::file(from.as_str()))).collect())
                }
                "starred" => Value::Bool(follow.around.is_starred(&info.path)),
                "day" => match self.day(info) {
                    Some(day) => Value::Date(day),
                    None => continue,
                },
                part => self.own_part(part, info),
            };
            out.set(name.clone(), value);
        }
        out
    }

    /// The parts that the note alone decides.
    fn own_part(&self, part: &str, info: &FileInfo) -> Value {
        let texts = |texts: Vec<String>| Value::list(texts.into_iter().map(Value::from).collect());
        // The birth of a file is not kept; its last change is the best that is known.
        let changed = || Date::at(info.stat.modified_ns.div_euclid(1_000_000), self.typist.local().clone());
        let day = || changed().as_ref().and_then(Date::start_of_day).map_or(Value::Null, Value::Date);
        match part {
            "path" => Value::from(info.path.as_str()),
            "folder" => Value::from(info.path.parent().as_str()),
            "name" => Value::from(info.path.stem()),
            "link" => Value::link(Link::file(info.path.as_str())),
            "etags" => texts(tags(info)),
            "tags" => texts(with_ancestors(&tags(info))),
            "aliases" => texts(front_aliases(&info.properties)),
            "ctime" | "mtime" => changed().map_or(Value::Null, Value::Date),
            "cday" | "mday" => day(),
            "size" => Value::Number(info.stat.size as f64),
            "frontmatter" => Value::object(raw_object(&info.properties)),
            "ext" => Value::from(info.path.extension().unwrap_or("")),
            _ => Value::Null,
        }
    }

    /// The day that the page is about: a field, or a date in its name.
    fn day(&self, info: &FileInfo) -> Option<Date> {
        let local = self.typist.local();
        for name in ["date", "day"] {
            let named = |key: &str| key.eq_ignore_ascii_case(name) || spells(key, name);
            let keys = info.properties.iter().map(|(key, _)| key);
            if !keys.chain(info.fields.iter().map(|(key, _)| key)).any(|key| named(key)) {
                continue;
            }
            let fields = self.typist.fields(info);
            let field = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            match field.map(|(_, value)| value) {
                Some(Value::Date(date)) => return Some(date.clone()),
                Some(Value::Link(link)) => {
                    if let Some(date) = literal(&link.path, Cursor::date) {
                        return date.in_zone(local);
                    }
                }
                _ => {}
            }
        }
        day_in_name(info.path.stem(), local)
    }
}

/// Follows links from one page; each target once.
pub(crate) struct Follow<'a> {
    pub(crate) around: &'a mut dyn Around,
    pub(crate) from: &'a VaultPath,
    known: HashMap<String, String>,
}

impl Follow<'_> {
    pub(crate) fn link(&mut self, link: &Link) -> Link {
        if let Some(path) = self.known.get(&link.path) {
            return Link { path: path.clone(), ..link.clone() };
        }
        let found = match link.path.is_empty() {
            true => Some(self.from.clone()),
            false => self.around.resolve(&link.path, self.from),
        };
        let path = found.map_or_else(|| link.path.clone(), |path| path.as_str().to_owned());
        self.known.insert(link.path.clone(), path.clone());
        Link { path, ..link.clone() }
    }

    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Link(link) => Value::link(self.link(link)),
            Value::List(list) => Value::list(list.iter().map(|item| self.value(item)).collect()),
            Value::Object(object) => {
                Value::object(object.iter().map(|(name, value)| (name.clone(), self.value(value))).collect())
            }
            other => other.clone(),
        }
    }
}

/// Tags with `#`: those of the body in their order, then those of front matter.
fn tags(info: &FileInfo) -> Vec<String> {
    let mut body: Vec<_> = info.tags.iter().filter(|tag| tag.body > 0).collect();
    body.sort_unstable_by_key(|tag| tag.body);
    let body = body.into_iter().map(|tag| format!("#{}", tag.name));
    distinct(body.chain(front_tags(&info.properties)).collect())
}

fn with_ancestors(tags: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for tag in tags {
        let mut tag = tag.as_str();
        out.push(tag.to_owned());
        while let Some((parent, _)) = tag.rsplit_once('/') {
            out.push(parent.to_owned());
            tag = parent;
        }
    }
    distinct(out)
}

/// The first `YYYY-MM-DD` or `YYYYMMDD` in a name.
fn day_in_name(name: &str, local: &Zone) -> Option<Date> {
    let bytes = name.as_bytes();
    let digits = |from: usize, count: usize| -> Option<i64> {
        let part =
            name.get(from..from + count).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?;
        part.parse().ok()
    };
    let dashed = (0..bytes.len()).find_map(|at| {
        let dashes = bytes.get(at + 4) == Some(&b'-') && bytes.get(at + 7) == Some(&b'-');
        dashes.then_some((digits(at, 4)?, digits(at + 5, 2)?, digits(at + 8, 2)?))
    });
    let plain =
        || (0..bytes.len()).find_map(|at| Some((digits(at, 4)?, digits(at + 4, 2)?, digits(at + 6, 2)?)));
    let (year, month, day) = dashed.or_else(plain)?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Date::new(Civil::day(year, month, day), local.clone())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::{Entry, Kind, Stat};

    /// A page by itself.
    struct Alone;

    impl Around for Alone {
        fn resolve(&mut self, _: &str, _: &VaultPath) -> Option<VaultPath> {
            None
        }

        fn linking_to(&mut self, _: &VaultPath) -> Vec<VaultPath> {
            Vec::new()
        }

        fn is_starred(&self, _: &VaultPath) -> bool {
            false
        }
    }

    fn info(text: &str) -> FileInfo {
        let path = VaultPath::parse("Folder/2024-01-02 note.md").unwrap();
        let entry = Entry { path, kind: Kind::File, stat: Stat::default() };
        crate::catalog::info_of(entry, text)
    }

    fn object(text: &str) -> Object {
        Maker::whole(&Zone::Fixed(0)).object(&info(text), &Facts::read(text), &mut Alone)
    }

    #[track_caller]
    fn check(text: &str, name: &str, expected: &str) {
        let page = object(text);
        assert_eq!(page.get(name).map(super::super::show::show).as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn fields_come_from_front_matter_lines_and_items() {
        check("---\na: 1\n---\na:: 2\n", "a", "1, 2");
        check("---\nMy Key: x\n---\n", "my-key", "x");
        check("text (b:: 2) text", "b", "2");
        check("- item [c:: 3]\n", "c", "3");
        check("> d:: 4\n", "d", "4");
        check("```\ne:: 5\n```\n", "e", "5");
        assert!(object("- [ ] task [f:: 6]\n").get("f").is_none(), "a task keeps its fields");
        assert!(object("file:: x\n").get("file").is_some_and(|file| file.type_name() == "object"));
    }

    const NOTE: &str =
        "(---\n[aA!b: \\[\\]\\-#0-9,\n]{0,40}\n---\n)?[ \\-\\[\\]xaA:>#^1.()📅2024\\n|!]{0,120}";

    proptest! {
        #[test]
        fn any_note_is_a_page(text in NOTE) {
            object(&text);
        }

        #[test]
        fn a_field_by_itself_is_the_field_of_the_whole_page(text in NOTE) {
            let info = info(&text);
            let whole = object(&text);
            let names: Vec<Text> = whole.iter().map(|(name, _)| name.clone()).collect();
            for name in names.iter().filter(|name| &***name != "file") {
                let alone = Typist::new(Zone::Fixed(0)).field(&info, name, &Cell::new(1));
                prop_assert_eq!(format!("{:?}", alone.as_ref()), format!("{:?}", whole.get(name)), "{}", name);
            }
            let mut follow = Follow { around: &mut Alone, from: &info.path, known: HashMap::new() };
            let facts = Facts::read(&text);
            let lists = facts.lists(&mut follow, &Zone::Fixed(0));
            let tasks = facts.tasks(&mut follow, &Zone::Fixed(0));
            prop_assert!(
                (info.lists || lists.is_empty()) && (info.boxes || tasks.is_empty()),
                "the text would not be read"
            );
        }
    }
}
