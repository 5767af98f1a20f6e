//! What is wrong or odd in the vault, and mending it.
//!
//! The findings come through the person's view, all of them up to a limit for each kind; a repair is a call on the road.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use pipeline::Call;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::VaultPath;
use vault::health::{self, Finding, FindingKind};

use super::area::Area;
use super::body::{Asked, Told};
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::proposal::propose;

/// Findings of one kind in one answer, and notes named in one finding.
const MOST: usize = 200;
/// Notes that one repair names at most.
const MOST_PATHS: usize = 500;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Look, _, _>("/api/health", "What is wrong or odd in the vault, by kind.", check)
        .post::<Repair, _, _>(
        "/api/health/repair",
        "Mends findings of one kind: first shows the change, then, with `saw`, makes it.",
        repair,
    )
}

/// How far to look.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Look {
    /// Whether to read every text as well, for notes that say almost the same and similar ones without a link.
    #[serde(default)]
    deep: bool,
    /// Only this kind, from the finding behind `offset` on.
    kind: Option<String>,
    /// Findings to pass over.
    #[serde(default)]
    offset: usize,
}

/// What to mend.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Repair {
    /// The kind of finding.
    kind: String,
    /// Only findings about these notes; all if absent.
    #[serde(default)]
    paths: Vec<VaultPath>,
    /// The word that came with what was shown.
    saw: Option<String>,
}

async fn check(State(house): State<Arc<House>>, Asked(look): Asked<Look>) -> Result<Json<Value>, Problem> {
    house.look(move |house| found(house, &look)).await.map(Json)
}

async fn repair(State(house): State<Arc<House>>, Told(repair): Told<Repair>) -> Result<Json<Value>, Problem> {
    if repair.paths.len() > MOST_PATHS || repair.kind.len() > 64 {
        return Err(Problem::bad("more is named than one repair takes", "mend some of them at a time"));
    }
    let mut input = json!({"kind": repair.kind});
    if !repair.paths.is_empty() {
        input["paths"] = json!(repair.paths);
    }
    let call = Call::new("vault_health_repair", input);
    house.look(move |house| propose(house, call, repair.saw)).await.map(Json)
}

fn found(house: &House, look: &Look) -> Result<Value, Problem> {
    let study = house.study();
    let scope = house.scope()?;
    let view = study.mind.road.vault().view(&scope);
    let findings = match look.deep {
        true => view.health_of_texts()?,
        false => view.catalog()?.health(),
    };
    Ok(told(&findings, look))
}

fn told(findings: &[Finding], look: &Look) -> Value {
    let mends = findings.iter().filter(|found| !found.mends.is_empty()).fold(
        BTreeMap::<FindingKind, usize>::new(),
        |mut mends, found| {
            *mends.entry(found.kind).or_default() += 1;
            mends
        },
    );
    let counts: Vec<Value> = health::counts(findings)
        .iter()
        .map(|(kind, count)| {
            let repairable = mends.get(kind).copied().unwrap_or_default();
            json!({"kind": kind, "severity": kind.severity(), "count": count, "repairable": repairable})
        })
        .collect();
    let wanted = |found: &&Finding| look.kind.as_ref().is_none_or(|kind| json!(found.kind) == json!(kind));
    let mut shown: BTreeMap<FindingKind, usize> = BTreeMap::new();
    let few = findings.iter().filter(wanted).filter(|found| {
        let number = shown.entry(found.kind).or_default();
        *number += 1;
        (look.offset + 1..=look.offset + MOST).contains(number)
    });
    let rows: Vec<Value> = few.map(row).collect();
    json!({"findings": rows, "counts": counts, "deep": look.deep, "page": MOST})
}

fn row(found: &Finding) -> Value {
    json!({
        "kind": found.kind,
        "severity": found.severity,
        "paths": found.paths.iter().take(MOST).collect::<Vec<_>>(),
        "total_paths": found.paths.len(),
        "line": found.line,
        "message": found.message,
        "repair": found.repair,
        "repairable": !found.mends.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(number: usize) -> Finding {
        Finding {
            kind: FindingKind::BrokenLink,
            severity: FindingKind::BrokenLink.severity(),
            paths: vec![VaultPath::parse(&format!("{number:04}.md")).unwrap()],
            line: Some(3),
            message: "leads to nothing".to_owned(),
            repair: None,
            mends: Vec::new(),
        }
    }

    #[test]
    fn every_kind_is_counted_whole_and_shown_page_by_page() {
        let findings: Vec<Finding> = (0..450).map(broken).collect();
        let look = |offset| Look { deep: false, kind: None, offset };
        let first = told(&findings, &look(0));
        assert_eq!(first["counts"][0]["count"], 450);
        assert_eq!(first["counts"][0]["repairable"], 0);
        assert_eq!(first["findings"].as_array().unwrap().len(), MOST);
        let last = told(&findings, &look(400));
        assert_eq!(last["findings"].as_array().unwrap().len(), 50);
        assert_eq!(last["findings"][0]["paths"][0], "0400.md");
        let none = told(&findings, &Look { deep: false, kind: Some("orphan".to_owned()), offset: 0 });
        assert_eq!(none["findings"], json!([]));
        assert_eq!(none["counts"][0]["count"], 450);
    }
}
