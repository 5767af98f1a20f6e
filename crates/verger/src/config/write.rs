//! Changing `config.toml`: single settings are set or taken out, every other byte stays, comments and order too.
//!
//! Called by the settings of the page. The new text is checked by the rules by which it will be read, written beside the old one
//! and put in its place; the old one is kept as `config.toml.bak`. A file that somebody changed since it was shown is left alone.

use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike, Value};

use super::{Config, KEYS};
use crate::failure::{Exit, Failure};
use crate::install::files::{CHANGED, Settings};

/// The old text is kept under this ending.
const BACKUP: &str = ".bak";
/// The longest text of a value.
const LONGEST: usize = 4_000;
/// The most entries of a list.
const MOST: usize = 500;
/// Tables whose keys may be changed here. Programs that are started and the vault itself are not among them.
const OPEN: [&str; 8] =
    ["limits", "approve", "checkpoints", "models", "providers", "chat", "embedding", "note"];

/// One at a time within this program; other programs are seen by what they wrote.
static WRITING: Mutex<()> = Mutex::new(());

/// One setting: where it stands, and what it shall be.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The tables and the key: `["chat", "rounds"]`, `["providers", "mine", "url"]`.
    pub path: Vec<String>,
    /// A text, a number, true or false, a list of texts; `null` takes it out.
    pub value: Json,
}

/// `config.toml` as it was read.
#[derive(Debug)]
pub struct Sheet {
    settings: Settings,
}

impl Sheet {
    /// Reads it.
    pub fn read(folder: &Path) -> Result<Sheet, Failure> {
        let settings = Settings::read_keeping(&folder.join("config.toml"), BACKUP).map_err(ours)?;
        Ok(Sheet { settings })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.settings.path
    }

    /// Its text; empty where there is no file.
    pub fn text(&self) -> &str {
        self.settings.text.as_deref().unwrap_or_default()
    }

    /// Names exactly this text.
    pub fn word(&self) -> String {
        word(self.text())
    }

    /// Whether there is an earlier text to go back to.
    pub fn has_backup(&self) -> bool {
        matches!(Settings::read(&self.settings.backup()), Ok(Settings { text: Some(_), .. }))
    }

    /// The text with these settings, if it could be read.
    pub fn with(&self, wanted: &[Setting]) -> Result<String, Failure> {
        let mut text = self.text().to_owned();
        for setting in wanted {
            may_be_set(setting)?;
            text = changed(&text, &setting.path, &setting.value)?;
        }
        Config::of_text(&self.settings.path, &text).map_err(|failure| self.without_place(failure))?;
        Ok(text)
    }

    /// Whoever changes one setting knows which file it is in.
    fn without_place(&self, mut failure: Failure) -> Failure {
        let place = format!("{}: ", self.settings.path.display());
        if let Some(message) = failure.refusal.message.strip_prefix(&place) {
            failure.refusal.message = message.to_owned();
        }
        failure
    }

    /// Puts another text in its place, unless somebody else wrote since it was read.
    pub fn replace(&self, after: &str) -> Result<(), Failure> {
        Config::of_text(&self.settings.path, after)?;
        let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.settings.text {
            Some(_) => self.settings.replace(after).map_err(ours),
            None => {
                // What was there before is nothing, and that is what going back means.
                self.settings.replace("").map_err(ours)?;
                Settings::read_keeping(&self.settings.path, BACKUP)
                    .map_err(ours)?
                    .replace(after)
                    .map_err(ours)
            }
        }
    }

    /// The text before the last change.
    pub fn before(&self) -> Result<String, Failure> {
        Settings::read(&self.settings.backup()).map_err(ours)?.text.ok_or_else(|| {
            let hint = "nothing was saved here yet";
            Failure::new(Exit::Failed, "not_found", "there is no earlier config.toml", hint)
        })
    }

    /// Puts the earlier text back; what is there now becomes the earlier one.
    pub fn go_back(&self) -> Result<(), Failure> {
        self.replace(&self.before()?)
    }
}

/// Names exactly this text.
pub fn word(text: &str) -> String {
    vault::store::blob::Hash::of(text.as_bytes()).short()
}

/// What is said by who changes a client's settings is said in words of our own.
fn ours(failure: Failure) -> Failure {
    let message = failure.refusal.message;
    match message.ends_with(CHANGED) {
        true => Failure::new(Exit::Failed, "stale", message, "look at it again, then save"),
        false => Failure::new(Exit::Failed, "io", message, "check the file and its permissions"),
    }
}

fn refused(message: String, hint: &str) -> Failure {
    Failure::new(Exit::Usage, "config_invalid", message, hint)
}

