//! Who may do what: agent × effect × grant × what was read × who is asked → how it ends. A missing case is a missing row.

use std::sync::Arc;

use pipeline::Lifetime;
use pipeline::approve::Rule;
use pipeline::grants::Grant;
use serde_json::{Value, json};

use crate::rig::{Ears, Rig, Say, last};

/// A row: agent, tool, grant, whether a note was read before, asker, outcome.
type Row = (&'static str, &'static str, &'static str, bool, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Reading needs nobody.
    ("agent",  "read",      "none",  false, "nobody", "answered"),
    ("agent",  "read",      "none",  true,  "nobody", "answered"),
    ("reader", "read",      "none",  false, "nobody", "answered"),
    // A change needs somebody, or a grant.
    ("agent",  "make",      "none",  false, "nobody", "denied"),
    ("agent",  "make",      "none",  false, "flag",   "done"),
    ("agent",  "make",      "none",  false, "yes",    "done"),
    ("agent",  "make",      "none",  false, "no",     "denied"),
    ("agent",  "make",      "exact", false, "nobody", "done"),
    ("agent",  "make",      "wide",  false, "nobody", "done"),
    ("agent",  "make",      "other", false, "nobody", "denied"),
    // Having read notes does not make a plain change harder.
    ("agent",  "make",      "wide",  true,  "nobody", "done"),
    ("agent",  "make",      "none",  true,  "flag",   "done"),
    ("agent",  "make",      "none",  true,  "yes",    "done"),
    // Whoever only reads cannot write, whatever was granted or said.
    ("reader", "make",      "wide",  false, "yes",    "refused"),
    ("reader", "delete",    "wide",  false, "yes",    "refused"),
    ("reader", "send",      "wide",  false, "yes",    "refused"),
    ("gone",   "make",      "wide",  false, "yes",    "refused"),
    // Taking away: as a change, but after reading a grant must name the very note.
    ("agent",  "delete",    "none",  false, "nobody", "denied"),
    ("agent",  "delete",    "wide",  false, "nobody", "done"),
    ("agent",  "delete",    "wide",  true,  "nobody", "denied"),
    ("agent",  "delete",    "exact", true,  "nobody", "done"),
    ("agent",  "delete",    "wide",  true,  "yes",    "done"),
    ("agent",  "delete",    "wide",  true,  "no",     "denied"),
    // What leaves the machine: after reading, only a person, whatever was granted.
    ("agent",  "send",      "none",  false, "nobody", "denied"),
    ("agent",  "send",      "wide",  false, "nobody", "done"),
    ("agent",  "send",      "none",  false, "flag",   "done"),
    ("agent",  "send",      "none",  true,  "flag",   "denied"),
    ("agent",  "send",      "wide",  true,  "nobody", "denied"),
    ("agent",  "send",      "wide",  true,  "flag",   "denied"),
    ("agent",  "send",      "wide",  true,  "no",     "denied"),
    ("agent",  "send",      "wide",  true,  "yes",    "done"),
    // What acts on this machine only: somebody, or a grant.
    ("agent",  "ring_bell", "none",  true,  "nobody", "denied"),
    ("agent",  "ring_bell", "wide",  true,  "nobody", "done"),
    ("agent",  "ring_bell", "none",  true,  "yes",    "done"),
    // More rights need a person; fewer do not.
    ("reader", "widen",     "none",  false, "nobody", "refused"),
    ("reader", "widen",     "none",  false, "flag",   "refused"),
    ("reader", "widen",     "none",  false, "no",     "refused"),
    ("reader", "widen",     "none",  false, "yes",    "steered"),
    ("agent",  "narrow",    "none",  false, "nobody", "steered"),
];

fn call(tool: &str) -> (&'static str, Value) {
    match tool {
        "read" => ("read", json!({"path": "b.md"})),
        "make" => ("make", json!({"path": "Journal/x.md", "text": "x"})),
        "delete" => ("delete", json!({"path": "b.md"})),
        "send" => ("send", json!({"text": "x"})),
        "ring_bell" => ("ring_bell", json!({})),
        "widen" => ("switch_agent", json!({"agent": "agent"})),
        "narrow" => ("switch_agent", json!({"agent": "reader"})),
        other => panic!("{other}"),
    }
}

fn rule(tool: &str, grant: &str) -> Option<Rule> {
    let (paths, target) = match (tool, grant) {
        (_, "none") => return None,
        ("send", _) => (None, Some("mail.example")),
        ("ring_bell", _) => (None, Some("bell")),
        ("make", "exact") => (Some("/Journal/x.md"), None),
        ("delete", "exact") => (Some("/b.md"), None),
        (_, "other") => (Some("/Elsewhere/**"), None),
        (_, _) => (Some("/**"), None),
    };
    Some(Rule { tool: tool.to_owned(), paths: paths.map(str::to_owned), target: target.map(str::to_owned) })
}

#[tokio::test]
async fn every_row_ends_as_it_says() {
    for row @ (agent, tool, grant, tainted, asker, expected) in ROWS {
        let wanted = call(tool);
        let rig = Rig::new(move |request| match (last(request).as_str(), *tainted) {
            ("go", true) => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
            ("go", false) => Say::Calls(vec![wanted.clone()]),
            (text, true) if text.contains("alpha") => Say::Calls(vec![wanted.clone()]),
            _ => Say::Text("end"),
        });
        if let Some(rule) = rule(tool, grant) {
            let grant = Grant {
                id: "g".into(),
                rule,
                lifetime: Lifetime::Always,
                holder: None,
                given_ms: 0,
                expires_ms: None,
            };
            rig.mind.road.grants.add(grant).unwrap();
        }
        let ears = Arc::new(Ears {
            yes: matches!(*asker, "yes" | "flag"),
            person: matches!(*asker, "yes" | "no"),
            ..Ears::default()
        });
        let mut talk = rig.talk(agent).await;
        crate::rig::say(&mut talk, "go", &ears).await;
        let ended = ears.ended();
        let outcome = ended.last().and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
        assert_eq!(outcome, *expected, "{row:?}: {ended:?}");
        let made = rig.note("Journal/x.md").is_some();
        let kept = rig.note("b.md").is_some();
        assert_eq!(made, *tool == "make" && *expected == "done", "{row:?}");
        assert_eq!(kept, !(*tool == "delete" && *expected == "done"), "{row:?}");
    }
}
