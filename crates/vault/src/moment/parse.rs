//! Reads a date back out of a file name, strictly: every token has its exact shape and nothing is left over.
//!
//! Called by [`super::Pattern::parse_strict`]. Two things differ from moment's strict mode, both on purpose: a part
//! that is said twice must be said alike, and a year that is not said is not taken from today's date.

use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Span, Timestamp};

use super::tokens::Piece;
use super::{MONTHS, WEEKDAYS, Week, days_in_year};

/// What a text has said about its date so far.
#[derive(Debug, Default)]
struct Said {
    date: Option<Date>,
    year: Option<i64>,
    quarter: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    /// Days after Sunday.
    weekday: Option<i64>,
    locale_year: Option<i64>,
    locale_week: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
}

/// Reads a date in a format that was cut into pieces.
pub(super) fn date(pieces: &[Piece<'_>], text: &str) -> Option<Date> {
    let mut said = Said::default();
    let mut rest = text;
    for piece in pieces {
        rest = match piece {
            Piece::Literal(literal) => rest.strip_prefix(literal)?,
            Piece::Token(token) => said.token(token, rest)?,
        };
    }
    if !rest.is_empty() {
        return None;
    }
    let date = said.resolve()?;
    said.agrees(date).then_some(date)
}

impl Said {
    /// Takes one token's value from the start of `rest` and gives back what follows.
    fn token<'a>(&mut self, token: &str, rest: &'a str) -> Option<&'a str> {
        match token.as_bytes().first() {
            Some(b'Y' | b'y' | b'N' | b'Q' | b'M') => self.year_or_month(token, rest),
            Some(b'D' | b'd' | b'e' | b'E') => self.day(token, rest),
            Some(b'g' | b'G' | b'w' | b'W') => self.week(token, rest),
            Some(b'X' | b'x') => self.timestamp(token, rest),
            _ => time(token, rest),
        }
    }

    fn year_or_month<'a>(&mut self, token: &str, rest: &'a str) -> Option<&'a str> {
        let (field, value, rest) = match token {
            "YYYYYY" => {
                let (year, rest) = number(rest.strip_prefix('+')?, 6, 6)?;
                (&mut self.year, year, rest)
            }
            "YY" => {
                let (year, rest) = number(rest, 2, 2)?;
                (&mut self.year, century(year), rest)
            }
            "YYYYY" => fill(&mut self.year, number(rest, 5, 5)?),
            "YYYY" => fill(&mut self.year, number(rest, 4, 4)?),
            "Y" | "y" | "yy" | "yyy" | "yyyy" => fill(&mut self.year, number(rest, 1, 4)?),
            "yo" => fill(&mut self.year, ordinal(rest, 4)?),
            "NNNN" => return rest.strip_prefix("Anno Domini"),
            "N" | "NN" | "NNN" | "NNNNN" => return rest.strip_prefix("AD"),
            "Q" => fill(&mut self.quarter, number(rest, 1, 1)?),
            "Qo" => fill(&mut self.quarter, ordinal(rest, 1)?),
            "MM" => fill(&mut self.month, number(rest, 2, 2)?),
            "M" => fill(&mut self.month, number(rest, 1, 2)?),
            "Mo" => fill(&mut self.month, ordinal(rest, 2)?),
            _ => {
                let letters = if token == "MMM" { 3 } else { usize::MAX };
                let (month, rest) = name(&MONTHS, letters, rest)?;
                (&mut self.month, month + 1, rest)
            }
        };
        say(field, value)?;
        Some(rest)
    }

    fn day<'a>(&mut self, token: &str, rest: &'a str) -> Option<&'a str> {
        let (field, value, rest) = match token {
            "D" => fill(&mut self.day, number(rest, 1, 2)?),
            "DD" => fill(&mut self.day, number(rest, 2, 2)?),
            "Do" => fill(&mut self.day, ordinal(rest, 2)?),
            "DDD" => fill(&mut self.day_of_year, number(rest, 1, 3)?),
            "DDDD" => fill(&mut self.day_of_year, number(rest, 3, 3)?),
            "DDDo" => fill(&mut self.day_of_year, ordinal(rest, 3)?),
            "d" | "e" => fill(&mut self.weekday, number(rest, 1, 1)?),
            "do" => fill(&mut self.weekday, ordinal(rest, 1)?),
            "E" => {
                let (day, rest) = number(rest, 1, 1).filter(|(day, _)| (1..=7).contains(day))?;
                (&mut self.weekday, day % 7, rest)
            }
            _ => {
                let letters = if token == "dddd" { usize::MAX } else { token.len() };
                fill(&mut self.weekday, name(&WEEKDAYS, letters, rest)?)
            }
        };
        say(field, value)?;
        Some(rest)
    }

    fn week<'a>(&mut self, token: &str, rest: &'a str) -> Option<&'a str> {
        let (year, week) = match token.starts_with(['G', 'W']) {
            true => (&mut self.iso_year, &mut self.iso_week),
            false => (&mut self.locale_year, &mut self.locale_week),
        };
        let (field, value, rest) = match token {
            "gg" | "GG" => {
                let (short, rest) = number(rest, 2, 2)?;
                (year, century(short), rest)
            }
            "gggg" | "GGGG" | "ggggg" | "GGGGG" => fill(year, number(rest, token.len(), token.len())?),
            "w" | "W" => fill(week, number(rest, 1, 2)?),
            "ww" | "WW" => fill(week, number(rest, 2, 2)?),
            _ => fill(week, ordinal(rest, 2)?),
        };
        say(field, value)?;
        Some(rest)
    }

    /// A count of seconds has no zone of its own; it is read in UTC.
    fn timestamp<'a>(&mut self, token: &str, rest: &'a str) -> Option<&'a str> {
        let (negative, digits) = rest.strip_prefix('-').map_or((false, rest), |digits| (true, digits));
        let (count, rest) = number(digits, 1, 18)?;
        let count = if negative { -count } else { count };
        let at = match token {
            "X" => Timestamp::from_second(count),
            _ => Timestamp::from_millisecond(count),
        };
        let date = Offset::UTC.to_datetime(at.ok()?).date();
        if self.date.is_some_and(|said| said != date) {
            return None;
        }
        self.date = Some(date);
        Some(rest)
    }

    /// The day that was meant. A whole calendar date counts before a week, and a week before a bare month: that is
    /// how `gggg-[W]ww (MMM)` finds its week.
    fn resolve(&self) -> Option<Date> {
        if self.date.is_some() {
            return self.date;
        }
        if let (Some(year), Some(day)) = (self.year, self.day_of_year) {
            return day_in_year(year, day);
        }
        let whole = self.year.is_some() && self.month.is_some() && self.day.is_some();
        if whole {
            return self.calendar();
        }
        if let (Some(year), Some(week)) = (self.iso_year.or(self.year), self.iso_week) {
            return day_in_week(Week::Iso, year, week, self.weekday);
        }
        if let (Some(year), Some(week)) = (self.locale_year.or(self.year), self.locale_week) {
            return day_in_week(Week::Locale, year, week, self.weekday);
        }
        self.calendar()
    }

    fn calendar(&self) -> Option<Date> {
        let month = self.month.or_else(|| self.quarter.map(|quarter| quarter * 3 - 2)).unwrap_or(1);
        let year = i16::try_from(self.year?).ok()?;
        let day = i8::try_from(self.day.unwrap_or(1)).ok()?;
        Date::new(year, i8::try_from(month).ok()?, day).ok()
    }

    /// Whether what was said beside the date fits it: a `Monday` that is a Tuesday is no file of ours.
    fn agrees(&self, date: Date) -> bool {
        let quarter = (i64::from(date.month()) + 2) / 3;
        let weekday = i64::from(date.weekday().to_sunday_zero_offset());
        // A week may begin in one quarter and end in the next, so a quarter beside a week is decoration.
        let by_week = self.locale_week.is_some() || self.iso_week.is_some();
        self.weekday.is_none_or(|said| said == weekday)
            && (by_week || self.quarter.is_none_or(|said| said == quarter))
    }
}

