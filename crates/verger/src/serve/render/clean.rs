//! The last step: only what is on this list gets through, whatever was written before.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

/// How often HTML of a note's own is cleaned until nothing changes any more.
const ROUNDS: usize = 4;

const TAGS: &[&str] = &[
    "a",
    "abbr",
    "article",
    "audio",
    "b",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "input",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "section",
    "small",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
    "video",
    "wbr",
];

/// Elements that vanish with everything in them.
const WHOLE: &[&str] = &["script", "style"];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from_iter(TAGS.iter().copied()))
        .clean_content_tags(HashSet::from_iter(WHOLE.iter().copied()))
        .generic_attributes(HashSet::from(["class", "id", "title"]))
        .add_tag_attributes("a", &["href", "rel", "target"])
        .add_tag_attributes("img", &["src", "alt", "width", "height", "loading"])
        .add_tag_attributes("audio", &["src", "controls", "preload"])
        .add_tag_attributes("video", &["src", "controls", "preload"])
        .add_tag_attributes("input", &["checked", "disabled", "data-line", "aria-label"])
        .add_tag_attributes("ol", &["start"])
        .add_tag_attributes("details", &["open"])
        .set_tag_attribute_value("input", "type", "checkbox")
        .url_schemes(HashSet::from(["http", "https", "mailto", "tel", "obsidian", "zotero"]))
        .url_relative(UrlRelative::PassThrough)
        .link_rel(None)
        .strip_comments(true)
        .attribute_filter(attribute);
    builder
});

/// Clean HTML. What is clean stays as it is when it is cleaned again.
pub fn clean(html: String, has_raw: bool) -> String {
    let mut clean = once(&html);
    if !has_raw {
        return clean;
    }
    for _ in 0..ROUNDS {
        let again = once(&clean);
        if again == clean {
            return clean;
        }
        clean = again;
    }
    // A browser and this cleaner would not agree on what it means.
    let mut text =
        String::from("<p class=\"render-cut\">The HTML in this text cannot be shown safely.</p><pre>");
    super::writer::escape(&html, &mut text);
    text.push_str("</pre>");
    once(&text)
}

/// One round.
pub fn once(html: &str) -> String {
    CLEANER.clean(html).to_string()
}

fn attribute<'v>(element: &str, name: &str, value: &'v str) -> Option<Cow<'v, str>> {
    let kept = match (element, name) {
        (_, "src") => value.starts_with("/api/file?path="),
        (_, "href") => {
            value.starts_with("#/")
                || value.starts_with("/api/file?path=")
                || ["http://", "https://", "mailto:", "tel:", "obsidian:", "zotero:"].iter().any(|scheme| {
                    value.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
                })
        }
        (_, "target") => value == "_blank",
        (_, "id") => ["h-", "b-", "fn-", "fnref-"].iter().any(|start| value.starts_with(start)),
        (_, "width" | "height" | "data-line" | "start") => {
            value.len() <= 9 && value.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => true,
    };
    kept.then_some(Cow::Borrowed(value))
}
