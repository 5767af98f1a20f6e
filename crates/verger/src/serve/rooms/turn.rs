//! Leading a turn for the page: on a thread of its own, so that the disk never keeps a stream waiting, and so that what
//! breaks in it ends this turn and nothing else.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agent::{Door, Over, Trouble};
use futures::FutureExt as _;
use llm::chat::Part;
use pipeline::World as _;

use super::Rooms;
use super::desk::{AtDesk, Desk};
use super::item::Tone;
use super::replay;
use super::room::{Held, Room, Running};
use crate::mcp::complain;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::talks;
use crate::world::RealWorld;

/// How a turn begins.
pub enum Start {
    /// With what the person says.
    Say(Vec<Part>),
    /// Where an earlier one was left.
    GoOn,
    /// With a summary of what was said; nothing more.
    Shorten,
}

/// Begins a turn. It runs on when this returns; the answer is its task.
pub async fn begin(house: &Arc<House>, running: Running, start: Start) -> Result<String, Problem> {
    let room = Arc::clone(&running.room);
    let task = prepare(house, &room, &start).await?;
    room.live.set_head(|head| {
        head.running = true;
        head.half_way = false;
    });
    house.beat(|pulse| pulse.chats += 1);
    let (house, name) = (Arc::clone(house), task.clone());
    let handle = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        handle.block_on(lead(&house, &running, start, name));
        drop(running);
        house.beat(|pulse| pulse.chats += 1);
    });
    Ok(task)
}

/// The conversation is taken up, named, and what the person said is shown.
async fn prepare(house: &Arc<House>, room: &Arc<Room>, start: &Start) -> Result<String, Problem> {
    let mut slot = room.talk.lock().await;
    let held = Rooms::take_up(house, room, &mut slot).await?;
    let conversation = held.talk.conversation();
    let parts = match start {
        Start::Say(parts) => parts,
        Start::GoOn | Start::Shorten => {
            if matches!(start, Start::GoOn) {
                room.live.change(|stage| stage.main.goes_on(&mut stage.transcript));
            }
            let task = conversation.turn.as_ref().map(|turn| turn.task.clone());
            return Ok(task.unwrap_or_default());
        }
    };
    let task = format!("chat-{}", RealWorld.id()?);
    let (is_new, is_half_way) = (conversation.turns == 0, held.talk.is_half_way());
    let title = talks::title(parts).filter(|_| is_new);
    let (sessions, id) = (held.study.mind.sessions.clone(), room.id.clone());
    let (steps, title) = tokio::task::spawn_blocking(move || {
        let title = title.and_then(|title| talks::name(&sessions, &id, &title));
        sessions.header(&id).map(|header| (header.steps, title))
    })
    .await
    .map_err(|_| Problem::broken())??;
    if title.is_some() {
        room.live.set_head(|head| head.title = title);
    }
    // A turn that nobody will go on with is ended by one step, then comes what the person says.
    let step = steps + 1 + u64::from(is_half_way);
    let model = held.talk.conversation().model.clone();
    room.live.change(|stage| {
        if is_half_way {
            stage.main.over(&mut stage.transcript, &Over::Stopped);
        }
        stage.main.turn(&task, &model);
        stage.main.asked(&mut stage.transcript, parts, Some(step));
    });
    Ok(task)
}

/// Leads the turn, and others for what nobody heard in it.
async fn lead(house: &Arc<House>, running: &Running, start: Start, mut task: String) {
    let room = &running.room;
    let mut next = Some(start);
    while let Some(start) = next.take() {
        let is_over = led(house, running, start, &task).await;
        let unheard = room.unheard();
        if unheard.is_empty() {
            return;
        }
        if running.halt.is_stopped() || !is_over {
            let text = format!("the turn ended before this was heard: {}", unheard.join("\n"));
            room.notice(text, Tone::Warn);
            continue;
        }
        let start = Start::Say(vec![Part::Text { text: unheard.join("\n\n") }]);
        match prepare(house, room, &start).await {
            Ok(named) => {
                task = named;
                next = Some(start);
            }
            Err(problem) => room.notice(problem.to_string(), Tone::Bad),
        }
    }
}

/// Leads one turn to its end. The answer is whether it came to one.
async fn led(house: &Arc<House>, running: &Running, start: Start, task: &str) -> bool {
    let room = &running.room;
    let mut slot = room.talk.lock().await;
    let Some(held) = slot.as_mut() else { return false };
    let ended = AssertUnwindSafe(carried_out(house, running, held, start, task)).catch_unwind().await;
    let is_over = match &ended {
        Ok(Ok(())) => true,
        Ok(Err(trouble)) => {
            room.notice(format!("{trouble}. {}", trouble.hint()), Tone::Bad);
            false
        }
        Err(_) => {
            complain("a turn of a conversation broke; what it did until then is kept");
            room.notice("something broke inside; what was done until then is kept".to_owned(), Tone::Bad);
            false
        }
    };
    settle(room, held, is_over).await;
    if ended.is_err() {
        // What broke may be half changed; what is on the disk is whole.
        *slot = None;
    }
    is_over
}

async fn carried_out(
    house: &Arc<House>,
    running: &Running,
    held: &mut Held,
    start: Start,
    task: &str,
) -> Result<(), Trouble> {
    let (room, halt) = (Arc::clone(&running.room), &running.halt);
    let road = Arc::clone(&house.study().mind.road);
    let desk = Desk { room, inbox: house.inbox.clone(), halt: halt.clone(), task: task.to_owned(), road };
    let door: Arc<dyn Door> = Arc::new(AtDesk(Arc::new(desk)));
    match start {
        Start::Say(parts) => held.talk.say_under(task, parts, &door, halt).await.map(|_| ()),
        Start::GoOn => held.talk.go_on(&door, halt).await.map(|_| ()),
        Start::Shorten => match held.talk.condense(&door, halt).await? {
            true => Ok(()),
            false if halt.is_stopped() => Ok(()),
            false => {
                running.room.notice("it is short enough".to_owned(), Tone::Info);
                Ok(())
            }
        },
    }
}

/// What is known of the conversation after a turn.
async fn settle(room: &Arc<Room>, held: &Held, is_over: bool) {
    let conversation = held.talk.conversation();
    let half_way = held.talk.is_half_way();
    if half_way && !is_over {
        room.live.change(|stage| stage.main.left(&mut stage.transcript, replay::LEFT));
    }
    room.choose(|chosen| {
        chosen.agent.clone_from(&conversation.agent);
        chosen.model.clone_from(&conversation.model);
    });
    let meter = Rooms::meter(&held.study, conversation);
    room.live.set_head(|head| {
        head.half_way = half_way;
        head.meter = meter;
    });
    let (sessions, id) = (held.study.mind.sessions.clone(), room.id.clone());
    if let Ok(Ok(header)) = tokio::task::spawn_blocking(move || sessions.header(&id)).await {
        room.has_shown(header.steps);
    }
}
