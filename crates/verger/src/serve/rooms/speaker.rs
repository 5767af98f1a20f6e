//! How what happens becomes items. A turn that runs and a turn that is read again both come through here, so that both
//! look the same.

use agent::{Ending, Over};
use llm::chat::{CallInput, Part, ToolCall};
use pipeline::plan::TodoItem;
use serde_json::Value;

use super::item::{Attachment, Body, CallState, Called, Tone};
use super::transcript::Transcript;
use crate::talks;

/// Whoever speaks: the conversation itself, or one of its children, with what is open in its turn.
#[derive(Debug, Clone, Default)]
pub struct Speaker {
    /// The child's item, if it is one.
    parent: Option<String>,
    task: String,
    model: String,
    round: u32,
    /// How many texts and thoughts this round has had.
    pieces: u32,
    last: Last,
    /// What was put in this round.
    fresh: Vec<String>,
    /// The model's name of each call that has not ended, and the item.
    open: Vec<(String, String)>,
    children: Vec<String>,
    added: u32,
    notices: u32,
    passed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Nothing,
    Text,
    Thought,
}

/// How a call ended.
pub struct Ended<'e> {
    /// The model's name of it.
    pub id: &'e str,
    /// What the model is told.
    pub text: &'e str,
    /// Whether that is an error.
    pub failed: bool,
    /// From what it can be taken back.
    pub checkpoint: Option<&'e str>,
    /// What else is known.
    pub ending: Ending,
}

impl Speaker {
    /// A child whose item this is.
    pub fn child(item: &str) -> Speaker {
        Speaker { parent: Some(item.to_owned()), ..Speaker::default() }
    }

