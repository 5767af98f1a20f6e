//! Properties of relinking over random small vaults: whatever moves, every link leads where it led.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::links::LinkFormat;

const FOLDERS: [&str; 6] = ["", "p/", "p/q/", "q/", "r s/", "é/p/"];
const NAMES: [&str; 9] = ["a", "b", "B", "my note", "x (1)", "日本", "e\u{301}", "50%", "v1.2"];
const EXTENSIONS: [&str; 4] = ["md", "md", "md", "png"];

type Vault = BTreeMap<VaultPath, String>;

/// Numbers that a link is made of; each is taken modulo what there is.
type Seed = [usize; 8];

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn pick<T>(list: &[T], seed: usize) -> &T {
    &list[seed % list.len()]
}

fn file(seed: [usize; 3]) -> VaultPath {
    path(&format!("{}{}.{}", pick(&FOLDERS, seed[0]), pick(&NAMES, seed[1]), pick(&EXTENSIONS, seed[2])))
}

/// A link in any form, whether it leads anywhere or not.
fn any_link(from: &VaultPath, to: &VaultPath, seed: Seed) -> String {
    let whole = to.as_str();
    let whole = if seed[0].is_multiple_of(2) { whole.strip_suffix(".md").unwrap_or(whole) } else { whole };
    let name = whole.rsplit('/').next().unwrap();
    let up = "../".repeat(from.segments().count() - 1);
    let target = match seed[1] % 8 {
        0 | 1 => name.to_owned(),
        2 => whole.to_owned(),
        3 => format!("/{whole}"),
        4 => format!("{up}{whole}"),
        5 => format!("./{name}"),
        6 => name.to_uppercase(),
        _ => format!("q/{name}"),
    };
    dress(&target, seed)
}

/// A link as Verger itself would write it.
fn canonical_link(resolver: &Resolver, from: &VaultPath, to: &VaultPath, seed: Seed) -> String {
    let (style, format) = if seed[2].is_multiple_of(2) {
        (LinkStyle::Wiki, LinkFormat::Shortest)
    } else {
        (LinkStyle::Markdown, LinkFormat::Relative)
    };
    let mut plain = seed;
    // Whether letters are encoded shows only as long as the path has some.
    plain[6] = 0;
    dress(&resolver.link_text(to, from, style, format), plain)
}

fn dress(target: &str, seed: Seed) -> String {
    let embed = pick(&["", "", "!"], seed[3]);
    let fragment = pick(&["", "", "#h i", "#^id"], seed[4]);
    if seed[2].is_multiple_of(2) {
        let alias = pick(&["", "", "|alias [x]", "\\|y"], seed[5]);
        return format!("{embed}[[{target}{fragment}{alias}]]");
    }
    let like = pick(&["x", "%C3%A9"], seed[6]);
    let title = pick(&["", " \"t\""], seed[5]);
    let fragment = fragment.replace(' ', "%20");
    if seed[7].is_multiple_of(3) {
        let target = destination::encode(target, like, true);
        return format!("{embed}[t](<{target}{fragment}>{title})");
    }
    let target = destination::encode(target, like, false);
    format!("{embed}[t]({target}{fragment}{title})")
}

fn vault(
    files: &[[usize; 3]],
    links: &[Seed],
    link: impl Fn(&VaultPath, &VaultPath, Seed) -> String,
) -> Vault {
    let mut vault: Vault = files.iter().map(|seed| (file(*seed), String::new())).collect();
    let paths: Vec<VaultPath> = vault.keys().cloned().collect();
    let broken = path("q/broken.md");
    for (index, seed) in links.iter().enumerate() {
        let from = pick(&paths, seed[6] + index);
        let to = if seed[7].is_multiple_of(8) { &broken } else { pick(&paths, seed[7]) };
        let text = link(from, to, *seed);
        vault.entry(from.clone()).or_default().push_str(&format!("lead é {text} tail\n"));
    }
    vault
}

/// A rename, a move, a folder's move or two files that change places; nothing lands on another file.
fn moves(paths: &[VaultPath], seed: [usize; 5]) -> Moves {
    let old = pick(paths, seed[1]).clone();
    let new = file([seed[2], seed[3], 0]);
    let mut moves = Moves::new();
    match seed[0] % 4 {
        0 => moves.add(old.clone(), old.parent().join(new.name()).unwrap()),
        1 => moves.add(old.clone(), new.parent().join(old.name()).unwrap()),
        2 => {
            let folder = old.segments().next().unwrap();
            let target = path(["moved", "é", "z/p"][seed[4] % 3]);
            moves.add_folder(&path(folder), &target, paths).unwrap();
        }
        _ => {
            let other = pick(paths, seed[2]);
            moves.add(old.clone(), other.clone());
            moves.add(other.clone(), old);
        }
    }
    let lands_on_another =
        moves.iter().any(|(_, new)| paths.contains(new) && moves.get(new).is_none_or(|moved| moved == new));
    if lands_on_another { Moves::new() } else { moves }
}

