//! Callouts: quotes that open with `[!kind]`.

/// How a callout opens.
#[derive(Debug, PartialEq, Eq)]
pub struct Callout<'t> {
    /// Which of the looks it has.
    pub look: &'static str,
    /// Its kind as it was written.
    pub kind: &'t str,
    /// Whether it folds, and is open at first.
    pub fold: Option<bool>,
    /// What of the title stands in the same piece of text.
    pub title: &'t str,
}

/// Every kind with its look; others look like a note.
const KINDS: &[(&str, &str)] = &[
    ("note", "note"),
    ("abstract", "abstract"),
    ("summary", "abstract"),
    ("tldr", "abstract"),
    ("info", "info"),
    ("todo", "todo"),
    ("tip", "tip"),
    ("hint", "tip"),
    ("important", "tip"),
    ("success", "success"),
    ("check", "success"),
    ("done", "success"),
    ("question", "question"),
    ("help", "question"),
    ("faq", "question"),
    ("warning", "warning"),
    ("caution", "warning"),
    ("attention", "warning"),
    ("failure", "failure"),
    ("fail", "failure"),
    ("missing", "failure"),
    ("danger", "danger"),
    ("error", "danger"),
    ("bug", "bug"),
    ("example", "example"),
    ("quote", "quote"),
    ("cite", "quote"),
];

impl<'t> Callout<'t> {
    /// Reads the first text of a quote.
    pub fn parse(text: &'t str) -> Option<Callout<'t>> {
        let (inside, behind) = text.trim_start().strip_prefix("[!")?.split_once(']')?;
        let kind = inside.split('|').next().unwrap_or(inside).trim();
        if kind.is_empty()
            || kind.len() > 40
            || !kind.chars().all(|c| c.is_alphanumeric() || "-_ ".contains(c))
        {
            return None;
        }
        let known = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(kind);
        let look = KINDS.iter().find(known).map_or("note", |(_, look)| look);
        let (fold, title) = match behind.as_bytes().first() {
            Some(b'+') => (Some(true), &behind[1..]),
            Some(b'-') => (Some(false), &behind[1..]),
            _ => (None, behind),
        };
        Some(Callout { look, kind, fold, title: title.trim_start() })
    }

    /// The title of a callout that has none.
    pub fn usual_title(&self) -> String {
        let mut chars = self.kind.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    }
}
