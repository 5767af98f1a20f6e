//! An answer in OpenAI's words: whole, or piece by piece as it is written.

use std::collections::VecDeque;
use std::time::Duration;

use agent::Over;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use llm::chat::Usage;
use pipeline::World as _;
use serde_json::{Value, json};

use super::ask::Wish;
use super::fault::Fault;
use super::turn::{Heard, Turn};
use crate::world::RealWorld;

/// After how much silence a stream says that it lives, so that no proxy takes it for dead.
const SILENCE: Duration = Duration::from_secs(15);
/// Said where an answer broke off and is asked for again: what was sent cannot be taken back.
const ANEW: &str = "\n\n[the answer broke off and begins anew]\n\n";

/// What every piece of one answer says.
struct Frame {
    id: String,
    created: i64,
    model: String,
}

impl Frame {
    fn new(wish: &Wish) -> Frame {
        let id = RealWorld.id().unwrap_or_default();
        Frame {
            id: format!("chatcmpl-{id}"),
            created: RealWorld.moment().as_second(),
            model: wish.name.clone(),
        }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>, tells_usage: bool) -> Value {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
        });
        if tells_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// What is written so far, and how it goes on.
#[derive(Default)]
struct Written {
    text: String,
    thoughts: String,
    usage: Usage,
    /// Where the round began that runs.
    round: usize,
    /// Whether the next words begin a paragraph.
    pause: bool,
}

impl Written {
    /// More text, with a paragraph before it where a round lies between.
    fn add(&mut self, more: &str) -> String {
        let pause = std::mem::take(&mut self.pause) && !self.text.trim_end().is_empty();
        let more = if pause { format!("\n\n{more}") } else { more.to_owned() };
        self.text += &more;
        more
    }

    fn rest(&mut self) {
        self.pause = true;
        self.round = self.text.len();
    }
}

/// How a turn ended: what is still to be said, and the word for it.
fn ending(over: &Over) -> Result<(String, &'static str), Fault> {
    match over {
        Over::Done | Over::Empty => Ok((String::new(), "stop")),
        // Whoever hung up does not hear it; for others the server ended, and half an answer is none.
        Over::Stopped => Err(Fault::upstream("the answer was stopped before its end", "ask again")),
        Over::Completed { result } => Ok((result.clone(), "stop")),
        Over::Refused { why } => Ok((why.clone(), "content_filter")),
        Over::Failed { why, hint } => Err(Fault::upstream(why, hint)),
        Over::Rounds { .. }
        | Over::Time { .. }
        | Over::Tokens { .. }
        | Over::Money { .. }
        | Over::Mistakes { .. } => Ok((format!("[{}]", over.describe()), "length")),
    }
}

fn usage(usage: &Usage) -> Value {
    let input = usage.all_input();
    json!({
        "prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens_details": { "reasoning_tokens": usage.thinking },
    })
}

/// The whole answer, when it is there.
pub async fn whole(mut turn: Turn, wish: &Wish) -> Result<Response, Fault> {
    let mut written = Written::default();
    let over = loop {
        match turn.heard.recv().await {
            Some(Heard::Thinking(text)) => written.thoughts += &text,
            Some(Heard::Text(text)) => {
                written.add(&text);
            }
            Some(Heard::Void) => {
                let kept = written.round;
                written.text.truncate(kept);
                written.pause = kept > 0;
            }
            Some(Heard::Round) => written.rest(),
            Some(Heard::Spent(spent)) => {
                written.usage = written.usage.plus(spent);
                written.rest();
            }
            Some(Heard::Over(over)) => break over,
            Some(Heard::Trouble(fault)) => return Err(fault),
            None => return Err(Fault::upstream("the turn broke down", "try again")),
        }
    };
    let (last, finish) = ending(&over)?;
    if !last.trim().is_empty() {
        written.pause = true;
        written.add(&last);
    }
    let frame = Frame::new(wish);
    let mut message = json!({ "role": "assistant", "content": written.text, "refusal": null });
    if !written.thoughts.is_empty() {
        message["reasoning_content"] = written.thoughts.into();
    }
    let body = json!({
        "id": frame.id, "object": "chat.completion", "created": frame.created, "model": frame.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        "usage": usage(&written.usage),
    });
    Ok(Json(body).into_response())
}