fn resolver(vault: &Vault) -> Resolver {
    Resolver::new(vault.keys().cloned())
}

/// Carries the moves out with all links rewritten.
fn carry_out(vault: &Vault, moves: &Moves) -> Vault {
    let before = resolver(vault);
    let mut after = before.clone();
    moves.apply(&mut after);
    let relink = |(path, text): (&VaultPath, &String)| {
        let new = moves.of(path).clone();
        let text = rewrite(text, path, &new, moves, &before, &after).unwrap_or_else(|| text.clone());
        (new, text)
    };
    vault.iter().map(relink).collect()
}

fn links(text: &str) -> Vec<Link> {
    crate::note::parse(text).links
}

/// The text with every target taken out.
fn skeleton(text: &str) -> String {
    let gaps: Vec<Splice> =
        links(text).into_iter().map(|link| Splice { span: link.target_span, text: String::new() }).collect();
    apply(text, &gaps)
}

/// Every link of `old` leads in `new` to where its file went; links that led nowhere are as they were.
fn same_links(old: &Vault, new: &Vault, moves: &Moves) -> Result<(), TestCaseError> {
    let (before, after) = (resolver(old), resolver(new));
    for (path, text) in old {
        let moved = moves.of(path);
        let rewritten = &new[moved];
        prop_assert_eq!(skeleton(text), skeleton(rewritten));
        for (link, relinked) in links(text).iter().zip(links(rewritten)) {
            match before.resolve_link(link, path).path() {
                Some(to) => {
                    let leads = after.resolve_link(&relinked, moved).path();
                    prop_assert_eq!(leads, Some(moves.of(to)), "{:?} became {:?}", link, relinked);
                }
                None => prop_assert_eq!(&link.target, &relinked.target),
            }
        }
    }
    Ok(())
}

fn files() -> impl Strategy<Value = Vec<[usize; 3]>> {
    prop::collection::vec(prop::array::uniform3(0..100_usize), 2..9)
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    prop::collection::vec(prop::array::uniform8(0..100_usize), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_link_leads_to_the_same_file_after_a_move_and_back(
        files in files(), seeds in seeds(), seed in prop::array::uniform5(0..100_usize)
    ) {
        let vault = vault(&files, &seeds, any_link);
        let paths: Vec<VaultPath> = vault.keys().cloned().collect();
        let moves = moves(&paths, seed);
        let moved = carry_out(&vault, &moves);
        prop_assert_eq!(vault.len(), moved.len());
        same_links(&vault, &moved, &moves)?;
        let back = moves.reversed();
        let restored = carry_out(&moved, &back);
        prop_assert_eq!(restored.keys().collect::<Vec<_>>(), paths.iter().collect::<Vec<_>>());
        same_links(&moved, &restored, &back)?;
    }

    #[test]
    fn canonical_links_come_back_byte_for_byte(
        folders in prop::collection::vec(0..100_usize, 2..8), seeds in seeds(),
        seed in prop::array::uniform5(0..100_usize)
    ) {
        // Every name once: with two files of one name a link that was captured meanwhile keeps its longer form.
        let files: Vec<[usize; 3]> = folders.iter().enumerate().map(|(name, folder)| [*folder, [0, 1, 3, 4, 5, 6, 7, 8][name], 0]).collect();
        let resolver = Resolver::new(files.iter().map(|seed| file(*seed)));
        let vault = vault(&files, &seeds, |from, to, seed| canonical_link(&resolver, from, to, seed));
        let paths: Vec<VaultPath> = vault.keys().cloned().collect();
        let mut moves = moves(&paths, [seed[0] % 3, seed[1], seed[2], seed[3], seed[4]]);
        if seed[0].is_multiple_of(3) {
            let old = pick(&paths, seed[1]);
            moves = Moves::from_iter([(old.clone(), old.parent().join("fresh, naïve name (2).md").unwrap())]);
        }
        let restored = carry_out(&carry_out(&vault, &moves), &moves.reversed());
        prop_assert_eq!(restored, vault);
    }
}
