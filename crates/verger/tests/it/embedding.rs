//! Embedding models from outside, with the real binary: what is sent, what is said, what is kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::Rig;

/// A service that counts letters: near enough to a meaning for these texts.
struct Service {
    port: u16,
    texts: Mutex<Vec<String>>,
    requests: AtomicUsize,
    away: AtomicBool,
}

impl Service {
    fn start() -> Arc<Service> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Arc::new(Service {
            port: listener.local_addr().unwrap().port(),
            texts: Mutex::default(),
            requests: AtomicUsize::new(0),
            away: AtomicBool::new(false),
        });
        let shared = Arc::clone(&service);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || while shared.answer(&stream).is_some() {});
            }
        });
        service
    }

    /// Answers one request of a connection.
    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (status, reply) = self.reply(&first, &serde_json::from_slice(&body).unwrap_or_default());
        let reply = reply.to_string();
        write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{reply}", reply.len()).ok()
    }

    fn reply(&self, first: &str, body: &Value) -> (u16, Value) {
        if first.starts_with("GET /api/tags") {
            return (200, json!({"models": []}));
        }
        self.requests.fetch_add(1, Ordering::SeqCst);
        if self.away.load(Ordering::SeqCst) {
            return (401, json!({"error": {"message": "wrong key: sk-hidden-5678"}}));
        }
        let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
        let vectors: Vec<Vec<f32>> = texts.iter().map(|text| letters(text)).collect();
        // One word alone is what `doctor` and the first look ask.
        let real = texts.iter().filter(|text| *text != "verger").cloned();
        self.texts.lock().unwrap().extend(real);
        match first.starts_with("POST /api/embed ") {
            true => (200, json!({ "embeddings": vectors })),
            false => {
                let items =
                    vectors.iter().enumerate().map(|(at, vector)| json!({"index": at, "embedding": vector}));
                (200, json!({"data": items.collect::<Vec<_>>()}))
            }
        }
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.texts.lock().unwrap())
    }
}

fn letters(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0; 26];
    for letter in text.to_lowercase().bytes().filter(u8::is_ascii_lowercase) {
        counts[usize::from(letter - b'a')] += 1.0;
    }
    counts
}

fn rig(notes: &[(&str, &str)], config: &str) -> Rig {
    let rig = Rig::empty();
    for (path, text) in notes {
        rig.write(path, text);
    }
    rig.write(".verger/ignore", "Private/\n");
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    std::fs::write(rig.path("config/verger/config.toml"), config).unwrap();
    rig
}

fn ollama(service: &Service) -> String {
    format!("[embedding]\nmodel = \"ollama\"\nname = \"m\"\nurl = \"http://127.0.0.1:{}\"\n", service.port)
}

fn openai(service: &Service) -> String {
    let port = service.port;
    format!(
        "[embedding]\nmodel = \"openai\"\nname = \"m\"\nurl = \"http://127.0.0.1:{port}/v1\"\nkey_env = \"THE_KEY\"\n"
    )
}

const NOTES: [(&str, &str); 3] = [
    ("Garden.md", "Slugs eat the lettuce."),
    ("Car.md", "The engine needs oil."),
    ("Private/Diary.md", "zzz secret zzz"),
];

#[test]
fn a_service_is_sent_the_notes_that_anybody_may_see_and_each_only_once() {
    let service = Service::start();
    let rig = rig(&NOTES, &ollama(&service));
    let found = rig.json(&["search", "--meaning", "lettuce slugs"]);
    assert_eq!(found["data"]["notes"][0]["path"], "Garden.md");
    assert_eq!(found["data"]["caution"], Value::Null);
    let sent = service.taken();
    assert_eq!(
        sent,
        ["Car\nThe engine needs oil.", "Garden\nSlugs eat the lettuce.", "lettuce slugs"]
            .map(str::to_owned)
            .to_vec(),
        "{sent:?}"
    );
    rig.write("Car.md", "The engine was sold.");
    rig.ok(&["search", "--meaning", "motor"]);
    assert_eq!(service.taken(), ["Car\nThe engine was sold.", "motor"]);
}

