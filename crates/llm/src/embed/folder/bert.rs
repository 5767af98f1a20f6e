//! A BERT encoder: word pieces in, one vector out. The forward pass in plain Rust over [`super::matrix`].
//!
//! Embeddings, then per layer attention and a two-step network, each with a shortcut and a normalisation; at the end the
//! mean over all pieces, or the first one, as the folder says. Texts are worked on one by one, so nothing is padded.
//! Compared with an independent forward pass in `fixtures/embed/tiny_bert.py` and, by hand, with the real
//! all-MiniLM-L6-v2 (`docs/guide/meaning.md`). Deliberately not here: other architectures.

use serde_json::Value;

use super::files::Folder;
use super::matrix::{Grid, multiply};
use super::tensors::Tensors;
use super::vocabulary::Vocabulary;
use crate::Error;

/// Sides larger than these are damage, not a model.
const LARGEST_SIDE: usize = 65_536;
const MOST_LAYERS: usize = 128;

pub(super) struct Bert {
    width: usize,
    heads: usize,
    epsilon: f32,
    /// Pieces of a text, special ones included.
    longest: usize,
    pooling: Pooling,
    begin: u32,
    end: u32,
    words: Vec<f32>,
    places: Vec<f32>,
    first_norm: Norm,
    layers: Vec<Layer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pooling {
    Mean,
    First,
}

struct Layer {
    /// Query, key and value in one.
    attention: Linear,
    output: Linear,
    attention_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

struct Linear {
    weights: Vec<f32>,
    bias: Vec<f32>,
    from: usize,
    to: usize,
}

struct Norm {
    weights: Vec<f32>,
    bias: Vec<f32>,
}

/// What `config.json` says.
struct Shape {
    width: usize,
    inner: usize,
    layers: usize,
    words: usize,
    places: usize,
    kinds: usize,
}

impl Bert {
    pub(super) fn read(
        folder: &Folder,
        config: &Value,
        tensors: &mut Tensors<'_>,
        vocabulary: &Vocabulary,
    ) -> Result<Bert, Error> {
        let wrong = |message: &str| folder.wrong("config.json", message);
        check_kind(config).map_err(|message| wrong(&message))?;
        let number = |name: &str, most: usize| {
            let number =
                config.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
            let number = number.filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| wrong(&format!("`{name}` must be a whole number from 1 to {most}")))
        };
        let shape = Shape {
            width: number("hidden_size", LARGEST_SIDE)?,
            inner: number("intermediate_size", LARGEST_SIDE)?,
            layers: number("num_hidden_layers", MOST_LAYERS)?,
            words: number("vocab_size", 2_000_000)?,
            places: number("max_position_embeddings", LARGEST_SIDE)?,
            kinds: number("type_vocab_size", LARGEST_SIDE)?,
        };
        let heads = number("num_attention_heads", shape.width)?;
        if !shape.width.is_multiple_of(heads) {
            return Err(wrong("`hidden_size` is not a multiple of `num_attention_heads`"));
        }
        if vocabulary.pieces.len() > shape.words {
            let pieces = vocabulary.pieces.len();
            return Err(wrong(&format!(
                "`vocab_size` is {}, but the vocabulary has {pieces} pieces",
                shape.words
            )));
        }
        let special = |piece: &str| {
            let found = vocabulary.number(piece);
            found.ok_or_else(|| folder.wrong(vocabulary.file, &format!("the piece `{piece}` is missing")))
        };
        let epsilon = config.get("layer_norm_eps").and_then(Value::as_f64).unwrap_or(1e-12) as f32;
        let mut bert = Bert {
            width: shape.width,
            heads,
            epsilon,
            longest: longest(folder, shape.places)?,
            pooling: pooling(folder)?,
            begin: special("[CLS]")?,
            end: special("[SEP]")?,
            words: Vec::new(),
            places: Vec::new(),
            first_norm: Norm { weights: Vec::new(), bias: Vec::new() },
            layers: Vec::new(),
        };
        bert.read_weights(tensors, &shape)?;
        Ok(bert)
    }