    /// The child's item, if it is one.
    pub fn item(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// The task of its turn.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// A turn begins, or goes on.
    pub fn turn(&mut self, task: &str, model: &str) {
        self.model = model.to_owned();
        if self.task != task {
            let parent = self.parent.take();
            *self = Speaker { parent, task: task.to_owned(), model: model.to_owned(), ..Speaker::default() };
        }
    }

    /// The person says something.
    pub fn asked(&mut self, transcript: &mut Transcript, parts: &[Part], step: Option<u64>) {
        let (text, attachments) = shown(parts);
        let task = Some(self.task.clone());
        let id = format!("{}.user", self.task);
        transcript.put(&id, self.parent.as_deref(), Body::User { text, attachments, task, step });
    }

    /// The person says something in the middle of the turn. The answer is the item.
    pub fn added(&mut self, transcript: &mut Transcript, text: &str) -> String {
        self.added += 1;
        let id = format!("{}.added{}", self.task, self.added);
        let body = Body::User { text: text.to_owned(), attachments: Vec::new(), task: None, step: None };
        transcript.put(&id, self.parent.as_deref(), body);
        id
    }

    /// More of a thought.
    pub fn thinking(&mut self, transcript: &mut Transcript, piece: &str) {
        self.piece(transcript, piece, Last::Thought);
    }

    /// More of an answer.
    pub fn text(&mut self, transcript: &mut Transcript, piece: &str) {
        self.piece(transcript, piece, Last::Text);
    }

    fn piece(&mut self, transcript: &mut Transcript, piece: &str, kind: Last) {
        if piece.is_empty() {
            return;
        }
        self.begin(transcript);
        if self.last != kind {
            self.end_piece(transcript);
            self.pieces += 1;
            let text = String::new();
            let body = match kind {
                Last::Thought => Body::Thinking { text, done: false },
                _ => Body::Answer { text, done: false, model: self.model.clone() },
            };
            self.last = kind;
            let id = self.piece_id();
            transcript.put(&id, self.parent.as_deref(), body);
            self.fresh.push(id);
        }
        transcript.edit(&self.piece_id(), |body| {
            if let Body::Answer { text, .. } | Body::Thinking { text, .. } = body {
                text.push_str(piece);
            }
        });
    }

    fn piece_id(&self) -> String {
        format!("{}.{}.p{}", self.task, self.round, self.pieces)
    }

    /// Children of earlier rounds that never said how they ended were dropped.
    fn begin(&mut self, transcript: &mut Transcript) {
        for child in std::mem::take(&mut self.children) {
            transcript.edit(&child, |body| {
                if let Body::Child { state, .. } = body
                    && state == "running"
                {
                    "stopped".clone_into(state);
                }
            });
        }
    }

    fn end_piece(&mut self, transcript: &mut Transcript) {
        if std::mem::take(&mut self.last) != Last::Nothing {
            transcript.edit(&self.piece_id(), |body| {
                if let Body::Answer { done, .. } | Body::Thinking { done, .. } = body {
                    *done = true;
                }
            });
        }
    }

    /// The model begins to write a call.
    pub fn named(&mut self, transcript: &mut Transcript, id: &str, name: &str) {
        self.begin(transcript);
        self.end_piece(transcript);
        // A model that gives two calls one name gets two items.
        let mut item = format!("{}.{}.c{id}", self.task, self.round);
        while transcript.body(&item).is_some() {
            item.push('+');
        }
        let called = Called {
            tool: name.to_owned(),
            title: name.to_owned(),
            input: Value::Null,
            state: CallState::Named,
            text: String::new(),
            cut: false,
            changed: Vec::new(),
            checkpoint: None,
            milliseconds: None,
            question: None,
        };
        transcript.put(&item, self.parent.as_deref(), Body::Call(Box::new(called)));
        self.fresh.push(item.clone());
        self.open.push((id.to_owned(), item));
    }

    /// The input of a call is known.
    pub fn input(&mut self, transcript: &mut Transcript, id: &str, input: &Value) {
        let Some(item) = self.find(transcript, id, |called| called.input.is_null()) else { return };
        call(transcript, &item, |called| {
            called.title = talks::title_of_call(&called.tool, input);
            called.input.clone_from(input);
        });
    }

    /// A call is made.
    pub fn began(&mut self, transcript: &mut Transcript, id: &str, name: &str, input: &Value) {
        let is_new = |called: &Called| called.state == CallState::Named;
        if self.find(transcript, id, is_new).is_none() {
            self.named(transcript, id, name);
        }
        let Some(item) = self.find(transcript, id, is_new) else { return };
        call(transcript, &item, |called| {
            called.title = talks::title_of_call(name, input);
            called.input.clone_from(input);
            called.state = CallState::Running;
        });
    }

    /// A whole call, as it is kept.
    pub fn called(&mut self, transcript: &mut Transcript, made: &ToolCall) {
        self.named(transcript, &made.id, &made.name);
        if let CallInput::Object(input) = &made.input {
            self.input(transcript, &made.id, input);
        }
    }

    /// A call has ended.
    pub fn ended(&mut self, transcript: &mut Transcript, ended: Ended<'_>) {
        let Some(item) = self.find(transcript, ended.id, |_| true) else { return };
        self.open.retain(|(_, open)| *open != item);
        let (text, cut) = talks::shown_answer(ended.text);
        let is_known = !ended.ending.outcome.is_empty();
        call(transcript, &item, |called| {
            called.state = state(&ended);
            called.text = text;
            called.cut = cut;
            called.checkpoint = ended.checkpoint.map(str::to_owned);
            called.milliseconds = is_known.then_some(ended.ending.milliseconds);
            called.changed = ended.ending.changed;
            called.question = None;
        });
    }

    /// The item of an open call that fits; else of any open call of this name.
    fn find(&self, transcript: &Transcript, id: &str, fits: impl Fn(&Called) -> bool) -> Option<String> {
        let fits = |item: &str| matches!(transcript.body(item), Some(Body::Call(called)) if fits(called));
        self.open.iter().find(|(known, item)| known == id && fits(item)).map(|(_, item)| item.clone())
    }

    /// The open call that a question is about.
    pub fn asked_about(&self, transcript: &Transcript, fits: impl Fn(&Called) -> bool) -> Option<String> {
        let fits = |item: &str| matches!(transcript.body(item), Some(Body::Call(called)) if called.state == CallState::Running && fits(called));
        self.open.iter().find(|(_, item)| fits(item)).map(|(_, item)| item.clone())
    }

    /// The answer is whole.
    pub fn answered(&mut self, transcript: &mut Transcript) {
        self.end_piece(transcript);
        self.round += 1;
        self.pieces = 0;
        self.fresh.clear();
    }

    /// The answer broke off and is asked for again.
    pub fn void(&mut self, transcript: &mut Transcript) {
        let fresh = std::mem::take(&mut self.fresh);
        self.open.retain(|(_, item)| !fresh.contains(item));
        self.last = Last::Nothing;
        self.pieces = 0;
        transcript.forget(&fresh);
    }

    /// A child was made. The answer is its item.
    pub fn made(
        &mut self,
        transcript: &mut Transcript,
        session: &str,
        name: &str,
        agent: Option<&str>,
    ) -> String {
        let item = format!("child-{session}");
        self.children.push(item.clone());
        let body = Body::Child {
            name: name.to_owned(),
            state: "running".to_owned(),
            agent: agent.map(str::to_owned),
        };
        transcript.put(&item, self.parent.as_deref(), body);
        item
    }

    /// What is to be done.
    pub fn todo(&self, transcript: &mut Transcript, items: &[TodoItem]) {
        let id = self.parent.as_ref().map_or_else(|| "todo".to_owned(), |parent| format!("{parent}.todo"));
        transcript.put(&id, self.parent.as_deref(), Body::Todo { items: items.to_vec() });
    }

    /// Something that the person should know and that is kept.
    pub fn notice(&mut self, transcript: &mut Transcript, text: String, tone: Tone) {
        self.notices += 1;
        let id = format!("{}.notice{}", self.task, self.notices);
        transcript.put(&id, self.parent.as_deref(), Body::Notice { text, tone });
    }

    /// Something that passes: it is not there any more when the conversation is read again.
    pub fn passing(&mut self, transcript: &mut Transcript, text: String, tone: Tone) {
        self.passed += 1;
        let id = format!("{}.passing{}", self.task, self.passed);
        transcript.put(&id, self.parent.as_deref(), Body::Notice { text, tone });
    }

    /// The turn is over.
    pub fn over(&mut self, transcript: &mut Transcript, how: &Over) {
        if let (Over::Completed { result }, None) = (how, &self.parent)
            && !result.trim().is_empty()
        {
            let body = Body::Answer { text: result.clone(), done: true, model: self.model.clone() };
            transcript.put(&format!("{}.result", self.task), None, body);
        }
        self.close(transcript, word(how), words(how), false);
    }

    /// The turn that was left half way goes on.
    pub fn goes_on(&mut self, transcript: &mut Transcript) {
        transcript.forget(&[format!("{}.over", self.task)]);
    }

    /// The turn ended without saying so: it can be gone on with.
    pub fn left(&mut self, transcript: &mut Transcript, why: &str) {
        self.close(transcript, "left", why.to_owned(), true);
    }

    fn close(&mut self, transcript: &mut Transcript, how: &str, text: String, half_way: bool) {
        self.end_piece(transcript);
        self.begin(transcript);
        let id = format!("{}.over", self.task);
        match &self.parent {
            Some(parent) => transcript.edit(parent, |body| {
                if let Body::Child { state, .. } = body {
                    how.clone_into(state);
                }
            }),
            None => transcript.put(&id, None, Body::Over { how: how.to_owned(), text, half_way }),
        }
        if half_way {
            // Whoever goes on finds its calls again.
            return;
        }
        for (_, item) in std::mem::take(&mut self.open) {
            call(transcript, &item, |called| {
                called.state = CallState::Stopped;
                called.question = None;
            });
        }
    }
}

/// Changes a call.
pub fn call(transcript: &mut Transcript, item: &str, work: impl FnOnce(&mut Called)) {
    transcript.edit(item, |body| {
        if let Body::Call(called) = body {
            work(called);
        }
    });
}

fn state(ended: &Ended<'_>) -> CallState {
    match ended.ending.outcome.as_str() {
        "denied" => CallState::Denied,
        "refused" => CallState::Refused,
        "" if ended.failed && ended.text.starts_with("denied:") => CallState::Denied,
        _ if ended.failed => CallState::Failed,
        _ => CallState::Done,
    }
}

/// How a turn ended, in one word.
fn word(how: &Over) -> &'static str {
    match how {
        Over::Done => "done",
        Over::Completed { .. } => "completed",
        Over::Empty => "empty",
        Over::Stopped => "stopped",
        Over::Rounds { .. } => "rounds",
        Over::Time { .. } => "time",
        Over::Tokens { .. } => "tokens",
        Over::Money { .. } => "money",
        Over::Mistakes { .. } => "mistakes",
        Over::Refused { .. } => "refused",
        Over::Failed { .. } => "failed",
    }
}

fn words(how: &Over) -> String {
    match how {
        // What came of it is an answer of its own.
        Over::Completed { .. } => "done".to_owned(),
        other => other.describe(),
    }
}

/// What a person said, as they see it: their own words, and what was sent along by its name.
pub fn shown(parts: &[Part]) -> (String, Vec<Attachment>) {
    let mut text = None;
    let mut attachments = Vec::new();
    let mut pictures = 0;
    for part in parts {
        match part {
            Part::Text { text: part } => {
                let (words, sources) = talks::without_enclosures(part);
                attachments.extend(
                    sources.into_iter().map(|name| Attachment { name, media_type: "text/plain".to_owned() }),
                );
                if text.is_none() && !words.is_empty() {
                    text = Some(words);
                }
            }
            Part::Image { media_type, .. } => {
                pictures += 1;
                let name = format!("picture {pictures}");
                attachments.push(Attachment { name, media_type: media_type.clone() });
            }
            Part::Thinking { .. } | Part::Call { .. } | Part::Result { .. } => {}
        }
    }
    (text.unwrap_or_default(), attachments)
}
