//! Conversations: listed, found, begun, looked at, renamed, deleted, taken along. What is said in them is in `chats/turns.rs`.

mod turns;

use std::collections::HashMap;
use std::sync::Arc;

use agent::commands::Kind;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use pipeline::{Refusal, World as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use state::sessions::{Filter, Header, SearchHistory};

use super::area::{Area, Nothing};
use super::body::{Asked, Told};
use crate::chat::ask::unknown_agent;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::rooms::{Rooms, papers};
use crate::study::Study;
use crate::talks;
use crate::world::RealWorld;

/// The most conversations in one answer.
const MOST: usize = 500;
/// The longest text to look for, in characters.
const LONGEST: usize = 500;

/// Conversations.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>(
            "/api/choices",
            "Who can speak, with which models, and what can be typed.",
            choices,
        )
        .get::<Listed, _, _>("/api/chats", "The conversations, the one last worked on first.", list)
        .post::<New, _, _>("/api/chats", "Begins a conversation.", begin)
        .post::<Search, _, _>("/api/chats/search", "Conversations in which a text was said.", search)
        .get::<Nothing, _, _>("/api/chats/{id}", "A conversation with everything in it.", look)
        .put::<Change, _, _>("/api/chats/{id}", "Another title, agent or model.", change)
        .delete::<Nothing, _, _>(
            "/api/chats/{id}",
            "Forgets a conversation for good; changes of notes stay.",
            delete,
        )
        .get::<Export, _, _>("/api/chats/{id}/export", "A conversation as a file.", export)
        .join(turns::area())
}

/// How many are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct Listed {
    /// At most so many; 100 if nothing is said.
    limit: Option<usize>,
}

/// A new conversation.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct New {
    /// Who speaks.
    agent: Option<String>,
    /// Which model answers.
    model: Option<String>,
}

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// A text that was said, or a part of a title.
    text: String,
}

/// What becomes different.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    /// What it is called; empty takes the title away.
    title: Option<String>,
    /// Who speaks from the next turn on.
    agent: Option<String>,
    /// Which model answers from the next turn on.
    model: Option<String>,
}

/// In which form.
#[derive(Debug, Deserialize, JsonSchema)]
struct Export {
    /// `md` or `json`.
    form: Option<String>,
}

async fn choices(State(house): State<Arc<House>>) -> Json<Value> {
    let study = house.study();
    let mind = &study.mind;
    let agent = |slug: String| {
        let persona = mind.cast.persona(&slug);
        let may_edit = persona.rights.may_edit();
        json!({ "slug": slug, "name": persona.name, "about": talks::about_agent(may_edit), "may_edit": may_edit })
    };
    let agents: Vec<Value> = mind.cast.slugs().into_iter().map(agent).collect();
    let commands = study.company.commands.list().iter().filter(|command| command.kind != Kind::BuiltIn);
    let model = study.model().ok();
    Json(json!({
        "agents": agents,
        "models": talks::models(mind, &study.config, model.unwrap_or_default()),
        "agent": house.agent(),
        "model": model,
        "commands": commands.collect::<Vec<_>>(),
    }))
}

/// A conversation in a list.
fn entry(house: &House, header: &Header) -> Value {
    let room = house.rooms.find(&header.id);
    let half_way = match &room {
        Some(room) => room.live.head().half_way,
        None => {
            let newest = house.study().mind.sessions.newest(&header.id, &["asked", "over"]);
            newest.is_ok_and(|kind| kind.as_deref() == Some("asked"))
        }
    };
    json!({
        "id": header.id,
        "title": header.title,
        "agent": header.agent,
        "model": header.model,
        "created_ms": header.created_ms,
        "updated_ms": header.updated_ms,
        "running": room.is_some_and(|room| room.is_busy()),
        "waiting": house.inbox.waits(&header.id),
        "half_way": half_way,
    })
}

async fn list(State(house): State<Arc<House>>, Asked(asked): Asked<Listed>) -> Result<Json<Value>, Problem> {
    let limit = asked.limit.unwrap_or(100).min(MOST);
    let listed = house.look(move |house| {
        let found = house.study().mind.sessions.list(&Filter { limit, ..Filter::default() })?;
        let chats: Vec<Value> = found.iter().map(|header| entry(house, header)).collect();
        Ok(json!({ "chats": chats }))
    });
    listed.await.map(Json)
}

async fn search(State(house): State<Arc<House>>, Told(wanted): Told<Search>) -> Result<Json<Value>, Problem> {
    let text: String = wanted.text.trim().chars().take(LONGEST).collect();
    if text.is_empty() {
        return Ok(Json(json!({ "chats": [] })));
    }
    house.look(move |house| found(house, &text)).await.map(Json)
}

fn found(house: &House, text: &str) -> Result<Value, Problem> {
    let sessions = &house.study().mind.sessions;
    let titled = sessions.list(&Filter { text: Some(text.to_owned()), ..Filter::default() })?;
    let said =
        sessions.search(&SearchHistory { text: text.to_owned(), limit: 30, ..SearchHistory::default() })?;
    let mut excerpts: HashMap<String, String> = HashMap::new();
    let mut headers = titled;
    for place in said {
        if !headers.iter().any(|header| header.id == place.session) {
            // One that is gone by now is not found.
            headers.extend(sessions.header(&place.session).ok().filter(|header| header.parent.is_none()));
        }
        excerpts.entry(place.session).or_insert(place.snippet);
    }
    let chats: Vec<Value> = headers
        .iter()
        .map(|header| {
            let mut entry = entry(house, header);
            entry["excerpt"] = json!(excerpts.get(&header.id));
            entry
        })
        .collect();
    Ok(json!({ "chats": chats }))
}

