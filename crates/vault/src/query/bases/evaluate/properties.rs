//! What a file says: its front matter as values, and everything under `file`. Only what is asked for is made.

use std::sync::Arc;

use super::{Computed, Evaluator, failed};
use crate::catalog::{FileInfo, LinkInfo, Property};
use crate::path::VaultPath;
use crate::query::bases::dates::parse_date;
use crate::query::bases::value::{Day, Link, Value};
use crate::query::dql::date::Date;
use crate::text::Text;

impl Evaluator<'_> {
    /// A front-matter property; nothing if the note does not have it.
    pub(crate) fn property(&self, info: &FileInfo, name: &str) -> Value {
        info.property(name)
            .map_or(Value::Null, |property| self.value(property, info, self.texts.contains(name)))
    }

    /// All front-matter properties.
    pub(crate) fn properties(&self, info: &FileInfo) -> Value {
        let entry = |(name, property): &(Text, Property)| {
            (name.clone(), self.value(property, info, self.texts.contains(&**name)))
        };
        Value::object(info.properties.iter().map(entry).collect())
    }

    fn value(&self, property: &Property, info: &FileInfo, stays_text: bool) -> Value {
        match property {
            Property::Null => Value::Null,
            Property::Bool(yes) => Value::Bool(*yes),
            Property::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            Property::Text(text) => self.typed(text, info, stays_text),
            Property::List(items) => {
                Value::list(items.iter().map(|item| self.value(item, info, stays_text)).collect())
            }
            Property::Object(fields) => Value::object(
                fields
                    .iter()
                    .map(|(name, field)| (name.clone(), self.value(field, info, stays_text)))
                    .collect(),
            ),
        }
    }

    /// A text that is a link or a date as a whole is one.
    fn typed(&self, text: &Text, info: &FileInfo, stays_text: bool) -> Value {
        if let Some(link) = self.wiki_link(text, Some(&info.path)) {
            return Value::Link(Arc::new(link));
        }
        match parse_date(text, &self.local).filter(|_| !stays_text) {
            Some(day) => Value::Date(day),
            None => Value::Text(text.clone()),
        }
    }

    /// The link that a text is, if it is nothing but `[[a link]]`.
    pub(crate) fn wiki_link(&self, text: &str, from: Option<&VaultPath>) -> Option<Link> {
        let inner = text.trim().strip_prefix("[[")?.strip_suffix("]]")?;
        if inner.contains("[[") || inner.contains("]]") || inner.trim().is_empty() {
            return None;
        }
        let (target, display) = match inner.split_once('|') {
            Some((target, display)) => (target, Some(display.trim().to_owned())),
            None => (inner, None),
        };
        Some(Link { display, ..self.link_to(target, from) })
    }

    /// A link to a target, with its fragment if it has one.
    pub(crate) fn link_to(&self, target: &str, from: Option<&VaultPath>) -> Link {
        let (target, fragment) = match target.split_once('#') {
            Some((target, fragment)) if !target.contains("://") => (target, Some(fragment.trim().to_owned())),
            _ => (target, None),
        };
        let target = target.trim();
        let path = if target.contains("://") { None } else { self.resolve(target, from).cloned() };
        Link { target: target.to_owned(), fragment, path, display: None }
    }

    /// `file.name` and the like.
    pub(crate) fn file_field(&self, info: &FileInfo, name: &str) -> Computed {
        let path = &info.path;
        Ok(match name {
            "name" => Value::text(path.name()),
            "basename" => Value::text(path.stem()),
            "path" => Value::text(path.as_str()),
            "folder" => match path.parent().as_str() {
                "" => Value::text("/"),
                folder => Value::text(folder),
            },
            "ext" => Value::text(path.extension().unwrap_or("")),
            "size" => Value::Number(info.stat.size as f64),
            // The birth of a file is not kept; its last change is the best that is known.
            "ctime" | "mtime" => {
                let changed = Date::at(info.stat.modified_ns.div_euclid(1_000_000), self.local.clone());
                changed.map_or(Value::Null, |at| Value::Date(Day { at, clock: true }))
            }
            "tags" => {
                let tags = info.tag_names();
                self.charge(tags.len())?;
                Value::list(tags.iter().map(|tag| Value::text(format!("#{tag}"))).collect())
            }
            "links" => self.links_of(info, |link| !link.embed)?,
            "embeds" => self.links_of(info, |link| link.embed)?,
            "backlinks" => self.backlinks_of(info)?,
            "properties" => self.properties(info),
            "file" => Value::file(path),
            other => return failed(format!("a file has no property `{other}`")),
        })
    }

    fn links_of(&self, info: &FileInfo, wanted: impl Fn(&LinkInfo) -> bool) -> Computed {
        self.charge(info.links.len())?;
        let mut leads = self.leads.borrow_mut();
        let links = info.links.iter().filter(|link| wanted(link) && !link.target.is_empty());
        let links = links.map(|link| {
            Value::Link(Arc::new(Link {
                target: link.target.to_string(),
                fragment: link.fragment.as_deref().map(str::to_owned),
                path: leads.follow(link, &info.path).cloned(),
                display: None,
            }))
        });
        Ok(Value::list(links.collect()))
    }

    fn backlinks_of(&self, info: &FileInfo) -> Computed {
        let links = self.catalog.backlinks(&info.path, self.visible);
        self.charge(16 + links.len() * 4)?;
        let mut from: Vec<&VaultPath> = links.into_iter().map(|link| link.from).collect();
        from.dedup();
        let link = |path: &VaultPath| {
            let path = path.clone();
            Value::Link(Arc::new(Link {
                target: path.as_str().to_owned(),
                fragment: None,
                path: Some(path),
                display: None,
            }))
        };
        Ok(Value::list(from.into_iter().map(link).collect()))
    }

    /// Whether a file bears a tag (with or without `#`, in any case) or one below it.
    pub(crate) fn has_tag(info: &FileInfo, wanted: &str) -> bool {
        let wanted = wanted.trim_start_matches('#').trim_end_matches('/');
        let fits = |name: &str| match name.get(..wanted.len()) {
            Some(head) if name.is_ascii() && wanted.is_ascii() => {
                head.eq_ignore_ascii_case(wanted)
                    && matches!(name.as_bytes().get(wanted.len()), None | Some(b'/'))
            }
            _ if name.is_ascii() && wanted.is_ascii() => false,
            _ => {
                let (name, wanted) = (crate::catalog::fold(name), crate::catalog::fold(wanted));
                name.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        };
        !wanted.is_empty() && info.tags.iter().any(|tag| fits(&tag.name))
    }

    /// Whether a file lies in a folder, at any depth.
    pub(crate) fn in_folder(path: &VaultPath, folder: &str) -> bool {
        let folder = folder.trim().trim_matches('/');
        folder.is_empty() || path.as_str().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}
