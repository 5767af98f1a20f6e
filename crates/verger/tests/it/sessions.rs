//! `sessions`, and `check` over them: a file with conversations is made as the agent's loop makes it.

use serde_json::json;
use state::{NewSession, NewStep, Said, Sessions};

use crate::rig::Rig;

/// 14 March 2026, 9 o'clock in Berlin.
const NINE: i64 = 1_773_475_200_000;

fn with_conversations() -> Rig {
    let rig = Rig::tour();
    rig.ok(&["append", "Inbox", "one", "-y"]);
    let sessions = Sessions::open(&rig.data().join("state.db")).unwrap();
    let new = |id: &str, title: &str, parent: Option<&str>| NewSession {
        id: id.into(),
        title: Some(title.into()),
        agent: "main".into(),
        model: "m1".into(),
        parent: parent.map(str::to_owned),
        now_ms: NINE,
        ..NewSession::default()
    };
    let says = |role: &str, text: &str| NewStep {
        kind: "said",
        body: json!({"text": text}),
        said: Some(Said { role: role.into(), text: text.into() }),
    };
    sessions.create(&new("abc1", "Garden plans", None)).unwrap();
    sessions.create(&new("abd2", "Bread", None)).unwrap();
    sessions.create(&new("cde3", "Digging", Some("abc1"))).unwrap();
    let both = [says("user", "Where is the quince?"), says("assistant", "Behind the\u{1b}[31m shed, 100 %.")];
    sessions.append("abc1", &both, NINE + 60_000).unwrap();
    sessions.append("abd2", &[says("user", "Rye, please")], NINE + 120_000).unwrap();
    rig
}

#[test]
fn conversations_are_listed_latest_first_and_children_on_demand() {
    let rig = with_conversations();
    assert_eq!(
        rig.ok(&["sessions"]),
        "abd2  2026-03-14 09:02  Bread  1 step  main (m1)\nabc1  2026-03-14 09:01  Garden plans  2 steps  main (m1)\n"
    );
    assert_eq!(rig.ok(&["sessions", "list", "garden"]).lines().count(), 1);
    let all = rig.ok(&["sessions", "list", "--all"]);
    assert!(all.contains("cde3  2026-03-14 09:00  Digging  0 steps  main (m1)  [child of abc1]"), "{all}");
    let limited = rig.run(&["sessions", "list", "--limit", "1"]);
    assert!(limited.out.lines().count() == 1 && limited.err.contains("see more with --limit"), "{limited:?}");
    assert_eq!(rig.json(&["sessions"])["data"]["sessions"][1]["id"], "abc1");
}

#[test]
fn what_was_said_is_found() {
    let rig = with_conversations();
    assert_eq!(
        rig.ok(&["sessions", "search", "100", "%"]),
        "abc1  2026-03-14 09:01  assistant  Garden plans  step 2\n  Behind the [31m shed, 100 %.\n"
    );
    let found = rig.json(&["sessions", "search", "quince", "--role", "user", "--in", "garden plans"]);
    assert_eq!(found["data"]["found"][0]["snippet"], "Where is the quince?");
    let none = rig.run(&["sessions", "search", "_"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.contains("nothing found"), "{none:?}");
}

#[test]
fn a_conversation_is_forked_renamed_and_removed() {
    let rig = with_conversations();
    let fork = rig.json(&["sessions", "fork", "abc", "--at", "1"]);
    let id = fork["data"]["session"]["id"].as_str().unwrap();
    assert_eq!(fork["data"]["session"]["steps"], 1);
    assert_eq!(fork["data"]["session"]["forked_from"], "abc1");
    assert_eq!(fork["data"]["session"]["title"], "Garden plans (fork)");
    rig.ok(&["sessions", "rename", id, "Another", "way"]);
    assert!(rig.ok(&["sessions", "list"]).contains("Another way"));

    let denied = rig.run(&["sessions", "rm", "abc1"]);
    assert_eq!(denied.code, 3, "nobody was there to ask: {denied:?}");
    assert!(rig.ok(&["sessions", "list"]).contains("abc1"));
    rig.ok(&["sessions", "rm", "abc1", "-y"]);
    let left = rig.ok(&["sessions", "list", "--all"]);
    assert!(!left.contains("\nabc1") && !left.contains("cde3") && left.contains(id), "{left}");
}

#[test]
fn what_is_not_there_is_refused_with_what_comes_nearest() {
    let rig = with_conversations();
    for (arguments, words) in [
        (&["sessions", "rm", "abc2", "-y"][..], "nearest: abc1, abd2"),
        (&["sessions", "rename", "ab", "x"], "give more of the id"),
        (&["sessions", "fork", "abc1", "--at", "3"], "use a number from 1 to 2"),
        (&["sessions", "search", ""], "it is empty"),
    ] {
        let said = rig.run(arguments);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains(words), "{arguments:?}: {said:?}");
    }
}

#[test]
fn without_conversations_nothing_is_made_by_looking() {
    let rig = Rig::tour();
    rig.ok(&["append", "Inbox", "one", "-y"]);
    let said = rig.run(&["sessions"]);
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.contains("no conversations yet"), "{said:?}");
    assert_eq!(rig.run(&["sessions", "rm", "x", "-y"]).code, 1);
    rig.ok(&["check"]);
    assert!(!rig.data().join("state.db").exists());
}

#[test]
fn check_reads_the_conversations_and_names_a_damaged_file() {
    let rig = with_conversations();
    let ok = rig.ok(&["check"]);
    assert!(ok.contains("; 3 conversations with 3 steps read"), "{ok}");
    let file = rig.data().join("state.db");
    let sound = std::fs::read(&file).unwrap();
    let at = sound.windows(5).position(|part| part == b"Rye, ").unwrap();
    let mut damaged = sound.clone();
    damaged[at] = b'r';
    std::fs::write(&file, &damaged).unwrap();
    let said = rig.run(&["check"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.out.contains("problem: conversations: "), "{said:?}");
    std::fs::write(&file, b"no database, but long enough to be taken for one".repeat(20)).unwrap();
    let said = rig.run(&["check"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.out.contains("move it away"), "{said:?}");
    let listed = rig.run(&["sessions", "--json"]);
    assert_eq!(listed.code, 1);
    assert!(listed.out.contains("\"state_damaged\""), "{listed:?}");
}
