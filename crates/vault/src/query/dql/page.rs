//! The data of a page: its fields and everything under `file`.
//!
//! [`Facts`] is what one note says by itself and could be kept as long as the file does not change. [`Facts::object`]
//! adds what depends on other files: where links lead, and who links here.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::date::{Civil, Date, Zone};
use super::inline::{EmojiDates, InlineField, LONGEST_LINE, full_line_field, inline_fields};
use super::items::{Item, Lines, distinct, items};
use super::pages::Pages;
use super::parse::{Cursor, front_value, inline_value, literal};
use super::text::canonical_key;
use super::value::{Link, Object, Value};
use crate::files::Stat;
use crate::note::blocks::BlockKind;
use crate::note::{self, Parsed};
use crate::path::VaultPath;

/// What a note says by itself.
#[derive(Debug)]
pub struct Facts {
    path: VaultPath,
    stat: Stat,
    front: Map<String, Json>,
    fields: Object,
    tags: Vec<String>,
    links: Vec<PageLink>,
    items: Vec<Item>,
}

/// A link of the page, not yet followed.
#[derive(Debug)]
struct PageLink {
    link: Link,
    at: usize,
    in_front: bool,
}

impl Facts {
    /// Reads a note.
    pub fn read(path: &VaultPath, stat: Stat, text: &str, local: &Zone) -> Facts {
        let parsed = note::parse(text);
        let front = parsed.front.as_ref().and_then(|front| front.values.as_ref().ok()).cloned();
        let front = front.unwrap_or_default();
        let lines = Lines::of(text);
        let items = items(text, &parsed, &lines);
        let mut found = Found::default();
        for field in line_fields(&parsed, &lines) {
            found.add(&field, local);
        }
        for field in items.iter().filter(|item| item.status.is_none()).flat_map(|item| &item.fields) {
            found.add(field, local);
        }
        let body_tags = parsed.tags.iter().filter(|tag| !tag.in_front).map(|tag| format!("#{}", tag.name));
        let tags = distinct(body_tags.chain(frontmatter_tags(&front)).collect());
        Facts {
            path: path.clone(),
            stat,
            fields: found.merged_with(front_fields(&front, local)),
            front,
            tags,
            links: links(&parsed),
            items,
        }
    }

    /// The page as queries see it.
    pub fn object(&self, pages: &dyn Pages, starred: bool, local: &Zone) -> Object {
        let mut out = Object::default();
        let mut follow = Follow { pages, from: &self.path, known: HashMap::new() };
        out.set("file", Value::object(self.file(&mut follow, starred, local)));
        for (name, value) in self.fields.iter().filter(|(name, _)| &***name != "file") {
            out.set(name.clone(), follow.value(value));
        }
        out
    }

    fn file(&self, follow: &mut Follow<'_>, starred: bool, local: &Zone) -> Object {
        let texts =
            |texts: &[String]| Value::list(texts.iter().map(|text| Value::from(text.as_str())).collect());
        let path = self.path.as_str();
        let mut out = Object::default();
        out.set("path", Value::from(path));
        out.set("folder", Value::from(self.path.parent().as_str()));
        out.set("name", Value::from(self.path.stem()));
        out.set("link", Value::link(Link::file(path)));
        out.set("outlinks", self.outlinks(follow));
        let inlinks = follow.pages.linking_to(&self.path);
        out.set(
            "inlinks",
            Value::list(inlinks.iter().map(|from| Value::link(Link::file(from.as_str()))).collect()),
        );
        out.set("etags", texts(&self.tags));
        out.set("tags", texts(&with_ancestors(&self.tags)));
        out.set("aliases", texts(&frontmatter_aliases(&self.front)));
        let (lists, tasks) = self.lists(follow, local);
        out.set("lists", Value::list(lists));
        out.set("tasks", Value::list(tasks));
        // The birth of a file is not kept; its last change is the best that is known.
        let changed = Date::at(self.stat.modified_ns.div_euclid(1_000_000), local.clone());
        let day = changed.as_ref().and_then(Date::start_of_day).map_or(Value::Null, Value::Date);
        let changed = changed.map_or(Value::Null, Value::Date);
        out.set("ctime", changed.clone());
        out.set("cday", day.clone());
        out.set("mtime", changed);
        out.set("mday", day);
        out.set("size", Value::Number(self.stat.size as f64));
        out.set("starred", Value::Bool(starred));
        out.set("frontmatter", Value::object(raw_object(&self.front)));
        out.set("ext", Value::from(self.path.extension().unwrap_or("")));
        if let Some(day) = self.day(local) {
            out.set("day", Value::Date(day));
        }
        out
    }

