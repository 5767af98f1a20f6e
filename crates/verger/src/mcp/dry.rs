//! `dryRun`: every tool that changes something can be asked to show it only. It is the door's argument, not the tool's, so
//! no tool can forget it: the road stops before the approval.

use pipeline::{Effect, Refusal};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

const DRY_RUN: &str = "dryRun";

/// Adds the argument to the schema of a tool that changes something.
pub fn announce(schema: &mut JsonObject, effect: Effect) {
    if effect == Effect::Edits
        && let Some(Value::Object(properties)) = schema.get_mut("properties")
    {
        let field = json!({"type": "boolean"});
        properties.insert(DRY_RUN.to_owned(), field);
    }
}

/// Whether a call is only to be shown; the argument is taken out, since the tools do not know it.
pub fn take(arguments: &mut JsonObject, effect: Option<Effect>) -> Result<bool, Refusal> {
    if effect != Some(Effect::Edits) {
        return Ok(false);
    }
    match arguments.remove(DRY_RUN) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(dry)) => Ok(dry),
        // Better refused than carried out for real.
        Some(_) => {
            Err(Refusal::new("input_invalid", "`dryRun` is true or false", "leave it out, or mend it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_edit_takes_it_and_only_as_a_yes_or_no() {
        for (given, effect, expected) in [
            (json!({"dryRun": true}), Effect::Edits, Some(true)),
            (json!({"dryRun": false}), Effect::Edits, Some(false)),
            (json!({"dryRun": null}), Effect::Edits, Some(false)),
            (json!({}), Effect::Edits, Some(false)),
            (json!({"dryRun": "true"}), Effect::Edits, None),
            (json!({"dryRun": 1}), Effect::Edits, None),
            (json!({"dryRun": true}), Effect::Answers, Some(false)),
        ] {
            let Value::Object(mut arguments) = given.clone() else { panic!() };
            assert_eq!(take(&mut arguments, Some(effect)).ok(), expected, "{given}");
        }
    }
}
