//! Ticking a task. The click is the person's yes, so it holds for exactly one character of one line.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pipeline::{Call, Outcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::note::outline::version;
use vault::{Change, VaultPath, note};

use super::path;
use crate::serve::api::body::Told;
use crate::serve::house::{House, Saw};
use crate::serve::problem::Problem;

/// Which task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ticking {
    /// The note.
    path: String,
    /// The line of the task, from 1.
    line: usize,
    /// The version of the note that the page shows.
    version: String,
    /// Whether it is done.
    done: bool,
    /// Another mark than `x` or a space, to put back what stood there.
    mark: Option<char>,
}

/// Ticks a task, or takes the tick away.
pub async fn tick(
    State(house): State<Arc<House>>,
    Told(asked): Told<Ticking>,
) -> Result<Json<Value>, Problem> {
    house.look(move |house| ticked(house, &asked).map(Json)).await
}

fn ticked(house: &House, asked: &Ticking) -> Result<Value, Problem> {
    let path = path(&asked.path)?;
    let before = {
        let (study, scope) = (house.study(), house.scope()?);
        study.mind.road.vault().view(&scope).text(&path)?
    };
    if version(&before) != asked.version {
        return Err(changed());
    }
    let mark = asked.mark.unwrap_or(if asked.done { 'x' } else { ' ' });
    let (after, stood) = with_mark(&before, asked.line, mark).ok_or_else(|| {
        Problem::not_found(
            format!("there is no task in line {}", asked.line),
            "look at the note again and click once more",
        )
    })?;
    if after == before {
        return Ok(
            json!({"done": {"text": "it is so already", "checkpoint": null, "files": [path], "before": stood.to_string()}}),
        );
    }
    let input = json!({"path": path, "content": after, "ifMatch": asked.version});
    let shown = match house.call(Call::new("write_file", input.clone()).dry(), &pipeline::Nobody) {
        Outcome::Shown { changes, .. } => changes,
        outcome => return Err(refused(outcome)),
    };
    if !is_exactly(&shown, &path, &before, &after) {
        return Err(changed());
    }
    match house.call(Call::new("write_file", input), &Saw(Saw::word(&shown))) {
        Outcome::Done { checkpoint, .. } => {
            house.beat(|pulse| pulse.notes += 1);
            let text = if matches!(mark, 'x' | 'X') { "done" } else { "open again" };
            let done = json!({
                "text": text, "checkpoint": checkpoint, "files": [path], "before": stood.to_string(),
                "version": version(&after),
            });
            Ok(json!({"done": done}))
        }
        outcome => Err(refused(outcome)),
    }
}

/// The text with this mark in the box of the task in this line, and what stood there.
fn with_mark(text: &str, line: usize, mark: char) -> Option<(String, char)> {
    if mark.is_control() || mark == ']' {
        return None;
    }
    let task = note::parse(text).tasks.into_iter().find(|task| task.line == line)?;
    let mut after = text.to_owned();
    after.replace_range(task.status_span, mark.encode_utf8(&mut [0; 4]));
    Some((after, task.status))
}

/// Whether a plan does this to the note and nothing else.
fn is_exactly(changes: &[Change], path: &VaultPath, before: &str, after: &str) -> bool {
    let expected = Change::replace(path.clone(), before.to_owned(), after.to_owned());
    matches!(changes, [change] if change.headline() == expected.headline() && change.diff() == expected.diff())
}

fn changed() -> Problem {
    let hint = "the page shows it anew; click once more";
    Problem::new(StatusCode::CONFLICT, "stale", "the note changed meanwhile", hint)
}

fn refused(outcome: Outcome) -> Problem {
    outcome.refusal().cloned().map_or_else(Problem::broken, Problem::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mark_of_the_task_in_that_line_changes() {
        let text = "---\na: 1\n---\r\n- [ ] one\n- [/] two\n```\n- [ ] no\n```\n";
        assert_eq!(with_mark(text, 4, 'x').unwrap(), (text.replace("[ ] one", "[x] one"), ' '));
        assert_eq!(with_mark(text, 5, ' ').unwrap(), (text.replace("[/]", "[ ]"), '/'));
        assert_eq!(with_mark(text, 7, 'x'), None);
        assert_eq!(with_mark(text, 99, 'x'), None);
        assert_eq!(with_mark(text, 4, '\n'), None);
        assert_eq!(with_mark(text, 4, ']'), None);
    }
}