    fn outlinks(&self, follow: &mut Follow<'_>) -> Value {
        let order = |link: &&PageLink| (!link.in_front, link.link.embed);
        let mut links: Vec<&PageLink> = self.links.iter().collect();
        links.sort_by_key(order);
        Value::list(links.into_iter().map(|link| Value::link(follow.link(&link.link))).collect())
    }

    /// The day that the page is about: a field, or a date in its name.
    fn day(&self, local: &Zone) -> Option<Date> {
        for name in ["date", "day"] {
            let field = self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
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
        day_in_name(self.path.stem(), local)
    }

    /// All items, and those that are tasks, with their children in them.
    fn lists(&self, follow: &mut Follow<'_>, local: &Zone) -> (Vec<Value>, Vec<Value>) {
        let count = self.items.len();
        let mut children: Vec<Vec<Value>> = vec![Vec::new(); count];
        // Whether the task itself, if it is one, and all tasks below it are done.
        let mut done: Vec<bool> =
            self.items.iter().map(|item| item.status.is_none() || item.is_completed()).collect();
        let mut lists = vec![Value::Null; count];
        // Children come behind their parents, so from the end every child is ready before its parent.
        for (index, item) in self.items.iter().enumerate().rev() {
            let mut below = std::mem::take(&mut children[index]);
            below.reverse();
            let value = Value::object(self.item(item, done[index], below, follow, local));
            if let Some(parent) = item.parent {
                children[parent].push(value.clone());
                done[parent] &= done[index];
            }
            lists[index] = value;
        }
        let is_task = |(index, _): &(usize, &Value)| self.items[*index].status.is_some();
        let tasks = lists.iter().enumerate().filter(is_task).map(|(_, value)| value.clone()).collect();
        (lists, tasks)
    }

    /// The links in a part of the body.
    fn links_in(&self, span: &std::ops::Range<usize>) -> &[PageLink] {
        let start = self.links.partition_point(|link| link.in_front || link.at < span.start);
        let end = self.links.partition_point(|link| link.in_front || link.at < span.end);
        self.links.get(start..end).unwrap_or_default()
    }

    fn item(
        &self,
        item: &Item,
        fully: bool,
        children: Vec<Value>,
        follow: &mut Follow<'_>,
        local: &Zone,
    ) -> Object {
        let path = self.path.as_str();
        let section = match &item.heading {
            Some(heading) => Link::header(path, heading),
            None => Link::file(path),
        };
        let link = item.block_id.as_deref().map_or_else(|| section.clone(), |id| Link::block(path, id));
        let section = Value::link(section);
        let children = Value::list(children);
        let number = |number: usize| Value::Number(number as f64);
        let links = self.links_in(&item.span).iter();
        let links: Vec<Value> = links.map(|link| Value::link(follow.link(&link.link))).collect();
        let mut out = Object::default();
        out.set("symbol", Value::from(item.symbol.as_str()));
        out.set("link", Value::link(link));
        out.set("section", section.clone());
        out.set("text", Value::from(item.text.as_str()));
        out.set("tags", Value::list(item.tags.iter().map(|tag| Value::from(tag.as_str())).collect()));
        out.set("line", number(item.line));
        out.set("lineCount", number(item.line_count));
        out.set("list", number(item.list));
        out.set("outlinks", Value::list(links));
        out.set("path", Value::from(path));
        out.set("children", children.clone());
        out.set("task", Value::Bool(item.status.is_some()));
        out.set("annotated", Value::Bool(!item.fields.is_empty()));
        out.set("subtasks", children);
        out.set("real", Value::Bool(item.status.is_some()));
        out.set("header", section);
        if let Some(parent) = item.parent {
            out.set("parent", number(self.items[parent].line));
        }
        if let Some(id) = &item.block_id {
            out.set("blockId", Value::from(id.as_str()));
        }
        self.item_fields(item, fully, follow, local, &mut out);
        out
    }

    fn item_fields(&self, item: &Item, fully: bool, follow: &mut Follow<'_>, local: &Zone, out: &mut Object) {
        let mut found = Found::default();
        item.fields.iter().for_each(|field| found.add(field, local));
        let fields = found.merged_with(Object::default());
        for (name, value) in fields.iter() {
            if !out.has(name) {
                out.set(name.clone(), follow.value(value));
            }
        }
        let Some(status) = item.status else { return };
        out.set("status", Value::from(status.to_string()));
        out.set("checked", Value::Bool(status != ' '));
        out.set("completed", Value::Bool(item.is_completed()));
        out.set("fullyCompleted", Value::Bool(fully));
        for (name, others) in [
            ("created", ["created", "ctime", "cday"].as_slice()),
            ("due", &["due", "duetime", "dueday"]),
            ("completion", &["completion", "comptime", "compday"]),
            ("start", &["start"]),
            ("scheduled", &["scheduled"]),
        ] {
            let first = others.iter().find_map(|other| fields.get(other));
            let first = match first {
                Some(Value::List(list)) => list.first(),
                other => other,
            };
            if let Some(value) = first {
                out.set(name, follow.value(value));
            }
        }
    }
}

/// Inline fields by key, in the order of their first use.
#[derive(Default)]
struct Found {
    keys: Vec<Arc<str>>,
    values: HashMap<Arc<str>, Vec<Value>>,
}

impl Found {
    fn add(&mut self, field: &InlineField, local: &Zone) {
        let value = inline_value(&field.value, local);
        let canonical = canonical_key(&field.key);
        self.push(&field.key, value.clone());
        if canonical != field.key && !canonical.is_empty() {
            self.push(&canonical, value);
        }
    }

