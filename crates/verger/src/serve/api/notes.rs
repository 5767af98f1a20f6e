//! Notes as the person reads them, folders, files, names.

use super::area::Area;

/// The routes.
pub fn area() -> Area {
    Area::default()
}
