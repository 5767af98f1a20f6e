//! What is said in conversations: turns begun, stopped and gone on with, and copies to try something another way.

use std::sync::Arc;

use agent::Step;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use llm::chat::Part;
use pipeline::{Refusal, World as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use state::NewSession;

use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::{Told, ToldMuch};
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::rooms::Rooms;
use crate::serve::rooms::room::{Begin, Room};
use crate::serve::rooms::turn::{self, Start};
use crate::serve::said::{self, Attachment};
use crate::world::RealWorld;

/// Turns.
pub fn area() -> Area {
    Area::default()
        .post::<Words, _, _>("/api/chats/{id}/say", "Says something; a turn that runs hears it.", say)
        .post::<Nothing, _, _>("/api/chats/{id}/stop", "Stops the turn that runs.", stop)
        .post::<Nothing, _, _>("/api/chats/{id}/go_on", "Goes on with a turn that was left half way.", go_on)
        .post::<Nothing, _, _>("/api/chats/{id}/retry", "Asks the newest question again, in a copy.", retry)
        .post::<Again, _, _>("/api/chats/{id}/resend", "Says something else instead, in a copy.", resend)
        .post::<Where, _, _>("/api/chats/{id}/fork", "Makes a copy to go on with.", fork)
        .post::<Nothing, _, _>("/api/chats/{id}/shorten", "Makes it shorter for the model.", shorten)
}

/// What the person says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Words {
    /// The text, at most 1 MiB.
    text: String,
    /// Pictures and text files.
    #[serde(default)]
    attachments: Vec<Attachment>,
}

/// What the person says instead.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Again {
    /// Instead of this message.
    item: String,
    /// The text.
    text: String,
    /// Pictures and text files; without it, those of the message.
    attachments: Option<Vec<Attachment>>,
}

/// Up to where.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Where {
    /// Up to the end of the turn to which this belongs; without it, all of it.
    item: Option<String>,
}

/// A turn runs, so this cannot be.
pub fn runs() -> Problem {
    let hint = "wait for its end, or stop it";
    Refusal::new("turn_runs", "a turn runs in this conversation", hint).into()
}

async fn say(
    State(house): State<Arc<House>>,
    Path(id): Path<String>,
    ToldMuch(words): ToldMuch<Words>,
) -> Result<Json<Value>, Problem> {
    let room = Rooms::open(&house, &id).await?;
    let (text, has_files) = (words.text.clone(), !words.attachments.is_empty());
    let parts = house.look(move |house| said::parts(&house.study(), &words.text, &words.attachments)).await?;
    house.rooms.may_run()?;
    // What is added to a turn is text alone.
    let addition = || (!has_files).then(|| addition(&parts, &text));
    match room.begin_or_add(addition) {
        Some(Begin::Turn(running)) => {
            let task = turn::begin(&house, running, Start::Say(parts)).await?;
            Ok(Json(json!({ "task": task })))
        }
        Some(Begin::Added) => Ok(Json(json!({ "added": true }))),
        None => Err(runs()),
    }
}

/// Words for a turn that runs: commands expanded, what is mentioned behind them.
fn addition(parts: &[Part], text: &str) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if texts.is_empty() { text.to_owned() } else { texts.join("\n\n") }
}

async fn stop(State(house): State<Arc<House>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    Rooms::open(&house, &id).await?.stop();
    Ok(StatusCode::NO_CONTENT)
}

async fn go_on(State(house): State<Arc<House>>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let room = Rooms::open(&house, &id).await?;
    house.rooms.may_run()?;
    let running = room.begin().ok_or_else(runs)?;
    if !room.live.head().half_way {
        let hint = "say something more";
        return Err(Refusal::new("nothing_left", "the newest turn came to its end", hint).into());
    }
    let task = turn::begin(&house, running, Start::GoOn).await?;
    Ok(Json(json!({ "task": task })))
}

