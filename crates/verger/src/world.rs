//! The real time and real chance. The only place in Verger that looks at a clock.

use jiff::{Timestamp, Zoned};

/// The world as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealWorld;

impl pipeline::World for RealWorld {
    #[expect(clippy::disallowed_methods, reason = "the one clock; everything else is told the time")]
    fn now(&self) -> Zoned {
        Zoned::now()
    }

    #[expect(clippy::disallowed_methods, reason = "the one clock; everything else is told the time")]
    fn moment(&self) -> Timestamp {
        Timestamp::now()
    }

    fn id(&self) -> Result<String, vault::Error> {
        vault::commit::new_id()
    }
}
