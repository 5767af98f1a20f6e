//! The agents, skills and standing instructions of a vault, as the loop wants them; and the notes that a message mentions.

use agent::agents::Web;
use agent::commands::Commands;
use agent::mentions::{self, Attached};
use agent::{Cast, Persona, SkillText};
use pipeline::{Refusal, Rights, Road};
use vault::catalog::Lookup;
use vault::note::outline::{Target, TargetKind, read_section};
use vault::policy::Scope;

use crate::config::Config;
use crate::door;
use crate::failure::Failure;
use crate::place::{self, Place};
use crate::shelf::{Kit, Shelf};
use crate::trust::Trust;

/// Who can speak in this vault, and with what.
pub struct Company {
    /// What people wrote for the agent.
    pub kit: Kit,
    /// What can be typed with a slash.
    pub commands: Commands,
}

impl Company {
    /// Looks who can speak in this vault. Every tool that there may be counts as known.
    pub fn open(road: &Road, config: &Config, place: &Place) -> Result<Company, Failure> {
        let scope = Scope::new(config.limits.clone(), road.vault().rules()?);
        let shelf = Shelf::load(road.vault(), &scope, &place::config_folder()?)?;
        let known = tools::table::every().list(&Rights::all());
        let kit = shelf.kit(&Trust::open(place)?, &known);
        let commands = Commands::new(&kit.workflows, &kit.skills);
        Ok(Company { kit, commands })
    }

    /// What the model is told when the person types a workflow or a skill.
    pub fn told_by(&self, name: &str, rest: &str) -> Result<String, Refusal> {
        match self.kit.skills.find(name) {
            Ok(skill) => Ok(format!("Carry out the skill `{name}` with: {rest}\n\n{}", skill.text())),
            Err(_) => self.kit.workflows.expand(name, rest),
        }
    }
}

impl Cast for Company {
    fn persona(&self, slug: &str) -> Persona {
        let resolved = self.kit.agents.resolve(slug);
        let rights = resolved.agent.rights(Web::On);
        let agent = resolved.agent;
        Persona {
            slug: agent.slug,
            name: agent.name,
            role: agent.role,
            instructions: agent.instructions,
            rights,
            model: agent.model,
            notice: resolved.message,
        }
    }

    fn slugs(&self) -> Vec<String> {
        self.kit.agents.list().map(|agent| agent.slug.clone()).collect()
    }

    fn skills(&self) -> String {
        self.kit.skills.directory_text()
    }

    fn skill(&self, name: &str) -> Result<SkillText, Refusal> {
        // One that nobody has trusted is not found at all.
        let skill = self.kit.skills.find(name)?;
        let tools = skill.allowed.clone();
        Ok(SkillText { name: skill.name.clone(), text: skill.text(), tools, trusted: true })
    }

    fn standing(&self) -> String {
        self.kit.standing.text().to_owned()
    }

    fn agents(&self) -> String {
        self.kit.agents.directory_text()
    }
}

/// A message with the notes that it mentions behind it. What is not found stays as it was typed.
pub fn with_mentions(road: &Road, scope: &Scope, message: &str) -> String {
    let view = road.vault().view(scope);
    let mut notes = Vec::new();
    for mention in mentions::find(message) {
        let name = door::wiki_name(&mention.note);
        let direct = [name.to_owned(), format!("{name}.md")]
            .iter()
            .filter_map(|text| vault::VaultPath::parse(text).ok())
            .find(|path| view.text(path).is_ok());
        let path = direct.or_else(|| match view.catalog().ok()?.lookup(name) {
            Lookup::One(path) => Some(path),
            Lookup::None | Lookup::Several(_) => None,
        });
        let Some(path) = path else { continue };
        let Ok(text) = view.text(&path) else { continue };
        let text = match &mention.heading {
            Some(heading) => section(&text, heading).unwrap_or(text),
            None => text,
        };
        notes.push(Attached { path: path.to_string(), text });
    }
    mentions::expand(message, &notes)
}

/// The section under a heading or block of this text.
fn section(text: &str, name: &str) -> Option<String> {
    let kind = if name.starts_with('^') { TargetKind::Block } else { TargetKind::Heading };
    read_section(text, &Target::parse(kind, &name.replace('#', "::"))).ok().map(|section| section.text)
}