type Field<'f, 'a> = (&'f mut Option<i64>, i64, &'a str);

fn fill<'f, 'a>(field: &'f mut Option<i64>, (value, rest): (i64, &'a str)) -> Field<'f, 'a> {
    (field, value, rest)
}

fn say(field: &mut Option<i64>, value: i64) -> Option<()> {
    if field.is_some_and(|said| said != value) {
        return None;
    }
    *field = Some(value);
    Some(())
}

/// As in moment: `68` is 2068 and `69` is 1969.
fn century(short: i64) -> i64 {
    if short > 68 { 1900 + short } else { 2000 + short }
}

fn day_in_year(year: i64, day: i64) -> Option<Date> {
    if day < 1 || day > days_in_year(year) {
        return None;
    }
    Date::new(i16::try_from(year).ok()?, 1, 1).ok()?.checked_add(Span::new().try_days(day - 1).ok()?).ok()
}

fn day_in_week(kind: Week, year: i64, week: i64, weekday: Option<i64>) -> Option<Date> {
    if !(1..=53).contains(&week) {
        return None;
    }
    let certain = match kind {
        Week::Locale => 1,
        Week::Iso => 4,
    };
    let in_first = Date::new(i16::try_from(year).ok()?, 1, certain).ok()?;
    let first = in_first.checked_sub(Span::new().try_days(kind.days_in(in_first)).ok()?).ok()?;
    let into = match (kind, weekday) {
        (_, None) => 0,
        (Week::Locale, Some(day)) => day,
        (Week::Iso, Some(day)) => (day + 6) % 7,
    };
    let date = first.checked_add(Span::new().try_days((week - 1) * 7 + into).ok()?).ok()?;
    (kind.of(date) == (year, week)).then_some(date)
}

