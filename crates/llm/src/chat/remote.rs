//! A model behind HTTP: asks, reads the answer as it comes, and tries again as long as nothing was said.
//!
//! The same for every dialect; what differs is in the file of each. Dropping the stream drops the request.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::adjust::{Change, apply, asked};
use super::frames::Frames;
use super::wire::{Flow, Reader, Target};
use super::{Abilities, Event, Events, Model, Part, Price, Request, fault, ollama};
use crate::Error;
use crate::http::{Body, Failure, Opened, asked_for};
use crate::models::{Dialect, Provider};

/// How often one request is changed and sent anew.
const CHANGES: usize = 4;
/// Bytes of an error that are read.
const ERROR: usize = 64 * 1024;

/// A model of a provider.
pub(crate) struct Remote(Arc<Inner>);

struct Inner {
    name: String,
    model: String,
    provider: Arc<Provider>,
    /// What this model's server would not have.
    changes: Mutex<Vec<Change>>,
    /// Whether the server said that the model cannot call tools.
    no_tools: AtomicBool,
    /// Tokens for which Ollama makes room.
    window: OnceCell<u64>,
}

impl Remote {
    pub(crate) fn new(provider: Arc<Provider>, model: &str) -> Remote {
        Remote(Arc::new(Inner {
            name: format!("{}@{model}", provider.name),
            model: model.to_owned(),
            provider,
            changes: Mutex::default(),
            no_tools: AtomicBool::new(false),
            window: OnceCell::new(),
        }))
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn abilities(&self) -> Abilities {
        let Inner { provider, model, no_tools, window, .. } = &*self.0;
        let known = provider.known(model);
        let settings = &provider.settings;
        let tools = settings.tools.or(known.tools).unwrap_or(true) && !no_tools.load(Ordering::Relaxed);
        let own = settings.window.or(known.window);
        let window = match provider.dialect {
            // What Ollama is not told to make room for, it cuts off without a word.
            Dialect::Ollama => {
                Some(window.get().copied().unwrap_or_else(|| ollama::room(settings.window, None)))
            }
            _ => own,
        };
        Abilities { tools, images: settings.images.or(known.images).unwrap_or(true), window }
    }

    fn price(&self) -> Option<Price> {
        let Inner { provider, model, .. } = &*self.0;
        provider.settings.prices.get(model).copied().or_else(|| provider.known(model).price)
    }

    fn stream(&self, mut request: Request) -> Events {
        let abilities = self.abilities();
        if self.0.provider.settings.tools == Some(false) {
            request.tools = Arc::from([]);
        }
        if !abilities.images {
            without_images(&mut request);
        }
        let run = Run {
            inner: Arc::clone(&self.0),
            request,
            tried: 1,
            held: Vec::new(),
            ready: VecDeque::new(),
            said: false,
            reading: None,
            failure: None,
            over: false,
        };
        let events = stream::unfold(Some(run), |run| async move {
            let mut run = run?;
            match run.next().await {
                Ok(Some(event)) => Some((Ok(event), Some(run))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        events.boxed()
    }
}

/// A model that cannot see is told that there was something.
fn without_images(request: &mut Request) {
    for part in request.messages.iter_mut().flat_map(|message| &mut message.parts) {
        if let Part::Image { media_type, .. } = part {
            *part = Part::Text { text: format!("[a picture ({media_type}) that this model cannot see]") };
        }
    }
}

/// One request, until its answer has ended.
struct Run {
    inner: Arc<Inner>,
    request: Request,
    tried: u32,
    /// What came before anything was said: after another try it would come twice.
    held: Vec<Event>,
    ready: VecDeque<Event>,
    said: bool,
    reading: Option<Reading>,
    failure: Option<Failure>,
    over: bool,
}

struct Reading {
    body: Body,
    frames: Frames,
    reader: Box<dyn Reader>,
}

impl Run {
    async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(failure) = self.failure.take() {
                self.failed(failure).await?;
            }
            if self.over {
                return Ok(None);
            }
            let mut events = Vec::new();
            let outcome = self.step(&mut events).await;
            // What was said before the trouble comes before it, however the bytes were cut.
            self.queue(events);
            self.failure = outcome.err();
        }
    }

    /// Waits for another try, or gives up.
    async fn failed(&mut self, failure: Failure) -> Result<(), Error> {
        self.reading = None;
        self.over = true;
        if matches!(failure.error, Error::NoTools { .. }) {
            self.inner.no_tools.store(true, Ordering::Relaxed);
        }
        let patience = self.inner.provider.limits.patience;
        let pause = if self.said { None } else { failure.pause(self.tried, patience) };
        let Some(pause) = pause else {
            let scrubber = self.inner.provider.http.scrubber();
            return Err(failure.error.with_message(|text| scrubber.shown(text)));
        };
        tokio::time::sleep(pause).await;
        self.tried += 1;
        self.held.clear();
        self.over = false;
        Ok(())
    }

    fn queue(&mut self, events: Vec<Event>) {
        for event in events {
            let says = !matches!(event, Event::Started { .. } | Event::Usage(_));
            if says && !self.said {
                self.said = true;
                self.ready.extend(self.held.drain(..));
            }
            if self.said { self.ready.push_back(event) } else { self.held.push(event) }
        }
    }

    async fn step(&mut self, events: &mut Vec<Event>) -> Result<(), Failure> {
        let Some(Reading { body, frames, reader }) = &mut self.reading else {
            return self.open(events).await;
        };
        let service = self.inner.provider.host();
        let bytes = match body.next().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.over = true;
                return ended(frames, reader.as_mut(), events).map_err(Failure::from);
            }
            Err(Error::Network { message, .. }) => {
                self.over = true;
                // It may have said all it had to say.
                let ended = reader.end(events);
                return ended
                    .map_err(|_| fault::cut(&service, &format!("the connection broke: {message}")).into());
            }
            Err(other) => return Err(other.into()),
        };
        for frame in frames.push(&bytes) {
            if reader.frame(&frame, events)? == Flow::Done {
                self.over = true;
                self.reading = None;
                break;
            }
        }
        Ok(())
    }

    async fn open(&mut self, events: &mut Vec<Event>) -> Result<(), Failure> {
        let inner = Arc::clone(&self.inner);
        let target = Target { provider: &inner.provider, model: &inner.model, window: inner.room().await };
        let mut opened = inner.ask(&target, &self.request).await?;
        let mut reader = target.reader(&self.request);
        if !inner.provider.streams() || opened.is_json() && inner.provider.dialect != Dialect::Ollama {
            let bytes = opened.body.whole().await?;
            self.over = true;
            let text = String::from_utf8_lossy(&bytes);
            // Some servers call events JSON.
            if ["data:", "event:", ":"].iter().any(|start| text.trim_start().starts_with(start)) {
                return all_at_once(&bytes, Frames::new(target.framing()), reader.as_mut(), events);
            }
            let json = fault::json(&inner.provider.host(), &text)?;
            if let Some(error) = fault::inside(&inner.provider.host(), &json) {
                return Err(error.into());
            }
            return reader.whole(&json, events).map_err(Failure::from);
        }
        self.reading = Some(Reading { body: opened.body, frames: Frames::new(target.framing()), reader });
        Ok(())
    }
}

/// Events that came in one piece.
fn all_at_once(
    bytes: &[u8],
    mut frames: Frames,
    reader: &mut dyn Reader,
    events: &mut Vec<Event>,
) -> Result<(), Failure> {
    for frame in frames.push(bytes) {
        if reader.frame(&frame, events)? == Flow::Done {
            return Ok(());
        }
    }
    ended(&mut frames, reader, events).map_err(Failure::from)
}

/// The last frame, and the end.
fn ended(frames: &mut Frames, reader: &mut dyn Reader, events: &mut Vec<Event>) -> Result<(), Error> {
    if let Some(frame) = frames.finish() {
        match reader.frame(&frame, events) {
            Ok(Flow::Done) => return Ok(()),
            // Half a frame is none.
            Ok(Flow::More) | Err(Error::Answer { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    reader.end(events)
}

impl Inner {
    /// Sends the request; what the server will not have of it is left out.
    async fn ask(&self, target: &Target<'_>, request: &Request) -> Result<Opened, Failure> {
        let limits = self.provider.limits;
        let mut body = target.body(request);
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        changes.iter().for_each(|change| apply(change, &mut body));
        for _ in 0..=CHANGES {
            let address = target.address();
            let http = &self.provider.http;
            let mut opened =
                http.open(&address, &body, target.headers(), limits.idle, limits.largest).await?;
            if (200..300).contains(&opened.status) {
                return self.not_a_page(opened).map_err(Failure::from);
            }
            let said = opened.body.start(ERROR).await;
            match self.change(opened.status, &said, &body) {
                Some(change) => apply(&change, &mut body),
                None => return Err(self.refusal(&opened, &said)),
            }
        }
        let message = "it rejects one part of the request after the other".to_owned();
        Err(Error::BadRequest { service: self.provider.host(), status: 400, message }.into())
    }

    fn refusal(&self, opened: &Opened, said: &[u8]) -> Failure {
        let wait = asked_for(&opened.headers);
        let error = fault::of_status(&self.provider.host(), opened.status, said, wait);
        let mut failure = Failure::new(error, &opened.headers);
        if matches!(failure.error, Error::Quota { .. }) {
            failure.again = Some(false);
        }
        failure
    }

    fn not_a_page(&self, opened: Opened) -> Result<Opened, Error> {
        if opened.is_page() {
            let message = "it is a web page".to_owned();
            return Err(Error::Answer { service: self.provider.host(), message });
        }
        Ok(opened)
    }

    fn change(&self, status: u16, said: &[u8], sent: &Value) -> Option<Change> {
        let mut change = asked(status, said, sent)?;
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that wants neither name gets none.
        if let Change::Renamed(from, to) = change
            && changes.contains(&Change::Renamed(to, from))
        {
            change = Change::Without(from);
        }
        if !changes.contains(&change) {
            changes.push(change.clone());
        }
        Some(change)
    }

    /// Tokens for which Ollama is to make room; asked once, because another number makes it load the model anew.
    async fn room(&self) -> u64 {
        if self.provider.dialect != Dialect::Ollama {
            return 0;
        }
        let ask = async {
            let most = match self.provider.settings.window {
                Some(_) => None,
                None => ollama::shown_window(&self.provider, &self.model).await,
            };
            ollama::room(self.provider.settings.window, most)
        };
        *self.window.get_or_init(|| ask).await
    }
}
