//! Models made by hand: a tiny BERT whose vectors were worked out elsewhere, tables of every width, and damaged folders.
#![allow(clippy::disallowed_methods, reason = "the tests make folders")]

use std::fs;

use serde_json::json;

use super::*;

const PIECES: &str = "[PAD] [UNK] [CLS] [SEP] the cat sat ##s on mat dog ran";

/// Splits at spaces and takes a plural's `s` off: enough for these texts.
struct Naive(Vec<String>);

impl Pieces for Naive {
    fn split(&self, text: &str, pieces: &mut Vec<u32>) {
        let number = |piece: &str| self.0.iter().position(|other| other == piece).map(|at| at as u32);
        for word in text.split_whitespace() {
            match (number(word), word.strip_suffix('s').and_then(number)) {
                (Some(whole), _) => pieces.push(whole),
                (None, Some(stem)) => pieces.extend([stem, number("##s").unwrap()]),
                (None, None) => pieces.push(1),
            }
        }
    }
}

fn naive(vocabulary: &Vocabulary) -> Option<Box<dyn Pieces>> {
    Some(Box::new(Naive(vocabulary.pieces.clone())))
}

/// The generator of `fixtures/embed/tiny_bert.py`.
struct Numbers(u32);

impl Numbers {
    fn take(&mut self, count: usize, about: f32) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            about + (self.0 >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }
}

type Tensor = (String, Vec<usize>, &'static str, Vec<u8>);

fn f32s(name: &str, shape: &[usize], numbers: &[f32]) -> Tensor {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    (name.to_owned(), shape.to_vec(), "F32", bytes)
}

fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data: Vec<u8> = Vec::new();
    for (name, shape, kind, bytes) in tensors {
        let end = data.len() + bytes.len();
        header
            .insert(name.clone(), json!({"dtype": kind, "shape": shape, "data_offsets": [data.len(), end]}));
        data.extend(bytes);
    }
    let header = Value::Object(header).to_string().into_bytes();
    [(header.len() as u64).to_le_bytes().to_vec(), header, data].concat()
}

fn tiny_bert_tensors() -> Vec<Tensor> {
    let (width, inner) = (8, 12);
    let mut numbers = Numbers(42);
    let mut all = Vec::new();
    let mut put = |name: &str, shape: &[usize], about: f32| {
        let count = shape.iter().product();
        all.push(f32s(name, shape, &numbers.take(count, about)));
    };
    put("embeddings.word_embeddings.weight", &[12, width], 0.0);
    put("embeddings.position_embeddings.weight", &[10, width], 0.0);
    put("embeddings.token_type_embeddings.weight", &[2, width], 0.0);
    put("embeddings.LayerNorm.weight", &[width], 1.0);
    put("embeddings.LayerNorm.bias", &[width], 0.0);
    for layer in 0..2 {
        for (name, to, from, about) in [
            ("attention.self.query", width, width, 0.0),
            ("attention.self.key", width, width, 0.0),
            ("attention.self.value", width, width, 0.0),
            ("attention.output.dense", width, width, 0.0),
            ("attention.output.LayerNorm", width, 0, 1.0),
            ("intermediate.dense", inner, width, 0.0),
            ("output.dense", width, inner, 0.0),
            ("output.LayerNorm", width, 0, 1.0),
        ] {
            let shape = if from == 0 { vec![to] } else { vec![to, from] };
            put(&format!("encoder.layer.{layer}.{name}.weight"), &shape, about);
            put(&format!("encoder.layer.{layer}.{name}.bias"), &[to], 0.0);
        }
    }
    all
}

fn tiny_bert() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({
        "model_type": "bert", "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
        "num_attention_heads": 2, "vocab_size": 12, "max_position_embeddings": 10, "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "hidden_act": "gelu",
    });
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("config.json", config.to_string().as_bytes());
    write("vocab.txt", PIECES.replace(' ', "\n").as_bytes());
    write(WEIGHTS, &safetensors(&tiny_bert_tensors()));
    folder
}

fn open(folder: &tempfile::TempDir) -> Result<FolderModel, Error> {
    FolderModel::open(folder.path(), &naive, 2)
}

#[track_caller]
fn near(vector: &[f32], expected: &[f32]) {
    assert_eq!(vector.len(), expected.len());
    let far = vector.iter().zip(expected).any(|(a, b)| (a - b).abs() > 2e-5);
    assert!(!far, "{vector:?}\n{expected:?}");
}

