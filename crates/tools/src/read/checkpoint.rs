//! What the checkpoint tools share: finding one by a prefix, and the words for its steps.

use pipeline::{Refusal, View};
use vault::VaultPath;
use vault::store::record::{Ending, Step};
use vault::view::CheckpointInfo;

use crate::page::first_few;

/// The bytes on both sides of a change; none where there was no file.
pub(super) type Sides = (Option<Vec<u8>>, Option<Vec<u8>>);

/// The checkpoint with this id, or the only one that starts so, among those that may be seen. One that may not is no
/// rival either: an ambiguity would tell that it is there.
pub(super) fn find(view: &View<'_>, prefix: &str) -> Result<CheckpointInfo, Refusal> {
    let prefix = prefix.trim();
    let mut fitting: Vec<CheckpointInfo> =
        view.checkpoints().into_iter().filter(|info| info.id.starts_with(prefix)).collect();
    if let Some(exact) = fitting.iter().position(|info| info.id == prefix) {
        return Ok(fitting.swap_remove(exact));
    }
    let hint = "list_checkpoints shows the ids; a prefix that only one of them has is enough";
    match fitting.len() {
        1 if !prefix.is_empty() => Ok(fitting.remove(0)),
        0 => Err(Refusal::new("checkpoint_missing", format!("there is no checkpoint `{prefix}`"), hint)),
        several => Err(Refusal::new(
            "checkpoint_ambiguous",
            format!("{several} checkpoints start with `{prefix}`"),
            hint,
        )),
    }
}

/// A file's bytes before and after a checkpoint; a refusal says which files it holds.
pub(super) fn file(view: &View<'_>, info: &CheckpointInfo, path: &VaultPath) -> Result<Sides, Refusal> {
    view.checkpoint_file(&info.id, path).map_err(|error| match error.reason() {
        // A path that an ignore file hides is told like one that the checkpoint does not hold.
        "checkpoint_file_missing" | "note_missing" => {
            let steps: Vec<String> = info.steps.iter().map(words).collect();
            Refusal::new(
                "checkpoint_file_missing",
                format!("checkpoint {} holds no text of `{path}`", info.id),
                format!("its steps are: {}", first_few(&steps, 10)),
            )
        }
        _ => error.into(),
    })
}

/// Whether a step touches the path, or something in it.
pub(super) fn touches(step: &Step, path: &VaultPath) -> bool {
    let folder = path.clone().into();
    step.paths().into_iter().any(|touched| touched == path || touched.is_in(&folder))
}

/// A step in a few words: `+ a.md`, `~ a.md`, `- a.md`, `> a.md -> b.md`.
pub(super) fn words(step: &Step) -> String {
    match step {
        Step::Write { path, before: None, .. } => format!("+ {path}"),
        Step::Write { path, after: None, .. } => format!("- {path}"),
        Step::Write { path, .. } => format!("~ {path}"),
        Step::Move { from, to, .. } => format!("> {from} -> {to}"),
        Step::Make { path } => format!("+ {path}/"),
        Step::Remove { path } => format!("- {path}/"),
    }
}

/// What a reader should know about how it ended; usually nothing.
pub(super) fn ending(info: &CheckpointInfo) -> &'static str {
    match info.ending {
        Some(Ending::Done) => "",
        Some(Ending::Undone) => " (failed, nothing was changed)",
        Some(Ending::Finished) => " (interrupted, finished later)",
        None => " (not finished)",
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A vault with a history.

    use super::*;
    use pipeline::approve::Beforehand;
    use pipeline::testing::{Rig, show};
    use pipeline::{Effect, Group, Output, Plan, Registry, Spec, Task, Tool};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};
    use vault::Change;

    /// Writes a text, whatever was there.
    pub(crate) struct Put;

    /// Put a text.
    #[derive(Deserialize, JsonSchema)]
    pub(crate) struct Input {
        path: VaultPath,
        text: String,
    }

    impl Tool for Put {
        const SPEC: Spec = Spec::new("put", Group::Edit, Effect::Edits);
        type Input = Input;
        async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
            let change = match view.text_if_any(&input.path)? {
                Some(before) => Change::replace(input.path, before, input.text),
                None => Change::create(input.path, input.text),
            };
            Ok(Plan::edit(vec![change], "put", Output::new("put", ())))
        }
    }

    /// `a.md` and texts put into it and other files, one checkpoint each; their ids count up.
    #[track_caller]
    pub(crate) fn rig_with<T: Tool>(tool: T, puts: &[(&str, &str)]) -> Rig {
        let registry = Registry::default();
        registry.add(tool);
        registry.add(Put);
        let rig = Rig::new("a.md: one\ntwo\ntwo\n", registry);
        for (path, text) in puts {
            rig.call("put", json!({"path": path, "text": text}), &Beforehand);
        }
        rig
    }

    /// Two tasks, three checkpoints.
    #[track_caller]
    pub(crate) fn rig<T: Tool>(tool: T) -> Rig {
        let mut rig = rig_with(tool, &[("a.md", "two\none\ntwo\n"), ("b.md", "new")]);
        rig.task = Task::new("task-2", "session-1", "test");
        rig.call("put", json!({"path": "a.md", "text": "three\n"}), &Beforehand);
        rig
    }

    /// What a deferred tool answers.
    #[track_caller]
    pub(crate) fn ask(rig: &Rig, tool: &str, input: Value) -> String {
        rig.task.activate(&[tool.to_owned()]);
        show(&rig.call(tool, input, &Beforehand))
    }
}
