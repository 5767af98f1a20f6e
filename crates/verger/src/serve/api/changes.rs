//! What was changed, by whom and why, and taking it back.
//!
//! `changes/turns.rs` knows the words of the person that led to a change, `changes/lines.rs` how many lines it touched.

mod lines;
mod turns;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use pipeline::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::store::record::{Ending, Step, TrashMark};
use vault::view::CheckpointInfo;
use vault::{VaultPath, View};

use super::area::{Area, Nothing};
use super::body::{Asked, Told};
use crate::past::{self, RESTORE, TakesBack, Undone};
use crate::serve::diffs;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::proposal::propose;
use lines::Lines;
use turns::Turns;

/// Changes of one answer at most.
const MOST: usize = 200;
/// Files of a change that are named in a list, and shown when it is opened.
const NAMED: usize = 8;
const SHOWN: usize = 300;
/// The longest id or name that makes sense.
const LONGEST: usize = 200;

/// What is remembered between requests; none of it can change.
#[derive(Default)]
struct Memory {
    turns: Turns,
    lines: Lines,
}

/// The routes.
pub fn area() -> Area {
    let memory = Arc::new(Memory::default());
    let one = Arc::clone(&memory);
    Area::default()
        .get::<Wanted, _, _>(
            "/api/changes",
            "What was changed, newest first: by whom, on whose yes, and whether it was taken back.",
            move |State(house): State<Arc<House>>, Asked(wanted): Asked<Wanted>| {
                let memory = Arc::clone(&memory);
                async move { house.look(move |house| list(house, &memory, &wanted)).await.map(Json) }
            },
        )
        .get::<Nothing, _, _>(
            "/api/changes/{id}",
            "One change with the differences of its files and the words that led to it.",
            move |State(house): State<Arc<House>>, Path(id): Path<String>| {
                let memory = Arc::clone(&one);
                async move { house.look(move |house| opened(house, &memory, &id)).await.map(Json) }
            },
        )
        .post::<Undo, _, _>(
            "/api/undo",
            "Takes back a file, a change or a task: first shows how, then, with `saw`, does it.",
            undo,
        )
}

/// Which changes.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only those older than this one: `next` of the page before.
    before: Option<String>,
    /// At most so many, up to 200.
    limit: Option<usize>,
    /// Only those of this file, or of files in this folder.
    path: Option<String>,
    /// Only those of this task.
    task: Option<String>,
    /// Only those of this agent.
    agent: Option<String>,
    /// Only those at this time or later, milliseconds since 1970.
    from_ms: Option<i64>,
    /// Only those before this time.
    to_ms: Option<i64>,
}

/// What to take back: a change or a task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Undo {
    /// This change.
    id: Option<String>,
    /// Or all that this task did.
    task: Option<String>,
    /// Only this file of the change.
    path: Option<VaultPath>,
    /// Although it was changed again since; the newer text stays in the history.
    #[serde(default)]
    force: bool,
    /// The word that came with what was shown.
    saw: Option<String>,
}

async fn undo(State(house): State<Arc<House>>, Told(undo): Told<Undo>) -> Result<Json<Value>, Problem> {
    house.look(move |house| take_back(house, undo)).await.map(Json)
}

fn take_back(house: &House, undo: Undo) -> Result<Value, Problem> {
    let mut input = match (&undo.id, &undo.task) {
        (Some(id), None) if id.len() <= LONGEST => {
            let study = house.study();
            let scope = house.scope()?;
            // The whole id goes into the audit, so that everybody knows later what is taken back already.
            json!({"commitOid": study.mind.road.vault().view(&scope).checkpoint(id)?.id})
        }
        (None, Some(task)) if task.len() <= LONGEST && undo.path.is_none() => {
            json!({"commitOid": task, "mode": "task"})
        }
        _ => {
            let hint = "send `id`, with `path` for one file of it, or send `task`";
            return Err(Problem::bad("it is not clear what to take back", hint));
        }
    };
    if let Some(path) = &undo.path {
        input["path"] = json!(path);
    }
    if undo.force {
        input["force"] = json!(true);
    }
    propose(house, Call::new(RESTORE, input), undo.saw)
}

fn list(house: &House, memory: &Memory, wanted: &Wanted) -> Result<Value, Problem> {
    let study = house.study();
    let scope = house.scope()?;
    let view = study.mind.road.vault().view(&scope);
    let texts = [&wanted.before, &wanted.path, &wanted.task, &wanted.agent];
    if texts.into_iter().flatten().any(|text| text.len() > 4 * LONGEST) {
        return Err(Problem::bad("that name is too long", "name a change, a note, a task or an agent"));
    }
    let path = wanted.path.as_deref().map(VaultPath::parse).transpose();
    let path =
        path.map_err(|error| Problem::bad(error.to_string(), "name a note or a folder of the vault"))?;
    let limit = wanted.limit.unwrap_or(50).clamp(1, MOST);
    let (found, next) = page(&view, wanted, path.as_ref(), limit);
    let undone = past::undone(&past::commits(&view));
    let rows: Vec<Value> = found
        .iter()
        .map(|(info, note)| row(info, note.as_ref(), &undone, &memory.lines.of(&view, info, NAMED)))
        .collect();
    let tasks: HashMap<&str, i64> =
        found.iter().map(|(info, _)| (info.task.as_str(), info.time_ms)).collect();
    let told = memory.turns.of(&study.mind.sessions, &tasks)?;
    Ok(json!({"changes": rows, "tasks": told, "next": next}))
}

