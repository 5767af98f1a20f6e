//! A kept conversation as items: the same that were shown while it happened.

use agent::{Conversation, Step};
use llm::chat::{Message, Part};
use state::Sessions;

use super::item::{Body, Tone};
use super::live::{self, Head, Meter, Stage};
use super::speaker::{Ended, Speaker};
use super::transcript::Transcript;

/// How deep children may lie.
const DEEPEST: u8 = 4;

/// A conversation as it was read from disk.
pub struct Read {
    /// Its items.
    pub stage: Stage,
    /// What is known besides; what it has cost has no window yet.
    pub head: Head,
    /// What went in with the newest request, in tokens.
    pub last_input: u64,
    /// Of which conversation it is a copy.
    pub forked_from: Option<String>,
    /// How many steps there were.
    pub steps: u64,
    /// How many children are not kept any more.
    pub deleted_children: usize,
}

/// Reads a conversation by its whole id. Waits for the disk.
pub fn read(sessions: &Sessions, id: &str) -> Result<Read, state::Error> {
    let header = sessions.header(id)?;
    let steps = sessions.steps(id)?;
    let mut stage = Stage::default();
    let mut conversation = Conversation::new(&header.id, &header.agent, &header.model);
    let mut missing = 0;
    let mut main = Speaker::default();
    for kept in &steps {
        let Some(step) = Step::read(kept) else { continue };
        conversation.take(&step);
        take(
            sessions,
            &mut stage,
            &mut main,
            &Taken { step: &step, number: kept.number, depth: 0 },
            &mut missing,
        );
    }
    let half_way = conversation.turn.is_some();
    if half_way {
        main.left(&mut stage.transcript, LEFT);
    }
    stage.main = main;
    let spent = conversation.spent;
    let meter =
        Meter { tokens: spent.tokens(), dollars: spent.dollars, unpriced: spent.unpriced, window: None };
    let head = Head {
        id: header.id,
        title: header.title,
        agent: conversation.agent,
        model: conversation.model,
        running: false,
        half_way,
        meter,
    };
    Ok(Read {
        stage,
        head,
        last_input: conversation.last_input,
        forked_from: header.forked_from,
        steps: header.steps,
        deleted_children: missing,
    })
}

/// What is said of a turn that did not come to its end.
pub const LEFT: &str = "this turn was left half way; go on with it, or say something else";

struct Taken<'t> {
    step: &'t Step,
    number: u64,
    depth: u8,
}

fn take(
    sessions: &Sessions,
    stage: &mut Stage,
    speaker: &mut Speaker,
    taken: &Taken<'_>,
    missing: &mut usize,
) {
    let is_child = taken.depth > 0;
    match taken.step {
        Step::Asked { task, parts } => {
            speaker.turn(task, "");
            // What a child was told stands in the call that made it.
            if !is_child {
                speaker.asked(&mut stage.transcript, parts, Some(taken.number));
            }
        }
        Step::Added { text } => {
            speaker.added(&mut stage.transcript, text);
        }
        Step::Answered { message, model, .. } => {
            let task = speaker.task().to_owned();
            speaker.turn(&task, model);
            answered(&mut stage.transcript, speaker, message);
        }
        Step::Ended { id, text, failed, checkpoint, ending, .. } => {
            let (checkpoint, ending) = (checkpoint.as_deref(), ending.clone());
            let ended = Ended { id, text, failed: *failed, checkpoint, ending };
            speaker.ended(&mut stage.transcript, ended);
        }
        Step::Condensed { before, after, .. } => {
            live::condensed(speaker, &mut stage.transcript, *before, *after);
        }
        Step::Todo { items } => speaker.todo(&mut stage.transcript, items),
        Step::Agent { slug } => live::agent_changed(speaker, &mut stage.transcript, slug),
        Step::Model { name } => live::model_changed(speaker, &mut stage.transcript, name),
        Step::Child { session, name, .. } => {
            child(sessions, stage, speaker, (session, name), taken.depth + 1, missing);
        }
        Step::Over { how } => speaker.over(&mut stage.transcript, how),
        Step::Seeded { .. } => {
            let text = "this conversation goes on from a note; what was said before stands there";
            speaker.notice(&mut stage.transcript, text.to_owned(), Tone::Info);
        }
        // Which notes are kept private stands in the question that was answered.
        Step::Activated { .. } | Step::Kept { .. } | Step::Spent { .. } | Step::Told { .. } => {}
    }
}

fn answered(transcript: &mut Transcript, speaker: &mut Speaker, message: &Message) {
    for part in &message.parts {
        match part {
            Part::Text { text } => speaker.text(transcript, text),
            Part::Thinking { text, .. } => speaker.thinking(transcript, text),
            Part::Call { call } => speaker.called(transcript, call),
            Part::Image { .. } | Part::Result { .. } => {}
        }
    }
    speaker.answered(transcript);
}

/// A child and what it did, as far as it is kept.
fn child(
    sessions: &Sessions,
    stage: &mut Stage,
    parent: &mut Speaker,
    (session, name): (&str, &str),
    depth: u8,
    missing: &mut usize,
) {
    let kept = match depth <= DEEPEST {
        true => sessions.header(session).and_then(|header| Ok((header, sessions.steps(session)?))).ok(),
        false => None,
    };
    let agent = kept.as_ref().map(|(header, _)| header.agent.as_str());
    let item = parent.made(&mut stage.transcript, session, name, agent);
    let Some((_, steps)) = kept else {
        *missing += 1;
        return stage.transcript.edit(&item, |body| {
            if let Body::Child { state, .. } = body {
                "gone".clone_into(state);
            }
        });
    };
    let mut speaker = Speaker::child(&item);
    for kept in &steps {
        if let Some(step) = Step::read(kept) {
            let taken = Taken { step: &step, number: kept.number, depth };
            take(sessions, stage, &mut speaker, &taken, missing);
        }
    }
    stage.children.insert(session.to_owned(), speaker);
}
