//! The whole index over vaults in memory: the same answers as the scanner, whatever was changed before.

use proptest::prelude::*;
use proptest::sample::select;

mod ranking;

use super::*;
use crate::files::MemoryFiles;
use crate::path::VaultFolder;
use crate::search::{Case, Pattern};

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

struct Rig {
    files: Arc<MemoryFiles>,
    folder: tempfile::TempDir,
}

impl Rig {
    fn new(fixture: &str) -> Rig {
        Rig { files: Arc::new(MemoryFiles::parse(fixture).unwrap()), folder: tempfile::tempdir().unwrap() }
    }

    fn open(&self) -> TextIndex {
        TextIndex::open_or_build(Arc::clone(&self.files) as Arc<dyn Files>, self.folder.path(), &|_| ())
            .unwrap()
    }

    fn scan(&self, query: &Query, visible: Visible<'_>) -> Result<Found> {
        let mut paths = Vec::new();
        self.files
            .walk(&mut |entry| {
                if entry.kind == Kind::File && visible.sees(&entry.path) {
                    paths.push(entry.path);
                }
            })
            .unwrap();
        search::search(&*self.files, &paths, query)
    }
}

/// The files of a fixture as one segment.
pub(super) fn segment_of(fixture: &str, keep: batch::Keep<'_>) -> segment::Segment {
    let files = MemoryFiles::parse(fixture).unwrap();
    let mut entries = Vec::new();
    files.walk(&mut |entry| entries.push(entry)).unwrap();
    entries.retain(|entry| entry.kind == Kind::File);
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    batch::index(&files, &entries, &mut batch::Batch::default(), &Nobody, keep).unwrap()
}

fn literal(text: &str) -> Query {
    Query::new(Pattern::Literal(text.to_owned()))
}

fn regex(text: &str) -> Query {
    Query::new(Pattern::Regex(text.to_owned()))
}

const VAULT: &str = "a.md: # Amber lattice\nthe Amber lattice protocol, twice: amber lattice  protocol\n\
    --- x/b.md: cat concat (cat) #cat/one ÉTÉ été\r\nsecond line\n--- x/c.canvas: {\"text\": \"amber\"}\n--- d.md: ";

#[track_caller]
fn check(rig: &Rig, index: &TextIndex, query: &Query) {
    let visible = Visible::all();
    assert_eq!(index.search(query, visible).unwrap(), rig.scan(query, visible).unwrap(), "{query:?}");
}

#[test]
fn equal_to_the_scanner_on_rows() {
    let rig = Rig::new(VAULT);
    rig.files.write(&path("pic.png"), b"amber\0");
    rig.files.write(&path("latin.md"), b"caf\xe9 amber \xff\xfe lattice");
    let index = rig.open();
    let rows = [
        "amber",
        "mber latt",
        "lattice protocol",
        "lattice  protocol",
        "protocol,",
        ", twice",
        " the",
        "cat",
        "(cat)",
        "#cat",
        "été",
        "É",
        "\"text\"",
        "nothing",
        " ",
        "  ",
        ":",
        "a",
        "second line",
        "line\nx",
        "caf",
        "cat concat (cat) #",
    ];
    for text in rows {
        for whole_word in [false, true] {
            for case in [Case::Ignore, Case::Exact] {
                check(&rig, &index, &Query { whole_word, case, ..literal(text) });
            }
        }
    }
    for text in [
        "amb.r",
        "^the",
        "protocol$",
        r"\bcat\b",
        "cat|lattice",
        "(?i)AMBER",
        "x?y?",
        r"l.*l",
        "^$",
        "[[:upper:]]m",
    ] {
        check(&rig, &index, &regex(text));
        check(&rig, &index, &Query { case: Case::Exact, whole_word: true, ..regex(text) });
    }
    let in_x = Some(VaultFolder::parse("x").unwrap());
    check(&rig, &index, &Query { folder: in_x, ..literal("amber") });
    check(&rig, &index, &Query { glob: Some("*.md".into()), ..literal("a") });
    assert_eq!(index.take_events(), [Event::Built { files: 6 }]);
    assert_eq!(index.search(&regex("("), Visible::all()).unwrap_err().reason(), "regex_invalid");
}

