//! Knowing the vault: properties, tags, links, days, health; one file for each tool.
//!
//! Only `get_daily_note` (when it is asked to create the note) and `vault_health_repair` can plan a change.

pub(crate) mod get_daily_note;
mod get_frontmatter;
pub(crate) mod get_linked_notes;
mod get_vault_stats;
mod list_tags;
pub(crate) mod query_base;
pub(crate) mod query_vault;
mod search_by_tag;
mod semantic_search;
mod similar_notes;
pub(crate) mod vault_health_check;
mod vault_health_repair;

pub use get_daily_note::GetDailyNote;
pub use get_frontmatter::GetFrontmatter;
pub use get_linked_notes::GetLinkedNotes;
pub use get_vault_stats::GetVaultStats;
pub use list_tags::ListTags;
pub use query_base::QueryBase;
pub use query_vault::QueryVault;
pub use search_by_tag::SearchByTag;
pub use semantic_search::SemanticSearch;
pub use similar_notes::SimilarNotes;
pub use vault_health_check::VaultHealthCheck;
pub use vault_health_repair::VaultHealthRepair;
