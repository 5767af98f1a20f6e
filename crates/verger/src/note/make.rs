//! `verger note new` and `verger note clear`: a chat from a template or a text, and one without its messages.

use serde_json::{Value, json};
use vault::edit::chat_note::ChatNote;
use vault::{VaultFolder, VaultPath, View, moment};

use super::agents::{self, in_folder};
use super::settings;
use crate::args::Writing;
use crate::door::{Door, text_or_stdin};
use crate::failure::{Exit, Failure};
use crate::world::RealWorld;
use pipeline::World;

/// Where chats are made if `config.toml` does not say.
const CHATS: &str = "ChatGPT_MD/chats";
/// Where their templates lie.
const TEMPLATES: &str = "ChatGPT_MD/templates";
/// How many names are tried.
const MOST: usize = 1_000;

/// What a new chat is made of.
pub struct Wish {
    /// A template's name.
    pub template: Option<String>,
    /// An agent's name.
    pub agent: Option<String>,
    /// The first message.
    pub selection: Option<String>,
}

/// Makes a chat.
pub fn new(door: &Door<'_>, wish: &Wish, writing: Writing) -> Result<(), Failure> {
    let config = &door.config.note;
    let scope = door.scope()?;
    let view = door.road.vault().view(&scope);
    let mut text = match &wish.template {
        Some(name) => template(&view, &folder(config.template_folder.as_ref(), TEMPLATES)?, name)?,
        None => String::new(),
    };
    if vault::note::front::split(&text).is_none() {
        text = with_defaults(&text, &settings::of_defaults(config))?;
    }
    if let Some(name) = &wish.agent {
        let folder = folder(config.agent_folder.as_ref(), agents::FOLDER)?;
        let cast = crate::chat::cast::Company::open(&door.road, &door.config, &door.place)?;
        agents::speaker(&view, &folder, Some(name), &cast, &door.road.registry)?;
        text = vault::edit::front::set(&text, "agent", &json!(name))?;
    }
    if let Some(selection) = &wish.selection {
        text += &text_or_stdin(door.terminal, selection.clone())?;
    }
    let pattern = config.date_format.as_deref().unwrap_or(settings::DATE_FORMAT);
    let date = moment::format(pattern, &RealWorld.now());
    let name = match &wish.template {
        Some(template) => format!("{date} {template}"),
        None => date,
    };
    let path = free(&view, &folder(config.chat_folder.as_ref(), CHATS)?, &name)?;
    door.write("write_file", json!({"path": path, "content": text}), writing)
}

/// Takes all messages out of a chat.
pub fn clear(door: &Door<'_>, note: &str, writing: Writing) -> Result<(), Failure> {
    let path = door.resolve(note)?;
    let scope = door.scope()?;
    let text = door.road.vault().view(&scope).text(&path)?;
    let head = match ChatNote::read(&text) {
        Ok(chat) => chat.head.to_owned(),
        // A chat whose messages cannot be read can be cleared all the same; front matter that is not closed cannot be told.
        Err(vault::Error::Edit { reason, .. }) if reason != "frontmatter_open" => {
            text[..vault::note::parse(&text).body].to_owned()
        }
        Err(error) => return Err(error.into()),
    };
    let version = vault::note::outline::version(&text);
    door.write("write_file", json!({"path": path, "content": head, "ifMatch": version}), writing)
}

fn folder(configured: Option<&VaultFolder>, usual: &str) -> Result<VaultFolder, Failure> {
    match configured {
        Some(folder) => Ok(folder.clone()),
        None => Ok(VaultFolder::parse(usual)
            .map_err(|error| vault::Error::Path { text: usual.to_owned(), error })?),
    }
}

fn template(view: &View<'_>, folder: &VaultFolder, name: &str) -> Result<String, Failure> {
    let notes = in_folder(view, folder)?;
    let Some(path) = notes.iter().find(|path| path.stem() == name) else {
        let names: Vec<&str> = notes.iter().map(VaultPath::stem).collect();
        let hint = match (pipeline::refusal::nearest(name, names.iter().copied()), names.is_empty()) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, true) => format!("put a note into `{folder}` first"),
            (None, false) => format!("there are: {}", names.join(", ")),
        };
        return Err(Failure::new(
            Exit::Failed,
            "template_unknown",
            format!("there is no template `{name}`"),
            hint,
        ));
    };
    Ok(view.text(path)?)
}

/// The text under the front matter of all chats.
fn with_defaults(text: &str, defaults: &serde_json::Map<String, Value>) -> Result<String, Failure> {
    if defaults.is_empty() {
        return Ok(text.to_owned());
    }
    Ok(vault::edit::front::update(text, defaults, &[])?)
}

/// A path that is free: the name, or the name with a number.
pub fn free(view: &View<'_>, folder: &VaultFolder, name: &str) -> Result<VaultPath, Failure> {
    for number in 0..MOST {
        let name = if number == 0 { format!("{name}.md") } else { format!("{name} ({number}).md") };
        let path = folder.join(&name).map_err(|error| vault::Error::Path { text: name.clone(), error })?;
        if view.look(&path)?.is_none() {
            return Ok(path);
        }
    }
    Err(Failure::new(
        Exit::Failed,
        "file_exists",
        format!("`{name}` exists too often"),
        "choose another name",
    ))
}
