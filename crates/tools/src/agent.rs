//! The agent itself: finding tools, turning pages, and the words by which a model steers its own loop; one file for
//! each tool.

mod ask_followup_question;
mod ask_user;
mod attempt_completion;
mod consult_flagship;
pub(crate) mod find_tool;
mod invoke_skill;
mod new_task;
mod question;
mod read_result;
mod read_skill;
pub mod search_history;
mod spawn_agent;
mod switch_agent;
#[cfg(test)]
pub(crate) mod tests;
mod update_todo_list;
mod words;

pub use ask_followup_question::AskFollowupQuestion;
pub use ask_user::AskUser;
pub use attempt_completion::AttemptCompletion;
pub use consult_flagship::ConsultFlagship;
pub use find_tool::FindTool;
pub use invoke_skill::InvokeSkill;
pub use new_task::NewTask;
pub use read_result::ReadResult;
pub use read_skill::ReadSkill;
pub use search_history::SearchHistory;
pub use spawn_agent::SpawnAgent;
pub use switch_agent::SwitchAgent;
pub use update_todo_list::UpdateTodoList;