    fn read_weights(&mut self, tensors: &mut Tensors<'_>, shape: &Shape) -> Result<(), Error> {
        let known = tensors.has("bert.embeddings.word_embeddings.weight");
        let prefix = if known { "bert." } else { "" };
        let width = shape.width;
        let embeddings = |name: &str| format!("{prefix}embeddings.{name}");
        self.words = tensors.floats(&embeddings("word_embeddings.weight"), &[shape.words, width])?;
        self.places = tensors.floats(&embeddings("position_embeddings.weight"), &[shape.places, width])?;
        let kinds = tensors.floats(&embeddings("token_type_embeddings.weight"), &[shape.kinds, width])?;
        // All pieces are of the first kind, so it is added once and for all.
        for row in self.places.chunks_exact_mut(width) {
            row.iter_mut().zip(&kinds).for_each(|(place, kind)| *place += kind);
        }
        self.first_norm = norm(tensors, &embeddings("LayerNorm"), width)?;
        for layer in 0..shape.layers {
            let name = |part: &str| format!("{prefix}encoder.layer.{layer}.{part}");
            let mut attention = linear(tensors, &name("attention.self.query"), width, width)?;
            for part in ["attention.self.key", "attention.self.value"] {
                let more = linear(tensors, &name(part), width, width)?;
                attention.weights.extend(more.weights);
                attention.bias.extend(more.bias);
                attention.to += width;
            }
            self.layers.push(Layer {
                attention,
                output: linear(tensors, &name("attention.output.dense"), width, width)?,
                attention_norm: norm(tensors, &name("attention.output.LayerNorm"), width)?,
                inner: linear(tensors, &name("intermediate.dense"), width, shape.inner)?,
                outer: linear(tensors, &name("output.dense"), shape.inner, width)?,
                norm: norm(tensors, &name("output.LayerNorm"), width)?,
            });
        }
        Ok(())
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The vector of a text's pieces; what is too long is cut off, as the model's makers do.
    pub(super) fn vector(&self, pieces: &[u32]) -> Vec<f32> {
        let kept = &pieces[..pieces.len().min(self.longest.saturating_sub(2))];
        let mut rows = self.embedded(kept);
        let count = kept.len() + 2;
        self.first_norm.apply(&mut rows, self.epsilon);
        for layer in &self.layers {
            let mixed = layer.output.apply(&self.attend(&layer.attention.apply(&rows, count), count), count);
            add(&mut rows, &mixed);
            layer.attention_norm.apply(&mut rows, self.epsilon);
            let mut inner = layer.inner.apply(&rows, count);
            inner.iter_mut().for_each(|number| *number = gelu(*number));
            add(&mut rows, &layer.outer.apply(&inner, count));
            layer.norm.apply(&mut rows, self.epsilon);
        }
        let taken = if self.pooling == Pooling::First { 1 } else { count };
        let mut vector = vec![0.0; self.width];
        for row in rows.chunks_exact(self.width).take(taken) {
            add(&mut vector, row);
        }
        vector.iter_mut().for_each(|number| *number /= taken as f32);
        vector
    }

    /// The rows of the pieces with those of their places.
    fn embedded(&self, pieces: &[u32]) -> Vec<f32> {
        let all = [self.begin].into_iter().chain(pieces.iter().copied()).chain([self.end]);
        let mut rows = Vec::with_capacity((pieces.len() + 2) * self.width);
        for (piece, place) in all.zip(self.places.chunks_exact(self.width)) {
            let at = piece as usize * self.width;
            let word = self.words.get(at..at + self.width).unwrap_or(&[]);
            rows.extend(place.iter().zip(word).map(|(place, word)| place + word));
        }
        rows
    }

    /// Every row looks at every row, head by head; `rows` holds query, key and value side by side.
    fn attend(&self, rows: &[f32], count: usize) -> Vec<f32> {
        let (width, step) = (self.width, self.width * 3);
        let size = width / self.heads;
        let scale = 1.0 / (size as f32).sqrt();
        let mut scores = vec![0.0; count * count];
        let mut out = vec![0.0; count * width];
        for head in 0..self.heads {
            let part = |number: usize| Grid::within(&rows[number * width + head * size..], count, size, step);
            multiply(scale, part(0), part(1).turned(), 0.0, &mut scores, count);
            scores.chunks_exact_mut(count).for_each(softmax);
            multiply(1.0, Grid::new(&scores, count, count), part(2), 0.0, &mut out[head * size..], width);
        }
        out
    }
}

impl Linear {
    fn apply(&self, rows: &[f32], count: usize) -> Vec<f32> {
        let mut out = self.bias.repeat(count);
        let weights = Grid::new(&self.weights, self.to, self.from).turned();
        multiply(1.0, Grid::new(rows, count, self.from), weights, 1.0, &mut out, self.to);
        out
    }
}

impl Norm {
    /// Every row with mean 0 and deviation 1, then stretched and moved.
    fn apply(&self, rows: &mut [f32], epsilon: f32) {
        for row in rows.chunks_exact_mut(self.weights.len().max(1)) {
            let count = row.len() as f32;
            let mean = row.iter().sum::<f32>() / count;
            let variance = row.iter().map(|number| (number - mean) * (number - mean)).sum::<f32>() / count;
            let unit = 1.0 / (variance + epsilon).sqrt();
            for ((number, weight), bias) in row.iter_mut().zip(&self.weights).zip(&self.bias) {
                *number = (*number - mean) * unit * weight + bias;
            }
        }
    }
}

fn add(rows: &mut [f32], more: &[f32]) {
    rows.iter_mut().zip(more).for_each(|(number, more)| *number += more);
}

fn softmax(row: &mut [f32]) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|number| *number = (*number - largest).exp());
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|number| *number /= sum);
}

