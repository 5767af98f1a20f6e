//! How text becomes safe and pleasant on a terminal: control characters are shown instead of sent, and roles get
//! a colour where colours are wanted. Pure: what stdout and stderr are is found out in `terminal.rs`.
//!
//! Colour never carries meaning alone: every role has its sign or word in the text as well.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

/// What is written on: a terminal, a file, a screen reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paper {
    /// Whether roles get a colour.
    pub colour: Colour,
    /// Whether control characters in note names and text are shown instead of sent.
    pub controls: Controls,
    /// Whether a line stays simple: no box lines, numbered choices.
    pub simple: Simple,
}

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// No.
    #[default]
    Off,
    /// Yes.
    On,
}

/// What to do with control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Controls {
    /// Leave them: a program reads this.
    #[default]
    Raw,
    /// Show them: a terminal would obey them.
    Shown,
}

/// For whom a prompt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Simple {
    /// The usual.
    #[default]
    No,
    /// Linear text with numbered choices (`--plain`).
    Yes,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// A place: a path, a hunk header.
    Place,
    /// What a search found.
    Match,
    /// Beside the point.
    Dim,
    /// Good.
    Good,
    /// Worth a look.
    Warning,
    /// Wrong.
    Bad,
    /// A heading.
    Title,
}

impl Role {
    fn style(self) -> Style {
        let fg = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Role::Added | Role::Good => fg(AnsiColor::Green),
            Role::Removed | Role::Bad => fg(AnsiColor::Red),
            Role::Place => fg(AnsiColor::Cyan),
            Role::Match => fg(AnsiColor::Red).bold(),
            Role::Dim => Style::new().dimmed(),
            Role::Warning => fg(AnsiColor::Yellow),
            Role::Title => Style::new().bold(),
        }
    }
}

impl Paper {
    /// Text that somebody else wrote, safe to print here.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.controls {
            Controls::Raw => Cow::Borrowed(text),
            Controls::Shown => shown(text),
        }
    }

    /// The same in its role.
    pub fn paint(&self, role: Role, text: &str) -> String {
        let text = self.text(text);
        match self.colour {
            Colour::Off => text.into_owned(),
            Colour::On => {
                let style = role.style();
                format!("{style}{text}{style:#}")
            }
        }
    }
}

/// Control characters and direction marks as visible escapes; line ends and tabs stay.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hazard) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The line end of Windows is a line end; a lone return would write over the line.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push_str("\\r"),
            c if is_hazard(c) => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_hazard(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}' | '\u{2029}')
}

/// How many lines of one diff are shown before it is clipped.
const DIFF_LINES: usize = 120;
/// How many changes of one plan are listed.
const LISTED: usize = 50;
/// How many files of one plan are shown with their diff.
const DIFF_FILES: usize = 10;

/// The changes of a plan as a person sees them: a list with counts where there are several, then the diffs, big ones
/// clipped with what was left out.
pub fn changes(paper: &Paper, changes: &[vault::Change]) -> String {
    let mut out = String::new();
    if changes.len() > 1 {
        for change in changes.iter().take(LISTED) {
            let (added, removed) = change.lines();
            let counts =
                if (added, removed) == (0, 0) { String::new() } else { format!("  +{added} -{removed}") };
            let _ = writeln!(out, "  {}{counts}", paper.text(&one_line(&change.headline())));
        }
        let _ = writeln!(out, "{}", counted(changes.len()));
    }
    for change in
        changes.iter().filter(|change| change.texts().is_some() || changes.len() == 1).take(DIFF_FILES)
    {
        out.push_str(&diff(paper, &change.diff(), DIFF_LINES));
    }
    let texts = changes.iter().filter(|change| change.texts().is_some()).count();
    if texts > DIFF_FILES {
        let _ = writeln!(out, "… the diffs of {} more files are not shown", texts - DIFF_FILES);
    }
    out
}

fn counted(total: usize) -> String {
    match total.saturating_sub(LISTED) {
        0 => format!("  {total} changes in all"),
        more => format!("  … and {more} more, {total} changes in all"),
    }
}

