//! What people see of the search by meaning, and that only what changed is embedded.

mod evaluation;
mod slow;

use std::sync::atomic::{AtomicBool, Ordering};

use super::table::Table;
use super::*;
use crate::catalog::{Catalog, Match};
use crate::files::MemoryFiles;
use crate::path::VaultFolder;

const VAULT: &str = "Kitchen/Pasta.md: # Pasta\n\nBoil the noodles in salted water and stir the tomato sauce.\n\
    --- Kitchen/Bread.md: # Bread\n\nKnead flour, water and yeast, let the dough rise, then bake it in the oven. #baking\n\
    --- Garage/Car.md: # Car\n\n## Engine\n\nThe motor needs new oil and the brakes were repaired by the mechanic. #todo/car\n\
    --- Health/Sleep.md: ---\ntags: [todo]\n---\n# Sleep\n\nInsomnia keeps me awake at night, I feel tired in the morning.\n\
    --- empty.md: \n--- picture.png: x";

/// Counts what it embeds; fails at texts with `poison`, and at everything while it is away.
struct Counting {
    table: Arc<Table>,
    name: &'static str,
    texts: Mutex<Vec<String>>,
    away: AtomicBool,
    pace: Pace,
}

impl Counting {
    fn new(name: &'static str) -> Arc<Counting> {
        Counting::with_pace(name, Pace::Quick)
    }

    fn with_pace(name: &'static str, pace: Pace) -> Arc<Counting> {
        let table = Table::built_in().unwrap();
        Arc::new(Counting { table, name, texts: Mutex::default(), away: AtomicBool::new(false), pace })
    }

    fn taken(&self) -> Vec<String> {
        let mut texts = std::mem::take(&mut *self.texts.lock().unwrap());
        texts.sort();
        texts
    }
}

impl Embedder for Counting {
    fn name(&self) -> &str {
        self.name
    }

    fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("gone fishing".to_owned()));
        }
        if texts.iter().any(|text| text.contains("poison")) {
            return Err(EmbedError::Text("too bitter".to_owned()));
        }
        self.texts.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        self.table.embed(texts)
    }

    fn pace(&self) -> Pace {
        self.pace
    }

    fn batch(&self) -> usize {
        4
    }
}

struct Rig {
    files: Arc<MemoryFiles>,
    folder: tempfile::TempDir,
    model: Arc<Counting>,
    meaning: Meaning,
    report: Report,
}

fn rig(fixture: &str) -> Rig {
    let files = Arc::new(MemoryFiles::parse(fixture).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let model = Counting::new("counting");
    let (meaning, report) = open(&files, &folder, &model);
    Rig { files, folder, model, meaning, report }
}

fn open(files: &Arc<MemoryFiles>, folder: &tempfile::TempDir, model: &Arc<Counting>) -> (Meaning, Report) {
    Meaning::open_or_build(files.clone(), folder.path(), model.clone(), &|_| {}).unwrap()
}

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn found(meaning: &Meaning, query: &str, filters: &Filters) -> Vec<String> {
    let hits = meaning.search(query, filters, 10, Visible::all()).unwrap();
    hits.iter().map(|hit| hit.path.stem().to_owned()).collect()
}

fn words(count: usize, word: &str) -> String {
    vec![word; count].join(" ")
}

#[test]
fn it_can_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Meaning>();
}

#[test]
fn the_nearest_meaning_comes_first() {
    let Rig { meaning, .. } = rig(VAULT);
    for (query, first) in [
        ("how to cook noodles", "Pasta"),
        ("automobile maintenance", "Car"),
        ("cannot fall asleep", "Sleep"),
        ("making dough", "Bread"),
    ] {
        assert_eq!(found(&meaning, query, &Filters::default())[0], first, "{query}");
    }
}

