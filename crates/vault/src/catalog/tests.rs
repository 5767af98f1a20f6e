//! The catalog over vaults in memory, and the promise that a refresh is as good as a rebuild.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::files::MemoryFiles;

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn build(fixture: &str) -> Catalog {
    Catalog::build(&MemoryFiles::parse(fixture).unwrap()).unwrap()
}

fn names<'a>(paths: impl IntoIterator<Item = &'a VaultPath>) -> String {
    paths.into_iter().map(VaultPath::as_str).collect::<Vec<_>>().join(" ")
}

/// Hides everything in `secret/`.
fn public(path: &VaultPath) -> bool {
    !path.as_str().starts_with("secret")
}

const VAULT: &str = "Home.md: ---\naliases: [Start, main page]\ntags: [area/work]\nup: \"[[Plan]]\"\n---\n# Welcome\n\
    [[Plan#Next]] and [[plan|again]], [[nope]]\n- [ ] open\n- [x] done\n#Idea #idea/big\n\
    --- Projects/Plan.md: ## Next\n[home](../Home.md) ![[pic.png]] #idea [[#Next]]\n\
    --- Projects/pic.png: x\n--- secret/Plan.md: [[Home]] #hidden\n--- secret/Only.md: x\n--- empty/:";

#[test]
fn a_note_is_kept_with_all_its_parts() {
    let catalog = build(VAULT);
    let home = catalog.get(&path("Home.md"), Visible::all()).unwrap();
    assert_eq!(home.title(), "Welcome");
    assert_eq!(home.aliases(), ["Start", "main page"]);
    assert_eq!(home.tag_names(), ["area/work", "Idea", "idea/big"]);
    assert_eq!((home.open_tasks, home.done_tasks), (1, 1));
    let links: Vec<_> = home.links.iter().map(|link| (&*link.target, link.line, link.in_front)).collect();
    assert_eq!(links, [("Plan", 4, true), ("Plan", 7, false), ("plan", 7, false), ("nope", 7, false)]);
    assert_eq!(home.links[1].fragment.as_deref(), Some("Next"));
    assert_eq!((home.headings[0].level, home.headings[0].line), (1, 6));
    assert_eq!(home.front()["tags"], serde_json::json!(["area/work"]));
    assert_eq!(catalog.get(&path("Projects/Plan.md"), Visible::all()).unwrap().title(), "Plan");
    assert!(!catalog.get(&path("Projects/pic.png"), Visible::all()).unwrap().is_note());
    assert_eq!(names(catalog.folders(Visible::all())), "Projects empty secret");
}

#[test]
fn what_cannot_be_read_is_an_entry_with_a_problem() {
    let files = MemoryFiles::parse("bad.md: ---\na: [\n---\n# still\n").unwrap();
    files.write(&path("bytes.md"), b"# x\xff");
    let catalog = Catalog::build(&files).unwrap();
    let bad = catalog.get(&path("bad.md"), Visible::all()).unwrap();
    assert!(matches!(bad.problems[..], [Problem::Front(_)]));
    assert_eq!(bad.title(), "still");
    assert_eq!(*catalog.get(&path("bytes.md"), Visible::all()).unwrap().problems, [Problem::NotText]);
}

#[track_caller]
fn looks_up(text: &str, expected: &str) {
    let catalog = build(VAULT);
    let shown = match catalog.lookup(text, Visible::only(&public)) {
        Lookup::One(path) => path.to_string(),
        Lookup::Several(paths) => format!("several: {}", names(&paths)),
        Lookup::None => "none".to_owned(),
    };
    assert_eq!(shown, expected, "{text:?}");
}

#[test]
fn a_text_finds_the_file_that_it_means() {
    looks_up("Projects/Plan.md", "Projects/Plan.md");
    looks_up("projects/plan", "Projects/Plan.md");
    looks_up("PLAN.MD", "Projects/Plan.md");
    looks_up("pic.png", "Projects/pic.png");
    looks_up("pic", "none");
    looks_up("main PAGE", "Home.md");
    looks_up("Only", "none");
    looks_up("secret/Plan.md", "none");
    looks_up("../x", "none");
    let catalog = build(VAULT);
    let Lookup::Several(both) = catalog.lookup("plan", Visible::all()) else {
        panic!("two notes are called so")
    };
    assert_eq!(names(&both), "Projects/Plan.md secret/Plan.md");
}

