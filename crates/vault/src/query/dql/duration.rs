//! A length of time by unit, as Luxon keeps and normalises it: a literal keeps its units, arithmetic rolls them up.
//!
//! A year counts 365 days and a month 30 wherever no date says otherwise.

/// The units, the longest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Years.
    Years,
    /// Months.
    Months,
    /// Weeks.
    Weeks,
    /// Days.
    Days,
    /// Hours.
    Hours,
    /// Minutes.
    Minutes,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// All units, the longest first.
pub(crate) const UNITS: [Unit; 8] = [
    Unit::Years,
    Unit::Months,
    Unit::Weeks,
    Unit::Days,
    Unit::Hours,
    Unit::Minutes,
    Unit::Seconds,
    Unit::Milliseconds,
];

impl Unit {
    /// Its name in the plural.
    pub fn name(self) -> &'static str {
        ["years", "months", "weeks", "days", "hours", "minutes", "seconds", "milliseconds"][self as usize]
    }

    /// The unit that a word of a literal names (`hr`, `mins`, `w`).
    pub fn from_word(word: &str) -> Option<Unit> {
        Some(match word {
            "year" | "years" | "yr" | "yrs" => Unit::Years,
            "month" | "months" | "mo" | "mos" => Unit::Months,
            "week" | "weeks" | "wk" | "wks" | "w" => Unit::Weeks,
            "day" | "days" | "d" => Unit::Days,
            "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Hours,
            "minute" | "minutes" | "min" | "mins" | "m" => Unit::Minutes,
            "second" | "seconds" | "sec" | "secs" | "s" => Unit::Seconds,
            _ => return None,
        })
    }

    /// How many of the shorter unit make one of this. Luxon's casual table, where 52 weeks are a year.
    fn in_units(self, shorter: Unit) -> f64 {
        let weeks = match self {
            Unit::Years if shorter == Unit::Months => return 12.0,
            Unit::Years if shorter == Unit::Weeks => return 52.0,
            Unit::Months if shorter == Unit::Weeks => return 4.0,
            _ => self.milliseconds(),
        };
        weeks / shorter.milliseconds()
    }

    pub(crate) fn milliseconds(self) -> f64 {
        const DAY: f64 = 86_400_000.0;
        [365.0 * DAY, 30.0 * DAY, 7.0 * DAY, DAY, 3_600_000.0, 60_000.0, 1_000.0, 1.0][self as usize]
    }
}

/// A duration: how much of each unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Duration {
    amounts: [f64; 8],
}

impl Duration {
    /// So much of one unit.
    pub fn of(unit: Unit, amount: f64) -> Duration {
        let mut out = Duration::default();
        out.amounts[unit as usize] = amount;
        out
    }

    /// How much of this unit it holds.
    pub fn get(&self, unit: Unit) -> f64 {
        self.amounts[unit as usize]
    }

    /// Unit by unit, without rolling over.
    pub fn plus(&self, other: &Duration) -> Duration {
        let mut out = *self;
        for (amount, more) in out.amounts.iter_mut().zip(other.amounts) {
            *amount += more;
        }
        out
    }

    /// Every unit times a number.
    pub fn times(&self, factor: f64) -> Duration {
        Duration { amounts: self.amounts.map(|amount| amount * factor) }
    }

    /// The whole in milliseconds.
    pub fn total_milliseconds(&self) -> f64 {
        UNITS.iter().map(|unit| self.get(*unit) * unit.milliseconds()).sum()
    }

    /// The whole in one unit.
    pub fn total(&self, unit: Unit) -> f64 {
        let mut own = 0.0;
        for longer in UNITS.iter().take_while(|other| **other as usize <= unit as usize) {
            own += self.get(*longer) * if *longer == unit { 1.0 } else { longer.in_units(unit) };
        }
        for shorter in UNITS.iter().skip(unit as usize + 1) {
            own += self.get(*shorter) / unit.in_units(*shorter);
        }
        own
    }

    /// Only these units (longest first), fractions carried into shorter ones and the rest rolled up.
    pub fn shifted_to(&self, units: &[Unit]) -> Duration {
        let mut built = Duration::default();
        let mut waiting: Vec<(Unit, f64)> = Vec::new();
        for unit in UNITS {
            if !units.contains(&unit) {
                waiting.push((unit, self.get(unit)));
                continue;
            }
            let carried = waiting.iter_mut();
            let mut own: f64 =
                carried.map(|(longer, amount)| longer.in_units(unit) * std::mem::take(amount)).sum();
            own += self.get(unit);
            let whole = own.trunc();
            built.amounts[unit as usize] = whole;
            waiting.push((unit, (own * 1000.0 - whole * 1000.0) / 1000.0));
        }
        if let Some(last) = units.last() {
            for (unit, amount) in waiting.into_iter().filter(|(_, amount)| *amount != 0.0) {
                built.amounts[*last as usize] +=
                    if unit == *last { amount } else { amount / last.in_units(unit) };
            }
        }
        built.roll(units);
        built
    }

    /// All units used, so that `90 minutes` becomes `1 hour, 30 minutes`.
    pub fn normalized(&self) -> Duration {
        let mut out = self.shifted_to(&UNITS);
        out.roll(&UNITS);
        out
    }

    fn roll(&mut self, units: &[Unit]) {
        let sign = if self.total_milliseconds() < 0.0 { -1.0 } else { 1.0 };
        for pair in units.windows(2).rev() {
            let (longer, shorter) = (pair[0], pair[1]);
            let many = longer.in_units(shorter);
            let up = (self.get(shorter) * sign / many).floor();
            self.amounts[longer as usize] += up * sign;
            self.amounts[shorter as usize] -= up * many * sign;
        }
        for pair in units.windows(2) {
            let (longer, shorter) = (pair[0], pair[1]);
            let fraction = self.get(longer) % 1.0;
            self.amounts[longer as usize] -= fraction;
            self.amounts[shorter as usize] += fraction * longer.in_units(shorter);
        }
    }

    /// The units that are not zero, the longest first.
    pub fn parts(&self) -> impl Iterator<Item = (Unit, f64)> + '_ {
        UNITS.iter().map(|unit| (*unit, self.get(*unit))).filter(|(_, amount)| *amount != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(duration: Duration, expected: &[(Unit, f64)]) {
        assert_eq!(duration.parts().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn arithmetic_rolls_units_up_and_fractions_down() {
        check(Duration::of(Unit::Minutes, 90.0).normalized(), &[(Unit::Hours, 1.0), (Unit::Minutes, 30.0)]);
        check(Duration::of(Unit::Days, -2.5).normalized(), &[(Unit::Days, -2.0), (Unit::Hours, -12.0)]);
        check(Duration::of(Unit::Days, 1.0 / 3.0).normalized(), &[(Unit::Hours, 8.0)]);
        check(Duration::of(Unit::Days, 9.0).normalized(), &[(Unit::Weeks, 1.0), (Unit::Days, 2.0)]);
    }
}
