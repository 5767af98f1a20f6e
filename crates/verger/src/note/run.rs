//! `verger note run`: lets the model answer the last message of a chat note.

use std::sync::Arc;

use agent::{Door, Halt, Over, Refusals};
use pipeline::approve::Beforehand;
use pipeline::{Asker, Nobody, Task, World};
use serde_json::json;
use vault::VaultPath;

use super::agents::NoteCast;
use super::chat::{self, Ready};
use super::door::NoteDoor;
use super::title;
use super::writer::{Ending, Event, Writer};
use crate::args::Global;
use crate::chat::ask::runtime;
use crate::chat::asker::Person;
use crate::chat::screen::Screen;
use crate::failure::{Exit, Failure};
use crate::study::{Study, Wanted};
use crate::terminal::Terminal;
use crate::world::RealWorld;

/// What was asked.
pub struct Wish {
    /// The note.
    pub note: String,
    /// Another model.
    pub model: Option<String>,
    /// Another agent.
    pub agent: Option<String>,
    /// Whether every change is approved beforehand.
    pub yes: bool,
}

/// Runs a note.
pub fn run(global: &Global, wish: &Wish) -> Result<(), Failure> {
    let terminal = Arc::new(Terminal::new(global.json, global.plain));
    let mut study = open(global, wish.model.as_deref(), !wish.yes && asks(&terminal))?;
    let path = chat::find(&study, &wish.note)?;
    tools::table::add_chat(&study.mind.road.registry, Some(&path));
    let task = format!("note-{}", RealWorld.id()?);
    let runtime = runtime()?;
    let reading = task_of(&study, &task);
    let ready = runtime.block_on(async {
        let ready = chat::read(&study, &path, &reading, wish.agent.as_deref()).await?;
        if ready.question.is_some() {
            return Ok(ready);
        }
        // An editor may be saving the note right now; one that says nothing a moment later says nothing.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        chat::read(&study, &path, &reading, wish.agent.as_deref()).await
    })?;
    ready.notices.iter().for_each(|notice| terminal.note(&format!("note: {notice}")));
    if let Some(mind) = Arc::get_mut(&mut study.mind) {
        let inner = Arc::clone(&mind.cast);
        mind.cast = Arc::new(NoteCast { inner, speaker: ready.speaker.persona.clone() });
    }
    let asked = Asked { study: &study, terminal: &terminal, path: &path, task: &task, wish };
    runtime.block_on(answer(&asked, ready))
}

/// Opens the study. `VERGER_MODEL` is for chats that name no model.
pub fn open(global: &Global, model: Option<&str>, person: bool) -> Result<Study, Failure> {
    let usual = std::env::var("VERGER_MODEL").ok().filter(|name| !name.is_empty());
    let model = model.map(str::to_owned).or(usual);
    Study::open(global, &Wanted { model, person, ..Wanted::default() })
}

/// Whether a person can be asked.
pub fn asks(terminal: &Terminal) -> bool {
    terminal.can_ask() && !terminal.json
}

/// A task for what Verger itself reads and writes.
pub fn task_of(study: &Study, id: &str) -> Task {
    let mut task = Task::new(id, id, "note");
    task.limits = study.config.limits.clone();
    task
}

/// Who decides.
pub fn asker(terminal: &Arc<Terminal>, yes: bool) -> Arc<dyn Asker> {
    match (yes, asks(terminal)) {
        (true, _) => Arc::new(Beforehand),
        (_, true) => Arc::new(Person(Arc::clone(terminal))),
        _ => Arc::new(Nobody),
    }
}

struct Asked<'a> {
    study: &'a Study,
    terminal: &'a Arc<Terminal>,
    path: &'a VaultPath,
    task: &'a str,
    wish: &'a Wish,
}

