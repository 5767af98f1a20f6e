//! One stream of events for a page: what changed, what is asked, how a conversation goes on.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
