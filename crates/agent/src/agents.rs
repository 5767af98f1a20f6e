//! Agents: who speaks, with which words, and what it may call.
//!
//! Three sources, each over the one before: built in, the person's own (`agents/*.md` of the configuration), the vault's
//! (`.verger/agents/*.md`). What the vault brings may have come with a download. So until the person has trusted it as it
//! is, an agent of the vault can only take rights away from the one it overrides, and none of its words are used.
//! Deliberately not here: files, trust itself (`verger`), and what the loop does with rights.

mod read;

use std::collections::{BTreeMap, BTreeSet};

use pipeline::registry::Listing;
use pipeline::{Group, Rights};
use serde::Serialize;

use crate::text::{Fault, Origin, Problem, Text, Trusted, clip};

/// How many files of agents are read.
const MOST: usize = 200;
/// What the list of agents may take in a prompt, in characters.
const DIRECTORY: usize = 4_000;
/// The agent for everything.
pub const DEFAULT: &str = "agent";
/// The agent that only reads: what remains when another has vanished.
pub const READER: &str = "reader";

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// Its name for programs.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// The groups of tools that it may call.
    pub groups: BTreeSet<Group>,
    /// At most these tools of them; an empty list leaves none.
    pub tools: Option<Vec<String>>,
    /// Without these.
    pub deny: Vec<String>,
    /// Who it is, in a sentence or two.
    pub role: String,
    /// What it shall keep to.
    pub instructions: String,
    /// What it is good for, in a line.
    pub when_to_use: String,
    /// A model, an alias or a tier.
    pub model: Option<String>,
    /// Where it comes from.
    pub source: Origin,
    /// Its file, if it has one.
    pub path: Option<String>,
}

/// All agents, and the files that are none.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    agents: BTreeMap<String, Agent>,
    waiting: BTreeMap<String, Waiting>,
    problems: Vec<Problem>,
}

/// An agent of the vault that the person has not trusted as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// What it would be.
    pub agent: Agent,
    /// The tools that it would have beyond the one it overrides, or beyond reading.
    pub more: Vec<String>,
}

impl Waiting {
    /// Whether it asks for more than what it overrides.
    pub fn widens(&self) -> bool {
        !self.more.is_empty()
    }
}

/// The agent for a slug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Who.
    pub agent: Agent,
    /// What the person should know: that it is not the one they asked for, or not wholly.
    pub message: Option<String>,
}

impl Agent {
    /// What it may call. Without the web its group is taken away here, so that it is gone at dispatch too.
    pub fn rights(&self, web: Web) -> Rights {
        let groups = self.groups.iter().copied().filter(|group| web == Web::On || *group != Group::Web);
        let rights = Rights::groups(groups).without(self.deny.iter().map(String::as_str));
        match &self.tools {
            Some(tools) => rights.only(tools.iter().map(String::as_str)),
            None => rights,
        }
    }

    /// The tools that it may call and the other may not; where whole groups are added, their names as well, because
    /// tools may be added to a group later. Editing is a right of its own: some tools that know the vault can also mend it.
    pub fn beyond(&self, other: &Agent, tools: &[Listing]) -> Vec<String> {
        let mut more = beyond(&self.rights(Web::On), &other.rights(Web::On), tools);
        let counts = |group: &&Group| self.tools.is_none() || **group == Group::Edit;
        let added = self.groups.difference(&other.groups).filter(counts);
        more.extend(added.map(|group| format!("group {}", group.name())));
        more
    }

    /// The same agent with no more than the other may do, and with the other's words.
    fn within(&self, other: &Agent) -> Agent {
        let tools = match (&self.tools, &other.tools) {
            (Some(mine), Some(theirs)) => {
                Some(mine.iter().filter(|tool| theirs.contains(tool)).cloned().collect())
            }
            (one, another) => one.clone().or_else(|| another.clone()),
        };
        let deny: BTreeSet<String> = self.deny.iter().chain(&other.deny).cloned().collect();
        Agent {
            groups: self.groups.intersection(&other.groups).copied().collect(),
            tools,
            deny: deny.into_iter().collect(),
            source: self.source,
            path: self.path.clone(),
            ..other.clone()
        }
    }
}

/// Whether the web may be reached at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Web {
    /// Yes.
    On,
    /// No.
    Off,
}

/// Whether `rights` permit anything that `than` does not.
pub fn is_wider(rights: &Rights, than: &Rights, tools: &[Listing]) -> bool {
    (rights.may_edit() && !than.may_edit()) || !beyond(rights, than, tools).is_empty()
}

/// The tools that `rights` permit and `than` does not.
pub fn beyond(rights: &Rights, than: &Rights, tools: &[Listing]) -> Vec<String> {
    let more = tools.iter().filter(|tool| rights.permit(&tool.spec) && !than.permit(&tool.spec));
    more.map(|tool| tool.spec.name.to_string()).collect()
}

