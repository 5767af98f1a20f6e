//! A folder with an open file of conversations, and short words for what goes into it.

use std::path::PathBuf;

use serde_json::json;
use state::{NewSession, NewStep, Said, Sessions};

/// A folder with an open file of conversations.
pub struct Room {
    pub folder: tempfile::TempDir,
    pub sessions: Sessions,
}

impl Room {
    pub fn new() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(&folder.path().join("state.db")).unwrap();
        Room { folder, sessions }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("state.db")
    }
}

pub fn new(id: &str, now_ms: i64) -> NewSession {
    NewSession { id: id.into(), agent: "main".into(), model: "m1".into(), now_ms, ..NewSession::default() }
}

/// A step in which somebody says something.
pub fn says(role: &str, text: &str) -> NewStep {
    let said = Some(Said { role: role.into(), text: text.into() });
    NewStep { kind: "message", body: json!({"role": role, "text": text}), said }
}

/// A small random number generator (xorshift), so that a failing seed can be run again.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
