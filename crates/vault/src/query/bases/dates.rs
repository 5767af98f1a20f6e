//! Dates and durations as bases write them: `2025-05-27 12:00`, `1M 2h`, and the words of `relative()`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::value::Day;
use crate::moment;
use crate::query::dql::date::{Civil, Date, Zone};
use crate::query::dql::duration::{Duration, Unit};

/// A date in ISO form, with or without a time; nothing for any other text.
pub(crate) fn parse_date(text: &str, local: &Zone) -> Option<Day> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let digit = |at: &usize| bytes.get(*at).is_some_and(u8::is_ascii_digit);
    let shaped = [0, 1, 2, 3, 5, 6, 8, 9].iter().all(digit) && bytes[4] == b'-' && bytes[7] == b'-';
    if !shaped || text.len() > 40 {
        return None;
    }
    if text.len() == 10 {
        let day: jiff::civil::Date = text.parse().ok()?;
        let civil = Civil::day(day.year().into(), day.month().into(), day.day().into());
        return Some(Day { at: Date::new(civil, local.clone())?, clock: false });
    }
    if !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(Day { at: Date::at(instant.as_millisecond(), local.clone())?, clock: true });
    }
    let at: DateTime = text.parse().ok()?;
    let civil = Civil {
        hour: at.hour().into(),
        minute: at.minute().into(),
        second: at.second().into(),
        millisecond: at.millisecond().into(),
        ..Civil::day(at.year().into(), at.month().into(), at.day().into())
    };
    Some(Day { at: Date::new(civil, local.clone())?, clock: true })
}

/// A duration: `1d`, `2 weeks`, `1M 4h`, `-3 days`. `M` is a month, `m` a minute.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim_matches([' ', '\t']);
    if rest.is_empty() || rest.len() > 200 {
        return None;
    }
    let mut sum = Duration::default();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))?;
        let amount: f64 = rest[..end].parse().ok()?;
        rest = rest[end..].trim_start_matches([' ', '\t']);
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        sum = sum.plus(&Duration::of(unit(&rest[..end])?, amount));
        rest = rest[end..].trim_start_matches([' ', '\t', ',']);
    }
    Some(sum)
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "y" | "year" | "years" => Unit::Years,
        "M" | "month" | "months" => Unit::Months,
        "w" | "week" | "weeks" => Unit::Weeks,
        "d" | "day" | "days" => Unit::Days,
        "h" | "hour" | "hours" => Unit::Hours,
        "m" | "minute" | "minutes" => Unit::Minutes,
        "s" | "second" | "seconds" => Unit::Seconds,
        _ => return None,
    })
}

/// A date later or earlier; nothing outside of the years that dates have.
pub(crate) fn moved(day: &Day, by: &Duration) -> Option<Day> {
    let at = day.at.plus(by)?;
    let civil = at.civil();
    let midnight = civil.hour == 0 && civil.minute == 0 && civil.second == 0 && civil.millisecond == 0;
    Some(Day { at, clock: day.clock || !midnight })
}

/// A date in a moment.js format.
pub(crate) fn format(date: &Date, pattern: &str) -> Option<String> {
    let instant = Timestamp::from_millisecond(date.instant()).ok()?;
    let zone = match date.zone() {
        Zone::Local(zone) | Zone::Named(zone) => zone.clone(),
        Zone::Fixed(minutes) => TimeZone::fixed(Offset::from_seconds(minutes * 60).ok()?),
    };
    Some(moment::format(pattern, &instant.to_zoned(zone)))
}

/// How long ago or ahead, in words.
pub(crate) fn relative(date: &Date, now: &Date) -> String {
    let distance = date.instant() - now.instant();
    let words = distance_words(distance.unsigned_abs() as f64 / 1000.0);
    if distance > 0 { format!("in {words}") } else { format!("{words} ago") }
}

/// The steps at which people change the unit; each number is rounded.
fn distance_words(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round();
    let hours = (seconds / 3_600.0).round();
    let days = (seconds / 86_400.0).round();
    // Months by their mean length over four hundred years.
    let months = (seconds / 86_400.0 / 30.436_875).round();
    let years = (seconds / 86_400.0 / 365.242_5).round();
    match () {
        () if seconds.round() < 45.0 => "a few seconds".to_owned(),
        () if minutes <= 1.0 => "a minute".to_owned(),
        () if minutes < 45.0 => format!("{minutes} minutes"),
        () if hours <= 1.0 => "an hour".to_owned(),
        () if hours < 22.0 => format!("{hours} hours"),
        () if days <= 1.0 => "a day".to_owned(),
        () if days < 26.0 => format!("{days} days"),
        () if months <= 1.0 => "a month".to_owned(),
        () if months < 11.0 => format!("{months} months"),
        () if years <= 1.0 => "a year".to_owned(),
        () => format!("{years} years"),
    }
}
