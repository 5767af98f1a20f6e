//! Dates as Obsidian writes them: the format language of moment.js, e.g. `YYYY-MM-DD` or `gggg-[W]ww`.
//!
//! Called by [`crate::periodic`] for the names of daily and weekly notes, and by [`crate::template`] for `{{date:…}}`.
//! English only, as in moment's `en` locale: English names, weeks that start on Sunday, week 1 holds 1 January.
//! Deliberately not here: moment's other locales, its lenient parsing, and the clock (the time is passed in).

mod parse;
mod tokens;

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{Timestamp, Zoned};

use tokens::Piece;

/// The months, January first.
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
/// The days of the week, Sunday first.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A day and a time of day as the user's clock shows it, with its distance from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    at: DateTime,
    offset: Offset,
}

/// A format, read once, for many dates or many file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern<'a> {
    pieces: Vec<Piece<'a>>,
}

/// Which weeks a format counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Week {
    /// `ww`, `gggg`: Sunday to Saturday.
    Locale,
    /// `WW`, `GGGG`: Monday to Sunday.
    Iso,
}

/// Writes a moment in a format: `format("dddd, MMMM Do", date)` gives `Thursday, May 7th`.
pub fn format(pattern: &str, moment: impl Into<Moment>) -> String {
    Pattern::new(pattern).format(moment)
}

/// Reads back what [`format`] wrote, with nothing left over on either side; `None` if the text does not fit or
/// does not say its year. Parts that are not said are the first: `YYYY-MM` gives the first of the month.
pub fn parse_strict(pattern: &str, text: &str) -> Option<Date> {
    Pattern::new(pattern).parse_strict(text)
}

impl<'a> Pattern<'a> {
    /// Reads a format. Any text is a format: what is no token stands for itself.
    pub fn new(pattern: &'a str) -> Pattern<'a> {
        Pattern { pieces: tokens::split(pattern) }
    }

    /// Writes a moment.
    pub fn format(&self, moment: impl Into<Moment>) -> String {
        let moment = moment.into();
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Token(token) => out.push_str(&moment.token(token)),
            }
        }
        out
    }

    /// See [`parse_strict`].
    pub fn parse_strict(&self, text: &str) -> Option<Date> {
        parse::date(&self.pieces, text)
    }

    /// The part behind the last slash: `YYYY-MM-DD` of `YYYY/MM/YYYY-MM-DD`.
    pub fn file_name(&self) -> Pattern<'a> {
        let slash = |piece: &Piece<'a>| match piece {
            Piece::Literal(text) => text.rfind('/').map(|at| &text[at + 1..]),
            Piece::Token(_) => None,
        };
        let last = self.pieces.iter().enumerate().rev().find_map(|(at, piece)| Some((at, slash(piece)?)));
        let Some((at, rest)) = last else { return self.clone() };
        let mut pieces = vec![Piece::Literal(rest)];
        pieces.extend_from_slice(&self.pieces[at + 1..]);
        Pattern { pieces }
    }

    /// ISO weeks if the format names those and no others, else the locale's.
    pub fn week(&self) -> Week {
        let names =
            |first: char| self.pieces.iter().any(|p| matches!(p, Piece::Token(t) if t.starts_with(first)));
        let iso = names('W') || names('G') || names('E');
        if iso && !names('w') && !names('g') { Week::Iso } else { Week::Locale }
    }
}

impl Moment {
    /// The day.
    pub fn date(&self) -> Date {
        self.at.date()
    }

    /// The day and the time of day.
    pub fn datetime(&self) -> DateTime {
        self.at
    }

    /// The same clock on another day.
    pub fn with(self, at: DateTime) -> Moment {
        Moment { at, ..self }
    }

    fn token(&self, token: &str) -> String {
        match token.as_bytes().first() {
            Some(b'Y' | b'y' | b'N' | b'g' | b'G' | b'Q' | b'M') => self.year_or_month(token),
            Some(b'D' | b'd' | b'e' | b'E' | b'w' | b'W') => self.day_or_week(token),
            _ => self.time(token),
        }
    }