fn may_be_set(setting: &Setting) -> Result<(), Failure> {
    let path = &setting.path;
    let shown = path.join(".").chars().take(80).collect::<String>();
    let fits = |name: &String| !name.is_empty() && name.len() <= 100 && !name.chars().any(char::is_control);
    let known = path.first().is_some_and(|first| OPEN.contains(&first.as_str()));
    if !known || !(2..=4).contains(&path.len()) || !path.iter().all(fits) {
        return Err(refused(format!("`{shown}` is not changed here"), "edit config.toml yourself"));
    }
    let key = path[..2].join(".");
    if path[0] != "providers" && !KEYS.iter().any(|known| known.name == key) {
        return Err(refused(format!("there is no key `{key}`"), "`verger docs config` explains every key"));
    }
    let fits = match &setting.value {
        Json::Null | Json::Bool(_) => true,
        Json::Number(number) => number.as_i64().is_some() || number.as_f64().is_some_and(f64::is_finite),
        Json::String(text) => text.len() <= LONGEST,
        Json::Array(list) => {
            list.len() <= MOST
                && list.iter().all(|text| text.as_str().is_some_and(|text| text.len() <= LONGEST))
        }
        Json::Object(_) => false,
    };
    if !fits {
        let hint = "give a text, a number, true or false, or a list of texts";
        return Err(refused(format!("the value of `{shown}` is too long, or of no kind that fits"), hint));
    }
    // A key in a file that is copied, synced and shown is soon known to others.
    let is_key = path[0] == "providers" && path.get(2).is_some_and(|name| name == "key");
    if is_key && setting.value != "keyring" && !setting.value.is_null() {
        return Err(refused(
            "a key does not belong into config.toml".to_owned(),
            "give it in Settings, Models: it is kept in the keyring or in a file of its own",
        ));
    }
    Ok(())
}

/// The text with one setting changed.
fn changed(text: &str, path: &[String], value: &Json) -> Result<String, Failure> {
    // The library writes line feeds; a file of the other kind is turned and turned back.
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let crlf = body.contains("\r\n");
    let plain = if crlf { body.replace("\r\n", "\n") } else { body.to_owned() };
    let document = parse(&plain)?;
    if document.to_string() != plain || (crlf && plain.replace('\n', "\r\n") != body) {
        let hint = "edit it yourself, and mind its line ends";
        return Err(refused("config.toml cannot be changed without touching other lines".to_owned(), hint));
    }
    let after = match value {
        Json::Null => without(&plain, path)?,
        value => with(document, path, item(value)?)?,
    };
    // The empty line in front of a new table belongs between two things.
    let after = if plain.is_empty() { after.trim_start_matches('\n') } else { &after };
    let after = if crlf { after.replace('\n', "\r\n") } else { after.to_owned() };
    Ok(format!("{mark}{after}"))
}

fn parse(text: &str) -> Result<DocumentMut, Failure> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let why = error.message().lines().next().unwrap_or("it is not valid").to_owned();
        refused(format!("config.toml cannot be read: {why}"), "mend it in an editor first")
    })
}

fn with(mut document: DocumentMut, path: &[String], mut fresh: Value) -> Result<String, Failure> {
    let Some((key, tables)) = path.split_last() else { return Ok(document.to_string()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, name) in tables.iter().enumerate() {
        let last = depth + 1 == tables.len();
        if table.get(name).is_none() {
            table.insert(name, Item::Table(new_table(last)));
        }
        let inner = table.get_mut(name).and_then(Item::as_table_like_mut);
        table = inner.ok_or_else(|| {
            refused(format!("`{name}` in config.toml is no table"), "mend it in an editor first")
        })?;
    }
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            // Spaces and the comment behind it stay.
            *fresh.decor_mut() = old.decor().clone();
            *old = fresh;
        }
        Some(_) => {
            return Err(refused(format!("`{key}` in config.toml is a table"), "mend it in an editor first"));
        }
        None => drop(table.insert(key, Item::Value(fresh))),
    }
    Ok(document.to_string())
}

fn new_table(last: bool) -> Table {
    let mut table = Table::new();
    table.set_implicit(!last);
    if last {
        table.decor_mut().set_prefix("\n");
    }
    table
}

/// The text without a key or a table. A key that stands on lines of its own is cut out of the text, so that what is written above it
/// stays.
fn without(text: &str, path: &[String]) -> Result<String, Failure> {
    if let Some(lines) = own_lines(text, path) {
        return Ok(format!("{}{}", &text[..lines.start], &text[lines.end..]));
    }
    let mut document = parse(text)?;
    let Some((key, tables)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in tables {
        match table.get_mut(name).and_then(Item::as_table_like_mut) {
            Some(inner) => table = inner,
            None => return Ok(text.to_owned()),
        }
    }
    table.remove(key);
    Ok(document.to_string())
}

/// The lines that a key and its value fill alone.
fn own_lines(text: &str, path: &[String]) -> Option<Range<usize>> {
    let document = Document::parse(text).ok()?;
    let (key, tables) = path.split_last()?;
    let mut table: &dyn TableLike = document.as_table();
    for name in tables {
        table = table.get(name)?.as_table()?;
    }
    let (key, item) = table.get_key_value(key)?;
    let (key, value) = (key.span()?, item.as_value()?.span()?);
    let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[value.end..].find('\n').map_or(text.len(), |at| value.end + at + 1);
    let behind = text[value.end..end].trim();
    let alone = text[start..key.start].trim().is_empty() && (behind.is_empty() || behind.starts_with('#'));
    alone.then_some(start..end)
}

fn item(value: &Json) -> Result<Value, Failure> {
    let unfit = || refused("a value of no kind that fits".to_owned(), "see `verger docs config`");
    Ok(match value {
        Json::Bool(value) => (*value).into(),
        Json::String(text) => text.as_str().into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().ok_or_else(unfit)?.into(),
        },
        Json::Array(list) => {
            let texts: Array = list.iter().filter_map(Json::as_str).collect();
            texts.into()
        }
        _ => return Err(unfit()),
    })
}

#[cfg(test)]
mod tests;