#[test]
fn a_tiny_bert_gives_the_vectors_of_an_independent_forward_pass() {
    let folder = tiny_bert();
    let model = open(&folder).unwrap();
    assert_eq!((model.dimensions(), model.is_quick()), (8, false));
    // Printed by fixtures/embed/tiny_bert.py.
    let expected = [
        ("the cat sat", [0.257218, 0.520862, -0.256036, -0.000975, 0.564621, 0.184419, -0.492932, 0.034605]),
        (
            "dogs ran on the mat",
            [0.200122, 0.489421, -0.099551, 0.071111, 0.522753, 0.255558, -0.605499, -0.015550],
        ),
        ("", [0.278935, 0.625077, -0.128614, 0.035917, 0.486246, 0.062604, -0.520135, -0.052417]),
        (
            "the cat sat on the mat the cat sat on the mat",
            [0.219184, 0.516508, -0.185400, -0.156786, 0.579489, 0.221049, -0.485862, 0.074090],
        ),
    ];
    let texts: Vec<&str> = expected.iter().map(|(text, _)| *text).collect();
    for (vector, (_, expected)) in model.embed(&texts, Role::Document).iter().zip(&expected) {
        near(vector, expected);
    }
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    fs::write(folder.path().join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let first = open(&folder).unwrap().embed(&["the cat sat"], Role::Document);
    near(&first[0], &[0.182705, 0.750618, -0.201426, -0.035763, 0.419463, 0.091607, -0.420597, 0.009838]);
}

#[test]
fn the_name_changes_with_the_weights_and_prompts_stand_in_front() {
    let folder = tiny_bert();
    let before = open(&folder).unwrap();
    fs::write(
        folder.path().join("config_sentence_transformers.json"),
        r#"{"prompts": {"query": "the ", "document": "on "}}"#,
    )
    .unwrap();
    let prompted = open(&folder).unwrap();
    assert_eq!(prompted.embed(&["cat"], Role::Query), before.embed(&["the cat"], Role::Query));
    assert_eq!(prompted.embed(&["cat"], Role::Document), before.embed(&["on cat"], Role::Query));
    let mut tensors = tiny_bert_tensors();
    tensors[0].3[0] ^= 1;
    fs::write(folder.path().join(WEIGHTS), safetensors(&tensors)).unwrap();
    assert_ne!(open(&folder).unwrap().name(), before.name());
}

fn table(tensors: &[Tensor]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let vocabulary: serde_json::Map<String, Value> = ["[UNK]", "a", "b", "##c"]
        .iter()
        .enumerate()
        .map(|(at, piece)| ((*piece).to_owned(), json!(at)))
        .collect();
    let tokenizer = json!({"model": {"type": "WordPiece", "vocab": vocabulary}});
    fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.path().join(WEIGHTS), safetensors(tensors)).unwrap();
    folder
}

struct Letters;

impl Pieces for Letters {
    fn split(&self, text: &str, pieces: &mut Vec<u32>) {
        pieces.extend(text.chars().map(|letter| match letter {
            'a' => 1,
            'b' => 2,
            'c' => 3,
            _ => 0,
        }));
    }
}

fn letters(folder: &tempfile::TempDir) -> Result<FolderModel, Error> {
    FolderModel::open(folder.path(), &|_| Some(Box::new(Letters)), 1)
}

