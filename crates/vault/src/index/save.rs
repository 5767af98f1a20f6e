//! Opens, saves and replaces the index on disk. What fails here costs time at the next start, nothing else.

use std::io;

use super::bits::Bits;
use super::merge::{Part, merge};
use super::segment::{Damage, Segment};
use super::state::{Slot, State};
use super::writer::{Checksums, Writer};
use super::{Event, Progress, TextIndex, build, update};
use crate::error::Result;
use crate::files::{Nobody, Witness};
use crate::store::index::{IndexFolder, List, Listed, Trouble, Writing};

/// Documents in memory from which on they are worth a file.
const WORTH_SAVING: u32 = 512;
/// Segments on disk from which on they are merged.
const MOST_SEGMENTS: usize = 8;

impl TextIndex {
    /// Opens what is there, or builds.
    pub(super) fn open(&self, progress: &(dyn Fn(Progress) + Sync), witness: &dyn Witness) -> Result<()> {
        let _one_at_a_time = self.change();
        let loaded = match &self.folder {
            Some(folder) => load(folder),
            None => Err(Trouble::None),
        };
        let (why, is_new) = match loaded {
            Ok(state) => return self.refresh_from(state),
            Err(Trouble::None) => (String::new(), true),
            Err(Trouble::Damaged(why)) => (why, false),
            Err(Trouble::Io(error)) => (error.to_string(), false),
        };
        let held = self.folder.as_ref().and_then(|folder| Some((folder, folder.lock().ok()?)));
        // Another process may just have built it, while we waited for the lock.
        if let Some(Ok(state)) = self.folder.as_ref().filter(|_| is_new).map(load) {
            drop(held);
            return self.refresh_from(state);
        }
        self.rebuild_held(held.as_ref().map(|(folder, held)| (*folder, held)), progress, witness)?;
        self.tell(match is_new {
            true => Event::Built { files: self.state().slots.iter().map(|slot| slot.live() as usize).sum() },
            false => Event::Healed { why },
        });
        Ok(())
    }

    /// Builds everything from the notes and saves it.
    pub(super) fn rebuild(&self) -> Result<()> {
        let held = self.folder.as_ref().and_then(|folder| Some((folder, folder.lock().ok()?)));
        self.rebuild_held(held.as_ref().map(|(folder, held)| (*folder, held)), &|_| (), &Nobody)
    }

    fn rebuild_held(
        &self,
        held: Option<(&IndexFolder, &Writing)>,
        progress: &(dyn Fn(Progress) + Sync),
        witness: &dyn Witness,
    ) -> Result<()> {
        let segments = self.index_all(held, progress, witness)?;
        let slots: Vec<Slot> = segments
            .into_iter()
            .map(|segment| {
                let dead = build::none_dead(&segment);
                Slot::new(segment, dead, None)
            })
            .collect();
        let saved = held.map(|(folder, held)| {
            let generation = folder.list().map_or(0, |list| list.generation) + 1;
            save_as_one(folder, held, generation, &slots)
        });
        match saved {
            Some(Ok(state)) => self.set(state),
            failed => {
                if let Some(Err(error)) = failed {
                    self.tell(Event::NotSaved { why: error.to_string() });
                }
                let all: Vec<&Slot> = slots.iter().collect();
                self.set(State { slots: vec![update::join(&all)?], generation: 0 });
            }
        }
        Ok(())
    }

    /// What another process has saved, if it is newer than ours. What it lacks is found by the walk that follows.
    pub(super) fn newer(&self) -> Option<State> {
        let folder = self.folder.as_ref()?;
        let list = folder.list().ok()?;
        if list.generation <= self.state().generation { None } else { load(folder).ok() }
    }

    pub(super) fn save_if_due(&self) {
        let state = self.state();
        let unsaved: u32 = state.slots.iter().filter(|slot| slot.number.is_none()).map(Slot::live).sum();
        if unsaved >= WORTH_SAVING {
            self.save_held();
        }
    }

    /// Saves what is only in memory so far. Whoever ends the program calls this; it may be left out.
    pub fn save(&self) -> Result<()> {
        let _one_at_a_time = self.change();
        self.save_held();
        Ok(())
    }

