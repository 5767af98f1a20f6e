//! A conversation as it stands for the page: state, not a log. Each item knows when it last changed, so whoever saw
//! everything up to a moment is sent what is newer, in its newest form, however slow they are.

use std::collections::HashMap;
use std::sync::Arc;

use pipeline::World as _;

use super::item::{Body, Sent};
use crate::world::RealWorld;

/// The items of a conversation.
#[derive(Debug)]
pub struct Transcript {
    epoch: String,
    seq: u64,
    next: u64,
    items: Vec<Item>,
    places: HashMap<String, usize>,
}

#[derive(Debug)]
struct Item {
    id: String,
    at: u64,
    parent: Option<String>,
    body: Body,
    /// The moment of its last change.
    seq: u64,
    /// What was made of it since.
    sent: Option<Arc<Sent>>,
}

/// A moment in the life of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Which life. It ends when items had to be taken away, and with the process.
    pub epoch: String,
    /// The moment.
    pub seq: u64,
}

impl Cursor {
    /// Reads one; `None` for anything that is none of ours.
    pub fn parse(text: &str) -> Option<Cursor> {
        let (epoch, seq) = text.split_once('.')?;
        Some(Cursor { epoch: epoch.to_owned(), seq: seq.parse().ok()? })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.epoch, self.seq)
    }
}

impl Default for Transcript {
    fn default() -> Transcript {
        Transcript { epoch: epoch(0), seq: 0, next: 0, items: Vec::new(), places: HashMap::new() }
    }
}

/// A name that no other transcript has, nor this one had before.
fn epoch(count: u64) -> String {
    RealWorld.id().unwrap_or_else(|_| format!("e{}-{count}", std::process::id()))
}

impl Transcript {
    /// Now.
    pub fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch.clone(), seq: self.seq }
    }

    /// Puts an item at the end, or gives one that is there another body.
    pub fn put(&mut self, id: &str, parent: Option<&str>, body: Body) {
        if let Some(known) = self.find(id) {
            return known.change(body);
        }
        self.seq += 1;
        self.next += 1;
        self.places.insert(id.to_owned(), self.items.len());
        self.items.push(Item {
            id: id.to_owned(),
            at: self.next,
            parent: parent.map(str::to_owned),
            body,
            seq: self.seq,
            sent: None,
        });
    }

    /// Changes an item, if it is there.
    pub fn edit(&mut self, id: &str, work: impl FnOnce(&mut Body)) {
        if let Some(mut known) = self.find(id) {
            known.edit(work);
        }
    }

    /// What an item is.
    pub fn body(&self, id: &str) -> Option<&Body> {
        self.places.get(id).map(|place| &self.items[*place].body)
    }

    /// Whose item it is.
    pub fn parent(&self, id: &str) -> Option<&str> {
        self.places.get(id).and_then(|place| self.items[*place].parent.as_deref())
    }

    /// Puts an item behind all others.
    pub fn move_to_end(&mut self, id: &str) {
        let Some(place) = self.places.get(id).copied() else { return };
        self.seq += 1;
        self.next += 1;
        let item = &mut self.items[place];
        item.at = self.next;
        item.seq = self.seq;
        item.sent = None;
    }

    /// Takes items away. Nobody can be told of that item by item, so another life begins.
    pub fn forget(&mut self, ids: &[String]) {
        let before = self.items.len();
        self.items.retain(|item| !ids.contains(&item.id));
        if self.items.len() == before {
            return;
        }
        self.places = self.items.iter().enumerate().map(|(place, item)| (item.id.clone(), place)).collect();
        self.seq += 1;
        self.epoch = epoch(self.seq);
    }

    /// Everything that changed after this moment, in its order.
    pub fn newer(&mut self, seq: u64) -> Vec<Arc<Sent>> {
        let mut newer: Vec<Arc<Sent>> =
            self.items.iter_mut().filter(|item| item.seq > seq).map(Item::sent).collect();
        newer.sort_by_key(|sent| sent.at);
        newer
    }

    fn find(&mut self, id: &str) -> Option<Known<'_>> {
        let place = self.places.get(id).copied()?;
        Some(Known { item: &mut self.items[place], seq: &mut self.seq })
    }
}

impl Item {
    fn sent(&mut self) -> Arc<Sent> {
        let made = || Arc::new(Sent::new(self.id.clone(), self.at, self.parent.clone(), self.body.clone()));
        Arc::clone(self.sent.get_or_insert_with(made))
    }
}

/// An item and the clock.
struct Known<'t> {
    item: &'t mut Item,
    seq: &'t mut u64,
}

impl Known<'_> {
    fn change(self, body: Body) {
        if self.item.body != body {
            let mut known = self;
            known.edit(|old| *old = body);
        }
    }

    fn edit(&mut self, work: impl FnOnce(&mut Body)) {
        work(&mut self.item.body);
        *self.seq += 1;
        self.item.seq = *self.seq;
        self.item.sent = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::rooms::item::Tone;

    fn notice(text: &str) -> Body {
        Body::Notice { text: text.to_owned(), tone: Tone::Info }
    }

    fn ids(sent: &[Arc<Sent>]) -> Vec<&str> {
        sent.iter().map(|sent| sent.id.as_str()).collect()
    }

    #[test]
    fn who_saw_a_moment_is_sent_what_changed_since_once_and_in_its_newest_form() {
        let mut transcript = Transcript::default();
        for id in ["a", "b", "c"] {
            transcript.put(id, None, notice(id));
        }
        let seen = transcript.cursor();
        transcript.edit("b", |body| *body = notice("1"));
        transcript.edit("b", |body| *body = notice("2"));
        transcript.put("d", Some("a"), notice("d"));
        let newer = transcript.newer(seen.seq);
        assert_eq!(ids(&newer), ["b", "d"]);
        assert_eq!(newer[0].body, notice("2"));
        assert_eq!(newer[1].parent.as_deref(), Some("a"));
        assert!(transcript.newer(transcript.cursor().seq).is_empty());
        transcript.put("b", None, notice("2"));
        assert!(transcript.newer(newer_than(&transcript)).is_empty(), "the same is no change");
    }

    fn newer_than(transcript: &Transcript) -> u64 {
        transcript.cursor().seq
    }

    #[test]
    fn an_item_is_made_ready_once_for_all_who_ask() {
        let mut transcript = Transcript::default();
        transcript.put("a", None, notice("a"));
        let (one, two) = (transcript.newer(0), transcript.newer(0));
        assert!(Arc::ptr_eq(&one[0], &two[0]));
        transcript.edit("a", |body| *body = notice("b"));
        assert!(!Arc::ptr_eq(&one[0], &transcript.newer(0)[0]));
    }

    #[test]
    fn what_is_taken_away_begins_another_life() {
        let mut transcript = Transcript::default();
        transcript.put("a", None, notice("a"));
        transcript.put("b", None, notice("b"));
        let before = transcript.cursor();
        transcript.forget(&["nothing".to_owned()]);
        assert_eq!(transcript.cursor(), before);
        transcript.forget(&["a".to_owned()]);
        assert_ne!(transcript.cursor().epoch, before.epoch);
        assert_eq!(ids(&transcript.newer(0)), ["b"]);
        transcript.edit("b", |body| *body = notice("c"));
        assert_eq!(transcript.body("b"), Some(&notice("c")));
    }

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_nothing_else_is_one() {
        let cursor = Transcript::default().cursor();
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        for bad in ["", "x", "x.", "x.y", "x.-1", "x.99999999999999999999999"] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
    }
}
