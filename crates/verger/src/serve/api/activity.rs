//! What happened in the last days: calls, changes, refusals, tokens and money, by day, tool and agent.
//!
//! The audit is counted once, from its end backwards, as far as a question reaches; later questions read only what was added.
//! What models cost stands in the conversations (`activity/spent.rs`).

mod counts;
mod spent;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use jiff::civil::Date;
use jiff::{ToSpan as _, Zoned};
use pipeline::World as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::area::Area;
use super::body::Asked;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::world::RealWorld;
use counts::Counts;

/// Tools, agents and reasons that are named.
const NAMED: usize = 12;
/// The longest time that can be looked at.
const LONGEST: u16 = 366;

/// The routes.
pub fn area() -> Area {
    let counts = Arc::new(Mutex::new(Counts::default()));
    Area::default().get::<Wanted, _, _>(
        "/api/activity",
        "Calls, changes, refusals, tokens and money by day; the busiest tools and agents.",
        move |State(house): State<Arc<House>>, Asked(wanted): Asked<Wanted>| {
            let counts = Arc::clone(&counts);
            async move { house.look(move |house| told(house, &counts, &wanted)).await.map(Json) }
        },
    )
}

/// How far back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// So many days, today included; 30 if nothing is said.
    days: Option<u16>,
}

fn told(house: &House, counts: &Mutex<Counts>, wanted: &Wanted) -> Result<Value, Problem> {
    let now = RealWorld.now();
    let days = wanted.days.unwrap_or(30).clamp(1, LONGEST);
    let dates = dates(&now, days);
    let Some(first) = dates.first().copied() else { return Ok(json!({"days": []})) };
    let study = house.study();
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    counts.reach(&study.mind.road.audit, first, now.time_zone())?;
    let spent = spent::since(&study.mind.sessions, first, now.time_zone())?;
    let rows: Vec<Value> = dates
        .iter()
        .map(|date| {
            let day = counts.day(*date);
            let cost = spent.get(date).copied().unwrap_or_default();
            json!({
                "date": date.to_string(),
                "calls": day.calls,
                "changes": day.changes,
                "refused": day.refused,
                "tokens_in": cost.tokens_in,
                "tokens_out": cost.tokens_out,
                "dollars": cost.dollars,
                "unpriced": cost.unpriced,
            })
        })
        .collect();
    let busiest = counts.busiest(&dates, NAMED);
    Ok(json!({
        "days": rows,
        "tools": busiest.tools,
        "agents": busiest.agents,
        "reasons": busiest.reasons,
    }))
}

/// The last days, oldest first, today included.
fn dates(now: &Zoned, days: u16) -> Vec<Date> {
    let today = now.date();
    (0..i64::from(days)).rev().filter_map(|ago| today.checked_sub(ago.days()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_days_end_today() {
        let now: Zoned = "2026-03-02T08:00[Europe/Berlin]".parse().unwrap();
        let days: Vec<String> = dates(&now, 3).iter().map(ToString::to_string).collect();
        assert_eq!(days, ["2026-02-28", "2026-03-01", "2026-03-02"]);
    }
}