#[test]
fn what_may_not_be_seen_is_nowhere() {
    let rig = Rig::new(VAULT);
    rig.files.write(&path("x/pic.png"), b"amber\0");
    let index = rig.open();
    let sees = |path: &VaultPath| !path.as_str().starts_with("x/");
    for query in [literal("amber"), literal("cat"), regex("a.*b"), literal(" ")] {
        let visible = Visible::only(&sees);
        let found = index.search(&query, visible).unwrap();
        assert_eq!(found, rig.scan(&query, visible).unwrap());
        assert!(found.files_skipped.is_empty());
    }
}

#[test]
fn a_remembered_sight_follows_the_vault() {
    let rig = Rig::new(VAULT);
    let index = rig.open();
    let asked = std::cell::Cell::new(0);
    let sees = |path: &VaultPath| {
        asked.set(asked.get() + 1);
        !path.as_str().starts_with("x/")
    };
    let (visible, sight) = (Visible::only(&sees), Sight::default());
    let steps =
        [("a.md", "amber again"), ("x/new.md", "amber hidden"), ("new.md", "amber\namber"), ("a.md", "gone")];
    for (name, text) in steps {
        rig.files.write(&path(name), text);
        index.refresh(&[path(name)]).unwrap();
        for query in [literal("amber"), Query { glob: Some("*.md".into()), ..literal("a") }] {
            let expected = rig.scan(&query, visible).unwrap();
            asked.set(0);
            assert_eq!(index.search_as(&query, visible, &sight).unwrap(), expected);
        }
        assert_eq!(asked.get(), 0, "the second question of a step asks nobody");
    }
}

#[test]
fn pages_make_up_the_whole() {
    let rig = Rig::new("a.md: x\nx\n--- b.md: x\n--- c.md: x\nx\nx");
    let index = rig.open();
    for limit in 1..8 {
        let mut query = Query { limit, ..literal("x") };
        loop {
            check(&rig, &index, &query);
            let Some(next) = index.search(&query, Visible::all()).unwrap().next else { break };
            query.after = Some(next);
        }
    }
}

#[test]
fn a_second_opening_reads_what_the_first_saved() {
    let rig = Rig::new(VAULT);
    assert_eq!(rig.open().stats().texts, 4);
    rig.files.write(&path("d.md"), "amber now");
    let index = rig.open();
    assert_eq!(index.take_events(), []);
    check(&rig, &index, &literal("amber"));
    assert_eq!((index.stats().segments, index.stats().texts), (2, 4));
    index.save().unwrap();
    assert_eq!(index.stats().bytes_in_memory, 0);
    check(&rig, &rig.open(), &literal("amber"));
}

fn shown(ranked: &Ranked) -> String {
    let mut out = format!("{} notes", ranked.total);
    for (word, instead) in &ranked.corrected {
        out += &format!("; {word} -> {}", instead.join(", "));
    }
    for hit in &ranked.hits {
        out += &format!("\n{:.2} {} ({})", hit.score, hit.path, hit.title);
        for snippet in &hit.snippets {
            let mut text = snippet.text.clone();
            for mark in snippet.marks.iter().rev() {
                text.insert(mark.end, '>');
                text.insert(mark.start, '<');
            }
            out += &format!("\n    {}: {text}", snippet.line);
        }
    }
    out
}

#[track_caller]
fn check_ranked(fixture: &str, query: &RankedQuery, visible: Visible<'_>, expected: expect_test::Expect) {
    let rig = Rig::new(fixture);
    expected.assert_eq(&shown(&rig.open().ranked(query, visible, 0).unwrap()));
}

const NOTES: &str = "Amber.md: # Stones\nOld resin is amber.\n--- list.md: amber amber amber, and much else besides in a list\n\
    --- head.md: # Resin\n## Amber\ntext\n--- tags.md: text #amber/old\n--- front.md: ---\naliases: [Amber room]\n---\ntext\n\
    --- other.md: nothing here but lattices\n--- both.md: an amber lattice, far away";

