//! Chat models against a server on this machine that plays recorded answers and breaks in every way. One test binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

mod chat {
    mod bodies;
    mod faults;
    mod keys;
    mod lists;
    mod play;
    mod rig;
}
