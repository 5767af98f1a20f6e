//! Dates by pattern, in both directions: Luxon's tokens, English names.

mod read;

pub use read::parse;

use super::date::{Date, Zone};
use super::duration::{Duration, Unit};

pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A part of a pattern: a run of one letter, or text that stands for itself.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Token(String),
    Literal(String),
}

/// Cuts a pattern into tokens and the text between them; text in single quotes stands for itself.
pub(crate) fn pieces(pattern: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' {
            let mut text = String::new();
            for inner in chars.by_ref() {
                if inner == '\'' {
                    break;
                }
                text.push(inner);
            }
            out.push(Piece::Literal(if text.is_empty() { "'".to_owned() } else { text }));
            continue;
        }
        let mut run = c.to_string();
        while chars.peek() == Some(&c) {
            run.extend(chars.next());
        }
        out.push(if c.is_ascii_alphabetic() { Piece::Token(run) } else { Piece::Literal(run) });
    }
    out
}

/// A date by a pattern.
pub fn format(date: &Date, pattern: &str) -> String {
    let mut out = String::new();
    for piece in pieces(pattern) {
        match piece {
            Piece::Literal(text) => out.push_str(&text),
            Piece::Token(token) => match token_text(date, &token) {
                Some(text) => out.push_str(&text),
                None => out.push_str(&token),
            },
        }
    }
    out
}

fn token_text(date: &Date, token: &str) -> Option<String> {
    let c = date.civil();
    let (week_year, week) = date.iso_week();
    let month = MONTHS[(c.month - 1).rem_euclid(12) as usize];
    let weekday = WEEKDAYS[(date.weekday() - 1).rem_euclid(7) as usize];
    let hour12 = if c.hour % 12 == 0 { 12 } else { c.hour % 12 };
    Some(match token {
        "S" => c.millisecond.to_string(),
        "SSS" => format!("{:03}", c.millisecond),
        "u" => fraction(c.millisecond),
        "uu" => format!("{:02}", c.millisecond / 10),
        "uuu" => (c.millisecond / 100).to_string(),
        "s" => c.second.to_string(),
        "ss" => format!("{:02}", c.second),
        "m" => c.minute.to_string(),
        "mm" => format!("{:02}", c.minute),
        "h" => hour12.to_string(),
        "hh" => format!("{hour12:02}"),
        "H" => c.hour.to_string(),
        "HH" => format!("{:02}", c.hour),
        "a" => if c.hour < 12 { "AM" } else { "PM" }.to_owned(),
        "d" => c.day.to_string(),
        "dd" => format!("{:02}", c.day),
        "c" | "E" => date.weekday().to_string(),
        "ccc" | "EEE" => weekday[..3].to_owned(),
        "cccc" | "EEEE" => weekday.to_owned(),
        "ccccc" | "EEEEE" => weekday[..1].to_owned(),
        "L" | "M" => c.month.to_string(),
        "LL" | "MM" => format!("{:02}", c.month),
        "LLL" | "MMM" => month[..3].to_owned(),
        "LLLL" | "MMMM" => month.to_owned(),
        "LLLLL" | "MMMMM" => month[..1].to_owned(),
        "y" => c.year.to_string(),
        "yy" => format!("{:02}", c.year.rem_euclid(100)),
        "yyyy" => padded(c.year, 4),
        "yyyyyy" => padded(c.year, 6),
        "G" => if c.year > 0 { "AD" } else { "BC" }.to_owned(),
        "GG" => if c.year > 0 { "Anno Domini" } else { "Before Christ" }.to_owned(),
        "GGGGG" => if c.year > 0 { "A" } else { "B" }.to_owned(),
        "kk" | "ii" => format!("{:02}", week_year.rem_euclid(100)),
        "kkkk" | "iiii" => padded(week_year, 4),
        "W" | "n" => week.to_string(),
        "WW" | "nn" => format!("{week:02}"),
        "o" => date.ordinal().to_string(),
        "ooo" => format!("{:03}", date.ordinal()),
        "q" => ((c.month + 2) / 3).to_string(),
        "qq" => format!("{:02}", (c.month + 2) / 3),
        "X" => date.instant().div_euclid(1000).to_string(),
        "x" => date.instant().to_string(),
        "Z" | "ZZ" | "ZZZ" | "ZZZZ" | "ZZZZZ" | "z" => zone_text(date, token),
        _ => return macro_text(date, token),
    })
}

