//! Where tokens are kept between runs: one private file, one entry for each server and address.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};

use super::store::JsonFile;
use super::trouble::Trouble;

type File = BTreeMap<String, StoredCredentials>;

/// The tokens of one server.
#[derive(Debug, Clone)]
pub struct Tokens {
    file: JsonFile,
    key: String,
}

impl Tokens {
    /// The tokens of the server of this name at this address; at another address they are not its tokens.
    pub fn of(file: JsonFile, server: &str, url: &str) -> Tokens {
        Tokens { file, key: format!("{server} {url}") }
    }

    /// Whether there are any.
    pub fn any(&self) -> Result<bool, Trouble> {
        let file: File = self.file.read()?;
        Ok(file.get(&self.key).is_some_and(|stored| stored.token_response.is_some()))
    }

    /// Forgets them.
    pub fn forget(&self) -> Result<bool, Trouble> {
        self.file.change(|file: &mut File| file.remove(&self.key).is_some())
    }
}

#[async_trait]
impl CredentialStore for Tokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let mut file: File = self.file.read().map_err(failed)?;
        Ok(file.remove(&self.key))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.file.change(|file: &mut File| file.insert(self.key.clone(), credentials)).map_err(failed)?;
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.forget().map_err(failed)?;
        Ok(())
    }
}

fn failed(trouble: Trouble) -> AuthError {
    AuthError::CredentialStoreError(trouble.to_string())
}
