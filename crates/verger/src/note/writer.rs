//! Writes a growing answer into its note, through the road, beside whoever else types into the note.
//!
//! Each write is a commit with a checkpoint, so there are not too many: the first after 200 ms, the next after a second, then
//! further and further apart up to five seconds (fifteen in a long note). All are under one task: one undo takes the answer back.

use std::sync::Arc;
use std::time::Duration;

use agent::Mind;
use pipeline::approve::Deciding;
use pipeline::{Asker, Call, Decision, Lifetime, Outcome, Question, Refusal, Task};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use vault::VaultPath;

use super::answer::Answer;

/// How often it is looked whether a write is due.
const TICK: Duration = Duration::from_millis(200);
/// The pause after the first write.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The same in a note that is long: every checkpoint holds all of it.
const PAUSE_IN_LONG: Duration = Duration::from_secs(15);
/// A note of so many bytes is long.
const LONG: usize = 256 * 1024;
/// How often the end is tried while another program writes the note.
const TRIES: u32 = 60;
/// The pause between two tries.
const TRY_PAUSE: Duration = Duration::from_millis(150);
/// How often a note that cannot be written is tried: an editor may be replacing it right now.
const FEW_TRIES: u32 = 10;
/// How often the answer may be missing in a note that changes all the time, before it is taken for edited.
const FEW_MISSES: u32 = 5;
/// How long after the last write it is looked whether a program has saved an old copy over it.
const SAVED_SOON: Duration = Duration::from_millis(300);
/// How often that is mended.
const MENDED: u32 = 5;

/// What happens to an answer.
#[derive(Debug)]
pub enum Event {
    /// The model says more.
    Said(String),
    /// What it said since it began its last answer is void.
    Void,
    /// What it said holds.
    Held,
    /// Something was done.
    Did(String),
    /// Nothing more comes.
    Over,
}

/// How the note ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a heading for the user's next message.
    ForUser,
    /// With the answer: it was stopped.
    Stopped,
}

/// Writes one answer.
pub struct Writer {
    mind: Arc<Mind>,
    path: VaultPath,
    task: String,
    level: u8,
    stream: bool,
    answer: Answer,
    newline: &'static str,
    growing: Value,
    /// Whether somebody has edited what was written.
    edited: bool,
    /// The note as it was when the answer was not found in it, and how often it was not found in a row.
    missed: (Option<String>, u32),
    long: bool,
}

