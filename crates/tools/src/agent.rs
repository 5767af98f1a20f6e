//! The agent itself: finding tools, turning pages; one file for each tool.

pub(crate) mod find_tool;
mod read_result;
pub mod search_history;

pub use find_tool::FindTool;
pub use read_result::ReadResult;
pub use search_history::SearchHistory;
