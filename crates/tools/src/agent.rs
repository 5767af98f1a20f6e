//! The agent itself: finding tools, turning pages; one file for each tool.

pub(crate) mod find_tool;
mod read_result;

pub use find_tool::FindTool;
pub use read_result::ReadResult;
