//! Time and chance, passed in, so that tests use neither.

use jiff::{Timestamp, Zoned};

/// What the road needs of the outside besides the vault.
pub trait World: Send + Sync {
    /// The time now, in the user's zone.
    fn now(&self) -> Zoned;
    /// The same moment without a zone, for those who need none: a zone must be looked up.
    fn moment(&self) -> Timestamp {
        self.now().timestamp()
    }
    /// A new random name (twelve hex digits), for checkpoints, grants and tasks.
    fn id(&self) -> Result<String, vault::Error>;
}