#[test]
fn the_key_is_taken_from_its_variable_and_never_shown() {
    let service = Service::start();
    let rig = rig(&NOTES, &openai(&service));
    let run = |arguments: &[&str]| {
        let output = rig.command(arguments).env("THE_KEY", "sk-hidden-5678").output().unwrap();
        format!("{}{}", String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(run(&["search", "--meaning", "lettuce"]).contains("Garden.md"));
    service.away.store(true, Ordering::SeqCst);
    for arguments in [&["search", "--meaning", "lettuce"][..], &["doctor"], &["embed"]] {
        let said = run(arguments);
        assert!(said.contains("refused the key") && said.contains("[key]"), "{arguments:?}: {said}");
        assert!(!said.contains("sk-hidden"), "{said}");
    }
    let said = rig.run(&["search", "--meaning", "lettuce"]);
    assert!(said.out.contains("Garden.md") && said.err.contains("THE_KEY"), "{said:?}");
    assert!(said.err.contains("searched by words alone"), "{said:?}");
}

#[test]
fn doctor_says_which_model_answers_and_where_texts_go() {
    let service = Service::start();
    let said = rig(&NOTES, "").ok(&["doctor"]);
    assert!(said.contains("meaning: the model `static-128-") && said.contains("nothing leaves this machine"));
    let ollama_rig = rig(&NOTES, &ollama(&service));
    let said = ollama_rig.ok(&["doctor"]);
    assert!(said.contains("answers with 26 numbers; texts go to 127.0.0.1:"), "{said}");
    assert!(service.taken().is_empty(), "doctor sends no note");
    let nobody = rig(&NOTES, "[embedding]\nmodel = \"ollama\"\nname = \"m\"\nurl = \"http://127.0.0.1:1\"\n");
    let said = nobody.ok(&["doctor"]);
    assert!(said.contains("warn  meaning: ") && said.contains("cannot be reached"), "{said}");
}

#[test]
fn notes_are_not_sent_in_the_clear() {
    let config = "[embedding]\nmodel = \"openai\"\nname = \"m\"\nurl = \"http://192.168.0.9/v1\"\n";
    let said = rig(&NOTES, config).run(&["search", "--meaning", "x"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("without TLS anybody on the way can read the notes"), "{said:?}");
}

fn many(count: usize) -> Vec<(String, String)> {
    (0..count).map(|at| (format!("n{at}.md"), format!("words of note {at}"))).collect()
}

#[test]
fn many_notes_wait_for_embed_which_can_be_killed_and_goes_on() {
    let service = Service::start();
    let notes = many(700);
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (&**path, &**text)).collect();
    let rig = rig(&notes, &ollama(&service));
    let said = rig.run(&["search", "--meaning", "words"]);
    assert!(said.out.contains(".md") && said.err.contains("0 of 700 pieces embedded"), "{said:?}");
    assert_eq!(service.taken(), ["words"]);
    let mut child = rig.command(&["embed"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..2_000 {
        if service.texts.lock().unwrap().len() >= 400 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = service.taken().len();
    assert!(before >= 400);
    let done = rig.json(&["embed"]);
    assert_eq!(done["data"]["coverage"], json!({"embedded": 700, "total": 700}));
    let after = service.taken().len();
    assert!(after <= 700 - 256, "{before} before the kill, {after} after it");
    assert!(rig.ok(&["embed"]).contains("700 of 700 pieces embedded (0 now)"));
    assert!(service.taken().is_empty());
}

#[test]
fn a_model_that_changes_is_embedded_anew_and_going_back_costs_nothing() {
    let service = Service::start();
    let rig = rig(&NOTES, &ollama(&service));
    rig.ok(&["embed"]);
    assert_eq!(service.taken().len(), 2);
    let config = rig.path("config/verger/config.toml");
    std::fs::write(&config, ollama(&service).replace("\"m\"", "\"other\"")).unwrap();
    let said = rig.run(&["embed"]);
    assert!(said.err.contains("the saved vectors are of `ollama:127.0.0.1:"), "{said:?}");
    assert_eq!(service.taken().len(), 2);
    std::fs::write(&config, ollama(&service)).unwrap();
    rig.ok(&["embed"]);
    assert!(service.taken().is_empty());
}

/// A table of words and two numbers each, in model2vec's layout.
fn table_folder(rig: &Rig) -> String {
    let folder = rig.path("model");
    std::fs::create_dir(&folder).unwrap();
    let pieces = ["[UNK]", "##s", "slug", "snail", "engine", "motor"];
    let vocabulary: serde_json::Map<String, Value> =
        pieces.iter().enumerate().map(|(at, piece)| ((*piece).to_owned(), json!(at))).collect();
    let tokenizer =
        json!({"model": {"type": "WordPiece", "vocab": vocabulary}, "normalizer": {"lowercase": true}});
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let rows: [f32; 12] = [0.0, 0.0, 0.0, 0.0, 1.0, 0.1, 1.0, 0.0, 0.0, 1.0, 0.1, 1.0];
    let header =
        json!({"embeddings": {"dtype": "F32", "shape": [6, 2], "data_offsets": [0, 48]}}).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(rows.iter().flat_map(|number| number.to_le_bytes()));
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
    format!("[embedding]\nmodel = \"folder\"\nfolder = \"{}\"\n", folder.display())
}

#[test]
fn a_model_in_a_folder_finds_other_words_and_damage_is_named() {
    let rig = rig(&NOTES, "");
    let config = table_folder(&rig);
    std::fs::write(rig.path("config/verger/config.toml"), config).unwrap();
    for (query, note) in [("Snails", "Garden.md"), ("motor", "Car.md")] {
        let found = rig.json(&["search", "--meaning", query]);
        assert_eq!(found["data"]["notes"][0]["path"], note, "{found}");
    }
    assert!(rig.ok(&["doctor"]).contains("the model `folder:model:"));
    std::fs::rename(rig.path("model/model.safetensors"), rig.path("model/model.onnx")).unwrap();
    let said = rig.run(&["search", "--meaning", "engine"]);
    assert!(
        said.out.contains("Car.md") && said.err.contains("ONNX model, which is not supported"),
        "{said:?}"
    );
}
