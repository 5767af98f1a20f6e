//! What turns text into vectors. The built-in one is [`super::table::Table`]; better ones may come from outside.
//!
//! Called by [`super::Meaning`]. Deliberately not here: networks. An embedder that needs one lives in a crate that may.

/// A model that turns texts into vectors. Shared by threads.
pub trait Embedder: Send + Sync {
    /// Its name, kept beside the vectors; another name means another model, and everything is embedded again. Whatever
    /// makes other vectors (weights, width, service) belongs into it.
    fn name(&self) -> &str;

    /// How many numbers a vector has.
    fn dimensions(&self) -> usize;

    /// One vector for every text, of length 1; all zeros for a text in which the model sees nothing.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a question. Somebody waits for it, so a model that is away says so soon.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embed(&[text])?.pop().ok_or_else(|| EmbedError::Model("it gave no vector".to_owned()))
    }

    /// Whether a whole vault is embedded while somebody waits.
    fn pace(&self) -> Pace {
        Pace::Quick
    }

    /// How many texts it likes at a time.
    fn batch(&self) -> usize {
        16
    }
}

/// How a vault is embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At once: thousands of chunks a second.
    Quick,
    /// In the background, batch after batch; searches use what is there.
    Slow,
}

/// Why there is no vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model's files or its answers are not what they should be.
    #[error("the embedding model cannot be used: {0}")]
    Model(String),
    /// The model is not to be had now; trying other texts will not help.
    #[error("the embedding model is not available: {0}")]
    Unavailable(String),
    /// The service asks for patience.
    #[error("the embedding model wants to be asked again in {seconds} s: {why}")]
    Later {
        /// What it said.
        why: String,
        /// How long it wants to be left alone.
        seconds: u64,
    },
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
    check(embedder, vectors, texts.len())
}

/// Embeds a question, and checks the answer.
pub(super) fn query_checked(embedder: &dyn Embedder, text: &str) -> Result<Vec<f32>, EmbedError> {
    let vector = embedder.embed_query(text)?;
    Ok(check(embedder, vec![vector], 1)?.pop().unwrap_or_default())
}

fn check(embedder: &dyn Embedder, vectors: Vec<Vec<f32>>, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let width = embedder.dimensions();
    if vectors.len() != count || vectors.iter().any(|vector| vector.len() != width) {
        let name = embedder.name();
        return Err(EmbedError::Model(format!(
            "`{name}` gave other vectors than {count} of {width} numbers"
        )));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(EmbedError::Text("the model gave numbers that are none".to_owned()));
    }
    Ok(vectors)
}
