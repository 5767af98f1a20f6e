//! What a program sees of an answer.

use pipeline::approve::Beforehand;
use pipeline::testing::{Rig, show};
use pipeline::{Registry, Tool};
use serde_json::Value;

/// The data of one call's answer.
#[track_caller]
pub(super) fn data<T: Tool>(tool: T, fixture: &str, input: Value) -> Value {
    let registry = Registry::default();
    registry.add(tool);
    let rig = Rig::new(fixture, registry);
    rig.task.activate(&[T::SPEC.name.to_string()]);
    let outcome = rig.call(T::SPEC.name.as_ref(), input, &Beforehand);
    match outcome.output() {
        Some(output) => output.data.clone(),
        None => panic!("{}", show(&outcome)),
    }
}
