//! Conversations on a real disk: kept, searched, leased, killed, damaged. One test binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests"
)]

mod it {
    mod child;
    mod crash;
    mod damage;
    mod keeping;
    mod leases;
    mod rig;
    mod searching;
    mod speed;
    mod trouble;
}
