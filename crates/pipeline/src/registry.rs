//! All tools there are, and what one agent may call of them. A view of the registry can only narrow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::refusal::{Refusal, nearest};
use crate::tool::{AnyTool, Effect, Group, Spec, Tool, typed};

/// The tools, by name. Tools may be added and removed while it runs.
#[derive(Default)]
pub struct Registry {
    tools: RwLock<BTreeMap<String, Arc<dyn AnyTool>>>,
}

/// One tool as others may know it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Listing {
    /// Its declaration.
    #[serde(flatten)]
    pub spec: Spec,
    /// What a model reads about it.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// What one agent may call: groups, narrowed by an allow list and a deny list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    groups: BTreeSet<Group>,
    allow: Option<BTreeSet<String>>,
    deny: BTreeSet<String>,
}

/// Without these an agent could not reach its own deferred tools or the rest of its own answers.
const FOR_EVERYBODY: [&str; 4] = ["find_tool", "obsidian_find_tool", "read_result", "read_skill"];
/// How the name of the tool ends by which deferred ones are found, on every surface.
const FINDER: &str = "find_tool";

/// Other tools steer as well, and their names may come first.
fn finds_others(spec: &Spec) -> bool {
    spec.effect == Effect::Steers && spec.name.ends_with(FINDER)
}

impl Rights {
    /// Everything.
    pub fn all() -> Rights {
        Rights { groups: Group::ALL.into(), allow: None, deny: BTreeSet::new() }
    }

    /// These groups.
    pub fn groups(groups: impl IntoIterator<Item = Group>) -> Rights {
        Rights { groups: groups.into_iter().collect(), allow: None, deny: BTreeSet::new() }
    }

    /// Reading and knowing, nothing else: what remains when an agent's own rights are gone.
    pub fn read_only() -> Rights {
        Rights::groups([Group::Read, Group::Vault])
    }

    /// At most these tools of what there was. An empty list leaves none.
    #[must_use]
    pub fn only<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Rights {
        let names: BTreeSet<String> = names.into_iter().map(str::to_owned).collect();
        self.allow = Some(match self.allow {
            Some(before) => before.intersection(&names).cloned().collect(),
            None => names,
        });
        self
    }

    /// Without these tools.
    #[must_use]
    pub fn without<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Rights {
        self.deny.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// What both allow: the rights of a child under its parent.
    #[must_use]
    pub fn within(&self, parent: &Rights) -> Rights {
        let allow = match (&self.allow, &parent.allow) {
            (Some(a), Some(b)) => Some(a.intersection(b).cloned().collect()),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        Rights {
            groups: self.groups.intersection(&parent.groups).copied().collect(),
            allow,
            deny: self.deny.union(&parent.deny).cloned().collect(),
        }
    }

    /// Whether an edit may be carried out at all, whatever tool planned it: `read` and `vault` cannot write.
    pub fn may_edit(&self) -> bool {
        self.groups.contains(&Group::Edit)
    }

    /// Whether a tool may be called.
    pub fn permit(&self, spec: &Spec) -> bool {
        (self.groups.contains(&spec.group) || FOR_EVERYBODY.contains(&spec.name.as_ref()))
            && self.allow.as_ref().is_none_or(|allow| allow.contains(spec.name.as_ref()))
            && !self.deny.contains(spec.name.as_ref())
    }
}

impl Registry {
    /// Adds a built-in tool.
    pub fn add<T: Tool>(&self, tool: T) -> &Registry {
        self.tools
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(T::SPEC.name.into_owned(), Arc::from(typed(tool)));
        self
    }

    /// Adds a tool made at run time; it may not take the name of another.
    pub fn register(&self, tool: Arc<dyn AnyTool>) -> Result<(), Refusal> {
        let name = tool.spec().name.to_string();
        let fits = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !fits {
            return Err(Refusal::new(
                "tool_name_invalid",
                format!("`{name}` is no name for a tool"),
                "use lower-case letters, digits and `_`, at most 64",
            ));
        }
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if tools.contains_key(&name) {
            return Err(Refusal::new(
                "tool_exists",
                format!("there is a tool `{name}` already"),
                "choose another name",
            ));
        }
        tools.insert(name, tool);
        Ok(())
    }

    /// Removes a tool that was made at run time.
    pub fn unregister(&self, name: &str) -> bool {
        self.tools.write().unwrap_or_else(PoisonError::into_inner).remove(name).is_some()
    }

    /// The tool of this name, if these rights permit it. Unknown and not granted look alike to the caller.
    pub fn find(&self, name: &str, rights: &Rights) -> Result<Arc<dyn AnyTool>, Refusal> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tool) = tools.get(name).filter(|tool| rights.permit(tool.spec())) {
            return Ok(Arc::clone(tool));
        }
        let known =
            tools.values().filter(|tool| rights.permit(tool.spec())).map(|tool| tool.spec().name.as_ref());
        let hint = match nearest(name, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                let finder = tools.values().find(|tool| finds_others(tool.spec()));
                let finder = finder.map_or(FINDER, |tool| tool.spec().name.as_ref());
                format!("call only tools that were listed; `{finder}` finds the deferred ones")
            }
        };
        Err(Refusal::new("tool_unknown", format!("there is no tool `{name}` for you"), hint))
    }

    /// What the tool of this name does, whoever may call it.
    pub fn effect(&self, name: &str) -> Option<Effect> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.get(name).map(|tool| tool.spec().effect)
    }

    /// The tool by which deferred ones are found; each surface has its own name for it.
    pub(crate) fn finder(&self) -> String {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let finder = tools.values().find(|tool| finds_others(tool.spec()));
        finder.map_or_else(|| FINDER.to_owned(), |tool| tool.spec().name.to_string())
    }

    /// What these rights permit, by name.
    pub fn list(&self, rights: &Rights) -> Vec<Listing> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools
            .values()
            .filter(|tool| rights.permit(tool.spec()))
            .map(|tool| Listing {
                spec: tool.spec().clone(),
                description: tool.description().to_owned(),
                schema: tool.schema().clone(),
            })
            .collect()
    }
}