    fn year_or_month(&self, token: &str) -> String {
        let year = i64::from(self.at.year());
        let month = i64::from(self.at.month());
        let quarter = (month + 2) / 3;
        match token {
            "Y" | "YYYY" => padded(year, 4),
            "YY" => padded(year % 100, 2),
            "YYYYY" => padded(year, 5),
            "YYYYYY" if year >= 0 => format!("+{}", padded(year, 6)),
            "YYYYYY" => padded(year, 6),
            "y" => era_year(year).to_string(),
            "yy" | "yyy" | "yyyy" => padded(era_year(year), token.len()),
            "yo" => ordinal(era_year(year)),
            "NNNN" => if year > 0 { "Anno Domini" } else { "Before Christ" }.to_owned(),
            "N" | "NN" | "NNN" | "NNNNN" => if year > 0 { "AD" } else { "BC" }.to_owned(),
            "gg" | "GG" => padded(self.week(token).0 % 100, 2),
            "gggg" | "ggggg" | "GGGG" | "GGGGG" => padded(self.week(token).0, token.len()),
            "Q" => quarter.to_string(),
            "Qo" => ordinal(quarter),
            "M" => month.to_string(),
            "MM" => padded(month, 2),
            "Mo" => ordinal(month),
            "MMM" => month_name(month).chars().take(3).collect(),
            _ => month_name(month).to_owned(),
        }
    }

    fn day_or_week(&self, token: &str) -> String {
        let day = i64::from(self.at.day());
        let day_of_year = i64::from(self.at.day_of_year());
        let weekday = i64::from(self.at.weekday().to_sunday_zero_offset());
        let week = self.week(token).1;
        match token {
            "D" => day.to_string(),
            "DD" => padded(day, 2),
            "Do" => ordinal(day),
            "DDD" => day_of_year.to_string(),
            "DDDD" => padded(day_of_year, 3),
            "DDDo" => ordinal(day_of_year),
            "d" | "e" => weekday.to_string(),
            "do" => ordinal(weekday),
            "dd" | "ddd" => weekday_name(weekday).chars().take(token.len()).collect(),
            "dddd" => weekday_name(weekday).to_owned(),
            "E" => i64::from(self.at.weekday().to_monday_one_offset()).to_string(),
            "w" | "W" => week.to_string(),
            "ww" | "WW" => padded(week, 2),
            _ => ordinal(week),
        }
    }

    fn time(&self, token: &str) -> String {
        let hour = i64::from(self.at.hour());
        let minute = i64::from(self.at.minute());
        let second = i64::from(self.at.second());
        let short_hour = if hour % 12 == 0 { 12 } else { hour % 12 };
        let long_hour = if hour == 0 { 24 } else { hour };
        match token {
            "H" => hour.to_string(),
            "HH" => padded(hour, 2),
            "h" => short_hour.to_string(),
            "hh" => padded(short_hour, 2),
            "k" => long_hour.to_string(),
            "kk" => padded(long_hour, 2),
            "Hmm" => format!("{hour}{minute:02}"),
            "Hmmss" => format!("{hour}{minute:02}{second:02}"),
            "hmm" => format!("{short_hour}{minute:02}"),
            "hmmss" => format!("{short_hour}{minute:02}{second:02}"),
            "m" => minute.to_string(),
            "mm" => padded(minute, 2),
            "s" => second.to_string(),
            "ss" => padded(second, 2),
            "A" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            "a" => if hour < 12 { "am" } else { "pm" }.to_owned(),
            "Z" => self.distance(":"),
            "ZZ" => self.distance(""),
            "X" => self.timestamp().as_second().to_string(),
            "x" => self.timestamp().as_millisecond().to_string(),
            "z" | "zz" => String::new(),
            _ => self.fraction(token.len()),
        }
    }

    /// Moment counts whole milliseconds, so that the fourth digit and those behind it are zero.
    fn fraction(&self, digits: usize) -> String {
        let text = format!("{:03}000000", self.at.subsec_nanosecond() / 1_000_000);
        text.chars().take(digits).collect()
    }

