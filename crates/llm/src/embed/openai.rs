//! Embeddings from any service that speaks OpenAI's `/v1/embeddings`: OpenAI itself, and most local servers.

use serde::Deserialize;
use serde_json::json;

use super::checked;
use crate::http::{Base, Http, Patience};
use crate::{Error, Secret};

/// A model behind an OpenAI-compatible service.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    base: Base,
    model: String,
    dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Some servers leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl OpenAi {
    /// The address without `/embeddings`; `/v1` is taken where it has no path. `dimensions` asks for shorter vectors.
    pub fn new(
        base: Base,
        model: &str,
        key: Option<Secret>,
        dimensions: Option<u32>,
    ) -> Result<OpenAi, Error> {
        Ok(OpenAi { http: Http::new(key)?, base, model: model.to_owned(), dimensions })
    }

    /// One vector for every text, in their order.
    pub async fn embed(&self, texts: &[String], patience: Patience) -> Result<Vec<Vec<f32>>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let mut body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        if let Some(dimensions) = self.dimensions {
            body["dimensions"] = dimensions.into();
        }
        let service = self.base.host();
        let answer = self.http.post(&self.base.at("/v1", "embeddings"), &body, patience).await?;
        let wrong = |message: String| Error::Answer { service: service.clone(), message };
        let answer: Answer = serde_json::from_value(answer)
            .map_err(|error| wrong(format!("it holds no vectors ({error})")))?;
        let mut places: Vec<Option<Vec<f32>>> = vec![None; texts.len()];
        for (at, item) in answer.data.into_iter().enumerate() {
            let index = item.index.unwrap_or(at);
            let place = places.get_mut(index).filter(|place| place.is_none());
            let place = place.ok_or_else(|| wrong(format!("a vector too many, with the index {index}")))?;
            *place = Some(item.embedding);
        }
        checked(&service, texts.len(), places.into_iter().flatten().collect())
    }
}
