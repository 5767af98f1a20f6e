//! `cargo bench -p verger-benches`: the same program as `cargo run --release -p verger-benches`, under cargo's other name.
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark stands outside the fences: it makes vaults and starts git"
)]
#![allow(clippy::print_stdout, reason = "the numbers are its output")]

#[path = "main.rs"]
mod program;

fn main() -> anyhow::Result<()> {
    program::main()
}
