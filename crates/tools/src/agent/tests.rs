//! What the tests of the steering tools share, and what holds for all of them.

use pipeline::approve::{Beforehand, Nobody};
use pipeline::testing::{Rig, show};
use pipeline::{Control, Effect, Group, Outcome, Registry, Rights, Tool};
use serde_json::{Value, json};

use crate::table::{Offered, add_conversation, all};

fn call<T: Tool>(tool: T, input: Value) -> Outcome {
    let registry = Registry::default();
    registry.add(tool);
    let rig = Rig::new("a.md: x", registry);
    rig.task.activate(&[T::SPEC.name.to_string()]);
    rig.call(T::SPEC.name.as_ref(), input, &Beforehand)
}

/// What a tool says, answer or refusal.
#[track_caller]
pub(crate) fn told<T: Tool>(tool: T, input: Value) -> String {
    show(&call(tool, input))
}

/// What a tool tells the loop.
#[track_caller]
pub(crate) fn control<T: Tool>(tool: T, input: Value) -> Control {
    match call(tool, input) {
        Outcome::Steered(control, _) => control,
        other => panic!("{}", show(&other)),
    }
}

/// All tools, with those of a conversation.
fn registry(offered: Offered) -> Registry {
    let registry = all();
    add_conversation(&registry, offered);
    registry
}

fn names(registry: &Registry) -> Vec<String> {
    registry.list(&Rights::all()).into_iter().map(|tool| tool.spec.name.into_owned()).collect()
}

#[test]
fn only_a_conversation_has_tools_that_steer_it() {
    let others = names(&all());
    let steering: Vec<String> =
        names(&registry(Offered::EVERYTHING)).into_iter().filter(|name| !others.contains(name)).collect();
    assert_eq!(
        steering,
        [
            "ask_followup_question",
            "ask_user",
            "attempt_completion",
            "consult_flagship",
            "invoke_skill",
            "new_task",
            "read_skill",
            "spawn_agent",
            "switch_agent",
            "update_todo_list"
        ]
    );
    for tool in registry(Offered::EVERYTHING).list(&Rights::all()) {
        let steers = steering.contains(&tool.spec.name.to_string());
        assert!(!steers || tool.spec.effect == Effect::Steers, "{}", tool.spec.name);
    }
}

#[test]
fn what_is_not_there_is_not_offered() {
    let bare = names(&registry(Offered { flagship: false, skills: false, person: false }));
    for name in ["consult_flagship", "read_skill", "invoke_skill", "ask_user", "ask_followup_question"] {
        assert!(!bare.contains(&name.to_owned()), "{name}");
    }
    assert!(bare.contains(&"new_task".to_owned()));
}

#[test]
fn a_deferred_tool_is_still_looked_for_with_find_tool() {
    let rig = Rig::new("a.md: x", registry(Offered::EVERYTHING));
    let deferred = rig.call("spawn_agent", json!({"agents": []}), &Nobody);
    assert!(show(&deferred).contains("call find_tool with"), "{}", show(&deferred));
    let unknown = rig.call("zzzzzzzzzz", json!({}), &Nobody);
    assert!(show(&unknown).contains("`find_tool` finds"), "{}", show(&unknown));
}

#[test]
fn an_agent_that_only_reads_still_reads_skills_but_steers_nothing() {
    let reads = registry(Offered::EVERYTHING).list(&Rights::groups([Group::Read, Group::Vault]));
    let steering: Vec<&str> = reads
        .iter()
        .filter(|tool| tool.spec.effect == Effect::Steers)
        .map(|tool| tool.spec.name.as_ref())
        .collect();
    assert_eq!(steering, ["find_tool", "read_skill"]);
}

/// Four characters a token, as everywhere. The prompt and all listed tools share 6,000.
#[test]
fn the_listed_tools_of_a_conversation_are_short() {
    let others = names(&all());
    let mut characters = 0;
    for tool in registry(Offered::EVERYTHING).list(&Rights::all()) {
        if !tool.spec.deferred && !others.contains(&tool.spec.name.to_string()) {
            let listed = json!({ "name": tool.spec.name, "description": tool.description, "input_schema": tool.schema });
            characters += listed.to_string().len();
        }
    }
    assert!(characters < 4_400, "{characters} characters");
}