/// `x × Φ(x)`, with the error function to 2e-7 (Abramowitz and Stegun, 7.1.26).
fn gelu(number: f32) -> f32 {
    let x = number.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series =
        ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    let error = 1.0 - series * (-x * x).exp();
    0.5 * number * (1.0 + error.copysign(number))
}

fn linear(tensors: &mut Tensors<'_>, name: &str, from: usize, to: usize) -> Result<Linear, Error> {
    let weights = tensors.floats(&format!("{name}.weight"), &[to, from])?;
    let bias = tensors.floats(&format!("{name}.bias"), &[to])?;
    Ok(Linear { weights, bias, from, to })
}

fn norm(tensors: &mut Tensors<'_>, name: &str, width: usize) -> Result<Norm, Error> {
    let weights = tensors.floats(&format!("{name}.weight"), &[width])?;
    let bias = tensors.floats(&format!("{name}.bias"), &[width])?;
    Ok(Norm { weights, bias })
}

fn check_kind(config: &Value) -> Result<(), String> {
    let text = |name: &str| config.get(name).and_then(Value::as_str);
    match text("model_type") {
        Some("bert") => {}
        Some(other) => {
            return Err(format!(
                "models of the type `{other}` are not supported, only `bert` and model2vec tables"
            ));
        }
        None => return Err("`model_type` is missing; `bert` was expected".to_owned()),
    }
    match text("hidden_act").unwrap_or("gelu") {
        "gelu" => {}
        other => return Err(format!("`hidden_act` is `{other}`; only `gelu` is supported")),
    }
    match text("position_embedding_type").unwrap_or("absolute") {
        "absolute" => Ok(()),
        other => Err(format!("`position_embedding_type` is `{other}`; only `absolute` is supported")),
    }
}

/// How long a text may be, special pieces included.
fn longest(folder: &Folder, places: usize) -> Result<usize, Error> {
    let config = folder.json("sentence_bert_config.json")?.unwrap_or_default();
    let said =
        config.get("max_seq_length").and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
    Ok(said.unwrap_or(512).min(places).max(2))
}

/// What becomes of the rows at the end. A step that we do not know would make other vectors than the makers'.
fn pooling(folder: &Folder) -> Result<Pooling, Error> {
    let modules = folder.json("modules.json")?.unwrap_or_default();
    for module in modules.as_array().into_iter().flatten() {
        let kind = module.get("type").and_then(Value::as_str).unwrap_or_default();
        let name = kind.rsplit('.').next().unwrap_or_default();
        if !matches!(name, "Transformer" | "Pooling" | "Normalize") {
            return Err(folder.wrong("modules.json", &format!("the step `{name}` is not supported")));
        }
    }
    let file = "1_Pooling/config.json";
    let Some(config) = folder.json(file)? else { return Ok(Pooling::Mean) };
    let is = |name: &str| config.get(name).and_then(Value::as_bool).unwrap_or(false);
    match (is("pooling_mode_mean_tokens"), is("pooling_mode_cls_token")) {
        (true, false) => Ok(Pooling::Mean),
        (false, true) => Ok(Pooling::First),
        _ => Err(folder.wrong(file, "only the mean of all tokens, or the first token alone, is supported")),
    }
}

#[cfg(test)]
mod tests {
    use super::gelu;

    #[test]
    fn gelu_is_that_of_the_tables() {
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_344_8),
            (-1.0, -0.158_655_3),
            (3.0, 2.995_950_3),
            (-3.0, -0.004_049_694),
            (0.1, 0.053_982_78),
        ] {
            assert!((gelu(x) - expected).abs() < 1e-6, "{x}: {}", gelu(x));
        }
    }
}