    fn push(&mut self, key: &str, value: Value) {
        match self.values.get_mut(key) {
            Some(values) => values.push(value),
            None => {
                let key: Arc<str> = key.into();
                self.keys.push(key.clone());
                self.values.insert(key, vec![value]);
            }
        }
    }

    /// These fields behind others; a key that is used more than once has a list.
    fn merged_with(mut self, mut out: Object) -> Object {
        for key in self.keys {
            let mut values = self.values.remove(&key).unwrap_or_default();
            match out.get(&key) {
                Some(Value::List(known)) => values = known.iter().cloned().chain(values).collect(),
                Some(Value::Null) | None => {}
                Some(other) => values.insert(0, other.clone()),
            }
            let value = if values.len() == 1 { values.remove(0) } else { Value::list(values) };
            out.set(key, value);
        }
        out
    }
}

/// Follows links from one page; each target once.
struct Follow<'a> {
    pages: &'a dyn Pages,
    from: &'a VaultPath,
    known: HashMap<String, String>,
}

impl Follow<'_> {
    fn link(&mut self, link: &Link) -> Link {
        if let Some(path) = self.known.get(&link.path) {
            return Link { path: path.clone(), ..link.clone() };
        }
        let found = match link.path.is_empty() {
            true => Some(self.from.clone()),
            false => self.pages.resolve(&link.path, Some(self.from)),
        };
        let path = found.map_or_else(|| link.path.clone(), |path| path.as_str().to_owned());
        self.known.insert(link.path.clone(), path.clone());
        Link { path, ..link.clone() }
    }

    fn value(&mut self, value: &Value) -> Value {
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

/// The fields of all lines that are in no list and are no rule.
fn line_fields(parsed: &Parsed, lines: &Lines<'_>) -> Vec<InlineField> {
    let mut out = Vec::new();
    let skipped = |kind: &BlockKind| matches!(kind, BlockKind::List | BlockKind::Rule);
    let mut skip = parsed.blocks.blocks.iter().filter(|block| skipped(&block.kind)).map(|block| {
        let end = block.span.end.saturating_sub(1).max(block.span.start);
        lines.at(block.span.start)..=lines.at(end)
    });
    let mut current = skip.next();
    for number in lines.at(parsed.body)..lines.count() {
        while current.as_ref().is_some_and(|range| *range.end() < number) {
            current = skip.next();
        }
        let line = lines.get(number);
        let in_list = current.as_ref().is_some_and(|range| range.contains(&number));
        if in_list || line.len() > LONGEST_LINE || !line.contains("::") {
            continue;
        }
        let found = inline_fields(line.trim(), EmojiDates::Ignore);
        if found.is_empty() {
            out.extend(full_line_field(line.trim()));
        } else {
            out.extend(found);
        }
    }
    out
}

fn links(parsed: &Parsed) -> Vec<PageLink> {
    let page_link = |link: &note::links::Link| {
        let target = match &link.fragment {
            Some(fragment) => format!("{}#{fragment}", link.target),
            None => link.target.clone(),
        };
        let shown = target.replace('#', " > ");
        let display = link.display.clone().filter(|display| !display.is_empty()).unwrap_or(shown);
        PageLink {
            link: Link { display: Some(display), embed: link.embed, ..Link::from_target(&target) },
            at: link.span.start,
            in_front: link.in_front,
        }
    };
    parsed.links.iter().map(page_link).collect()
}

/// The tags of front matter, with `#`: lists, or texts with commas or spaces, under `tag` or `tags`.
pub fn frontmatter_tags(front: &Map<String, Json>) -> Vec<String> {
    let tags = words(front, ["tag", "tags"], |c| c == ',' || c.is_whitespace());
    tags.into_iter().map(|tag| if tag.starts_with('#') { tag } else { format!("#{tag}") }).collect()
}

fn frontmatter_aliases(front: &Map<String, Json>) -> Vec<String> {
    distinct(words(front, ["alias", "aliases"], |c| c == ','))
}

fn words(front: &Map<String, Json>, names: [&str; 2], between: impl Fn(char) -> bool + Copy) -> Vec<String> {
    let mut out = Vec::new();
    for (_, value) in front.iter().filter(|(key, _)| names.iter().any(|name| key.eq_ignore_ascii_case(name)))
    {
        split_words(value, between, &mut out);
    }
    out
}

fn split_words(value: &Json, between: impl Fn(char) -> bool + Copy, out: &mut Vec<String>) {
    let text = match value {
        Json::Null => return,
        Json::Array(items) => return items.iter().for_each(|item| split_words(item, between, out)),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    out.extend(text.split(between).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
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

fn front_fields(front: &Map<String, Json>, local: &Zone) -> Object {
    let mut out = Object::default();
    for (key, value) in front {
        let value = typed(value, local);
        let canonical = canonical_key(key);
        out.set(key.as_str(), value.clone());
        if canonical != *key && !canonical.is_empty() && !front.contains_key(&canonical) {
            out.set(canonical, value);
        }
    }
    out
}

/// A value of front matter, texts read as dates, durations and links where they are such.
pub(crate) fn typed(value: &Json, local: &Zone) -> Value {
    match value {
        Json::String(text) => front_value(text, local),
        Json::Array(items) => Value::list(items.iter().map(|item| typed(item, local)).collect()),
        Json::Object(map) => {
            let entries = map.iter().map(|(name, value)| (Arc::from(name.as_str()), typed(value, local)));
            Value::object(entries.collect())
        }
        other => raw(other),
    }
}

fn raw(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(yes) => Value::Bool(*yes),
        Json::Number(number) => number.as_f64().map_or(Value::Null, Value::Number),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(raw).collect()),
        Json::Object(map) => Value::object(raw_object(map)),
    }
}

fn raw_object(map: &Map<String, Json>) -> Object {
    map.iter().map(|(name, value)| (Arc::from(name.as_str()), raw(value))).collect()
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

    use super::super::pages::NoPages;
    use super::*;

    fn object(text: &str) -> Object {
        let path = VaultPath::parse("Folder/2024-01-02 note.md").unwrap();
        let local = Zone::Fixed(0);
        Facts::read(&path, Stat::default(), text, &local).object(&NoPages, false, &local)
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

    proptest! {
        #[test]
        fn any_note_is_a_page(text in "(---\n[a-z: \\[\\]\\-#\n]{0,30}\n---\n)?[ \\-\\[\\]xa:>#^1.()📅2024\\n|]{0,120}") {
            object(&text);
        }
    }
}
