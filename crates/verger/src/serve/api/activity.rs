//! Calls, tokens and money by day.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
