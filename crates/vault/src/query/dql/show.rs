//! Values as texts: what `string(…)` and `"" + …` give, and the numbers in them.

use super::date::Date;
use super::duration::Duration;
use super::format;
use super::value::{Link, LinkType, Value};

/// What stands for nothing.
pub(crate) const NOTHING: &str = "\\-";

/// A value as text.
pub fn show(value: &Value) -> String {
    write(value, Nested::No)
}

#[derive(Clone, Copy, PartialEq)]
enum Nested {
    Yes,
    No,
}

fn write(value: &Value, nested: Nested) -> String {
    match value {
        Value::Null => NOTHING.to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => show_number(*number),
        Value::Text(text) => text.to_string(),
        Value::Date(date) => show_date(date),
        Value::Duration(duration) => show_duration(duration),
        Value::Link(link) => show_link(link),
        Value::List(list) => {
            let inner: Vec<String> = list.iter().map(|item| write(item, Nested::Yes)).collect();
            let inner = inner.join(", ");
            if nested == Nested::Yes { format!("[{inner}]") } else { inner }
        }
        Value::Object(object) => {
            let inner = object.iter().map(|(name, value)| format!("{name}: {}", write(value, Nested::Yes)));
            format!("{{ {} }}", inner.collect::<Vec<_>>().join(", "))
        }
        Value::Function(_) => "<function>".to_owned(),
        Value::ExternalLink(link) => format!("[{}]({})", link.1, link.0),
        Value::Pair(pair) => format!("{}: {}", write(&pair.0, nested), write(&pair.1, nested)),
    }
}

/// A number as JavaScript writes it.
pub fn show_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let size = number.abs();
    if (1e-6..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
        _ => text,
    }
}

/// A date, with its time if it is not midnight.
pub fn show_date(date: &Date) -> String {
    let civil = date.civil();
    let midnight = civil.hour == 0 && civil.minute == 0 && civil.second == 0;
    format::format(date, if midnight { "MMMM dd, yyyy" } else { "h:mm a - MMMM dd, yyyy" })
}

/// A duration in words: `1 hour, 30 minutes`.
pub fn show_duration(duration: &Duration) -> String {
    let words = duration.normalized();
    let words = words.parts().map(|(unit, amount)| {
        let name = unit.name();
        let name = if amount.abs() == 1.0 { &name[..name.len() - 1] } else { name };
        format!("{} {name}", grouped(amount, 0, 3))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A link as Markdown: `[[path|name]]`.
pub fn show_link(link: &Link) -> String {
    let embed = if link.embed { "!" } else { "" };
    let path = link.path.replace('|', "\\|");
    let subpath = link.subpath.as_deref().unwrap_or("").replace('|', "\\|");
    let target = match link.kind {
        LinkType::File => path,
        LinkType::Header => format!("{path}#{subpath}"),
        LinkType::Block => format!("{path}#^{subpath}"),
    };
    format!("{embed}[[{target}|{}]]", link_title(link))
}

/// The text that a link shows: its display, or the file's name and what is behind `#`.
pub fn link_title(link: &Link) -> String {
    if let Some(display) = link.display.as_deref().filter(|display| !display.is_empty()) {
        return display.to_owned();
    }
    let name = link.path.rsplit('/').next().unwrap_or(&link.path);
    let name = name.strip_suffix(".md").unwrap_or(name);
    match &link.subpath {
        Some(subpath) if link.kind != LinkType::File => format!("{name} > {subpath}"),
        _ => name.to_owned(),
    }
}

/// A number with commas between thousands and so many digits behind the point.
pub(crate) fn grouped(number: f64, least: usize, most: usize) -> String {
    if !number.is_finite() {
        return show_number(number).replace("Infinity", "∞");
    }
    let rounded = format!("{:.most$}", round_half_up(number.abs(), most));
    let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    let mut fraction = fraction.to_owned();
    while fraction.len() > least && fraction.ends_with('0') {
        fraction.pop();
    }
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out = format!("{out}.{fraction}");
    }
    if number < 0.0 { format!("-{out}") } else { out }
}

/// The exact decimal digits decide as they are written, not as they are stored: 1.005 rounds up.
fn round_half_up(number: f64, digits: usize) -> f64 {
    let text = format!("{number}e{digits}");
    let shifted: f64 = text.parse().unwrap_or(number);
    format!("{}e-{digits}", (shifted + 0.5).floor()).parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::dql::duration::Unit;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        for (number, expected) in [
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-7"),
            (123456789012.0, "123456789012"),
            (-0.0, "0"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(show_number(number), expected);
        }
    }

    #[test]
    fn durations_are_words() {
        assert_eq!(show_duration(&Duration::of(Unit::Minutes, 90.0)), "1 hour, 30 minutes");
        assert_eq!(show_duration(&Duration::of(Unit::Years, 1234.0)), "1,234 years");
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(1234567.891, 2, 2), "1,234,567.89");
        assert_eq!(grouped(-1.0, 2, 2), "-1.00");
        assert_eq!(grouped(0.5, 0, 3), "0.5");
    }
}