impl Writer {
    /// Writes the opening of the answer.
    pub async fn begin(
        mind: Arc<Mind>,
        path: VaultPath,
        task: String,
        model: &str,
        level: u8,
        stream: bool,
    ) -> Result<Writer, Refusal> {
        let mut writer = Writer {
            mind,
            path,
            task,
            level,
            stream,
            answer: Answer::default(),
            newline: "\n",
            growing: Value::Null,
            edited: false,
            missed: (None, 0),
            long: false,
        };
        let mut tries = 0;
        loop {
            match writer.write("begin", json!({ "model": model })).await {
                Ok(()) => break,
                Err(refusal) if refusal.reason == "stale" && tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(TRY_PAUSE).await;
                }
                Err(refusal) => return Err(refusal),
            }
        }
        if writer.growing["opening"].as_str().is_some_and(|opening| opening.contains("\r\n")) {
            writer.newline = "\r\n";
        }
        Ok(writer)
    }

    /// Writes what comes, as it comes, until nothing more does.
    pub async fn follow(mut self, mut events: UnboundedReceiver<Event>) -> Writer {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut due = Instant::now() + TICK;
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(Event::Over) | None => return self,
                    Some(event) => self.take(event),
                },
                now = tick.tick() => {
                    if self.stream && !self.edited && now >= due && self.step().await {
                        due = Instant::now() + if self.long { PAUSE_IN_LONG } else { pause };
                        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
                    }
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Said(text) => self.answer.say(&text),
            Event::Void => self.answer.void(),
            Event::Held => self.answer.hold(),
            Event::Did(line) => self.answer.did(line),
            Event::Over => {}
        }
    }

    /// Writes what is ready. `false`: there is nothing new.
    async fn step(&mut self) -> bool {
        let ready = self.answer.ready(self.newline);
        if ready == self.written() {
            return false;
        }
        if let Err(refusal) = self.write("grow", json!({ "content": ready })).await
            && refusal.reason == "answer_edited"
        {
            self.edited = self.is_settled(&refusal);
        }
        true
    }

    /// Adds a paragraph of Verger's own, e.g. an error.
    pub fn add(&mut self, paragraph: &str) {
        self.answer.add(paragraph);
    }

    /// Writes the last of it. `true`: somebody has edited the answer meanwhile, and the rest stands behind what they made of it.
    pub async fn end(mut self, ending: Ending) -> Result<bool, Refusal> {
        let whole = self.answer.whole(self.newline);
        let (end, rest) = match ending {
            Ending::ForUser => ("end_with_user", "rest_with_user"),
            Ending::Stopped => ("end", "rest"),
        };
        let (mut failed, mut mended) = (0, 0);
        for _ in 0..TRIES {
            let written = match self.edited {
                false => self.write(end, json!({ "content": whole })).await,
                true => {
                    let left = whole.strip_prefix(&self.written()).unwrap_or(&whole).to_owned();
                    self.write(rest, json!({ "content": whole, "rest": left })).await
                }
            };
            match written {
                Ok(()) if self.edited || mended == MENDED || self.stays(&whole).await => {
                    return Ok(self.edited);
                }
                Ok(()) => mended += 1,
                Err(refusal) if refusal.reason == "answer_edited" => self.edited = self.is_settled(&refusal),
                Err(refusal) if refusal.reason == "stale" => {}
                Err(refusal) if failed >= FEW_TRIES => return Err(refusal),
                Err(_) => failed += 1,
            }
            tokio::time::sleep(TRY_PAUSE).await;
        }
        Err(Refusal::new(
            "note_busy",
            format!("`{}` is being written by another program all the time", self.path),
            "the whole answer is kept with the conversation",
        ))
    }

    /// Whether the note stands still without the answer: a program that is just writing it shows half of it.
    fn is_settled(&mut self, refusal: &Refusal) -> bool {
        let version = refusal.data.get("version").and_then(Value::as_str).map(str::to_owned);
        let misses = self.missed.1 + 1;
        let settled = (version.is_some() && version == self.missed.0) || misses >= FEW_MISSES;
        self.missed = (version, misses);
        settled
    }

    /// Whether the answer is still there a moment later: an editor that had read the note before may save its old copy just now.
    async fn stays(&self, whole: &str) -> bool {
        tokio::time::sleep(SAVED_SOON).await;
        let opening = self.growing["opening"].as_str().unwrap_or_default();
        let answer = format!("{opening}{}", whole.trim_end());
        let vault = self.mind.road.vault();
        let text = vault.rules().and_then(|rules| {
            vault.view(&vault::policy::Scope::new(self.mind.reach.clone(), rules)).text(&self.path)
        });
        // One that cannot be read now was written all the same.
        text.map_or(true, |text| text.contains(answer.trim_end()))
    }

    fn written(&self) -> String {
        self.growing["written"].as_str().unwrap_or_default().to_owned()
    }

    async fn write(&mut self, step: &str, more: Value) -> Result<(), Refusal> {
        let mut input = json!({
            "path": self.path, "step": step, "growing": self.growing, "level": self.level,
        });
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        let mut task = Task::new(self.task.clone(), self.task.clone(), "note");
        task.limits = self.mind.reach.clone();
        let asker = ThisNote(&self.path);
        match self.mind.road.run(&task, Call::new("write_chat", input), &asker).await {
            Outcome::Refused(refusal) | Outcome::Denied(refusal) => Err(refusal),
            outcome => {
                self.missed = (None, 0);
                if let Outcome::Done { changes, .. } = &outcome {
                    self.long = changes.iter().any(|change| change.sizes().1 > LONG);
                }
                if let Some(output) = outcome.output() {
                    self.growing = output.data["growing"].clone();
                }
                Ok(())
            }
        }
    }
}

/// The person said so when they ran the note: the answer may be written into this note, and nothing else.
struct ThisNote<'a>(&'a VaultPath);

impl Asker for ThisNote<'_> {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        let only_this = question.changes.iter().all(|change| change.path() == self.0);
        let yes = question.tool == "write_chat" && only_this && question.target.is_none();
        Box::pin(async move {
            match yes {
                true => Decision::Yes(Lifetime::Once),
                false => Decision::No { reason: None },
            }
        })
    }

    fn name(&self) -> &str {
        "verger note run"
    }

    fn is_person(&self) -> bool {
        false
    }
}
