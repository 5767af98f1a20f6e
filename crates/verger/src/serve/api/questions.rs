//! Questions that wait for the person.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::area::{Area, Nothing};
use super::body::ToldMuch;
use crate::serve::house::House;
use crate::serve::inbox::{Reply, Unheard};
use crate::serve::problem::Problem;

/// Seeing and answering questions.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>(
            "/api/questions",
            "The questions that wait for the person, the oldest first.",
            list,
        )
        .post::<Reply, _, _>("/api/questions/{id}", "Answers a question; the first answer counts.", answer)
}

async fn list(State(house): State<Arc<House>>) -> Json<Value> {
    Json(listed(&house))
}

/// All questions, as events tell them, too.
pub fn listed(house: &House) -> Value {
    let questions: Vec<Value> = house.inbox.list().iter().map(|paper| paper.as_ref().clone()).collect();
    json!({ "questions": questions })
}

async fn answer(
    State(house): State<Arc<House>>,
    Path(id): Path<String>,
    ToldMuch(reply): ToldMuch<Reply>,
) -> Result<StatusCode, Problem> {
    match house.inbox.answer(&id, reply) {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(Unheard::Gone) => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "question_gone",
            "this question does not wait any more",
            "it was answered elsewhere, its turn was stopped, or ten minutes have passed",
        )),
        Err(Unheard::Unfit(why)) => Err(Problem::bad(why, "see /api/openapi.json")),
    }
}
