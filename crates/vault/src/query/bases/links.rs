//! Links in the text of a base, so that they follow when a file moves: `[[wiki links]]` in any value, and the paths that
//! stand as they are in `link("…")`, `file("…")`, `hasLink("…")` and `linksTo("…")`.
//!
//! Called by `moves.rs`. What an expression puts together, and the folders in `inFolder("…")`, are not looked at.

use std::sync::LazyLock;

use regex::Regex;

use super::yaml::{self, Node, NodeKind};
use crate::edit::relink::{Relink, Splice, apply};
use crate::note::links::{Link, LinkStyle, Quote};

/// The target of a wiki link, or of a call with nothing but a text; a text may end in a fragment or an alias.
static TARGETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r#"[^"'\\\[\]#|\n]+"#;
    let end = r#"(?:[#|][^"'\\\n\]]*)?"#;
    let quote = r#"(?:\\"|"|'{1,2})"#;
    let wiki = format!(r"\[\[(?<wiki>{text}){end}\]\]");
    let call = format!(r"\b(?:link|file|hasLink|linksTo)\(\s*{quote}(?<call>{text}){end}{quote}");
    Regex::new(&format!("{wiki}|{call}")).ok()
});

/// What has to change in a base when files move, in order; nothing if the result would not be YAML any more.
pub(crate) fn relinked(relink: &Relink<'_>, text: &str) -> Vec<Splice> {
    let Ok(tree) = yaml::read(text) else { return Vec::new() };
    let mut links = Vec::new();
    collect(&tree.root, text, &mut links);
    let mut splices = relink.links(text, &links);
    // A quote in a name would need escapes of the expression inside those of the YAML.
    splices.retain(|splice| !splice.text.contains(['"', '\'', '\\']));
    let reads = yaml::read(&apply(text, &splices)).is_ok();
    if reads { splices } else { Vec::new() }
}

fn collect(node: &Node, text: &str, out: &mut Vec<Link>) {
    match &node.kind {
        NodeKind::List(items) => items.iter().for_each(|item| collect(item, text, out)),
        NodeKind::Map(entries) => entries.iter().for_each(|entry| collect(&entry.value, text, out)),
        NodeKind::Scalar(_) => targets(node, text, out),
        NodeKind::Empty => {}
    }
}

fn targets(node: &Node, text: &str, out: &mut Vec<Link>) {
    let Some(pattern) = &*TARGETS else { return };
    let raw = text.get(node.span.clone()).unwrap_or("");
    let quote = match raw.chars().next() {
        Some('\'') => Quote::Single,
        Some('"') => Quote::Double,
        // An alias, an anchor or a tag: what stands there is not the text itself.
        Some('*' | '&' | '!') | None => return,
        Some(_) => Quote::None,
    };
    for found in pattern.captures_iter(raw) {
        let Some(target) = found.name("wiki").or_else(|| found.name("call")) else { continue };
        let trimmed = target.as_str().trim();
        let start =
            node.span.start + target.start() + (target.as_str().len() - target.as_str().trim_start().len());
        let span = start..start + trimmed.len();
        // Nested nodes share no bytes, but an alias repeats them.
        if trimmed.is_empty() || out.last().is_some_and(|last: &Link| last.target_span.start >= span.start) {
            continue;
        }
        out.push(Link {
            style: LinkStyle::Wiki,
            embed: false,
            target: trimmed.to_owned(),
            fragment: None,
            display: None,
            span: span.clone(),
            target_span: span,
            in_front: true,
            quote,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::relink::Moves;
    use crate::links::Resolver;
    use crate::path::VaultPath;

    #[track_caller]
    fn check(moved: (&str, &str), text: &str, expected: &str) {
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let before = Resolver::new(["Dune.md", "p/Emma.md", "b.base"].map(path));
        let moves: Moves = [(path(moved.0), path(moved.1))].into_iter().collect();
        let mut after = before.clone();
        moves.apply(&mut after);
        let base = path("b.base");
        let relink = Relink {
            from_old: &base,
            from_new: moves.of(&base),
            moves: &moves,
            before: &before,
            after: &after,
        };
        assert_eq!(apply(text, &relinked(&relink, text)), expected, "{text}");
    }

    #[test]
    fn links_and_paths_in_expressions_follow_a_move() {
        let moved = ("Dune.md", "q/Sand.md");
        for (text, expected) in [
            ("filters: file.hasLink(\"Dune\") # Dune", "filters: file.hasLink(\"Sand\") # Dune"),
            ("filters: author == link('Dune', \"Dune\")", "filters: author == link('Sand', \"Dune\")"),
            ("filters: 'author == link(''Dune'')'", "filters: 'author == link(''Sand'')'"),
            ("filters: \"file(\\\"Dune.md\\\") == this\"", "filters: \"file(\\\"Sand.md\\\") == this\""),
            ("filters: x.linksTo( \"Dune#Part\" )", "filters: x.linksTo( \"Sand#Part\" )"),
            ("filters: x == \"[[Dune|D]]\"", "filters: x == \"[[Sand|D]]\""),
            (
                "views: [{filters: 'x == \"[[Dune]]\"', name: 'link'}]",
                "views: [{filters: 'x == \"[[Sand]]\"', name: 'link'}]",
            ),
            (
                "formulas:\n  a: |\n    link(\"Dune\")\n  b: link(\"Emma\")\n",
                "formulas:\n  a: |\n    link(\"Sand\")\n  b: link(\"Emma\")\n",
            ),
            // A name, a folder, a text that is put together, other words: left alone.
            ("filters: file.name == \"Dune\"", "filters: file.name == \"Dune\""),
            ("filters: file.inFolder(\"Dune\")", "filters: file.inFolder(\"Dune\")"),
            ("filters: link(\"Du\" + \"ne\")", "filters: link(\"Du\" + \"ne\")"),
            ("filters: [link(\"Dune\"", "filters: [link(\"Dune\""),
        ] {
            check(moved, text, expected);
        }
    }

    #[test]
    fn names_that_would_break_the_yaml_or_the_expression_are_left_as_they_are() {
        let text = "filters: link(\"Dune\")";
        check(("Dune.md", "a \"b\".md"), text, text);
        check(("Dune.md", "long name: b.md"), text, text);
        check(("Dune.md", "it's.md"), text, text);
        check(
            ("b.base", "z/b.base"),
            "filters: file.hasLink(\"p/Emma\")",
            "filters: file.hasLink(\"p/Emma\")",
        );
    }
}