fn macro_text(date: &Date, token: &str) -> Option<String> {
    let day = |letters: usize| ["M/d/yyyy", "MMM d, yyyy", "MMMM d, yyyy", "EEEE, MMMM d, yyyy"][letters - 1];
    let pattern = match token {
        "D" | "DD" | "DDD" | "DDDD" => day(token.len()).to_owned(),
        "t" => "h:mm a".to_owned(),
        "tt" => "h:mm:ss a".to_owned(),
        "ttt" => "h:mm:ss a ZZZZ".to_owned(),
        "tttt" => "h:mm:ss a ZZZZZ".to_owned(),
        "T" => "HH:mm".to_owned(),
        "TT" => "HH:mm:ss".to_owned(),
        "TTT" => "HH:mm:ss ZZZZ".to_owned(),
        "TTTT" => "HH:mm:ss ZZZZZ".to_owned(),
        "f" | "ff" | "fff" | "ffff" | "F" | "FF" | "FFF" | "FFFF" => {
            let between = if token.len() > 2 { "'at'" } else { "," };
            let between = if token.len() > 2 { format!(" {between} ") } else { format!("{between} ") };
            let seconds = if token.starts_with('F') { ":ss" } else { "" };
            let zone = ["", "", " ZZZZ", " ZZZZZ"][token.len() - 1];
            format!("{}{between}h:mm{seconds} a{zone}", day(token.len()))
        }
        _ => return None,
    };
    Some(format(date, &pattern))
}

fn zone_text(date: &Date, token: &str) -> String {
    let offset = date.offset_minutes();
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
    match token {
        "Z" if minutes == 0 => format!("{sign}{hours}"),
        "Z" => format!("{sign}{hours}:{minutes:02}"),
        "ZZ" => format!("{sign}{hours:02}:{minutes:02}"),
        "ZZZ" => format!("{sign}{hours:02}{minutes:02}"),
        _ => match date.zone() {
            Zone::Local(zone) | Zone::Named(zone) => match (token, zone.iana_name()) {
                ("z", Some(name)) => name.to_owned(),
                (_, Some("UTC")) | (_, None) if offset == 0 => "UTC".to_owned(),
                _ => fixed_name(offset),
            },
            Zone::Fixed(_) => fixed_name(offset),
        },
    }
}

fn fixed_name(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
    match (hours, minutes) {
        (0, 0) => "UTC".to_owned(),
        (_, 0) => format!("UTC{sign}{hours}"),
        _ => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

fn fraction(milliseconds: i64) -> String {
    let digits = format!("{milliseconds:03}");
    let cut = digits.trim_end_matches('0');
    if cut.is_empty() { "0".to_owned() } else { cut.to_owned() }
}

fn padded(number: i64, width: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:0width$}", number.abs())
}

/// A duration by a pattern: the units that the pattern names share the whole.
pub fn format_duration(duration: &Duration, pattern: &str) -> String {
    let unit_of = |token: &str| match token.chars().next() {
        Some('S') => Some(Unit::Milliseconds),
        Some('s') => Some(Unit::Seconds),
        Some('m') => Some(Unit::Minutes),
        Some('h') => Some(Unit::Hours),
        Some('d') => Some(Unit::Days),
        Some('w') => Some(Unit::Weeks),
        Some('M') => Some(Unit::Months),
        Some('y') => Some(Unit::Years),
        _ => None,
    };
    let pieces = pieces(pattern);
    let mut units: Vec<Unit> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Token(token) => unit_of(token),
            Piece::Literal(_) => None,
        })
        .collect();
    units.sort_unstable_by_key(|unit| *unit as usize);
    units.dedup();
    let shifted = duration.shifted_to(&units);
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => out.push_str(&text),
            Piece::Token(token) => match unit_of(&token) {
                Some(unit) => {
                    let amount = shifted.get(unit).floor();
                    let sign = if amount < 0.0 { "-" } else { "" };
                    out.push_str(&format!("{sign}{:0width$}", amount.abs(), width = token.len()));
                }
                None => out.push_str(&token),
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::date::Civil;
    use super::*;

    fn date() -> Date {
        let civil = Civil { hour: 15, minute: 4, second: 5, millisecond: 67, ..Civil::day(2024, 6, 9) };
        Date::new(civil, Zone::Fixed(330)).unwrap()
    }

    #[test]
    fn tokens_stand_for_the_parts_of_a_date() {
        for (pattern, expected) in [
            ("yyyy-MM-dd", "2024-06-09"),
            ("HH:mm 'on' cccc d LLLL", "15:04 on Sunday 9 June"),
            ("h:mm:ss.SSS a", "3:04:05.067 PM"),
            ("kkkk-'W'WW E o ooo q", "2024-W23 7 161 161 2"),
            ("Z ZZ ZZZ", "+5:30 +05:30 +0530"),
            ("yy M d EEE MMM", "24 6 9 Sun Jun"),
            ("DD", "Jun 9, 2024"),
            ("D t", "6/9/2024 3:04 PM"),
        ] {
            assert_eq!(format(&date(), pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_duration_is_shared_among_the_units_of_its_pattern() {
        let days = Duration::of(Unit::Days, 3.0);
        assert_eq!(format_duration(&days, "h'h'"), "72h");
        assert_eq!(format_duration(&Duration::of(Unit::Minutes, 90.0), "hh:mm"), "01:30");
    }
}
