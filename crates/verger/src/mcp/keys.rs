//! The public keys of an authorization server, fetched from the address that the settings name and kept for a while.
//!
//! The one place of the MCP door that asks something of another machine. It goes only where the person said, follows
//! no redirects, reads a bounded answer, and a stranger's token cannot make it ask more than twice a minute.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};

use super::auth::Unwelcome;
use super::auth::jwt::PublicKey;
use crate::failure::{Exit, Failure};

/// How long the other machine may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer that is read.
const LONGEST: usize = 256 * 1024;
/// Keys that are taken from one answer.
const MOST: usize = 64;
/// For how long keys are believed, in seconds.
const FRESH: i64 = 600;
/// How soon it is asked again for a key that it did not have, in seconds.
const PAUSE: i64 = 30;

/// The keys, and where they come from.
pub struct Keys {
    address: String,
    client: reqwest::Client,
    known: Mutex<Known>,
    /// Held by whoever fetches; who has a key already does not wait for it.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    keys: Vec<(Option<String>, PublicKey)>,
    /// When they were fetched, and when it was last tried.
    fetched: Option<i64>,
    tried: Option<i64>,
}

impl Keys {
    /// Keys from this address. Nothing is fetched yet.
    #[expect(clippy::disallowed_methods, reason = "the published keys, at the address that the person named")]
    pub fn at(address: String) -> Result<Keys, Failure> {
        // Whoever comes second finds it done.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| {
                Failure::new(Exit::Failed, "internal", format!("no HTTPS here: {error}"), "start it again")
            })?;
        Ok(Keys { address, client, known: Mutex::default(), fetching: tokio::sync::Mutex::default() })
    }

    /// The key of this name; without a name, the only one there is.
    pub async fn find(&self, name: Option<&str>, now: i64) -> Result<PublicKey, Unwelcome> {
        if let Some(key) = self.known().fresh(name, now) {
            return Ok(key);
        }
        let _turn = self.fetching.lock().await;
        // Somebody else may have fetched it while this one waited.
        if let Some(key) = self.known().fresh(name, now) {
            return Ok(key);
        }
        let due = self.known().tried.is_none_or(|at| now - at >= PAUSE);
        if due {
            self.known().tried = Some(now);
            if let Some(keys) = self.fetch().await {
                *self.known() = Known { keys, fetched: Some(now), tried: Some(now) };
            }
        }
        let known = self.known();
        match known.fetched {
            // Keys that could not be renewed are believed for as long again, then no more.
            Some(at) if now - at < 2 * FRESH => {
                known.find(name).ok_or(Unwelcome::Invalid("the token's key is not known"))
            }
            _ => Err(Unwelcome::Undecided("the authorization server's keys cannot be fetched now")),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self) -> Option<Vec<(Option<String>, PublicKey)>> {
        let mut answer = self.client.get(&self.address).send().await.ok()?;
        if answer.status() != reqwest::StatusCode::OK {
            return None;
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.ok()? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST {
                return None;
            }
        }
        read(&body)
    }
}

impl Known {
    fn fresh(&self, name: Option<&str>, now: i64) -> Option<PublicKey> {
        self.fetched.filter(|at| now - at < FRESH).and_then(|_| self.find(name))
    }

    fn find(&self, name: Option<&str>) -> Option<PublicKey> {
        match (name, self.keys.as_slice()) {
            (None, [(_, only)]) => Some(only.clone()),
            (None, _) => None,
            (Some(name), keys) => {
                keys.iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, key)| key.clone())
            }
        }
    }
}

/// The keys of a published set (RFC 7517).
fn read(body: &[u8]) -> Option<Vec<(Option<String>, PublicKey)>> {
    let set: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let keys = set.get("keys")?.as_array()?.iter().filter_map(Value::as_object);
    Some(keys.filter_map(PublicKey::of).take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_and_a_key_is_found_by_its_name() {
        let set = br#"{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"},{"kty":"oct","k":"AQ"},7,
                               {"kty":"RSA","kid":"b","n":"AQAC","e":"AQAB"}]}"#;
        let keys = read(set).unwrap();
        assert_eq!(keys.len(), 2);
        let mut known = Known { keys, ..Known::default() };
        assert!(known.find(Some("b")).is_some());
        assert_eq!(known.find(Some("c")), None);
        assert_eq!(known.find(None), None, "there are two");
        known.keys.pop();
        assert!(known.find(None).is_some());
        for broken in ["", "[]", "{}", "{\"keys\":{}}"] {
            assert_eq!(read(broken.as_bytes()), None, "{broken}");
        }
    }

    #[tokio::test]
    async fn an_address_where_nobody_answers_is_asked_twice_a_minute_at_most() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/keys", listener.local_addr().unwrap());
        drop(listener);
        let keys = Keys::at(address).unwrap();
        for now in [100, 101, 129] {
            let answer = keys.find(Some("a"), now).await;
            assert!(matches!(answer, Err(Unwelcome::Undecided(_))), "{answer:?}");
            assert_eq!(keys.known().tried, Some(100));
        }
        keys.find(Some("a"), 130).await.unwrap_err();
        assert_eq!(keys.known().tried, Some(130));
    }

    #[tokio::test]
    async fn a_strangers_key_does_not_hold_up_those_that_are_known() {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/keys", listener.local_addr().unwrap());
        // Answers once, and then never again.
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
            let body = r#"{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}]}"#;
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            let silent = listener.accept();
            std::thread::sleep(Duration::from_secs(60));
            drop(silent);
        });
        let keys = std::sync::Arc::new(Keys::at(address).unwrap());
        keys.find(Some("a"), 100).await.unwrap();
        let stranger = tokio::spawn({
            let keys = std::sync::Arc::clone(&keys);
            async move { keys.find(Some("b"), 200).await }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let known = tokio::time::timeout(Duration::from_secs(1), keys.find(Some("a"), 200)).await;
        assert!(known.unwrap().is_ok());
        assert!(!stranger.is_finished());
        stranger.abort();
    }
}
