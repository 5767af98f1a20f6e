//! Which models there are: lists of all providers at once, and servers on this machine.

use std::time::{Duration, Instant};

use llm::chat::Price;
use llm::http::Base;
use llm::{Dialect, Error, Listing, Models, Provider, ProviderSettings, Secret};

use super::rig::{Act, KEY, Server, reply, settings};

fn provider(name: &str, url: &str, dialect: Option<Dialect>) -> Provider {
    Provider::new(name, settings(url, dialect), Some(Secret::new(KEY))).unwrap()
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.models.as_ref().unwrap().iter().map(|model| model.name.as_str()).collect()
}

#[tokio::test]
async fn every_provider_s_list_is_read_in_its_own_form() {
    for (name, dialect, path, body, expected) in [
        (
            "openai",
            None,
            "/v1/models",
            r#"{"data":[{"id":"gpt-5"},{"id":"o4-mini"},{"id":"text-embedding-3-small"}]}"#,
            vec!["openai@gpt-5", "openai@o4-mini"],
        ),
        (
            "anthropic",
            None,
            "/v1/models?limit=1000",
            r#"{"data":[{"type":"model","id":"claude-garden","display_name":"C"}]}"#,
            vec!["anthropic@claude-garden"],
        ),
        (
            "gemini",
            None,
            "/v1beta/models?pageSize=1000",
            r#"{"models":[{"name":"models/gemini-garden","inputTokenLimit":1000,"supportedGenerationMethods":["generateContent"]},{"name":"models/embedding-1","supportedGenerationMethods":["embedContent"]}]}"#,
            vec!["gemini@gemini-garden"],
        ),
        (
            "openrouter",
            None,
            "/api/v1/models",
            r#"{"data":[{"id":"a/b","context_length":5,"pricing":{"prompt":"0.000003","completion":"0.000015"}}]}"#,
            vec!["openrouter@a/b"],
        ),
        (
            "ollama",
            None,
            "/api/tags",
            r#"{"models":[{"name":"qwen:8b","model":"qwen:8b"},{"name":"nomic-embed-text:latest"}]}"#,
            vec!["ollama@qwen:8b"],
        ),
        ("lmstudio", None, "/v1/models", r#"{"data":[{"id":"garden-7b"}]}"#, vec!["lmstudio@garden-7b"]),
        ("zai", None, "/api/paas/v4/models", r#"{"data":[{"id":"glm-9"}]}"#, vec!["zai@glm-9"]),
        ("azure", None, "/openai/v1/models", r#"{"data":[{"id":"gpt-5"}]}"#, vec!["azure@gpt-5"]),
        ("mine", Some(Dialect::OpenAi), "/v1/models", r#"{"data":[]}"#, vec![]),
    ] {
        let server = Server::start(move |_, _| reply(200, &[], body)).await;
        let mut models = Models::default();
        models.provide(provider(name, &server.url, dialect));
        let listings = models.list().await;
        assert_eq!(names(&listings[0]), expected, "{name}");
        assert_eq!(server.seen()[0].path, path, "{name}");
        assert!(server.seen()[0].headers.contains(KEY) && !server.seen()[0].path.contains(KEY));
    }
}

#[tokio::test]
async fn what_a_list_tells_of_a_model_is_known_afterwards() {
    let body = r#"{"data":[{"id":"a/b","context_length":5000,"pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003"},"supported_parameters":["max_tokens"],"architecture":{"input_modalities":["text"]}}]}"#;
    let server = Server::start(move |_, _| reply(200, &[], body)).await;
    let mut models = Models::default();
    models.provide(provider("openrouter", &server.url, None));
    let model = models.find("openrouter@a/b").unwrap();
    assert_eq!((model.price(), model.abilities().window), (None, None));
    models.list().await;
    let price = model.price().unwrap();
    assert!((price.input - 3.0).abs() < 1e-9 && (price.output - 15.0).abs() < 1e-9);
    assert_eq!(model.abilities().window, Some(5_000));
    assert!(!model.abilities().tools && !model.abilities().images);
    assert!(
        matches!(models.find("a/c").err().unwrap(), Error::NearModel { near, .. } if near == ["openrouter@a/b"])
    );
}

#[tokio::test]
async fn settings_name_prices_and_windows() {
    let price = Price { input: 1.0, output: 2.0, ..Price::default() };
    let settings = ProviderSettings {
        window: Some(9_000),
        prices: [("m".to_owned(), price)].into(),
        ..ProviderSettings::default()
    };
    let mut models = Models::default();
    models.provide(Provider::new("openai", settings, None).unwrap());
    let model = models.find("openai@m").unwrap();
    assert_eq!((model.price(), model.abilities().window), (Some(price), Some(9_000)));
    assert_eq!(models.find("openai@other").unwrap().price(), None);
}

#[tokio::test]
async fn one_provider_in_trouble_spoils_no_other_list() {
    let fine = Server::start(|_, _| reply(200, &[], r#"{"data":[{"id":"m"}]}"#)).await;
    let refuses = Server::start(|_, _| reply(401, &[], &format!(r#"{{"error":"bad {KEY}"}}"#))).await;
    let babbles = Server::start(|_, _| reply(200, &[], "<html>")).await;
    let other = Server::start(|_, _| reply(200, &[], r#"{"data":"none"}"#)).await;
    let silent = Server::start(|_, _| vec![Act::Wait(20_000)]).await;
    let mut models = Models::default();
    for (name, server) in [("a", &fine), ("b", &refuses), ("c", &babbles), ("d", &other), ("e", &silent)] {
        models.provide(provider(name, &server.url, Some(Dialect::OpenAi)));
    }
    let begun = Instant::now();
    let listings = models.list().await;
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "they are asked at the same time: {:?}",
        begun.elapsed()
    );
    assert_eq!(names(&listings[0]), ["a@m"]);
    assert!(matches!(listings[1].models, Err(Error::Auth { .. })));
    assert!(matches!(listings[2].models, Err(Error::Answer { .. })));
    assert!(matches!(listings[3].models, Err(Error::Answer { .. })));
    assert!(matches!(listings[4].models, Err(Error::Slow { seconds: 6, .. })));
    assert!(!format!("{listings:?}").contains(KEY));
}

#[tokio::test]
async fn servers_on_this_machine_are_found_quickly_or_not_at_all() {
    let ollama = Server::start(|_, _| reply(200, &[], r#"{"models":[{"name":"qwen:8b"}]}"#)).await;
    let silent = Server::start(|_, _| vec![Act::Wait(20_000)]).await;
    let mut models = Models::default();
    let places =
        [("ollama", Base::parse(&ollama.url).unwrap()), ("lmstudio", Base::parse(&silent.url).unwrap())];
    let begun = Instant::now();
    let found = models.discover_at(&places).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(found.len(), 1);
    assert_eq!(names(&found[0]), ["ollama@qwen:8b"]);
    assert!(models.find("ollama@qwen:8b").is_ok() && models.find("lmstudio@x").is_err());
    assert_eq!(models.discover_at(&places[..1]).await.len(), 0, "what is known is not looked for");
}
