//! The text index on a real disk: crashes, damage, several processes, ripgrep, and figures. One test binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests"
)]

mod index {
    mod clock;
    mod crash;
    mod damage;
    mod figures;
    mod rig;
    mod ripgrep;
    mod sharing;
}
