//! Every tool there is. Add a line here and nothing else.

use std::sync::Arc;

use pipeline::Registry;

use crate::foreign::Foreign;
use crate::obsidian::app::{App, Commands};
use crate::{agent, chat, edit, mcp, obsidian as o, read, vault};

/// A registry with all built-in tools.
pub fn all() -> Registry {
    let registry = Registry::default();
    add_read(&registry);
    add_vault(&registry);
    add_edit(&registry);
    add_agent(&registry);
    add_foreign(&registry, &Arc::default());
    registry
}

/// A registry with the Obsidian surface instead: the tools of the Obsidian MCP server, under its names, without the app.
pub fn obsidian() -> Registry {
    obsidian_beside(&App::default())
}

/// The same beside the app.
pub fn obsidian_beside(app: &App) -> Registry {
    let registry = Registry::default();
    if app.commands == Commands::On {
        registry.add(o::ListCommands(app.clone())).add(o::ExecuteCommand(app.clone()));
    }
    registry
        .add(o::GetNote)
        .add(o::ListNotes)
        .add(o::ListTags)
        .add(o::SearchNotes)
        .add(o::GetLinks)
        .add(o::OpenInUi(app.clone()))
        .add(o::History)
        .add(o::WriteNote)
        .add(o::AppendToNote)
        .add(o::PatchNote)
        .add(o::ReplaceInNote)
        .add(o::ManageFrontmatter)
        .add(o::ManageTags)
        .add(o::DeleteNote)
        .add(o::MoveNote)
        .add(o::Undo)
        .add(o::BatchEdit)
        .add(o::HealthCheck)
        .add(o::PeriodicNote)
        .add(o::FindTool);
    registry
}

fn add_read(registry: &Registry) {
    registry
        .add(read::ReadFile)
        .add(read::ListFiles)
        .add(read::SearchFiles)
        .add(read::ListCheckpoints)
        .add(read::ReadCheckpoint)
        .add(read::DiffCheckpoint);
}

fn add_vault(registry: &Registry) {
    registry
        .add(vault::GetFrontmatter)
        .add(vault::ListTags)
        .add(vault::QueryBase)
        .add(vault::QueryVault)
        .add(vault::SearchByTag)
        .add(vault::SemanticSearch)
        .add(vault::SimilarNotes)
        .add(vault::GetLinkedNotes)
        .add(vault::GetVaultStats)
        .add(vault::GetDailyNote)
        .add(vault::VaultHealthCheck)
        .add(vault::VaultHealthRepair);
}

pub(crate) fn add_edit(registry: &Registry) {
    registry
        .add(edit::AppendToFile)
        .add(edit::BatchFiles)
        .add(edit::CreateBase)
        .add(edit::CreateFolder)
        .add(edit::DeleteFile)
        .add(edit::EditFile)
        .add(edit::ManageTags)
        .add(edit::MoveFile)
        .add(edit::PatchNote)
        .add(edit::ReplaceInFile)
        .add(edit::RestoreCheckpoint)
        .add(edit::UpdateBase)
        .add(edit::UpdateFrontmatter)
        .add(edit::WriteFile);
}

fn add_agent(registry: &Registry) {
    registry.add(agent::FindTool).add(agent::ReadResult);
}

/// What a conversation has besides its agent's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// A stronger model that can be asked.
    pub flagship: bool,
    /// Skills that can be read.
    pub skills: bool,
    /// A person who can be asked.
    pub person: bool,
}

impl Offered {
    /// All of it.
    pub const EVERYTHING: Offered = Offered { flagship: true, skills: true, person: true };
}

/// Adds the tools by which a model steers its own loop. Other doors (MCP) have no loop, so they are not in [`all`].
pub fn add_conversation(registry: &Registry, offered: Offered) {
    registry
        .add(agent::AttemptCompletion)
        .add(agent::UpdateTodoList)
        .add(agent::SwitchAgent)
        .add(agent::NewTask)
        .add(agent::SpawnAgent);
    if offered.person {
        registry.add(agent::AskUser).add(agent::AskFollowupQuestion);
    }
    // What is not there any more is not offered any more: settings can be changed while a program runs.
    for (name, there) in [
        ("consult_flagship", offered.flagship),
        ("read_skill", offered.skills),
        ("invoke_skill", offered.skills),
    ] {
        if !there {
            registry.unregister(name);
        }
    }
    if offered.flagship {
        registry.add(agent::ConsultFlagship);
    }
    if offered.skills {
        registry.add(agent::ReadSkill).add(agent::InvokeSkill);
    }
}

/// Adds the chat surface for the chat that lives in this note, and the tools by which Verger keeps such a note
/// ([`chat::KEEPERS`]): whoever calls this sees to it that no agent has a right to those.
pub fn add_chat(registry: &Registry, note: Option<&::vault::VaultPath>) {
    registry
        .add(chat::VaultSearch { chat: note.cloned() })
        .add(chat::FileRead)
        .add(chat::ReadChat)
        .add(chat::WriteChat);
}

/// Every tool of Verger's own agent, for its documentation.
pub fn every() -> Registry {
    let registry = all();
    add_conversation(&registry, Offered::EVERYTHING);
    registry
}

/// Adds the tool that looks into earlier conversations: these.
pub fn add_history(registry: &Registry, sessions: &state::Sessions) {
    registry.add(agent::SearchHistory(sessions.clone()));
}

/// Adds the tools for these foreign servers, in the place of those for none.
pub fn add_foreign(registry: &Registry, foreign: &Arc<Foreign>) {
    registry
        .add(mcp::UseMcpTool(Arc::clone(foreign)))
        .add(mcp::ReadMcpTool(Arc::clone(foreign)))
        .add(mcp::ManageMcpServer(Arc::clone(foreign)))
        .add(mcp::InvokeMcpServer(Arc::clone(foreign)));
}

/// Takes the tools for foreign servers away: they start programs, so they are not for a door where nobody asks.
pub fn remove_foreign(registry: &Registry) {
    for name in ["use_mcp_tool", "read_mcp_tool", "manage_mcp_server", "invoke_mcp_server"] {
        registry.unregister(name);
    }
}

#[cfg(test)]
mod tells;
