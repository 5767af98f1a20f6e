//! Every route that `/api/openapi.json` names, with names in it that lead elsewhere: nothing outside of the vault and nothing that
//! is ignored may show, nothing may break, nothing may hang. Routes that are added later are walked by themselves.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::Rig;
use crate::serve_rig::{Answer, Serve};

/// Stands in a file beside the vault and in `/etc/passwd`, respectively.
const OUTSIDE: &str = "canary-outside-7f3a";
const PASSWD: &str = "root:x:0:0";
/// Stands in an ignored note, in its name, and in a protected place.
const IGNORED: &str = "canary-ignored-91bc";
const IGNORED_NAME: &str = "canaryname-4410";
/// Stands in a note that can be read; it may be in answers and in no log.
const SEEN: &str = "canary-seen-58d2";

/// The longest that any route may take. Debug builds on busy machines are slow; a hang is longer.
const LONGEST: Duration = Duration::from_secs(20);

fn vault() -> Rig {
    let rig = Rig::tour();
    std::fs::create_dir_all(rig.path("outside")).unwrap();
    std::fs::write(rig.path("outside/secret.md"), format!("# Secret\n{OUTSIDE}\n")).unwrap();
    rig.write("Private/diary.md", &format!("# Diary\n{IGNORED} [[Start]] #{IGNORED_NAME}\n"));
    rig.write(&format!("Private/{IGNORED_NAME}.md"), &format!("{IGNORED}\n"));
    rig.write("seen.md", &format!("# Seen\n{SEEN}\n"));
    symlink(rig.path("outside/secret.md"), rig.root().join("link_out.md")).unwrap();
    symlink(rig.path("outside"), rig.root().join("link_dir")).unwrap();
    symlink("/etc/passwd", rig.root().join("passwd.md")).unwrap();
    rig
}

fn hostile(rig: &Rig) -> Vec<String> {
    let outside = rig.path("outside/secret.md").display().to_string();
    vec![
        "../../etc/passwd".into(),
        "../outside/secret.md".into(),
        "..%2f..%2fetc%2fpasswd".into(),
        "%2e%2e/%2e%2e/etc/passwd".into(),
        "..\\..\\etc\\passwd".into(),
        "/etc/passwd".into(),
        outside,
        "file:///etc/passwd".into(),
        "link_out.md".into(),
        "link_dir/secret.md".into(),
        "passwd.md".into(),
        "Private/diary.md".into(),
        "private/DIARY.md".into(),
        "Private".into(),
        "./Private/./diary.md".into(),
        "[[diary]]".into(),
        "diary".into(),
        "Garden/../Private/diary.md".into(),
        ".verger/ignore".into(),
        ".obsidian/app.json".into(),
        "nul\u{0}byte.md".into(),
        "a\r\nSet-Cookie: x=y".into(),
        "x".repeat(5_000),
        "é".repeat(300),
        "\u{202e}dm.terces".into(),
        "<img src=x onerror=alert(1)>".into(),
        "' OR 1=1 --".into(),
        "CON".into(),
        String::new(),
    ]
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A value of this schema with `word` wherever a text may stand.
fn filled(schema: &Value, root: &Value, word: &str, depth: u8) -> Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return filled(&root["$defs"][name], root, word, depth + 1);
    }
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        let not_null = |schema: &&Value| schema["type"] != "null";
        if let Some(first) = schema[choice].as_array().and_then(|all| all.iter().find(not_null)) {
            return filled(first, root, word, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    match kind.as_str().unwrap_or_default() {
        "string" => json!(word),
        "integer" | "number" => json!(schema["minimum"].as_i64().unwrap_or(1)),
        "boolean" => json!(false),
        "array" if depth < 6 => json!([filled(&schema["items"], root, word, depth + 1)]),
        "object" if depth < 6 => {
            let fields = schema["properties"].as_object().cloned().unwrap_or_default();
            Value::Object(
                fields
                    .iter()
                    .map(|(name, schema)| (name.clone(), filled(schema, root, word, depth + 1)))
                    .collect(),
            )
        }
        _ => json!(word),
    }
}

/// Sends one request and reads what comes within the time; a stream of events is left after its beginning.
fn probe(serve: &Serve, method: &str, path: &str, body: &str) -> (Answer, Duration) {
    let begun = Instant::now();
    let mut stream = serve.connect();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    stream.write_all(serve.request(method, path, &[], body).as_bytes()).unwrap();
    let (mut all, mut some) = (Vec::new(), vec![0; 64 * 1024]);
    while begun.elapsed() < LONGEST {
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&some[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(_) if String::from_utf8_lossy(&all).contains("text/event-stream") => break,
            Err(_) => {}
        }
    }
    (Answer::parse(&all), begun.elapsed())
}

/// The one route that looks at what is ignored: it tells the owner what a rule would hide.
const TRIES_A_RULE: &str = "/api/settings/rules/try";

#[track_caller]
fn judge(what: &str, (answer, took): &(Answer, Duration)) {
    assert!(*took < LONGEST, "{what} hangs");
    assert!(answer.status != 0, "{what} was not answered");
    assert!(answer.status < 500 || answer.status == 503, "{what} broke: {answer:?}");
    for canary in [OUTSIDE, PASSWD, IGNORED, IGNORED_NAME] {
        assert!(!answer.body.contains(canary), "{what} shows {canary}: {}", answer.body);
        assert!(!answer.head.contains(canary), "{what} shows {canary}: {}", answer.head);
    }
    assert!(!answer.head.lines().any(|line| line == "set-cookie: x=y"), "{what}: {}", answer.head);
    assert!(answer.header("content-security-policy").is_some(), "{what}: {}", answer.head);
    if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
        assert!(!answer.body.contains("<img src=x"), "{what}: {}", answer.body);
    }
}

