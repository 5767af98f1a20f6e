//! The real binary on copies of the tour vault. One test binary for all doors.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests"
)]

mod about;
mod ansi;
mod check;
mod errors;
mod paths;
mod reading;
mod rig;
mod setup;
mod undo;
mod writing;
