//! Answers an exact search: the index names the lines, and only the files of the page are opened.
//!
//! The result is that of [`crate::search::search`] over the same files, count for count; `equal_to_the_scanner` in the
//! tests holds that. Where the index cannot be sure it names candidates, and the scanner looks at those.

use std::collections::BTreeSet;

use super::exact::{Docs, docs};
use super::plan::{Need, need};
use super::segment::{Damage, Kind};
use super::state::{Among, Picked, Sight, State};
use crate::catalog::Visible;
use crate::error::Result;
use crate::files::Files;
use crate::path::VaultPath;
use crate::search::{self, Found, Matcher, NOT_TEXT, Page, Pattern, Query, Scanned, scan};

/// Either the answer, or why the index is not to be trusted.
pub(super) type Sound<T> = std::result::Result<T, Damage>;

/// The files that a query has to open at most: those that match, or may.
pub(super) enum Candidates {
    /// The index cannot rule out any.
    All,
    /// Documents with the number of lines in each, by segment; `exact` if they are known to match.
    These { docs: Vec<Vec<(u32, u32)>>, exact: bool },
}

/// Asks the index which documents a query is about.
pub(super) fn candidates(state: &State, query: &Query, among: &Among) -> Sound<Candidates> {
    let need = need(query);
    let literal = matches!(query.pattern, Pattern::Literal(_)) && query.case == search::Case::Ignore;
    let (mut all, mut exact) = (Vec::with_capacity(state.slots.len()), literal || need == Need::Nothing);
    for (at, slot) in state.slots.iter().enumerate() {
        let whole_word = query.whole_word && matches!(query.pattern, Pattern::Literal(_));
        match docs(&slot.segment, &need, whole_word)? {
            Docs::All => return Ok(Candidates::All),
            Docs::These { mut counts, exact: sure } => {
                exact &= sure;
                if !among.is_every_text(state, at) {
                    counts.retain(|(doc, _)| among.has(state, at, *doc));
                }
                all.push(counts);
            }
        }
    }
    Ok(Candidates::These { docs: all, exact })
}

/// What a query picks by place and name.
pub(super) fn picked(query: &Query) -> Picked<'_> {
    Picked { folder: query.folder.as_ref(), glob: query.glob.as_deref(), only: None }
}

/// Carries out a search.
pub(super) fn search(
    state: &State,
    files: &dyn Files,
    query: &Query,
    visible: Visible<'_>,
    sight: &Sight,
) -> Result<Sound<Found>> {
    let matcher = Matcher::new(query)?;
    let among = Among::new(state, &picked(query), visible, sight)?;
    let found = match candidates(state, query, &among) {
        Err(damage) => return Ok(Err(damage)),
        Ok(Candidates::All) => {
            let mut paths = state.of_kind(Kind::Text, &among);
            paths.extend(state.of_kind(Kind::Unread, &among));
            search::search(files, &paths, query)?
        }
        Ok(Candidates::These { docs, exact: false }) => {
            let mut paths: Vec<VaultPath> = state.of_kind(Kind::Unread, &among);
            for (slot, docs) in state.slots.iter().zip(docs) {
                paths.extend(docs.iter().filter_map(|(doc, _)| slot.path(*doc)));
            }
            let asked = paths.len();
            let mut found = search::search(files, &paths, query)?;
            // The others were searched by way of the index, to the same effect.
            found.files_scanned +=
                among.tally.text + among.tally.unread - asked.min(among.tally.text + among.tally.unread);
            found
        }
        Ok(Candidates::These { docs, exact: true }) => {
            page_of_known(state, files, query, &matcher, &among, &docs)
        }
    };
    Ok(Ok(with_binaries(state, &among, found)))
}

fn with_binaries(state: &State, among: &Among, mut found: Found) -> Found {
    let binaries = state.of_kind(Kind::Binary, among);
    if !binaries.is_empty() {
        found.files_skipped.extend(binaries.into_iter().map(|path| (path, NOT_TEXT.to_owned())));
        found.files_skipped.sort();
    }
    found
}

/// The lines are known: opens the files of the page, and counts the rest.
fn page_of_known(
    state: &State,
    files: &dyn Files,
    query: &Query,
    matcher: &Matcher,
    among: &Among,
    docs: &[Vec<(u32, u32)>],
) -> Found {
    let mut page = Page::new(query);
    let unread: BTreeSet<VaultPath> = state.of_kind(Kind::Unread, among).into_iter().collect();
    let mut unread = unread.into_iter().peekable();
    page.found.files_scanned = among.tally.text;
    let mut order = InOrder { state, docs, at: vec![0; docs.len()] };
    while let Some((slot, doc, count)) = order.next() {
        let name = state.slots[slot].segment.path(doc);
        while let Some(path) = unread.next_if(|path| path.as_str() < name) {
            let scanned = scan::scan(files, &path, matcher, query, page.keep());
            page.take(&path, scanned);
        }
        if page.keep() == 0 && unread.peek().is_none() {
            page.count(count as usize);
            order.rest().for_each(|count| page.count(count as usize));
            break;
        }
        let before_page = query.after.as_ref().is_some_and(|after| name < after.path().as_str());
        if page.keep() == 0 || before_page {
            page.count(count as usize);
            continue;
        }
        let Some(path) = state.slots[slot].path(doc) else { continue };
        let scanned = scan::scan(files, &path, matcher, query, page.keep());
        // `take` counts a file that it is given; these are in the tally already.
        page.found.files_scanned -=
            usize::from(matches!(scanned, Scanned::Read { .. })).min(page.found.files_scanned);
        page.take(&path, scanned);
    }
    for path in unread {
        let scanned = scan::scan(files, &path, matcher, query, page.keep());
        page.take(&path, scanned);
    }
    page.found
}

/// The documents of all segments, in path order.
struct InOrder<'a> {
    state: &'a State,
    docs: &'a [Vec<(u32, u32)>],
    at: Vec<usize>,
}

impl InOrder<'_> {
    /// What is left, in no order.
    fn rest(&mut self) -> impl Iterator<Item = u32> {
        let at = std::mem::take(&mut self.at);
        self.docs
            .iter()
            .zip(at)
            .flat_map(|(docs, at)| docs.get(at..).unwrap_or_default())
            .map(|(_, count)| *count)
    }
}

impl Iterator for InOrder<'_> {
    type Item = (usize, u32, u32);

    fn next(&mut self) -> Option<(usize, u32, u32)> {
        let mut heads =
            (0..self.docs.len()).filter_map(|slot| Some((slot, *self.docs[slot].get(self.at[slot])?)));
        let (slot, (doc, count)) = match self.docs.len() {
            1 => heads.next()?,
            _ => heads.min_by_key(|(slot, (doc, _))| self.state.slots[*slot].segment.path(*doc))?,
        };
        self.at[slot] += 1;
        Some((slot, doc, count))
    }
}
