//! Searching what was said: every place where the text stands, the newest first. Case does not count; nothing in the text is
//! a wildcard.
//!
//! The texts are read and compared here, not by SQLite's `LIKE`, which knows the case of ASCII letters only. So every text
//! that is looked at is also compared with its seal.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use regex::Regex;
use rusqlite::{ToSql, Transaction};
use serde::Serialize;

use super::{Sessions, find, row};
use crate::db::Fault;
use crate::error::Error;

/// The longest text to search for, in characters.
pub const LONGEST: usize = 1_000;

/// The most places that are given.
pub const MOST: usize = 30;

/// How long a snippet is, in characters.
pub const SNIPPET: usize = 220;

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHistory {
    /// The text.
    pub text: String,
    /// At most this many places; 30 is the most.
    pub limit: usize,
    /// Only what this role said: `user`, `assistant` …
    pub role: Option<String>,
    /// Only in this conversation, by its whole id.
    pub session: Option<String>,
    /// Only what was said to and by this agent.
    pub agent: Option<String>,
}

impl Default for SearchHistory {
    fn default() -> SearchHistory {
        SearchHistory { text: String::new(), limit: 10, role: None, session: None, agent: None }
    }
}

/// A place that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The conversation's id.
    pub session: String,
    /// Its title.
    pub title: Option<String>,
    /// Who said it.
    pub role: String,
    /// When, milliseconds since 1970.
    pub time_ms: i64,
    /// The text around it, on one line.
    pub snippet: String,
    /// The step.
    pub number: u64,
}

impl Sessions {
    /// Every place where the text stands, the newest first. A text that forks have copied is found once, in the latest.
    pub fn search(&self, query: &SearchHistory) -> Result<Vec<Found>, Error> {
        let text = query.text.trim();
        if text.is_empty() {
            let why = "it is empty".to_owned();
            return Err(Error::Unfit { what: "the text to search for", why });
        }
        let wanted = find::literal(text)?;
        self.inner().db.read(|look| {
            let only = query.session.as_deref().map(|id| row::session(look, id)).transpose()?;
            match only {
                Some(row) => {
                    let rows = "SELECT session, number, time_ms, agent, role, text, seal FROM said \
                                WHERE session = ?1 ORDER BY number DESC";
                    look_through(look, rows, &[&row.key], query, &wanted)
                }
                None => {
                    // Of the copies of a text the latest is found first: there the conversation goes on.
                    let rows = "SELECT session, number, time_ms, agent, role, text, seal FROM said \
                                ORDER BY time_ms DESC, key DESC";
                    look_through(look, rows, &[], query, &wanted)
                }
            }
        })
    }
}

fn look_through(
    look: &Transaction<'_>,
    rows: &str,
    of: &[&dyn ToSql],
    query: &SearchHistory,
    wanted: &Regex,
) -> Result<Vec<Found>, Fault> {
    let mut statement = look.prepare_cached(rows)?;
    let mut rows = statement.query(of)?;
    let mut names = Names::default();
    let mut copies = HashSet::new();
    let mut found = Vec::new();
    let mut seen: i64 = 0;
    let mut newest = i64::MAX;
    while found.len() < query.limit.clamp(1, MOST) {
        let Some(next) = rows.next()? else {
            whole(look, of, seen)?;
            break;
        };
        let (session, said) = row::read_said(next)?;
        seen += 1;
        if said.time_ms > newest && of.is_empty() {
            return Err(Fault::Damage("the index of times is out of order".to_owned()));
        }
        newest = said.time_ms;
        let other = |wanted: &Option<String>, is: &str| wanted.as_deref().is_some_and(|wanted| wanted != is);
        if other(&query.role, said.role) || other(&query.agent, said.agent) {
            continue;
        }
        let Some(place) = wanted.find(said.text) else { continue };
        if !copies.insert((said.time_ms, said.number, blake3::hash(said.text.as_bytes()))) {
            continue;
        }
        let (session, title) = names.of(look, session)?;
        found.push(Found {
            session,
            title,
            role: said.role.to_owned(),
            time_ms: said.time_ms,
            snippet: snippet(said.text, place.range()),
            number: said.number,
        });
    }
    Ok(found)
}

/// A damaged index could have left texts out: the table itself must have as many.
fn whole(look: &Transaction<'_>, of: &[&dyn ToSql], seen: i64) -> Result<(), Fault> {
    let count = match of {
        [] => "SELECT count(*) FROM said NOT INDEXED",
        _ => "SELECT count(*) FROM said NOT INDEXED WHERE session = ?1",
    };
    let there: i64 = look.prepare_cached(count)?.query_row(of, |row| row.get(0))?;
    if there == seen { Ok(()) } else { Err(Fault::Damage("words of a conversation are missing".to_owned())) }
}

/// Ids and titles by the number in the file.
#[derive(Default)]
struct Names(HashMap<i64, (String, Option<String>)>);

impl Names {
    fn of(&mut self, look: &Transaction<'_>, key: i64) -> Result<(String, Option<String>), Fault> {
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let header = row::session_by_key(look, key)?.header;
        self.0.insert(key, (header.id.clone(), header.title.clone()));
        Ok((header.id, header.title))
    }
}

/// The text around a place, on one line, with `…` where something is left out.
fn snippet(text: &str, place: Range<usize>) -> String {
    let found = text.get(place.clone()).unwrap_or_default();
    let spare = SNIPPET.saturating_sub(found.chars().count());
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    let first = before.char_indices().rev().take(spare / 2).last().map_or(before.len(), |(at, _)| at);
    let left = spare - before.get(first..).unwrap_or_default().chars().count();
    let rest: String = format!("{found}{after}").chars().take(SNIPPET - spare + left).collect();
    let mut line = String::new();
    if first > 0 {
        line.push('…');
    }
    line.push_str(before.get(first..).unwrap_or_default());
    line.push_str(&rest);
    if rest.len() < found.len() + after.len() {
        line.push('…');
    }
    line.replace(|c: char| c.is_control(), " ")
}