async fn shorten(State(house): State<Arc<House>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let room = Rooms::open(&house, &id).await?;
    let running = room.begin().ok_or_else(runs)?;
    if room.live.head().half_way {
        let hint = "go on with it first";
        return Err(Refusal::new("half_way", "a turn was left half way", hint).into());
    }
    turn::begin(&house, running, Start::Shorten).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn fork(
    State(house): State<Arc<House>>,
    Path(id): Path<String>,
    Told(wanted): Told<Where>,
) -> Result<Json<Value>, Problem> {
    let room = settled(&house, &id).await?;
    let steps = steps(&house, &id).await?;
    let up_to = match &wanted.item {
        None => None,
        Some(item) => Some(end_of_turn(&steps, item).ok_or_else(no_item)?),
    };
    let copy = copied(&house, &room, up_to).await?;
    Ok(Json(json!({ "id": copy })))
}

async fn retry(State(house): State<Arc<House>>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let room = settled(&house, &id).await?;
    let steps = steps(&house, &id).await?;
    let newest = steps.into_iter().rev().find_map(|(number, step)| match step {
        Step::Asked { parts, .. } => Some((number, parts)),
        _ => None,
    });
    let (number, parts) = newest.ok_or_else(no_item)?;
    anew(&house, &room, number, parts).await
}

async fn resend(
    State(house): State<Arc<House>>,
    Path(id): Path<String>,
    ToldMuch(again): ToldMuch<Again>,
) -> Result<Json<Value>, Problem> {
    let room = settled(&house, &id).await?;
    let number = room.step_of(&again.item).ok_or_else(no_item)?;
    let before = steps(&house, &id).await?.into_iter().find(|(known, _)| *known == number);
    let Some((_, Step::Asked { parts: old, .. })) = before else { return Err(no_item()) };
    let parts = house
        .look(move |house| {
            let study = house.study();
            let Some(attachments) = again.attachments else {
                let mut parts = said::words(&study, &again.text)?;
                parts.extend(old.into_iter().filter(is_enclosure));
                return match parts.is_empty() {
                    true => Err(Problem::bad("nothing was said", "send a text or a picture")),
                    false => Ok(parts),
                };
            };
            said::parts(&study, &again.text, &attachments)
        })
        .await?;
    anew(&house, &room, number, parts).await
}

/// What was sent along with a message; notes that it mentioned are mentioned anew.
fn is_enclosure(part: &Part) -> bool {
    match part {
        Part::Text { text } => pipeline::wrap::holds_outside(text) && text.trim_start().starts_with('<'),
        Part::Image { .. } => true,
        Part::Thinking { .. } | Part::Call { .. } | Part::Result { .. } => false,
    }
}

fn no_item() -> Problem {
    Problem::not_found("there is no such message in this conversation", "look at the conversation again")
}

/// The conversation, with no turn in it.
async fn settled(house: &Arc<House>, id: &str) -> Result<Arc<Room>, Problem> {
    let room = Rooms::open(house, id).await?;
    if room.is_busy() { Err(runs()) } else { Ok(room) }
}

async fn steps(house: &Arc<House>, id: &str) -> Result<Vec<(u64, Step)>, Problem> {
    let id = id.to_owned();
    house
        .look(move |house| {
            let kept = house.study().mind.sessions.steps(&id)?;
            Ok(kept.iter().filter_map(|kept| Some((kept.number, Step::read(kept)?))).collect())
        })
        .await
}

/// The last step of the turn to which an item belongs.
fn end_of_turn(steps: &[(u64, Step)], item: &str) -> Option<u64> {
    let belongs = |task: &str| item.strip_prefix(task).is_some_and(|rest| rest.starts_with('.'));
    let begin =
        steps.iter().position(|(_, step)| matches!(step, Step::Asked { task, .. } if belongs(task)))?;
    let turn = &steps[begin..];
    let next = turn.iter().skip(1).position(|(_, step)| matches!(step, Step::Asked { .. }));
    let last = next.map_or(turn.len() - 1, |next| next);
    Some(turn[last].0)
}

/// A copy that ends with this step. The answer is its id.
async fn copied(house: &Arc<House>, room: &Room, up_to: Option<u64>) -> Result<String, Problem> {
    let from = room.id.clone();
    let copied = house.look(move |house| {
        let sessions = &house.study().mind.sessions;
        let header = sessions.header(&from)?;
        let new = NewSession {
            id: RealWorld.id()?,
            title: header.title,
            agent: header.agent,
            model: header.model,
            parent: None,
            forked_from: Some(from.clone()),
            now_ms: RealWorld.now().timestamp().as_millisecond(),
        };
        sessions.fork(&from, up_to, &new)?;
        Ok(new.id)
    });
    let id = copied.await?;
    house.beat(|pulse| pulse.chats += 1);
    Ok(id)
}

/// Says something in a copy that ends before this step.
async fn anew(
    house: &Arc<House>,
    room: &Room,
    number: u64,
    parts: Vec<Part>,
) -> Result<Json<Value>, Problem> {
    house.rooms.may_run()?;
    let copy = copied(house, room, Some(number.saturating_sub(1))).await?;
    let room = Rooms::open(house, &copy).await?;
    let running = room.begin().ok_or_else(runs)?;
    let task = turn::begin(house, running, Start::Say(parts)).await?;
    Ok(Json(json!({ "id": copy, "task": task })))
}

/// What is shown of a conversation is what is on the disk, after something was written without a turn.
pub async fn steps_shown(house: &Arc<House>, room: &Arc<Room>) -> Result<(), Problem> {
    let shown = Arc::clone(room);
    house
        .look(move |house| {
            shown.has_shown(house.study().mind.sessions.header(&shown.id)?.steps);
            Ok(())
        })
        .await
}
