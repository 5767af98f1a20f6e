//! A path inside the vault: the only path type there is after the door.
//!
//! Every door parses its text into a [`VaultPath`] (or a [`VaultFolder`]) once; from then on no `&str` is a path.
//! A `VaultPath` is relative, `/`-separated, and cannot name anything above the vault, in any spelling that a
//! file system, a URL decoder or a Unicode normaliser might turn into `..`. Whether the path *may* be read or
//! written is not decided here (see [`crate::policy`]), nor is what lies there (see `disk.rs`).

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use unicode_normalization::UnicodeNormalization;

/// The longest path that we accept, in bytes; file systems stop at 4,096 with the vault's own root in front.
const LONGEST_PATH: usize = 2_048;
/// The longest name of one file or folder on every file system that we know.
const LONGEST_NAME: usize = 255;

/// A file or folder inside the vault, e.g. `Projects/Verger.md`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct VaultPath(String);

/// Why a text is no path inside the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing there, or only white space.
    #[error("the path is empty")]
    Empty,
    /// A NUL or another control character.
    #[error("the path holds a control character")]
    Control,
    /// `/x`, `\x`, `C:\x`, `\\host\share`, `~/x`.
    #[error("the path is absolute")]
    Absolute,
    /// `file://…`, `obsidian://…`.
    #[error("the path is a URI")]
    Uri,
    /// A `.` or `..` segment.
    #[error("the path has a `.` or `..` segment")]
    Traversal,
    /// A segment that becomes `..` or grows a slash once it is decoded or normalised.
    #[error("the path hides a `..` or a slash behind an encoding")]
    EncodedTraversal,
    /// A name over 255 bytes or a path over 2,048.
    #[error("the path or one of its names is too long")]
    TooLong,
}

impl PathError {
    /// The reason code that doors show.
    pub fn reason(self) -> &'static str {
        match self {
            PathError::Traversal | PathError::EncodedTraversal => "path_traversal",
            PathError::Empty
            | PathError::Control
            | PathError::Absolute
            | PathError::Uri
            | PathError::TooLong => "path_invalid",
        }
    }

    /// What to do instead.
    pub fn hint(self) -> &'static str {
        match self {
            PathError::Empty => "name a note, e.g. `Projects/Plan.md`",
            PathError::Control => "use a name of printable characters",
            PathError::Absolute | PathError::Uri => {
                "give the path as it stands inside the vault, e.g. `Projects/Plan.md`, without a leading slash, drive or scheme"
            }
            PathError::Traversal | PathError::EncodedTraversal => {
                "give the path from the vault's root, with no `.` or `..` in any spelling"
            }
            PathError::TooLong => "names have at most 255 bytes, whole paths at most 2,048",
        }
    }
}

impl VaultPath {
    /// Reads a path as people and models write it. Back slashes count as slashes; doubled and trailing ones are dropped.
    pub fn parse(text: &str) -> Result<VaultPath, PathError> {
        if text.trim().is_empty() {
            return Err(PathError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PathError::Control);
        }
        if is_uri(text) {
            return Err(PathError::Uri);
        }
        if is_absolute(text) {
            return Err(PathError::Absolute);
        }
        let segments: Vec<&str> = text.split(['/', '\\']).filter(|segment| !segment.is_empty()).collect();
        if segments.is_empty() {
            return Err(PathError::Empty);
        }
        if segments.iter().any(|segment| matches!(*segment, "." | "..")) {
            return Err(PathError::Traversal);
        }
        if segments.iter().any(|segment| climbs_when_decoded(segment)) {
            return Err(PathError::EncodedTraversal);
        }
        let path = segments.join("/");
        if path.len() > LONGEST_PATH || segments.iter().any(|segment| segment.len() > LONGEST_NAME) {
            return Err(PathError::TooLong);
        }
        Ok(VaultPath(path))
    }

