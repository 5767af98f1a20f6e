//! The real binary on copies of the tour vault. One test binary for all doors.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

#[path = "it/about.rs"]
mod about;
#[path = "it/acp.rs"]
mod acp;
#[path = "it/acp_rig.rs"]
mod acp_rig;
#[path = "it/acp_sessions.rs"]
mod acp_sessions;
#[path = "it/agents.rs"]
mod agents;
#[path = "it/ansi.rs"]
mod ansi;
#[path = "it/asking.rs"]
mod asking;
#[path = "it/bases.rs"]
mod bases;
#[path = "it/chat.rs"]
mod chat;
#[path = "it/chat_faults.rs"]
mod chat_faults;
#[path = "it/check.rs"]
mod check;
#[path = "it/embedding.rs"]
mod embedding;
#[path = "it/errors.rs"]
mod errors;
#[path = "it/install.rs"]
mod install;
#[path = "it/mcp.rs"]
mod mcp;
#[path = "it/mcp_app.rs"]
mod mcp_app;
#[path = "it/mcp_beyond.rs"]
mod mcp_beyond;
#[path = "it/mcp_contract.rs"]
mod mcp_contract;
#[path = "it/mcp_http.rs"]
mod mcp_http;
#[path = "it/mcp_http_gate.rs"]
mod mcp_http_gate;
#[path = "it/mcp_http_rig.rs"]
mod mcp_http_rig;
#[path = "it/mcp_http_tokens.rs"]
mod mcp_http_tokens;
#[path = "it/mcp_news.rs"]
mod mcp_news;
#[path = "it/mcp_reasons.rs"]
mod mcp_reasons;
#[path = "it/mcp_short.rs"]
mod mcp_short;
#[path = "it/note.rs"]
mod note;
#[path = "it/paths.rs"]
mod paths;
#[path = "it/query.rs"]
mod query;
#[path = "it/reading.rs"]
mod reading;
#[path = "it/rest_api.rs"]
mod rest_api;
#[path = "it/rig.rs"]
mod rig;
#[path = "it/serve_changes.rs"]
mod serve_changes;
#[path = "it/serve_chat.rs"]
mod serve_chat;
#[path = "it/serve_doors.rs"]
mod serve_doors;
#[path = "it/serve_gate.rs"]
mod serve_gate;
#[path = "it/serve_notes.rs"]
mod serve_notes;
#[path = "it/serve_openai.rs"]
mod serve_openai;
#[path = "it/serve_questions.rs"]
mod serve_questions;
#[path = "it/serve_rig.rs"]
mod serve_rig;
#[path = "it/serve_settings.rs"]
mod serve_settings;
#[path = "it/serve_walk.rs"]
mod serve_walk;
#[path = "it/servers.rs"]
mod servers;
#[path = "it/sessions.rs"]
mod sessions;
#[path = "it/setup.rs"]
mod setup;
#[path = "it/soak.rs"]
mod soak;
#[path = "it/undo.rs"]
mod undo;
#[path = "it/writing.rs"]
mod writing;
