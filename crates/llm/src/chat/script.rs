//! A model that is none: it plays a script of turns, for tests and demonstrations.
//!
//! The text of the script is passed in; this file reads nothing. A line of it is one turn, as JSON. Which turn is played
//! follows from the request alone (its purpose, the conversation's first message, how many requests went before), so a
//! conversation that goes on in another process goes on at the right place. It always says that it is a script.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;

use super::ids::Ids;
use super::{
    Abilities, CallInput, Event, Events, Model, Part, Price, Purpose, Request, Role, StopReason, ToolCall,
    Usage,
};
use crate::Error;

/// Characters in one piece of text, if the turn does not say.
const CHUNK: usize = 24;
/// Characters of a tool's answer that stand for `{{result}}`.
const RESULT: usize = 2_000;

/// A script. Each line is one turn, a JSON object:
///
/// | field | what it is |
/// |---|---|
/// | `thinking`, `text` | what it thinks and says |
/// | `calls` | `[{"name", "input": {…}}]`, or `"raw": "…"` for an input as text, which may be broken |
/// | `chunk`, `pause_ms` | characters in one piece, and the pause before each |
/// | `usage` | `{"input", "output", "cache_read", "cache_write", "thinking", "dollars"}`; without it nothing is said of cost |
/// | `fault`, `times` | `rate_limit`, `overloaded`, `cut`, `junk`, `context`, `refused` or `auth`, so often (once) before the turn comes |
/// | `for` | the turn belongs to conversations whose first message holds this text; without it, to all others |
/// | `purpose` | `answer` (usual), `condense`, `title` or `advice` |
///
/// Within its conversation and purpose a turn is found by its number. `{{result}}` in texts and inputs stands for what the
/// last tool answered.
#[derive(Debug)]
pub struct Script {
    name: String,
    turns: Vec<Turn>,
    /// How often each turn has failed.
    failed: Arc<Mutex<BTreeMap<(String, usize), u32>>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    calls: Vec<Call>,
    #[serde(default)]
    pause_ms: u64,
    chunk: Option<usize>,
    usage: Option<PlayedUsage>,
    fault: Option<Fault>,
    times: Option<u32>,
    r#for: Option<String>,
    #[serde(default)]
    purpose: Kind,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    input: Option<Value>,
    raw: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlayedUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    thinking: u64,
    dollars: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    RateLimit,
    Overloaded,
    Cut,
    Junk,
    Context,
    Refused,
    Auth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Answer,
    Condense,
    Title,
    Advice,
}