/// The answer as it is written. A turn that fails before it says anything is an error with a status of its own.
pub async fn stream(mut turn: Turn, wish: &Wish) -> Result<Response, Fault> {
    let first = match turn.heard.recv().await {
        Some(Heard::Trouble(fault)) => return Err(fault),
        Some(Heard::Over(Over::Failed { why, hint })) => return Err(Fault::upstream(&why, &hint)),
        first => first,
    };
    let mut teller = Teller {
        frame: Frame::new(wish),
        tells_usage: wish.tells_usage,
        written: Written::default(),
        over: false,
    };
    let mut ready = VecDeque::from([teller.say(&json!({ "role": "assistant", "content": "" }), None)]);
    ready.extend(teller.hear(first));
    let pieces = stream::unfold((turn, teller, ready), |(mut turn, mut teller, mut ready)| async move {
        loop {
            if let Some(piece) = ready.pop_front() {
                return Some((Ok::<_, std::convert::Infallible>(Bytes::from(piece)), (turn, teller, ready)));
            }
            if teller.over {
                return None;
            }
            match tokio::time::timeout(SILENCE, turn.heard.recv()).await {
                Ok(heard) => ready.extend(teller.hear(heard)),
                Err(_) => ready.push_back(": still at work\n\n".to_owned()),
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    Ok((kind, Body::from_stream(pieces)).into_response())
}

/// Tells what is heard, piece by piece.
struct Teller {
    frame: Frame,
    tells_usage: bool,
    written: Written,
    over: bool,
}

impl Teller {
    fn say(&self, delta: &Value, finish: Option<&str>) -> String {
        event(&self.frame.chunk(delta, finish, self.tells_usage))
    }

    fn hear(&mut self, heard: Option<Heard>) -> Vec<String> {
        match heard {
            Some(Heard::Thinking(text)) => vec![self.say(&json!({ "reasoning_content": text }), None)],
            Some(Heard::Text(text)) => {
                let more = self.written.add(&text);
                vec![self.say(&json!({ "content": more }), None)]
            }
            Some(Heard::Void) if self.written.text.len() == self.written.round => Vec::new(),
            Some(Heard::Void) => {
                self.written.pause = false;
                self.written.text += ANEW;
                vec![self.say(&json!({ "content": ANEW }), None)]
            }
            Some(Heard::Round) => {
                self.written.rest();
                Vec::new()
            }
            Some(Heard::Spent(spent)) => {
                self.written.usage = self.written.usage.plus(spent);
                self.written.rest();
                Vec::new()
            }
            Some(Heard::Over(over)) => self.end(&over),
            Some(Heard::Trouble(fault)) => self.fail(&fault),
            None => self.fail(&Fault::upstream("the turn broke down", "try again")),
        }
    }

    fn end(&mut self, over: &Over) -> Vec<String> {
        let (last, finish) = match ending(over) {
            Ok(end) => end,
            Err(fault) => return self.fail(&fault),
        };
        self.over = true;
        let mut pieces = Vec::new();
        if !last.trim().is_empty() {
            self.written.pause = true;
            let more = self.written.add(&last);
            pieces.push(self.say(&json!({ "content": more }), None));
        }
        pieces.push(self.say(&json!({}), Some(finish)));
        if self.tells_usage {
            let mut chunk = self.frame.chunk(&json!({}), None, true);
            chunk["choices"] = json!([]);
            chunk["usage"] = usage(&self.written.usage);
            pieces.push(event(&chunk));
        }
        pieces.push("data: [DONE]\n\n".to_owned());
        pieces
    }

    /// A stream that has begun cannot have another status; clients know an error by its envelope.
    fn fail(&mut self, fault: &Fault) -> Vec<String> {
        self.over = true;
        vec![event(&fault.envelope())]
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_paragraphs_and_a_void_round_is_gone() {
        let mut written = Written::default();
        assert_eq!(written.add("I look."), "I look.");
        written.rest();
        written.rest();
        assert_eq!(written.add("Half an ans"), "\n\nHalf an ans");
        written.text.truncate(written.round);
        written.pause = true;
        written.add("There");
        assert_eq!(written.add(" it is."), " it is.");
        assert_eq!(written.text, "I look.\n\nThere it is.");
    }

    #[test]
    fn a_limit_is_a_length_and_a_failure_is_an_error() {
        assert_eq!(ending(&Over::Done).unwrap().1, "stop");
        assert_eq!(ending(&Over::Completed { result: "x".into() }).unwrap(), ("x".into(), "stop"));
        assert_eq!(ending(&Over::Rounds { limit: 3 }).unwrap().1, "length");
        assert_eq!(ending(&Over::Refused { why: "no".into() }).unwrap().1, "content_filter");
        assert!(ending(&Over::Stopped).is_err(), "half an answer does not look like a whole one");
        assert!(ending(&Over::Failed { why: "x".into(), hint: "y".into() }).is_err());
    }
}
