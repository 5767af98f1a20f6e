//! Questions about notes: Dataview queries, JSONLogic rules, tags, and back links, all warm in the library.

use std::path::Path;

use anyhow::{Context as _, Result};
use jiff::Zoned;
use serde_json::{Value, json};
use vault::catalog::Visible;
use vault::policy::Scope;
use vault::query::dql::{self, QueryResult, VaultPages};
use vault::query::jsonlogic;
use vault::view::View;
use vault::{Vault, VaultPath};

use super::measure::{goal_ms, repeat, resident};
use super::notes::{Work, markdown};

const ROUNDS: usize = 21;

/// Queries with their goal in milliseconds, if one was set. The fields are those of the generated vaults.
const QUERIES: [(&str, Option<u64>); 9] = [
    (
        "TABLE status, priority WHERE priority > 2 AND status = \"active\" SORT created DESC LIMIT 20",
        Some(30),
    ),
    ("TABLE rating, created WHERE rating SORT rating, file.name LIMIT 20", Some(30)),
    ("TABLE title, file.mtime WHERE created >= date(2024-01-01) SORT file.name LIMIT 20", Some(30)),
    ("TABLE status FROM #topic WHERE priority = 1 SORT created LIMIT 20", Some(30)),
    ("TABLE status FROM \"Projects\" SORT priority DESC, title LIMIT 20", Some(30)),
    ("LIST WHERE contains(file.tags, \"#topic\") LIMIT 20", Some(30)),
    ("TABLE length(rows) GROUP BY status", None),
    ("TABLE title WHERE status = \"active\"", None),
    ("TASK WHERE !completed AND due < date(2022-01-01) SORT due LIMIT 20", None),
];

/// Measures and prints.
pub fn bench(vault: &Path, work: &Work, only: Option<&str>) -> Result<()> {
    println!("\nquery: a vault of {} notes, catalog loaded and watched", markdown(vault)?.len());
    let opened = Vault::open(vault, &work.folder("query-data"))?;
    opened.watch(|_| {})?;
    let scope = Scope::default();
    let view = opened.view(&scope);
    for (text, goal) in QUERIES.into_iter().filter(|(text, _)| only.is_none_or(|only| text.contains(only))) {
        let (times, rows) = repeat(text, ROUNDS, || ask(view, text))?;
        println!("  {}   {rows} rows", times.told(goal.map(goal_ms)));
    }
    if only.is_some() {
        return Ok(());
    }
    for (name, rule) in rules() {
        let (times, hits) = repeat(name, ROUNDS, || Ok(jsonlogic::search(&rule, &view)?.len()))?;
        println!("  {}   {hits} notes", times.told(Some(goal_ms(100))));
    }
    catalog(view)?;
    let (all, own) = resident()?;
    println!("  resident {all:.0} MiB, of that {own:.0} MiB its own (goal under 200)");
    Ok(())
}

fn rules() -> [(&'static str, Value); 3] {
    [
        ("jsonlogic: a property", json!({"==": [{"var": "frontmatter.status"}, "active"]})),
        (
            "jsonlogic: path and size",
            json!({"and": [{"glob": ["Projects/*", {"var": "path"}]}, {">": [{"var": "stat.size"}, 5000]}]}),
        ),
        ("jsonlogic: a tag", json!({"in": ["topic", {"var": "tags"}]})),
    ]
}

fn ask(view: View<'_>, text: &str) -> Result<usize> {
    let now: Zoned = "2026-05-01T09:00:00[UTC]".parse()?;
    let pages = VaultPages::new(view)?;
    let found = dql::run(text, &pages, &dql::Context { now, this: None })?;
    Ok(match found {
        QueryResult::Table { rows, .. } => rows.len(),
        QueryResult::List { values } => values.len(),
        QueryResult::Task { values } => values.len(),
        QueryResult::Calendar { values } => values.len(),
    })
}

fn catalog(view: View<'_>) -> Result<()> {
    let catalog = view.catalog()?;
    let (times, tags) =
        repeat("all tags with counts", ROUNDS, || Ok(catalog.ask(|all, visible| all.tags(visible).len())))?;
    println!("  {}   {tags} tags", times.told(Some(goal_ms(24))));
    let most = catalog.ask(most_linked).context("the vault has no links")?;
    let (times, links) = repeat("back links of the most linked note", ROUNDS, || {
        Ok(catalog.ask(|all, visible| all.backlinks(&most, visible).len()))
    })?;
    println!("  {}   {links} links", times.told(Some(goal_ms(34))));
    Ok(())
}

/// The file to which most links lead, by the names that links use.
fn most_linked(catalog: &vault::catalog::Catalog, visible: Visible<'_>) -> Option<VaultPath> {
    let mut counts = std::collections::HashMap::new();
    let mut leads = catalog.leads(visible);
    for info in catalog.notes(visible) {
        for link in info.links.iter() {
            if let Some(to) = leads.follow(link, &info.path) {
                *counts.entry(to).or_insert(0_usize) += 1;
            }
        }
    }
    counts.into_iter().max_by_key(|(path, count)| (*count, (*path).clone())).map(|(path, _)| path.clone())
}
