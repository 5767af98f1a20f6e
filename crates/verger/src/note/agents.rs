//! Who speaks in a chat note: a note in the agents' folder whose text is what the model is told first, one of Verger's own agents,
//! or nobody in particular.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent::{Cast, Persona, SkillText};
use pipeline::{Group, Refusal, Registry, Rights};
use serde_json::{Map, Value};
use tools::chat::{KEEPERS, OFFERED};
use vault::view::Depth;
use vault::{VaultFolder, View};

use crate::chat::ask::unknown_agent;
use crate::failure::{Exit, Failure};

/// Where agents lie if `config.toml` does not say.
pub const FOLDER: &str = "ChatGPT_MD/agents";
/// Nobody in particular.
const PLAIN: &str = "note";

/// Who speaks, and what their note says.
pub struct Speaker {
    /// As the loop knows it.
    pub persona: Persona,
    /// The settings in its front matter.
    pub front: Map<String, Value>,
}

/// The one who is named; an unknown name is an error.
pub fn speaker(
    view: &View<'_>,
    folder: &VaultFolder,
    name: Option<&str>,
    cast: &dyn Cast,
    registry: &Registry,
) -> Result<Speaker, Failure> {
    let Some(name) = name else { return Ok(plain()) };
    let notes = in_folder(view, folder)?;
    if let Some(path) = notes.iter().find(|path| path.stem() == name) {
        let text = view.text(path)?;
        let front = vault::edit::front::all(&text)?;
        let body = text[vault::note::parse(&text).body..].trim().to_owned();
        let rights = rights(&front, registry)?;
        return Ok(Speaker { persona: persona(name, body, rights), front });
    }
    let slugs = cast.slugs();
    if slugs.iter().any(|slug| slug == name) {
        let mut persona = cast.persona(name);
        persona.rights = persona.rights.without(["vault_search", "file_read"]).without(KEEPERS);
        let mut front = Map::new();
        if let Some(model) = &persona.model {
            front.insert("model".to_owned(), model.clone().into());
        }
        return Ok(Speaker { persona, front });
    }
    let mut known: Vec<String> = notes.iter().map(|path| path.stem().to_owned()).collect();
    known.extend(slugs);
    Err(unknown_agent(name, &known))
}

fn plain() -> Speaker {
    let role =
        "You are a helpful assistant in a chat that lives in a note of the user's vault. Answer in Markdown.";
    Speaker { persona: persona(PLAIN, role.to_owned(), offered()), front: Map::new() }
}

fn persona(slug: &str, role: String, rights: Rights) -> Persona {
    Persona {
        slug: slug.to_owned(),
        name: slug.to_owned(),
        role,
        instructions: String::new(),
        rights,
        model: None,
        notice: None,
    }
}

/// The notes that lie in the folder itself. A folder that is not there holds none.
pub fn in_folder(view: &View<'_>, folder: &VaultFolder) -> Result<Vec<vault::VaultPath>, Failure> {
    if let Some(path) = folder.path()
        && view.look(path)?.is_none()
    {
        return Ok(Vec::new());
    }
    let entries = view.list(folder, Depth::One)?;
    Ok(entries.into_iter().map(|entry| entry.path).filter(vault::VaultPath::is_note).collect())
}

/// What every chat may call.
fn offered() -> Rights {
    Rights::groups([Group::Read, Group::Agent]).only(OFFERED)
}

/// The tools that an agent's note lists under `tools`, by name or by group, besides those that every chat has.
fn rights(front: &Map<String, Value>, registry: &Registry) -> Result<Rights, Failure> {
    let Some(listed) = front.get("tools").filter(|value| !value.is_null()) else { return Ok(offered()) };
    let listed: Option<Vec<&str>> =
        listed.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
    let Some(listed) = listed else {
        return Err(unknown_tool("`tools` of this agent is not a list of names"));
    };
    let all = registry.list(&Rights::all());
    let (mut names, mut groups) = (BTreeSet::from(OFFERED.map(str::to_owned)), BTreeSet::new());
    for wanted in &listed {
        let fitting =
            all.iter().filter(|tool| tool.spec.name == *wanted || tool.spec.group.name() == *wanted);
        let before = names.len();
        names.extend(fitting.map(|tool| tool.spec.name.to_string()));
        if names.len() == before && !names.contains(*wanted) {
            return Err(unknown_tool(&format!(
                "this agent lists `{wanted}`, which is neither a tool nor a group"
            )));
        }
    }
    groups.extend(
        all.iter().filter(|tool| names.contains(tool.spec.name.as_ref())).map(|tool| tool.spec.group),
    );
    Ok(Rights::groups(groups).only(names.iter().map(String::as_str)).without(KEEPERS))
}

fn unknown_tool(message: &str) -> Failure {
    let groups = Group::ALL.map(Group::name).join(", ");
    Failure::new(
        Exit::Failed,
        "agent_invalid",
        message,
        format!("list tools (`verger tools`) or groups: {groups}"),
    )
}

/// The agents of the vault, with the one of this note among them, and nobody with a right to keep the note.
pub struct NoteCast {
    /// The others.
    pub inner: Arc<dyn Cast>,
    /// Who speaks in this note.
    pub speaker: Persona,
}

impl Cast for NoteCast {
    fn persona(&self, slug: &str) -> Persona {
        if slug == self.speaker.slug {
            return self.speaker.clone();
        }
        let mut persona = self.inner.persona(slug);
        persona.rights = persona.rights.without(KEEPERS);
        persona
    }

    fn slugs(&self) -> Vec<String> {
        let mut slugs = self.inner.slugs();
        if !slugs.contains(&self.speaker.slug) {
            slugs.push(self.speaker.slug.clone());
        }
        slugs
    }

    fn skills(&self) -> String {
        self.inner.skills()
    }

    fn skill(&self, name: &str) -> Result<SkillText, Refusal> {
        self.inner.skill(name)
    }

    fn standing(&self) -> String {
        self.inner.standing()
    }

    fn agents(&self) -> String {
        self.inner.agents()
    }
}
