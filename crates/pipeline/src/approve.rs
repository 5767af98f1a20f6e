//! Asking: who decides whether a plan is carried out, and for how long a yes holds.
//!
//! The default asker is [`Nobody`], which denies. An error, a time-out and a closed window deny as well.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vault::{Change, VaultPath};

use crate::ledger::Legs;
use crate::tells::ResultRow;

/// What is put before whoever decides.
#[derive(Debug)]
pub struct Question<'q> {
    /// The tool.
    pub tool: &'q str,
    /// Its input.
    pub input: &'q Value,
    /// One line: what would happen.
    pub summary: &'q str,
    /// The changes to vault files, with bytes before and after.
    pub changes: &'q [Change],
    /// The notes whose text would be handed to a model; each may be left out ([`Decision::Only`]).
    pub reads: &'q [VaultPath],
    /// What a search found and would be shared with a model; each may be left out.
    pub results: &'q [ResultRow],
    /// What an action reaches.
    pub target: Option<&'q str>,
    /// Why a person must decide although a grant would allow it.
    pub warning: Option<String>,
    /// The legs that stand so far.
    pub legs: Legs,
    /// The rule that "always" would save, as text to show before saving.
    pub rule: Rule,
}

/// What a standing yes covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// This tool.
    pub tool: String,
    /// On paths that fit this pattern (gitignore style, from the root); `None` for actions.
    pub paths: Option<String>,
    /// Or on this target.
    pub target: Option<String>,
}

impl Rule {
    /// The rule that covers a plan's paths: their common folder.
    pub fn covering(tool: &str, paths: &[&VaultPath], target: Option<&str>) -> Rule {
        let pattern = match paths {
            [] => None,
            [only] => Some(exactly(only)),
            several => Some(common_folder(several)),
        };
        Rule { tool: tool.to_owned(), paths: pattern, target: target.map(str::to_owned) }
    }

    /// In words: `append_to_file on /Journal/**`.
    pub fn describe(&self) -> String {
        match (&self.paths, &self.target) {
            (Some(paths), _) => format!("{} on {paths}", self.tool),
            (None, Some(target)) => format!("{} to {target}", self.tool),
            (None, None) => self.tool.clone(),
        }
    }
}

/// The pattern for this one path.
pub(crate) fn exactly(path: &VaultPath) -> String {
    format!("/{}", escape(path.as_str()))
}

fn common_folder(paths: &[&VaultPath]) -> String {
    let folder = |path: &VaultPath| path.parent().as_str().split('/').map(str::to_owned).collect::<Vec<_>>();
    let mut common = folder(paths[0]);
    for path in &paths[1..] {
        let other = folder(path);
        let shared = common.iter().zip(&other).take_while(|(a, b)| a == b).count();
        common.truncate(shared);
    }
    let common: Vec<String> =
        common.into_iter().filter(|name| !name.is_empty()).map(|name| escape(&name)).collect();
    if common.is_empty() { "/**".to_owned() } else { format!("/{}/**", common.join("/")) }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Yes, for so long.
    Yes(Lifetime),
    /// Yes, but with this input instead; it enters the road again at validation.
    Edited(Value),
    /// Of the notes that `reads` or `results` list, these. The others stay private in the whole conversation.
    Only(Vec<VaultPath>),
    /// No, and why if the person said so.
    No {
        /// What to tell whoever called.
        reason: Option<String>,
    },
}

/// For how long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// This call only.
    Once,
    /// Calls like this, in this task.
    Task,
    /// Calls like this, until the program ends.
    Session,
    /// Calls like this, until revoked.
    Always,
}

/// How a decision is waited for.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// Whoever decides.
pub trait Asker: Send + Sync {
    /// Decides. An asker that cannot decide must answer `No`.
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a>;
    /// Who this is, for the audit: `terminal`, `web`, `flag --yes`.
    fn name(&self) -> &str;
    /// Whether a person looks at each question. What completes the third leg needs one.
    fn is_person(&self) -> bool;
    /// Whether it decides where a grant would cover the plan as well: it has said yes to one certain plan and to no other.
    fn insists(&self) -> bool {
        false
    }
}

/// Nobody is there: everything that needs a yes is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async {
            Decision::No { reason: Some("nobody is there to approve it and no grant covers it".to_owned()) }
        })
    }
    fn name(&self) -> &str {
        "nobody"
    }
    fn is_person(&self) -> bool {
        false
    }
}

/// A yes given beforehand for everything that this run asks (`--yes`). No person looks, so the third leg stays closed.
#[derive(Debug, Clone, Copy)]
pub struct Beforehand;

impl Asker for Beforehand {
    fn ask<'a>(&'a self, _: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async { Decision::Yes(Lifetime::Once) })
    }
    fn name(&self) -> &str {
        "--yes"
    }
    fn is_person(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_one_file_exactly_and_several_by_their_folder() {
        let paths: Vec<VaultPath> =
            ["a/b/1.md", "a/b/2.md", "a/c/[x].md"].iter().map(|p| VaultPath::parse(p).unwrap()).collect();
        let rule = |paths: &[&VaultPath]| Rule::covering("t", paths, None).describe();
        assert_eq!(rule(&[&paths[0]]), "t on /a/b/1.md");
        assert_eq!(rule(&[&paths[2]]), "t on /a/c/\\[x\\].md");
        assert_eq!(rule(&[&paths[0], &paths[1]]), "t on /a/b/**");
        assert_eq!(rule(&[&paths[0], &paths[2]]), "t on /a/**");
    }
}
