//! What is wrong or odd in the vault, and mending it.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
