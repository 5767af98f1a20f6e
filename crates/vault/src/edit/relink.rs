//! Links after a move: every link that would now lead elsewhere, or nowhere, is rewritten to lead where it led.
//!
//! Called when a move, a rename or a folder move is planned, once for every note that [`Moves::concerns`] picks out.
//! Only the bytes of targets change: aliases, fragments, display text and the form of the link stay. Links that were
//! broken stay as they are, and a deletion leaves its links broken: what to do about them is a person's decision.

#[cfg(test)]
mod property;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::canvas::{self, Part, PartKind};
use crate::error::Result;
use crate::links::{Form, Resolver, Road, Spelling, fold, last_segment, spellings};
use crate::note::blocks::Blocks;
use crate::note::front;
use crate::note::links::{Link, LinkStyle, Quote, comments, destination, scan};
use crate::path::{PathError, VaultPath};

/// Which files move where, all at once.
#[derive(Debug, Clone, Default)]
pub struct Moves {
    to: HashMap<VaultPath, VaultPath>,
    /// The folded names of all old and new paths.
    names: HashSet<String>,
}

/// One splice: the bytes at `span` become `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub span: Range<usize>,
    /// What comes in their place.
    pub text: String,
}

/// A note or canvas whose links are looked at, and the vault around it before and after.
#[derive(Debug, Clone, Copy)]
pub struct Relink<'a> {
    /// Where the file was.
    pub from_old: &'a VaultPath,
    /// Where it will be; the same unless it moves too.
    pub from_new: &'a VaultPath,
    /// What moves.
    pub moves: &'a Moves,
    /// The vault before.
    pub before: &'a Resolver,
    /// The vault after.
    pub after: &'a Resolver,
}

/// The text of a note with its links put right, or none where nothing changes.
pub fn rewrite(
    text: &str,
    from_old: &VaultPath,
    from_new: &VaultPath,
    moves: &Moves,
    before: &Resolver,
    after: &Resolver,
) -> Option<String> {
    let splices = Relink { from_old, from_new, moves, before, after }.note(text);
    (!splices.is_empty()).then(|| apply(text, &splices))
}

/// The JSON of a canvas with its files and the links in its cards put right, or none where nothing changes.
/// Everything else, white space included, stays as it is.
pub fn rewrite_canvas(
    text: &str,
    from_old: &VaultPath,
    from_new: &VaultPath,
    moves: &Moves,
    before: &Resolver,
    after: &Resolver,
) -> Result<Option<String>> {
    let splices = Relink { from_old, from_new, moves, before, after }.canvas(text)?;
    Ok((!splices.is_empty()).then(|| apply(text, &splices)))
}

impl Moves {
    /// No moves yet.
    pub fn new() -> Moves {
        Moves::default()
    }

    /// Adds a file that moves.
    pub fn add(&mut self, old: VaultPath, new: VaultPath) {
        for path in [&old, &new] {
            self.names.insert(fold(path.name()).into_owned());
        }
        self.to.insert(old, new);
    }

    /// Adds all of `files` that lie in the folder `old`: they go to the same places below `new`.
    pub fn add_folder<'a>(
        &mut self,
        old: &VaultPath,
        new: &VaultPath,
        files: impl IntoIterator<Item = &'a VaultPath>,
    ) -> Result<(), PathError> {
        for file in files {
            let rest = file.as_str().strip_prefix(old.as_str()).and_then(|rest| rest.strip_prefix('/'));
            if let Some(rest) = rest {
                self.add(file.clone(), new.join(rest)?);
            }
        }
        Ok(())
    }

    /// Where a file goes, if it moves.
    pub fn get(&self, old: &VaultPath) -> Option<&VaultPath> {
        self.to.get(old)
    }

    /// Where a file is afterwards.
    pub fn of<'a>(&'a self, old: &'a VaultPath) -> &'a VaultPath {
        self.to.get(old).unwrap_or(old)
    }

    /// Old and new path of every move, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&VaultPath, &VaultPath)> {
        self.to.iter()
    }

    /// Whether nothing moves.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// The same moves backwards.
    pub fn reversed(&self) -> Moves {
        self.iter().map(|(old, new)| (new.clone(), old.clone())).collect()
    }

    /// Whether a link of this target (decoded) can be touched, wherever it stands: a file of that name comes or goes.
    /// A note that does not move and has no such link need not be read.
    pub fn concerns(&self, target: &str) -> bool {
        let name = last_segment(target);
        spellings(name).iter().any(|name| self.names.contains(&*fold(name)))
    }

    /// Carries the moves out in a resolver. Two files may change places.
    pub fn apply(&self, resolver: &mut Resolver) {
        for old in self.to.keys() {
            resolver.remove(old);
        }
        for new in self.to.values() {
            resolver.insert(new.clone());
        }
    }
}

