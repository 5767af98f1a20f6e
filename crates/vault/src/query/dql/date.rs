//! A moment with its zone, and the calendar arithmetic that queries do on it (Luxon's rules).
//!
//! The instant is in milliseconds. The zone of the reader, a fixed offset and a named zone are three different things:
//! two dates are equal only if instant and zone agree. The clock is never read here; `now` comes with the query.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::duration::{Duration, UNITS, Unit};

/// Where a date is looked at from.
#[derive(Debug, Clone, PartialEq)]
pub enum Zone {
    /// The zone of the one who asks.
    Local(TimeZone),
    /// Minutes east of Greenwich.
    Fixed(i32),
    /// A named zone, such as `Europe/Paris`.
    Named(TimeZone),
}

impl Zone {
    /// The zone that a name gives, if there is one.
    pub fn named(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("gmt") {
            return Some(Zone::Fixed(0));
        }
        TimeZone::get(name).ok().map(Zone::Named)
    }

    /// Milliseconds east of Greenwich at an instant.
    fn offset(&self, instant: i64) -> i64 {
        match self {
            Zone::Fixed(minutes) => i64::from(*minutes) * 60_000,
            Zone::Local(zone) | Zone::Named(zone) => {
                let at = Timestamp::from_millisecond(instant).unwrap_or(Timestamp::UNIX_EPOCH);
                i64::from(zone.to_offset(at).seconds()) * 1000
            }
        }
    }
}

/// The parts of a date. Parts beyond their range roll over: 30 February is 1 or 2 March.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
    /// 0 to 999.
    pub millisecond: i64,
}

impl Civil {
    /// Midnight of a day.
    pub fn day(year: i64, month: i64, day: i64) -> Civil {
        Civil { year, month, day, hour: 0, minute: 0, second: 0, millisecond: 0 }
    }

    fn as_if_utc(&self) -> i64 {
        let days = days_from_civil(self.year, self.month, 1) + self.day - 1;
        days * DAY + self.hour * 3_600_000 + self.minute * 60_000 + self.second * 1000 + self.millisecond
    }
}

/// A date with time and zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Date {
    instant: i64,
    zone: Zone,
}

const DAY: i64 = 86_400_000;
/// Years outside of this are no dates: nothing sensible is written there, and every sum stays far from overflow.
const YEARS: std::ops::RangeInclusive<i64> = -9000..=9000;

impl Date {
    /// The moment at which clocks in the zone show this; none outside the years that are kept.
    pub fn new(civil: Civil, zone: Zone) -> Option<Date> {
        let in_range = YEARS.contains(&civil.year)
            && [civil.month, civil.day, civil.hour, civil.minute, civil.second, civil.millisecond]
                .iter()
                .all(|part| part.unsigned_abs() < 10_000_000_000);
        let local = in_range.then(|| civil.as_if_utc())?;
        Date::at(to_instant(local, zone.offset(local), &zone), zone)
    }

    /// An instant in milliseconds since 1970.
    pub fn at(instant: i64, zone: Zone) -> Option<Date> {
        (instant.unsigned_abs() < 9000 * 366 * DAY.unsigned_abs()).then_some(Date { instant, zone })
    }

    /// Milliseconds since 1970.
    pub fn instant(&self) -> i64 {
        self.instant
    }

    /// Its zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The same instant seen from another zone.
    pub fn seen_from(&self, zone: Zone) -> Date {
        Date { instant: self.instant, zone }
    }

    /// Minutes east of Greenwich.
    pub fn offset_minutes(&self) -> i64 {
        self.zone.offset(self.instant) / 60_000
    }

