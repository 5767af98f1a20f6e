//! What models cost, by day: from the steps of the conversations. What a helper cost stands in the conversation that started
//! it, so helpers are left out; what a copied conversation cost stands in the one that it was copied from.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use llm::chat::Usage;
use serde::Deserialize;
use state::{Filter, Sessions};

use crate::serve::problem::Problem;

/// The kinds of steps that cost something.
const PAID: [&str; 3] = ["answered", "condensed", "spent"];

/// What was paid on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Tokens that went in.
    pub tokens_in: u64,
    /// Tokens that came out.
    pub tokens_out: u64,
    /// US dollars, as far as prices are known.
    pub dollars: f64,
    /// Answers of which nobody knows the price.
    pub unpriced: u64,
}

#[derive(Deserialize)]
struct Paid {
    usage: Usage,
    #[serde(default)]
    dollars: Option<f64>,
}

/// What was paid from this day on.
pub fn since(sessions: &Sessions, first: Date, zone: &TimeZone) -> Result<HashMap<Date, Cost>, Problem> {
    let start = zone.to_zoned(first.into()).map_or(i64::MIN, |start| start.timestamp().as_millisecond());
    let mut days: HashMap<Date, Cost> = HashMap::new();
    // The one last worked on comes first.
    for header in sessions.list(&Filter { limit: usize::MAX, include_children: false, text: None })? {
        if header.updated_ms < start {
            break;
        }
        let own = if header.forked_from.is_some() { header.created_ms } else { i64::MIN };
        let steps = match sessions.steps_of(&header.id, &PAID, start.max(own)) {
            // Deleted meanwhile.
            Err(state::Error::Missing { .. }) => continue,
            other => other?,
        };
        for step in steps {
            let (Ok(paid), Ok(moment)) =
                (serde_json::from_value::<Paid>(step.body), Timestamp::from_millisecond(step.time_ms))
            else {
                continue;
            };
            let cost = days.entry(zone.to_datetime(moment).date()).or_default();
            cost.tokens_in += paid.usage.all_input();
            cost.tokens_out += paid.usage.output;
            match paid.dollars {
                Some(dollars) => cost.dollars += dollars,
                None => cost.unpriced += 1,
            }
        }
    }
    Ok(days)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use state::{NewSession, NewStep};

    #[test]
    fn what_was_paid_is_summed_once_by_day() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(&folder.path().join("s.db")).unwrap();
        let day: Date = "2026-03-14".parse().unwrap();
        let noon = day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp().as_millisecond();
        let new = |id: &str, parent: Option<&str>, now_ms| NewSession {
            id: id.to_owned(),
            agent: "agent".to_owned(),
            model: "m".to_owned(),
            parent: parent.map(str::to_owned),
            now_ms,
            ..NewSession::default()
        };
        let paid = |kind, dollars: Option<f64>| {
            let usage = Usage { input: 10, output: 5, ..Usage::default() };
            NewStep { kind, body: json!({"step": kind, "usage": usage, "dollars": dollars}), said: None }
        };
        sessions.create(&new("a", None, noon - 1)).unwrap();
        sessions.append("a", &[paid("answered", Some(0.5)), paid("spent", None)], noon).unwrap();
        sessions.create(&new("helper", Some("a"), noon)).unwrap();
        sessions.append("helper", &[paid("answered", Some(9.0))], noon).unwrap();
        sessions.fork("a", None, &new("copy", None, noon + 10)).unwrap();
        sessions.append("copy", &[paid("answered", Some(0.25))], noon + 20).unwrap();
        let days = since(&sessions, day, &TimeZone::UTC).unwrap();
        let expected = Cost { tokens_in: 30, tokens_out: 15, dollars: 0.75, unpriced: 1 };
        assert_eq!(days, HashMap::from([(day, expected)]));
        let later: Date = "2026-03-15".parse().unwrap();
        assert!(since(&sessions, later, &TimeZone::UTC).unwrap().is_empty());
    }
}
