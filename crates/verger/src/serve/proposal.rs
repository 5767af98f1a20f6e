//! A change that the person makes in the page: first it is shown, then it is carried out, if it is still the same.

use axum::http::StatusCode;
use pipeline::{Call, Nobody, Outcome, Output};
use serde_json::{Value, json};
use vault::Change;

use super::diffs;
use super::house::{House, Saw};
use super::problem::Problem;

/// The longest word that [`Saw::word`] makes.
const LONGEST_WORD: usize = 64;

/// Shows what a call would change (`shown`), or carries it out for who `saw` it (`done`); `nothing` says why there is nothing to
/// do. Call it inside of [`House::look`].
pub fn propose(house: &House, call: Call, saw: Option<String>) -> Result<Value, Problem> {
    let outcome = match saw {
        None => house.call(call.dry(), &Nobody),
        Some(word) if word.is_empty() || word.len() > LONGEST_WORD => {
            return Err(Problem::bad(
                "`saw` is not a word of ours",
                "send the one that came with what was shown",
            ));
        }
        Some(word) => house.call(call, &Saw(word)),
    };
    told(house, outcome)
}

fn told(house: &House, outcome: Outcome) -> Result<Value, Problem> {
    match outcome {
        Outcome::Shown { summary, changes, would_say } => Ok(json!({"shown": {
            "summary": summary,
            "files": diffs::files(&changes),
            "saw": Saw::word(&changes),
            "says": said(&would_say),
        }})),
        Outcome::Done { output, changes, checkpoint } => {
            house.beat(|pulse| pulse.notes += 1);
            let files: Vec<&str> = changes.iter().map(Change::path).map(vault::VaultPath::as_str).collect();
            Ok(json!({"done": {"text": said(&output), "checkpoint": checkpoint, "files": files}}))
        }
        Outcome::Answered(output) | Outcome::Steered(_, output) => Ok(json!({"nothing": said(&output)})),
        Outcome::Refused(refusal) | Outcome::Denied(refusal) => Err(refused(refusal)),
    }
}

/// A plan that is another one by now is told as a conflict, so that the page shows it again.
fn refused(refusal: pipeline::Refusal) -> Problem {
    match refusal.reason == "denied" {
        true => Problem::new(
            StatusCode::CONFLICT,
            "changed_since",
            "the notes changed after this was shown, so nothing was done",
            "look at it again, then decide",
        ),
        false => refusal.into(),
    }
}

fn said(output: &Output) -> &str {
    &output.text
}