#[test]
fn no_route_leads_out_of_the_vault_or_to_what_is_ignored() {
    let rig = vault();
    let before = std::fs::read_to_string(rig.path("outside/secret.md")).unwrap();
    let serve = Serve::start(&rig, &[]);
    let paper = serve.json("/api/openapi.json");
    let mut walked = 0;
    for (path, place) in paper["paths"].as_object().unwrap() {
        for (method, operation) in place.as_object().unwrap() {
            let method = method.to_uppercase();
            for word in hostile(&rig) {
                let what = format!("{method} {path} with {:?}", word.chars().take(60).collect::<String>());
                let (target, body) = request(path, operation, &word);
                let mut answered = probe(&serve, &method, &target, &body);
                if path == TRIES_A_RULE {
                    // It shows the owner which names a rule would hide, so names may be there, and nothing else.
                    answered.0.body = answered.0.body.replace(IGNORED_NAME, "");
                }
                judge(&what, &answered);
                walked += 1;
            }
            // Bodies that are no bodies.
            for body in ["", "[]", "null", "{", "\"x\"", &"[".repeat(100_000), "{\"path\":\"\\ud800\"}"] {
                let (target, _) = request(path, operation, "x");
                judge(
                    &format!("{method} {path} with the body {:.20}", body),
                    &probe(&serve, &method, &target, body),
                );
            }
        }
    }
    assert!(walked >= 29 * 4, "{walked}");
    for path in [
        "/%00",
        "/page/../../../../etc/passwd",
        "/page/%2e%2e/%2e%2e/etc/passwd",
        "/page//etc/passwd",
        "//etc/passwd",
        "/api/../api/about%00",
        "/page/js/app.js%00.md",
    ] {
        judge(path, &probe(&serve, "GET", path, ""));
    }
    let said = serve.said();
    for canary in [SEEN, OUTSIDE, IGNORED, IGNORED_NAME] {
        assert!(!said.contains(canary), "stderr shows {canary}: {said}");
    }
    assert_eq!(std::fs::read_to_string(rig.path("outside/secret.md")).unwrap(), before);
    serve.end();
}

/// The address and the body of a request with `word` in every place for a text.
fn request(path: &str, operation: &Value, word: &str) -> (String, String) {
    let mut target: String = path
        .split('/')
        .map(|part| {
            if part.starts_with('{') {
                encoded(if word.is_empty() { "x" } else { word })
            } else {
                part.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join("/");
    let queried = operation["parameters"].as_array().cloned().unwrap_or_default();
    let queried = queried.iter().filter(|parameter| parameter["in"] == "query").map(|parameter| {
        let value = filled(&parameter["schema"], &Value::Null, word, 0);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", parameter["name"].as_str().unwrap(), encoded(&value))
    });
    let queried: Vec<String> = queried.collect();
    if !queried.is_empty() {
        target += &format!("?{}", queried.join("&"));
    }
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let body = if schema.is_object() { filled(schema, schema, word, 0).to_string() } else { String::new() };
    (target, body)
}
