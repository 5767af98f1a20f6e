//! The door of a conversation that is held in a note: what the model says goes to the writer, the rest to the terminal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::door::Answering;
use agent::{Door, News};
use pipeline::Asker;
use pipeline::plan::Asked;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::writer::Event;
use crate::chat::screen::Screen;
use crate::paper;

/// A note's door.
pub struct NoteDoor {
    screen: Screen,
    /// Whether the terminal gets every event.
    json: bool,
    writer: UnboundedSender<Event>,
    /// What the calls that run are about, by their id.
    calls: Mutex<BTreeMap<String, String>>,
}

impl NoteDoor {
    /// A door to this writer.
    pub fn new(screen: Screen, json: bool, writer: UnboundedSender<Event>) -> NoteDoor {
        NoteDoor { screen, json, writer, calls: Mutex::default() }
    }

    fn tell(&self, event: Event) {
        // A writer that is gone has said why.
        self.writer.send(event).ok();
    }
}

impl Door for NoteDoor {
    fn show(&self, news: &News) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match news {
            News::Text { text } => self.tell(Event::Said(text.clone())),
            News::Void => self.tell(Event::Void),
            News::Spent { .. } => self.tell(Event::Held),
            News::CallBegan { id, input, .. } => {
                calls.insert(id.clone(), subject(input));
            }
            News::CallEnded { id, name, text, failed, .. } => {
                let about = calls.remove(id).unwrap_or_default();
                self.tell(Event::Did(line(name, &about, text, *failed)));
            }
            News::Notice { text } => self.tell(Event::Did(format!("· {text}"))),
            _ => {}
        }
        drop(calls);
        let for_note = matches!(news, News::Text { .. } | News::Thinking { .. } | News::Void);
        if self.json || !for_note {
            self.screen.show(news);
        }
    }

    fn asker(&self) -> Arc<dyn Asker> {
        self.screen.asker()
    }

    fn answer<'a>(&'a self, questions: &'a [Asked]) -> Answering<'a> {
        self.screen.answer(questions)
    }
}

/// What a call is about, in a few words: its files, its path, what it looks for.
fn subject(input: &Value) -> String {
    let files = input.get("filePaths").and_then(Value::as_array);
    let files = files.map(|files| files.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
    let text = |key: &&str| input.get(*key).and_then(Value::as_str).map(str::to_owned);
    let named = ["path", "source", "query", "pattern", "note_path", "name", "question"].iter().find_map(text);
    paper::one_line(&files.or(named).unwrap_or_default()).chars().take(120).collect()
}

/// A call, told in one line.
fn line(name: &str, about: &str, text: &str, failed: bool) -> String {
    let about = if about.is_empty() { String::new() } else { format!(" {about}") };
    if !failed {
        return format!("✓ {name}{about}");
    }
    let object: Option<Value> = serde_json::from_str(text).ok();
    let why = match object
        .as_ref()
        .and_then(|object| Some((object.get("error")?.as_str()?, object.get("code")?)))
    {
        Some((error, code)) => format!("{error} ({})", code.as_str().unwrap_or_default()),
        None => text.to_owned(),
    };
    let why: String = paper::one_line(&why).chars().take(160).collect();
    format!("✗ {name}{about}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_one_line_with_what_it_was_about_and_why_it_failed() {
        let input = json!({"filePaths": ["a.md", "b\nc.md"]});
        assert_eq!(line("file_read", &subject(&input), "…", false), "✓ file_read a.md, b c.md");
        let refused = json!({"error": "User cancelled tool execution", "code": "denied"}).to_string();
        assert_eq!(
            line("write_file", "a.md", &refused, true),
            "✗ write_file a.md: User cancelled tool execution (denied)"
        );
        assert_eq!(line("x", "", "input_invalid: no", true), "✗ x: input_invalid: no");
    }
}
