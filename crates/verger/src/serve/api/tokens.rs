//! Access tokens for programs: made, listed, revoked by the person before the page.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::area::{Area, Nothing};
use super::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::tokens::May;

/// A token that is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct New {
    /// What it is called: the program or the device that will use it.
    name: String,
    /// How far it reaches.
    may: Vec<May>,
}

/// The routes.
pub fn area() -> Area {
    let about = "The access tokens of programs: name, reach, the day it was made and last used.";
    Area::default()
        .get::<Nothing, _, _>("/api/tokens", about, list)
        .post::<New, _, _>(
            "/api/tokens",
            "Makes an access token; it is shown in this answer and never again.",
            make,
        )
        .delete::<Nothing, _, _>("/api/tokens/{name}", "Revokes an access token.", revoke)
}

async fn list(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    house.look(|house| Ok(Json(json!({ "tokens": house.tokens.list()? })))).await
}

async fn make(State(house): State<Arc<House>>, Told(new): Told<New>) -> Result<Json<Value>, Problem> {
    if new.may.is_empty() || new.may.len() > 8 {
        return Err(Problem::bad("`may` says nothing", "give at least one of read, chat, edit"));
    }
    house
        .look(move |house| {
            let token = house.tokens.make(&house.keys, &new.name, &new.may)?;
            house.beat(|pulse| pulse.settings += 1);
            Ok(Json(json!({ "name": new.name, "token": token })))
        })
        .await
}

async fn revoke(
    State(house): State<Arc<House>>,
    name: Result<Path<String>, axum::extract::rejection::PathRejection>,
) -> Result<StatusCode, Problem> {
    let Ok(Path(name)) = name else {
        return Err(Problem::bad("the address does not make sense", "see /api/openapi.json"));
    };
    house
        .look(move |house| match house.tokens.revoke(&name)? {
            true => {
                house.beat(|pulse| pulse.settings += 1);
                Ok(StatusCode::NO_CONTENT)
            }
            false => Err(Problem::not_found("there is no token of this name", "GET /api/tokens lists them")),
        })
        .await
}
