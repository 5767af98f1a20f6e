//! Embeddings from Ollama's own `/api/embed`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::checked;
use crate::Error;
use crate::http::{Base, Http, Patience};

/// A model that Ollama runs.
#[derive(Debug, Clone)]
pub struct Ollama {
    http: Http,
    base: Base,
    model: String,
}

#[derive(Deserialize)]
struct Answer {
    embeddings: Vec<Vec<f32>>,
}

impl Ollama {
    /// The address of Ollama, e.g. `http://127.0.0.1:11434`.
    pub fn new(base: Base, model: &str) -> Result<Ollama, Error> {
        Ok(Ollama { http: Http::new(None)?, base, model: model.to_owned() })
    }

    /// One vector for every text, in their order. What is too long for the model is cut by Ollama.
    pub async fn embed(&self, texts: &[String], patience: Patience) -> Result<Vec<Vec<f32>>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let body = json!({"model": self.model, "input": texts, "truncate": true});
        let service = self.base.host();
        let answer = self.http.post(&self.base.at("", "api/embed"), &body, patience).await?;
        let answer: Answer = serde_json::from_value(answer).map_err(|error| Error::Answer {
            service: service.clone(),
            message: format!("it holds no vectors ({error})"),
        })?;
        checked(&service, texts.len(), answer.embeddings)
    }

    /// The first letters of the digest of the model's weights, if Ollama tells it: a model that is pulled anew under
    /// the same name is another one.
    pub async fn digest(&self, patience: Patience) -> Option<String> {
        let tags = self.http.get(&self.base.at("", "api/tags"), patience).await.ok()?;
        let latest = format!("{}:latest", self.model);
        let mut models = tags.get("models")?.as_array()?.iter();
        let named = |model: &&Value| {
            ["name", "model"].iter().any(|field| {
                let name = model.get(field).and_then(Value::as_str);
                name == Some(&self.model) || name == Some(&latest)
            })
        };
        let digest = models.find(named)?.get("digest")?.as_str()?;
        Some(digest.trim_start_matches("sha256:").chars().take(12).collect())
    }
}