#[test]
fn near_names_are_suggested_and_hidden_ones_are_not() {
    let catalog =
        build("Planning.md: x\n--- Plans.md: x\n--- a/Plan.md: x\n--- Other.md: x\n--- secret/Plan.md: x");
    let near = |text: &str| names(&catalog.near(&path(text), Visible::only(&public)));
    assert_eq!(near("Plan.md"), "a/Plan.md Plans.md Planning.md");
    assert_eq!(near("b/Othre.md"), "");
    assert_eq!(near("b/Othr.md"), "Other.md");
    assert_eq!(near("zzz.md"), "");
    let many = MemoryFiles::default();
    (0..20).for_each(|number| many.write(&path(&format!("d{number}/x.md")), ""));
    assert_eq!(Catalog::build(&many).unwrap().near(&path("x.md"), Visible::all()).len(), 5);
}

fn out(catalog: &Catalog, from: &str, visible: Visible<'_>) -> String {
    let found = catalog.outgoing(&path(from), visible);
    let shown =
        found.iter().map(|out| format!("{}>{}", out.link.target, out.to.map_or("?", VaultPath::as_str)));
    shown.collect::<Vec<_>>().join(" ")
}

fn back(catalog: &Catalog, to: &str, visible: Visible<'_>) -> String {
    let found = catalog.backlinks(&path(to), visible);
    found.iter().map(|back| format!("{}:{}", back.from, back.link.line)).collect::<Vec<_>>().join(" ")
}

#[test]
fn links_lead_somewhere_and_back() {
    let catalog = build(VAULT);
    let all = Visible::all();
    assert_eq!(
        out(&catalog, "Projects/Plan.md", all),
        "../Home.md>Home.md pic.png>Projects/pic.png >Projects/Plan.md"
    );
    assert_eq!(back(&catalog, "Home.md", all), "Projects/Plan.md:2 secret/Plan.md:1");
    assert_eq!(back(&catalog, "Projects/pic.png", all), "Projects/Plan.md:2");
    assert_eq!(back(&catalog, "Nope.md", all), "");
}

#[test]
fn a_hidden_note_is_no_target_no_source_and_no_rival() {
    let catalog = build(
        "a.md: [[x]] [[only]]\n--- secret/only.md: [[a]]\n--- x.md: 1\n--- z/x.md: 2\n--- z/b.md: [[x]]\n--- secret/c.md: [[x]]",
    );
    let some = Visible::only(&public);
    assert_eq!(out(&catalog, "a.md", Visible::all()), "x>x.md only>secret/only.md");
    assert_eq!(out(&catalog, "a.md", some), "x>x.md only>?");
    assert_eq!(back(&catalog, "a.md", some), "");
    assert_eq!(out(&catalog, "secret/c.md", some), "");
    let not_the_top = |path: &VaultPath| path.as_str() != "x.md";
    assert_eq!(out(&catalog, "a.md", Visible::only(&not_the_top)), "x>z/x.md only>secret/only.md");
    assert_eq!(back(&catalog, "z/x.md", Visible::only(&not_the_top)), "a.md:1 secret/c.md:1 z/b.md:1");
}