/// A unified diff with its signs coloured, clipped after so many lines.
pub fn diff(paper: &Paper, diff: &str, at_most: usize) -> String {
    let mut out = String::new();
    for line in diff.lines().take(at_most) {
        let painted = if line.starts_with("+++ ") || line.starts_with("--- ") || line.starts_with("@@") {
            paper.paint(Role::Place, line)
        } else if line.starts_with('+') {
            paper.paint(Role::Added, line)
        } else if line.starts_with('-') {
            paper.paint(Role::Removed, line)
        } else {
            paper.text(line).into_owned()
        };
        let _ = writeln!(out, "{painted}");
    }
    let total = diff.lines().count();
    if total > at_most {
        let _ = writeln!(out, "… {} more lines of this diff are not shown", total - at_most);
    }
    out
}

/// A text on one line, for lists.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Every match of `needle` in a line in the role of a match; case does not count.
pub fn highlight(paper: &Paper, line: &str, spans: &[std::ops::Range<usize>]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for span in spans {
        let (Some(before), Some(found)) = (line.get(at..span.start), line.get(span.clone())) else {
            continue;
        };
        out.push_str(&paper.text(before));
        out.push_str(&paper.paint(Role::Match, found));
        at = span.end;
    }
    out.push_str(&paper.text(line.get(at..).unwrap_or_default()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use vault::{Change, VaultPath};

    const SCREEN: Paper = Paper { colour: Colour::On, controls: Controls::Shown, simple: Simple::No };

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        for (given, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\r\nb", "a\nb"),
            ("a\rb", "a\\rb"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("ab\u{202e}dc", "ab\\u{202e}dc"),
            ("bell\u{7}del\u{7f}", "bell\\u{7}del\\u{7f}"),
            ("é 😀", "é 😀"),
        ] {
            assert_eq!(shown(given), expected);
            assert_eq!(Paper::default().text(given), given, "raw stays raw");
        }
    }

    #[test]
    fn a_role_colours_safe_text_only() {
        assert_eq!(SCREEN.paint(Role::Added, "+\u{1b}]0;x\u{7}"), "\u{1b}[32m+\\u{1b}]0;x\\u{7}\u{1b}[0m");
        assert_eq!(Paper::default().paint(Role::Added, "+x"), "+x");
    }

    #[test]
    fn several_files_are_listed_and_a_long_diff_is_clipped_with_a_count() {
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let long: String = (0..500).map(|n| format!("line {n}\n")).collect();
        let all = [
            Change::create(path("long.md"), long),
            Change::replace(path("b.md"), "one\ntwo\n", "one\nthree\n"),
            Change::Move { from: path("c.md"), to: path("d.md"), trash: vault::change::Trash::No },
        ];
        let text = changes(&Paper::default(), &all);
        assert!(text.starts_with("  + long.md (0 -> 4390 bytes)  +500 -0\n  ~ b.md"), "{text}");
        assert!(text.contains("  > c.md -> d.md\n  3 changes in all\n"), "{text}");
        assert!(text.contains("… 383 more lines of this diff are not shown\n"), "{text}");
        assert!(text.ends_with(" one\n-two\n+three\n"), "{text}");
    }

    #[test]
    fn a_thousand_changes_are_counted_not_poured_out() {
        let path = |number: usize| VaultPath::parse(&format!("{number}.md")).unwrap();
        let all: Vec<Change> = (0..1_000).map(|number| Change::create(path(number), "x\n")).collect();
        let text = changes(&Paper::default(), &all);
        assert!(text.contains("\n  … and 950 more, 1000 changes in all\n"), "{text}");
        assert!(text.ends_with("… the diffs of 990 more files are not shown\n"), "{text}");
        assert!(text.lines().count() < 110, "{text}");
    }

    #[test]
    fn highlights_keep_every_character() {
        let line = "Ünï bee bee";
        let spans = [6..9, 10..13];
        assert_eq!(highlight(&Paper::default(), line, &spans), line);
        let one = |span: std::ops::Range<usize>| vec![span];
        assert_eq!(highlight(&SCREEN, "a bee", &one(2..5)), "a \u{1b}[1m\u{1b}[31mbee\u{1b}[0m");
        assert_eq!(highlight(&SCREEN, "é", &one(1..2)), "é", "a span that cuts a character is left alone");
    }
}