impl FromIterator<(VaultPath, VaultPath)> for Moves {
    fn from_iter<I: IntoIterator<Item = (VaultPath, VaultPath)>>(pairs: I) -> Moves {
        let mut out = Moves::new();
        for (old, new) in pairs {
            out.add(old, new);
        }
        out
    }
}

impl Relink<'_> {
    /// The splices that a note needs, in order.
    pub fn note(&self, text: &str) -> Vec<Splice> {
        let front = front::split(text);
        let body = front.as_ref().map_or(0, |front| front.block.end);
        let blocks = Blocks::scan(text, body);
        let comments = comments(text, body, &blocks);
        let links = scan(text, body, &blocks, &comments, front.as_ref());
        self.links(text, &links)
    }

    /// The splices for links that have been read out of `text` before, in order.
    pub fn links(&self, text: &str, links: &[Link]) -> Vec<Splice> {
        let mut out: Vec<Splice> = links.iter().filter_map(|link| self.link(text, link)).collect();
        // The target of a link lies behind those of the images in its text.
        out.sort_by_key(|splice| splice.span.start);
        out
    }

    /// The splices that a canvas needs, in order.
    pub fn canvas(&self, text: &str) -> Result<Vec<Splice>> {
        let mut out = Vec::new();
        for part in canvas::parts(text)? {
            match part.kind {
                PartKind::File => out.extend(self.file(&part)),
                PartKind::Text => self.card(text, &part, &mut out),
            }
        }
        Ok(out)
    }

    fn link(&self, text: &str, link: &Link) -> Option<Splice> {
        if link.target.is_empty() || (self.from_old == self.from_new && !self.moves.concerns(&link.target)) {
            return None;
        }
        let old = self.before.locate(link.style, &link.target, self.from_old)?;
        let to = self.moves.of(old.path);
        let spelling = Spelling::of(link.style, &link.target, old.road, old.path);
        let stays =
            self.still_leads(link, to, spelling) && !self.takes_a_detour(link, old.path, to, spelling);
        if stays || !self.after.contains(to) {
            return None;
        }
        let target = self.after.spell(to, self.from_new, spelling)?;
        let text = write(text, link, &target)?;
        Some(Splice { span: link.target_span.clone(), text })
    }

    fn still_leads(&self, link: &Link, to: &VaultPath, spelling: Spelling) -> bool {
        let Some(new) = self.after.locate(link.style, &link.target, self.from_new) else { return false };
        // Markdown counts from the folder of the note; that Obsidian would still find the name is not enough.
        let counts_from_folder = link.style == LinkStyle::Markdown && spelling.form == Form::Relative;
        new.path == to && (!counts_from_folder || new.road == Road::Beside)
    }

    /// Whether a relative link was the straight way and now leads out of its folder and in again: `../q/b.md` in `q/`.
    /// It is straightened, so that a note that moves away and back reads as it did.
    fn takes_a_detour(&self, link: &Link, old: &VaultPath, new: &VaultPath, spelling: Spelling) -> bool {
        matches!(spelling.form, Form::Relative | Form::Dotted)
            && self.from_old != self.from_new
            && spelling.write(old, self.from_old) == link.target
            && spelling.write(new, self.from_new) != link.target
    }

    fn file(&self, part: &Part) -> Option<Splice> {
        let new = self.moves.get(self.before.whole_path(&part.value)?)?;
        Some(Splice { span: part.span.clone(), text: canvas::escape(new.as_str()) })
    }

    fn card(&self, text: &str, part: &Part, out: &mut Vec<Splice>) {
        let splices = self.note(&part.value);
        if splices.is_empty() {
            return;
        }
        let raw = canvas::raw_offsets(&text[part.span.clone()]);
        let at = |offset: usize| part.span.start + raw.get(offset).copied().unwrap_or(part.span.len());
        out.extend(splices.into_iter().map(|splice| Splice {
            span: at(splice.span.start)..at(splice.span.end),
            text: canvas::escape(&splice.text),
        }));
    }
}

