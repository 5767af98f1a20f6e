//! Finding a conversation by its id, the start of its id, or its title; and listing them.

use regex::{Regex, RegexBuilder};
use rusqlite::Transaction;

use super::{Header, Sessions, row};
use crate::db::Fault;
use crate::error::Error;

/// How many ids an error names.
const NAMED: usize = 5;

/// Which conversations are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// At most this many.
    pub limit: usize,
    /// Whether the children of others are listed, too.
    pub include_children: bool,
    /// Only those with this in their title; case does not count.
    pub text: Option<String>,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter { limit: 50, include_children: false, text: None }
    }
}

impl Sessions {
    /// The conversation of this id, of the only id that starts so, or of this title.
    pub fn find(&self, wanted: &str) -> Result<Header, Error> {
        self.inner().db.read(|look| {
            let wanted = wanted.trim();
            if let Some(row) = row::session_if_there(look, wanted)? {
                return Ok(row.header);
            }
            let mut by_id = Vec::new();
            let mut by_title = Vec::new();
            each(look, |header| {
                if !wanted.is_empty() && header.id.starts_with(wanted) {
                    by_id.push(header);
                } else if header.title.as_deref().is_some_and(|title| same(title, wanted)) {
                    by_title.push(header);
                }
                Go::On
            })?;
            let found = if by_id.is_empty() { by_title } else { by_id };
            match <[Header; 1]>::try_from(found) {
                Ok([only]) => Ok(only),
                Err(none) if none.is_empty() => Err(missing(look, wanted)?.into()),
                Err(several) => Err(Error::Ambiguous {
                    wanted: wanted.to_owned(),
                    ids: several.into_iter().take(NAMED).map(|header| header.id).collect(),
                }
                .into()),
            }
        })
    }

    /// The conversations, the one last worked on first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Header>, Error> {
        let wanted = filter.text.as_deref().filter(|text| !text.is_empty()).map(literal).transpose()?;
        self.inner().db.read(|look| {
            let mut found = Vec::new();
            each(look, |header| {
                if found.len() >= filter.limit {
                    return Go::Stop;
                }
                let fits = wanted
                    .as_ref()
                    .is_none_or(|wanted| header.title.as_deref().is_some_and(|title| wanted.is_match(title)));
                if fits && (filter.include_children || header.parent.is_none()) {
                    found.push(header);
                }
                Go::On
            })?;
            Ok(found)
        })
    }
}

/// Whether to look at the next one.
enum Go {
    On,
    Stop,
}

/// Shows every conversation, the one last worked on first. An index could have lost one by damage, so none is used, and the
/// count is compared with one.
fn each(look: &Transaction<'_>, mut show: impl FnMut(Header) -> Go) -> Result<(), Fault> {
    let mut statement = look.prepare_cached(&format!(
        "SELECT {} FROM sessions NOT INDEXED ORDER BY updated_ms DESC, key DESC",
        row::HEADER
    ))?;
    let mut rows = statement.query([])?;
    let mut seen: i64 = 0;
    while let Some(found) = rows.next()? {
        seen += 1;
        if let Go::Stop = show(row::read(found)?.header) {
            return Ok(());
        }
    }
    let indexed: i64 = look
        .prepare_cached("SELECT count(*) FROM sessions INDEXED BY sessions_by_parent")?
        .query_row([], |row| row.get(0))?;
    if seen == indexed { Ok(()) } else { Err(Fault::Damage("a conversation is missing".to_owned())) }
}

/// The error for a conversation that is not there, with those that come nearest: those that have it in their title, then
/// those whose id begins most like it.
pub fn missing(look: &Transaction<'_>, wanted: &str) -> Result<Error, Fault> {
    let in_title = literal(wanted).ok().filter(|_| !wanted.is_empty());
    let mut near: Vec<(usize, String)> = Vec::new();
    let mut hidden = false;
    each(look, |header| {
        hidden |= header.id == wanted;
        let shared = header.id.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
        let titled = in_title
            .as_ref()
            .is_some_and(|wanted| header.title.as_deref().is_some_and(|title| wanted.is_match(title)));
        match (titled, shared) {
            (true, _) => near.push((usize::MAX, header.id)),
            (false, 0) => {}
            (false, shared) => near.push((shared, header.id)),
        }
        Go::On
    })?;
    if hidden {
        return Err(Fault::Damage(format!("the index does not lead to `{wanted}`")));
    }
    // Stable: among equals the newest stays in front.
    near.sort_by_key(|(nearness, _)| std::cmp::Reverse(*nearness));
    let nearest = near.into_iter().take(NAMED).map(|(_, id)| id).collect();
    Ok(Error::Missing { wanted: wanted.chars().take(200).collect(), nearest })
}

fn same(title: &str, wanted: &str) -> bool {
    title.to_lowercase() == wanted.to_lowercase()
}

/// A pattern that finds this text and nothing else; case does not count.
pub fn literal(text: &str) -> Result<Regex, Error> {
    let unfit = |why: String| Error::Unfit { what: "the text to search for", why };
    if text.chars().count() > super::search::LONGEST {
        return Err(unfit(format!("it has more than {} characters", super::search::LONGEST)));
    }
    RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .build()
        .map_err(|error| unfit(error.to_string()))
}
