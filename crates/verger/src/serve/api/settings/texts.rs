//! Agents, skills, rules and workflows: who they are, what they may do in plain words, and whether the person trusts them.

use std::sync::Arc;

use agent::agents::{Agent, Web};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pipeline::Group;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::trust::{Desk, gives, problem_json, problems};
use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::shelf::{Item, Kind};
use crate::trust::State as Standing;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>(
            "/api/settings/texts",
            "Agents, skills, rules and workflows: what each may do, where it comes from, whether it is trusted.",
            shown,
        )
        .post::<Which, _, _>("/api/settings/texts/show", "One of them, whole, with what it would give.", show)
        .post::<Trusting, _, _>(
            "/api/settings/trust",
            "Trusts one of them exactly as it was shown, or takes that back.",
            trust,
        )
}

/// Which text is meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Its path.
    path: String,
    /// `vault` or `global`.
    origin: String,
}

/// A word about trust.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Trusting {
    /// Its path.
    path: String,
    /// `vault` or `global`.
    origin: String,
    /// What was shown.
    seal: String,
    /// Whether it is trusted from now on.
    trust: bool,
}

fn desk(house: &House) -> Result<Desk, Problem> {
    let study = house.study();
    Ok(Desk::of(study.mind.road.vault(), &house.scope()?, &study.place)?)
}

async fn shown(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(all).await.map(Json)
}

fn all(house: &House) -> Result<Value, Problem> {
    let desk = desk(house)?;
    let kit = desk.kit();
    let agents: Vec<Value> = kit
        .agents
        .list()
        .map(|agent| {
            json!({
                "slug": agent.slug, "name": agent.name, "about": agent.when_to_use, "source": agent.source.name(),
                "rights": rights(agent, &desk), "model": agent.model, "path": agent.path,
                "waiting": kit.agents.waits(&agent.slug).map(|waits| waits.more.clone()),
            })
        })
        .collect();
    let texts: Vec<Value> = desk.shelf.items.iter().map(|item| row(&desk, item)).collect();
    let problems: Vec<Value> = problems(&kit).iter().map(problem_json).collect();
    Ok(json!({"agents": agents, "texts": texts, "problems": problems, "left_out": desk.shelf.left_out}))
}

fn row(desk: &Desk, item: &Item) -> Value {
    let state = desk.trust.state(item);
    json!({
        "kind": item.kind,
        "name": item.name(),
        "path": item.text.path,
        "origin": item.text.origin.name(),
        "state": state,
        "state_words": state.name(),
        "can": gives(desk, item),
        "since": desk.trust.entry(item).map(|entry| entry.when.clone()),
        "from": desk.trust.entry(item).and_then(|entry| entry.from.clone()),
    })
}

/// What an agent may do, in words that need no knowledge of tools.
fn rights(agent: &Agent, desk: &Desk) -> Vec<String> {
    let rights = agent.rights(Web::On);
    let has =
        |group: Group| desk.tools.iter().any(|tool| tool.spec.group == group && rights.permit(&tool.spec));
    let mut words = Vec::new();
    for (group, yes) in [
        (Group::Read, "reads and searches notes"),
        (Group::Vault, "looks at links, tags and health"),
        (Group::Edit, "changes notes, as far as you allow"),
        (Group::Web, "reaches the web"),
        (Group::Agent, "asks you, keeps lists, starts helpers"),
        (Group::Mcp, "uses tools of other programs"),
        (Group::Skill, "uses skills"),
    ] {
        if has(group) {
            words.push(yes.to_owned());
        }
    }
    if !has(Group::Edit) {
        words.push("changes nothing".to_owned());
    }
    if agent.tools.is_some() || !agent.deny.is_empty() {
        let count = desk.tools.iter().filter(|tool| rights.permit(&tool.spec)).count();
        words.push(format!("narrowed to {count} tools"));
    }
    words
}

fn find<'d>(desk: &'d Desk, path: &str, origin: &str) -> Result<&'d Item, Problem> {
    let is_it = |item: &&Item| item.text.path == path && item.text.origin.name() == origin;
    desk.shelf
        .items
        .iter()
        .find(is_it)
        .ok_or_else(|| Problem::not_found("there is no such text any more", "look at the list again"))
}

async fn show(State(house): State<Arc<House>>, Told(told): Told<Which>) -> Result<Json<Value>, Problem> {
    let look = move |house: &House| {
        let desk = desk(house)?;
        let item = find(&desk, &told.path, &told.origin)?;
        let mut answer = row(&desk, item);
        answer["text"] = json!(item.text.text);
        answer["seal"] = json!(item.seal.to_string());
        answer["files"] = json!(item.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>());
        Ok(answer)
    };
    house.look(look).await.map(Json)
}

async fn trust(State(house): State<Arc<House>>, Told(told): Told<Trusting>) -> Result<Json<Value>, Problem> {
    house.look(move |house| decide(house, &told)).await.map(Json)
}

fn decide(house: &House, told: &Trusting) -> Result<Value, Problem> {
    let mut desk = desk(house)?;
    let item = find(&desk, &told.path, &told.origin)?.clone();
    if desk.trust.state(&item) == Standing::Own {
        return Err(Problem::bad(
            "this is your own and needs no trust",
            "take the file away if you do not want it",
        ));
    }
    if told.trust && item.seal.to_string() != told.seal {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "stale",
            "it was changed after it was shown",
            "look at it again, then decide",
        ));
    }
    match told.trust {
        true => desk.trust.give(&item, None)?,
        false => desk.trust.forget(&item)?,
    }
    house.settle(|| house.renew())?;
    house.beat(|pulse| pulse.settings += 1);
    let word = if told.trust { "trusted as it is now" } else { "not trusted any more" };
    let kind = if item.kind == Kind::Skill { "The skill" } else { "The text" };
    Ok(json!({"done": {"text": format!("{kind} {} is {word}.", item.name())}}))
}
