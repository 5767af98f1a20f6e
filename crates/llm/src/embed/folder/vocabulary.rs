//! The vocabulary of a model's folder: `vocab.txt`, or the WordPiece part of `tokenizer.json`.

use serde_json::Value;

use super::files::Folder;
use crate::Error;

/// More pieces than any vocabulary has.
const MOST: usize = 2_000_000;

/// Whether upper case matters to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Everything is lower case, without accents.
    Folded,
    /// Letters stay as they are.
    Kept,
}

/// Word pieces by their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    /// The pieces; those that continue a word begin with `##`.
    pub pieces: Vec<String>,
    /// Whether upper case matters.
    pub case: Case,
    /// The file it was read from.
    pub(super) file: &'static str,
}

impl Vocabulary {
    pub(super) fn read(folder: &Folder) -> Result<Vocabulary, Error> {
        let tokenizer = folder.json("tokenizer.json")?;
        if let Some(tokenizer) = &tokenizer {
            let file = "tokenizer.json";
            let pieces = from_tokenizer(tokenizer).map_err(|message| folder.wrong(file, &message))?;
            let lower = tokenizer.pointer("/normalizer/lowercase").and_then(Value::as_bool);
            let case = if lower.unwrap_or(true) { Case::Folded } else { Case::Kept };
            return Ok(Vocabulary { pieces, case, file });
        }
        let file = "vocab.txt";
        let text = folder.text(file)?;
        let missing = || folder.wrong("", "there is neither `tokenizer.json` nor `vocab.txt` in it");
        let pieces: Vec<String> = text.ok_or_else(missing)?.lines().map(str::to_owned).collect();
        let config = folder.json("tokenizer_config.json")?.unwrap_or_default();
        let lower = config.get("do_lower_case").and_then(Value::as_bool);
        let case = if lower.unwrap_or(true) { Case::Folded } else { Case::Kept };
        Ok(Vocabulary { pieces, case, file })
    }

    /// The number of a piece.
    pub(super) fn number(&self, piece: &str) -> Option<u32> {
        self.pieces.iter().position(|other| other == piece).and_then(|at| u32::try_from(at).ok())
    }
}

fn from_tokenizer(tokenizer: &Value) -> Result<Vec<String>, String> {
    let kind = tokenizer.pointer("/model/type").and_then(Value::as_str).unwrap_or("none");
    if kind != "WordPiece" {
        return Err(format!("it is a tokenizer of the kind `{kind}`; only WordPiece is supported"));
    }
    let vocabulary = tokenizer.pointer("/model/vocab").and_then(Value::as_object);
    let vocabulary = vocabulary.ok_or("there is no vocabulary in it")?;
    let mut pieces: Vec<Option<String>> = Vec::new();
    for (piece, number) in vocabulary {
        let at = number.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|at| *at < MOST);
        let at = at.ok_or_else(|| format!("the piece `{piece}` has no fitting number"))?;
        if pieces.len() <= at {
            pieces.resize(at + 1, None);
        }
        pieces[at] = Some(piece.clone());
    }
    // A number that nobody uses gets a piece that no text can hold.
    Ok(pieces.into_iter().map(|piece| piece.unwrap_or_else(|| "\u{0}".to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_pieces_lie_by_their_numbers_and_other_kinds_are_refused() {
        let tokenizer = json!({"model": {"type": "WordPiece", "vocab": {"b": 2, "[UNK]": 0, "##a": 1}}});
        assert_eq!(from_tokenizer(&tokenizer).unwrap(), ["[UNK]", "##a", "b"]);
        let other = json!({"model": {"type": "Unigram", "vocab": []}});
        assert!(from_tokenizer(&other).unwrap_err().contains("`Unigram`"));
        let huge = json!({"model": {"type": "WordPiece", "vocab": {"b": 99_000_000_000_u64}}});
        assert!(from_tokenizer(&huge).is_err());
    }
}
