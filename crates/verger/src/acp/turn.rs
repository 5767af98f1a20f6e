//! Leading one turn for a client, and how it ended in the protocol's words.

use std::sync::Arc;

use agent::{Door, News, Over, Step, Talk, Trouble};
use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{CurrentModeUpdate, SessionInfoUpdate, SessionUpdate, StopReason};
use llm::chat::Part;
use pipeline::{Call, Outcome, Task};
use serde_json::json;

use super::asker::Person;
use super::desk::{Desk, Line, Table};
use super::fault;
use super::hall::Hall;
use super::room::{Room, Turn};
use super::settings::{self, Order};
use crate::talks;

/// Leads a turn to its end.
pub async fn lead(hall: &Hall, turn: &Turn, parts: Vec<Part>, line: &Line) -> Result<StopReason, Error> {
    let led = led(hall, turn, parts, line).await;
    // Whoever stopped it wants to hear that, and nothing about what broke on the way.
    if turn.halt.is_stopped() { Ok(StopReason::Cancelled) } else { led }
}

async fn led(hall: &Hall, turn: &Turn, parts: Vec<Part>, line: &Line) -> Result<StopReason, Error> {
    let room = &turn.room;
    let mut held = room.talk.lock().await;
    let Some(talk) = held.as_mut() else {
        line.say(room.absent.clone().unwrap_or_default());
        return Ok(StopReason::EndTurn);
    };
    settle(talk, room).await.map_err(|trouble| fault::trouble(&trouble))?;
    let root = hall.study.place.root.clone();
    let table = Table::new(line.clone(), Arc::clone(&hall.study.mind), root, turn.halt.clone());
    let title = talks::title(&parts);
    let said = match order(&parts) {
        Some(Order::Status) => {
            line.say(status(hall, talk));
            return Ok(StopReason::EndTurn);
        }
        Some(Order::Undo) => return undo(hall, turn, talk, &table).await,
        Some(Order::Continue) if !talk.is_half_way() => {
            line.say("There is nothing to go on with: the newest turn came to its end.");
            return Ok(StopReason::EndTurn);
        }
        Some(Order::Continue) => talk.go_on(&door(&table), &turn.halt).await,
        None => talk.say(parts, &door(&table), &turn.halt).await,
    };
    note(room, talk, line);
    name(hall, talk, title, line).await;
    match said {
        Ok(over) => stop_reason(over),
        Err(Trouble::Model(error)) => {
            line.say(format!("{error}\n{}", error.hint()));
            Ok(StopReason::EndTurn)
        }
        Err(trouble) => Err(fault::trouble(&trouble)),
    }
}

fn door(table: &Arc<Table>) -> Arc<dyn Door> {
    Arc::new(Desk(Arc::clone(table)))
}

fn order(parts: &[Part]) -> Option<Order> {
    match parts {
        [Part::Text { text }] => settings::order(text),
        _ => None,
    }
}

/// What was chosen while another turn ran holds from this one on.
pub async fn settle(talk: &mut Talk, room: &Room) -> Result<(), Trouble> {
    let next = room.state().chosen.take();
    talks::settle(talk, next).await?;
    let mut state = room.state();
    state.chosen.agent.clone_from(&talk.conversation().agent);
    state.chosen.model.clone_from(&talk.conversation().model);
    Ok(())
}

/// The model may have handed over to another agent.
fn note(room: &Room, talk: &Talk, line: &Line) {
    let mut state = room.state();
    let agent = &talk.conversation().agent;
    if state.chosen.agent != *agent {
        state.chosen.agent.clone_from(agent);
        drop(state);
        line.show(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(agent.clone())));
    }
}

/// A conversation without a title is called by its first question.
async fn name(hall: &Hall, talk: &Talk, title: Option<String>, line: &Line) {
    let (sessions, id) = (hall.study.mind.sessions.clone(), talk.conversation().id.clone());
    let Some(title) = title.filter(|_| talk.conversation().turns == 1) else { return };
    let named = tokio::task::spawn_blocking(move || talks::name(&sessions, &id, &title));
    if let Ok(Some(title)) = named.await {
        let update = SessionInfoUpdate::new().title(title);
        line.show(SessionUpdate::SessionInfoUpdate(update));
    }
}

fn stop_reason(over: Over) -> Result<StopReason, Error> {
    Ok(match over {
        Over::Done | Over::Completed { .. } | Over::Empty => StopReason::EndTurn,
        Over::Stopped => StopReason::Cancelled,
        Over::Tokens { .. } => StopReason::MaxTokens,
        Over::Rounds { .. } | Over::Time { .. } | Over::Money { .. } | Over::Mistakes { .. } => {
            StopReason::MaxTurnRequests
        }
        Over::Refused { .. } => StopReason::Refusal,
        Over::Failed { why, hint } => return Err(fault::failed("model_failed", &why, &hint)),
    })
}

