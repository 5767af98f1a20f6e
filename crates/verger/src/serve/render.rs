//! Markdown as HTML that is safe to show: rendered and cleaned here, so that the page never parses text of others.

use vault::VaultPath;

/// Where a text stands: what its links lead to.
pub struct Place<'p> {
    /// What the person may see.
    pub view: &'p vault::View<'p>,
    /// The note that holds the text.
    pub from: Option<&'p VaultPath>,
}

/// What a model said, as HTML: its words in paragraphs, nothing of it taken for markup.
pub fn answer(text: &str, _: &Place<'_>) -> String {
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    paragraphs.map(|paragraph| format!("<p>{}</p>\n", escaped(paragraph.trim()))).collect()
}

/// Text that no browser takes for markup.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