    /// The path as text, `/`-separated, without a leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment: `Plan.md` of `Projects/Plan.md`.
    pub fn name(&self) -> &str {
        last_name(&self.0)
    }

    /// The name without its extension: `Plan` of `Projects/Plan.md`.
    pub fn stem(&self) -> &str {
        stem_of_name(self.name())
    }

    /// The extension as written, without the dot.
    pub fn extension(&self) -> Option<&str> {
        extension_of_name(self.name())
    }

    /// Whether this is a Markdown note by its extension (`.md`, `.markdown`, in any case).
    pub fn is_note(&self) -> bool {
        is_note_name(self.name())
    }

    /// The folder that holds it; the vault's root where there is no slash.
    pub fn parent(&self) -> VaultFolder {
        match self.0.rfind('/') {
            Some(slash) => VaultFolder(Some(VaultPath(self.0[..slash].to_owned()))),
            None => VaultFolder(None),
        }
    }

    /// A path below this one.
    pub fn join(&self, below: &str) -> Result<VaultPath, PathError> {
        VaultPath::parse(&format!("{}/{below}", self.0))
    }

    /// The same place with another extension: `a/b.md` → `a/b.canvas`.
    pub fn with_extension(&self, extension: &str) -> Result<VaultPath, PathError> {
        self.parent().join(&format!("{}.{extension}", self.stem()))
    }

    /// The names along the way, from the root.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether any name on the way starts with a dot.
    pub fn is_hidden(&self) -> bool {
        self.segments().any(|segment| segment.starts_with('.'))
    }

    /// Whether it lies in `folder`, at any depth. Compares whole names: `pub` does not hold `public/x.md`.
    pub fn is_in(&self, folder: &VaultFolder) -> bool {
        match &folder.0 {
            None => true,
            Some(VaultPath(prefix)) => {
                self.0.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with('/'))
            }
        }
    }

    /// A spelling under which two paths that some file system takes for one are equal: compatibility-composed,
    /// lower-cased, without invisible characters, trailing dots, trailing spaces and NTFS stream names.
    /// Policy compares these, so that `.OBSIDIAN./app.json` does not slip past a rule for `.obsidian/`.
    pub fn folded(&self) -> String {
        if is_folded_by_case(&self.0) {
            return self.0.to_ascii_lowercase();
        }
        let segments: Vec<String> = self.segments().map(fold_segment).collect();
        segments.join("/")
    }
}

