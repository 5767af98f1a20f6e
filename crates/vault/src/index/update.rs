//! Keeps the index fresh: finds out what differs, indexes that alone, and strikes out the old versions.

use super::bits::Bits;
use super::build;
use super::merge::{Part, merge};
use super::segment::{Kind as Known, Segment};
use super::state::{Slot, State};
use super::writer::{Checksums, Writer};
use super::{TextIndex, batch, cannot};
use crate::error::Result;
use crate::files::{Entry, Files, Kind, Nobody};
use crate::path::{VaultFolder, VaultPath};

/// What differs between the index and the vault.
#[derive(Default)]
pub(super) struct Changes {
    fresh: Vec<Entry>,
    gone: Vec<(usize, u32)>,
}

impl Changes {
    fn gone(&mut self, state: &State, path: &VaultPath) {
        self.gone.extend(state.find(path.as_str()));
    }

    fn gone_below(&mut self, state: &State, folder: &VaultFolder) {
        self.gone.extend(state.docs_in(folder));
    }

    fn fresh(&mut self, state: &State, entry: Entry) {
        self.gone(state, &entry.path);
        self.fresh.push(entry);
    }
}

/// Looks at paths, whatever is known of them.
pub(super) fn look_at(state: &State, files: &dyn Files, changed: &[VaultPath]) -> Result<Changes> {
    let mut changes = Changes::default();
    for path in changed.iter().filter(|path| !path.is_hidden()) {
        let folder = VaultFolder::from(path.clone());
        match files.stat(path)? {
            Some(entry) if entry.kind == Kind::File => {
                changes.gone_below(state, &folder);
                changes.fresh(state, entry);
            }
            Some(_) => {
                changes.gone(state, path);
                compare(state, &mut changes, &folder, |each| files.walk_in(&folder, each))?;
            }
            None => missing(state, files, &mut changes, path)?,
        }
    }
    Ok(changes)
}

/// Nothing there any more; the folders above may have gone with it.
fn missing(state: &State, files: &dyn Files, changes: &mut Changes, path: &VaultPath) -> Result<()> {
    let mut gone = path.clone();
    loop {
        changes.gone(state, &gone);
        changes.gone_below(state, &gone.clone().into());
        match gone.parent().path().cloned() {
            Some(above) if files.stat(&above)?.is_none_or(|entry| entry.kind == Kind::File) => gone = above,
            _ => return Ok(()),
        }
    }
}

/// Compares what lies below a folder with what the index knows there.
fn compare(
    state: &State,
    changes: &mut Changes,
    folder: &VaultFolder,
    walk: impl FnOnce(&mut dyn FnMut(Entry)) -> Result<()>,
) -> Result<()> {
    let mut seen: Vec<Bits> = state.slots.iter().map(|slot| Bits::new(slot.segment.doc_count())).collect();
    walk(&mut |entry| {
        if entry.kind != Kind::File || entry.path.is_hidden() {
            return;
        }
        match state.find(entry.path.as_str()) {
            Some((at, doc)) if is_same(&state.slots[at].segment, doc, &entry) => {
                seen[at].insert(doc);
            }
            _ => changes.fresh.push(entry),
        }
    })?;
    changes.gone.extend(state.docs_in(folder).filter(|(at, doc)| !seen[*at].has(*doc)));
    Ok(())
}

fn is_same(segment: &Segment, doc: u32, entry: &Entry) -> bool {
    let known = segment.doc(doc);
    // What could not be read is tried again.
    known.stat == entry.stat && (known.kind != Known::Unread || known.stat.size > batch::LARGEST_TEXT)
}

impl TextIndex {
    pub(super) fn refresh_all_held(&self) -> Result<()> {
        self.refresh_from(self.newer().unwrap_or_else(|| State::clone(&self.state())))
    }

    /// Brings a state up to date and puts it in place.
    pub(super) fn refresh_from(&self, state: State) -> Result<()> {
        let mut changes = Changes::default();
        compare(&state, &mut changes, &VaultFolder::root(), |each| self.files.walk(each))?;
        self.take_in(state, changes)
    }

    /// The same with what a walk has seen already.
    pub(super) fn refresh_seen(&self, state: State, entries: Vec<Entry>) -> Result<()> {
        let mut changes = Changes::default();
        compare(&state, &mut changes, &VaultFolder::root(), |each| {
            entries.into_iter().for_each(each);
            Ok(())
        })?;
        self.take_in(state, changes)
    }

    /// Indexes what is fresh and puts the new state in place of the old one.
    pub(super) fn take_in(&self, mut state: State, changes: Changes) -> Result<()> {
        if changes.fresh.is_empty() && changes.gone.is_empty() {
            self.set(state);
            return Ok(());
        }
        let fresh =
            build::index(&*self.files, changes.fresh, &|_| (), &Nobody, &batch::in_memory).map_err(cannot)?;
        for (at, slot) in state.slots.iter_mut().enumerate() {
            let gone: Vec<u32> =
                changes.gone.iter().filter(|(place, _)| *place == at).map(|(_, doc)| *doc).collect();
            if !gone.is_empty() {
                *slot = slot.without(gone);
            }
        }
        for segment in fresh {
            let dead = build::none_dead(&segment);
            state.slots.push(Slot::new(segment, dead, None));
        }
        state.slots.retain(|slot| slot.number.is_some() || slot.live() > 0);
        self.set(join_small(state)?);
        self.save_if_due();
        Ok(())
    }
}

/// Merges the newest segments in memory as long as the older is not much larger: a few segments, whatever comes.
fn join_small(mut state: State) -> Result<State> {
    while let [.., a, b] = state.slots.as_slice()
        && a.number.is_none()
        && b.number.is_none()
        && a.live() <= b.live() * 2
    {
        let joined = join(&[a, b])?;
        state.slots.truncate(state.slots.len() - 2);
        state.slots.push(joined);
    }
    Ok(state)
}

/// One segment in memory of several.
pub(super) fn join(slots: &[&Slot]) -> Result<Slot> {
    let parts: Vec<Part<'_>> =
        slots.iter().map(|slot| Part { segment: &slot.segment, dead: &slot.dead }).collect();
    let writer = Writer::new(Vec::new(), Checksums::No).map_err(cannot)?;
    let bytes = merge(&parts, writer).map_err(cannot)?;
    let segment = Segment::own(bytes).map_err(|damage| cannot(std::io::Error::other(damage)))?;
    let dead = build::none_dead(&segment);
    Ok(Slot::new(segment, dead, None))
}
