//! A catalog that comes into being while somebody else reads the vault: one walk and one reading of every note for both.
//!
//! `Finder` hands this to the text index when it builds from nothing. If the index turns out to be saved already, nothing
//! is gathered here, and the catalog is built by itself.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use super::info::FileInfo;
use super::intern::Interner;
use super::{Catalog, Live};
use crate::error::Result;
use crate::files::{Entry, Files, Witness};
use crate::finder::Turns;
use crate::path::VaultPath;

/// The catalog of a vault that is being read.
pub(crate) struct Gathering {
    files: Arc<dyn Files>,
    interner: Arc<Interner>,
    seen: Mutex<Seen>,
    turns: Arc<Turns>,
}

#[derive(Default)]
struct Seen {
    infos: Vec<FileInfo>,
    folders: Vec<VaultPath>,
    all: bool,
}

impl Gathering {
    pub(crate) fn new(files: Arc<dyn Files>, turns: Arc<Turns>) -> Gathering {
        Gathering { files, interner: Arc::default(), seen: Mutex::default(), turns }
    }

    /// The catalog, from what was seen if that was all, else read now.
    pub(crate) fn finish(self) -> Result<Live> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !seen.all {
            return Live::build_in_turn(self.files, &self.turns);
        }
        let catalog = Catalog::of(seen.infos, seen.folders, self.interner);
        Ok(Live::of(self.files, catalog))
    }
}

impl Witness for Gathering {
    fn start(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Seen::default();
    }

    fn turn(&self) {
        self.turns.wait();
    }

    fn folder(&self, path: VaultPath) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).folders.push(path);
    }

    fn file(&self, entry: &Entry, bytes: Option<&[u8]>) {
        let info = FileInfo::read(entry.clone(), &self.interner, |path| match bytes {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => self.files.read(path).map(Cow::Owned),
        });
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).infos.push(info);
    }

    fn end(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).all = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Visible;
    use crate::files::MemoryFiles;
    use crate::index::TextIndex;

    #[test]
    fn what_was_gathered_equals_what_is_read_alone() {
        let files: Arc<dyn Files> = Arc::new(
            MemoryFiles::parse(
                "a.md: # A\n[[b]] #t/u\n- [ ] x\n--- x/y/b.md:\n---\nk: v\n---\n--- e/:\n--- pic.png: 1",
            )
            .unwrap(),
        );
        let folder = tempfile::tempdir().unwrap();
        let gathered = || {
            let gathering = Gathering::new(Arc::clone(&files), Arc::default());
            let nothing = |_| ();
            TextIndex::open_or_build_before(Arc::clone(&files), folder.path(), &nothing, &gathering).unwrap();
            let all = gathering.seen.lock().unwrap().all;
            (all, gathering.finish().unwrap())
        };
        let alone = Live::build(Arc::clone(&files)).unwrap();
        for expected in [true, false] {
            let (all, live) = gathered();
            assert_eq!(all, expected, "the second time the index is there already");
            let (live, alone) = (live.read(), alone.read());
            let visible = Visible::all();
            assert_eq!(live.files(visible).collect::<Vec<_>>(), alone.files(visible).collect::<Vec<_>>());
            assert_eq!(live.folders(visible).collect::<Vec<_>>(), alone.folders(visible).collect::<Vec<_>>());
            let b = VaultPath::parse("x/y/b.md").unwrap();
            assert_eq!(live.backlinks(&b, visible), alone.backlinks(&b, visible));
        }
    }
}