/// The text with all splices made; they must be in order and apart.
pub fn apply(text: &str, splices: &[Splice]) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for splice in splices {
        out.push_str(&text[at..splice.span.start]);
        out.push_str(&splice.text);
        at = splice.span.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The target as it has to be written in the place of the old one; none where that cannot be done safely.
fn write(text: &str, link: &Link, target: &str) -> Option<String> {
    let encoded = match link.style {
        LinkStyle::Wiki => target.to_owned(),
        LinkStyle::Markdown => {
            let angle = text[..link.target_span.start].ends_with('<');
            destination::encode(target, &text[link.target_span.clone()], angle)
        }
    };
    match link.quote {
        Quote::Single => Some(encoded.replace('\'', "''")),
        Quote::Double => Some(canvas::escape(&encoded)),
        // Without quotes some names would turn the line into other YAML; a broken link is the smaller harm.
        Quote::None if link.in_front && !is_plain_yaml(&encoded) => None,
        Quote::None => Some(encoded),
    }
}

fn is_plain_yaml(text: &str) -> bool {
    !text.contains([',', '[', ']', '{', '}'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.starts_with(['&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '?', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    struct Case {
        before: Resolver,
        after: Resolver,
        moves: Moves,
    }

    /// A vault and its moves as text: `a.md, b.md` and `a.md -> c.md`.
    fn case(files: &str, moves: &str) -> Case {
        let before = Resolver::new(files.split(", ").map(path));
        let pair = |pair: &str| pair.split_once(" -> ").map(|(old, new)| (path(old), path(new)));
        let moves: Moves = moves.split(", ").filter_map(pair).collect();
        let mut after = before.clone();
        moves.apply(&mut after);
        Case { before, after, moves }
    }

    #[track_caller]
    fn check(files: &str, moves: &str, from: &str, rows: &[(&str, &str)]) {
        let case = case(files, moves);
        let from = path(from);
        for (text, expected) in rows {
            let to = case.moves.of(&from);
            let found = rewrite(text, &from, to, &case.moves, &case.before, &case.after);
            assert_eq!(found.as_deref().unwrap_or(text), *expected, "{text:?} when {moves}");
            assert_ne!(found.as_deref(), Some(*text));
        }
    }

    #[test]
    fn a_rename_changes_the_target_and_nothing_else() {
        check(
            "x.md, p/a.md, p/i.png",
            "p/a.md -> p/new name.md, p/i.png -> p/j.png",
            "x.md",
            &[
                ("[[a]] ![[a]] [[ a #h|A]]", "[[new name]] ![[new name]] [[ new name #h|A]]"),
                (
                    "[[a.md]] [[p/a]] [[/p/a.md]] [[./p/a]]",
                    "[[new name.md]] [[p/new name]] [[/p/new name.md]] [[./p/new name]]",
                ),
                ("[t](p/a.md#h \"a\") [t](<p/a.md>)", "[t](p/new%20name.md#h \"a\") [t](<p/new name.md>)"),
                ("[t](a.md) [t](./p/a)", "[t](new%20name.md) [t](./p/new%20name)"),
                (
                    "![[i.png|9]] ![](p/i.png) [r]\n\n[r]: p/a.md\n",
                    "![[j.png|9]] ![](p/j.png) [r]\n\n[r]: p/new%20name.md\n",
                ),
                ("| [[a\\|b]] |\r\n|-|\r\n", "| [[new name\\|b]] |\r\n|-|\r\n"),
                (
                    "`[[a]]` %%[[a]]%% \\[[a]] [[#a]] [[q]] [t](https://x/a.md)",
                    "`[[a]]` %%[[a]]%% \\[[a]] [[#a]] [[q]] [t](https://x/a.md)",
                ),
                ("---\nup: \"[[a]]\"\n---\n", "---\nup: \"[[new name]]\"\n---\n"),
                ("[![[a]](p/i.png)](p/a.md)", "[![[new name]](p/i.png)](p/new%20name.md)"),
                ("[![t](p/i.png)](p/a.md)", "[![t](p/j.png)](p/new%20name.md)"),
            ],
        );
    }

    #[test]
    fn a_move_leaves_what_still_leads_there() {
        check(
            "x.md, a.md, p/b.md",
            "a.md -> q/a.md",
            "x.md",
            &[
                ("[[a]] [[a.md]]", "[[a]] [[a.md]]"),
                ("[[/a]] [[./a]] [t](a.md)", "[[/q/a]] [[./q/a]] [t](q/a.md)"),
            ],
        );
        check(
            "p/x.md, p/b.md, c.md",
            "p/x.md -> r/s/x.md",
            "p/x.md",
            &[
                ("[[b]] [[p/b]] [[/p/b]] [[c]]", "[[b]] [[p/b]] [[/p/b]] [[c]]"),
                (
                    "[[./b]] [[../c]] [t](b.md) [t](../c.md)",
                    "[[../../p/b]] [[../../c]] [t](../../p/b.md) [t](../../c.md)",
                ),
            ],
        );
        check(
            "p/x.md, p/b.md",
            "p/x.md -> r/x.md, p/b.md -> r/b.md",
            "p/x.md",
            &[("[[./b]] [t](b.md) [[p/b]] [[x#h]]", "[[./b]] [t](b.md) [[r/b]] [[x#h]]")],
        );
    }

    #[test]
    fn a_relative_link_stays_the_straight_way() {
        check(
            "p/x.md, q/b.md",
            "p/x.md -> q/x.md",
            "p/x.md",
            &[("[t](../q/b.md) [t](../p/../q/b.md)", "[t](b.md) [t](../p/../q/b.md)")],
        );
    }

    #[test]
    fn a_link_is_not_captured_by_a_file_that_comes_near() {
        check("x.md, p/a.md, q/b.md", "q/b.md -> a.md", "x.md", &[("[[a]] [[b]]", "[[p/a]] [[a]]")]);
        check("x.md, a.md, b.md", "a.md -> b.md, b.md -> a.md", "x.md", &[("[[a]] [[b]]", "[[b]] [[a]]")]);
        check("x.md, b.md", "b.md -> c.md", "x.md", &[("[[c]] [[nothing]]", "[[c]] [[nothing]]")]);
    }

    #[test]
    fn names_that_cannot_be_written_leave_the_link_alone() {
        check("x.md, a.md", "a.md -> c#d.md", "x.md", &[("[[a]] [t](a.md)", "[[a]] [t](c%23d.md)")]);
    }

    #[test]
    fn front_matter_is_escaped_as_its_quotes_ask() {
        let text = "'[[a]]' \"[[a]]\" [[a]]";
        for (name, single, double, plain) in [
            ("it's", Some("it''s"), Some("it's"), Some("it's")),
            ("a \"b\"", Some("a \"b\""), Some("a \\\"b\\\""), Some("a \"b\"")),
            ("a: b", Some("a: b"), Some("a: b"), None),
            ("a, b", Some("a, b"), Some("a, b"), None),
        ] {
            for (quote, expected) in [(Quote::Single, single), (Quote::Double, double), (Quote::None, plain)]
            {
                let blocks = Blocks::scan(text, 0);
                let mut link = scan(text, 0, &blocks, &[], None).remove(0);
                (link.in_front, link.quote) = (true, quote);
                assert_eq!(write(text, &link, name).as_deref(), expected, "{name} {quote:?}");
            }
        }
    }

    #[test]
    fn a_canvas_keeps_its_layout() {
        let case = case("c.canvas, p/a.md, p/é \"q\".md", "p/a.md -> p/ü \"z\".md");
        let canvas = path("c.canvas");
        let rewrite = |text: &str| {
            rewrite_canvas(text, &canvas, &canvas, &case.moves, &case.before, &case.after).unwrap()
        };
        let text = "{\n\t\"nodes\":[\n\t\t{\"id\":\"1\",\"file\":\"p/a.md\",\"subpath\":\"#h\"},\n\t\t{\"text\":\"\\u00e9\\n[[a|x]] \\/ ![](p\\/a.md)\"}\n\t],\n\t\"edges\":[] }\n";
        let expected = "{\n\t\"nodes\":[\n\t\t{\"id\":\"1\",\"file\":\"p/ü \\\"z\\\".md\",\"subpath\":\"#h\"},\n\t\t{\"text\":\"\\u00e9\\n[[ü \\\"z\\\"|x]] \\/ ![](p/ü%20\\\"z\\\".md)\"}\n\t],\n\t\"edges\":[] }\n";
        assert_eq!(rewrite(text).as_deref(), Some(expected));
        assert_eq!(rewrite("{\"nodes\":[{\"file\":\"p/b.md\",\"text\":\"a\"}]}"), None);
        assert_eq!(rewrite(""), None);
    }

    #[test]
    fn a_folder_moves_with_all_that_lies_in_it() {
        let files = ["p/a.md", "p/q/b.md", "pp/c.md"].map(path);
        let mut moves = Moves::new();
        moves.add_folder(&path("p"), &path("r/s"), &files).unwrap();
        let mut rows: Vec<_> = moves.iter().map(|(old, new)| format!("{old} -> {new}")).collect();
        rows.sort();
        assert_eq!(rows, ["p/a.md -> r/s/a.md", "p/q/b.md -> r/s/q/b.md"]);
        assert!(moves.concerns("x/B") && moves.concerns("a.md") && !moves.concerns("c"));
    }
}