impl Script {
    /// Reads a script. `name` is the file's; the model is called `script@name`.
    pub fn parse(name: &str, text: &str) -> Result<Script, Error> {
        let name = name.strip_prefix("script@").unwrap_or(name);
        let mut turns = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |message: String| Error::Script { file: name.to_owned(), line: at + 1, message };
            let turn: Turn = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if turn.chunk == Some(0) {
                return Err(wrong("`chunk` must be at least 1".to_owned()));
            }
            if turn.calls.iter().any(|call| call.input.is_some() && call.raw.is_some()) {
                return Err(wrong("a call has `input` or `raw`, not both".to_owned()));
            }
            turns.push(turn);
        }
        Ok(Script { name: format!("script@{name}"), turns, failed: Arc::default() })
    }

    /// The turns that this request can meet, each with its place in the file.
    fn lane(&self, request: &Request) -> Vec<(usize, &Turn)> {
        let purpose = match request.conversation.purpose {
            Purpose::Answer => Kind::Answer,
            Purpose::Condense => Kind::Condense,
            Purpose::Title => Kind::Title,
            Purpose::Advice => Kind::Advice,
        };
        let first = request.messages.iter().find(|message| message.role == Role::User);
        let first = match request.conversation.began_with.as_str() {
            "" => first.map(super::Message::text).unwrap_or_default(),
            // A conversation that was made shorter begins with a summary; what it really began with is known.
            began_with => began_with.to_owned(),
        };
        let mut marks = self.turns.iter().filter_map(|turn| turn.r#for.as_deref());
        let mark = marks.find(|mark| first.contains(mark));
        let here = |turn: &Turn| turn.purpose == purpose && turn.r#for.as_deref() == mark;
        self.turns.iter().enumerate().filter(|(_, turn)| here(turn)).collect()
    }

    /// Whether this turn fails this time.
    fn fault(&self, request: &Request, place: usize, turn: &Turn) -> Option<Fault> {
        let fault = turn.fault?;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failed.entry((request.conversation.id.clone(), place)).or_default();
        if *count >= turn.times.unwrap_or(1) {
            return None;
        }
        *count += 1;
        Some(fault)
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn price(&self) -> Option<Price> {
        None
    }

    fn stream(&self, request: Request) -> Events {
        let at = request.conversation.turn as usize;
        let lane = self.lane(&request);
        let mut steps: Vec<Result<Event, Error>> =
            vec![Ok(Event::Started { model: Some("script".to_owned()) })];
        let mut pause = Duration::ZERO;
        match lane.get(at) {
            Some((place, turn)) => {
                pause = Duration::from_millis(turn.pause_ms);
                let fault = self.fault(&request, *place, turn);
                steps.extend(play(&self.name, turn, &request, fault));
            }
            None => {
                let text = format!(
                    "The script has ended: it has {} turns for this, and this is turn {}.",
                    lane.len(),
                    at + 1
                );
                steps.extend([Ok(Event::Text(text)), Ok(Event::Stopped(StopReason::End))]);
            }
        }
        let steps = stream::iter(steps).enumerate().then(move |(at, step)| async move {
            if at > 0 && !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            step
        });
        steps.boxed()
    }
}

fn play(name: &str, turn: &Turn, request: &Request, fault: Option<Fault>) -> Vec<Result<Event, Error>> {
    let result = last_result(request);
    let filled = |text: &str| text.replace("{{result}}", &result);
    let chunk = turn.chunk.unwrap_or(CHUNK);
    let mut events = Vec::new();
    if !turn.thinking.is_empty() {
        events.extend(pieces(&turn.thinking, chunk).map(Event::Thinking));
        events.push(Event::ThinkingEnded(None));
    }
    events.extend(pieces(&filled(&turn.text), chunk).map(Event::Text));
    if let Some(fault) = fault {
        return failed(name, events, fault);
    }
    let mut ids = Ids::of(request);
    for (index, call) in turn.calls.iter().enumerate() {
        let text = match (&call.input, &call.raw) {
            (Some(input), _) => fill(input, &filled).to_string(),
            (None, Some(raw)) => filled(raw),
            (None, None) => "{}".to_owned(),
        };
        let id = ids.next();
        events.push(Event::CallStarted { index, id: id.clone(), name: call.name.clone() });
        events.extend(pieces(&text, chunk).map(|text| Event::CallInput { index, text }));
        let call = ToolCall { id, name: call.name.clone(), input: CallInput::parse(&text), proof: None };
        events.push(Event::CallEnded { index, call });
    }
    if let Some(PlayedUsage { input, output, cache_read, cache_write, thinking, dollars }) = turn.usage {
        events.push(Event::Usage(Usage { input, output, cache_read, cache_write, thinking, dollars }));
    }
    events.push(Event::Stopped(StopReason::End));
    events.into_iter().map(Ok).collect()
}

/// What breaks off does so after half of what there is to say; everything else fails before a word.
fn failed(name: &str, mut events: Vec<Event>, fault: Fault) -> Vec<Result<Event, Error>> {
    let service = name.to_owned();
    let message = "the script says so".to_owned();
    let error = match fault {
        Fault::RateLimit => Error::RateLimit { service, message, wait: Duration::from_millis(10) },
        Fault::Overloaded => Error::Overloaded { service, status: 529, message },
        Fault::Cut => Error::Cut { service, message },
        Fault::Junk => Error::Answer { service, message },
        Fault::Context => Error::ContextFull { service, message },
        Fault::Refused => Error::Refused { service, message },
        Fault::Auth => Error::Auth { service, status: 401, message },
    };
    events.truncate(if matches!(fault, Fault::Cut | Fault::Junk) { events.len().div_ceil(2) } else { 0 });
    events.into_iter().map(Ok).chain([Err(error)]).collect()
}

fn last_result(request: &Request) -> String {
    let parts = request.messages.iter().rev().flat_map(|message| message.parts.iter().rev());
    let mut texts = parts.filter_map(|part| match part {
        Part::Result { text, .. } => Some(text),
        _ => None,
    });
    texts.next().map(|text| text.chars().take(RESULT).collect()).unwrap_or_default()
}

fn fill(value: &Value, filled: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text)),
        Value::Array(items) => items.iter().map(|item| fill(item, filled)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), fill(value, filled))).collect()
        }
        other => other.clone(),
    }
}