fn status(hall: &Hall, talk: &Talk) -> String {
    let conversation = talk.conversation();
    let spent = &conversation.spent;
    let money = if spent.unpriced { String::new() } else { format!(", ${:.4}", spent.dollars) };
    let left = if talk.is_half_way() { "\nA turn was left half way; /continue goes on with it." } else { "" };
    format!(
        "Agent: {}\nModel: {}\nVault: {}\nConversation: {} ({} turns, {} tokens{money}){left}",
        conversation.agent,
        conversation.model,
        hall.study.place.root.display(),
        conversation.id,
        conversation.turns,
        spent.tokens(),
    )
}

/// Takes back what the newest turn that changed something did: an edit like any other, shown and asked.
async fn undo(hall: &Hall, turn: &Turn, talk: &Talk, table: &Arc<Table>) -> Result<StopReason, Error> {
    let mind = &hall.study.mind;
    let steps = hall.steps(&turn.room.id).await?;
    let Some(changed) = newest_change(&steps) else {
        table.line.say("There is nothing to take back: no turn of this conversation changed a note.");
        return Ok(StopReason::EndTurn);
    };
    let conversation = talk.conversation();
    let id = mind.world.id().map_err(|error| fault::refusal(&error.into()))?;
    let mut task = Task::new(format!("undo-{id}"), conversation.id.clone(), conversation.agent.clone());
    task.limits = mind.reach.clone();
    task.activate(&[RESTORE.to_owned()]);
    let desk = Desk(Arc::clone(table));
    desk.show(&News::Turn {
        session: conversation.id.clone(),
        task: task.id.clone(),
        agent: conversation.agent.clone(),
        model: conversation.model.clone(),
    });
    let input = json!({"commitOid": changed, "mode": "task"});
    desk.show(&News::CallBegan { id: "undo".into(), name: RESTORE.into(), input: input.clone() });
    let call = Call::new(RESTORE, input).unless(turn.halt.for_road());
    let outcome = mind.road.run(&task, call, &Person(Arc::clone(table))).await;
    let (text, failed, changed) = told(&outcome);
    desk.show(&News::CallEnded {
        id: "undo".into(),
        name: RESTORE.into(),
        outcome: "done",
        text: text.clone(),
        failed,
        checkpoint: None,
        changed,
        milliseconds: 0,
    });
    table.line.say(text);
    Ok(StopReason::EndTurn)
}

/// The tool that takes changes back.
const RESTORE: &str = "restore_checkpoint";

fn told(outcome: &Outcome) -> (String, bool, Vec<String>) {
    match outcome {
        Outcome::Refused(refusal) | Outcome::Denied(refusal) => (refusal.to_string(), true, Vec::new()),
        Outcome::Done { output, changes, .. } => {
            let paths = changes.iter().map(|change| change.path().to_string()).collect();
            (output.text.clone(), false, paths)
        }
        other => (other.output().map(|output| output.text.clone()).unwrap_or_default(), false, Vec::new()),
    }
}

/// The task of the newest turn that changed something.
fn newest_change(steps: &[Step]) -> Option<String> {
    let (mut task, mut found) = (None, None);
    for step in steps {
        match step {
            Step::Asked { task: begun, .. } => task = Some(begun),
            Step::Ended { checkpoint: Some(_), .. } => found = task,
            _ => {}
        }
    }
    found.cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_a_turn_has_its_reason() {
        for (over, reason) in [
            (Over::Done, StopReason::EndTurn),
            (Over::Completed { result: String::new() }, StopReason::EndTurn),
            (Over::Empty, StopReason::EndTurn),
            (Over::Stopped, StopReason::Cancelled),
            (Over::Rounds { limit: 1 }, StopReason::MaxTurnRequests),
            (Over::Time { limit: 1 }, StopReason::MaxTurnRequests),
            (Over::Money { limit: 1 }, StopReason::MaxTurnRequests),
            (Over::Mistakes { limit: 1 }, StopReason::MaxTurnRequests),
            (Over::Tokens { limit: 1 }, StopReason::MaxTokens),
            (Over::Refused { why: String::new() }, StopReason::Refusal),
        ] {
            assert_eq!(stop_reason(over.clone()).unwrap(), reason, "{over:?}");
        }
        let error = stop_reason(Over::Failed { why: "down".into(), hint: "wait".into() }).unwrap_err();
        assert_eq!(error.message, "down; wait");
        assert_eq!(error.data.unwrap()["hint"], "wait");
    }
}
