//! The MCP door on the same port: `/mcp`, for programs with an access token. What it does is in `mcp/beside.rs`; here is who is
//! let in.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};

use super::house::House;
use super::problem::Problem;
use super::tokens::{May, Unwelcome};
use crate::mcp::beside::{Beside, PATH, Reach};

/// The endpoint and its card.
pub fn routes() -> Router<Arc<House>> {
    Router::new().route(PATH, any(endpoint)).route("/.well-known/mcp.json", get(card))
}

async fn card(State(house): State<Arc<House>>) -> Response {
    match house.mcp() {
        Some(door) => door.card(),
        None => closed().into_response(),
    }
}

async fn endpoint(State(house): State<Arc<House>>, request: Request) -> Response {
    let Some(door) = house.mcp() else { return closed().into_response() };
    let headers = request.headers().clone();
    match judged(&house, &door, headers).await {
        Ok((name, reach)) => door.answer(request, &name, reach).await,
        Err(answer) => *answer,
    }
}

/// Whose request it is, and how far it reaches.
async fn judged(
    house: &Arc<House>,
    door: &Beside,
    headers: HeaderMap,
) -> Result<(String, Reach), Box<Response>> {
    let admitted = house.look(move |house| Ok(house.tokens.admit(&house.keys, &headers))).await;
    let holder = match admitted {
        Ok(Ok(holder)) => holder,
        Ok(Err(Unwelcome::Missing)) => return Err(Box::new(door.unwelcome("an access token is needed"))),
        Ok(Err(Unwelcome::Wrong)) => {
            return Err(Box::new(door.unwelcome("the token is not one of this server")));
        }
        Ok(Err(Unwelcome::Wait)) => return Err(Box::new(wait())),
        Ok(Err(Unwelcome::Broken)) | Err(_) => return Err(Box::new(Problem::broken().into_response())),
    };
    let reach = match (holder.may(May::Edit), holder.may(May::Read)) {
        (true, _) => Reach::Edit,
        (_, true) => Reach::Read,
        _ => {
            let message = "this token may not use /mcp";
            let hint = "make one that may `read`, or `edit`";
            let problem = Problem::new(StatusCode::FORBIDDEN, "token_short", message, hint);
            return Err(Box::new(problem.into_response()));
        }
    };
    Ok((holder.name, reach))
}

fn wait() -> Response {
    let message = "too many wrong tokens came within a minute";
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_tries", message, "wait a minute");
    let mut answer = problem.into_response();
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
    answer
}

fn closed() -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_open", "the door is not open yet", "try again")
}
