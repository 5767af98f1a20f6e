//! Conversations: begun, gone on with, stopped, forked, deleted.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
