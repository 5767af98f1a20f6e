//! What was worked out about a shared text, by the text's address: quicker than by the text.
//!
//! For one look at the catalog and no longer: while nobody may change it no text goes away, so an address is a text.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Values by the address of a text of the catalog.
pub(crate) type ByAddress<T> = HashMap<usize, T, BuildHasherDefault<Spread>>;

/// The address of a text.
pub(crate) fn address(text: &str) -> usize {
    text.as_ptr().addr()
}

/// Spreads addresses over the table by a multiplication; nobody outside chooses them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}
