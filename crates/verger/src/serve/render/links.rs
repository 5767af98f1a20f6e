//! Where links and images lead: into the vault, outside, or nowhere.

use vault::VaultPath;
use vault::note::links::{Link, LinkStyle};

use super::{Place, heading_id};

/// Where an address leads.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// To a file of the vault, with the id of a place in it.
    File(VaultPath, Option<String>),
    /// To a file that does not exist, or is not to be seen.
    Missing(String),
    /// Out, to this address.
    Outside(String),
    /// Nowhere that we would send anybody.
    Refused,
}

/// Addresses longer than this lead nowhere.
const LONGEST: usize = 4096;

/// The files that these links lead to.
pub fn resolve_all(place: &Place<'_>, links: &[Link]) -> Vec<Option<VaultPath>> {
    let nowhere = || vec![None; links.len()];
    if links.is_empty() {
        return Vec::new();
    }
    let Ok(catalog) = place.view.catalog() else { return nowhere() };
    let Some(from) = standpoint(place) else { return nowhere() };
    catalog.ask(|catalog, visible| {
        let mut leads = catalog.leads(visible);
        let end = |link: &Link| match link.target.is_empty() {
            true => place.from.cloned(),
            false => leads.resolve(link.style, &link.target, &from).cloned(),
        };
        links.iter().map(end).collect()
    })
}

/// Where the address of a Markdown link leads.
pub fn target(address: &str, place: &Place<'_>) -> Target {
    let address = address.trim();
    if address.is_empty() || address.len() > LONGEST || address.chars().any(char::is_control) {
        return Target::Refused;
    }
    if let Some(scheme) = scheme(address) {
        return match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" | "mailto" | "tel" | "obsidian" | "zotero" => {
                Target::Outside(address.to_owned())
            }
            _ => Target::Refused,
        };
    }
    if address.starts_with("//") || address.starts_with('\\') {
        return Target::Refused;
    }
    let (file, fragment) = address.split_once('#').unwrap_or((address, ""));
    let (file, fragment) = (decode(file), decode(fragment));
    let id = (!fragment.is_empty()).then(|| fragment_id(&fragment));
    if file.is_empty() {
        return place.from.map_or(Target::Refused, |from| Target::File(from.clone(), id));
    }
    let found = standpoint(place).and_then(|from| {
        let catalog = place.view.catalog().ok()?;
        catalog.ask(|catalog, visible| {
            catalog.leads(visible).resolve(LinkStyle::Markdown, &file, &from).cloned()
        })
    });
    found.map_or(Target::Missing(file), |path| Target::File(path, id))
}

/// The id that a link's fragment means: a heading's, or a block's.
pub fn fragment_id(fragment: &str) -> String {
    let last = fragment.rsplit('#').next().unwrap_or(fragment).trim();
    match last.strip_prefix('^') {
        Some(block) => block_id(block),
        None => heading_id(last),
    }
}

/// What a block is known by in the HTML.
pub fn block_id(block: &str) -> String {
    format!("b-{}", block.to_ascii_lowercase())
}

/// The address of a file's page, at a place in it.
pub fn page_of(path: &str, id: Option<&str>) -> String {
    let behind = id.map_or_else(String::new, |id| format!("?h={}", encode(id, "")));
    format!("#/notes/{}{behind}", encode(path, "/"))
}

/// The page of a note that could be written: where a link without an end leads.
pub fn page_of_missing(target: &str) -> String {
    let target = target.trim_start_matches(['/', '.']);
    let name = target.rsplit('/').next().unwrap_or(target);
    match name.contains('.') {
        true => page_of(target, None),
        false => page_of(&format!("{target}.md"), None),
    }
}

/// The address under which a file's bytes are served.
pub fn bytes_of(path: &VaultPath) -> String {
    format!("/api/file?path={}", encode(path.as_str(), "/"))
}

/// Percent signs for all but letters, digits, `-._~` and these.
pub fn encode(text: &str, plain: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        let is_plain =
            byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || plain.as_bytes().contains(&byte);
        match is_plain {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A file's kind, by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// A picture that holds no script.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything else.
    Other,
}

/// How a file can be shown.
pub fn media(path: &VaultPath) -> Media {
    match path.extension().map(str::to_ascii_lowercase).as_deref() {
        Some("png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "bmp") => Media::Image,
        Some("mp3" | "wav" | "m4a" | "ogg" | "oga" | "flac" | "opus") => Media::Audio,
        Some("mp4" | "webm" | "ogv" | "mov" | "m4v") => Media::Video,
        _ => Media::Other,
    }
}

/// From where a target is looked up when the text stands in no note: the root.
fn standpoint(place: &Place<'_>) -> Option<VaultPath> {
    place.from.cloned().or_else(|| VaultPath::parse("nowhere.md").ok())
}

fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    fits.then_some(scheme)
}

fn decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}