    fn save_held(&self) {
        let Some(folder) = &self.folder else { return };
        match self.try_save(folder) {
            Ok(Some(state)) => self.set(state),
            Ok(None) => {}
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Damage>()) => {
                // Found while merging. The notes are read again; if that fails, the next search says why.
                if self.rebuild().is_ok() {
                    self.tell(Event::Healed { why: error.to_string() });
                }
            }
            Err(error) => self.tell(Event::NotSaved { why: error.to_string() }),
        }
    }

    /// The state as it lies on disk now; `None` if another process writes or has written.
    fn try_save(&self, folder: &IndexFolder) -> io::Result<Option<State>> {
        let Some(held) = folder.try_lock()? else { return Ok(None) };
        let state = self.state();
        let generation = folder.list().map_or(0, |list| list.generation);
        if generation != state.generation {
            return Ok(None);
        }
        let is_saved = |slot: &&Slot| slot.number.is_some();
        let dead: u64 = state.slots.iter().map(|slot| u64::from(slot.dead.count())).sum();
        let docs: u64 = state.slots.iter().map(|slot| u64::from(slot.segment.doc_count())).sum();
        if dead * 4 > docs || state.slots.iter().filter(is_saved).count() >= MOST_SEGMENTS {
            return save_as_one(folder, &held, generation + 1, &state.slots).map(Some);
        }
        let (mut slots, fresh): (Vec<Slot>, Vec<Slot>) =
            state.slots.iter().cloned().partition(|slot| is_saved(&slot));
        match fresh.is_empty() {
            true if folder.list().is_ok_and(|saved| saved == list(&state)) => return Ok(None),
            true => {}
            false => slots.push(write(folder, &held, generation + 1, &fresh)?),
        }
        let state = State { slots, generation: generation + 1 };
        folder.write_list(&held, &list(&state))?;
        Ok(Some(state))
    }
}

/// Writes everything into one segment, and a list that names it alone.
fn save_as_one(folder: &IndexFolder, held: &Writing, generation: u64, slots: &[Slot]) -> io::Result<State> {
    let slot = write(folder, held, generation, slots)?;
    let state = State { slots: vec![slot], generation };
    folder.write_list(held, &list(&state))?;
    Ok(state)
}

fn write(folder: &IndexFolder, held: &Writing, number: u64, slots: &[Slot]) -> io::Result<Slot> {
    let parts: Vec<Part<'_>> =
        slots.iter().map(|slot| Part { segment: &slot.segment, dead: &slot.dead }).collect();
    folder.write_segment(held, number, |out| merge(&parts, Writer::new(out, Checksums::Yes)?))?;
    let map = folder.map(number).map_err(|trouble| match trouble {
        Trouble::Io(error) => error,
        Trouble::Damaged(why) => io::Error::other(why),
        Trouble::None => io::Error::other("it is gone again"),
    })?;
    let segment = Segment::open(map).map_err(io::Error::other)?;
    let dead = build::none_dead(&segment);
    Ok(Slot::new(segment, dead, Some(number)))
}

fn list(state: &State) -> List {
    let listed = |slot: &Slot| {
        let number = slot.number?;
        Some(Listed { number, identity: slot.segment.identity, dead: slot.dead.to_bytes() })
    };
    List { generation: state.generation, segments: state.slots.iter().filter_map(listed).collect() }
}

/// Opens what the list names. A list that is replaced meanwhile is read again.
fn load(folder: &IndexFolder) -> std::result::Result<State, Trouble> {
    let mut list = folder.list()?;
    for _ in 0..5 {
        let loaded = load_listed(folder, &list);
        if loaded.is_ok() {
            return loaded;
        }
        let now = folder.list()?;
        if now == list {
            return loaded;
        }
        list = now;
    }
    Err(Trouble::Damaged("it is replaced again and again".to_owned()))
}

fn load_listed(folder: &IndexFolder, list: &List) -> std::result::Result<State, Trouble> {
    let mut slots = Vec::with_capacity(list.segments.len());
    for listed in &list.segments {
        let segment = Segment::open(folder.map(listed.number)?)
            .map_err(|damage| Trouble::Damaged(damage.to_string()))?;
        if segment.identity != listed.identity {
            return Err(Trouble::Damaged("a part of it is not the one that was written".to_owned()));
        }
        let dead = Bits::from_bytes(&listed.dead, segment.doc_count());
        slots.push(Slot::new(segment, dead, Some(listed.number)));
    }
    Ok(State { slots, generation: list.generation })
}