#[test]
fn tables_of_every_type_and_width_are_read() {
    let rows = [9.0, 9.0, 9.0, 3.0, 0.0, 4.0, 0.0, 0.0, 2.0, 0.0, 1.0, 0.0];
    let bytes: Vec<u8> = rows.iter().map(|number| (*number as i8).cast_unsigned()).collect();
    // 9, 3, 4, 2 and 1 in half precision.
    let half = |number: &f32| match *number as u8 {
        9 => 0x4880_u16,
        3 => 0x4200,
        4 => 0x4400,
        2 => 0x4000,
        1 => 0x3c00,
        _ => 0,
    };
    let halves: Vec<u8> = rows.iter().flat_map(|number| half(number).to_le_bytes()).collect();
    for tensor in [
        f32s("embeddings", &[4, 3], &rows),
        ("embeddings".to_owned(), vec![4, 3], "F16", halves),
        ("embeddings".to_owned(), vec![4, 3], "I8", bytes.clone()),
    ] {
        let model = letters(&table(&[tensor])).unwrap();
        assert_eq!((model.dimensions(), model.is_quick()), (3, true));
        let vectors = model.embed(&["a", "a?b", "?", ""], Role::Document);
        near(&vectors[0], &[0.6, 0.0, 0.8]);
        near(&vectors[1], &[3.0 / 45_f32.sqrt(), 0.0, 6.0 / 45_f32.sqrt()]);
        assert_eq!((&vectors[2], &vectors[3]), (&vec![0.0; 3], &vec![0.0; 3]), "unknown pieces say nothing");
    }
    let scaled = [
        ("embeddings".to_owned(), vec![4, 3], "I8", bytes),
        f32s("scales", &[4], &[1.0, 1.0, 2.0, 1.0]),
        f32s("weights", &[4], &[1.0, 1.0, 0.5, 3.0]),
    ];
    near(
        &letters(&table(&scaled)).unwrap().embed(&["ab"], Role::Query)[0],
        &[3.0 / 45_f32.sqrt(), 0.0, 6.0 / 45_f32.sqrt()],
    );
}

#[track_caller]
fn refused(folder: &tempfile::TempDir, file: &str, why: &str) {
    let Err(error) = open(folder) else { panic!("{why}: it was opened") };
    let text = error.to_string();
    assert!(matches!(error, Error::File { .. }) && text.contains(file) && text.contains(why), "{text}");
}

#[test]
fn a_missing_or_wrong_file_is_named_with_what_was_expected() {
    let with = |change: &dyn Fn(&Path)| {
        let folder = tiny_bert();
        change(folder.path());
        folder
    };
    let config = |text: &'static str| with(&move |path| fs::write(path.join("config.json"), text).unwrap());
    refused(&with(&|path| fs::remove_file(path.join(WEIGHTS)).unwrap()), "", "holds no model; supported are");
    let onnx = with(&|path| fs::rename(path.join(WEIGHTS), path.join("model.onnx")).unwrap());
    refused(&onnx, "", "ONNX model, which is not supported; supported are `model.safetensors`");
    refused(
        &with(&|path| fs::remove_file(path.join("vocab.txt")).unwrap()),
        "",
        "neither `tokenizer.json` nor",
    );
    refused(
        &with(&|path| fs::write(path.join("vocab.txt"), "a\n##b").unwrap()),
        "vocab.txt",
        "`[CLS]` is missing",
    );
    refused(&config("{"), "config.json", "not JSON");
    refused(&config("{}"), "config.json", "`model_type` is missing");
    refused(&config(r#"{"model_type": "mpnet"}"#), "config.json", "`mpnet` are not supported");
    refused(&config(r#"{"model_type": "bert"}"#), "config.json", "`hidden_size` must be");
    let odd = r#"{"model_type": "bert", "hidden_act": "swish"}"#;
    refused(&config(odd), "config.json", "only `gelu`");
    let dense = r#"[{"type": "sentence_transformers.models.Dense"}]"#;
    refused(&with(&|path| fs::write(path.join("modules.json"), dense).unwrap()), "modules.json", "`Dense`");
    let Err(error) = FolderModel::open(Path::new("/no/such/folder"), &naive, 1) else { panic!("opened") };
    assert!(error.to_string().contains("/no/such/folder"));
    let Err(error) = FolderModel::open(tiny_bert().path(), &|_| None, 1) else { panic!("opened") };
    assert!(error.to_string().contains("not a vocabulary of word pieces"));
}

#[test]
fn damaged_weights_are_an_error_wherever_they_are_cut_or_changed() {
    let folder = tiny_bert();
    let file = folder.path().join(WEIGHTS);
    let good = fs::read(&file).unwrap();
    for end in (0..good.len()).step_by(397) {
        fs::write(&file, &good[..end]).unwrap();
        refused(&folder, WEIGHTS, "");
    }
    let header = u64::from_le_bytes(*good.first_chunk().unwrap()) as usize + 8;
    for at in (0..header).step_by(11) {
        let mut bad = good.clone();
        bad[at] ^= 0x11;
        fs::write(&file, &bad).unwrap();
        // It may still be a header that fits; it must not bring the program down.
        let _ = open(&folder);
    }
    let mut bad = good;
    bad[header..header + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&file, &bad).unwrap();
    refused(&folder, WEIGHTS, "no number");
}
