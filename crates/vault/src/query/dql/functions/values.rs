//! Functions that make and pick values.

use crate::query::dql::compare::is_truthy;
use crate::query::dql::evaluate::{Evaluator, Fault, failed};
use crate::query::dql::show::{link_title, show};
use crate::query::dql::value::{Link, Object, Value};
use std::sync::Arc;

pub(super) fn apply(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, Fault> {
    Ok(Some(match (name, arguments) {
        ("list" | "array", items) => Value::list(items.to_vec()),
        ("object", entries) => object(entries)?,
        ("typeof", [value]) => Value::from(value.type_name()),
        ("string", [value]) => {
            let text = show(value);
            at.charge(text.len())?;
            Value::from(text)
        }
        ("number", [Value::Number(number)]) => Value::Number(*number),
        ("number", [Value::Text(text)]) => first_number(text).map_or(Value::Null, Value::Number),
        ("number", [Value::Null]) => Value::Null,
        ("link" | "embed" | "elink" | "meta", _) => return Ok(links(at, name, arguments)),
        ("default" | "ldefault", [Value::Null, other]) => other.clone(),
        ("default" | "ldefault", [value, _]) => value.clone(),
        ("choice", [condition, yes, no]) => if is_truthy(condition) { yes } else { no }.clone(),
        ("display", [value]) => Value::from(display(value)),
        ("hash", [Value::Text(seed), Value::Text(text)]) => hash(&format!("{seed}{text}"), 0),
        ("hash", [Value::Text(seed), Value::Number(variant)]) => hash(seed, *variant as i64 as u32),
        ("hash", [Value::Text(seed), Value::Text(text), Value::Number(variant)]) => {
            hash(&format!("{seed}{text}"), *variant as i64 as u32)
        }
        ("extract", []) => Value::from("extract(object, key1, ...) requires at least 1 argument"),
        ("extract", [from, keys @ ..]) => extract(at, from, keys)?,
        _ => return Ok(None),
    }))
}

fn object(entries: &[Value]) -> Result<Value, Fault> {
    let mut out = Object::default();
    for pair in entries.chunks(2) {
        match pair {
            [Value::Text(name), value] => out.set(name.clone(), value.clone()),
            [_, _] => return failed("`object` takes texts as names"),
            _ => return failed("`object` takes names and values in pairs"),
        }
    }
    Ok(Value::object(out))
}

fn extract(at: &Evaluator<'_>, from: &Value, keys: &[Value]) -> Result<Value, Fault> {
    let mut out = Object::default();
    for key in keys {
        let Value::Text(name) = key else { return failed("`extract` takes texts as names") };
        let found = match at.index(from, key) {
            Err(Fault::Failed(_)) => Value::Null,
            other => other?,
        };
        out.set(name.clone(), found);
    }
    Ok(Value::object(out))
}

fn links(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Option<Value> {
    let file = |path: &str, embed: bool, display: Option<&str>| {
        let display = display.map(str::to_owned);
        Value::link(Link { embed, display, ..Link::file(at.full_path(path)) })
    };
    Some(match (name, arguments) {
        ("link" | "embed" | "elink", [Value::Null] | [Value::Null, _]) => Value::Null,
        ("embed", [_, Value::Null]) => Value::Null,
        ("link", [Value::Text(path)]) => file(path, false, None),
        ("link", [Value::Link(link)]) => Value::Link(link.clone()),
        ("link", [Value::Text(path), Value::Text(shown)]) => file(path, false, Some(shown)),
        ("link", [Value::Link(link), Value::Text(shown)]) => file(&link.path, false, Some(shown)),
        ("link", [Value::Text(path), Value::Null]) => file(path, false, None),
        ("link", [Value::Link(link), Value::Null]) => Value::Link(link.clone()),
        ("link", [Value::Text(path), Value::Text(shown), Value::Bool(embed)]) => {
            file(path, *embed, Some(shown))
        }
        ("link", [Value::Link(link), Value::Text(shown), Value::Bool(embed)]) => {
            file(&link.path, *embed, Some(shown))
        }
        ("link", [Value::Text(path), Value::Null, Value::Bool(embed)]) => file(path, *embed, None),
        ("link", [Value::Link(link), Value::Null, Value::Bool(embed)]) => file(&link.path, *embed, None),
        ("embed", [Value::Link(link)]) => Value::link(Link { embed: true, ..Link::clone(link) }),
        ("embed", [Value::Link(link), Value::Bool(embed)]) => {
            Value::link(Link { embed: *embed, ..Link::clone(link) })
        }
        ("elink", [Value::Text(url)] | [Value::Text(url), Value::Null]) => {
            Value::ExternalLink(Arc::new((url.to_string(), url.to_string())))
        }
        ("elink", [Value::Text(url), Value::Text(shown)]) => {
            Value::ExternalLink(Arc::new((url.to_string(), shown.to_string())))
        }
        ("meta", [Value::Link(link)]) => meta(link),
        _ => return None,
    })
}

fn meta(link: &Link) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let mut out = Object::default();
    out.set("display", text(&link.display));
    out.set("embed", Value::Bool(link.embed));
    out.set("path", Value::from(link.path.as_str()));
    out.set("subpath", text(&link.subpath));
    out.set("type", Value::from(link.kind.name()));
    Value::object(out)
}

/// The first number in a text.
fn first_number(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = bytes.iter().position(u8::is_ascii_digit)?;
    let mut end = start + digits(start);
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    let sign = usize::from(start > 0 && bytes[start - 1] == b'-');
    text.get(start - sign..end)?.parse().ok()
}

/// A value as plain text: links by what they show, Markdown marks left out.
fn display(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => plain(text),
        Value::Link(link) => match &link.display {
            Some(shown) if !shown.is_empty() => plain(shown),
            _ => link_title(link),
        },
        Value::List(list) => list.iter().map(display).collect::<Vec<_>>().join(", "),
        Value::ExternalLink(link) => plain(&link.1),
        other => show(other),
    }
}