    /// What clock and calendar show.
    pub fn civil(&self) -> Civil {
        let local = self.instant + self.zone.offset(self.instant);
        let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            millisecond: rest % 1000,
        }
    }

    /// 1 for Monday to 7 for Sunday.
    pub fn weekday(&self) -> i64 {
        let civil = self.civil();
        (days_from_civil(civil.year, civil.month, civil.day) + 3).rem_euclid(7) + 1
    }

    /// The day's number in its year, from 1.
    pub fn ordinal(&self) -> i64 {
        let civil = self.civil();
        days_from_civil(civil.year, civil.month, civil.day) - days_from_civil(civil.year, 1, 1) + 1
    }

    /// ISO week year and week number.
    pub fn iso_week(&self) -> (i64, i64) {
        let year = self.civil().year;
        let week = (self.ordinal() - self.weekday() + 10).div_euclid(7);
        if week < 1 {
            return (year - 1, weeks_in_year(year - 1));
        }
        if week > weeks_in_year(year) { (year + 1, 1) } else { (year, week) }
    }

    /// Midnight of its day.
    pub fn start_of_day(&self) -> Option<Date> {
        let civil = self.civil();
        Date::new(Civil::day(civil.year, civil.month, civil.day), self.zone.clone())
    }

    /// Later by a duration: months and days by the calendar, hours by the clock.
    pub fn plus(&self, duration: &Duration) -> Option<Date> {
        let whole = |unit: Unit| duration.get(unit).trunc();
        // Far more than all years that are kept, far less than what a sum of milliseconds can hold.
        let too_long = |unit: &Unit| {
            let length = duration.get(*unit).abs() * unit.milliseconds();
            length.is_nan() || length > 1e16
        };
        if UNITS.iter().any(too_long) {
            return None;
        }
        let civil = self.civil();
        let months = civil.month - 1 + whole(Unit::Months) as i64;
        let year = civil.year + whole(Unit::Years) as i64 + months.div_euclid(12);
        let month = months.rem_euclid(12) + 1;
        if !YEARS.contains(&year) {
            return None;
        }
        let day = civil.day.min(days_in_month(year, month))
            + whole(Unit::Days) as i64
            + whole(Unit::Weeks) as i64 * 7;
        let local = Civil { year, month, day, ..civil }.as_if_utc();
        let mut instant = to_instant(local, self.zone.offset(self.instant), &self.zone);
        for unit in UNITS {
            let amount = duration.get(unit);
            let by_clock = unit as usize >= Unit::Hours as usize;
            let part = if by_clock { amount } else { amount - amount.trunc() };
            instant += (part * unit.milliseconds()) as i64;
        }
        Date::at(instant, self.zone.clone())
    }

    /// Earlier by a duration.
    pub fn minus(&self, duration: &Duration) -> Option<Date> {
        self.plus(&duration.times(-1.0))
    }

    /// From another date to this one, in years, months, days and clock units.
    pub fn since(&self, other: &Date) -> Option<Duration> {
        if other.instant > self.instant {
            return Some(between(self, other)?.times(-1.0));
        }
        between(other, self)
    }

    /// The ISO text with milliseconds; `Z` for no offset.
    pub fn iso(&self) -> String {
        let c = self.civil();
        let year = match c.year {
            0..=9999 => format!("{:04}", c.year),
            other => format!("{}{:06}", if other < 0 { '-' } else { '+' }, other.abs()),
        };
        let offset = self.offset_minutes();
        let zone = match offset {
            0 => "Z".to_owned(),
            _ => {
                let sign = if offset < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
            }
        };
        format!(
            "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}{zone}",
            c.month, c.day, c.hour, c.minute, c.second, c.millisecond
        )
    }
}

fn between(earlier: &Date, later: &Date) -> Option<Duration> {
    let (from, to) = (earlier.civil(), later.seen_from(earlier.zone.clone()).civil());
    let mut sum = Duration::default();
    let mut reached = earlier.clone();
    for unit in [Unit::Years, Unit::Months, Unit::Days] {
        let here = reached.civil();
        let guess = match unit {
            Unit::Years => to.year - from.year,
            Unit::Months => to.month - here.month + (to.year - here.year) * 12,
            _ => {
                days_from_civil(to.year, to.month, to.day) - days_from_civil(here.year, here.month, here.day)
            }
        };
        // The guess ignores what is smaller than the unit, so it may be too far; by zones even twice.
        for amount in [guess, guess - 1, guess - 2] {
            let tried = sum.plus(&Duration::of(unit, amount as f64));
            let there = earlier.plus(&tried)?;
            if there.instant <= later.instant || amount == guess - 2 {
                (sum, reached) = (tried, there);
                break;
            }
        }
    }
    let rest = Duration::of(Unit::Milliseconds, (later.instant - reached.instant) as f64);
    let clock = [Unit::Hours, Unit::Minutes, Unit::Seconds, Unit::Milliseconds];
    Some(rest.shifted_to(&clock).plus(&sum))
}

