//! What of a note only its text can tell: its links as they are shown, and its list items.
//!
//! Read only for queries that ask for `file.outlinks`, `file.lists` or `file.tasks`; everything else comes from the
//! catalog. Nothing here depends on other files but where links lead, which is asked when values are made.

use std::sync::LazyLock;

use super::date::Zone;
use super::fields::Found;
use super::items::{Item, Lines, items};
use super::page::Follow;
use super::value::{Link, Object, Value};
use crate::note::{self, Parsed};
use crate::text::Text;

// The names of an item's values, each made once: a vault may have a hundred thousand items.
static ITEM_NAMES: LazyLock<[Text; 16]> = LazyLock::new(|| {
    [
        "symbol",
        "link",
        "section",
        "text",
        "tags",
        "line",
        "lineCount",
        "list",
        "outlinks",
        "path",
        "children",
        "task",
        "annotated",
        "subtasks",
        "real",
        "header",
    ]
    .map(Text::from)
});
static STATUS_NAMES: LazyLock<[Text; 4]> =
    LazyLock::new(|| ["status", "checked", "completed", "fullyCompleted"].map(Text::from));

/// Which items are asked for.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    All,
    Tasks,
}

/// Links and list items of a note.
#[derive(Debug, Default)]
pub(crate) struct Facts {
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
    pub(crate) fn read(text: &str) -> Facts {
        let parsed = note::parse(text);
        let items = items(text, &parsed, &Lines::of(text));
        Facts { links: links(&parsed), items }
    }

    /// `file.outlinks`: of front matter first, then links, then embeds.
    pub(crate) fn outlinks(&self, follow: &mut Follow<'_>) -> Value {
        let order = |link: &&PageLink| (!link.in_front, link.link.embed);
        let mut links: Vec<&PageLink> = self.links.iter().collect();
        links.sort_by_key(order);
        Value::list(links.into_iter().map(|link| Value::link(follow.link(&link.link))).collect())
    }

    /// All items, with their children in them; if only tasks are asked for, what is no task and in none may be null.
    fn values(&self, which: Which, follow: &mut Follow<'_>, local: &Zone) -> Vec<Value> {
        let count = self.items.len();
        let mut needed = vec![which == Which::All; count];
        for (index, item) in self.items.iter().enumerate() {
            needed[index] |= item.status.is_some() || item.parent.is_some_and(|parent| needed[parent]);
        }
        let mut children: Vec<Vec<Value>> = vec![Vec::new(); count];
        // Whether the task itself, if it is one, and all tasks below it are done.
        let mut done: Vec<bool> =
            self.items.iter().map(|item| item.status.is_none() || item.is_completed()).collect();
        let mut values = vec![Value::Null; count];
        // Children come behind their parents, so from the end every child is ready before its parent.
        for (index, item) in self.items.iter().enumerate().rev().filter(|(index, _)| needed[*index]) {
            let mut below = std::mem::take(&mut children[index]);
            below.reverse();
            let value = Value::object(self.item(item, done[index], below, follow, local));
            if let Some(parent) = item.parent {
                children[parent].push(value.clone());
                done[parent] &= done[index];
            }
            values[index] = value;
        }
        values
    }

    /// `file.lists`.
    pub(crate) fn lists(&self, follow: &mut Follow<'_>, local: &Zone) -> Vec<Value> {
        self.values(Which::All, follow, local)
    }

    /// `file.tasks`.
    pub(crate) fn tasks(&self, follow: &mut Follow<'_>, local: &Zone) -> Vec<Value> {
        let values = self.values(Which::Tasks, follow, local).into_iter().zip(&self.items);
        values.filter(|(_, item)| item.status.is_some()).map(|(value, _)| value).collect()
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
        let path = follow.from.as_str();
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
        let values = [
            Value::from(item.symbol.as_str()),
            Value::link(link),
            section.clone(),
            Value::from(item.text.as_str()),
            Value::list(item.tags.iter().map(|tag| Value::from(tag.as_str())).collect()),
            number(item.line),
            number(item.line_count),
            number(item.list),
            Value::list(links),
            Value::from(path),
            children.clone(),
            Value::Bool(item.status.is_some()),
            Value::Bool(!item.fields.is_empty()),
            children,
            Value::Bool(item.status.is_some()),
            section,
        ];
        let mut out = Object::of_distinct(ITEM_NAMES.iter().cloned().zip(values).collect());
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
        let [status_name, checked, completed, fully_completed] = &*STATUS_NAMES;
        item.fields.iter().for_each(|field| found.add(&field.key, &field.value, local));
        let fields = found.merged_with(Object::default());
        for (name, value) in fields.iter() {
            if !out.has(name) {
                out.set(name.clone(), follow.value(value));
            }
        }
        let Some(status) = item.status else { return };
        out.set(status_name.clone(), Value::from(status.to_string()));
        out.set(checked.clone(), Value::Bool(status != ' '));
        out.set(completed.clone(), Value::Bool(item.is_completed()));
        out.set(fully_completed.clone(), Value::Bool(fully));
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
