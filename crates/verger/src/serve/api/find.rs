//! Finding: ranked, exact, by meaning, by query.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
