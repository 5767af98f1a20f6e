//! Asking the model once: the request, the stream, what passes tried again.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use llm::Error;
use llm::chat::{
    Answer, Collector, Event, Message, Model, Part, Purpose, Request, Role, ToolChoice, ToolSpec,
};

use crate::condense;
use crate::conversation::Conversation;
use crate::door::{Host, News};
use crate::halt::Halt;
use crate::mind::Talk;
use crate::prompt;
use crate::purse::Purse;
use crate::step::{Over, Step};
use crate::trouble::Trouble;

/// How often an answer that broke off is asked for, and one that did not begin: those the provider has tried already.
const TRIES: u32 = 4;
const TRIES_BEFORE: u32 = 3;
/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(400);
/// Nobody is kept waiting longer between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What a person wants of the model in one conversation; what is not said is the model's own way. Children have their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// How freely it speaks.
    pub temperature: Option<f32>,
    /// The share of likely words.
    pub top_p: Option<f32>,
    /// At most this many tokens come back.
    pub max_tokens: Option<u32>,
    /// Texts at which to stop.
    pub stop: Vec<String>,
}

/// What came of it.
pub(crate) enum Reply {
    /// An answer, written down.
    Answer(Answer),
    /// The turn is over.
    Over(Over),
}

/// Asks the conversation's model, shows what it says as it says it, and writes the answer down.
pub(crate) async fn model(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    choice: ToolChoice,
) -> Result<Reply, Trouble> {
    let model = talk.mind.models.find(&talk.conversation.model)?;
    if purse.needs_a_price() && model.price().is_none() && !model.name().starts_with("openrouter@") {
        return Ok(Reply::Over(Over::Failed {
            why: format!("the price of {} is not known, so a limit in money cannot be kept", model.name()),
            hint: "set its price in config.toml, or take the limit away".to_owned(),
        }));
    }
    let mut tries = 1;
    let mut with_tools = model.abilities().tools;
    let mut shortened = false;
    loop {
        let request = request(talk, &*model, choice, with_tools);
        let (streamed, shown) = stream(&*model, request, host, purse, halt).await;
        let error = match streamed {
            Streamed::Answer(answer) => return answered(talk, host, purse, &*model, answer).await,
            Streamed::Halted(collector) => return stopped(talk, &*model, &collector).await,
            Streamed::TimeUp => {
                let limit = purse.limits().time.unwrap_or_default().as_secs();
                return Ok(Reply::Over(purse.used_up().unwrap_or(Over::Time { limit })));
            }
            Streamed::Error(error) => error,
        };
        if shown {
            host.show(News::Void);
        }
        match error {
            Error::ContextFull { .. } if !shortened => {
                shortened = true;
                condense::now(talk, host, halt).await?;
            }
            Error::NoTools { .. } if with_tools => {
                with_tools = false;
                host.notice(format!("{} cannot call tools; it answers from what it is told", model.name()));
            }
            error if tries < most_tries(&error) => {
                let wait = pause(&error, tries);
                tries += 1;
                let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                host.show(News::Retry { why: error.to_string(), milliseconds });
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = halt.stopped() => return Ok(Reply::Over(Over::Stopped)),
                }
            }
            Error::Refused { message, .. } => return Ok(Reply::Over(Over::Refused { why: message })),
            error => {
                let hint = error.hint().to_owned();
                return Ok(Reply::Over(Over::Failed { why: error.to_string(), hint }));
            }
        }
    }
}

/// The tools that the model is told of, always in the same order.
pub(crate) fn tools(talk: &Talk) -> Arc<[ToolSpec]> {
    prompt::told_within(&talk.mind, &talk.persona, &talk.rights()).tools
}

/// To which conversation a request belongs.
pub(crate) fn belongs(conversation: &Conversation, turn: u32, purpose: Purpose) -> llm::chat::Conversation {
    let (id, began_with) = (conversation.id.clone(), conversation.began_with.clone());
    llm::chat::Conversation { id, turn, purpose, began_with }
}

fn request(talk: &Talk, model: &dyn Model, choice: ToolChoice, with_tools: bool) -> Request {
    let conversation = &talk.conversation;
    let mut request = Request::new(conversation.to_send());
    let told = prompt::told_within(&talk.mind, &talk.persona, &talk.rights());
    request.system = told.system;
    match with_tools {
        true => request.tools = told.tools,
        false => request.messages = without_calls(request.messages),
    }
    if !model.abilities().images {
        request.messages = without_images(request.messages);
    }
    request.system.extend(conversation.system.iter().cloned());
    let Settings { temperature, top_p, max_tokens, stop } = talk.settings.clone();
    (request.temperature, request.top_p) = (temperature, top_p);
    (request.max_tokens, request.stop) = (max_tokens, stop);
    request.choice = choice;
    request.conversation = belongs(conversation, conversation.answers, Purpose::Answer);
    request
}