#[test]
fn titles_and_aliases_count_more_than_text() {
    check_ranked(
        NOTES,
        &RankedQuery::new("amber "),
        Visible::all(),
        expect_test::expect![[r#"
            6 notes
            0.39 Amber.md (Stones)
                2: Old resin is <amber>.
            0.38 front.md (front)
                2: aliases: [<Amber> room]
            0.36 head.md (Resin)
                2: ## <Amber>
            0.36 tags.md (tags)
                1: text #<amber>/old
            0.27 list.md (list)
                1: <amber> <amber> <amber>, and much else besides in a list
            0.21 both.md (both)
                1: an <amber> lattice, far away"#]],
    );
}

#[test]
fn a_note_with_all_the_words_comes_first() {
    check_ranked(
        NOTES,
        &RankedQuery { limit: 2, ..RankedQuery::new("amber lat") },
        Visible::all(),
        expect_test::expect![[r#"
            7 notes
            0.95 both.md (both)
                1: an <amber> <lattice>, far away
            0.75 other.md (other)
                1: nothing here but <lattices>"#]],
    );
}

#[test]
fn other_forms_of_a_word_are_found_and_marked() {
    check_ranked(
        "a.md: He embedded two boxes\n--- b.md: a box to embed\n--- c.md: emblem",
        &RankedQuery::new("embeddings box."),
        Visible::all(),
        expect_test::expect![[r#"
            2 notes
            0.67 b.md (b)
                1: a <box> to <embed>
            0.52 a.md (a)
                1: He <embedded> two <boxes>"#]],
    );
    let index = Rig::new("a.md: categories\n--- hidden.md: category").open();
    let sees = |path: &VaultPath| path.as_str() == "a.md";
    let found = index.ranked(&RankedQuery::new("category "), Visible::only(&sees), 0).unwrap();
    assert_eq!((found.total, found.hits.len(), found.corrected.len()), (1, 1, 0));
}

#[test]
fn files_that_are_asked_for_are_scored_beside_the_best() {
    let index = Rig::new("a.md: amber amber\n--- b.md: amber and more\n--- c.md: stone").open();
    let also = vec![path("a.md"), path("b.md"), path("c.md"), path("gone.md")];
    let all = index.ranked(&RankedQuery::new("amber "), Visible::all(), 0).unwrap();
    let one = RankedQuery { limit: 1, also, ..RankedQuery::new("amber ") };
    let found = index.ranked(&one, Visible::all(), 0).unwrap();
    assert_eq!(found.also, [(all.hits[1].path.clone(), all.hits[1].score)]);
    assert_eq!((found.spread, found.spread.count), (all.spread, 3));
    let sees = |path: &VaultPath| path.as_str() != "b.md";
    assert!(index.ranked(&one, Visible::only(&sees), 0).unwrap().also.is_empty());
}

#[test]
fn a_word_that_nobody_wrote_is_taken_for_its_neighbour() {
    check_ranked(
        NOTES,
        &RankedQuery::new("lattise "),
        Visible::all(),
        expect_test::expect![[r#"
        1 notes; lattise -> lattice
        1.07 both.md (both)
            1: an amber <lattice>, far away"#]],
    );
    let sees = |path: &VaultPath| path.as_str() != "both.md";
    check_ranked(NOTES, &RankedQuery::new("lattise "), Visible::only(&sees), expect_test::expect!["0 notes"]);
}

#[test]
fn scripts_without_spaces_are_searched_inside() {
    check_ranked(
        "j.md: 全文検索エンジン",
        &RankedQuery::new("検索"),
        Visible::all(),
        expect_test::expect![[r#"
            1 notes
            0.25 j.md (j)
                1: <全文検索エンジン>"#]],
    );
}

#[test]
fn what_is_hidden_does_not_change_the_scores() {
    let with = Rig::new(NOTES).open();
    let without = Rig::new(&NOTES[..NOTES.find("\n--- other.md").unwrap()]).open();
    let sees = |path: &VaultPath| !matches!(path.as_str(), "other.md" | "both.md");
    for text in ["amber", "resin amber", "lattice", "lattices", "ambre", "tex"] {
        let query = RankedQuery::new(text);
        let seen = with.ranked(&query, Visible::only(&sees), 0).unwrap();
        assert_eq!(seen, without.ranked(&query, Visible::all(), 0).unwrap(), "{text}");
    }
}

#[test]
fn only_these_and_young_ones() {
    let index = Rig::new("a.md: amber\n--- b.md: amber\n--- x/c.md: amber");
    let index = index.open();
    let paths = |query: &RankedQuery| {
        let hits = index.ranked(query, Visible::all(), 3 * 86_400_000_000_000).unwrap().hits;
        hits.iter().map(|hit| hit.path.to_string()).collect::<Vec<_>>().join(" ")
    };
    let query = RankedQuery::new("amber");
    assert_eq!(paths(&query), "a.md b.md x/c.md");
    assert_eq!(paths(&RankedQuery { only: Some(vec![path("b.md")]), ..query.clone() }), "b.md");
    assert_eq!(
        paths(&RankedQuery { folder: Some(VaultFolder::parse("x").unwrap()), ..query.clone() }),
        "x/c.md"
    );
    let recency = Some(Recency { half_life_days: 1e-12, bonus: 1.0 });
    assert_eq!(paths(&RankedQuery { recency, limit: 1, ..query.clone() }), "a.md");
    assert_eq!(paths(&RankedQuery { limit: 0, ..query }), "");
}

const WORDS: [&str; 14] =
    ["amber", "Amber", "amb", "ber", "lattice", "é", "É", "straße", "ﬆ", "ſo", "K", "日本", "x_1", "the"];
const GAPS: [&str; 12] = [" ", " ", " ", "  ", ", ", "-", "\n", "\n\n", "\r\n", " [[", "]] ", " — "];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec((select(&WORDS[..]), select(&GAPS[..])), 0..12)
        .prop_map(|parts| parts.iter().map(|(word, gap)| format!("{word}{gap}")).collect())
}

/// A piece of a text that may well be in the vault, or not.
fn needle() -> impl Strategy<Value = String> {
    (text(), 0usize..12, 1usize..12).prop_map(|(text, from, length)| {
        let piece: String = text.chars().skip(from).take(length).collect();
        if piece.is_empty() { "amber".to_owned() } else { piece }
    })
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let regexes = [
        r"am\w+",
        "a|b",
        "amber lat",
        r"\bthe\b",
        "ber$",
        "^amb",
        "(?i)é.*x",
        "[kK]",
        "l.t+ice",
        "(amber|the) x",
        r"\d",
        "amber(?: lattice)?",
        "^",
        r"\Aamber",
        "b{1,2}e",
        "é+",
    ];
    prop_oneof![
        3 => needle().prop_map(Pattern::Literal),
        1 => select(regexes.to_vec()).prop_map(|text| Pattern::Regex(text.to_owned())),
    ]
}

fn query() -> impl Strategy<Value = Query> {
    let globs = [None, None, None, Some("*.md"), Some("!n1.md"), Some("f/**")];
    (pattern(), any::<bool>(), any::<bool>(), select(globs.to_vec()), any::<u8>(), 1usize..6).prop_map(
        |(pattern, exact, whole_word, glob, folder, limit)| Query {
            case: if exact { Case::Exact } else { Case::Ignore },
            whole_word: whole_word && folder % 2 == 0,
            glob: glob.map(ToOwned::to_owned),
            folder: (folder < 40).then(|| VaultFolder::parse("f").unwrap()),
            context: usize::from(folder % 3),
            limit,
            ..Query::new(pattern)
        },
    )
}

const NAMES: [&str; 8] =
    ["n1.md", "n2.md", "n-3.md", "f/n1.md", "f/g/n2.md", "f0/n.md", "data.csv", "f/é.md"];

/// A change to the vault.
#[derive(Debug, Clone)]
enum Step {
    Write(&'static str, String),
    Remove(&'static str),
    Rename(&'static str, &'static str),
    Save,
    Reopen,
    All,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (select(&NAMES[..]), text()).prop_map(|(name, text)| Step::Write(name, text)),
        2 => select(&["n1.md", "f", "f/g", "f/n1.md"][..]).prop_map(Step::Remove),
        1 => (select(&["f", "f0"][..]), select(&["h", "k/l"][..])).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => Just(Step::Save),
        1 => Just(Step::Reopen),
        1 => Just(Step::All),
    ]
}

fn apply(rig: &Rig, index: &mut TextIndex, step: &Step) {
    match step {
        Step::Write(name, text) => {
            rig.files.write(&path(name), text);
            index.refresh(&[path(name)]).unwrap();
        }
        Step::Remove(name) => {
            rig.files.remove(&path(name));
            index.refresh(&[path(name)]).unwrap();
        }
        Step::Rename(from, to) => {
            rig.files.rename(&path(from), &path(to));
            index.refresh(&[path(from), path(to)]).unwrap();
        }
        Step::Save => index.save().unwrap(),
        Step::Reopen => *index = rig.open(),
        Step::All => {
            rig.files.write(&path("n2.md"), "amber at last");
            index.refresh_all().unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("VERGER_LONG").is_some() { 2_000 } else { 80 }))]

    #[test]
    fn equal_to_the_scanner(
        texts in prop::collection::vec(text(), 1..8),
        queries in prop::collection::vec(query(), 1..20),
    ) {
        let rig = Rig::new("");
        for (name, text) in NAMES.iter().zip(&texts) {
            rig.files.write(&path(name), text);
        }
        let index = rig.open();
        for query in &queries {
            let found = index.search(query, Visible::all());
            prop_assert_eq!(found.unwrap(), rig.scan(query, Visible::all()).unwrap(), "{:?}", query);
        }
    }

    /// After any changes, refreshed one by one, saved or not, the index answers like one that was built afterwards.
    #[test]
    fn refresh_equals_rebuild(
        steps in prop::collection::vec(step(), 1..14),
        queries in prop::collection::vec(query(), 1..8),
    ) {
        let rig = Rig::new("n1.md: amber\n--- f/n1.md: lattice amber\n--- f0/n.md: the");
        let mut index = rig.open();
        for step in &steps {
            apply(&rig, &mut index, step);
        }
        let rebuilt = Rig { files: Arc::clone(&rig.files), folder: tempfile::tempdir().unwrap() }.open();
        for query in &queries {
            let expected = rebuilt.search(query, Visible::all()).unwrap();
            prop_assert_eq!(&expected, &rig.scan(query, Visible::all()).unwrap());
            prop_assert_eq!(index.search(query, Visible::all()).unwrap(), expected, "{:?}", query);
        }
    }
}

#[test]
fn holders_are_those_that_reading_finds() {
    let rig = Rig::new(
        "A/Amber Tea.md: green\n--- A/b.md: amber and TEA\n--- A/pic tea.png: amber\n--- B/amber.md: tea\n\
         --- B/c-tea.md: -amber\n--- B/tea.txt: amber tea\n--- C/d.md: #amber\ntea",
    );
    let index = rig.open();
    rig.files.write(&path("A/late tea.md"), "amber");
    rig.files.write(&path("B/amber.md"), "te");
    index.refresh(&[path("A/late tea.md"), path("B/amber.md")]).unwrap();
    let mut all = Vec::new();
    rig.files.walk(&mut |entry| all.push(entry.path)).unwrap();
    all.retain(VaultPath::is_note);
    all.sort();
    let public = |path: &VaultPath| !path.as_str().starts_with("C/");
    for visible in [Visible::all(), Visible::only(&public)] {
        for words in [
            vec!["tea"],
            vec!["AMBER", "tea"],
            vec!["amber", "-"],
            vec!["c-t", "amber"],
            vec!["x"],
            vec!["te", "a"],
        ] {
            let patterns: Vec<regex::bytes::Regex> =
                words.iter().map(|word| regex::bytes::Regex::new(&format!("(?i){word}")).unwrap()).collect();
            for prefix in ["", "A/", "A/b", "Z", "B/c-tea.md"] {
                let some: Vec<VaultPath> = all
                    .iter()
                    .filter(|path| path.as_str().starts_with(prefix) && visible.sees(path))
                    .cloned()
                    .collect();
                let (expected, _) = {
                    let walk = |each: &mut dyn FnMut(VaultPath)| {
                        some.iter().cloned().for_each(each);
                        Ok(())
                    };
                    search::with_all_words(&*rig.files, walk, &patterns, &|| true).unwrap()
                };
                let ask = |after, most| {
                    let query = WordsQuery { words: &words, prefix, after, most };
                    index.holders(&query, visible, &Sight::default()).unwrap().unwrap()
                };
                let found = ask(None, usize::MAX);
                assert_eq!((&found.paths, found.total), (&expected, expected.len()), "{words:?} {prefix}");
                assert!(found.certain, "{words:?}");
                for after in &all {
                    let behind: Vec<VaultPath> =
                        expected.iter().filter(|path| *path > after).take(2).cloned().collect();
                    let page = ask(Some(after), 2);
                    assert_eq!(
                        (page.paths, page.total),
                        (behind, expected.len()),
                        "{words:?} {prefix} {after}"
                    );
                }
            }
        }
    }
}
