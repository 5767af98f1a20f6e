//! A model in a folder on this machine: a table of word pieces (model2vec's layout), or a BERT sentence encoder.
//!
//! Used by the `verger` crate, which lends the splitter into word pieces ([`Pieces`]): the vault has one already, and this
//! crate knows no vault. What a folder must hold is in `docs/guide/meaning.md`. Deliberately not here: ONNX files, whose
//! runtime would be a second program file of 29 MB, and tokenizers other than WordPiece.

mod bert;
mod files;
mod matrix;
mod table;
mod tensors;
mod vocabulary;

use std::path::Path;

use serde_json::Value;

use crate::Error;
use bert::Bert;
use files::Folder as Files;
use table::Table;
use tensors::Tensors;
pub use vocabulary::{Case, Vocabulary};

/// The file with the weights.
const WEIGHTS: &str = "model.safetensors";
/// So many pieces of the weights go into the model's mark, spread over the whole file.
const SAMPLES: u64 = 64;
const SAMPLE: usize = 4_096;

/// Splits text into the numbers of word pieces, without special ones.
pub trait Pieces: Send + Sync {
    /// Puts the pieces of the text behind those that are there.
    fn split(&self, text: &str, pieces: &mut Vec<u32>);
}

/// Makes a splitter of a vocabulary; `None` if it is not one of word pieces.
pub type MakePieces<'m> = &'m dyn Fn(&Vocabulary) -> Option<Box<dyn Pieces>>;

/// Whether a text is a question or what might answer it: some models want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What somebody asks.
    Query,
    /// What is in a note.
    Document,
}

/// A model from a folder.
pub struct FolderModel {
    name: String,
    pieces: Box<dyn Pieces>,
    kind: Kind,
    /// What the model wants in front of a question and of a document.
    prompts: [String; 2],
    threads: usize,
}

enum Kind {
    Table(Table),
    Bert(Box<Bert>),
}

impl FolderModel {
    /// Opens the model; `threads` texts are worked on at a time.
    pub fn open(folder: &Path, make: MakePieces<'_>, threads: usize) -> Result<FolderModel, Error> {
        let files = Files::open(folder)?;
        refuse_other_formats(&files)?;
        let config = files.json("config.json")?.unwrap_or_default();
        let vocabulary = Vocabulary::read(&files)?;
        let mut tensors = Tensors::open(&files, WEIGHTS)?;
        let mark = mark(&mut tensors, &config, &vocabulary)?;
        let kind = if tensors.has("embeddings") || tensors.has("embedding.weight") {
            Kind::Table(Table::read(&mut tensors, &vocabulary)?)
        } else {
            Kind::Bert(Box::new(Bert::read(&files, &config, &mut tensors, &vocabulary)?))
        };
        let wrong =
            || files.wrong(vocabulary.file, "it is not a vocabulary of word pieces (no `##` pieces in it)");
        let pieces = make(&vocabulary).ok_or_else(wrong)?;
        let own = folder.file_name().map_or("model".into(), |name| name.to_string_lossy().into_owned());
        let model = FolderModel {
            name: format!("folder:{own}:{mark}"),
            pieces,
            kind,
            prompts: prompts(&files)?,
            threads: threads.max(1),
        };
        Ok(model)
    }

    /// The folder's name with a mark of what is in it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        match &self.kind {
            Kind::Table(table) => table.width(),
            Kind::Bert(bert) => bert.width(),
        }
    }

    /// Whether a vault is embedded in seconds rather than hours.
    pub fn is_quick(&self) -> bool {
        matches!(self.kind, Kind::Table(_))
    }

    /// One vector for every text, of length 1; zeros for a text in which the model sees nothing.
    pub fn embed(&self, texts: &[&str], role: Role) -> Vec<Vec<f32>> {
        let threads = self.threads.min(texts.len());
        if threads <= 1 || self.is_quick() {
            return texts.iter().map(|text| self.vector(text, role)).collect();
        }
        // Long and short texts are dealt out in turn, so that no thread gets all the long ones.
        let share = |first: usize| -> Vec<(usize, Vec<f32>)> {
            let mine = (first..texts.len()).step_by(threads);
            mine.map(|at| (at, self.vector(texts[at], role))).collect()
        };
        let mut vectors = vec![Vec::new(); texts.len()];
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || share(first))).collect();
            let mut done = share(0);
            for other in others {
                match other.join() {
                    Ok(part) => done.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done.into_iter().for_each(|(at, vector)| vectors[at] = vector);
        });
        vectors
    }

    fn vector(&self, text: &str, role: Role) -> Vec<f32> {
        let prompt = &self.prompts[usize::from(role == Role::Document)];
        let mut pieces = Vec::new();
        self.pieces.split(prompt, &mut pieces);
        self.pieces.split(text, &mut pieces);
        let mut vector = match &self.kind {
            Kind::Table(table) => table.vector(&pieces),
            Kind::Bert(bert) => bert.vector(&pieces),
        };
        super::to_length_one(&mut vector);
        vector
    }
}

/// A folder without weights that we can read says which it has.
fn refuse_other_formats(files: &Files) -> Result<(), Error> {
    if files.has(WEIGHTS) {
        return Ok(());
    }
    let found = files.names().into_iter().find_map(|name| {
        ["onnx", "bin", "gguf", "pt", "h5"].into_iter().find(|ending| name.ends_with(&format!(".{ending}")))
    });
    let found = found.or_else(|| files.names().iter().any(|name| name == "onnx").then_some("onnx"));
    let what = match found {
        Some("onnx") => "it holds an ONNX model, which is not supported",
        Some("bin" | "pt" | "h5") => {
            "it holds weights in a format that can carry programs, which is not supported"
        }
        Some(_) => "it holds a GGUF model; run it with Ollama instead",
        None => "it holds no model",
    };
    let supported = format!(
        "supported are `{WEIGHTS}` with `vocab.txt` or a WordPiece `tokenizer.json` (BERT encoders and model2vec tables)"
    );
    Err(files.wrong("", &format!("{what}; {supported}")))
}

/// Texts to put in front, as sentence-transformers keeps them.
fn prompts(files: &Files) -> Result<[String; 2], Error> {
    let config = files.json("config_sentence_transformers.json")?.unwrap_or_default();
    let prompt = |names: &[&str]| {
        let found = names.iter().find_map(|name| config.get("prompts")?.get(name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    Ok([prompt(&["query", "search_query"]), prompt(&["document", "passage", "search_document"])])
}

/// A mark that changes with the weights, the settings and the vocabulary, without reading all of a large file.
fn mark(tensors: &mut Tensors, config: &Value, vocabulary: &Vocabulary) -> Result<String, Error> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(config.to_string().as_bytes());
    vocabulary.pieces.iter().for_each(|piece| {
        hasher.update(piece.as_bytes()).update(b"\n");
    });
    tensors.sample(SAMPLES, SAMPLE, &mut |bytes| {
        hasher.update(bytes);
    })?;
    Ok(hasher.finalize().to_hex().chars().take(12).collect())
}

#[cfg(test)]
mod tests;