#[test]
fn a_hit_shows_where_and_what() {
    let Rig { meaning, files, .. } = rig(VAULT);
    let hit = meaning.search("car mechanic", &Filters::default(), 1, Visible::all()).unwrap().remove(0);
    assert_eq!(hit.heading, ["Car", "Engine"]);
    assert_eq!(
        hit.excerpt,
        "The motor needs new oil and the brakes were repaired by the mechanic. #todo/car"
    );
    let text = String::from_utf8(files.read(&hit.path).unwrap()).unwrap();
    assert!(text[hit.span].starts_with("# Car\n\n## Engine"));
    assert!(hit.score > 0.3 && hit.score <= 1.01);
}

#[test]
fn nothing_is_near_to_nothing() {
    let Rig { meaning, .. } = rig(VAULT);
    for query in ["", " \n", "\u{1f600}"] {
        assert!(found(&meaning, query, &Filters::default()).is_empty(), "{query:?}");
    }
    assert!(meaning.search("car", &Filters::default(), 0, Visible::all()).unwrap().is_empty());
}

#[test]
fn filters_come_before_the_search() {
    let Rig { meaning, files, .. } = rig(VAULT);
    let catalog = Catalog::build(&*files).unwrap();
    let tagged = |tags: &[&str], wanted| Filters::default().tagged(&catalog, tags, wanted, Visible::all());
    let sorted = |filters: &Filters| {
        let mut found = found(&meaning, "car", filters);
        found.sort();
        found.join(" ")
    };
    let kitchen = Filters { folders: vec![VaultFolder::from(path("Kitchen"))], ..Filters::default() };
    assert_eq!(sorted(&kitchen), "Bread Pasta");
    assert_eq!(sorted(&kitchen.clone().tagged(&catalog, &["baking"], Match::Any, Visible::all())), "Bread");
    assert_eq!(sorted(&tagged(&["#todo"], Match::Any)), "Car Sleep");
    assert_eq!(sorted(&tagged(&["todo", "todo/car"], Match::All)), "Car");
    assert_eq!(sorted(&tagged(&["nothing"], Match::Any)), "");
    let sleep = files.stat(&path("Health/Sleep.md")).unwrap().unwrap().stat.modified_ns;
    assert_eq!(sorted(&Filters { since_ns: Some(sleep), ..Filters::default() }), "Sleep empty");
}

#[test]
fn what_may_not_be_seen_is_not_there() {
    let Rig { meaning, .. } = rig(VAULT);
    let sees = |path: &VaultPath| !path.as_str().starts_with("Garage/");
    let visible = Visible::only(&sees);
    let hits = meaning.search("car mechanic", &Filters::default(), 10, visible).unwrap();
    assert_eq!(hits.len(), 4);
    assert!(hits.iter().all(|hit| sees(&hit.path)));
    let scores =
        meaning.scores("car mechanic", &Filters::default(), 10, &[path("Garage/Car.md")], visible).unwrap();
    assert_eq!((scores.notes.len(), scores.spread.count), (4, 4));
    assert!(meaning.similar_to(&path("Garage/Car.md"), 10, visible).is_empty());
    assert_eq!(meaning.similar_to(&path("Kitchen/Bread.md"), 10, visible).len(), 3);
}

#[test]
fn few_visible_notes_among_many_are_found() {
    let mut fixture = String::from("own.md: the engine");
    for number in 0..3_000 {
        fixture.push_str(&format!("\n--- hidden/{number}.md: car engine and mechanic"));
    }
    let Rig { meaning, .. } = rig(&fixture);
    let sees = |path: &VaultPath| path.name() == "own.md";
    let visible = Visible::only(&sees);
    let hits = meaning.search("car mechanic", &Filters::default(), 10, visible).unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(meaning.scores("car", &Filters::default(), 10, &[], visible).unwrap().spread.count, 1);
    assert_eq!(meaning.scores("car", &Filters::default(), 10, &[], Visible::all()).unwrap().notes.len(), 10);
}

#[test]
fn one_note_does_not_fill_the_page() {
    let section =
        |at: usize| format!("# Part {at}\n\nThe mechanic repairs the car. {}\n\n", words(50, "engine"));
    let long: String = (0..100).map(section).collect();
    let Rig { meaning, .. } = rig(&format!("Long.md: {long}\n--- Other.md: planting tomatoes"));
    assert_eq!(found(&meaning, "car engine", &Filters::default()), ["Long", "Long", "Other"]);
}