    fn distance(&self, between: &str) -> String {
        let minutes = self.offset.seconds() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        format!("{sign}{:02}{between}{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }

    fn timestamp(&self) -> Timestamp {
        let edge = if self.at.year() < 0 { Timestamp::MIN } else { Timestamp::MAX };
        self.offset.to_timestamp(self.at).unwrap_or(edge)
    }

    /// The week's year and number, in the kind of week that the token counts.
    fn week(&self, token: &str) -> (i64, i64) {
        let kind = if token.starts_with(['W', 'G']) { Week::Iso } else { Week::Locale };
        kind.of(self.date())
    }
}

impl Week {
    /// Days since this kind of week began.
    pub fn days_in(self, date: Date) -> i64 {
        match self {
            Week::Locale => i64::from(date.weekday().to_sunday_zero_offset()),
            Week::Iso => i64::from(date.weekday().to_monday_zero_offset()),
        }
    }

    /// The day of the week that says to which year the week belongs, counted from its first: an English week 1
    /// holds 1 January, so its last day decides; an ISO week 1 holds 4 January, so its fourth does.
    fn deciding_day(self) -> i64 {
        match self {
            Week::Locale => 6,
            Week::Iso => 3,
        }
    }

    /// The week's year and number. Counted in day numbers, not dates, so that it holds in year 9999 too.
    fn of(self, date: Date) -> (i64, i64) {
        let year = i64::from(date.year());
        let day = i64::from(date.day_of_year()) + self.deciding_day() - self.days_in(date);
        if day < 1 {
            return (year - 1, (day + days_in_year(year - 1) - 1) / 7 + 1);
        }
        if day > days_in_year(year) {
            return (year + 1, (day - days_in_year(year) - 1) / 7 + 1);
        }
        (year, (day - 1) / 7 + 1)
    }
}

impl From<Date> for Moment {
    fn from(date: Date) -> Moment {
        Moment::from(date.to_datetime(jiff::civil::Time::midnight()))
    }
}

impl From<DateTime> for Moment {
    fn from(at: DateTime) -> Moment {
        Moment { at, offset: Offset::UTC }
    }
}

impl From<&DateTime> for Moment {
    fn from(at: &DateTime) -> Moment {
        Moment::from(*at)
    }
}

impl From<&Zoned> for Moment {
    fn from(zoned: &Zoned) -> Moment {
        Moment { at: zoned.datetime(), offset: zoned.offset() }
    }
}

fn days_in_year(year: i64) -> i64 {
    if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 366 } else { 365 }
}

fn era_year(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

fn month_name(month: i64) -> &'static str {
    name_at(&MONTHS, month - 1)
}

fn weekday_name(weekday: i64) -> &'static str {
    name_at(&WEEKDAYS, weekday)
}

