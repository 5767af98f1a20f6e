//! Pages that were made already, a few and not too large.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use vault::VaultPath;
use vault::files::Stat;
use vault::policy::{Limits, Rules};

/// Pages that are kept.
const MOST: usize = 64;
/// The largest one that is.
const LARGEST: usize = 512 * 1024;

/// What a page was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The file.
    pub path: VaultPath,
    /// How it lay there.
    pub stat: Stat,
    /// How often the catalog had changed.
    pub generation: u64,
}

/// For whom: the vault's rules and the person's limits. The rules are compared by being the very same.
pub type Standing = (Arc<Rules>, Limits);

/// An answer that was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// Its JSON.
    pub body: Arc<[u8]>,
    /// What it is known by.
    pub tag: String,
}

impl Made {
    /// Writes an answer down.
    pub fn new(answer: &Value) -> Made {
        let body = answer.to_string().into_bytes();
        let digest = ring::digest::digest(&ring::digest::SHA256, &body);
        let short: String = digest.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Made { body: body.into(), tag: format!("\"{short}\"") }
    }
}

/// The pages of this process.
pub static KEPT: Kept = Kept(Mutex::new(VecDeque::new()));

/// Pages, the newest last.
pub struct Kept(Mutex<VecDeque<(Key, Standing, Made)>>);

impl Kept {
    /// A page that was made of just this.
    pub fn get(&self, key: &Key, standing: &Standing) -> Option<Made> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(known, (rules, limits), _): &&(Key, Standing, Made)| {
            known == key && Arc::ptr_eq(rules, &standing.0) && *limits == standing.1
        };
        kept.iter().find(same).map(|(.., made)| made.clone())
    }

    /// Keeps a page.
    pub fn keep(&self, key: Key, standing: Standing, made: &Made) {
        if made.body.len() > LARGEST {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, ..)| known.path != key.path && known.generation == key.generation);
        kept.push_back((key, standing, made.clone()));
        if kept.len() > MOST {
            kept.pop_front();
        }
    }
}
