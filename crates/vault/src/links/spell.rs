//! The other direction: the text to write so that a link leads to a file.
//!
//! Called by whoever makes a link and by [`crate::edit::relink`], which keeps the form that a link already had.
//! Every answer was resolved before it is given; encoding for Markdown or YAML is the caller's.

use serde::{Deserialize, Serialize};

use super::{Resolver, Road, fold, is_dotted, last_segment};
use crate::note::links::{LinkStyle, destination, reads_back};
use crate::path::VaultPath;

/// How new links are written (Obsidian's `newLinkFormat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkFormat {
    /// The name alone where that is enough, else the whole path.
    #[default]
    Shortest,
    /// From the folder of the note that holds the link.
    Relative,
    /// The whole path from the vault's root.
    Absolute,
}

/// The form in which a target is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The last so many names of the path.
    End(usize),
    /// From the source's folder, `./` in front where nothing else shows it.
    Dotted,
    /// From the source's folder, without `./`.
    Relative,
    /// The whole path.
    Whole,
    /// The whole path with a slash in front.
    Slashed,
}

/// How a target is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spelling {
    pub(crate) style: LinkStyle,
    pub(crate) form: Form,
    /// Whether `.md` is written out.
    pub(crate) extension: bool,
}

impl Spelling {
    /// How a link that leads to `to` is written.
    pub(crate) fn of(style: LinkStyle, target: &str, road: Road, to: &VaultPath) -> Spelling {
        let form = if is_dotted(target) {
            let dotted = style == LinkStyle::Wiki || target.starts_with("./");
            if dotted { Form::Dotted } else { Form::Relative }
        } else if target.starts_with('/') {
            Form::Slashed
        } else {
            match road {
                Road::Beside => Form::Relative,
                Road::Whole if target.contains('/') => Form::Whole,
                _ => Form::End(target.split('/').count()),
            }
        };
        Spelling { style, form, extension: fold(last_segment(target)) == fold(to.name()) }
    }

    /// The target in this form, whether it would lead to `to` or not.
    pub(crate) fn write(self, to: &VaultPath, from: &VaultPath) -> String {
        write(to, from, self.form, self.extension)
    }
}

impl Resolver {
    /// The wiki target to write in `from` so that it leads to `to`, without `.md`. Falls back to longer forms where
    /// the wanted one would lead elsewhere.
    pub fn shortest_link(&self, to: &VaultPath, from: &VaultPath, format: LinkFormat) -> String {
        self.link_text(to, from, LinkStyle::Wiki, format)
    }

    /// The target to write in `from`, decoded; with `.md` in a Markdown link.
    pub fn link_text(
        &self,
        to: &VaultPath,
        from: &VaultPath,
        style: LinkStyle,
        format: LinkFormat,
    ) -> String {
        let form = match format {
            LinkFormat::Shortest => Form::End(1),
            LinkFormat::Relative => Form::Relative,
            LinkFormat::Absolute => Form::Whole,
        };
        let spelling = Spelling { style, form, extension: style == LinkStyle::Markdown };
        self.spell(to, from, spelling).unwrap_or_else(|| to.as_str().to_owned())
    }

    /// The target in the wanted form, or in the nearest one that leads to `to`; none where no text can
    /// (a wiki link to a name with `#` in it).
    pub(crate) fn spell(&self, to: &VaultPath, from: &VaultPath, wanted: Spelling) -> Option<String> {
        let forms = match wanted.form {
            Form::Relative => [Form::Relative, Form::Dotted, Form::Whole, Form::Slashed],
            form => [form, Form::Whole, Form::Dotted, Form::Slashed],
        };
        let plain = forms.iter().map(|form| write(to, from, *form, wanted.extension));
        let complete = forms.iter().map(|form| write(to, from, *form, true));
        plain.chain(complete).find(|text| self.leads_to(text, to, from, wanted))
    }

    fn leads_to(&self, text: &str, to: &VaultPath, from: &VaultPath, wanted: Spelling) -> bool {
        let writable = match wanted.style {
            LinkStyle::Wiki => reads_back(text),
            LinkStyle::Markdown => !destination::is_external(text),
        };
        // A Markdown link that counts from its own folder has to stay one: other programs know no other kind.
        let stays =
            |road| wanted.style == LinkStyle::Wiki || wanted.form != Form::Relative || road == Road::Beside;
        writable
            && self
                .locate(wanted.style, text, from)
                .is_some_and(|found| found.path == to && stays(found.road))
    }
}

fn write(to: &VaultPath, from: &VaultPath, form: Form, extension: bool) -> String {
    let whole = to.as_str();
    let is_md = to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    let path = if is_md && !extension { &whole[..whole.len() - ".md".len()] } else { whole };
    match form {
        Form::Whole => path.to_owned(),
        Form::Slashed => format!("/{path}"),
        Form::Relative => relative(path, from),
        Form::Dotted => {
            let text = relative(path, from);
            if text.starts_with("../") { text } else { format!("./{text}") }
        }
        Form::End(names) => {
            let start =
                path.rmatch_indices('/').nth(names.saturating_sub(1)).map_or(0, |(slash, _)| slash + 1);
            path[start..].to_owned()
        }
    }
}

fn relative(path: &str, from: &VaultPath) -> String {
    let folder = from.parent();
    let mut here = folder.as_str().split('/').filter(|name| !name.is_empty()).peekable();
    let mut rest = path;
    while let (Some(name), Some((first, below))) = (here.peek(), rest.split_once('/')) {
        if *name != first {
            break;
        }
        here.next();
        rest = below;
    }
    format!("{}{rest}", "../".repeat(here.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn links_are_as_short_as_the_vault_allows() {
        use LinkFormat::*;
        let resolver = Resolver::new(
            ["a.md", "p/a.md", "p/b.md", "p/q/c.md", "i.png", "x.png", "x.png.md", "p/p/b.md"].map(path),
        );
        for (to, from, format, wiki, markdown) in [
            ("p/b.md", "y.md", Shortest, "b", "b.md"),
            ("p/a.md", "y.md", Shortest, "p/a", "p/a.md"),
            ("p/a.md", "p/y.md", Shortest, "p/a", "a.md"),
            ("i.png", "p/y.md", Shortest, "i.png", "i.png"),
            ("p/q/c.md", "p/y.md", Relative, "q/c", "q/c.md"),
            ("a.md", "p/q/y.md", Relative, "../../a", "../../a.md"),
            ("p/a.md", "p/y.md", Relative, "./a", "a.md"),
            ("p/q/c.md", "y.md", Absolute, "p/q/c", "p/q/c.md"),
            ("p/b.md", "p/y.md", Absolute, "p/b", "./b.md"),
            ("x.png.md", "y.md", Shortest, "x.png.md", "x.png.md"),
            ("x.png", "y.md", Shortest, "x.png", "x.png"),
        ] {
            let (to, from) = (path(to), path(from));
            assert_eq!(resolver.shortest_link(&to, &from, format), wiki, "{to} from {from} {format:?}");
            let text = resolver.link_text(&to, &from, LinkStyle::Markdown, format);
            assert_eq!(text, markdown, "{to} from {from} {format:?} as Markdown");
        }
    }
}
