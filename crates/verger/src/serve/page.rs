//! The page itself: its files are part of the program. No build step, no script of others, nothing from elsewhere.
//!
//! A browser keeps the files and asks whether they changed, so that a new program never runs with an old page.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::house::House;

/// A file of the page.
struct File {
    name: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Every file of the page.
        const FILES: &[File] = &[$(File { name: $name, bytes: include_bytes!(concat!("../../page/", $name)) }),*];
    };
}

files![
    "index.html",
    "login.html",
    "icon.svg",
    "manifest.webmanifest",
    "css/base.css",
    "css/shell.css",
    "css/home.css",
    "css/approval.css",
    "css/chat.css",
    "css/notes.css",
    "css/find.css",
    "css/changes.css",
    "css/graph.css",
    "css/health.css",
    "css/activity.css",
    "css/settings.css",
    "js/api.js",
    "js/app.js",
    "js/approval.js",
    "js/approval/ask.js",
    "js/approval/fields.js",
    "js/approval/words.js",
    "js/chat/attach.js",
    "js/chat/cards.js",
    "js/chat/complete.js",
    "js/chat/composer.js",
    "js/chat/messages.js",
    "js/chat/meter.js",
    "js/chat/morph.js",
    "js/chat/orders.js",
    "js/chat/sessions.js",
    "js/chat/transcript.js",
    "js/chat/welcome.js",
    "js/dialog.js",
    "js/diff.js",
    "js/diff/lines.js",
    "js/dom.js",
    "js/graph-worker.js",
    "js/graph/draw.js",
    "js/live.js",
    "js/login.js",
    "js/markup.js",
    "js/menu.js",
    "js/palette.js",
    "js/propose.js",
    "js/plot.js",
    "js/theme.js",
    "js/toast.js",
    "js/notes/address.js",
    "js/notes/reading.js",
    "js/notes/side.js",
    "js/notes/tree.js",
    "js/find/results.js",
    "js/find/table.js",
    "js/views/home.js",
    "js/views/chat.js",
    "js/views/notes.js",
    "js/views/find.js",
    "js/views/changes.js",
    "js/views/graph.js",
    "js/views/health.js",
    "js/views/activity.js",
    "js/views/settings.js",
    "js/views/settings/agents.js",
    "js/views/settings/approval.js",
    "js/views/settings/doctor.js",
    "js/views/settings/form.js",
    "js/views/settings/grants.js",
    "js/views/settings/limits.js",
    "js/views/settings/look.js",
    "js/views/settings/models.js",
    "js/views/settings/policy.js",
    "js/views/settings/servers.js",
    "js/views/settings/tokens.js",
];

/// All styles in one, in the order of the list: a browser asks once before it paints.
const STYLE: &str = "style.css";
static ALL_STYLES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let styles = FILES.iter().filter(|file| file.name.ends_with(".css"));
    styles.flat_map(|file| file.bytes).copied().collect()
});
static STYLE_TAG: LazyLock<String> = LazyLock::new(|| tag(&ALL_STYLES));

/// What each file is known by.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| FILES.iter().map(|file| tag(file.bytes)).collect());

/// The page and its files.
pub fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { give("index.html", &headers) }))
        .route("/login", get(|headers: HeaderMap| async move { give("login.html", &headers) }))
        .route("/favicon.ico", get(|headers: HeaderMap| async move { give("icon.svg", &headers) }))
        .route(
            "/page/{*name}",
            get(|Path(name): Path<String>, headers: HeaderMap| async move { give(&name, &headers) }),
        )
}

/// Nothing lies at this address.
pub async fn nothing_here() -> Response {
    super::problem::Problem::not_found(
        "there is nothing here",
        "the page is at /, the API is described at /api/openapi.json",
    )
    .into_response()
}

fn give(name: &str, headers: &HeaderMap) -> Response {
    #[cfg(debug_assertions)]
    if let Some(text) = worked_on(name) {
        return ([(header::CONTENT_TYPE, kind(name))], text).into_response();
    }
    let (tag, bytes): (&str, &'static [u8]) = match FILES.iter().position(|file| file.name == name) {
        Some(at) => (&TAGS[at], FILES[at].bytes),
        None if name == STYLE => (&STYLE_TAG, &ALL_STYLES),
        None => return (StatusCode::NOT_FOUND, "there is no such file").into_response(),
    };
    let keep = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache")];
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        return (StatusCode::NOT_MODIFIED, keep).into_response();
    }
    (keep, [(header::CONTENT_TYPE, kind(name))], bytes).into_response()
}

/// Whoever works on the page names its folder in `VERGER_PAGE` and sees changes at once; not in a released program.
#[cfg(debug_assertions)]
fn worked_on(name: &str) -> Option<String> {
    let folder = std::env::var_os("VERGER_PAGE")?;
    let read = |name: &str| crate::place::read_named(&std::path::Path::new(&folder).join(name)).ok();
    if name == STYLE {
        return FILES.iter().filter(|file| file.name.ends_with(".css")).map(|file| read(file.name)).collect();
    }
    let known = !name.contains("..") && !name.starts_with('/');
    read(name).filter(|_| known)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

fn tag(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let short: String = digest.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{short}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "looks at the sources of the page")]
    fn every_file_of_the_page_is_served() {
        fn walk(folder: &std::path::Path, root: &std::path::Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, root, found),
                    false => found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned()),
                }
            }
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut found = Vec::new();
        walk(&root, &root, &mut found);
        let mut served: Vec<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
        found.sort();
        served.sort();
        assert_eq!(found, served);
    }

    #[test]
    fn no_file_holds_what_the_policy_forbids() {
        for file in FILES.iter().filter(|file| file.name.ends_with(".html")) {
            let text = std::str::from_utf8(file.bytes).unwrap();
            for forbidden in [" style=", "<style", " onclick=", "javascript:", "http://", "https://"] {
                assert!(!text.contains(forbidden), "{}: {forbidden}", file.name);
            }
            assert!(
                !text
                    .replace("<script type=\"module\" src=", "")
                    .replace("<script src=", "")
                    .contains("<script")
            );
        }
    }

    #[test]
    fn markup_is_set_in_one_file_only() {
        for file in FILES.iter().filter(|file| file.name.ends_with(".js") && file.name != "js/markup.js") {
            let text = std::str::from_utf8(file.bytes).unwrap();
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
            {
                assert!(!text.contains(forbidden), "{}: {forbidden}", file.name);
            }
        }
    }
}
