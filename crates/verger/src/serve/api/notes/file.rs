//! The bytes of a file. What a browser could run is only given to be saved.

use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use vault::VaultPath;
use vault::files::{Entry, Kind};

use super::path;
use crate::serve::api::body::Asked;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::serve::render::links;

/// The largest file that is given.
const LARGEST: u64 = 200 * 1024 * 1024;

/// Which file.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Asking {
    /// Its path.
    path: String,
}

/// How a file is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To be shown in its place.
    Shown,
    /// To be opened by the browser's own reader, which a sandbox would keep shut.
    Read,
    /// To be saved.
    Saved,
}

/// The kinds that may be shown; all others are saved as bytes of no kind.
const KINDS: &[(&str, &str, Way)] = &[
    ("png", "image/png", Way::Shown),
    ("jpg", "image/jpeg", Way::Shown),
    ("jpeg", "image/jpeg", Way::Shown),
    ("gif", "image/gif", Way::Shown),
    ("webp", "image/webp", Way::Shown),
    ("avif", "image/avif", Way::Shown),
    ("bmp", "image/bmp", Way::Shown),
    ("mp3", "audio/mpeg", Way::Shown),
    ("wav", "audio/wav", Way::Shown),
    ("m4a", "audio/mp4", Way::Shown),
    ("ogg", "audio/ogg", Way::Shown),
    ("oga", "audio/ogg", Way::Shown),
    ("opus", "audio/ogg", Way::Shown),
    ("flac", "audio/flac", Way::Shown),
    ("mp4", "video/mp4", Way::Shown),
    ("m4v", "video/mp4", Way::Shown),
    ("mov", "video/quicktime", Way::Shown),
    ("webm", "video/webm", Way::Shown),
    ("ogv", "video/ogg", Way::Shown),
    ("pdf", "application/pdf", Way::Read),
    ("md", "text/plain; charset=utf-8", Way::Shown),
    ("txt", "text/plain; charset=utf-8", Way::Shown),
];

/// Nothing in the file may do anything.
const SHUT: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";
/// The same for a reader of the browser's own.
const READER: &str =
    "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// A file, or the part of it that a player asks for.
pub async fn file(
    State(house): State<Arc<House>>,
    headers: HeaderMap,
    Asked(asked): Asked<Asking>,
) -> Result<Response, Problem> {
    // Each may hold a large file in memory, a part of one too: a player that asks for many parts waits.
    static AT_ONCE: Semaphore = Semaphore::const_new(3);
    let _place = AT_ONCE.acquire().await.map_err(|_| Problem::broken())?;
    house.look(move |house| give(house, &path(&asked.path)?, &headers)).await
}

fn give(house: &House, path: &VaultPath, headers: &HeaderMap) -> Result<Response, Problem> {
    let (study, scope) = (house.study(), house.scope()?);
    let view = study.mind.road.vault().view(&scope);
    let missing =
        || Problem::not_found(format!("there is no file `{path}`"), "it may have been moved or renamed");
    let entry = view.look(path)?.filter(|entry| entry.kind == Kind::File).ok_or_else(missing)?;
    if entry.stat.size > LARGEST {
        let hint = "open it with another program";
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "this file is too large to be shown",
            hint,
        ));
    }
    let tag = tag(&entry);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let bytes = view.read(path)?;
    let asked = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let whole = bytes.len();
    let mut answer = match asked.map(|asked| range(asked, whole)) {
        None | Some(Part::All) => bytes.into_response(),
        Some(Part::Some(range)) => {
            let told = format!("bytes {}-{}/{whole}", range.start, range.end - 1);
            let part = bytes.get(range).unwrap_or_default().to_vec();
            (StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, told)], part).into_response()
        }
        Some(Part::Beyond) => {
            (StatusCode::RANGE_NOT_SATISFIABLE, [(header::CONTENT_RANGE, format!("bytes */{whole}"))])
                .into_response()
        }
    };
    dress(&mut answer, path, &tag);
    Ok(answer)
}

fn tag(entry: &Entry) -> String {
    format!("\"{:x}-{:x}-{:x}\"", entry.stat.size, entry.stat.modified_ns, entry.stat.inode)
}

fn dress(answer: &mut Response, path: &VaultPath, tag: &str) {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    let known = KINDS.iter().find(|(known, ..)| *known == ending);
    let (kind, way) = known.map_or(("application/octet-stream", Way::Saved), |(_, kind, way)| (*kind, *way));
    let how = if way == Way::Saved { "attachment" } else { "inline" };
    let told = format!("{how}; filename*=UTF-8''{}", links::encode(path.name(), ""));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = if way == Way::Read { READER } else { SHUT };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    for (name, value) in [(header::CONTENT_DISPOSITION, told.as_str()), (header::ETAG, tag)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

/// Which part of a file is wanted.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    All,
    Some(Range<usize>),
    Beyond,
}

/// Reads `bytes=a-b`. What is not understood, and lists of parts, mean the whole.
fn range(asked: &str, whole: usize) -> Part {
    let Some((from, to)) = asked.strip_prefix("bytes=").and_then(|part| part.split_once('-')) else {
        return Part::All;
    };
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let wanted = match (number(from), number(to)) {
        (Some(from), None) if to.trim().is_empty() => from..whole,
        (Some(from), Some(to)) if from <= to => from..to.saturating_add(1).min(whole),
        (None, Some(last)) if from.trim().is_empty() && last > 0 => whole.saturating_sub(last)..whole,
        _ => return Part::All,
    };
    if wanted.start >= whole { Part::Beyond } else { Part::Some(wanted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_could_run_is_only_saved() {
        for (name, kind, how) in [
            ("a.html", "application/octet-stream", "attachment"),
            ("a.SVG", "application/octet-stream", "attachment"),
            ("a.xml", "application/octet-stream", "attachment"),
            ("a.js", "application/octet-stream", "attachment"),
            ("a.xhtml", "application/octet-stream", "attachment"),
            ("a", "application/octet-stream", "attachment"),
            ("a.png", "image/png", "inline"),
            ("a.pdf", "application/pdf", "inline"),
            ("a.md", "text/plain; charset=utf-8", "inline"),
        ] {
            let mut answer = Vec::<u8>::new().into_response();
            dress(&mut answer, &VaultPath::parse(name).unwrap(), "\"x\"");
            let told = |header| answer.headers().get(header).unwrap().to_str().unwrap().to_owned();
            assert_eq!(told(header::CONTENT_TYPE), kind, "{name}");
            assert!(told(header::CONTENT_DISPOSITION).starts_with(how), "{name}");
            assert_eq!(told(header::X_CONTENT_TYPE_OPTIONS), "nosniff", "{name}");
            assert!(told(header::CONTENT_SECURITY_POLICY).starts_with("default-src 'none'"), "{name}");
        }
    }

    #[test]
    fn parts_of_a_file_are_read_as_asked() {
        for (asked, part) in [
            ("bytes=0-3", Part::Some(0..4)),
            ("bytes=4-", Part::Some(4..10)),
            ("bytes=-3", Part::Some(7..10)),
            ("bytes=-99", Part::Some(0..10)),
            ("bytes=0-99999999999999999999", Part::All),
            ("bytes=3-18446744073709551615", Part::Some(3..10)),
            ("bytes=10-", Part::Beyond),
            ("bytes=5-2", Part::All),
            ("bytes=0-1,3-4", Part::All),
            ("lines=1-2", Part::All),
        ] {
            assert_eq!(range(asked, 10), part, "{asked}");
        }
    }
}
