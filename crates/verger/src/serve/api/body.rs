//! What requests bring: JSON bodies and what stands in the address, with limits on size and time and our own words for
//! what is wrong with them.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::serve::problem::Problem;

/// The largest body that is read where nothing else is said.
const USUAL: usize = 1024 * 1024;
/// The largest body with attachments.
const LARGE: usize = 24 * 1024 * 1024;
/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(20);

/// A JSON body.
pub struct Told<T>(pub T);

/// A JSON body that may hold attachments.
pub struct ToldMuch<T>(pub T);

/// What stands behind `?`.
pub struct Asked<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Told<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, _: &S) -> Result<Told<T>, Problem> {
        read(request, USUAL).await.map(Told)
    }
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for ToldMuch<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, _: &S) -> Result<ToldMuch<T>, Problem> {
        read(request, LARGE).await.map(ToldMuch)
    }
}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Asked<T>, Problem> {
        let asked = Query::<T>::try_from_uri(&parts.uri);
        let wrong = |error: axum::extract::rejection::QueryRejection| {
            Problem::bad(format!("the address does not make sense: {error}"), "see /api/openapi.json")
        };
        asked.map(|Query(value)| Asked(value)).map_err(wrong)
    }
}

async fn read<T: DeserializeOwned>(request: Request, most: usize) -> Result<T, Problem> {
    let kind =
        request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // A page from elsewhere can send other kinds without asking the browser first.
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        let hint = "send JSON with `Content-Type: application/json`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", "this is not JSON", hint));
    }
    let too_large = || {
        let message = format!("more than {} KiB were sent", most / 1024);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, "send less at once")
    };
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > most) {
        return Err(too_large());
    }
    let bytes = match tokio::time::timeout(PATIENCE, axum::body::to_bytes(request.into_body(), most)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(too_large()),
        Err(_) => {
            let hint = "send it faster";
            return Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "too_slow",
                "the body did not arrive in time",
                hint,
            ));
        }
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        Problem::bad(format!("the body does not make sense: {error}"), "see /api/openapi.json")
    })
}