#[test]
fn tags_are_counted_with_their_ancestors() {
    let catalog = build(
        "a.md: #Proj/one #proj/one #proj/two\n--- b.md: ---\ntags: [proj, x]\n---\n--- secret/c.md: #x #hidden",
    );
    let shown = |visible| {
        let tags = catalog.tags(visible);
        tags.iter()
            .map(|tag| format!("{}:{}/{}", tag.name, tag.occurrences, tag.files))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(shown(Visible::only(&public)), "Proj:4/2 Proj/one:2/1 proj/two:1/1 x:1/1");
    assert_eq!(shown(Visible::all()), "Proj:4/2 Proj/one:2/1 x:2/2 hidden:1/1 proj/two:1/1");
}

#[test]
fn files_are_found_in_whatever_order_they_are_asked_for() {
    let files = MemoryFiles::parse("0.md: x").unwrap();
    (0..200).for_each(|number| files.write(&path(&format!("n{number:03}.md")), ""));
    let catalog = Catalog::build(&files).unwrap();
    for (step, from) in [(1, 0), (3, 1), (7, 5), (61, 2), (199, 0), (200 - 11, 4)] {
        let wanted =
            (0..250).map(|n| path(&format!("n{:03}.md", (from + n * step) % 220))).collect::<Vec<_>>();
        let all = Visible::all();
        let expected: Vec<_> = wanted.iter().map(|path| catalog.get(path, all)).collect();
        assert_eq!(catalog.get_all(&wanted, all), expected, "{step} {from}");
    }
}

#[track_caller]
fn tagged(tags: &[&str], wanted: Match, expected: &str) {
    let catalog = build("a.md: #Proj/one #b\n--- b.md: #proj\n--- c.md: #project #b\n--- secret/d.md: #proj");
    let found = catalog.notes_with_tags(tags, wanted, Visible::only(&public));
    let shown: Vec<String> =
        found.iter().map(|note| format!("{}({})", note.path, note.tags.join(","))).collect();
    assert_eq!(shown.join(" "), expected, "{tags:?} {wanted:?}");
}

#[test]
fn notes_are_found_by_tags_and_their_nested_tags() {
    tagged(&["#PROJ"], Match::Any, "a.md(Proj/one) b.md(proj)");
    tagged(&["proj/one"], Match::Any, "a.md(Proj/one)");
    tagged(&["proj", "b"], Match::Any, "a.md(Proj/one,b) b.md(proj) c.md(b)");
    tagged(&["proj", "b"], Match::All, "a.md(Proj/one,b)");
    tagged(&["#", " "], Match::All, "");
    tagged(&[], Match::All, "");
}

#[test]
fn numbers_leave_out_what_is_hidden() {
    let stats = build(VAULT).stats(Visible::only(&public));
    assert_eq!((stats.notes, stats.attachments, stats.folders, stats.tags), (2, 1, 2, 3));
    assert_eq!((stats.open_tasks, stats.done_tasks, stats.links), (1, 1, 7));
    assert_eq!(format!("{:?}", stats.top_folders), r#"{"Projects": 1, "empty": 0}"#);
}

#[test]
fn the_newest_notes_come_first() {
    let catalog = build("b.md: 1\n--- a.md: 2\n--- c.md: 3\n--- secret/x.md: 4\n--- p.png: 5");
    let recent = |count| names(catalog.recent(count, Visible::only(&public)).iter().map(|info| &info.path));
    assert_eq!(
        (recent(2), recent(9), recent(0)),
        ("c.md a.md".into(), "c.md a.md b.md".into(), String::new())
    );
}

#[test]
fn a_folder_holds_only_what_is_in_it() {
    let catalog = build("pub/x.md: 1\n--- pub/y/z.md: 1\n--- public/x.md: 1\n--- pub.md: 1\n--- pub-x.md: 1");
    let folder = VaultFolder::parse("pub").unwrap();
    assert_eq!(
        names(catalog.files_in(&folder, Visible::all()).map(|info| &info.path)),
        "pub/x.md pub/y/z.md"
    );
}

#[test]
fn a_refresh_without_a_change_changes_nothing() {
    let files = std::sync::Arc::new(MemoryFiles::parse(VAULT).unwrap());
    let live = Live::build(files.clone()).unwrap();
    let before = live.read().generation();
    live.refresh(&[path("Home.md"), path("Projects"), path("nowhere/x.md"), path(".obsidian/app.json")])
        .unwrap();
    live.refresh_all().unwrap();
    assert_eq!(live.read().generation(), before);
    files.write(&path("Home.md"), "# Other");
    live.refresh(&[path("Home.md")]).unwrap();
    assert!(live.read().generation() > before);
    assert_eq!(live.read().get(&path("Home.md"), Visible::all()).unwrap().title(), "Other");
}

/// Counts how often a folder is walked.
struct Counted(MemoryFiles, std::sync::atomic::AtomicUsize);

impl Files for Counted {
    fn walk(&self, each: &mut dyn FnMut(crate::files::Entry)) -> Result<()> {
        self.0.walk(each)
    }
    fn walk_in(&self, folder: &VaultFolder, each: &mut dyn FnMut(crate::files::Entry)) -> Result<()> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.0.walk_in(folder, each)
    }
    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.0.read(path)
    }
    fn stat(&self, path: &VaultPath) -> Result<Option<crate::files::Entry>> {
        self.0.stat(path)
    }
}

#[test]
fn new_folders_in_each_other_are_walked_once() {
    let files = Counted(MemoryFiles::parse("a.md: x").unwrap(), Default::default());
    let mut catalog = Catalog::build(&files).unwrap();
    let folders: Vec<VaultPath> = (1..=50).map(|depth| path(&"x/".repeat(depth))).collect();
    files.0.write(&folders[49].join("y.md").unwrap(), "#deep");
    files.0.write(&path("x-ray/z.md"), "#other");
    catalog.refresh(&files, &[&folders[..], &[path("x-ray")]].concat()).unwrap();
    assert_eq!(files.1.load(std::sync::atomic::Ordering::Relaxed), 2);
    assert_eq!(dump(&catalog), dump(&Catalog::build(&files).unwrap()));
}

/// Everything a question could show.
fn dump(catalog: &Catalog) -> String {
    let all = Visible::all();
    let mut text =
        format!("{}\n{:?}\n{:?}\n", names(catalog.folders(all)), catalog.tags(all), catalog.stats(all));
    for info in catalog.files(all) {
        let (out, back) = (catalog.outgoing(&info.path, all), catalog.backlinks(&info.path, all));
        writeln!(text, "{info:?}\n{out:?}\n{back:?}\n{:?}", catalog.lookup(info.path.stem(), all)).unwrap();
    }
    text
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, String),
    Remove(usize),
    Rename(usize, usize),
    MakeFolder(usize),
}

