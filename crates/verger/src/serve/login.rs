//! Coming in and going out: a token of a login link becomes a cookie that no script can read.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use schemars::JsonSchema;
use serde::Deserialize;

use super::api::body::Told;
use super::gate;
use super::house::House;
use super::keys::{COOKIE, Unwelcome};
use super::problem::Problem;

/// What a login link holds.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Login {
    /// What stands behind `#` in the link.
    token: String,
}

/// Login and logout.
pub fn routes() -> Router<Arc<House>> {
    Router::new().route("/api/login", post(log_in)).route("/api/logout", post(log_out))
}

async fn log_in(State(house): State<Arc<House>>, Told(login): Told<Login>) -> Result<Response, Problem> {
    match house.keys.log_in(&login.token) {
        Ok(cookie) => Ok(with_cookie(&house, &cookie, COOKIE)),
        Err(Unwelcome::Stale) => Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "link_stale",
            "this login link was used already, or is older than ten minutes",
            "get a new one: verger serve --link",
        )),
        Err(Unwelcome::Wait) => Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_tries",
            "too many wrong links came within a minute",
            "wait a minute, then get a new one: verger serve --link",
        )),
    }
}

async fn log_out(State(house): State<Arc<House>>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(cookie) = gate::cookie(&house, &headers).map(str::to_owned) {
        house.look(move |house| Ok(house.keys.log_out(&cookie)?)).await?;
    }
    Ok(with_cookie(&house, "", 0))
}

fn with_cookie(house: &House, value: &str, seconds: i64) -> Response {
    let secure = if house.is_encrypted() { "; Secure" } else { "" };
    let name = house.cookie_name();
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