/// The last segment of a path as text; for those who hold many and make values of few.
pub(crate) fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name without its extension.
pub(crate) fn stem_of_name(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

/// Whether a name is that of a Markdown note.
pub(crate) fn is_note_name(name: &str) -> bool {
    extension_of_name(name).is_some_and(|extension| {
        extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown")
    })
}

fn extension_of_name(name: &str) -> Option<&str> {
    name.rfind('.').filter(|dot| *dot > 0).map(|dot| &name[dot + 1..])
}

fn is_uri(text: &str) -> bool {
    text.find("://").is_some_and(|end| {
        let scheme = &text[..end];
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    let drive = bytes.len() >= 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && bytes.get(2).is_none_or(|third| matches!(third, b'/' | b'\\'));
    let drive_relative = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    let home = bytes[0] == b'~' && bytes.get(1).is_none_or(|second| matches!(second, b'/' | b'\\'));
    text.starts_with(['/', '\\']) || drive || drive_relative || home
}

/// Decodes what a careless layer below or above might decode, and looks again.
fn climbs_when_decoded(segment: &str) -> bool {
    // Nothing to decode and nothing to compose: every walk asks this of every name.
    if segment.is_ascii() && !segment.contains('%') {
        return climbs(segment);
    }
    let mut text: Cow<'_, str> = Cow::Borrowed(segment);
    for _ in 0..4 {
        if climbs(&text) {
            return true;
        }
        let decoded = percent_decode(&text);
        if decoded == *text {
            break;
        }
        text = Cow::Owned(decoded);
    }
    climbs(&fold_invisible(&segment.nfkc().collect::<String>()))
}

fn climbs(text: &str) -> bool {
    text.contains('\0')
        || text.split(['/', '\\']).count() > 1
        || (!text.is_empty() && text.chars().all(|c| matches!(c, '.' | ' ')))
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether nothing but the case of its letters is folded: every rule of every call asks for this.
fn is_folded_by_case(path: &str) -> bool {
    let cut = |pair: &[u8]| matches!(pair, [b'.' | b' ', b'/'] | [b':', b':']);
    path.is_ascii() && !path.ends_with(['.', ' ']) && !path.as_bytes().windows(2).any(cut)
}

fn fold_segment(segment: &str) -> String {
    let composed: String = segment.nfkc().collect::<String>().to_lowercase();
    let visible = fold_invisible(&composed);
    let stem = visible.split("::$").next().unwrap_or(&visible);
    stem.trim_end_matches(['.', ' ']).to_owned()
}

/// Drops characters that are drawn as nothing and that some file systems ignore.
fn fold_invisible(text: &str) -> String {
    text.chars()
        .filter(|c| {
            !matches!(*c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{e0000}'..='\u{e0fff}')
        })
        .collect()
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for VaultPath {
    type Err = PathError;
    fn from_str(text: &str) -> Result<VaultPath, PathError> {
        VaultPath::parse(text)
    }
}

impl<'de> Deserialize<'de> for VaultPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VaultPath, D::Error> {
        let text = String::deserialize(deserializer)?;
        VaultPath::parse(&text).map_err(|error| refuse(&text, error))
    }
}

/// The marker by which a door tells a refused path from any other bad input; the road turns it into a typed refusal.
pub const BAD_PATH: &str = "bad path";

fn refuse<E: de::Error>(text: &str, error: PathError) -> E {
    let shown: String = text.chars().take(80).collect();
    E::custom(format!("{BAD_PATH} [{}]: {error}: {shown:?}; {}", error.reason(), error.hint()))
}

impl JsonSchema for VaultPath {
    fn schema_name() -> Cow<'static, str> {
        "VaultPath".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

/// A folder of the vault, or the vault's root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VaultFolder(Option<VaultPath>);

impl VaultFolder {
    /// The vault's root.
    pub fn root() -> VaultFolder {
        VaultFolder(None)
    }

    /// Reads a folder; empty, `/` and `.` are the root.
    pub fn parse(text: &str) -> Result<VaultFolder, PathError> {
        match text.trim() {
            "" | "/" | "." | "./" => Ok(VaultFolder(None)),
            _ => VaultPath::parse(text).map(|path| VaultFolder(Some(path))),
        }
    }

    /// The folder as a path, unless it is the root.
    pub fn path(&self) -> Option<&VaultPath> {
        self.0.as_ref()
    }

    /// The folder as text; empty for the root.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", VaultPath::as_str)
    }

    /// A path below this folder.
    pub fn join(&self, below: &str) -> Result<VaultPath, PathError> {
        match &self.0 {
            Some(folder) => folder.join(below),
            None => VaultPath::parse(below),
        }
    }
}

impl From<VaultPath> for VaultFolder {
    fn from(path: VaultPath) -> VaultFolder {
        VaultFolder(Some(path))
    }
}

impl fmt::Display for VaultFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref().map_or("/", VaultPath::as_str))
    }
}

impl Serialize for VaultFolder {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for VaultFolder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VaultFolder, D::Error> {
        let text = String::deserialize(deserializer)?;
        VaultFolder::parse(&text).map_err(|error| refuse(&text, error))
    }
}

impl JsonSchema for VaultFolder {
    fn schema_name() -> Cow<'static, str> {
        "VaultFolder".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, PathError>) {
        assert_eq!(
            VaultPath::parse(text).as_ref().map(VaultPath::as_str).map_err(|e| *e),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn ordinary_and_odd_names_are_kept_as_they_are() {
        for name in [
            "a.md",
            "Projects/Plan.md",
            "foo..md",
            "..foo.md",
            "a%20b.md",
            "100%.md",
            "pipe|name.md",
            "star*.md",
            "日本語.md",
            "e\u{301}.md",
            "é.md",
            "family 👨‍👩‍👧.md",
            "con.md",
            "note.md:stream",
            "$(id).md",
            "ﬀ.md",
        ] {
            check(name, Ok(name));
        }
        check("a//b/", Ok("a/b"));
        check("a\\b.md", Ok("a/b.md"));
    }

    #[test]
    fn every_spelling_of_up_or_outside_is_refused() {
        use PathError::*;
        for (text, error) in [
            ("", Empty),
            ("  ", Empty),
            ("a\0b", Control),
            ("a\nb", Control),
            ("\u{1b}[31m", Control),
            ("/etc", Absolute),
            ("\\x", Absolute),
            ("\\\\host\\s", Absolute),
            ("C:\\x", Absolute),
            ("C:x", Absolute),
            ("~/x", Absolute),
            ("~", Absolute),
            ("file:///etc", Uri),
            ("obsidian://open?x", Uri),
            ("..", Traversal),
            (".", Traversal),
            ("a/../b", Traversal),
            ("a\\..\\b", Traversal),
            ("./a", Traversal),
            ("%2e%2e/a", EncodedTraversal),
            ("..%2fa", EncodedTraversal),
            ("..%252fa", EncodedTraversal),
            ("a%00b", EncodedTraversal),
            ("‥/a", EncodedTraversal),
            ("．．/a", EncodedTraversal),
            (".\u{200b}./a", EncodedTraversal),
            ("..／a", EncodedTraversal),
            (".../a", EncodedTraversal),
            (".. /a", EncodedTraversal),
        ] {
            check(text, Err(error));
        }
        check(&"x".repeat(256), Err(TooLong));
        check(&"x/".repeat(1_100), Err(TooLong));
    }

    #[test]
    fn a_folder_prefix_is_compared_name_by_name() {
        let path = |text: &str| VaultPath::parse(text).unwrap();
        assert!(path("pub/a.md").is_in(&path("pub").into()));
        assert!(!path("public/a.md").is_in(&path("pub").into()));
        assert!(path("a.md").is_in(&VaultFolder::root()));
    }

    #[test]
    fn aliases_of_a_name_fold_to_one_spelling() {
        let folded = |text: &str| VaultPath::parse(text).unwrap().folded();
        for alias in [
            ".OBSIDIAN/App.json",
            ".obsidian./app.json",
            ".ｏbsidian/app.json",
            ".obsi\u{200d}dian/app.json",
            ".obsidian::$INDEX_ALLOCATION/app.json",
            ".obsidian\\app.json",
        ] {
            assert_eq!(folded(alias), ".obsidian/app.json");
        }
        assert_eq!(folded("e\u{301}"), folded("É"));
    }

    proptest! {
        #[test]
        fn whatever_parses_is_relative_clean_and_parses_to_itself(text in "\\PC{0,40}") {
            if let Ok(path) = VaultPath::parse(&text) {
                prop_assert!(path.segments().all(|s| !s.is_empty() && s != "." && s != ".."));
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert_eq!(VaultPath::parse(path.as_str()).unwrap(), path);
            }
        }

        #[test]
        fn nothing_with_a_climbing_segment_parses(a in "[a-z]{0,4}", dots in "(\\.\\.|%2e%2e|%2E\\.|\\.%2e)", slash in "[/\\\\]", b in "[a-z]{1,4}") {
            let text = format!("{a}{slash}{dots}{slash}{b}");
            prop_assert!(VaultPath::parse(&text).is_err());
        }
    }
}
