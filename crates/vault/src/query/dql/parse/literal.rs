//! Literals: numbers, texts, dates, durations, tags, links, names.

use std::sync::Arc;

use super::Cursor;
use crate::query::dql::ast::{DateLiteral, Literal, Period, Shorthand};
use crate::query::dql::date::{Civil, Zone};
use crate::query::dql::duration::{Duration, Unit};
use crate::query::dql::text::{emoji, is_key_char, is_letter, is_tag_char};
use crate::query::dql::value::Link;
use crate::text::Text;

/// A date literal or a date by name.
pub(crate) enum Found {
    /// Written out.
    Date(DateLiteral),
    /// By name.
    Shorthand(Shorthand),
}

/// Longer names first: `start-of-week` begins like no other, but `sow` must not hide anything.
const SHORTHANDS: [(&str, Shorthand); 16] = [
    ("start-of-month", Shorthand::Start(Period::Month)),
    ("start-of-week", Shorthand::Start(Period::Week)),
    ("start-of-year", Shorthand::Start(Period::Year)),
    ("end-of-month", Shorthand::End(Period::Month)),
    ("end-of-week", Shorthand::End(Period::Week)),
    ("end-of-year", Shorthand::End(Period::Year)),
    ("yesterday", Shorthand::Day(-1)),
    ("tomorrow", Shorthand::Day(1)),
    ("today", Shorthand::Day(0)),
    ("now", Shorthand::Now),
    ("sow", Shorthand::Start(Period::Week)),
    ("eow", Shorthand::End(Period::Week)),
    ("som", Shorthand::Start(Period::Month)),
    ("eom", Shorthand::End(Period::Month)),
    ("soy", Shorthand::Start(Period::Year)),
    ("eoy", Shorthand::End(Period::Year)),
];