#[test]
fn similar_notes_are_like_the_whole_note() {
    let Rig { meaning, .. } = rig(VAULT);
    let similar = meaning.similar_to(&path("Kitchen/Pasta.md"), 2, Visible::all());
    assert_eq!(similar[0].0, path("Kitchen/Bread.md"));
    assert_eq!(similar.len(), 2);
    assert!(meaning.similar_to(&path("missing.md"), 2, Visible::all()).is_empty());
}

#[test]
fn scores_of_ranked_notes_are_exact() {
    let Rig { meaning, .. } = rig(VAULT);
    let all = meaning.scores("bake bread", &Filters::default(), 10, &[], Visible::all()).unwrap();
    let also = [path("Garage/Car.md"), path("missing.md")];
    let few = meaning.scores("bake bread", &Filters::default(), 1, &also, Visible::all()).unwrap();
    assert_eq!(few.notes.len(), 2);
    assert!(few.notes.iter().all(|note| all.notes.contains(note)));
    assert_eq!(few.spread, all.spread);
    let spread = fuse::Spread::of([5.0], few.spread.count);
    let words = Scores { notes: vec![(path("Garage/Car.md"), 5.0)], spread };
    let fused = fuse::fuse(&words, &few, fuse::WEIGHT);
    assert_eq!(fused.len(), 2);
}

#[test]
fn a_second_start_embeds_nothing() {
    let Rig { files, folder, model, meaning, report } = rig(VAULT);
    assert_eq!((report.notes, report.embedded, report.failed), (5, 5, 0));
    let before = found(&meaning, "bake bread", &Filters::default());
    model.taken();
    let (meaning, report) = open(&files, &folder, &model);
    assert_eq!((report.notes, report.embedded, report.notice), (0, 0, None));
    assert_eq!(found(&meaning, "bake bread", &Filters::default()), before);
    assert_eq!(model.taken(), ["bake bread"]);
}

#[test]
fn an_edit_embeds_only_the_chunks_that_changed() {
    let (one, two) = (words(80, "one"), words(80, "two"));
    let Rig { files, model, meaning, .. } = rig(&format!("n.md: # A\n\n{one}\n\n# B\n\n{two}"));
    model.taken();
    files.write(&path("n.md"), format!("# A\n\n{one}\n\nnew words\n\n# B\n\n{two}"));
    let report = meaning.refresh(&[path("n.md")]).unwrap();
    assert_eq!((report.embedded, report.kept), (1, 1));
    assert_eq!(model.taken(), [format!("n\n# A\n\n{one}\n\nnew words")]);
    // The chunk that stayed has moved.
    let hit = meaning.search("two", &Filters::default(), 1, Visible::all()).unwrap().remove(0);
    assert_eq!(hit.heading, ["B"]);
}

#[test]
fn refresh_equals_rebuild() {
    let Rig { files, folder, model, meaning, .. } = rig(VAULT);
    files.write(&path("Garage/Bike.md"), "The bicycle chain is rusty.");
    files.rename(&path("Kitchen"), &path("Food/Kitchen"));
    files.remove(&path("Health"));
    files.write(&path("Garage/Car.md"), "Sold the car.");
    let changed = ["Garage", "Kitchen", "Food", "Health/Sleep.md", "picture.png", ".hidden/x.md"].map(path);
    meaning.refresh(&changed).unwrap();
    let fresh = tempfile::tempdir().unwrap();
    let (rebuilt, _) = open(&files, &fresh, &model);
    let (caught_up, report) = open(&files, &folder, &model);
    assert_eq!(report.removed, 3);
    for query in ["car", "bread", "bicycle", "sleep"] {
        let expected = rebuilt.search(query, &Filters::default(), 10, Visible::all()).unwrap();
        for other in [&meaning, &caught_up] {
            assert_eq!(other.search(query, &Filters::default(), 10, Visible::all()).unwrap(), expected);
        }
    }
    assert_eq!(rebuilt.size(), meaning.size());
}