/// From `least` to `most` digits at the start.
fn number(rest: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if digits < least {
        return None;
    }
    Some((rest[..digits].parse().ok()?, &rest[digits..]))
}

fn ordinal(rest: &str, most: usize) -> Option<(i64, &str)> {
    let (value, rest) = number(rest, 1, most)?;
    let ending = super::ordinal(value);
    Some((value, rest.strip_prefix(ending.trim_start_matches(|c: char| c.is_ascii_digit()))?))
}

/// One of the names at the start, in any case, cut to so many letters.
fn name<'a>(names: &[&str], letters: usize, rest: &'a str) -> Option<(i64, &'a str)> {
    names.iter().zip(0..).find_map(|(name, at)| {
        let length = name.len().min(letters);
        let start = rest.get(..length)?;
        start.eq_ignore_ascii_case(&name[..length]).then(|| (at, &rest[length..]))
    })
}

/// A time of day in a file name says nothing about the date, but it must be one.
fn time<'a>(token: &str, rest: &'a str) -> Option<&'a str> {
    let within = |digits: (usize, usize), least: i64, most: i64| {
        number(rest, digits.0, digits.1)
            .filter(|(value, _)| (least..=most).contains(value))
            .map(|(_, rest)| rest)
    };
    match token {
        "H" => within((1, 2), 0, 23),
        "HH" => within((2, 2), 0, 23),
        "h" => within((1, 2), 1, 12),
        "hh" => within((2, 2), 1, 12),
        "k" => within((1, 2), 1, 24),
        "kk" => within((2, 2), 1, 24),
        "Hmm" | "hmm" => within((3, 4), 0, 2359),
        "Hmmss" | "hmmss" => within((5, 6), 0, 235_959),
        "m" | "s" => within((1, 2), 0, 59),
        "mm" | "ss" => within((2, 2), 0, 59),
        "A" | "a" => name(&["AM", "PM"], 2, rest).map(|(_, rest)| rest),
        "Z" | "ZZ" => distance(rest, if token == "Z" { ":" } else { "" }),
        "z" | "zz" => Some(rest),
        _ => number(rest, token.len(), token.len()).map(|(_, rest)| rest),
    }
}

fn distance<'a>(rest: &'a str, between: &str) -> Option<&'a str> {
    let (_, rest) = number(rest.strip_prefix(['+', '-'])?, 2, 2)?;
    let (_, rest) = number(rest.strip_prefix(between)?, 2, 2)?;
    Some(rest)
}
