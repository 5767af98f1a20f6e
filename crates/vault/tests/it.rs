//! The vault on a real disk: commits, crashes, faults, restores, housekeeping. One test binary.
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
    mod commit;
    mod corpus;
    mod crash;
    mod faults;
    mod fresh;
    mod fuzz;
    mod housekeeping;
    mod recover;
    mod restore;
    mod rig;
    mod scope;
    mod sights;
    mod symlinks;
}