#[test]
fn another_model_embeds_everything_again_and_says_so() {
    let Rig { files, folder, .. } = rig(VAULT);
    let better = Counting::new("better");
    let seen = Mutex::new(Vec::new());
    let progress = |progress: Progress| seen.lock().unwrap().push((progress.done, progress.total));
    let (_, report) =
        Meaning::open_or_build(files.clone(), folder.path(), better.clone(), &progress).unwrap();
    assert_eq!(report.embedded, 5);
    assert!(report.notice.unwrap().contains("`counting`"));
    assert_eq!(*seen.lock().unwrap(), [(0, 5), (5, 5)]);
    let (_, report) = open(&files, &folder, &better);
    assert_eq!((report.embedded, report.notice), (0, None));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test damages the saved vectors")]
fn damage_is_noticed_and_heals() {
    let Rig { files, folder, model, meaning, .. } = rig(VAULT);
    let before = meaning.search("car", &Filters::default(), 10, Visible::all()).unwrap();
    let file = saved::file_path(folder.path(), "counting");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (healed, report) = open(&files, &folder, &model);
    assert!(report.notice.unwrap().contains("damaged"));
    assert_eq!(healed.search("car", &Filters::default(), 10, Visible::all()).unwrap(), before);
    let (_, report) = open(&files, &folder, &model);
    assert_eq!((report.embedded, report.notice), (0, None));
}

#[test]
fn a_note_that_cannot_be_embedded_is_named_until_it_can() {
    let Rig { files, meaning, report, .. } = rig("good.md: a car\n--- bad.md: poison");
    assert_eq!((report.failed, report.stopped), (1, None));
    let problems = meaning.problems(Visible::all());
    assert_eq!(problems[0].0, path("bad.md"));
    assert!(problems[0].1.contains("too bitter"));
    assert!(meaning.problems(Visible::only(&|path| path.name() != "bad.md")).is_empty());
    files.write(&path("bad.md"), "a bike");
    meaning.refresh(&[path("bad.md")]).unwrap();
    assert!(meaning.problems(Visible::all()).is_empty());
    assert_eq!(found(&meaning, "bike", &Filters::default())[0], "bad");
}

#[test]
fn a_model_that_goes_away_stops_the_catch_up_and_is_tried_again() {
    let Rig { files, model, meaning, .. } = rig("a.md: a car");
    files.write(&path("b.md"), "a bike");
    model.away.store(true, Ordering::SeqCst);
    let report = meaning.catch_up(&|_| {}).unwrap();
    assert!(matches!(report.stopped, Some(EmbedError::Unavailable(_))));
    assert!(meaning.search("bike", &Filters::default(), 10, Visible::all()).is_err());
    model.away.store(false, Ordering::SeqCst);
    assert_eq!(meaning.catch_up(&|_| {}).unwrap().embedded, 1);
    assert!(meaning.problems(Visible::all()).is_empty());
}

#[test]
fn edits_get_through_while_a_catch_up_runs() {
    let mut fixture = String::from("edited.md: old words");
    for number in 0..1_000 {
        fixture.push_str(&format!("\n--- notes/{number}.md: words"));
    }
    let files = Arc::new(MemoryFiles::parse(&fixture).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let meaning = Meaning::open(files.clone(), folder.path(), Counting::new("counting")).unwrap();
    let progress = |_: Progress| {
        if meaning.size().0 > 0 {
            files.write(&path("edited.md"), "the volcano erupts");
            meaning.refresh(&[path("edited.md")]).unwrap();
        }
    };
    meaning.catch_up(&progress).unwrap();
    assert_eq!(meaning.size().0, 1_001);
    assert_eq!(found(&meaning, "volcano", &Filters::default())[0], "edited");
}

#[test]
fn an_excerpt_is_one_short_line() {
    assert_eq!(excerpt("# Head\n\none\ntwo  three\n"), "one two three");
    assert_eq!(excerpt("# Head"), "# Head");
    assert_eq!(excerpt(""), "");
    let long = excerpt(&words(200, "中文"));
    assert!((200..=241).contains(&long.chars().count()));
    assert!(long.ends_with('…'));
}