impl Agents {
    /// Puts the agents together. `tools` are all there are, so that a misspelt name is found out.
    pub fn gather(texts: &[Text], tools: &[Listing], trusted: Trusted<'_>) -> Agents {
        let mut all = Agents::default();
        for agent in built_in() {
            all.agents.insert(agent.slug.clone(), agent);
        }
        for origin in [Origin::Global, Origin::Vault] {
            let mine = texts.iter().filter(|text| text.origin == origin);
            for (at, text) in mine.enumerate() {
                let fault = match at < MOST {
                    true => all.take(text, tools, trusted).err(),
                    false => Some(Fault::TooMany { most: MOST }),
                };
                all.problems.extend(fault.map(|fault| Problem { path: text.path.clone(), fault }));
            }
        }
        all
    }

    fn take(&mut self, text: &Text, tools: &[Listing], trusted: Trusted<'_>) -> Result<(), Fault> {
        let slug = text.stem().to_owned();
        let overridden = self.agents.get(&slug);
        let agent = read::agent(text, overridden, tools)?;
        if text.origin == Origin::Global || trusted(text) {
            self.agents.insert(slug, agent);
            return Ok(());
        }
        let more = match overridden.or_else(|| self.agents.get(READER)) {
            Some(base) => agent.beyond(base, tools),
            None => Vec::new(),
        };
        // Less than before holds at once; words and new rights wait for the person.
        if let Some(base) = overridden {
            let less = agent.within(base);
            self.agents.insert(slug.clone(), less);
        }
        self.waiting.insert(slug, Waiting { agent, more });
        Ok(())
    }

    /// The agent for a slug. One that is gone, or that waits for trust, becomes one that only reads: the person chose
    /// limits that nobody knows any more.
    pub fn resolve(&self, slug: &str) -> Resolved {
        if let Some(agent) = self.agents.get(slug) {
            let message = self.waiting.contains_key(slug).then(|| {
                format!("the vault changes the agent `{slug}`; until you look at it (verger agents trust {slug}) only what it takes away counts")
            });
            return Resolved { agent: agent.clone(), message };
        }
        let message = match self.waiting.contains_key(slug) {
            true => format!(
                "the agent `{slug}` comes with the vault and is not trusted yet (verger agents trust {slug}); going on with one that only reads"
            ),
            false => format!("there is no agent `{}`; going on with one that only reads", clip(slug, 64)),
        };
        let reader = self.agents.get(READER).cloned().unwrap_or_else(reader);
        // A `reader` that somebody has made wider is no fallback.
        Resolved { agent: reader.within(&self::reader()), message: Some(message) }
    }

    /// The agents that can be used, by slug.
    pub fn list(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    /// The agents of the vault that wait for trust.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values()
    }

    /// The one of this slug that waits for trust.
    pub fn waits(&self, slug: &str) -> Option<&Waiting> {
        self.waiting.get(slug)
    }

    /// The files that are no agents, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// A line for each agent, for the prompt: what `switch_agent` and `new_task` may name.
    pub fn directory_text(&self) -> String {
        let mut text = String::new();
        for agent in self.agents.values() {
            let line = format!("- {}: {}\n", agent.slug, clip(&agent.when_to_use, 300));
            if text.len() + line.len() > DIRECTORY {
                text += "- … more can be listed by the user\n";
                break;
            }
            text += &line;
        }
        text
    }
}

/// The agents that come with Verger.
fn built_in() -> Vec<Agent> {
    use Group::{Edit, Read, Vault, Web};
    let make = |slug: &str, name: &str, groups: &[Group], role: &str, when_to_use: &str| Agent {
        slug: slug.to_owned(),
        name: name.to_owned(),
        groups: groups.iter().copied().collect(),
        tools: None,
        deny: Vec::new(),
        role: role.to_owned(),
        instructions: String::new(),
        when_to_use: when_to_use.to_owned(),
        model: None,
        source: Origin::BuiltIn,
        path: None,
    };
    vec![
        make(
            DEFAULT,
            "Agent",
            &Group::ALL,
            "You look after the user's vault of Markdown notes.",
            "everything; the default",
        ),
        reader(),
        make(
            "writer",
            "Writer",
            &[Read, Vault, Edit],
            "You write and mend notes. You cannot reach the web, other programs or other agents.",
            "writing and mending notes",
        ),
        make(
            "researcher",
            "Researcher",
            &[Read, Vault, Web],
            "You find things out in the notes and on the web. You cannot change anything.",
            "finding things out in notes and on the web; changes nothing",
        ),
    ]
}

fn reader() -> Agent {
    Agent {
        slug: READER.to_owned(),
        name: "Reader".to_owned(),
        groups: [Group::Read, Group::Vault].into(),
        tools: None,
        deny: Vec::new(),
        role: "You answer from the user's notes. You cannot change anything.".to_owned(),
        instructions: String::new(),
        when_to_use: "questions about the notes; changes nothing".to_owned(),
        model: None,
        source: Origin::BuiltIn,
        path: None,
    }
}

#[cfg(test)]
mod tests;