/// Some checkpoints with their audit entries, and the one behind which the next page starts.
fn page(
    view: &View<'_>,
    wanted: &Wanted,
    path: Option<&VaultPath>,
    limit: usize,
) -> (Vec<(CheckpointInfo, Option<Value>)>, Option<String>) {
    let mut found: Vec<(CheckpointInfo, Option<Value>)> = Vec::new();
    let mut begun = wanted.before.is_none();
    let mut more = false;
    view.look_back(&mut |glance| {
        if !begun {
            begun = wanted.before.as_deref() == Some(glance.id());
            return ControlFlow::Continue(());
        }
        let fits = wanted.task.as_ref().is_none_or(|task| task == glance.task())
            && wanted.to_ms.is_none_or(|to| glance.time_ms() < to)
            && wanted.from_ms.is_none_or(|from| glance.time_ms() >= from)
            && path.is_none_or(|path| glance.touches(path));
        if !fits {
            return ControlFlow::Continue(());
        }
        let note = glance.note();
        let agent = note.as_ref().and_then(|note| note.get("agent")).and_then(Value::as_str);
        if wanted.agent.as_deref().is_some_and(|wanted| agent != Some(wanted)) {
            return ControlFlow::Continue(());
        }
        let Some(info) = glance.info() else { return ControlFlow::Continue(()) };
        if found.len() == limit {
            more = true;
            return ControlFlow::Break(());
        }
        found.push((info, note));
        ControlFlow::Continue(())
    });
    let next = found.last().filter(|_| more).map(|(info, _)| info.id.clone());
    (found, next)
}

fn opened(house: &House, memory: &Memory, id: &str) -> Result<Value, Problem> {
    let study = house.study();
    let scope = house.scope()?;
    let view = study.mind.road.vault().view(&scope);
    if id.len() > LONGEST {
        return Err(Problem::not_found("there is no such change", "the list of changes names them"));
    }
    let info = view.checkpoint(id).map_err(|error| match error.reason() {
        "checkpoint_missing" => {
            Problem::not_found("there is no such change", "the list of changes names them")
        }
        _ => error.into(),
    })?;
    // The road judges and audits; what it cuts for a model is shown whole to a person, through the same view.
    house.answer("diff_checkpoint", json!({"commitOid": info.id}))?;
    let note = past::notes(&view, &HashSet::from([info.id.as_str()])).remove(&info.id);
    let undone = past::undone(&past::commits(&view));
    let files = diffs::files(&past::changes(&view, &info, None, SHOWN)?);
    let told = memory.turns.of(&study.mind.sessions, &HashMap::from([(info.task.as_str(), info.time_ms)]))?;
    let mut change = row(&info, note.as_ref(), &undone, &memory.lines.of(&view, &info, NAMED));
    change["files"] = json!(files);
    change["turn"] = told.get(&info.task).map_or(Value::Null, |turn| json!(turn));
    change["why"] = change["turn"].get("why").cloned().unwrap_or_default();
    Ok(change)
}

fn row(info: &CheckpointInfo, note: Option<&Value>, undone: &Undone, counts: &[lines::Count]) -> Value {
    let of_note = |key: &str| note.and_then(|note| note.get(key)).cloned().unwrap_or_default();
    let input = note.and_then(|note| note.get("input"));
    let takes_back = (info.tool == RESTORE).then(|| match past::takes_back(input) {
        TakesBack::Call(id) => json!({"id": id}),
        TakesBack::File(id, path) => json!({"id": id, "path": path}),
        TakesBack::Task(task) => json!({"task": task}),
        TakesBack::Unknown => json!({}),
    });
    let part = undone.files.get(&info.id);
    let steps: Vec<Value> = info
        .steps
        .iter()
        .take(NAMED)
        .enumerate()
        .map(|(at, step)| told(step, counts.get(at), part))
        .collect();
    json!({
        "id": info.id,
        "time_ms": info.time_ms,
        "task": info.task,
        "agent": of_note("agent"),
        "tool": info.tool,
        "approval": of_note("approval"),
        "summary": summary(info),
        "steps": steps,
        "total_steps": info.steps.len(),
        "state": match info.ending {
            Some(Ending::Undone) => "undone_failed",
            Some(Ending::Finished) => "finished",
            Some(Ending::Done) | None => "done",
        },
        "undone": undone.whole.contains_key(&info.id) || is_covered(info, part),
        "undone_by": undone.whole.get(&info.id),
        "takes_back": takes_back,
    })
}

/// Whether all files of a change were taken back one by one.
fn is_covered(info: &CheckpointInfo, part: Option<&Vec<(String, String)>>) -> bool {
    let taken = |step: &Step| {
        step.paths()
            .iter()
            .any(|path| part.is_some_and(|part| part.iter().any(|(file, _)| file == path.as_str())))
    };
    part.is_some() && info.steps.iter().all(taken)
}

