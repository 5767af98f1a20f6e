//! A key stands in one header and in nothing that is shown.

use llm::Dialect;
use serde_json::json;

use super::faults::kind;
use super::rig::{KEY, Server, ask, limits, model, question, reply, settings};

#[tokio::test]
async fn a_long_error_does_not_end_in_half_a_key() {
    for length in (280..305).step_by(4) {
        let body = json!({"error": {"message": format!("{}{KEY} and more", "x".repeat(length))}}).to_string();
        let frame = format!("data: {body}\n\n");
        for answer in [reply(400, &[], &body), reply(200, &[], &frame)] {
            let server = Server::start(move |_, _| answer.clone()).await;
            let mut once = limits();
            once.patience.tries = 1;
            let (_, error) =
                ask(model("mine@m", settings(&server.url, Some(Dialect::OpenAi)), once).as_ref(), question())
                    .await;
            assert!(!error.unwrap().to_string().contains("sk-can"), "{length}");
        }
    }
}

/// Services quote keys. Whatever they say, wherever they say it, the key stands in one header and nowhere else.
#[tokio::test]
async fn a_key_is_in_one_header_and_in_no_error() {
    for (name, dialect, header) in [
        ("mine", Dialect::OpenAi, format!("authorization: Bearer {KEY}")),
        ("mine", Dialect::Responses, format!("authorization: Bearer {KEY}")),
        ("mine", Dialect::Anthropic, format!("x-api-key: {KEY}")),
        ("mine", Dialect::Gemini, format!("x-goog-api-key: {KEY}")),
        ("mine", Dialect::Ollama, format!("authorization: Bearer {KEY}")),
        ("azure", Dialect::OpenAi, format!("api-key: {KEY}")),
        ("zai", Dialect::Anthropic, format!("authorization: Bearer {KEY}")),
    ] {
        let quoted =
            format!(r#"{{"type":"error","error":{{"message":"bad key {KEY}","type":"{KEY}"}},"done":true}}"#);
        let frame = format!("data: {quoted}\n\n{quoted}\n");
        for status in [200, 307, 400, 401, 402, 404, 408, 413, 429, 500, 529] {
            let (quoted, frame) = (quoted.clone(), frame.clone());
            let server = Server::start(move |_, seen| match (status, dialect) {
                _ if seen.path == "/api/show" => reply(404, &[], ""),
                (200, Dialect::Ollama) => reply(200, &[], &quoted),
                (200, _) => reply(200, &[], &frame),
                _ => reply(status, &[("x-key", KEY), ("location", KEY)], &quoted),
            })
            .await;
            let mut once = limits();
            once.patience.tries = 1;
            let model = model(&format!("{name}@m"), settings(&server.url, Some(dialect)), once);
            // `ask` looks for the key in all that an error shows.
            let (_, error) = ask(model.as_ref(), question()).await;
            assert!(error.is_some(), "{dialect:?} {status}");
            for seen in server.seen().iter().filter(|seen| seen.path != "/api/show") {
                let headers = seen.headers.to_lowercase();
                assert!(headers.contains(&header.to_lowercase()), "{dialect:?}: {}", seen.headers);
                assert_eq!(headers.matches(KEY).count(), 1, "{}", seen.headers);
                assert!(!seen.path.contains(KEY) && !seen.body.to_string().contains(KEY));
            }
        }
        let mut once = limits();
        once.patience.tries = 1;
        let nobody = model(&format!("{name}@m"), settings("http://127.0.0.1:1", Some(dialect)), once);
        assert_eq!(kind(ask(nobody.as_ref(), question()).await.1.as_ref()), "network");
    }
}

#[tokio::test]
async fn a_header_of_the_settings_is_sent_and_not_shown() {
    let server =
        Server::start(|_, _| reply(401, &[], r#"{"error":{"message":"wrong canary-value-77"}}"#)).await;
    let mut settings = settings(&server.url, Some(Dialect::OpenAi));
    settings.headers.insert("x-gateway".to_owned(), "canary-value-77".to_owned());
    let (_, error) = ask(model("mine@m", settings, limits()).as_ref(), question()).await;
    assert!(server.seen()[0].headers.contains("x-gateway: canary-value-77"));
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}
