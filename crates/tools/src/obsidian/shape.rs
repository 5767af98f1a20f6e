//! Answers in the shape of this surface: what the agent's own tools say in addition is left out.

use pipeline::Plan;
use serde_json::{Value, json};

/// The plan with other data in its answer.
fn shaped(plan: Plan, shape: impl FnOnce(Value) -> Value) -> Plan {
    match plan {
        Plan::Answer(mut output) => {
            output.data = shape(output.data);
            Plan::Answer(output)
        }
        Plan::Edit(mut edit) => {
            edit.output.data = shape(edit.output.data);
            Plan::Edit(edit)
        }
        other => other,
    }
}

/// Without these fields.
pub(super) fn without(plan: Plan, fields: &[&str]) -> Plan {
    shaped(plan, |mut data| {
        if let Some(object) = data.as_object_mut() {
            object.retain(|field, _| !fields.contains(&field.as_str()));
        }
        data
    })
}

/// Without what `Original::becomes` says beyond sizes and version.
pub(super) fn sizes(plan: Plan) -> Plan {
    without(plan, &["linesAdded", "linesRemoved", "created"])
}

/// The same, and whether the file was created.
pub(super) fn sizes_and_created(plan: Plan) -> Plan {
    without(plan, &["linesAdded", "linesRemoved"])
}

/// Under `result`.
pub(super) fn as_result(plan: Plan) -> Plan {
    shaped(plan, |data| json!({ "result": data }))
}
