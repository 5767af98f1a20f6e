//! What was changed, and taking it back.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