/// For a model that knows no tools, calls and their answers are told in words.
fn without_calls(messages: Vec<Message>) -> Vec<Message> {
    let told = |part: Part| match part {
        Part::Call { call } => Part::Text { text: format!("[called {}]", call.name) },
        Part::Result { name, text, .. } => Part::Text { text: format!("[{name} answered]\n{text}") },
        other => other,
    };
    let message = |message: Message| Message {
        role: message.role,
        parts: message.parts.into_iter().map(told).collect(),
    };
    messages.into_iter().map(message).collect()
}

fn without_images(messages: Vec<Message>) -> Vec<Message> {
    let told = |part: Part| match part {
        Part::Image { .. } => Part::Text { text: "[a picture, which you cannot see]".to_owned() },
        other => other,
    };
    let message = |message: Message| Message {
        role: message.role,
        parts: message.parts.into_iter().map(told).collect(),
    };
    messages.into_iter().map(message).collect()
}

enum Streamed {
    Answer(Answer),
    Halted(Collector),
    TimeUp,
    Error(Error),
}

/// Reads one answer to its end. The second word says whether something of it was shown.
async fn stream(
    model: &dyn Model,
    request: Request,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
) -> (Streamed, bool) {
    let mut events = model.stream(request);
    let mut collector = Collector::default();
    let mut shown = false;
    let time_up = async {
        match purse.time_left() {
            Some(left) => tokio::time::sleep(left).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(time_up);
    loop {
        let event = tokio::select! {
            biased;
            () = halt.stopped() => return (Streamed::Halted(collector), shown),
            event = events.next() => event,
            () = &mut time_up => return (Streamed::TimeUp, shown),
        };
        match event {
            Some(Ok(event)) => {
                collector.take(&event);
                shown |= show(host, event);
            }
            Some(Err(error)) => return (Streamed::Error(error), shown),
            None => {
                let cut = || Error::Cut {
                    service: model.name().to_owned(),
                    message: "it ended without saying so".to_owned(),
                };
                return (collector.finish().map_or_else(|| Streamed::Error(cut()), Streamed::Answer), shown);
            }
        }
    }
}

fn show(host: &Host, event: Event) -> bool {
    let news = match event {
        Event::Text(text) => News::Text { text },
        Event::Thinking(text) => News::Thinking { text },
        Event::CallStarted { id, name, .. } => News::CallNamed { id, name },
        // A door that shows a call as it is written gets its text whole when it ends.
        Event::CallEnded { call, .. } => {
            let text = match &call.input {
                llm::chat::CallInput::Object(value) => value.to_string(),
                llm::chat::CallInput::Broken(text) => text.clone(),
            };
            News::CallInput { id: call.id, text }
        }
        Event::Started { .. }
        | Event::ThinkingEnded(_)
        | Event::CallInput { .. }
        | Event::Usage(_)
        | Event::Stopped(_) => return false,
    };
    host.show(news);
    true
}

async fn answered(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    model: &dyn Model,
    answer: Answer,
) -> Result<Reply, Trouble> {
    let dollars = answer.usage.dollars.or_else(|| model.price().map(|price| price.of(&answer.usage)));
    purse.spend(&answer.usage, dollars);
    talk.record(vec![Step::Answered {
        message: answer.message.clone(),
        model: model.name().to_owned(),
        usage: answer.usage,
        dollars,
    }])
    .await?;
    let window = model.abilities().window.filter(|window| *window > 0);
    let full = window.map(|window| (answer.usage.all_input() + answer.usage.output) * 100 / window);
    host.show(News::Spent {
        model: model.name().to_owned(),
        usage: answer.usage,
        dollars,
        total_tokens: talk.conversation.spent.tokens(),
        total_dollars: talk.conversation.spent.dollars,
        window: full.map(|percent| u8::try_from(percent.min(100)).unwrap_or(100)),
    });
    Ok(Reply::Answer(answer))
}

/// What was said until the person stopped it is kept; half a call is none.
async fn stopped(talk: &mut Talk, model: &dyn Model, collector: &Collector) -> Result<Reply, Trouble> {
    let text = collector.so_far();
    if !text.is_empty() {
        let message = Message { role: Role::Assistant, parts: vec![Part::Text { text }] };
        let usage = collector.usage();
        let dollars = usage.dollars.or_else(|| model.price().map(|price| price.of(&usage)));
        talk.record(vec![Step::Answered { message, model: model.name().to_owned(), usage, dollars }]).await?;
    }
    Ok(Reply::Over(Over::Stopped))
}

/// What took its whole time once is not given it again.
fn most_tries(error: &Error) -> u32 {
    match error {
        Error::Slow { .. } => 0,
        Error::Cut { .. } => TRIES,
        error if error.is_passing() => TRIES_BEFORE,
        _ => 0,
    }
}

fn pause(error: &Error, tries: u32) -> Duration {
    let usual = FIRST_PAUSE * 2u32.pow(tries.min(8));
    match error {
        Error::RateLimit { wait, .. } => usual.max(*wait),
        _ => usual,
    }
    .min(LONGEST_PAUSE)
}
