//! Servers over stdin and stdout that crash, hang, babble and lie.

use std::time::{Duration, Instant};

use pipeline::wrap::for_model;
use serde_json::json;

use crate::foreign::{Foreign, Means, Origin, Server};

use super::rig::{Abroad, entry, put, reason, text};

fn with(mood: &str, more: serde_json::Value) -> Abroad {
    Abroad::new(&[("s", entry(mood, more))], None)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_and_its_words_come_back_wrapped() {
    let abroad = with("good", json!({}));
    let outcome = abroad.use_tool("echo", json!({"text": "hello"})).await;
    assert_eq!(text(&outcome), "you said hello");
    let shown = for_model(outcome.output().unwrap());
    assert_eq!(
        shown,
        "<untrusted-content source=\"mcp s/echo\" trust=\"untrusted\">\nyou said hello\n</untrusted-content>"
    );
    // The second call goes to the same process; nothing is asked of the server again for reading.
    let read = abroad.call("read_mcp_tool", json!({"server": "s"})).await;
    assert_eq!(text(&read), "2 tools\necho: says it again\nother: another tool");
    assert!(matches!(read, pipeline::Outcome::Answered(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_server_says_closes_the_wrapper_or_speaks_as_verger() {
    for mood in ["hostile", "error"] {
        let outcome = with(mood, json!({})).use_tool("echo", json!({})).await;
        let shown = for_model(outcome.output().unwrap_or_else(|| panic!("{outcome:?}")));
        assert_eq!(shown.matches("</untrusted-content>").count(), 1, "{shown}");
        assert!(shown.ends_with("\n</untrusted-content>"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_mid_call_is_told_and_the_call_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let calls = put(&folder.path().join("calls"), "");
    let abroad = with("crash", json!({"env": {"CALLS": calls}}));
    let outcome = abroad.use_tool("echo", json!({})).await;
    assert_eq!(reason(&outcome), "mcp_server_gone", "{outcome:?}");
    #[expect(clippy::disallowed_methods, reason = "a test counts")]
    let count = || std::fs::read_to_string(folder.path().join("calls")).unwrap().lines().count();
    assert_eq!(count(), 1);
    // The next call starts it anew.
    let again = abroad.call("use_mcp_tool", json!({"server_name": "s", "tool_name": "echo"})).await;
    assert_eq!(reason(&again), "mcp_server_gone");
    assert_eq!(count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_given_up_at_its_limit() {
    let abroad = with("hang", json!({"timeout": 2}));
    let start = Instant::now();
    let outcome = abroad.use_tool("echo", json!({})).await;
    assert_eq!(reason(&outcome), "timeout", "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_is_left_alone_for_a_moment() {
    let deaf = with("deaf", json!({"timeout": 1}));
    let first = deaf.call("read_mcp_tool", json!({"server": "s"})).await;
    assert_eq!(reason(&first), "mcp_server_unavailable", "{first:?}");
    assert!(first.refusal().unwrap().message.contains("did not answer within 1 s"), "{first:?}");
    let second = deaf.call("read_mcp_tool", json!({"server": "s"})).await;
    assert!(second.refusal().unwrap().message.contains("is not tried again"), "{second:?}");
    let missing = Abroad::new(&[("s", json!({"command": "/no/such/program"}))], None);
    let outcome = missing.call("read_mcp_tool", json!({"server": "s"})).await;
    assert!(outcome.refusal().unwrap().message.contains("cannot be started"), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_and_size_do_no_harm() {
    let noise = with("noise", json!({}));
    assert_eq!(text(&noise.use_tool("echo", json!({})).await), "after the noise");
    let huge = with("huge", json!({})).use_tool("echo", json!({})).await;
    assert!(text(&huge).ends_with("[800000 more characters left out]"));
    let endless = with("no end", json!({"timeout": 2})).use_tool("echo", json!({})).await;
    assert_eq!(reason(&endless), "timeout", "{endless:?}");
    let pages = with("endless", json!({})).call("read_mcp_tool", json!({"server": "s"})).await;
    assert_eq!(reason(&pages), "mcp_protocol", "{pages:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_the_variables_that_were_named_and_a_harmless_few() {
    let abroad = with("environment", json!({"env": {"NAMED": "${HOME}", "KEY": "k"}}));
    let outcome = abroad.use_tool("echo", json!({})).await;
    let all: serde_json::Value = serde_json::from_str(text(&outcome)).unwrap();
    assert_eq!((&all["NAMED"], &all["KEY"]), (&all["HOME"], &json!("k")));
    assert_eq!(all["VERGER_MCP_DEPTH"], "1");
    // Cargo sets these for us, and nobody named them.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    assert!(all.as_object().unwrap().keys().all(|name| !name.starts_with("CARGO")), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_nobody_uses_is_given_up_and_started_again_when_it_is_needed() {
    let server = Server::parse("s", &entry("good", json!({})), Origin::Config).unwrap();
    let means = Means { idle: Duration::from_millis(300), ..Means::default() };
    let foreign = Foreign::in_memory(vec![server], means);
    foreign.tools("s").await.unwrap();
    assert_eq!(foreign.standing()[0].state, "running");
    let start = Instant::now();
    while foreign.standing()[0].state == "running" {
        assert!(start.elapsed() < Duration::from_secs(20), "it still runs");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(foreign.tools("s").await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_with_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let calls = put(&folder.path().join("calls"), "");
    let abroad = with("hang", json!({"timeout": 1, "env": {"CALLS": calls}}));
    abroad.use_tool("echo", json!({})).await;
    #[expect(clippy::disallowed_methods, reason = "a test reads what its server wrote")]
    let process = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    let process = rustix::process::Pid::from_raw(process.trim().parse().unwrap()).unwrap();
    assert!(rustix::process::test_kill_process(process).is_ok(), "it still runs while it is connected");
    abroad.foreign.close().await;
    for _ in 0..100 {
        if rustix::process::test_kill_process(process).is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server outlived its connection");
}
