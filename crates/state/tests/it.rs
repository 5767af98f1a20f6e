//! Conversations on a real disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

#[path = "it/keeping.rs"]
mod keeping;

use serde_json::json;
use state::{NewSession, NewStep, Said, Sessions};

/// A folder with an open file of conversations.
struct Room {
    folder: tempfile::TempDir,
    sessions: Sessions,
}

impl Room {
    fn new() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(&folder.path().join("state.db")).unwrap();
        Room { folder, sessions }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("state.db")
    }
}

fn new(id: &str, now_ms: i64) -> NewSession {
    NewSession { id: id.into(), agent: "main".into(), model: "m1".into(), now_ms, ..NewSession::default() }
}

/// A step in which somebody says something.
fn says(role: &str, text: &str) -> NewStep {
    let said = Some(Said { role: role.into(), text: text.into() });
    NewStep { kind: "message", body: json!({"role": role, "text": text}), said }
}