async fn answer(asked: &Asked<'_>, ready: Ready) -> Result<(), Failure> {
    let Asked { study, terminal, path, task, wish } = asked;
    let Some(question) = ready.question else { return Err(chat::nothing(path)) };
    let model = match (&wish.model, &ready.settings.model) {
        (None, Some(model)) => model.clone(),
        _ => study.model()?.to_owned(),
    };
    let mut talk = study.mind.begin(&ready.speaker.persona.slug, &model).await?;
    talk.settings = ready.settings.asked.clone();
    talk.refusals = Refusals::Object;
    let messages = ready.before.len() + ready.system.len() + 1;
    talk.seed(ready.before, ready.system, chat::LEGS).await?;

    let settings = &ready.settings;
    let (mind, named) = (Arc::clone(&study.mind), talk.conversation().model.clone());
    let (path_of, task_of) = ((*path).clone(), (*task).to_owned());
    let writer = Writer::begin(mind, path_of, task_of, &named, settings.level, settings.stream).await?;
    let (sender, events) = tokio::sync::mpsc::unbounded_channel();
    let person = !wish.yes && asks(terminal);
    let screen = Screen::new(Arc::clone(terminal), asker(terminal, wish.yes), person);
    let door: Arc<dyn Door> = Arc::new(NoteDoor::new(screen, terminal.json, sender.clone()));
    let halt = Halt::default();
    let listening = listen(halt.clone());
    let leading = async {
        let over = talk.say_under(task, question, &door, &halt).await;
        sender.send(Event::Over).ok();
        over
    };
    let (over, mut writer) = tokio::join!(leading, writer.follow(events));
    listening.abort();
    drop(talk);

    let over = over.unwrap_or_else(|trouble| {
        let hint = trouble.hint();
        Over::Failed { why: trouble.to_string(), hint: hint.to_string() }
    });
    if let Some(error) = error(&over) {
        writer.add(&error);
    }
    let ending = if over == Over::Stopped { Ending::Stopped } else { Ending::ForUser };
    let edited = writer.end(ending).await?;
    told(asked, &over, edited)?;
    // The question and its answer are two more.
    if over.is_done()
        && settings.infer_title
        && title::is_dated(path, &settings.date_format)
        && messages + 1 > 4
    {
        title::rename_by_itself(study, terminal, path, &named, settings).await;
    }
    Ok(())
}

/// Ctrl-C stops the answer.
fn listen(halt: Halt) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            halt.stop();
        }
    })
}

/// What stands in the note where there is no answer, or only a part of one: what went wrong and what to do.
fn error(over: &Over) -> Option<String> {
    let (why, hint) = match over {
        Over::Done | Over::Stopped => return None,
        Over::Completed { result } if result.trim().is_empty() => return None,
        Over::Completed { result } => return Some(result.clone()),
        Over::Failed { why, hint } => (why.clone(), hint.clone()),
        Over::Refused { .. } => (over.describe(), "Ask in another way, or ask another model".to_owned()),
        Over::Empty => (over.describe(), "Ask again, or ask another model".to_owned()),
        _ => (
            over.describe(),
            "Write what it should do next, or raise the limit in [chat] of config.toml".to_owned(),
        ),
    };
    let mut hint = hint.trim_end_matches('.').chars();
    let hint: String = hint.next().into_iter().flat_map(char::to_uppercase).chain(hint).collect();
    Some(format!("Error: {}\n\n{hint}.", why.trim_end_matches('.')))
}

/// Tells how it ended, and turns what did not end well into an exit code.
fn told(asked: &Asked<'_>, over: &Over, edited: bool) -> Result<(), Failure> {
    let Asked { terminal, path, task, .. } = asked;
    if edited {
        terminal.note(
            "note: the answer was edited while it came; the rest of it stands behind what you made of it",
        );
    }
    let undo = format!("verger undo --task {task}");
    if terminal.json {
        terminal.json(&json!({
            "event": "note", "ok": over.is_done(), "path": path, "task": task, "edited": edited, "undo": undo,
            "how": over,
        }));
    }
    let fail = |reason: &'static str, message: String, hint: String| {
        Err(Failure::new(Exit::Failed, reason, message, hint))
    };
    match over {
        Over::Done | Over::Completed { .. } => {
            if !terminal.json {
                terminal.data_line(&terminal.out.text(&format!("answered in {path}")));
                terminal.note(&format!("take it back: {undo}"));
            }
            Ok(())
        }
        Over::Stopped => fail(
            "stopped",
            format!("stopped; what was said until then is in `{path}`"),
            format!("go on with `verger note run`, or take it back: {undo}"),
        ),
        Over::Failed { why, hint } => fail("model_failed", why.clone(), hint.clone()),
        Over::Refused { .. } => {
            fail("model_refused", over.describe(), "ask in another way, or ask another model".into())
        }
        Over::Empty => fail("empty", over.describe(), "ask again, or ask another model".into()),
        _ => fail(
            "limit",
            over.describe(),
            "go on with `verger note run`, or raise the limit in [chat] of config.toml".into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_note_says_what_went_wrong_and_what_to_do() {
        let failed = Over::Failed { why: "the key is wrong".into(), hint: "set ANTHROPIC_API_KEY".into() };
        assert_eq!(error(&failed).as_deref(), Some("Error: the key is wrong\n\nSet ANTHROPIC_API_KEY."));
        assert_eq!(error(&Over::Stopped), None);
        assert_eq!(error(&Over::Done), None);
        assert!(error(&Over::Rounds { limit: 3 }).is_some_and(|text| text.contains("3 rounds")));
    }
}