/// A text without Markdown's brackets and marks.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((shown, length)) = link_at(rest) {
            out.push_str(&plain_marks(shown));
            rest = &rest[length..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    plain_marks(&out)
}

fn plain_marks(text: &str) -> String {
    let mut out = text.to_owned();
    for mark in ["**", "__", "~~", "==", "*", "`"] {
        if out.matches(mark).count() > 1 {
            out = out.replace(mark, "");
        }
    }
    out
}

/// A link at the start of the text: what it shows, and its length.
fn link_at(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix('!').unwrap_or(text);
    let mark = text.len() - inner.len();
    if let Some(wiki) = inner.strip_prefix("[[") {
        let end = wiki.find("]]")?;
        let shown = wiki[..end].split_once('|').map_or(&wiki[..end], |(_, shown)| shown);
        return Some((shown, mark + end + 4));
    }
    let named = inner.strip_prefix('[')?;
    let end = named.find("](")?;
    let close = named[end..].find(')')?;
    Some((&named[..end], mark + 1 + end + close + 1))
}

/// The number that Dataview makes of a text (cyrb53), the same in every run.
fn hash(text: &str, variant: u32) -> Value {
    let (mut a, mut b) = (0xdead_beef_u32 ^ variant, 0x41c6_ce57_u32 ^ variant);
    for unit in text.encode_utf16() {
        a = (a ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        b = (b ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    a = (a ^ (a >> 16)).wrapping_mul(2_246_822_507) ^ (b ^ (b >> 13)).wrapping_mul(3_266_489_909);
    b = (b ^ (b >> 16)).wrapping_mul(2_246_822_507) ^ (a ^ (a >> 13)).wrapping_mul(3_266_489_909);
    Value::Number(4_294_967_296.0 * f64::from(b & 0x1f_ffff) + f64::from(a))
}