fn told(step: &Step, count: Option<&lines::Count>, part: Option<&Vec<(String, String)>>) -> Value {
    let (kind, path, to) = match step {
        Step::Write { path, before: None, .. } => ("create", path, None),
        Step::Write { path, after: None, .. } => ("delete", path, None),
        Step::Write { path, .. } => ("replace", path, None),
        Step::Move { from, to, trash: TrashMark::Into, .. } => ("delete", from, Some(to)),
        Step::Move { from, to, .. } => ("move", from, Some(to)),
        Step::Make { path } | Step::Remove { path } => ("folder", path, None),
    };
    let undone = part.and_then(|part| part.iter().find(|(file, _)| file == path.as_str())).map(|(_, by)| by);
    let (added, removed) = count.copied().flatten().unzip();
    json!({"kind": kind, "path": path, "to": to, "added": added, "removed": removed, "undone_by": undone})
}

fn summary(info: &CheckpointInfo) -> String {
    let verb = |step: &Step| match step {
        Step::Write { before: None, .. } => "wrote",
        Step::Write { after: None, .. } | Step::Move { trash: TrashMark::Into, .. } => "deleted",
        Step::Write { .. } => "changed",
        Step::Move { .. } => "moved",
        Step::Make { .. } => "made",
        Step::Remove { .. } => "removed",
    };
    let Some(first) = info.steps.first() else { return "nothing".to_owned() };
    let name = first.named().first().map(|path| path.as_str().to_owned()).unwrap_or_default();
    match info.steps.len() {
        1 => format!("{} {name}", verb(first)),
        many => format!("{} {name} and {} more", verb(first), many - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vault::store::Store;
    use vault::store::record::{Checkpoint, Kept, Record};

    const MANY: usize = 50_000;

    /// A history of very many changes: every tenth takes back the one before it, every hundredth is of another agent.
    fn history(data: &std::path::Path) {
        let mut store = Store::open(data).unwrap();
        for number in 0..MANY {
            let id = format!("{number:012x}");
            let before = format!("{:012x}", number.saturating_sub(1));
            let tool = if number % 10 == 9 { RESTORE } else { "write_file" };
            let agent = if number % 100 == 50 { "rare" } else { "agent" };
            let note = json!({"agent": agent, "approval": "once by web", "input": {"commitOid": before}});
            let path = VaultPath::parse(&format!("Folder {}/Sub {number}", number % 7)).unwrap();
            let checkpoint = Checkpoint {
                id: id.clone(),
                task: format!("task-{}", number / 20),
                tool: tool.to_owned(),
                time_ms: 1_000 * number as i64,
                steps: vec![Step::Make { path }],
                blobs: Vec::new(),
                note: Some(Kept::of(&note)),
            };
            store.log.append(Record::Commit(Box::new(checkpoint)), &[]).unwrap();
            store.log.append(Record::End { id, ending: Ending::Done }, &[]).unwrap();
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a vault, and looks at the clock")]
    fn a_history_of_fifty_thousand_changes_is_paged_filtered_and_judged_in_moments() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("vault");
        std::fs::create_dir(&root).unwrap();
        let data = folder.path().join("data");
        history(&data);
        let vault = vault::Vault::open(&root, &data).unwrap();
        let scope = vault::policy::Scope::new(vault::policy::Limits::default(), vault.rules().unwrap());
        let view = vault.view(&scope);
        let begun = std::time::Instant::now();
        let (first, next) = page(&view, &Wanted::default(), None, 50);
        assert_eq!((first.len(), first[0].0.id.as_str()), (50, "00000000c34f"));
        let newest = begun.elapsed();
        let deep = Wanted { before: Some(format!("{:012x}", 100)), ..Wanted::default() };
        assert_eq!(page(&view, &deep, None, 50).0[0].0.id, format!("{:012x}", 99));
        let (oldest, none) =
            page(&view, &Wanted { before: Some(format!("{:012x}", 30)), ..Wanted::default() }, None, 50);
        assert_eq!((oldest.len(), none, next.is_some()), (30, None, true));
        let path = VaultPath::parse("Folder 3").unwrap();
        assert_eq!(page(&view, &Wanted::default(), Some(&path), 200).0.len(), 200);
        let rare = Wanted { agent: Some("rare".to_owned()), ..Wanted::default() };
        assert_eq!(page(&view, &rare, None, 200).0.len(), 200);
        let task = Wanted { task: Some("task-3".to_owned()), ..Wanted::default() };
        assert_eq!(page(&view, &task, None, 200).0.len(), 20);
        let paged = begun.elapsed();
        let undone = past::undone(&past::commits(&view));
        assert_eq!(undone.whole.len(), MANY / 10);
        // Half a second on a busy machine without optimization; a search for each row would take minutes.
        let all = begun.elapsed();
        assert!(all.as_secs() < 20, "first page {newest:?}, pages {paged:?}, all {all:?}");
    }
}
