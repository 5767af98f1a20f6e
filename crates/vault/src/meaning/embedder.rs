//! What turns text into vectors. The built-in one is [`super::table::Table`]; better ones may come from outside.
//!
//! Called by [`super::Meaning`]. Deliberately not here: networks. An embedder that needs one lives in a crate that may.

/// A model that turns texts into vectors. Shared by threads.
pub trait Embedder: Send + Sync {
    /// Its name, kept beside the vectors; another name means another model, and everything is embedded again.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// One vector for every text, of length 1; all zeros for a text in which the model sees nothing.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why there is no vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model's files are not what they should be.
    #[error("the embedding model cannot be used: {0}")]
    Model(String),
    /// The model is not to be had now; trying other texts will not help.
    #[error("the embedding model is not available: {0}")]
    Unavailable(String),
    /// These texts could not be embedded; others may.
    #[error("the text could not be embedded: {0}")]
    Text(String),
}

/// Embeds, and checks that the model gave what it promised.
pub(super) fn embed_checked(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let vectors = embedder.embed(texts)?;
    let width = embedder.dimensions();
    if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != width) {
        let name = embedder.name();
        return Err(EmbedError::Model(format!(
            "`{name}` gave other vectors than {} of {width}",
            texts.len()
        )));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(EmbedError::Text("the model gave numbers that are none".to_owned()));
    }
    Ok(vectors)
}
