//! Answers over the whole vault that are asked again and again, kept until the catalog changes.
//!
//! The catalog has one memory for those who see everything; a scope that hides something brings its own
//! ([`super::Visible::remembering`]), so that what one asker may see is never another's answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::TagCount;
use super::keys::Id;

/// Shorter lists of links are found as fast as they are remembered.
pub(super) const LONG: usize = 64;
/// How many links are kept in all; then the memory starts anew.
const MOST_LINKS: usize = 1 << 16;

/// The notes and the places of their links that lead to one file.
pub(super) type Links = Arc<[(Id, u32)]>;

/// The answers of one asker.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    /// Which catalog they are about.
    state: State,
    tags: Option<Arc<[TagCount]>>,
    links: HashMap<Id, Links>,
    kept: usize,
}

/// A catalog as it was between two changes: which one, and its generation.
pub(super) type State = (u64, u64);

impl Remembered {
    pub(super) fn tags(&self, state: State) -> Option<Arc<[TagCount]>> {
        self.with(state, |answers| answers.tags.clone())
    }

    pub(super) fn keep_tags(&self, state: State, tags: Arc<[TagCount]>) {
        self.with(state, |answers| answers.tags = Some(tags));
    }

    pub(super) fn links(&self, state: State, to: Id) -> Option<Links> {
        self.with(state, |answers| answers.links.get(&to).cloned())
    }

    pub(super) fn keep_links(&self, state: State, to: Id, links: Links) {
        self.with(state, |answers| {
            if answers.kept + links.len() > MOST_LINKS {
                answers.links.clear();
                answers.kept = 0;
            }
            if links.len() <= MOST_LINKS {
                answers.kept += links.len();
                answers.links.insert(to, links);
            }
        });
    }

    fn with<T>(&self, state: State, act: impl FnOnce(&mut Answers) -> T) -> T {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.state != state {
            *answers = Answers { state, ..Answers::default() };
        }
        act(&mut answers)
    }
}

/// The number of a catalog: a memory that outlives one must not answer for the next.
#[derive(Debug)]
pub(super) struct Number(pub(super) u64);

impl Default for Number {
    fn default() -> Number {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Number(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Catalog, Visible};
    use super::*;
    use crate::files::MemoryFiles;
    use crate::path::VaultPath;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    /// A hub to which more notes link than are found anew each time, ten of them hidden.
    fn many() -> MemoryFiles {
        let files = MemoryFiles::parse("hub.md: x").unwrap();
        for number in 0..90 {
            files.write(&path(&format!("n{number:02}.md")), "#t/u [[hub]] [[other]] [[hub]]");
        }
        for number in 0..10 {
            files.write(&path(&format!("secret/s{number}.md")), "#t/secret [[hub]]");
        }
        files
    }

    fn asked(catalog: &Catalog, visible: Visible<'_>) -> (usize, String) {
        let links = catalog.backlinks(&path("hub.md"), visible);
        assert!(links.iter().all(|back| &*back.link.target == "hub" && visible.sees(back.from)));
        assert!(links.is_sorted_by(|a, b| (a.from, a.link.line) <= (b.from, b.link.line)));
        let tags = catalog.tags(visible);
        let shown = tags.iter().map(|tag| format!("{}:{}", tag.name, tag.files));
        (links.len(), shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_remembered_answer_ends_with_the_next_change() {
        let files = many();
        let mut catalog = Catalog::build(&files).unwrap();
        for _ in 0..2 {
            assert_eq!(asked(&catalog, Visible::all()), (190, "t:100 t/u:90 t/secret:10".to_owned()));
        }
        files.write(&path("n00.md"), "#new");
        catalog.refresh(&files, &[path("n00.md")]).unwrap();
        for _ in 0..2 {
            assert_eq!(asked(&catalog, Visible::all()), (188, "t:99 t/u:89 t/secret:10 new:1".to_owned()));
        }
    }

    #[test]
    fn what_one_may_see_is_no_answer_for_another() {
        let catalog = Catalog::build(&many()).unwrap();
        let public = |path: &VaultPath| !path.as_str().starts_with("secret");
        let memory = Remembered::default();
        for _ in 0..3 {
            assert_eq!(asked(&catalog, Visible::all()).0, 190);
            let some = Visible::only(&public);
            for some in [some, some.remembering(&memory)] {
                assert_eq!(asked(&catalog, some), (180, "t:90 t/u:90".to_owned()));
            }
        }
        let other = Catalog::build(&MemoryFiles::parse("hub.md: #x").unwrap()).unwrap();
        let some = Visible::only(&public).remembering(&memory);
        assert_eq!(asked(&other, some), (0, "x:1".to_owned()), "another catalog of the same age");
    }

    #[test]
    fn the_memory_of_links_stays_small() {
        let memory = Remembered::default();
        let links: Links = vec![(0, 0); MOST_LINKS / 4].into();
        (0..50).for_each(|to| memory.keep_links((1, 1), to, Arc::clone(&links)));
        memory.keep_links((1, 1), 99, vec![(0, 0); MOST_LINKS + 1].into());
        let answers = memory.0.lock().unwrap();
        let kept: usize = answers.links.values().map(|links| links.len()).sum();
        assert!(kept <= MOST_LINKS && kept == answers.kept, "{kept}");
    }
}