fn name_at(names: &[&'static str], at: i64) -> &'static str {
    usize::try_from(at).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
}

fn padded(number: i64, width: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:0width$}", number.abs())
}

fn ordinal(number: i64) -> String {
    let ending = match (number % 100 / 10, number % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    /// Thursday, 7 May 2026, 15:04:09.005 in a zone of +05:30.
    const AFTERNOON: &str = "2026-05-07T15:04:09.005+05:30[+05:30]";

    #[track_caller]
    fn check(at: &str, pattern: &str, expected: &str) {
        let at: Zoned = at.parse().unwrap();
        assert_eq!(format(pattern, &at), expected, "{pattern:?}");
    }

    #[track_caller]
    fn reads(pattern: &str, text: &str, expected: Option<Date>) {
        assert_eq!(parse_strict(pattern, text), expected, "{text:?} as {pattern:?}");
    }

    #[test]
    fn every_token_says_what_moment_says() {
        for (pattern, expected) in [
            ("YYYY YY Y", "2026 26 2026"),
            ("YYYYY YYYYYY", "02026 +002026"),
            ("y yy yyyy yo N NNNN", "2026 2026 2026 2026th AD Anno Domini"),
            ("Q Qo", "2 2nd"),
            ("M MM MMM MMMM Mo", "5 05 May May 5th"),
            ("D DD Do", "7 07 7th"),
            ("DDD DDDD DDDo", "127 127 127th"),
            ("d dd ddd dddd do", "4 Th Thu Thursday 4th"),
            ("e E", "4 4"),
            ("w ww wo gg gggg", "19 19 19th 26 2026"),
            ("W WW Wo GG GGGG", "19 19 19th 26 2026"),
            ("H HH h hh k kk", "15 15 3 03 15 15"),
            ("m mm s ss", "4 04 9 09"),
            ("S SS SSS SSSS", "0 00 005 0050"),
            ("A a", "PM pm"),
            ("Hmm Hmmss hmm hmmss", "1504 150409 304 30409"),
            ("Z ZZ", "+05:30 +0530"),
            ("X x", "1778146449 1778146449005"),
            ("LT | LTS | L | l", "3:04 PM | 3:04:09 PM | 05/07/2026 | 5/7/2026"),
            ("LL | ll", "May 7, 2026 | May 7, 2026"),
            ("LLL | lll", "May 7, 2026 3:04 PM | May 7, 2026 3:04 PM"),
            ("LLLL", "Thursday, May 7, 2026 3:04 PM"),
            ("llll", "Thu, May 7, 2026 3:04 PM"),
        ] {
            check(AFTERNOON, pattern, expected);
        }
    }

    #[test]
    fn the_full_month_name_is_not_the_month_number_twice() {
        check(AFTERNOON, "MMMM", "May");
        check(AFTERNOON, "MMM", "May");
        check("2026-11-02T00:00:00+00:00[UTC]", "DD MMMM MMM", "02 November Nov");
    }

    #[test]
    fn the_longest_token_is_taken_and_the_rest_stands_for_itself() {
        for (pattern, expected) in [
            ("YYYYMMDD", "20260507"),
            ("MMMMM", "May5"),
            ("DDDDo", "127o"),
            ("YYY", "262026"),
            ("HHmmss", "150409"),
            ("YYYY-MM-DD_é日", "2026-05-07_é日"),
            ("", ""),
        ] {
            check(AFTERNOON, pattern, expected);
        }
    }

    #[test]
    fn brackets_and_back_slashes_keep_text_as_it_is() {
        for (pattern, expected) in [
            ("gggg-[W]ww", "2026-W19"),
            ("[Today is] dddd", "Today is Thursday"),
            ("[]D", "7"),
            ("[a]b] D", "a]b 7"),
            ("[D", "[7"),
            ("D]", "7]"),
            ("[D [D]", "[7 D"),
            ("\\YYYY YYYY", "YYYY 2026"),
            ("\\LL L", "LL 05/07/2026"),
            ("\\[D]", "[7]"),
            ("D\\", "7"),
        ] {
            check(AFTERNOON, pattern, expected);
        }
    }

    #[test]
    fn ordinals_and_twelve_o_clock() {
        for (day, expected) in [
            (1, "1st"),
            (2, "2nd"),
            (3, "3rd"),
            (4, "4th"),
            (11, "11th"),
            (12, "12th"),
            (13, "13th"),
            (21, "21st"),
        ] {
            assert_eq!(format("Do", date(2026, 5, day)), expected);
        }
        assert_eq!(format("h A k", date(2026, 5, 1).at(0, 0, 0, 0)), "12 AM 24");
        assert_eq!(format("h A k", date(2026, 5, 1).at(12, 0, 0, 0)), "12 PM 12");
    }

    #[test]
    fn weeks_at_the_turn_of_the_year() {
        for (day, locale, iso) in [
            (date(2024, 12, 28), "2024-52", "2024-52"),
            (date(2024, 12, 29), "2025-01", "2024-52"),
            (date(2025, 1, 1), "2025-01", "2025-01"),
            (date(2026, 1, 1), "2026-01", "2026-01"),
            (date(2027, 1, 1), "2027-01", "2026-53"),
            (date(2022, 12, 31), "2022-53", "2022-52"),
            (date(9999, 12, 31), "10000-01", "9999-52"),
        ] {
            assert_eq!(format("gggg-ww", day), locale, "{day}");
            assert_eq!(format("GGGG-WW", day), iso, "{day}");
        }
    }

    #[test]
    fn the_label_is_the_users_day_not_the_day_in_utc() {
        let just_after_midnight: Zoned = "2026-05-07T00:30:00+10:00[Australia/Brisbane]".parse().unwrap();
        assert_eq!(format("YYYY-MM-DD HH:mm Z", &just_after_midnight), "2026-05-07 00:30 +10:00");
        check("2026-05-06T23:30:00-08:00[-08:00]", "YYYY-MM-DD ZZ", "2026-05-06 -0800");
    }

    #[test]
    fn a_name_is_read_strictly() {
        let day = Some(date(2026, 5, 7));
        for (pattern, text, expected) in [
            ("YYYY-MM-DD", "2026-05-07", day),
            ("YYYY-MM-DD", "2026-5-7", None),
            ("YYYY-MM-DD", "2026-05-07 copy", None),
            ("YYYY-MM-DD", "a 2026-05-07", None),
            ("YYYY-MM-DD", "2026-02-30", None),
            ("YYYY-MM-DD", "", None),
            ("YYYY-M-D", "2026-5-7", day),
            ("dddd, MMMM Do YYYY", "Thursday, May 7th 2026", day),
            ("dddd, MMMM Do YYYY", "Friday, May 7th 2026", None),
            ("MMM YYYY", "June 2026", None),
            ("YYYY-[Q]Q", "2026-Q3", Some(date(2026, 7, 1))),
            ("YYYY-[Q]Q", "2026-Q5", None),
            ("YYYY-MM [Q]Q", "2026-05 Q3", None),
            ("gggg-[W]ww", "2026-W01", Some(date(2025, 12, 28))),
            ("gggg-[W]ww", "2026-W53", None),
            ("gggg-[W]ww", "2026-w01", None),
            ("GGGG-[W]WW", "2026-W53", Some(date(2026, 12, 28))),
            ("GGGG-[W]WW", "2025-W53", None),
            ("YYYY-DDDD", "2024-366", Some(date(2024, 12, 31))),
            ("YYYY-DDDD", "2026-366", None),
            ("YY-MM", "69-01", Some(date(1969, 1, 1))),
            ("YYYY-MM-DD HHmm", "2026-05-07 2359", day),
            ("YYYY-MM-DD HHmm", "2026-05-07 2460", None),
            ("YYYY/YYYY-MM", "2025/2026-05", None),
        ] {
            reads(pattern, text, expected);
        }
    }

    #[test]
    fn a_month_beside_a_week_does_not_hide_the_week() {
        reads("gggg-[W]ww (MMM)", "2026-W19 (May)", Some(date(2026, 5, 3)));
        reads("gggg-[W]ww MM-DD", "2026-W19 05-07", Some(date(2026, 5, 3)));
    }

    #[test]
    fn a_name_without_its_year_is_not_guessed() {
        reads("DD", "07", None);
        reads("MMMM D", "May 7", None);
        reads("gggg", "2026", None);
        reads("[note]", "note", None);
    }

    #[test]
    fn the_file_name_of_a_format_is_what_follows_its_last_slash() {
        let day = date(2026, 5, 7);
        for (pattern, expected) in
            [("YYYY/MM/YYYY-MM-DD", "2026-05-07"), ("YYYY", "2026"), ("[a/b] D", "b 7"), ("YYYY/", "")]
        {
            assert_eq!(Pattern::new(pattern).file_name().format(day), expected);
        }
    }

    /// Formats that say the day, the year included.
    const WHOLE: &[&str] = &[
        "YYYY-MM-DD",
        "YYYYMMDD",
        "YYYY/MM/YYYY-MM-DD",
        "dddd, MMMM Do YYYY",
        "ddd dd D MMM Y",
        "[Q]Q Qo YYYY Mo D",
        "YYYY-DDDD",
        "DDDo YYYY",
        "gggg-[W]ww-e",
        "GGGG-[W]WW-E",
        "ggggg wo dddd",
        "GGGGG Wo ddd",
        "YYYYYY MM DD",
        "YYYY-MM-DD[T]HH:mm:ss.SSSZ",
        "YYYY-MM-DD hmmss A kk ZZ",
        "X",
        "x",
        "L",
        "LL",
        "LLLL",
        "l",
        "ll",
        "llll",
        "yyyy-MM-DD N",
    ];

    fn any_day(years: std::ops::RangeInclusive<i16>) -> impl Strategy<Value = Date> {
        (years, 0_i64..366).prop_map(|(year, day)| {
            let first = date(year, 1, 1);
            first.checked_add(jiff::Span::new().days(day)).unwrap_or(first)
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(day in any_day(1..=9999), pattern in proptest::sample::select(WHOLE)) {
            prop_assert_eq!(parse_strict(pattern, &format(pattern, day)), Some(day));
        }

        #[test]
        fn a_short_year_is_read_back_within_its_century(day in any_day(1969..=2067)) {
            prop_assert_eq!(parse_strict("YY-MM-DD", &format("YY-MM-DD", day)), Some(day));
        }

        #[test]
        fn any_text_is_a_format_and_any_name_may_be_asked(pattern in "\\PC{0,30}", tokens in "[YyMDdwWgGQEeHhmsSAaZXxLlN\\[\\]\\\\ o]{0,30}", day in any_day(-9998..=9998)) {
            for pattern in [pattern, tokens] {
                let text = format(&pattern, day);
                let _ = parse_strict(&pattern, &text);
                let _ = parse_strict(&text, &pattern);
            }
        }
    }
}
