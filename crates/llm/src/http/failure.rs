//! A try that failed: why, and whether and when to try again.
//!
//! Used by the HTTP client and by the chat models, which try again as long as nothing was said. What the service asks for
//! comes first; without a word of it the pauses grow, each a little by chance, so that many clients do not come back at once.

use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::Patience;
use crate::Error;

/// The first pause before another try; each further one is twice as long.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Nobody is waited for longer, whatever a service says.
const LONGEST: f64 = 86_400.0;

/// A try that failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// Why.
    pub error: Error,
    /// How long the service wants to be left alone, if it says so.
    pub wait: Option<Duration>,
    /// Whether the service says that another try helps.
    pub again: Option<bool>,
}

impl Failure {
    /// With what the service said about trying again.
    pub(crate) fn new(error: Error, headers: &HeaderMap) -> Failure {
        let again = match headers.get("x-should-retry").and_then(|value| value.to_str().ok()) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Failure { error, wait: asked_for(headers), again }
    }

    /// The pause before try number `tried + 1`; `None` if there is to be none.
    pub(crate) fn pause(&self, tried: u32, patience: Patience) -> Option<Duration> {
        // What took its whole time once is not given it again.
        let passing = self.error.is_passing() && !matches!(self.error, Error::Slow { .. });
        if !self.again.unwrap_or(passing) || tried >= patience.tries {
            return None;
        }
        let named = match &self.error {
            Error::RateLimit { wait, .. } => self.wait.unwrap_or(*wait),
            _ => self.wait.unwrap_or_default(),
        };
        let grown = FIRST_PAUSE * 2u32.saturating_pow(tried.saturating_sub(1).min(16));
        let wait = named.max(grown);
        if wait > patience.pause {
            return None;
        }
        Some(wait + wait.mul_f64(chance() / 4.0))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, wait: None, again: None }
    }
}

/// Something between 0 and 1.
fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

/// How long the service wants to be left alone. A date is compared with the service's own clock.
pub(crate) fn asked_for(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|number| number / 1_000.0)
        .or_else(|| number(RETRY_AFTER.as_str()))
        .or_else(|| seconds_between(text(DATE.as_str())?, text(RETRY_AFTER.as_str())?))?;
    let valid = seconds.is_finite() && seconds >= 0.0;
    valid.then(|| Duration::from_secs_f64(seconds.min(LONGEST)))
}

fn seconds_between(now: &str, then: &str) -> Option<f64> {
    let second = |text: &str| rfc2822::parse(text).ok().map(|date| date.timestamp().as_second());
    Some((second(then)? - second(now)?).max(0) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderName;

    fn headers(rows: &[(&'static str, &str)]) -> HeaderMap {
        rows.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_a_service_asks_for_is_read_in_every_form() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (rows, seconds) in [
            (&[("retry-after-ms", "1500")][..], Some(1.5)),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(0.25)),
            (&[("retry-after", "3")], Some(3.0)),
            (&[("retry-after", "0.5")], Some(0.5)),
            (&[date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30.0)),
            (&[date, ("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT")], Some(0.0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "1e300")], Some(LONGEST)),
            (&[], None),
        ] {
            assert_eq!(asked_for(&headers(rows)), seconds.map(Duration::from_secs_f64), "{rows:?}");
        }
    }

    #[test]
    fn only_what_may_pass_is_tried_again_and_not_for_ever() {
        let service = || "s".to_owned();
        let busy = Error::Overloaded { service: service(), status: 529, message: String::new() };
        let bad = Error::BadRequest { service: service(), status: 400, message: String::new() };
        let slow = Error::Slow { service: service(), seconds: 1 };
        let patience = Patience { tries: 3, limit: Duration::from_secs(1), pause: Duration::from_secs(5) };
        for (error, rows, tried, low, high) in [
            (&busy, &[][..], 1, 500, 625),
            (&busy, &[], 2, 1_000, 1_250),
            (&busy, &[("retry-after", "2")], 1, 2_000, 2_500),
            (&bad, &[("x-should-retry", "true")], 1, 500, 625),
        ] {
            let pause = Failure::new(error.clone(), &headers(rows)).pause(tried, patience).unwrap();
            assert!((low..=high).contains(&pause.as_millis()), "{error} {rows:?}: {pause:?}");
        }
        for (error, rows, tried) in [
            (&busy, &[][..], 3),
            (&busy, &[("x-should-retry", "false")], 1),
            (&busy, &[("retry-after", "6")], 1),
            (&bad, &[], 1),
            (&slow, &[], 1),
        ] {
            assert_eq!(Failure::new(error.clone(), &headers(rows)).pause(tried, patience), None, "{error}");
        }
    }
}
