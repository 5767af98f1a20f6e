//! What a caller asks for, read: who speaks, what was said before, what is asked now.
//!
//! Fields that change nothing here (`user`, `seed`, `metadata` …) are passed over, as other servers of this format do. What would
//! change the answer and is not there is refused.

use agent::Halt;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use llm::chat::{Message, Part, Role};
use serde::Deserialize;
use serde_json::Value;

use super::NAME;
use super::fault::Fault;
use crate::serve::house::House;

/// The most messages.
const MOST_MESSAGES: usize = 2_000;
/// The most text in all of them.
const MOST_TEXT: usize = 4 * 1024 * 1024;
/// The most pictures in all of them.
const MOST_PICTURES: usize = 20;
/// The largest picture, in bytes.
const LARGEST_PICTURE: usize = 10 * 1024 * 1024;
/// The kinds of pictures that models understand.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Said to a model whose own answer is the last message.
const GO_ON: &str = "[Verger: go on where your answer ends.]";

/// The body of a request.
#[derive(Debug, Deserialize)]
pub struct Completion {
    model: String,
    messages: Vec<Sent>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    temperature: Option<f32>,
    #[serde(default)]
    top_p: Option<f32>,
    #[serde(default)]
    stop: Option<Stops>,
    #[serde(default)]
    n: Option<u32>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    functions: Option<Vec<Value>>,
    #[serde(default)]
    response_format: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stops {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
struct Sent {
    role: String,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    tool_calls: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Pieces(Vec<Piece>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece {
    Text {
        text: String,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct ImageUrl {
    url: String,
}

/// What is wanted.
#[derive(Debug)]
pub struct Wish {
    /// The name by which the model was called; the answer carries it.
    pub name: String,
    /// The agent.
    pub agent: String,
    /// The model behind it.
    pub model: String,
    /// What was said before.
    pub before: Vec<Message>,
    /// What holds for all of it.
    pub system: Vec<String>,
    /// What is asked now.
    pub question: Vec<Part>,
    /// How it is asked.
    pub settings: agent::Settings,
    /// Whether the answer comes as it is written.
    pub streams: bool,
    /// Whether a stream ends with what it cost.
    pub tells_usage: bool,
    /// Stops the turn.
    pub halt: Halt,
}

impl Wish {
    /// Reads a request.
    pub fn read(asked: Completion, house: &House) -> Result<Wish, Fault> {
        asked.refuse_what_is_not_there()?;
        let study = house.study();
        let (agent, named) =
            speaker(&asked.model, &house.agent()).ok_or_else(|| Fault::no_model(&asked.model))?;
        if !study.mind.cast.slugs().contains(&agent) {
            return Err(Fault::no_model(&asked.model));
        }
        let model = match named.or_else(|| study.mind.cast.persona(&agent).model) {
            Some(model) => match study.mind.models.find(&model) {
                Ok(found) => found.name().to_owned(),
                Err(_) => return Err(Fault::no_model(&asked.model)),
            },
            None => study.model()?.to_owned(),
        };
        let (system, before, question) = conversation(asked.messages)?;
        let stop = match asked.stop {
            None => Vec::new(),
            Some(Stops::One(stop)) => vec![stop],
            Some(Stops::Many(stops)) => stops,
        };
        let settings = agent::Settings {
            temperature: asked.temperature,
            top_p: asked.top_p,
            max_tokens: asked.max_completion_tokens.or(asked.max_tokens),
            stop,
        };
        Ok(Wish {
            name: asked.model,
            agent,
            model,
            before,
            system,
            question,
            settings,
            streams: asked.stream.unwrap_or_default(),
            tells_usage: asked.stream_options.unwrap_or_default().include_usage.unwrap_or_default(),
            halt: Halt::default(),
        })
    }
}

impl Completion {
    fn refuse_what_is_not_there(&self) -> Result<(), Fault> {
        let some = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
        if some(&self.tools) || some(&self.functions) {
            let message = "this model is an agent with tools of its own, on the vault; it cannot call yours. Leave `tools` out";
            return Err(Fault::bad("tools", message));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(Fault::bad("n", "an agent answers once; leave `n` out"));
        }
        let kind = self.response_format.as_ref().and_then(|format| format.get("type"));
        if kind.is_some_and(|kind| kind != "text") {
            let message =
                "an agent answers with text; leave `response_format` out and say in words what you want";
            return Err(Fault::bad("response_format", message));
        }
        let within = |value: Option<f32>, most: f32| value.is_none_or(|value| (0.0..=most).contains(&value));
        if !within(self.temperature, 2.0) {
            return Err(Fault::bad("temperature", "`temperature` is a number from 0 to 2"));
        }
        if !within(self.top_p, 1.0) {
            return Err(Fault::bad("top_p", "`top_p` is a number from 0 to 1"));
        }
        if self.max_tokens == Some(0) || self.max_completion_tokens == Some(0) {
            return Err(Fault::bad("max_tokens", "an answer needs at least one token"));
        }
        let fits = match &self.stop {
            Some(Stops::Many(stops)) => stops.len() <= 4 && stops.iter().all(|stop| stop.len() <= 256),
            Some(Stops::One(stop)) => stop.len() <= 256,
            None => true,
        };
        if fits {
            Ok(())
        } else {
            Err(Fault::bad("stop", "at most four texts of 256 bytes can stop an answer"))
        }
    }
}

/// `verger`, `verger/AGENT`, each with `@MODEL` behind it.
fn speaker(name: &str, usual: &str) -> Option<(String, Option<String>)> {
    let rest = name.strip_prefix(NAME)?;
    let (agent, model) = match rest.split_once('@') {
        Some((agent, model)) => (agent, Some(model.to_owned())),
        None => (rest, None),
    };
    // A script is a file of this machine; callers elsewhere do not choose files.
    if model.as_ref().is_some_and(|model| model.is_empty() || model.starts_with("script@")) {
        return None;
    }
    let agent = match agent {
        "" => usual,
        agent => agent.strip_prefix('/').filter(|agent| !agent.is_empty())?,
    };
    Some((agent.to_owned(), model))
}

type Turns = (Vec<String>, Vec<Message>, Vec<Part>);

fn conversation(sent: Vec<Sent>) -> Result<Turns, Fault> {
    if sent.len() > MOST_MESSAGES {
        return Err(Fault::bad("messages", format!("there are more than {MOST_MESSAGES} messages")));
    }
    let (mut system, mut messages) = (Vec::new(), Vec::<Message>::new());
    let (mut text, mut pictures) = (0, 0);
    for Sent { role, content, tool_calls } in sent {
        if tool_calls.is_some_and(|calls| !calls.is_empty()) {
            return Err(foreign_calls());
        }
        let parts = content.map_or(Ok(Vec::new()), parts)?;
        for part in &parts {
            match part {
                Part::Text { text: more } => text += more.len(),
                _ => pictures += 1,
            }
        }
        if text > MOST_TEXT || pictures > MOST_PICTURES {
            let message = "there is too much: at most 4 MiB of text and 20 pictures in all messages together";
            return Err(Fault::bad("messages", message));
        }
        let speaks = match role.as_str() {
            "system" | "developer" => {
                system.extend(parts.into_iter().filter_map(|part| match part {
                    Part::Text { text } => Some(text),
                    _ => None,
                }));
                continue;
            }
            "user" => Role::User,
            "assistant" if parts.iter().all(|part| matches!(part, Part::Text { .. })) => Role::Assistant,
            "assistant" => return Err(Fault::bad("messages", "pictures come from the user")),
            "tool" | "function" => return Err(foreign_calls()),
            _ => return Err(Fault::bad("messages", "a role is one of system, developer, user, assistant")),
        };
        if parts.is_empty() {
            continue;
        }
        match messages.last_mut().filter(|last| last.role == speaks) {
            Some(last) => last.parts.extend(parts),
            None => messages.push(Message { role: speaks, parts }),
        }
    }
    match messages.pop() {
        None => Err(Fault::bad("messages", "nothing is asked: there is no message of the user")),
        Some(last) if last.role == Role::User => Ok((system, messages, last.parts)),
        Some(last) => {
            messages.push(last);
            Ok((system, messages, vec![Part::Text { text: GO_ON.to_owned() }]))
        }
    }
}

fn foreign_calls() -> Fault {
    let message =
        "this model is an agent that makes its own calls; messages with calls of yours cannot be sent to it";
    Fault::bad("messages", message)
}

fn parts(content: Content) -> Result<Vec<Part>, Fault> {
    let says = |text: &String| !text.is_empty();
    match content {
        Content::Text(text) => {
            Ok(Some(text).filter(says).map(|text| Part::Text { text }).into_iter().collect())
        }
        Content::Pieces(pieces) => {
            let parts =
                pieces.into_iter().filter(|piece| !matches!(piece, Piece::Text { text } if text.is_empty()));
            parts.map(part).collect()
        }
    }
}

fn part(piece: Piece) -> Result<Part, Fault> {
    match piece {
        Piece::Text { text } => Ok(Part::Text { text }),
        Piece::ImageUrl { image_url } => picture(&image_url.url),
        Piece::Other => Err(Fault::bad("messages", "a message consists of `text` and `image_url`")),
    }
}

/// Nothing is fetched for a caller: a picture comes along.
fn picture(url: &str) -> Result<Part, Fault> {
    let wrong = |why: &str| Fault::bad("messages", why.to_owned());
    let Some((kind, base64)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) else {
        return Err(wrong("a picture is sent along as `data:image/png;base64,…`; addresses are not fetched"));
    };
    if !PICTURES.contains(&kind) {
        return Err(wrong("a picture is one of PNG, JPEG, GIF and WebP"));
    }
    if base64.len() / 4 * 3 > LARGEST_PICTURE + 3 {
        return Err(wrong("a picture may have 10 MiB at most"));
    }
    match STANDARD.decode(base64) {
        Ok(bytes) if !bytes.is_empty() => {
            Ok(Part::Image { media_type: kind.to_owned(), base64: base64.to_owned() })
        }
        _ => Err(wrong("a picture is not base64")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(messages: Value) -> Result<Turns, Fault> {
        conversation(serde_json::from_value(messages).unwrap())
    }

    #[test]
    fn the_last_message_is_asked_and_the_rest_was_said_before() {
        let (system, before, question) = read(json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "refusal": null},
            {"role": "developer", "content": [{"type": "text", "text": "in German"}]},
            {"role": "user", "content": "c", "name": "x"},
            {"role": "user", "content": [{"type": "text", "text": "d"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}}]},
        ]))
        .unwrap();
        assert_eq!(system, ["be brief", "in German"]);
        assert_eq!(before, [Message::user("a"), Message::assistant("b")]);
        assert_eq!(question.len(), 3);
        let (_, before, question) =
            read(json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "half"}]))
                .unwrap();
        assert_eq!(before.len(), 2);
        assert_eq!(question, [Part::Text { text: GO_ON.to_owned() }]);
    }

    #[test]
    fn what_an_agent_cannot_do_is_refused() {
        for messages in [
            json!([]),
            json!([{"role": "system", "content": "x"}]),
            json!([{"role": "user", "content": ""}]),
            json!([{"role": "tool", "content": "x", "tool_call_id": "1"}]),
            json!([{"role": "wizard", "content": "x"}]),
            json!([{"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}, {"role": "user", "content": "x"}]),
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://evil.example/x.png"}}]}]),
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]),
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,aGk="}}]}]),
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,!!"}}]}]),
            json!([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]),
        ] {
            assert!(read(messages.clone()).is_err(), "{messages}");
        }
    }

    #[test]
    fn a_name_says_who_speaks_and_with_which_model() {
        let who = |name| speaker(name, "agent");
        assert_eq!(who("verger"), Some(("agent".into(), None)));
        assert_eq!(who("verger/ask"), Some(("ask".into(), None)));
        assert_eq!(who("verger/ask@ollama@qwen3:8b"), Some(("ask".into(), Some("ollama@qwen3:8b".into()))));
        assert_eq!(who("verger@fast"), Some(("agent".into(), Some("fast".into()))));
        for none in ["", "gpt-4o", "verger/", "vergerx", "verger/ask@", "verger/ask@script@/etc/passwd"] {
            assert_eq!(who(none), None, "{none}");
        }
    }
}
