//! A static table: one row of numbers per word piece, and the vector of a text is the mean of its rows (model2vec).

use super::tensors::Tensors;
use super::vocabulary::Vocabulary;
use crate::Error;

pub(super) struct Table {
    width: usize,
    rows: Vec<f32>,
    /// For every piece its row; empty if they are the same.
    mapping: Vec<usize>,
    /// For every piece how much it counts; empty if all count the same.
    weights: Vec<f32>,
    unknown: Option<u32>,
}

impl Table {
    /// Reads `embeddings` (rows × width; F32, F16 or I8), with `scales` per row, and `mapping` and `weights` per piece,
    /// where they are there.
    pub(super) fn read(tensors: &mut Tensors<'_>, vocabulary: &Vocabulary) -> Result<Table, Error> {
        let name = if tensors.has("embeddings") { "embeddings" } else { "embedding.weight" };
        let shape = tensors.shape(name)?;
        let [count, width] = shape[..] else {
            return Err(tensors.wrong(&format!("`{name}` has {} sides; 2 were expected", shape.len())));
        };
        let mut rows = tensors.floats(name, &shape)?;
        if tensors.has("scales") {
            let scales = tensors.floats("scales", &[count])?;
            let scaled = rows.chunks_exact_mut(width.max(1)).zip(scales);
            scaled.for_each(|(row, scale)| row.iter_mut().for_each(|number| *number *= scale));
        }
        let pieces = vocabulary.pieces.len();
        let mapping = match tensors.has("mapping") {
            true => tensors.places("mapping", pieces)?,
            false => Vec::new(),
        };
        let weights = match tensors.has("weights") {
            true => tensors.floats("weights", &[pieces])?,
            false => Vec::new(),
        };
        let fits = if mapping.is_empty() { count == pieces } else { mapping.iter().all(|row| *row < count) };
        if !fits || width == 0 {
            let message =
                format!("{count} rows of {width} numbers do not fit a vocabulary of {pieces} pieces");
            return Err(tensors.wrong(&message));
        }
        Ok(Table { width, rows, mapping, weights, unknown: vocabulary.number("[UNK]") })
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The mean of the rows; zeros if no piece is known.
    pub(super) fn vector(&self, pieces: &[u32]) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for piece in pieces.iter().filter(|piece| Some(**piece) != self.unknown) {
            let piece = *piece as usize;
            let row = self.mapping.get(piece).copied().unwrap_or(piece);
            let weight = self.weights.get(piece).copied().unwrap_or(1.0);
            let row = self.rows.chunks_exact(self.width).nth(row).unwrap_or(&[]);
            sum.iter_mut().zip(row).for_each(|(sum, number)| *sum += number * weight);
        }
        sum
    }
}