impl Cursor<'_> {
    /// `-?digits(.digits)?`
    pub(crate) fn number(&mut self) -> Option<f64> {
        let rest = self.rest();
        let digits = |from: usize| -> usize {
            from + rest.as_bytes()[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let start = usize::from(rest.starts_with('-'));
        let mut end = digits(start);
        if end == start {
            return self.missing("a number");
        }
        if rest.as_bytes().get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
            end = digits(end + 1);
        }
        self.at += end;
        rest[..end].parse().ok()
    }

    /// A text in quotes. Only `\"` and `\\` are unescaped, so that patterns need not be written twice.
    pub(crate) fn string(&mut self) -> Option<Text> {
        let Some(inner) = self.rest().strip_prefix('"') else { return self.missing("a text in quotes") };
        let mut out = String::new();
        let mut chars = inner.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 2;
                    return Some(out.into());
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => out.push(escaped),
                    Some((_, other)) => out.extend(['\\', other]),
                    None => break,
                },
                _ => out.push(c),
            }
        }
        self.at = self.text.len();
        self.missing("\" at the end of the text")
    }

    pub(crate) fn boolean(&mut self) -> Option<bool> {
        for (word, yes) in [("true", true), ("True", true), ("false", false), ("False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Some(yes);
            }
        }
        self.missing("true or false")
    }

    pub(crate) fn tag(&mut self) -> Option<String> {
        let Some(name) = self.rest().strip_prefix('#') else { return self.missing("a #tag") };
        let length = name.find(|c| !is_tag_char(c)).unwrap_or(name.len());
        if length == 0 {
            return self.missing("a #tag");
        }
        self.at += 1 + length;
        Some(format!("#{}", &name[..length]))
    }

    pub(crate) fn identifier(&mut self) -> Option<Text> {
        let rest = self.rest();
        let mut end = 0;
        while let Some(c) = rest[end..].chars().next() {
            let fits = if end == 0 { is_letter(c) } else { is_key_char(c) };
            match emoji(&rest[end..]) {
                _ if fits => end += c.len_utf8(),
                Some(length) => end += length,
                None => break,
            }
        }
        if end == 0 {
            return self.missing("a name");
        }
        self.at += end;
        Some(rest[..end].into())
    }

    /// `[[target#part|shown]]`
    pub(crate) fn link(&mut self) -> Option<Link> {
        let Some(inner) = self.rest().strip_prefix("[[") else { return self.missing("a [[link]]") };
        let end = inner.find(['[', ']']).unwrap_or(inner.len());
        if !inner[end..].starts_with("]]") {
            return self.missing("a [[link]]");
        }
        self.at += end + 4;
        Some(Link::from_inner(&inner[..end]))
    }

    /// `![[target]]` or `[[target]]`
    pub(crate) fn embed_link(&mut self) -> Option<Link> {
        self.attempt(|cursor| {
            let embed = cursor.rest().starts_with("![[");
            cursor.at += usize::from(embed);
            cursor.link().map(|link| Link { embed, ..link })
        })
    }

    /// `YYYY-MM[-DD[THH[:mm[:ss[.SSS][zone]]]]]`; what does not fit any more is left alone.
    pub(crate) fn date(&mut self) -> Option<DateLiteral> {
        let start = self.at;
        let Some((year, month)) = self.attempt(|cursor| {
            let year = cursor.digits(4)?;
            cursor.take("-")?;
            Some((year, cursor.digits(2)?))
        }) else {
            return self.missing("a date (YYYY-MM-DD)");
        };
        let mut civil = Civil::day(year, month, 1);
        let zone = self.date_tail(&mut civil);
        let named = zone.is_none_or(|zone| zone.is_some());
        let found = DateLiteral { civil, zone: zone_of(&self.text[start..self.at], named) };
        let valid = (1..=12).contains(&month) && named && found.in_zone(&Zone::Fixed(0)).is_some();
        if valid { Some(found) } else { self.missing("a date that exists") }
    }

    /// Reads the parts behind year and month. `Some(None)` is a zone that does not exist.
    fn date_tail(&mut self, civil: &mut Civil) -> Option<Option<()>> {
        for (separator, part) in [
            ("-", &mut civil.day),
            ("T", &mut civil.hour),
            (":", &mut civil.minute),
            (":", &mut civil.second),
        ] {
            *part = self.attempt(|cursor| {
                cursor.take(separator)?;
                cursor.digits(2)
            })?;
        }
        if let Some(thousandths) = self.attempt(|cursor| {
            cursor.take(".")?;
            cursor.digits(3)
        }) {
            civil.millisecond = thousandths;
        }
        self.attempt(Cursor::zone)
    }

    /// `Z`, `+h[:mm]`, `[Area/City]`; says whether there is such a zone.
    fn zone(&mut self) -> Option<Option<()>> {
        let rest = self.rest();
        match self.peek()? {
            'Z' => {
                self.at += 1;
                Some(Some(()))
            }
            '+' | '-' => {
                self.at += 1;
                let digits = self.rest().bytes().take(2).take_while(u8::is_ascii_digit).count();
                self.at += digits;
                let minutes = |cursor: &mut Self| {
                    cursor.take(":")?;
                    cursor.digits(2)
                };
                self.attempt(minutes);
                (digits > 0).then_some(Some(()))
            }
            '[' => {
                let end = rest.find(']')?;
                let name = &rest[1..end];
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+'..='/' | '_');
                if name.is_empty() || !name.chars().all(fits) {
                    return None;
                }
                self.at += end + 1;
                Some(Zone::named(name).map(|_| ()))
            }
            _ => None,
        }
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits =
            self.rest().get(..count).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.at += count;
        digits.parse().ok()
    }

    /// A date by name, or written out.
    pub(crate) fn date_plus(&mut self) -> Option<Found> {
        for (name, shorthand) in SHORTHANDS {
            if self.rest().starts_with(name) {
                self.at += name.len();
                return Some(Found::Shorthand(shorthand));
            }
        }
        self.date().map(Found::Date)
    }

    /// Numbers with units, one behind the other.
    pub(crate) fn duration(&mut self) -> Option<Duration> {
        let parts = self.separated(Cursor::duration_part, |cursor| {
            if cursor.attempt(Cursor::comma).is_none() {
                cursor.space();
            }
            Some(())
        });
        if parts.is_empty() {
            return self.missing("a duration (2 days, 4h)");
        }
        Some(parts.iter().fold(Duration::default(), |sum, part| sum.plus(part)))
    }

    fn duration_part(&mut self) -> Option<Duration> {
        let amount = self.number()?;
        self.space();
        let rest = self.rest();
        let longest = rest.bytes().take(7).take_while(u8::is_ascii_lowercase).count();
        for length in (1..=longest).rev() {
            if let Some(unit) = Unit::from_word(&rest[..length]) {
                self.at += length;
                return Some(Duration::of(unit, amount));
            }
        }
        self.missing("a unit of time")
    }

    /// The value of an inline field.
    pub(crate) fn inline_field(&mut self) -> Option<Literal> {
        let first = self.inline_atom()?;
        if self.attempt(Cursor::comma).is_none() {
            return Some(first);
        }
        let mut items = vec![first];
        items.extend(self.separated(Cursor::inline_atom, Cursor::comma));
        Some(Literal::List(items))
    }

    fn inline_atom(&mut self) -> Option<Literal> {
        if let Some(date) = self.attempt(Cursor::date) {
            return Some(Literal::Date(date));
        }
        if let Some(duration) = self.attempt(Cursor::duration) {
            return Some(Literal::Duration(duration.normalized()));
        }
        if let Some(text) = self.attempt(Cursor::string) {
            return Some(Literal::Text(text));
        }
        if let Some(tag) = self.attempt(Cursor::tag) {
            return Some(Literal::Text(tag.into()));
        }
        if let Some(link) = self.embed_link() {
            return Some(Literal::Link(Arc::new(link)));
        }
        if let Some(yes) = self.attempt(Cursor::boolean) {
            return Some(Literal::Bool(yes));
        }
        if let Some(number) = self.attempt(Cursor::number) {
            return Some(Literal::Number(number));
        }
        self.take("null").map(|()| Literal::Text("null".into()))
    }
}

/// The zone at the end of a date's text.
fn zone_of(text: &str, named: bool) -> Option<Zone> {
    let (_, time) = text.rsplit_once('T').filter(|_| named)?;
    if time.ends_with('Z') {
        return Some(Zone::Fixed(0));
    }
    if let Some((_, name)) = time.strip_suffix(']').and_then(|time| time.split_once('[')) {
        return Zone::named(name);
    }
    let at = time.find(['+', '-'])?;
    let (hours, minutes) = time[at + 1..].split_once(':').unwrap_or((&time[at + 1..], "0"));
    let total = hours.parse::<i32>().ok()? * 60 + minutes.parse::<i32>().ok()?;
    Some(Zone::Fixed(if time[at..].starts_with('-') { -total } else { total }))
}
