//! The loop over a real road, a real vault and a real database, with a model that says what the test wants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

#[path = "it/limits.rs"]
mod limits;
#[path = "it/matrix.rs"]
mod matrix;
#[path = "it/obedient.rs"]
mod obedient;
#[path = "it/resume.rs"]
mod resume;
#[path = "it/review.rs"]
mod review;
#[path = "it/rig.rs"]
mod rig;
#[path = "it/seeding.rs"]
mod seeding;
#[path = "it/steering.rs"]
mod steering;
#[path = "it/turns.rs"]
mod turns;
