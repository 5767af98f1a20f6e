//! The embedding model that ships with the program: one row of 128 numbers for each of 30,522 word pieces.
//!
//! Called by [`super::Meaning`] as its default [`Embedder`]. The vector of a text is the sum of its pieces' rows (int8
//! times one scale per row), of length 1. No download, no GPU, some 35 MB of text a second on one core. Worth about half of what a
//! small transformer adds to ranked search, and worse than ranked search alone: see [`super::fuse`]. English.
//! The table was trained for Verger from all-MiniLM-L6-v2 (Apache-2.0); the vocabulary is that of bert-base-uncased
//! (Apache-2.0). Deliberately not here: the split into pieces ([`super::wordpiece`]).

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::embedder::{EmbedError, Embedder};
use super::wordpiece::WordPiece;

const ROWS: &[u8] = include_bytes!("../../models/static-128.safetensors");
pub(super) const VOCABULARY: &str = include_str!("../../models/vocab.txt");
const WIDTH: usize = 128;

static BUILT_IN: LazyLock<Result<Arc<Table>, EmbedError>> =
    LazyLock::new(|| Table::parse(ROWS, VOCABULARY).map(Arc::new));

/// A table of word-piece vectors.
#[derive(Debug)]
pub struct Table {
    name: String,
    pieces: WordPiece,
    /// The int8 rows, one behind the other.
    rows: &'static [[u8; WIDTH]],
    scales: Vec<f32>,
}

impl Table {
    /// The table in the program. Read once; a few milliseconds.
    pub fn built_in() -> Result<Arc<Table>, EmbedError> {
        BUILT_IN.clone()
    }

    /// Reads a table in the safetensors format (`embeddings` I8 n × 128, `scales` F16 n) and its vocabulary.
    pub fn parse(file: &'static [u8], vocabulary: &str) -> Result<Table, EmbedError> {
        let bad = |what: &str| EmbedError::Model(format!("the built-in table {what}"));
        let (header, data) = split_header(file).ok_or_else(|| bad("has no readable header"))?;
        let rows =
            tensor(&header, data, "embeddings", "I8").ok_or_else(|| bad("has no int8 `embeddings`"))?;
        let scales = tensor(&header, data, "scales", "F16").ok_or_else(|| bad("has no f16 `scales`"))?;
        let (rows, odd) = rows.as_chunks::<WIDTH>();
        let (scales, half) = scales.as_chunks::<2>();
        let count = vocabulary.lines().count();
        if !odd.is_empty() || !half.is_empty() || rows.len() != count || scales.len() != count {
            return Err(bad("does not fit its vocabulary"));
        }
        let pieces = WordPiece::parse(vocabulary).ok_or_else(|| bad("has a vocabulary of another kind"))?;
        let scales: Vec<f32> = scales.iter().map(|half| from_half(u16::from_le_bytes(*half))).collect();
        if scales.iter().any(|scale| !scale.is_finite()) {
            return Err(bad("has a scale that is no number"));
        }
        // The content is part of the name, so that a table trained anew is another model.
        let mark = blake3::hash(file).to_hex();
        Ok(Table { name: format!("static-{WIDTH}-{}", &mark[..8]), pieces, rows, scales })
    }

    /// The vector of a text, of length 1; zeros if no word of it is known.
    pub fn vector(&self, text: &str) -> [f32; WIDTH] {
        self.vector_with(text, &mut Vec::new())
    }

    fn vector_with(&self, text: &str, pieces: &mut Vec<u32>) -> [f32; WIDTH] {
        pieces.clear();
        self.pieces.split(text, pieces);
        let mut sum = [0.0; WIDTH];
        for piece in pieces.iter().filter(|piece| **piece != self.pieces.unknown()) {
            let at = *piece as usize;
            if let (Some(row), Some(scale)) = (self.rows.get(at), self.scales.get(at)) {
                add(&mut sum, row, *scale);
            }
        }
        let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|number| *number /= length);
        }
        sum
    }
}

