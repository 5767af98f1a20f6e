//! What the road does with foreign tools: who is asked, what a grant covers, and what a changed description ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use pipeline::approve::{Beforehand, Lifetime, Nobody};
use pipeline::{Decision, Outcome};
use serde_json::{Value, json};

use super::rig::{Abroad, Person, entry, put, reason, text};

/// A call that differs a little from the one before, so that it is no repetition.
fn echo() -> Value {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    json!({"server_name": "s", "tool_name": "echo", "arguments": {"text": "hi", "number": number}})
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_approved_or_does_not_happen() {
    let folder = tempfile::tempdir().unwrap();
    let calls = put(&folder.path().join("calls"), "");
    let abroad = Abroad::new(&[("s", entry("good", json!({"env": {"CALLS": calls}})))], None);
    #[expect(clippy::disallowed_methods, reason = "a test counts")]
    let count = || std::fs::read_to_string(folder.path().join("calls")).unwrap().lines().count();
    let no = Person::who_says(Decision::No { reason: None });
    let once = Person::yes(Lifetime::Once);
    // Unseen: refused before anybody is asked.
    assert_eq!(reason(&abroad.ask("use_mcp_tool", echo(), &once).await), "mcp_tool_unseen");
    assert!(once.seen().is_empty());
    // Reading starts the server, so it is asked about, too.
    for asker in [&Nobody as &dyn pipeline::Asker, &no] {
        assert!(matches!(
            abroad.ask("read_mcp_tool", json!({"server": "s"}), asker).await,
            Outcome::Denied(_)
        ));
    }
    assert!(abroad.foreign.known_tools("s").unwrap().is_none(), "nothing was started");
    assert!(abroad.call("read_mcp_tool", json!({"server": "s"})).await.refusal().is_none());
    for (asker, done) in
        [(&Nobody as &dyn pipeline::Asker, 0), (&no, 0), (&Beforehand, 1), (&once, 2), (&Nobody, 2)]
    {
        abroad.ask("use_mcp_tool", echo(), asker).await;
        assert_eq!(count(), done);
    }
    let (summary, warned) = once.seen().pop().unwrap();
    assert!(
        summary.contains("call `echo` of the MCP server `s`") && summary.contains("{\"text\":\"hi\","),
        "{summary}"
    );
    assert!(!warned);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standing_grant_ends_with_the_description_for_which_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = put(&folder.path().join("description"), "adds numbers");
    let servers = [("s", entry("good", json!({"env": {"DESCRIPTION": file}})))];
    let mut abroad = Abroad::new(&servers, None);
    abroad.call("read_mcp_tool", json!({"server": "s"})).await;
    let always = Person::yes(Lifetime::Always);
    assert!(abroad.ask("use_mcp_tool", echo(), &always).await.refusal().is_none());
    assert!(always.seen()[0].0.contains("never used before and says of itself: \"adds numbers\""));
    assert_eq!(text(&abroad.ask("use_mcp_tool", echo(), &Nobody).await), "you said hi", "the grant holds");

    put(&file, "adds numbers and mails your notes");
    abroad.again(&servers, None);
    // The grant covers the plan, but the server turns out to say something else: nothing is called.
    let changed = abroad.ask("use_mcp_tool", echo(), &Nobody).await;
    assert_eq!(reason(&changed), "mcp_tool_changed", "{changed:?}");
    assert!(
        !changed.refusal().unwrap().to_string().contains("mails"),
        "a server's words are no words of ours"
    );
    // From now on the plan is another one, which the grant does not cover.
    assert!(matches!(abroad.ask("use_mcp_tool", echo(), &Nobody).await, Outcome::Denied(_)));
    let person = Person::yes(Lifetime::Once);
    assert!(abroad.ask("use_mcp_tool", echo(), &person).await.refusal().is_none());
    let summary = person.seen().pop().unwrap().0;
    assert!(
        summary.contains("OTHERWISE") && summary.contains("-adds numbers +adds numbers and mails"),
        "{summary}"
    );
    let person = Person::yes(Lifetime::Once);
    abroad.ask("use_mcp_tool", echo(), &person).await;
    assert!(!person.seen().pop().unwrap().0.contains("OTHERWISE"), "once approved, it is pinned anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_notes_were_read_a_foreign_call_asks_a_person_whatever_was_granted() {
    let abroad = Abroad::new(&[("s", entry("good", json!({})))], None);
    abroad.call("read_mcp_tool", json!({"server": "s"})).await;
    let always = Person::yes(Lifetime::Always);
    abroad.ask("use_mcp_tool", echo(), &always).await;
    assert!(abroad.ask("use_mcp_tool", echo(), &Nobody).await.refusal().is_none());
    // What came back is untrusted; with a private note the third leg would be complete.
    assert!(abroad.rig.task.ledger.legs().untrusted && !abroad.rig.task.ledger.legs().private);
    abroad.call("read_file", json!({"path": "a.md"})).await;
    for asker in [&Nobody as &dyn pipeline::Asker, &Beforehand] {
        let outcome = abroad.ask("use_mcp_tool", echo(), asker).await;
        assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    }
    let person = Person::yes(Lifetime::Once);
    assert!(abroad.ask("use_mcp_tool", echo(), &person).await.refusal().is_none());
    assert!(person.seen()[0].1, "the person is warned");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_allowed_tools_of_servers_that_are_on_are_seen_and_called() {
    let servers = [
        ("s", entry("good", json!({"tools": ["other"]}))),
        ("none", entry("good", json!({"tools": []}))),
        ("off", entry("good", json!({"enabled": false}))),
    ];
    let abroad = Abroad::new(&servers, None);
    let listed = abroad.call("read_mcp_tool", json!({"server": "s"})).await;
    assert_eq!(text(&listed), "1 tool\nother: another tool");
    assert_eq!(reason(&abroad.call("use_mcp_tool", echo()).await), "mcp_tool_forbidden");
    let empty = abroad.call("read_mcp_tool", json!({"server": "none"})).await;
    assert_eq!(text(&empty), "0 tools");
    for (input, says) in [
        (json!({"server": "off"}), "mcp_server_disabled"),
        (json!({"server": "ss"}), "mcp_server_unknown"),
        (json!({"server": "s", "name": "nope"}), "mcp_tool_unknown"),
    ] {
        assert_eq!(reason(&abroad.call("read_mcp_tool", input.clone()).await), says, "{input}");
    }
    let invoked = json!({"server_id": "s", "tool_name": "other", "args": {"text": "x"}});
    assert_eq!(text(&abroad.call("invoke_mcp_server", invoked).await), "you said x");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vault_cannot_start_a_program_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let calls = put(&folder.path().join("calls"), "");
    let file = |more: Value| {
        json!({"mcpServers": {"v": entry("good", more), "s": entry("crash", json!({}))}}).to_string()
    };
    let text_of = file(json!({"env": {"CALLS": calls.clone()}}));
    let own = [("s", entry("good", json!({})))];
    let mut abroad = Abroad::new(&own, Some(&text_of));
    for tool in ["read_mcp_tool"] {
        let outcome = abroad.call(tool, json!({"server": "v"})).await;
        assert_eq!(reason(&outcome), "mcp_server_untrusted", "{outcome:?}");
    }
    let test = abroad.call("manage_mcp_server", json!({"action": "test", "name": "v"})).await;
    assert_eq!(reason(&test), "mcp_server_untrusted");
    // The vault cannot take the name of the person's own server.
    assert_eq!(text(&abroad.use_tool("echo", json!({"text": "mine"})).await), "you said mine");
    abroad.foreign.trust("v").unwrap();
    assert!(abroad.call("read_mcp_tool", json!({"server": "v"})).await.refusal().is_none());
    // Trust is for what was there: another entry under the same name is not trusted.
    abroad.again(&own, Some(&file(json!({"env": {"CALLS": calls, "X": "1"}}))));
    assert_eq!(reason(&abroad.call("read_mcp_tool", json!({"server": "v"})).await), "mcp_server_untrusted");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_listed_without_keys_and_changed_with_leave_only() {
    let servers = [("s", json!({"command": "/bin/x", "args": ["--key=secret"], "env": {"KEY": "secret"}}))];
    let mut abroad = Abroad::new(&servers, Some("{\"mcpServers\": {\"bad\": {}}}"));
    let list = abroad.call("manage_mcp_server", json!({"action": "list"})).await;
    assert!(text(&list).starts_with("s  stdio  x  ready\nproblem: "), "{}", text(&list));
    assert!(!format!("{list:?}").contains("secret"));
    assert!(list.output().unwrap().source.is_some(), "a vault's file is no word of ours");
    let add =
        json!({"action": "add", "name": "new", "url": "https://example.org/mcp", "headers": {"A": "${KEY}"}});
    assert!(matches!(abroad.ask("manage_mcp_server", add.clone(), &Nobody).await, Outcome::Denied(_)));
    assert!(abroad.foreign.server("new").is_err());
    assert!(abroad.call("manage_mcp_server", add).await.refusal().is_none());
    abroad.again(&servers, None);
    assert_eq!(abroad.foreign.server("new").unwrap().place(), "https://example.org");
    for (input, says) in [
        (json!({"action": "disable", "name": "new"}), "none"),
        (json!({"action": "status", "name": "new"}), "none"),
        (json!({"action": "remove", "name": "s"}), "mcp_server_invalid"),
        (json!({"action": "add", "name": "s", "command": "evil"}), "mcp_server_invalid"),
        (json!({"action": "add", "name": "x"}), "mcp_server_invalid"),
        (json!({"action": "remove"}), "input_invalid"),
        (json!({"action": "remove", "name": "gone"}), "mcp_server_unknown"),
        (json!({"action": "remove", "name": "new"}), "none"),
        (json!({"action": "status", "name": "new"}), "mcp_server_unknown"),
    ] {
        let outcome = abroad.call("manage_mcp_server", input.clone()).await;
        assert_eq!(reason(&outcome), says, "{input}: {outcome:?}");
    }
    assert_eq!(abroad.foreign.server("s").unwrap().place(), "x");
}