async fn begin(State(house): State<Arc<House>>, Told(new): Told<New>) -> Result<Json<Value>, Problem> {
    let study = house.study();
    let mind = &study.mind;
    let agent = new.agent.clone().unwrap_or_else(|| house.agent());
    is_agent(&study, &agent)?;
    let own = mind.cast.persona(&agent).model.filter(|_| !house.model_is_named());
    let model = match new.model.or(own) {
        Some(model) => model,
        None => study.model()?.to_owned(),
    };
    let talk = mind.begin(&agent, &model).await?;
    let id = talk.conversation().id.clone();
    // Others may go on with it until somebody speaks here; giving it back waits for the disk.
    let _ = tokio::task::spawn_blocking(move || drop(talk)).await;
    house.beat(|pulse| pulse.chats += 1);
    Ok(Json(json!({ "id": id })))
}

fn is_agent(study: &Study, slug: &str) -> Result<(), Problem> {
    let known = study.mind.cast.slugs();
    match known.iter().any(|known| known == slug) {
        true => Ok(()),
        false => Err(unknown_agent(slug, &known).into()),
    }
}

async fn look(State(house): State<Arc<House>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let room = Rooms::open(&house, &id).await?;
    let paper = house.look(move |house| {
        let (cursor, items, head) = room.live.all();
        let mut paper = json!(head);
        paper["cursor"] = cursor.to_string().into();
        paper["forked_from"] = json!(room.forked_from);
        paper["deleted_children"] = json!(room.deleted_children);
        let items = papers(&house.study(), &items);
        // The items are JSON already.
        let head = paper.to_string();
        let open = head.strip_suffix('}').unwrap_or("{");
        Ok(format!("{open},\"items\":{items}}}"))
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], paper.await?).into_response())
}

async fn change(
    State(house): State<Arc<House>>,
    Path(id): Path<String>,
    Told(change): Told<Change>,
) -> Result<StatusCode, Problem> {
    let room = Rooms::open(&house, &id).await?;
    let study = house.study();
    if let Some(agent) = &change.agent {
        is_agent(&study, agent)?;
    }
    let model = match &change.model {
        Some(name) => Some(study.mind.models.find(name).map_err(agent::Trouble::from)?.name().to_owned()),
        None => None,
    };
    if let Some(title) = change.title {
        let title: String = title.trim().to_owned();
        let (sessions, id) = (study.mind.sessions.clone(), id.clone());
        let renamed = house.look(move |_| {
            sessions.rename(&id, Some(title.as_str()).filter(|title| !title.is_empty()))?;
            Ok(sessions.header(&id)?.title)
        });
        let title = renamed.await?;
        room.live.set_head(|head| head.title = title);
    }
    if change.agent.is_some() || model.is_some() {
        room.choose(|chosen| {
            chosen.next_agent = change.agent.or(chosen.next_agent.take());
            chosen.next_model = model.or(chosen.next_model.take());
        });
        // It holds from the next turn on, and at once where none runs.
        if let Ok(mut slot) = room.talk.try_lock() {
            Rooms::take_up(&house, &room, &mut slot).await?;
            drop(slot);
            turns::steps_shown(&house, &room).await?;
        }
    }
    house.beat(|pulse| pulse.chats += 1);
    Ok(StatusCode::NO_CONTENT)
}

async fn delete(State(house): State<Arc<House>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    if let Some(room) = house.rooms.find(&id) {
        if room.is_busy() {
            return Err(turns::runs());
        }
        let held = room.talk.lock().await.take();
        let _ = tokio::task::spawn_blocking(move || drop(held)).await;
    }
    let gone = id.clone();
    house
        .look(move |house| {
            let sessions = &house.study().mind.sessions;
            sessions.header(&gone)?;
            Ok(sessions.delete(&gone, RealWorld.now().timestamp().as_millisecond())?)
        })
        .await?;
    house.rooms.close(&id);
    house.beat(|pulse| pulse.chats += 1);
    Ok(StatusCode::NO_CONTENT)
}

async fn export(
    State(house): State<Arc<House>>,
    Path(id): Path<String>,
    Asked(export): Asked<Export>,
) -> Result<Response, Problem> {
    let form = export.form.unwrap_or_else(|| "md".to_owned());
    if !matches!(form.as_str(), "md" | "json") {
        return Err(Refusal::new("form_unknown", "there is no such form", "take `md` or `json`").into());
    }
    let name = format!("attachment; filename=\"conversation.{form}\"");
    let (kind, text) = house
        .look(move |house| {
            let sessions = &house.study().mind.sessions;
            let (header, steps) = (sessions.header(&id)?, sessions.steps(&id)?);
            Ok(match form.as_str() {
                "json" => ("application/json", json!({ "session": header, "steps": steps }).to_string()),
                _ => {
                    let title = header.title.unwrap_or_else(|| format!("Conversation {id}"));
                    ("text/markdown; charset=utf-8", agent::export::markdown(&title, &steps))
                }
            })
        })
        .await?;
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, text).into_response())
}
