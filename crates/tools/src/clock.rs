//! Moments as people read them, in the user's zone.

use jiff::Timestamp;
use pipeline::View;

/// `2026-03-14 09:26` of milliseconds since 1970.
pub(crate) fn minute(view: &View<'_>, milliseconds: i64) -> String {
    match Timestamp::from_millisecond(milliseconds) {
        Ok(time) => time.to_zoned(view.now().time_zone().clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => "at an unknown time".to_owned(),
    }
}
