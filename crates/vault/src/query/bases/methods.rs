//! The methods of values: which one is meant for which type, and those of every type, of dates, links, files and patterns.
//!
//! On nothing every method gives nothing, except `isEmpty`, `isTruthy`, `isType` and `toString`. Links, HTML, pictures
//! and icons are texts too, so they have the methods of texts.

pub(crate) mod list;
pub(crate) mod number;
mod text;

use std::sync::Arc;

use super::ast::Expression;
use super::dates;
use super::evaluate::{Computed, Evaluator, Scope, failed};
use super::functions::to_file;
use super::names;
use super::show::{length, show};
use super::value::{Day, Link, Value};
use crate::catalog::FileInfo;

const TYPES: [&str; 14] = [
    "string", "number", "boolean", "date", "duration", "list", "object", "link", "file", "null", "regexp",
    "html", "image", "icon",
];

/// Calls a method; the parser has counted its arguments.
pub(crate) fn call(
    at: &Evaluator<'_>,
    base: &Value,
    name: &'static str,
    arguments: &[Expression],
    scope: Scope<'_>,
) -> Computed {
    at.charge(1)?;
    match (name, base) {
        ("isTruthy", _) => return Ok(Value::Bool(base.is_truthy())),
        ("isEmpty", _) => return Ok(Value::Bool(base.is_empty())),
        ("toString", _) => {
            at.fits(length(base))?;
            return at.text(show(base));
        }
        ("isType", _) => return is_type(base, &at.all(arguments, scope)?),
        (_, Value::Null) => return Ok(Value::Null),
        (_, Value::List(list)) => return list::call(at, list, name, arguments, scope),
        _ => {}
    }
    let arguments = at.all(arguments, scope)?;
    match base {
        Value::Text(text) => text::call(at, text, name, &arguments),
        Value::Number(number) => number::call(at, *number, name, &arguments),
        Value::Date(day) => of_date(at, day, name, &arguments),
        Value::Link(link) => of_link(at, link, name, &arguments),
        Value::File(path) => match at.info(path) {
            Some(info) => of_file(at, info, name, &arguments),
            None => Ok(Value::Null),
        },
        Value::Object(object) => match name {
            "keys" => at.list(object.entries().iter().map(|(name, _)| Value::Text(name.clone())).collect()),
            "values" => at.list(object.entries().iter().map(|(_, value)| value.clone()).collect()),
            _ => no_method(base, name),
        },
        Value::Pattern(pattern) if name == "matches" => match arguments.first() {
            None | Some(Value::Null) => Ok(Value::Bool(false)),
            Some(value) => {
                let text = show(value);
                at.charge(text.len())?;
                Ok(Value::Bool(pattern.regex.is_match(&text)))
            }
        },
        Value::Drawn(drawn) => text::call(at, &drawn.text, name, &arguments),
        other => no_method(other, name),
    }
}

/// A method of the row's own file, without a value for the file. Nothing if it is none of a file's own.
pub(crate) fn of_row(
    at: &Evaluator<'_>,
    info: &FileInfo,
    name: &'static str,
    arguments: &[Expression],
    scope: Scope<'_>,
) -> Option<Computed> {
    if !names::methods_of("file").contains(&name) {
        return None;
    }
    Some(at.all(arguments, scope).and_then(|arguments| of_file(at, info, name, &arguments)))
}

/// The refusal of a method that a type does not have.
pub(crate) fn no_method(value: &Value, name: &str) -> Computed {
    let kind = value.type_name();
    let known = names::methods_of(kind);
    let has = if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) };
    failed(format!("a {kind} has no method `{name}`{has}"))
}

fn is_type(base: &Value, arguments: &[Value]) -> Computed {
    let wanted = arguments.first().map(show).unwrap_or_default();
    if !TYPES.contains(&wanted.as_str()) {
        return failed(format!("there is no type `{wanted}`; there are: {}", TYPES.join(", ")));
    }
    Ok(Value::Bool(base.type_name() == wanted))
}

fn of_date(at: &Evaluator<'_>, day: &Day, name: &str, arguments: &[Value]) -> Computed {
    let formatted = |pattern: &str| match dates::format(&day.at, pattern) {
        Some(text) => at.text(text),
        None => failed("this date cannot be written"),
    };
    match name {
        "date" => match day.at.start_of_day() {
            Some(start) => Ok(Value::Date(Day { at: start, clock: false })),
            None => failed("this date is outside of the years that dates have"),
        },
        "format" => {
            let pattern = arguments.first().map(show).unwrap_or_default();
            at.fits(pattern.len() * 8)?;
            formatted(&pattern)
        }
        "time" => formatted("HH:mm:ss"),
        "relative" => at.text(dates::relative(&day.at, &at.now)),
        _ => no_method(&Value::Date(day.clone()), name),
    }
}

fn of_link(at: &Evaluator<'_>, link: &Arc<Link>, name: &'static str, arguments: &[Value]) -> Computed {
    match name {
        "asFile" => Ok(link.path.as_ref().map_or(Value::Null, Value::file)),
        "linksTo" => match link.path.as_ref().and_then(|path| at.info(path)) {
            Some(info) => links_to(at, info, arguments.first()),
            None => Ok(Value::Bool(false)),
        },
        _ if names::methods_of("string").contains(&name) => {
            text::call(at, &show(&Value::Link(link.clone())), name, arguments)
        }
        _ => no_method(&Value::Link(link.clone()), name),
    }
}

fn of_file(at: &Evaluator<'_>, info: &FileInfo, name: &'static str, arguments: &[Value]) -> Computed {
    let first = arguments.first();
    match name {
        "asLink" => {
            let display = first.filter(|display| !matches!(display, Value::Null)).map(show);
            Ok(Value::Link(Arc::new(Link { display, ..to_file(&info.path) })))
        }
        "hasLink" => links_to(at, info, first),
        "hasProperty" => Ok(Value::Bool(first.is_some_and(|name| info.property(&show(name)).is_some()))),
        "hasTag" => {
            at.charge(info.tags.len() * arguments.len())?;
            let has = |wanted: &Value| match wanted {
                Value::Text(text) => Evaluator::has_tag(info, text),
                Value::List(list) => list.iter().any(|tag| Evaluator::has_tag(info, &show(tag))),
                _ => false,
            };
            Ok(Value::Bool(arguments.iter().any(has)))
        }
        "inFolder" => match first {
            Some(Value::Text(folder)) => Ok(Value::Bool(Evaluator::in_folder(&info.path, folder))),
            _ => Ok(Value::Bool(false)),
        },
        _ => no_method(&Value::file(&info.path), name),
    }
}

/// Whether a file links to what a file, a link or a path names.
fn links_to(at: &Evaluator<'_>, info: &FileInfo, other: Option<&Value>) -> Computed {
    let found = match other {
        Some(Value::File(path)) => at.has_link(info, Some(path), "")?,
        Some(Value::Link(link)) => at.has_link(info, link.path.as_ref(), &link.target)?,
        Some(Value::Text(text)) => {
            let link = at.wiki_link(text, None).unwrap_or_else(|| at.link_to(text, None));
            at.has_link(info, link.path.as_ref(), &link.target)?
        }
        _ => false,
    };
    Ok(Value::Bool(found))
}