/// Luxon's way through the gaps and folds of daylight saving.
fn to_instant(local: i64, offset: i64, zone: &Zone) -> i64 {
    let guess = local - offset;
    let second = zone.offset(guess);
    if second == offset {
        return guess;
    }
    let guess = local - second;
    let third = zone.offset(guess);
    if third == second { guess } else { local - second.min(third) }
}

/// Days in a month.
pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next.0, next.1, 1) - days_from_civil(year, month, 1)
}

/// ISO weeks in a year.
fn weeks_in_year(year: i64) -> i64 {
    let weekday = |year: i64| (days_from_civil(year, 12, 31) + 3).rem_euclid(7) + 1;
    if weekday(year) == 4 || weekday(year - 1) == 3 { 53 } else { 52 }
}

/// Days since 1970 of a day; months beyond 12 roll over.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(year: i64, month: i64, day: i64) -> Date {
        Date::new(Civil::day(year, month, day), Zone::Fixed(0)).unwrap()
    }

    #[test]
    fn parts_beyond_their_range_roll_over() {
        assert_eq!(utc(2024, 2, 30), utc(2024, 3, 1));
        assert_eq!(utc(2023, 2, 29).iso(), "2023-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_month_later_is_the_last_day_of_a_shorter_month() {
        let later = utc(2024, 1, 31).plus(&Duration::of(Unit::Months, 1.0)).unwrap();
        assert_eq!(later, utc(2024, 2, 29));
    }

    #[test]
    fn differences_go_by_the_calendar() {
        let between = utc(2021, 5, 4).since(&utc(1997, 5, 17)).unwrap().normalized();
        let parts: Vec<_> = between.parts().map(|(unit, amount)| (unit.name(), amount)).collect();
        assert_eq!(parts, [("years", 23.0), ("months", 11.0), ("weeks", 2.0), ("days", 3.0)]);
    }

    #[test]
    fn sums_outside_of_the_years_are_none() {
        for unit in UNITS {
            for amount in [1e14, -1e14, 1e300, f64::NAN, f64::INFINITY] {
                assert_eq!(
                    utc(2024, 1, 1).plus(&Duration::of(unit, amount * 1e4)),
                    None,
                    "{unit:?} {amount}"
                );
            }
        }
        assert_eq!(Date::at(i64::MIN, Zone::Fixed(0)), None);
    }

    #[test]
    fn weeks_are_iso_weeks() {
        for (date, expected) in [
            (utc(2024, 12, 30), (2025, 1)),
            (utc(2021, 1, 1), (2020, 53)),
            (utc(2024, 6, 20), (2024, 25)),
            (utc(2023, 1, 1), (2022, 52)),
        ] {
            assert_eq!(date.iso_week(), expected, "{}", date.iso());
        }
    }

    #[test]
    fn clocks_in_a_named_zone_follow_daylight_saving() {
        let Some(paris) = Zone::named("Europe/Paris") else { return };
        let summer =
            Date::new(Civil { hour: 12, ..Civil::day(2021, 8, 15) }, paris.clone()).map(|date| date.iso());
        assert_eq!(summer.as_deref(), Some("2021-08-15T12:00:00.000+02:00"));
        let before = Date::new(Civil { hour: 12, ..Civil::day(2021, 3, 27) }, paris).unwrap();
        assert_eq!(
            before.plus(&Duration::of(Unit::Days, 1.0)).unwrap().iso(),
            "2021-03-28T12:00:00.000+02:00"
        );
    }
}
