//! The graph of links.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
