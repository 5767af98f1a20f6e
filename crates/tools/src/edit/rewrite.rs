//! One text file, rewritten: what every tool that edits a note does before and after the edit itself.
//!
//! Before: read it through the view and compare the version that the caller knows. After: refuse what would break the
//! file, notice that nothing changed, and say the same things about the result whatever the tool.

use pipeline::{Output, Plan, Refusal, View};
use serde_json::{Map, Value, json};
use vault::disk::LARGEST_FILE;
use vault::note::outline::version;
use vault::{Change, Error, VaultPath, canvas};

/// A file's text as it is before an edit.
pub(crate) struct Original {
    path: VaultPath,
    text: Option<String>,
}

impl Original {
    /// A file that must be there.
    pub(crate) fn read(
        view: &View<'_>,
        path: VaultPath,
        if_match: Option<&str>,
    ) -> Result<Original, Refusal> {
        let text = Some(view.text(&path)?);
        Original { path, text }.at_version(if_match)
    }

    /// A file that may be there.
    pub(crate) fn read_if_any(
        view: &View<'_>,
        path: VaultPath,
        if_match: Option<&str>,
    ) -> Result<Original, Refusal> {
        let text = view.text_if_any(&path)?;
        Original { path, text }.at_version(if_match)
    }

    /// A note that must be there; other files have no front matter and no tags.
    pub(crate) fn read_note(
        view: &View<'_>,
        path: VaultPath,
        if_match: Option<&str>,
    ) -> Result<Original, Refusal> {
        if !path.is_note() {
            return Err(Refusal::new(
                "not_a_note",
                format!("`{path}` is not a Markdown note"),
                "name a file that ends in `.md`",
            )
            .with("path", &path));
        }
        Original::read(view, path, if_match)
    }

    fn at_version(self, if_match: Option<&str>) -> Result<Original, Refusal> {
        let Some(expected) = if_match else { return Ok(self) };
        let now = self.text.as_deref().map(version);
        if now.as_deref() == Some(expected) {
            return Ok(self);
        }
        let (message, hint) = match &now {
            Some(now) => (
                format!("`{}` is at version {now}, not {expected}: it was changed meanwhile", self.path),
                "read it again and repeat the edit on the new text",
            ),
            None => (
                format!("`{}` is not there, so it has no version {expected}", self.path),
                "leave out ifMatch to create it",
            ),
        };
        Err(Refusal::new("version_mismatch", message, hint).with("path", &self.path).with("version", now))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &VaultPath {
        &self.path
    }

    /// Whether there is no file yet.
    pub(crate) fn is_new(&self) -> bool {
        self.text.is_none()
    }

    /// Its text, empty where there is no file yet.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The plan that gives it this text. `done` is what happened in a word or two (`edited`); `more` is the tool's own data.
    pub(crate) fn becomes(self, after: String, done: &str, more: Value) -> Result<Plan, Refusal> {
        check_size(&self.path, &after)?;
        check_canvas(&self.path, self.text.as_deref(), &after)?;
        let path = self.path.clone();
        if self.text.as_deref() == Some(after.as_str()) {
            let data = report(&path, &Change::replace(path.clone(), after.clone(), after), more);
            return Ok(Plan::answer(format!("nothing to change in `{path}`"), data));
        }
        let change = match self.text {
            Some(before) => Change::replace(path.clone(), before, after),
            None => Change::create(path.clone(), after),
        };
        let data = report(&path, &change, more);
        let lines = format!("+{} -{} lines", data["linesAdded"], data["linesRemoved"]);
        let (before, after) = change.sizes();
        let version = data["version"].as_str().unwrap_or_default();
        let text = format!("{done} `{path}`: {lines}, {before} -> {after} bytes, version {version}");
        let summary = format!("{done} {path} ({lines})");
        Ok(Plan::edit(vec![change], summary, Output::new(text, data)))
    }
}

/// What every edit says about its file.
fn report(path: &VaultPath, change: &Change, more: Value) -> Value {
    let ((before, after), (added, removed)) = (change.sizes(), change.lines());
    let data = json!({
        "path": path,
        "created": matches!(change, Change::Create { .. }),
        "previousSizeInBytes": before,
        "currentSizeInBytes": after,
        "linesAdded": added,
        "linesRemoved": removed,
        "version": change.texts().map(|(_, text)| version(text)),
    });
    with(data, more)
}

/// Two objects as one.
pub(crate) fn with(data: Value, more: Value) -> Value {
    let fields = |value: Value| match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let mut all = fields(data);
    all.extend(fields(more));
    Value::Object(all)
}

/// A file larger than what we read at once could not be edited again.
fn check_size(path: &VaultPath, text: &str) -> Result<(), Refusal> {
    let size = text.len() as u64;
    if size > LARGEST_FILE {
        return Err(Error::TooLarge { path: path.clone(), size, limit: LARGEST_FILE }.into());
    }
    Ok(())
}

/// A canvas that is no JSON cannot be opened any more. One that is broken already may be mended step by step.
fn check_canvas(path: &VaultPath, before: Option<&str>, after: &str) -> Result<(), Refusal> {
    let is_canvas = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("canvas"));
    if !is_canvas || before.is_some_and(|before| !is_valid_canvas(before)) || is_valid_canvas(after) {
        return Ok(());
    }
    Err(Refusal::new(
        "canvas_invalid",
        format!("`{path}` would not be a canvas: it must be a JSON object with `nodes` and `edges`"),
        "give the whole file as JSON, e.g. {\"nodes\":[],\"edges\":[]}",
    )
    .with("path", path))
}

fn is_valid_canvas(text: &str) -> bool {
    let body = text.trim_start_matches('\u{feff}').trim();
    let list = |value: &Value, key: &str| value.get(key).is_none_or(Value::is_array);
    canvas::parts(text).is_ok()
        && (body.is_empty()
            || serde_json::from_str::<Value>(body)
                .is_ok_and(|value| value.is_object() && list(&value, "nodes") && list(&value, "edges")))
}

/// At most twenty names for a person; the data holds all.
pub(crate) fn some_of<T: ToString>(names: &[T]) -> String {
    const SHOWN: usize = 20;
    let mut text: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", name.to_string())).collect();
    if names.len() > SHOWN {
        text.push(format!("and {} more", names.len() - SHOWN));
    }
    text.join(", ")
}

/// `1 note`, `2 notes`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
