//! JavaScript patterns on a linear-time engine: translated, not imitated.
//!
//! Look-around and back-references have no translation and are refused. What `$1` stands for in a replacement is here
//! too, and how a text is split by a pattern.

use regex::{Captures, Regex, RegexBuilder};

/// The largest compiled pattern, in bytes.
const LARGEST: usize = 4 << 20;

/// Compiles a JavaScript pattern.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    compile_with(pattern, "")
}

/// Compiles a JavaScript pattern with the letters behind it; of those only `i` and `m` change what matches here.
pub(crate) fn compile_with(pattern: &str, flags: &str) -> Option<Regex> {
    RegexBuilder::new(&translate(pattern)?)
        .case_insensitive(flags.contains('i'))
        .multi_line(flags.contains('m'))
        .size_limit(LARGEST)
        .build()
        .ok()
}

/// The same pattern in the syntax of the engine.
fn translate(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = Chars(pattern);
    let mut repeated = Repeated::No;
    while let Some(c) = chars.next() {
        repeated = repeated.then(c, chars.0)?;
        match c {
            '\\' => escape(&mut chars, &mut out, Place::Outside)?,
            '[' => class(&mut chars, &mut out)?,
            '.' => out.push_str("[^\\n\\r\\u{2028}\\u{2029}]"),
            '{' if !is_quantifier(chars.0) => out.push_str("\\{"),
            '{' => {
                let end = chars.0.find('}').map_or(0, |end| end + 1);
                out.push('{');
                out.push_str(&chars.0[..end]);
                chars.0 = &chars.0[end..];
            }
            '(' if ["?=", "?!", "?<=", "?<!"].iter().any(|look| chars.0.starts_with(look)) => return None,
            '#' | '&' | '~' | '-' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Whether what stands before is repeated already: JavaScript has no repetition of a repetition.
#[derive(Clone, Copy, PartialEq)]
enum Repeated {
    No,
    Yes,
    Lazy,
}

impl Repeated {
    fn then(self, c: char, rest: &str) -> Option<Repeated> {
        let repeats = matches!(c, '*' | '+' | '?') || c == '{' && is_quantifier(rest);
        match (self, repeats) {
            (_, false) => Some(Repeated::No),
            (Repeated::No, true) => Some(Repeated::Yes),
            (Repeated::Yes, true) if c == '?' => Some(Repeated::Lazy),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Outside,
    InClass,
}

struct Chars<'a>(&'a str);

impl Chars<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.0.chars().next()?;
        self.0 = &self.0[c.len_utf8()..];
        Some(c)
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.0.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.0 = &self.0[digits..];
        u32::from_str_radix(text, 16).ok()
    }
}

fn escape(chars: &mut Chars<'_>, out: &mut String, place: Place) -> Option<()> {
    let c = chars.next()?;
    let in_class = place == Place::InClass;
    match c {
        'd' => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str(if in_class { "\\s\\u{feff}" } else { "[\\s\\u{feff}]" }),
        'S' => out.push_str("[^\\s\\u{feff}]"),
        'b' if in_class => out.push_str("\\x08"),
        'b' => out.push_str("(?-u:\\b)"),
        'B' => out.push_str("(?-u:\\B)"),
        'n' | 'r' | 't' | 'f' | 'v' => out.extend(['\\', c]),
        '0' if !chars.0.starts_with(|next: char| next.is_ascii_digit()) => out.push_str("\\x00"),
        '1'..='9' if !in_class => return None,
        'k' if chars.0.starts_with('<') => return None,
        'x' => push_code(chars.hex(2), 'x', out),
        'u' => push_code(chars.hex(4), 'u', out),
        _ => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
    }
    Some(())
}

fn push_code(code: Option<u32>, letter: char, out: &mut String) {
    match code.and_then(char::from_u32) {
        Some(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        None => out.push(letter),
    }
}

fn class(chars: &mut Chars<'_>, out: &mut String) -> Option<()> {
    let negated = chars.0.starts_with('^');
    if negated {
        chars.next();
    }
    if chars.0.starts_with(']') {
        chars.next();
        out.push_str(if negated { "(?s:.)" } else { "[^\\s\\S]" });
        return Some(());
    }
    out.push_str(if negated { "[^" } else { "[" });
    loop {
        match chars.next()? {
            ']' => break,
            '\\' => escape(chars, out, Place::InClass)?,
            c @ ('[' | '&' | '~' | '^') => out.extend(['\\', c]),
            '-' if chars.0.starts_with(['-', '[']) => out.push_str("\\-"),
            c => out.push(c),
        }
    }
    out.push(']');
    Some(())
}

/// Whether `{` begins `{2}`, `{2,}` or `{2,3}`.
fn is_quantifier(rest: &str) -> bool {
    let Some((inner, _)) = rest.split_once('}') else { return false };
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

/// Replaces every match; `$1`, `$&`, `$$`, `$<name>` and the texts around the match stand for what they say.
pub(crate) fn replace_all(pattern: &Regex, text: &str, replacement: &str) -> String {
    replace(pattern, text, replacement, 0)
}

/// The same for the first match only.
pub(crate) fn replace_first(pattern: &Regex, text: &str, replacement: &str) -> String {
    replace(pattern, text, replacement, 1)
}

/// Replaces so many matches; all for 0.
fn replace(pattern: &Regex, text: &str, replacement: &str, most: usize) -> String {
    pattern
        .replacen(text, most, |found: &Captures<'_>| {
            let mut out = String::new();
            expand(found, text, replacement, &mut out);
            out
        })
        .into_owned()
}

fn expand(found: &Captures<'_>, text: &str, replacement: &str, out: &mut String) {
    let whole = found.get(0).map_or(0..0, |whole| whole.range());
    let group = |number: usize| found.get(number).map_or("", |group| group.as_str());
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        let number = (1..=digits).rev().find_map(|digits| {
            let number: usize = rest[..digits].parse().ok()?;
            (number > 0 && number < found.len()).then_some((number, digits))
        });
        match (number, rest.chars().next()) {
            (Some((number, digits)), _) => {
                out.push_str(group(number));
                rest = &rest[digits..];
            }
            (_, Some('$')) => {
                out.push('$');
                rest = &rest[1..];
            }
            (_, Some('&')) => {
                out.push_str(group(0));
                rest = &rest[1..];
            }
            (_, Some('`')) => {
                out.push_str(&text[..whole.start]);
                rest = &rest[1..];
            }
            (_, Some('\'')) => {
                out.push_str(&text[whole.end..]);
                rest = &rest[1..];
            }
            (_, Some('<')) if rest.contains('>') => {
                let end = rest.find('>').unwrap_or(0);
                out.push_str(found.name(&rest[1..end]).map_or("", |group| group.as_str()));
                rest = &rest[end + 1..];
            }
            _ => out.push('$'),
        }
    }
    out.push_str(rest);
}

/// Splits a text as JavaScript does: what groups match stands between the parts.
pub(crate) fn split(pattern: &Regex, text: &str) -> Vec<String> {
    if text.is_empty() {
        return if pattern.is_match("") { Vec::new() } else { vec![String::new()] };
    }
    let mut out = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = pattern.captures_at(text, at) {
        let Some(whole) = found.get(0) else { break };
        if whole.start() >= text.len() {
            break;
        }
        if whole.end() == from {
            let Some(c) = text[at..].chars().next() else { break };
            at += c.len_utf8();
            continue;
        }
        out.push(text[from..whole.start()].to_owned());
        out.extend(found.iter().skip(1).map(|group| group.map_or("", |group| group.as_str()).to_owned()));
        from = whole.end();
        at = from;
    }
    out.push(text[from..].to_owned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(pattern: &str, yes: &[&str], no: &[&str]) {
        let compiled = compile(pattern).unwrap_or_else(|| panic!("{pattern}"));
        yes.iter().for_each(|text| assert!(compiled.is_match(text), "{pattern} on {text}"));
        no.iter().for_each(|text| assert!(!compiled.is_match(text), "{pattern} on {text}"));
    }

    #[test]
    fn javascript_patterns_mean_the_same_here() {
        matches(r"^\d+$", &["12"], &["١٢"]);
        matches(r"a{", &["a{"], &["a"]);
        matches(r"a{2}", &["aa"], &["a"]);
        matches(r"^a*1+b{1,2}?2*$", &["aa11b2"], &["a"]);
        matches(r"[[]x]?", &["[x", "[x]"], &["x"]);
        matches(r"[a&&b]", &["&"], &["c"]);
        matches(r"\/\-\_\y", &["/-_y"], &[]);
        matches(r"\u0041\x42", &["AB"], &["ab"]);
        matches(r"\bé", &["xé"], &["é"]);
        matches(r"(?<year>\d{4})", &["2024"], &["24"]);
        matches("a.b", &["axb"], &["a\nb"]);
        for pattern in ["(?=x)", "(?<!x)y", r"(a)\1", "(", "[", "a**", "a{2}{3}", "a+?*"] {
            assert!(compile(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn replacements_name_groups() {
        let pattern = compile(r"(\w)(\d)").unwrap();
        assert_eq!(replace_all(&pattern, "a1 b2", "$2$1$$[$&]$3"), "1a$[a1]$3 2b$[b2]$3");
    }

    #[test]
    fn splitting_keeps_groups() {
        assert_eq!(split(&compile("( )(x)?").unwrap(), "a b"), ["a", " ", "", "b"]);
        assert_eq!(split(&compile("").unwrap(), "añb"), ["a", "ñ", "b"]);
    }
}
