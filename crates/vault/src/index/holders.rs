//! Which notes hold all words of a query, in their name or their text: counted by number, named only as far as they are shown.
//!
//! Called by the search that looks for words anywhere in a note. A word in the text is found as the exact search finds it, one
//! in the name by [`super::names`]; documents stay numbers until the page is cut, because a common word stands in half of
//! the vault.

use super::exact::{Docs, holding};
use super::found::Sound;
use super::letters::fold_text;
use super::plan::Need;
use super::state::{Among, Slot, State};
use crate::path::VaultPath;

/// Notes that are wanted.
#[derive(Debug, Clone, Copy)]
pub struct WordsQuery<'a> {
    /// All of these must occur, in any case; none of them holds white space.
    pub words: &'a [&'a str],
    /// Only paths that start so.
    pub prefix: &'a str,
    /// Only those behind this path are named.
    pub after: Option<&'a VaultPath>,
    /// So many are named at most.
    pub most: usize,
}

/// The notes that hold all words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holders {
    /// The first of them behind the place that was asked for, in path order.
    pub paths: Vec<VaultPath>,
    /// How many there are in all.
    pub total: usize,
    /// Whether each of them is known to hold the words, without a look inside.
    pub certain: bool,
    /// Files that could not be read as text.
    pub unread: usize,
}

/// The notes that hold all words; `None` where the index cannot rule out any.
pub(super) fn holders(state: &State, query: &WordsQuery<'_>, among: &Among) -> Sound<Option<Holders>> {
    let words: Vec<String> = query.words.iter().map(|word| fold_text(word)).collect();
    let mut found = Holders { certain: true, unread: among.tally.unread, ..Holders::default() };
    let mut all = Vec::with_capacity(state.slots.len());
    for (at, slot) in state.slots.iter().enumerate() {
        let Some((mut docs, certain)) = of_slot(slot, &words)? else { return Ok(None) };
        let range = starting(slot, query.prefix);
        docs.retain(|doc| range.contains(doc) && among.has(state, at, *doc));
        found.total += docs.len();
        found.certain &= certain || docs.is_empty();
        all.push(docs);
    }
    found.paths = first(state, &all, query);
    Ok(Some(found))
}

/// The notes of one segment, those that are gone included, and whether that is certain.
fn of_slot(slot: &Slot, words: &[String]) -> Sound<Option<(Vec<u32>, bool)>> {
    let Some(names) = slot.names() else { return Ok(None) };
    let (mut all, mut certain): (Option<Vec<u32>>, bool) = (None, true);
    for word in words {
        let Docs::These { counts, exact } = holding(&slot.segment, &Need::Text(word.clone()))? else {
            return Ok(None);
        };
        certain &= exact;
        let mut with: Vec<u32> =
            counts.into_iter().map(|(doc, _)| doc).filter(|doc| names.is_note(*doc)).collect();
        let named = names.holding(word);
        if !named.is_empty() {
            with.extend(named);
            with.sort_unstable();
            with.dedup();
        }
        all = Some(match all {
            None => with,
            Some(mut all) => {
                all.retain(|doc| with.binary_search(doc).is_ok());
                all
            }
        });
    }
    Ok(all.map(|all| (all, certain)))
}

/// The documents whose paths start so.
fn starting(slot: &Slot, prefix: &str) -> std::ops::Range<u32> {
    if prefix.is_empty() {
        return 0..slot.segment.doc_count();
    }
    let first = slot.segment.find(prefix).unwrap_or_else(|place| place);
    let (mut low, mut high) = (first, slot.segment.doc_count());
    while low < high {
        let middle = low + (high - low) / 2;
        match slot.segment.path(middle).starts_with(prefix) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    first..low
}

/// The first few paths of all segments, in order.
fn first(state: &State, all: &[Vec<u32>], query: &WordsQuery<'_>) -> Vec<VaultPath> {
    let start = |(slot, docs): (&Slot, &Vec<u32>)| {
        let Some(after) = query.after else { return 0 };
        let behind = slot.segment.find(after.as_str()).map_or_else(|place| place, |doc| doc + 1);
        docs.partition_point(|doc| *doc < behind)
    };
    let mut at: Vec<usize> = state.slots.iter().zip(all).map(start).collect();
    let mut paths = Vec::new();
    while paths.len() < query.most {
        let heads = (0..all.len()).filter_map(|slot| Some((slot, *all[slot].get(at[slot])?)));
        let least = match all.len() {
            1 => heads.into_iter().next(),
            _ => heads.min_by_key(|(slot, doc)| state.slots[*slot].segment.path(*doc)),
        };
        let Some((slot, doc)) = least else { break };
        at[slot] += 1;
        paths.extend(state.slots[slot].path(doc));
    }
    paths
}
