//! Time and chance, passed in, so that tests use neither.

use jiff::Zoned;

/// What the road needs of the outside besides the vault.
pub trait World: Send + Sync {
    /// The time now, in the user's zone.
    fn now(&self) -> Zoned;
    /// A new random name (twelve hex digits), for checkpoints, grants and tasks.
    fn id(&self) -> Result<String, vault::Error>;
}
