//! A slow model: nothing waits for it, nothing is sent twice, and what is done stays done.

use super::*;

fn slow(fixture: &str) -> Rig {
    let files = Arc::new(MemoryFiles::parse(fixture).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let model = Counting::with_pace("slow", Pace::Slow);
    let (meaning, report) = open(&files, &folder, &model);
    Rig { files, folder, model, meaning, report }
}

fn coverage(meaning: &Meaning) -> (usize, usize) {
    let Coverage { embedded, total } = meaning.coverage(Visible::all());
    (embedded, total)
}

fn finish(meaning: &Meaning) -> usize {
    let mut sent = 0;
    while let Step::Embedded(count) = meaning.embed_next() {
        sent += count;
    }
    sent
}

#[test]
fn a_search_uses_what_is_embedded_so_far() {
    let Rig { model, meaning, report, .. } = slow(VAULT);
    assert_eq!((report.notes, report.embedded), (5, 0));
    assert!(model.taken().is_empty(), "opening asks the model nothing");
    assert_eq!(coverage(&meaning), (0, 5));
    assert!(found(&meaning, "car", &Filters::default()).is_empty());
    assert_eq!(meaning.embed_next(), Step::Embedded(4));
    assert_eq!(coverage(&meaning), (4, 5));
    assert_eq!(found(&meaning, "car", &Filters::default()).len(), 4);
    assert_eq!(meaning.embed_next(), Step::Embedded(1));
    assert_eq!((meaning.embed_next(), coverage(&meaning)), (Step::Idle, (5, 5)));
    assert_eq!(found(&meaning, "automobile maintenance", &Filters::default())[0], "Car");
}

#[test]
fn the_notes_changed_last_come_first() {
    let Rig { files, model, meaning, .. } = slow(VAULT);
    files.write(&path("Kitchen/Bread.md"), "fresh words");
    meaning.refresh(&[path("Kitchen/Bread.md")]).unwrap();
    meaning.embed_next();
    let first = model.texts.lock().unwrap()[0].clone();
    assert_eq!(first, "Bread\nfresh words");
}

#[test]
fn what_is_counted_is_only_what_the_asker_sees() {
    let Rig { meaning, .. } = slow(VAULT);
    let sees = |path: &VaultPath| path.as_str().starts_with("Kitchen/");
    assert_eq!(meaning.coverage(Visible::only(&sees)), Coverage { embedded: 0, total: 2 });
    finish(&meaning);
    let all = meaning.coverage(Visible::all());
    assert_eq!(all, Coverage { embedded: 5, total: 5 });
}

#[test]
fn an_edit_sends_the_changed_chunk_and_a_move_sends_nothing() {
    let (one, two) = (words(80, "one"), words(80, "two"));
    let Rig { files, model, meaning, .. } = slow(&format!("n.md: # A\n\n{one}\n\n# B\n\n{two}"));
    assert_eq!(finish(&meaning), 2);
    model.taken();
    files.write(&path("n.md"), format!("# A\n\n{one}\n\nnew words\n\n# B\n\n{two}"));
    meaning.refresh(&[path("n.md")]).unwrap();
    assert!(model.taken().is_empty(), "an edit waits for no model");
    assert_eq!((coverage(&meaning), finish(&meaning)), ((1, 2), 1));
    assert_eq!(model.taken(), [format!("n\n# A\n\n{one}\n\nnew words")]);
    files.rename(&path("n.md"), &path("Folder/n.md"));
    meaning.refresh(&[path("n.md"), path("Folder")]).unwrap();
    assert_eq!(finish(&meaning), 0);
    assert_eq!((model.taken().len(), coverage(&meaning)), (0, (2, 2)));
    assert_eq!(found(&meaning, "two", &Filters::default()).len(), 2);
}

#[test]
fn a_killed_process_goes_on_where_it_last_saved() {
    let fixture: Vec<String> = (0..600).map(|at| format!("n{at}.md: words number {at}")).collect();
    let Rig { files, folder, model, meaning, .. } = slow(&fixture.join("\n--- "));
    while coverage(&meaning).0 < 500 {
        meaning.embed_next();
        meaning.save_if_due().unwrap();
    }
    // No farewell: the process dies here.
    drop(meaning);
    model.taken();
    let (meaning, report) = open(&files, &folder, &model);
    assert_eq!((report.notes, coverage(&meaning)), (0, (256, 600)));
    assert_eq!(finish(&meaning), 344);
    meaning.save_rest().unwrap();
    let (meaning, _) = open(&files, &folder, &model);
    assert_eq!((coverage(&meaning), finish(&meaning)), ((600, 600), 0));
}

#[test]
fn a_model_change_keeps_the_other_models_vectors() {
    let Rig { files, folder, model, meaning, .. } = slow(VAULT);
    finish(&meaning);
    meaning.save_rest().unwrap();
    let other = Counting::with_pace("other", Pace::Slow);
    let (changed, report) = open(&files, &folder, &other);
    assert!(report.notice.unwrap().contains("`slow`"));
    assert_eq!(coverage(&changed), (0, 5));
    finish(&changed);
    changed.save_rest().unwrap();
    model.taken();
    let (back, _) = open(&files, &folder, &model);
    assert_eq!((coverage(&back), finish(&back)), ((5, 5), 0));
}

#[test]
fn one_bad_text_costs_itself_only_and_is_named() {
    let Rig { files, model, meaning, .. } =
        slow("a.md: a car\n--- b.md: poison\n--- c.md: a bike\n--- d.md: a boat\n--- e.md: a train");
    finish(&meaning);
    assert_eq!(coverage(&meaning), (4, 5));
    let problems = meaning.problems(Visible::all());
    assert_eq!((problems.len(), &problems[0].0), (1, &path("b.md")));
    model.taken();
    assert_eq!((meaning.embed_next(), model.taken().len()), (Step::Idle, 0), "it is not tried over and over");
    files.write(&path("b.md"), "a plane");
    meaning.refresh(&[path("b.md")]).unwrap();
    assert_eq!(finish(&meaning), 1);
    assert!(meaning.problems(Visible::all()).is_empty());
}

#[test]
fn a_text_of_nothing_is_not_sent_over_and_over() {
    let Rig { meaning, .. } = slow("\u{1f600}.md: \u{1f600}\n--- b.md: a car");
    assert_eq!(finish(&meaning), 2);
    assert_eq!((meaning.embed_next(), meaning.missing()), (Step::Idle, 0));
}

#[test]
fn a_model_that_is_away_is_trouble_until_it_is_back() {
    let Rig { model, meaning, .. } = slow(VAULT);
    model.away.store(true, Ordering::SeqCst);
    assert!(matches!(meaning.embed_next(), Step::Stopped(EmbedError::Unavailable(_))));
    assert!(meaning.trouble().unwrap().contains("gone fishing"));
    assert_eq!(coverage(&meaning), (0, 5));
    model.away.store(false, Ordering::SeqCst);
    assert_eq!(finish(&meaning), 5);
    assert_eq!(meaning.trouble(), None);
}

#[test]
fn one_process_embeds_and_the_other_takes_it_over() {
    let Rig { files, folder, model, meaning, .. } = slow(VAULT);
    let (second, _) = open(&files, &folder, &model);
    let working = meaning.try_to_work().unwrap();
    assert!(working.is_some() && second.try_to_work().unwrap().is_none());
    finish(&meaning);
    meaning.save_rest().unwrap();
    model.taken();
    second.adopt().unwrap();
    assert_eq!((coverage(&second), finish(&second)), ((5, 5), 0));
    assert_eq!(found(&second, "automobile", &Filters::default())[0], "Car");
}

#[test]
fn a_note_that_changes_while_it_is_embedded_is_embedded_anew() {
    let Rig { files, meaning, .. } = slow("a.md: old words");
    files.write(&path("a.md"), "new words");
    assert_eq!(meaning.embed_next(), Step::Embedded(1), "the new text was read, not the counted one");
    assert_eq!(coverage(&meaning), (1, 1));
    files.remove(&path("a.md"));
    meaning.refresh(&[path("a.md")]).unwrap();
    assert_eq!((meaning.embed_next(), coverage(&meaning)), (Step::Idle, (0, 0)));
}
