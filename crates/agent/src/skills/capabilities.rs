//! What a skill could do, in words, for the person who decides whether to install or trust it.

use pipeline::Effect;
use pipeline::registry::Listing;
use serde::Serialize;

use super::Skill;

/// What a skill could do at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// It may call these tools, which only read or know.
    pub reads: Vec<String>,
    /// It may call these, which change notes.
    pub edits: Vec<String>,
    /// It may call these, which reach outside of the vault.
    pub acts: Vec<String>,
    /// It may call these, which ask, or start other agents.
    pub steers: Vec<String>,
    /// It names these, which are no tools here.
    pub elsewhere: Vec<String>,
    /// Files in it that are programs; Verger does not run them.
    pub programs: Vec<String>,
}

impl Capabilities {
    /// Of this skill, with these tools.
    pub fn of(skill: &Skill, tools: &[Listing]) -> Capabilities {
        let rights = skill.rights();
        // A tool that can mend what it finds only finds, where nothing may be changed.
        let effect = |listing: &Listing| match listing.spec.effect {
            Effect::Edits if !rights.may_edit() => Effect::Answers,
            effect => effect,
        };
        let with = |wanted: Effect| {
            let fit = tools.iter().filter(|tool| effect(tool) == wanted && rights.permit(&tool.spec));
            fit.map(|tool| tool.spec.name.to_string()).collect()
        };
        let programs = skill.files.iter().filter(|file| is_program(&file.path));
        Capabilities {
            reads: with(Effect::Answers),
            edits: with(Effect::Edits),
            acts: with(Effect::Acts),
            steers: with(Effect::Steers),
            elsewhere: skill.elsewhere.clone(),
            programs: programs.map(|file| file.path.clone()).collect(),
        }
    }

    /// A line for each thing that matters.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut say = |what: &str, names: &[String]| {
            if !names.is_empty() {
                lines.push(format!("{what}: {}", names.join(", ")));
            }
        };
        say("reads with", &self.reads);
        say("changes notes with", &self.edits);
        say("reaches outside of the vault with", &self.acts);
        say("asks or starts others with", &self.steers);
        say("names tools that are not here", &self.elsewhere);
        say("holds programs, which are not run", &self.programs);
        if self.reads.is_empty() && self.edits.is_empty() && self.acts.is_empty() && self.steers.is_empty() {
            lines.push("may call no tools".to_owned());
        }
        lines
    }
}

fn is_program(path: &str) -> bool {
    const ENDINGS: [&str; 14] =
        ["sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "ps1", "bat", "exe", "wasm"];
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    path.starts_with("scripts/") || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}