/// The text in pieces of so many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> + use<> {
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Collector, Conversation, Message};
    use serde_json::json;

    fn request(first: &str, turn: u32, purpose: Purpose) -> Request {
        let mut request = Request::new(vec![Message::user(first)]);
        request.conversation = Conversation { id: "c".into(), turn, purpose, ..Conversation::default() };
        request
    }

    fn played(script: &Script, request: Request) -> (Vec<Event>, Option<Error>) {
        let steps: Vec<Result<Event, Error>> = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(script.stream(request).collect());
        let error = steps.iter().find_map(|step| step.clone().err());
        (steps.into_iter().filter_map(Result::ok).collect(), error)
    }

    fn text(script: &Script, request: Request) -> String {
        let mut collector = Collector::default();
        played(script, request).0.iter().for_each(|event| collector.take(event));
        collector.finish().unwrap().message.text()
    }

    #[test]
    fn a_turn_is_found_by_purpose_first_message_and_number() {
        let script = Script::parse(
            "/s.jsonl",
            r#"{"text": "one"}
               {"text": "child", "for": "garden"}
               {"text": "short", "purpose": "condense"}

               {"text": "two"}"#,
        )
        .unwrap();
        assert_eq!(script.name(), "script@/s.jsonl");
        for (first, turn, purpose, said) in [
            ("hi", 0, Purpose::Answer, "one"),
            ("hi", 1, Purpose::Answer, "two"),
            ("hi", 2, Purpose::Answer, "The script has ended: it has 2 turns for this, and this is turn 3."),
            ("my garden", 0, Purpose::Answer, "child"),
            ("hi", 0, Purpose::Condense, "short"),
            ("hi", 0, Purpose::Title, "The script has ended: it has 0 turns for this, and this is turn 1."),
        ] {
            assert_eq!(text(&script, request(first, turn, purpose)), said, "{first} {turn} {purpose:?}");
        }
    }

    #[test]
    fn a_script_thinks_speaks_in_pieces_and_calls_with_the_last_result() {
        let script = Script::parse(
            "s",
            r#"{"thinking": "hm", "text": "Grüße", "chunk": 3, "usage": {"input": 5, "dollars": 0.5}, "calls": [{"name": "a", "input": {"x": ["{{result}}!"]}}, {"name": "b", "raw": "{bro"}]}"#,
        )
        .unwrap();
        let mut request = request("hi", 0, Purpose::Answer);
        let part = Part::Result { id: "1".into(), name: "t".into(), text: "found".into(), failed: false };
        request.messages.push(Message { role: Role::User, parts: vec![part] });
        let (events, error) = played(&script, request);
        assert_eq!(error, None);
        assert_eq!(events[0], Event::Started { model: Some("script".into()) });
        assert_eq!(events[3..5], [Event::Text("Grü".into()), Event::Text("ße".into())]);
        let calls: Vec<&ToolCall> = events
            .iter()
            .filter_map(|event| match event {
                Event::CallEnded { call, .. } => Some(call),
                _ => None,
            })
            .collect();
        assert_eq!(calls[0].input, CallInput::Object(json!({"x": ["found!"]})));
        assert_eq!(calls[1].input, CallInput::Broken("{bro".into()));
        assert_ne!(calls[0].id, calls[1].id);
        assert_eq!(events.last(), Some(&Event::Stopped(StopReason::End)));
        let usage = Usage { input: 5, dollars: Some(0.5), ..Usage::default() };
        assert!(events.contains(&Event::Usage(usage)));
    }

    #[test]
    fn a_fault_comes_as_often_as_it_says_and_then_the_turn() {
        let script = Script::parse("s", r#"{"text": "at last", "fault": "rate_limit", "times": 2}"#).unwrap();
        for passing in [true, true, false] {
            let (_, error) = played(&script, request("hi", 0, Purpose::Answer));
            assert_eq!(matches!(error, Some(Error::RateLimit { .. })), passing, "{error:?}");
        }
        let script = Script::parse("s", r#"{"text": "abcdef", "chunk": 1, "fault": "cut"}"#).unwrap();
        let (events, error) = played(&script, request("hi", 0, Purpose::Answer));
        assert!(matches!(error, Some(Error::Cut { .. })));
        assert_eq!(events.len(), 4, "half of it was said: {events:?}");
        for (fault, is) in [
            ("overloaded", "cannot answer now (529)"),
            ("junk", "makes no sense"),
            ("context", "too long"),
            ("refused", "will not answer"),
            ("auth", "refused the key"),
        ] {
            let script = Script::parse("s", &json!({"text": "x", "fault": fault}).to_string()).unwrap();
            let (_, error) = played(&script, request("hi", 0, Purpose::Answer));
            assert!(error.unwrap().to_string().contains(is), "{fault}");
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        for (line, why) in [
            (r#"{"text": 5}"#, "invalid type"),
            (r#"{"txet": "x"}"#, "unknown field"),
            ("not json", "expected"),
            (r#"{"fault": "fire"}"#, "unknown variant"),
            (r#"{"text": "x", "chunk": 0}"#, "at least 1"),
            (r#"{"calls": [{"name": "a", "input": {}, "raw": ""}]}"#, "not both"),
        ] {
            let error = Script::parse("s.jsonl", &format!("{{\"text\": \"good\"}}\n\n{line}")).unwrap_err();
            assert!(
                matches!(&error, Error::Script { line: 3, message, .. } if message.contains(why)),
                "{error}"
            );
        }
    }
}