/// Paths that get in each other's way: a name that is a file here and a folder there, two names in two cases.
const PLACES: [&str; 10] =
    ["a.md", "A.md", "b.md", "d", "d/a.md", "d/e", "d/e/b.md", "d/e/f/a.md", "p.png", ".h/a.md"];

fn change() -> impl Strategy<Value = Change> {
    let place = 0..PLACES.len();
    let text = "(# t\n)?(\\[\\[(a|b|d/a|p.png|e/b)\\]\\] ?){0,3}(#(x|X|x/y) ?){0,2}";
    prop_oneof![
        4 => (place.clone(), text).prop_map(|(at, text)| Change::Write(at, text)),
        2 => place.clone().prop_map(Change::Remove),
        2 => (place.clone(), place.clone()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => place.prop_map(Change::MakeFolder),
    ]
}

/// Makes the change if a file system would allow it; gives the paths that a watcher would report.
fn make(files: &MemoryFiles, change: &Change) -> Vec<VaultPath> {
    let at = |place: usize| path(PLACES[place]);
    let kind = |path: &VaultPath| files.stat(path).unwrap().map(|entry| entry.kind);
    let blocked = |path: &VaultPath| {
        let mut above = path.parent();
        while let Some(folder) = above.path().cloned() {
            if kind(&folder) == Some(crate::files::Kind::File) {
                return true;
            }
            above = folder.parent();
        }
        false
    };
    match change {
        Change::Write(place, text) => {
            let place = at(*place);
            if blocked(&place) || kind(&place) == Some(crate::files::Kind::Folder) {
                return Vec::new();
            }
            files.write(&place, text);
            vec![place]
        }
        Change::Remove(place) => {
            files.remove(&at(*place));
            vec![at(*place)]
        }
        Change::Rename(from, to) => {
            let (from, to) = (at(*from), at(*to));
            let free = kind(&from).is_some() && kind(&to).is_none() && !blocked(&to);
            if !free || to.is_in(&from.clone().into()) {
                return Vec::new();
            }
            files.rename(&from, &to);
            vec![from, to]
        }
        Change::MakeFolder(place) => {
            if blocked(&at(*place)) || kind(&at(*place)).is_some() {
                return Vec::new();
            }
            files.make_folder(&at(*place));
            vec![at(*place)]
        }
    }
}

proptest! {
    /// The few files of one name decide as all visible files would.
    #[test]
    fn a_link_leads_where_the_full_resolver_says(
        paths in prop::collection::btree_set("([aB]/){0,2}(a|A|b|b\\.c|é|E\u{301})\\.(md|png|MD)", 1..12),
        target in "(\\.\\./|\\./|/)?([aB]/){0,2}(a|A|b|b\\.c|É)(\\.md|\\.png)?",
        from in "([aB]/){0,2}b\\.md",
        hidden in "[aB]/|x",
    ) {
        let sees = |path: &VaultPath| !path.as_str().starts_with(&hidden);
        let files = MemoryFiles::default();
        paths.iter().for_each(|at| files.write(&path(at), ""));
        let catalog = Catalog::build(&files).unwrap();
        let visible = Visible::only(&sees);
        let full = crate::links::Resolver::new(catalog.files(visible).map(|info| info.path.clone()));
        for style in [crate::note::links::LinkStyle::Wiki, crate::note::links::LinkStyle::Markdown] {
            let from = path(&from);
            let found = catalog.leads(visible).resolve(style, &target, &from);
            prop_assert_eq!(found, full.resolve_as(style, &target, &from).path());
        }
    }

    #[test]
    fn refresh_equals_rebuild(changes in prop::collection::vec(change(), 1..40), every in 1usize..6) {
        let files = MemoryFiles::parse("a.md: [[b]]\n--- d/e/b.md: [[a]] #x").unwrap();
        let mut by_path = Catalog::build(&files).unwrap();
        let mut by_walk = Catalog::build(&files).unwrap();
        let mut reported = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            reported.extend(make(&files, change));
            if number % every == 0 {
                by_path.refresh(&files, &reported).unwrap();
                reported.clear();
            }
        }
        by_path.refresh(&files, &reported).unwrap();
        by_walk.refresh_all(&files).unwrap();
        let fresh = dump(&Catalog::build(&files).unwrap());
        prop_assert_eq!(dump(&by_path), fresh.as_str());
        prop_assert_eq!(dump(&by_walk), fresh.as_str());
    }
}