impl Embedder for Table {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        WIDTH
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pieces = Vec::new();
        Ok(texts.iter().map(|text| self.vector_with(text, &mut pieces).to_vec()).collect())
    }
}

fn add(sum: &mut [f32; WIDTH], row: &[u8; WIDTH], scale: f32) {
    for (number, byte) in sum.iter_mut().zip(row) {
        *number += f32::from(*byte as i8) * scale;
    }
}

/// The JSON header and the data behind it.
fn split_header(file: &[u8]) -> Option<(Value, &[u8])> {
    let (length, rest) = file.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (header, data) = rest.split_at_checked(length)?;
    Some((serde_json::from_slice(header).ok()?, data))
}

/// The bytes of one tensor, if it is there in this type and its shape fits its bytes.
fn tensor<'d>(header: &Value, data: &'d [u8], name: &str, kind: &str) -> Option<&'d [u8]> {
    let about = header.get(name)?;
    let offset = |at: usize| usize::try_from(about.get("data_offsets")?.get(at)?.as_u64()?).ok();
    let bytes = data.get(offset(0)?..offset(1)?)?;
    let size = |count: usize, side: &Value| count.checked_mul(usize::try_from(side.as_u64()?).ok()?);
    let count = about.get("shape")?.as_array()?.iter().try_fold(1, size)?;
    let fits = count.checked_mul(if kind == "I8" { 1 } else { 2 })? == bytes.len();
    (about.get("dtype")?.as_str()? == kind && fits).then_some(bytes)
}

/// A half-precision number.
fn from_half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let table = Table::built_in().unwrap();
        table.vector(a).iter().zip(table.vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn near_meanings_lie_nearer_than_far_ones() {
        for (query, near, far) in [
            ("how to cook pasta", "boil noodles in salted water", "renew the passport"),
            ("car repair", "the automobile was fixed in the garage", "planting tomatoes"),
            ("sleep problems", "insomnia and being tired at night", "compiling a kernel"),
        ] {
            assert!(cosine(query, near) > cosine(query, far) + 0.1, "{query}");
        }
    }

    #[test]
    fn a_vector_has_length_one_or_is_nothing() {
        let table = Table::built_in().unwrap();
        let length = |text: &str| table.vector(text).iter().map(|number| number * number).sum::<f32>().sqrt();
        assert!((length("a few plain words") - 1.0).abs() < 1e-5);
        assert_eq!(length(""), 0.0);
        assert_eq!(length("\u{1f600}"), 0.0, "an unknown word alone says nothing");
        assert_eq!(table.vector("smile \u{1f600}"), table.vector("smile"));
    }

    #[test]
    fn one_piece_is_its_row() {
        let table = Table::built_in().unwrap();
        let at = VOCABULARY.lines().position(|piece| piece == "lattice").unwrap();
        let row: Vec<f32> = table.rows[at].iter().map(|byte| f32::from(*byte as i8)).collect();
        let length = row.iter().map(|number| number * number).sum::<f32>().sqrt();
        for (got, number) in table.vector("Lattice").iter().zip(row) {
            assert!((got - number / length).abs() < 1e-5);
        }
    }

    #[test]
    fn half_precision_numbers_are_read() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (1, 5.960_464_5e-8), (0x7bff, 65504.0)]
        {
            assert_eq!(from_half(bits), number);
        }
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn a_damaged_table_is_refused() {
        let leak = |bytes: Vec<u8>| -> &'static [u8] { bytes.leak() };
        let huge = [u64::MAX.to_le_bytes().to_vec(), b"{}".to_vec()].concat();
        for file in [Vec::new(), huge, ROWS[..1_000].to_vec(), ROWS[..ROWS.len() - 1_000].to_vec()] {
            assert!(matches!(Table::parse(leak(file), VOCABULARY), Err(EmbedError::Model(_))));
        }
        assert!(Table::parse(ROWS, "[UNK]\n##a").is_err());
    }
}
