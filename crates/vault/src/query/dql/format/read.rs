//! Reads a date by a pattern. The whole text must fit.

use super::{MONTHS, Piece, WEEKDAYS, pieces};
use crate::query::dql::date::{Civil, Date, Zone, days_from_civil, days_in_month};

#[derive(Default)]
struct Parts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    millisecond: Option<i64>,
    afternoon: Option<bool>,
    ordinal: Option<i64>,
    week_year: Option<i64>,
    week: Option<i64>,
    weekday: Option<i64>,
    instant: Option<i64>,
    zone: Option<Zone>,
}

/// The date that a text means by a pattern; parts that the pattern leaves out come from `now`.
pub fn parse(text: &str, pattern: &str, now: &Date) -> Option<Date> {
    let mut parts = Parts::default();
    let mut rest = text;
    for piece in pieces(pattern) {
        rest = match piece {
            Piece::Literal(literal) => rest.strip_prefix(literal.as_str())?,
            Piece::Token(token) => parts.take(&token, rest)?,
        };
    }
    if !rest.is_empty() || pattern.is_empty() {
        return None;
    }
    parts.build(now)
}

impl Parts {
    fn take<'a>(&mut self, token: &str, text: &'a str) -> Option<&'a str> {
        let (field, least, most) = match token {
            "y" => (&mut self.year, 1, 6),
            "yyyy" => (&mut self.year, 4, 4),
            "yyyyy" => (&mut self.year, 4, 6),
            "yyyyyy" => (&mut self.year, 6, 6),
            "L" | "M" => (&mut self.month, 1, 2),
            "LL" | "MM" => (&mut self.month, 2, 2),
            "d" => (&mut self.day, 1, 2),
            "dd" => (&mut self.day, 2, 2),
            "o" => (&mut self.ordinal, 1, 3),
            "ooo" => (&mut self.ordinal, 3, 3),
            "h" | "H" => (&mut self.hour, 1, 2),
            "hh" | "HH" => (&mut self.hour, 2, 2),
            "m" => (&mut self.minute, 1, 2),
            "mm" => (&mut self.minute, 2, 2),
            "s" => (&mut self.second, 1, 2),
            "ss" => (&mut self.second, 2, 2),
            "S" => (&mut self.millisecond, 1, 3),
            "SSS" => (&mut self.millisecond, 3, 3),
            "kkkk" => (&mut self.week_year, 4, 4),
            "W" => (&mut self.week, 1, 2),
            "WW" => (&mut self.week, 2, 2),
            "E" | "c" => (&mut self.weekday, 1, 1),
            _ => return self.take_other(token, text),
        };
        let (number, rest) = digits(text, least, most)?;
        *field = Some(number);
        Some(rest)
    }

    fn take_other<'a>(&mut self, token: &str, text: &'a str) -> Option<&'a str> {
        match token {
            "yy" => {
                // Four digits by themselves are a whole year; of a longer run the rest belongs to what follows.
                let run = text.bytes().take_while(u8::is_ascii_digit).count();
                let (number, rest) = digits(text, 2, if run == 4 { 4 } else { 2 })?;
                self.year = Some(match number {
                    0..=60 => 2000 + number,
                    61..=99 => 1900 + number,
                    other => other,
                });
                Some(rest)
            }
            "LLL" | "MMM" => name(text, &MONTHS, 3, &mut self.month),
            "LLLL" | "MMMM" => name(text, &MONTHS, usize::MAX, &mut self.month),
            "EEE" | "ccc" => name(text, &WEEKDAYS, 3, &mut self.weekday),
            "EEEE" | "cccc" => name(text, &WEEKDAYS, usize::MAX, &mut self.weekday),
            "a" => {
                let word = text.get(..2)?;
                self.afternoon = Some(word.eq_ignore_ascii_case("pm"));
                (word.eq_ignore_ascii_case("pm") || word.eq_ignore_ascii_case("am")).then(|| &text[2..])
            }
            "u" => {
                let (_, rest) = digits(text, 1, 9)?;
                let shown = &text[..text.len() - rest.len()];
                self.millisecond = format!("{shown:0<3}").get(..3)?.parse().ok();
                Some(rest)
            }
            "x" | "X" => {
                let (number, rest) = digits(text, 1, 15)?;
                self.instant = Some(if token == "X" { number.checked_mul(1000)? } else { number });
                Some(rest)
            }
            "Z" | "ZZ" | "ZZZ" => self.take_offset(text),
            "z" => {
                let end =
                    text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '_' | '+' | '-'));
                let (zone, rest) = text.split_at(end.unwrap_or(text.len()));
                self.zone = Some(Zone::named(zone)?);
                Some(rest)
            }
            _ => text.strip_prefix(token),
        }
    }

    fn take_offset<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let sign = match text.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        let (hours, rest) = digits(&text[1..], 1, 2)?;
        let (minutes, rest) = digits(rest.strip_prefix(':').unwrap_or(rest), 2, 2).unwrap_or((0, rest));
        self.zone = Some(Zone::Fixed(sign * i32::try_from(hours * 60 + minutes).ok()?));
        Some(rest)
    }

    fn build(mut self, now: &Date) -> Option<Date> {
        let local = now.zone().clone();
        if let Some(instant) = self.instant {
            return Date::at(instant, local);
        }
        let today = now.civil();
        self.place_week(today)?;
        if let Some(ordinal) = self.ordinal.filter(|_| self.month.is_none()) {
            let year = self.year.unwrap_or(today.year);
            return self.with_time(Civil::day(year, 1, ordinal), local);
        }
        let mut seen = false;
        let mut part = |given: Option<i64>, least: i64, now: i64| {
            seen |= given.is_some();
            given.unwrap_or(if seen { least } else { now })
        };
        let year = part(self.year, today.year, today.year);
        let month = part(self.month, 1, today.month);
        let day = part(self.day, 1, today.day);
        if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
            return None;
        }
        self.with_time(Civil::day(year, month, day), local)
    }

    fn place_week(&mut self, today: Civil) -> Option<()> {
        let Some(week) = self.week else { return Some(()) };
        let year = self.week_year.or(self.year).unwrap_or(today.year);
        let fourth = days_from_civil(year, 1, 4);
        let monday = fourth - (fourth + 3).rem_euclid(7);
        let day = monday + (week - 1) * 7 + self.weekday.unwrap_or(1) - 1;
        let date = Date::at(day.checked_mul(86_400_000)?, Zone::Fixed(0))?.civil();
        (self.year, self.month, self.day) = (Some(date.year), Some(date.month), Some(date.day));
        Some(())
    }

    fn with_time(self, day: Civil, local: Zone) -> Option<Date> {
        let hour = match (self.hour.unwrap_or(0), self.afternoon) {
            (12, Some(false)) => 0,
            (hour, Some(true)) if hour < 12 => hour + 12,
            (hour, _) => hour,
        };
        let minute = self.minute.unwrap_or(0);
        let second = self.second.unwrap_or(0);
        if hour > 24 || minute > 59 || second > 59 {
            return None;
        }
        let millisecond = self.millisecond.unwrap_or(0);
        let date = Date::new(
            Civil { hour, minute, second, millisecond, ..day },
            self.zone.clone().unwrap_or_else(|| local.clone()),
        )?;
        Some(if self.zone.is_some() { date.seen_from(local) } else { date })
    }
}

fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count < least {
        return None;
    }
    Some((text[..count].parse().ok()?, &text[count..]))
}

fn name<'a>(text: &'a str, names: &[&str], length: usize, field: &mut Option<i64>) -> Option<&'a str> {
    for (number, name) in (1..).zip(names) {
        let name = &name[..length.min(name.len())];
        if text.get(..name.len()).is_some_and(|here| here.eq_ignore_ascii_case(name)) {
            *field = Some(number);
            return Some(&text[name.len()..]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, pattern: &str, expected: Option<&str>) {
        let now = Date::new(Civil::day(2024, 6, 15), Zone::Fixed(0)).unwrap();
        let found = parse(text, pattern, &now).map(|date| date.iso());
        assert_eq!(found.as_deref(), expected, "{text} by {pattern}");
    }

    #[test]
    fn dates_are_read_by_pattern() {
        check("12/31/2022", "MM/dd/yyyy", Some("2022-12-31T00:00:00.000Z"));
        check("210313", "yyMMdd", Some("2021-03-13T00:00:00.000Z"));
        check("Mar 3 1999 1:05 pm", "MMM d yyyy h:mm a", Some("1999-03-03T13:05:00.000Z"));
        check("2024-W23-7", "kkkk-'W'WW-E", Some("2024-06-09T00:00:00.000Z"));
        check("10:30", "HH:mm", Some("2024-06-15T10:30:00.000Z"));
        check("2024-06-15 10:00 +02:00", "yyyy-MM-dd HH:mm ZZ", Some("2024-06-15T08:00:00.000Z"));
        check("31/02/2022", "dd/MM/yyyy", None);
        check("10", "Abc", None);
        check("10", "", None);
    }
}
