//! Heading levels in content, moved as a whole: the highest heading lands on the level asked for.

use crate::note::blocks::{Blocks, Heading};

/// Content after its headings were moved.
pub(super) struct Leveled {
    /// The content.
    pub(super) text: String,
    /// Headings that ended on level 6 instead of deeper.
    pub(super) warnings: Vec<String>,
}

/// Moves the headings of the content so that the highest is a child of a heading of this level. Under the whole note
/// (level 0) they stay as they are.
pub(super) fn under(content: &str, level: u8) -> Leveled {
    match level {
        0 => Leveled { text: content.to_owned(), warnings: Vec::new() },
        _ => rebase(content, level + 1),
    }
}

/// Moves the headings of the content so that the highest is of this level.
pub(super) fn rebase(content: &str, level: u8) -> Leveled {
    let blocks = Blocks::scan(content, 0);
    let headings: Vec<&Heading> = blocks.headings.iter().filter(|heading| heading.inside.is_none()).collect();
    let highest = headings.iter().map(|heading| heading.level).min().unwrap_or(level);
    let mut out = Leveled { text: String::with_capacity(content.len()), warnings: Vec::new() };
    let mut done = 0;
    for heading in headings {
        let wanted = heading.level - highest + level.max(1);
        if wanted > 6 {
            let label: String = heading.text.chars().take(80).collect();
            out.warnings
                .push(format!("`{label}` would be a heading of level {wanted}; it is one of level 6"));
        }
        let wanted = wanted.min(6);
        out.text.push_str(&content[done..heading.span.start]);
        push_heading(&mut out.text, &content[heading.span.clone()], heading, wanted);
        done = heading.span.end;
    }
    out.text.push_str(&content[done..]);
    out
}

fn push_heading(out: &mut String, source: &str, heading: &Heading, level: u8) {
    if heading.level == level {
        out.push_str(source);
        return;
    }
    let hashes = source.len() - source.trim_start_matches('#').len();
    let setext = source.contains('\n') || hashes != usize::from(heading.level);
    for _ in 0..level {
        out.push('#');
    }
    if setext {
        // An underline knows two levels only, so a title that moves becomes a `#` heading of one line.
        out.push(' ');
        out.push_str(&heading.text.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    } else {
        out.push_str(&source[hashes..]);
    }
}
