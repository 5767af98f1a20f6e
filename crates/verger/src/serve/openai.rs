//! The vault's agents for programs that speak OpenAI's chat format: `/v1/models` and `/v1/chat/completions`, with an access
//! token that may `chat`.
//!
//! The messages that are sent are the conversation; nothing is remembered between two requests. `ask.rs` reads the request,
//! `turn.rs` leads the turn, `answer.rs` says it in the caller's words, `fault.rs` says what went wrong.

mod answer;
mod ask;
mod fault;
mod turn;

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest as _, Path, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::api::body::ToldMuch;
use super::house::House;
use super::tokens::{Holder, May};
use crate::study::Study;
use ask::{Completion, Wish};
use fault::Fault;

/// What every agent's name begins with.
const NAME: &str = "verger";

/// The routes.
pub fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{*name}", get(model))
        .route("/v1/chat/completions", post(complete))
        .route("/v1/{*other}", axum::routing::any(nothing))
}

/// Whoever shows a token that may chat.
async fn admit(house: &Arc<House>, headers: &HeaderMap) -> Result<Holder, Fault> {
    let headers = headers.clone();
    let admitted = house.look(move |house| Ok(house.tokens.admit(&house.keys, &headers))).await;
    let holder = admitted.map_err(Fault::from)?.map_err(Fault::from)?;
    if holder.may(May::Chat) { Ok(holder) } else { Err(Fault::short()) }
}

async fn models(State(house): State<Arc<House>>, headers: HeaderMap) -> Result<Json<Value>, Fault> {
    admit(&house, &headers).await?;
    let data: Vec<Value> = names(&house.study()).iter().map(|name| listed(name)).collect();
    Ok(Json(json!({ "object": "list", "data": data })))
}

async fn model(
    State(house): State<Arc<House>>,
    headers: HeaderMap,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, Fault> {
    admit(&house, &headers).await?;
    let name = name.map(|Path(name)| name).unwrap_or_default();
    match names(&house.study()).contains(&name) {
        true => Ok(Json(listed(&name))),
        false => Err(Fault::no_model(&name)),
    }
}

async fn complete(State(house): State<Arc<House>>, request: Request) -> Response {
    match completed(&house, request).await {
        Ok(answer) => answer,
        Err(fault) => fault.into_response(),
    }
}

async fn completed(house: &Arc<House>, request: Request) -> Result<Response, Fault> {
    let holder = admit(house, request.headers()).await?;
    let ToldMuch(asked) = ToldMuch::<Completion>::from_request(request, &()).await?;
    let wish = Wish::read(asked, house)?;
    let turn = turn::begin(house, &holder, &wish)?;
    match wish.streams {
        true => answer::stream(turn, &wish).await,
        false => answer::whole(turn, &wish).await,
    }
}

async fn nothing(State(house): State<Arc<House>>, headers: HeaderMap) -> Fault {
    match admit(&house, &headers).await {
        Ok(_) => Fault::nothing_here(),
        Err(fault) => fault,
    }
}

/// The agents as models: `verger` is the one that speaks where none is named.
fn names(study: &Study) -> Vec<String> {
    let agents = study.mind.cast.slugs().into_iter().map(|slug| format!("{NAME}/{slug}"));
    std::iter::once(NAME.to_owned()).chain(agents).collect()
}

fn listed(name: &str) -> Value {
    // No agent has a birthday that a client could use; the form wants a number.
    json!({ "id": name, "object": "model", "created": 0, "owned_by": NAME })
}
