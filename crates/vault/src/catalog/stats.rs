//! The vault in numbers, and what was changed last.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::{Catalog, FileInfo, Visible, fold};

/// The vault in numbers, as the asker sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Stats {
    /// Markdown notes.
    pub notes: usize,
    /// Other files.
    pub attachments: usize,
    /// Folders.
    pub folders: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Links and embeds in notes.
    pub links: usize,
    /// Different tags, whatever their case; ancestors that nobody uses by themselves do not count.
    pub tags: usize,
    /// Tasks that are not done.
    pub open_tasks: usize,
    /// Tasks that are done.
    pub done_tasks: usize,
    /// Folders at the top, with the notes in each at any depth.
    pub top_folders: BTreeMap<String, usize>,
}

impl Catalog {
    /// The vault in numbers.
    pub fn stats(&self, visible: Visible<'_>) -> Stats {
        let mut out = Stats { folders: self.folders(visible).count(), ..Stats::default() };
        for folder in self.folders(visible).filter(|folder| folder.parent().path().is_none()) {
            out.top_folders.insert(folder.to_string(), 0);
        }
        let mut spellings = HashSet::new();
        for info in self.files(visible) {
            out.count(info);
            spellings.extend(info.tags.iter().map(|tag| &*tag.name));
        }
        out.tags = spellings.into_iter().map(fold).collect::<HashSet<String>>().len();
        out
    }

    /// The notes changed last, newest first.
    pub fn recent(&self, count: usize, visible: Visible<'_>) -> Vec<&FileInfo> {
        let mut notes: Vec<&FileInfo> = self.notes(visible).collect();
        let newest = |info: &&FileInfo| Reverse(info.stat.modified_ns);
        if count < notes.len() && count > 0 {
            notes.select_nth_unstable_by(count - 1, |a, b| {
                newest(a).cmp(&newest(b)).then(a.path.cmp(&b.path))
            });
        }
        notes.truncate(count);
        notes.sort_by(|a, b| newest(a).cmp(&newest(b)).then(a.path.cmp(&b.path)));
        notes
    }
}

impl Stats {
    fn count(&mut self, info: &FileInfo) {
        self.bytes += info.stat.size;
        if !info.is_note() {
            self.attachments += 1;
            return;
        }
        self.notes += 1;
        self.links += info.links.len();
        self.open_tasks += info.open_tasks as usize;
        self.done_tasks += info.done_tasks as usize;
        let top = info.path.as_str().split_once('/').map(|(top, _)| top);
        if let Some(notes) = top.and_then(|top| self.top_folders.get_mut(top)) {
            *notes += 1;
        }
    }
}
