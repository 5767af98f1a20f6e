//! Answers over the whole vault that are asked again and again. A change of a few files is worked into them.
//!
//! The catalog has one memory for those who see everything; a scope that hides something brings its own
//! ([`super::Visible::remembering`]), so that what one asker may see is never another's answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::changes::Changed;
use super::keys::Id;
use super::tags::TagTable;
use super::{Catalog, TagCount, Visible};

/// Shorter lists of links are found as fast as they are remembered.
pub(super) const LONG: usize = 64;
/// After more changes than this tags are counted anew.
const MOST_CHANGES: usize = 64;
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
    tags: Option<TagTable>,
    links: HashMap<Id, Links>,
    kept: usize,
}

/// A catalog as it was between two changes: which one, and its generation.
pub(super) type State = (u64, u64);

impl Remembered {
    pub(super) fn tags(&self, catalog: &Catalog, visible: Visible<'_>) -> Option<Vec<TagCount>> {
        self.with(catalog, visible, |answers| answers.tags.as_ref().map(TagTable::list))
    }

    pub(super) fn keep_tags(&self, catalog: &Catalog, visible: Visible<'_>, tags: TagTable) {
        self.with(catalog, visible, |answers| answers.tags = Some(tags));
    }

    pub(super) fn links(&self, catalog: &Catalog, visible: Visible<'_>, to: Id) -> Option<Links> {
        self.with(catalog, visible, |answers| answers.links.get(&to).cloned())
    }

    pub(super) fn keep_links(&self, catalog: &Catalog, visible: Visible<'_>, to: Id, links: Links) {
        self.with(catalog, visible, |answers| answers.keep(to, links));
    }

    fn with<T>(&self, catalog: &Catalog, visible: Visible<'_>, act: impl FnOnce(&mut Answers) -> T) -> T {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = catalog.state();
        if answers.state != state {
            let known = answers.state.0 == state.0;
            match catalog.changes.behind(answers.state.1).filter(|_| known) {
                Some(changed) => answers.bring_up_to_date(catalog, visible, &changed),
                None => *answers = Answers::default(),
            }
            answers.state = state;
        }
        act(&mut answers)
    }
}

impl Answers {
    fn keep(&mut self, to: Id, links: Links) {
        if self.kept + links.len() > MOST_LINKS {
            self.links.clear();
            self.kept = 0;
        }
        if links.len() <= MOST_LINKS {
            self.kept += links.len();
            self.links.insert(to, links);
        }
    }

    /// What cannot be brought up to date is forgotten, and found again when somebody asks.
    fn bring_up_to_date(&mut self, catalog: &Catalog, visible: Visible<'_>, changed: &[&Changed]) {
        self.tags = self.tags.take().filter(|_| changed.len() <= MOST_CHANGES).and_then(|mut tags| {
            for one in changed {
                let old = one.old.as_ref().filter(|old| visible.sees(&old.path)).map(|old| &*old.tags);
                let new = catalog.at(one.id).filter(|info| visible.sees(&info.path)).map(|info| &*info.tags);
                tags.exchange(old.unwrap_or_default(), new.unwrap_or_default())?;
            }
            Some(tags)
        });
        let links = std::mem::take(&mut self.links);
        self.kept = 0;
        for (to, links) in links {
            if let Some(links) = catalog.changed_backlinks(to, &links, visible, changed) {
                self.keep(to, links);
            }
        }
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
    use super::*;
    use crate::files::{Files, MemoryFiles};
    use crate::path::VaultPath;
    use proptest::prelude::*;
    use proptest::sample::select;

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
        let (memory, catalog) = (Remembered::default(), Catalog::default());
        let keep = |to: Id, count: usize| {
            memory.keep_links(&catalog, Visible::all(), to, vec![(0, 0); count].into());
        };
        (0..50).for_each(|to| keep(to, MOST_LINKS / 4));
        keep(99, MOST_LINKS + 1);
        let answers = memory.0.lock().unwrap();
        let kept: usize = answers.links.values().map(|links| links.len()).sum();
        assert!(kept <= MOST_LINKS && kept == answers.kept, "{kept}");
    }

    #[test]
    fn a_change_of_one_note_is_worked_in_and_nothing_is_counted_anew() {
        let files = many();
        let mut catalog = Catalog::build(&files).unwrap();
        asked(&catalog, Visible::all());
        files.write(&path("n50.md"), "#t/new [[hub]]");
        catalog.refresh(&files, &[path("n50.md")]).unwrap();
        let to = catalog.order[catalog.place(&path("hub.md")).unwrap()];
        let known = catalog.remembered.links(&catalog, Visible::all(), to).map(|links| links.len());
        assert_eq!(known, Some(189));
        assert!(catalog.remembered.tags(&catalog, Visible::all()).is_some());
        assert_eq!(asked(&catalog, Visible::all()), (189, "t:100 t/u:89 t/secret:10 t/new:1".to_owned()));
    }

    /// What a step does: writes a note, takes one away, or moves one.
    fn step() -> impl Strategy<Value = (u8, usize, usize, String)> {
        let word = select(vec![
            "#t",
            "#T",
            "#t/u",
            "#T/u",
            "#t/U/v",
            "[[hub]]",
            "[[x/hub]]",
            "[[other|hub]]",
            "[hub](hub.md)",
            "#t #T",
            "",
        ]);
        let text = prop::collection::vec(word, 0..5).prop_map(|words| words.join(" "));
        (0u8..8, 0usize..8, 0usize..8, text)
    }

    proptest! {
        // Each step builds a catalog of a hundred notes.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn remembered_answers_are_those_of_a_new_catalog(steps in prop::collection::vec(step(), 1..24)) {
            let files = many();
            let names = ["a.md", "b.md", "hub.md", "x/hub.md", "secret/hub.md", "secret/c.md", "n10.md", "z.md"].map(path);
            let mut catalog = Catalog::build(&files).unwrap();
            let public = |path: &VaultPath| !path.as_str().starts_with("secret");
            let memory = Remembered::default();
            for (at, (what, one, other, text)) in steps.iter().enumerate() {
                let (one, other) = (&names[*one], &names[*other]);
                match what {
                    0 => files.remove(one),
                    1 if files.stat(one).unwrap().is_some() && one != other => {
                        files.remove(other);
                        files.rename(one, other);
                    }
                    _ => files.write(one, text),
                }
                catalog.refresh(&files, &[one.clone(), other.clone()]).unwrap();
                // Sometimes several changes lie between two questions.
                if at % 3 == 1 {
                    continue;
                }
                let new = Catalog::build(&files).unwrap();
                let some = Visible::only(&public);
                for hub in [&names[2], &names[3]] {
                    prop_assert_eq!(catalog.backlinks(hub, Visible::all()), new.backlinks(hub, Visible::all()));
                    prop_assert_eq!(catalog.backlinks(hub, some.remembering(&memory)), new.backlinks(hub, some));
                }
                prop_assert_eq!(catalog.tags(Visible::all()), new.tags(Visible::all()));
                prop_assert_eq!(catalog.tags(some.remembering(&memory)), new.tags(some));
            }
        }
    }
}
