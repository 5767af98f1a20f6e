//! The finder with a model from outside: what it is shown, and what people are told when it is not well.
#![allow(clippy::disallowed_methods, reason = "the tests make a vault on disk")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::meaning::Pace;
use crate::meaning::table::Table;
use crate::policy::Scope;
use crate::vault::Vault;

struct Model {
    table: Arc<Table>,
    seen: Mutex<Vec<String>>,
    questions: AtomicUsize,
    away: AtomicBool,
}

impl Embedder for Model {
    fn name(&self) -> &str {
        "outside"
    }

    fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("nobody answers".to_owned()));
        }
        self.seen.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        self.table.embed(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.questions.fetch_add(1, Ordering::SeqCst);
        if self.away.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("nobody answers".to_owned()));
        }
        Ok(self.table.vector(text).to_vec())
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }
}

struct Rig {
    folder: tempfile::TempDir,
    vault: Vault,
    model: Arc<Model>,
}

fn rig(notes: &[(&str, &str)], limits: Limits) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in notes {
        let file = folder.path().join("vault").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let model = Arc::new(Model {
        table: Table::built_in().unwrap(),
        seen: Mutex::default(),
        questions: AtomicUsize::new(0),
        away: AtomicBool::new(false),
    });
    let vault = open(&folder, &model, limits);
    Rig { folder, vault, model }
}

fn open(folder: &tempfile::TempDir, model: &Arc<Model>, limits: Limits) -> Vault {
    let vault = Vault::open(&folder.path().join("vault"), &folder.path().join("data")).unwrap();
    let model = Arc::clone(model);
    let open: OpenEmbedder = Box::new(move || Ok(Arc::clone(&model) as Arc<dyn Embedder>));
    vault.finder().unwrap().use_embedder(open, limits);
    vault
}

fn find(vault: &Vault, text: &str, how: How) -> NotesFound {
    let scope = Scope::new(Limits::default(), vault.rules().unwrap());
    let query = FindQuery { text: text.to_owned(), folder: None, only: None, since_ns: None, limit: 10, how };
    vault.view(&scope).find_notes(&query, 0).unwrap()
}

const NOTES: [(&str, &str); 4] = [
    ("Car.md", "The engine needs new oil."),
    ("Bread.md", "Knead the dough, then bake it."),
    ("Private/Diary.md", "The secret of the engine."),
    (".verger/ignore", "Private/\n"),
];

#[test]
fn ignored_notes_and_notes_outside_the_limits_are_not_shown_to_the_model() {
    let Rig { vault, model, folder: _folder } = rig(&NOTES, Limits::default());
    let found = find(&vault, "motor", How::Meaning);
    assert_eq!(found.notes[0].path.name(), "Car.md");
    assert_eq!((found.caution(), model.questions.load(Ordering::SeqCst)), (None, 1));
    let seen = model.seen.lock().unwrap().join("\n");
    assert!(seen.contains("dough") && !seen.contains("secret"), "{seen}");
    let limits = Limits { read: Limits::parse_list("Bread.md").unwrap(), ..Limits::default() };
    let Rig { vault, model, folder: _folder } = rig(&NOTES, limits);
    find(&vault, "motor", How::Meaning);
    assert_eq!(*model.seen.lock().unwrap(), ["Bread\nKnead the dough, then bake it."]);
}

#[test]
fn rules_that_cannot_be_read_show_the_model_nothing() {
    let Rig { folder, vault, model } = rig(&NOTES, Limits::default());
    std::fs::write(folder.path().join("vault/.verger/ignore"), b"\xff\xfe").unwrap();
    assert!(vault.finder().unwrap().meaning().is_err());
    assert!(model.seen.lock().unwrap().is_empty());
}

#[test]
fn hybrid_asks_the_model_once() {
    let Rig { vault, model, folder: _folder } = rig(&NOTES, Limits::default());
    assert_eq!(find(&vault, "engine", How::Hybrid).notes[0].path.name(), "Car.md");
    assert_eq!(model.questions.load(Ordering::SeqCst), 1);
}

#[test]
fn without_the_model_the_words_are_searched_and_that_is_said() {
    let Rig { vault, model, folder: _folder } = rig(&NOTES, Limits::default());
    model.away.store(true, Ordering::SeqCst);
    for how in [How::Hybrid, How::Meaning] {
        let found = find(&vault, "engine", how);
        assert_eq!(found.notes.len(), 1);
        let caution = found.caution().unwrap();
        assert!(caution.starts_with("searched by words alone: ") && caution.contains("nobody answers"));
    }
    let never: OpenEmbedder = Box::new(|| Err(EmbedError::Model("no such folder".to_owned())));
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("vault")).unwrap();
    std::fs::write(folder.path().join("vault/a.md"), "engine").unwrap();
    let vault = Vault::open(&folder.path().join("vault"), &folder.path().join("data")).unwrap();
    vault.finder().unwrap().use_embedder(never, Limits::default());
    assert!(find(&vault, "engine", How::Meaning).caution().unwrap().contains("no such folder"));
}

fn many(count: usize) -> Vec<(String, String)> {
    (0..count).map(|at| (format!("n{at}.md"), format!("words of note {at}"))).collect()
}

#[test]
fn a_command_that_ends_leaves_many_notes_to_embed_all() {
    let notes = many(100);
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (&**path, &**text)).collect();
    let Rig { folder, vault, model } = rig(&notes, Limits::default());
    let found = find(&vault, "words", How::Hybrid);
    assert_eq!(found.notes.len(), 10);
    assert!(found.caution().unwrap().starts_with("0 of 100 pieces embedded"), "{:?}", found.caution());
    let sees = |path: &VaultPath| path.name() == "n7.md";
    let caution = vault.finder().unwrap().caution(Visible::only(&sees)).unwrap().unwrap();
    assert!(caution.starts_with("0 of 1 pieces embedded"), "only what the asker sees is counted: {caution}");
    assert!(model.seen.lock().unwrap().is_empty());
    let done = vault.finder().unwrap().embed_all().unwrap();
    assert_eq!(
        (done.embedded, done.coverage, done.stopped),
        (100, Coverage { embedded: 100, total: 100 }, None)
    );
    assert_eq!(find(&vault, "words", How::Hybrid).caution(), None);
    drop(vault);
    model.seen.lock().unwrap().clear();
    let vault = open(&folder, &model, Limits::default());
    assert_eq!(find(&vault, "words", How::Hybrid).caution(), None);
    assert!(model.seen.lock().unwrap().is_empty(), "nothing is embedded twice");
}

#[test]
fn a_program_that_stays_embeds_in_the_background() {
    let notes = many(100);
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (&**path, &**text)).collect();
    let Rig { vault, model, folder } = rig(&notes, Limits::default());
    vault.watch(|_| {}).unwrap();
    let wait_for = |count: usize| {
        for _ in 0..500 {
            if model.seen.lock().unwrap().len() == count {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{} of {count} texts were embedded", model.seen.lock().unwrap().len());
    };
    wait_for(100);
    std::fs::write(folder.path().join("vault/new.md"), "one more").unwrap();
    wait_for(101);
}
