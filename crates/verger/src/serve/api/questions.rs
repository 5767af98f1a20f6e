//! What waits for the person: approvals and questions.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
