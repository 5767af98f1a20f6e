//! Settings: models, approval, policy, agents, servers, grants.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
