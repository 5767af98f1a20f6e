//! Keys of providers in the keyring of the system: the Secret Service on Linux, the keychain on a Mac.
//!
//! Asked by `study/models.rs` when a provider of `config.toml` says `key = "keyring"`, written by the settings of the page. Where
//! no keyring runs, that is an answer in words, not a failure of the program. A keyring may ask the person to unlock it, so it is
//! asked on a thread of its own, and not waited for without end.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};
use std::sync::Arc;

/// Under this name the keys stand in the keyring.
const SERVICE: &str = "verger";
/// How long the person may take to unlock it.
const PATIENCE: Duration = Duration::from_secs(45);

/// Why the keyring does not help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// None runs here.
    Missing,
    /// It is locked, or it said no.
    Closed,
    /// It did not answer.
    Slow,
    /// Something else.
    Other(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Missing => f.write_str("no keyring runs on this machine"),
            Trouble::Closed => f.write_str("the keyring is locked"),
            Trouble::Slow => f.write_str("the keyring did not answer in time"),
            Trouble::Other(why) => write!(f, "the keyring refused: {why}"),
        }
    }
}

impl Trouble {
    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            Trouble::Missing => {
                "put the key into an environment variable, or let it be kept in a file that only you can read"
            }
            Trouble::Closed | Trouble::Slow => "unlock it (log in to your desktop) and try again",
            Trouble::Other(_) => "look at the keyring's own program, or keep the key in another place",
        }
    }
}

/// The key that is kept under this name, if there is one.
pub fn get(name: &str) -> Result<Option<String>, Trouble> {
    alone(name, |entry| match entry.get_password() {
        Ok(key) => Ok(Some(key)),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error),
    })
}

/// Keeps a key under this name; one that was there is replaced.
pub fn set(name: &str, key: &str) -> Result<(), Trouble> {
    let key = key.to_owned();
    alone(name, move |entry| entry.set_password(&key))
}

/// Forgets the key of this name; whether there was one.
pub fn forget(name: &str) -> Result<bool, Trouble> {
    alone(name, |entry| match entry.delete_credential() {
        Ok(()) => Ok(true),
        Err(Error::NoEntry) => Ok(false),
        Err(error) => Err(error),
    })
}

/// Whether a keyring can be reached at all. Nothing in it is asked for, so nobody is asked to unlock it.
pub fn reach() -> Result<(), Trouble> {
    aside(|| open().map(drop))
}

fn alone<T: Send + 'static>(
    name: &str,
    work: impl FnOnce(&Entry) -> keyring_core::Result<T> + Send + 'static,
) -> Result<T, Trouble> {
    let name = name.to_owned();
    aside(move || work(&open()?.build(SERVICE, &name, None)?))
}

/// On a thread of its own: the way to the keyring brings its own event loop, which must not run inside another.
fn aside<T: Send + 'static>(
    work: impl FnOnce() -> keyring_core::Result<T> + Send + 'static,
) -> Result<T, Trouble> {
    let (send, receive) = channel();
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    // Nobody listens any more if it took too long.
    let started = thread.spawn(move || drop(send.send(work())));
    if let Err(error) = started {
        return Err(Trouble::Other(error.to_string()));
    }
    match receive.recv_timeout(PATIENCE) {
        Ok(answer) => answer.map_err(trouble),
        Err(RecvTimeoutError::Timeout) => Err(Trouble::Slow),
        Err(RecvTimeoutError::Disconnected) => Err(Trouble::Other("it broke off".to_owned())),
    }
}

fn trouble(error: Error) -> Trouble {
    match error {
        Error::NoDefaultStore | Error::NotSupportedByStore(_) => Trouble::Missing,
        Error::NoStorageAccess(_) => Trouble::Closed,
        other => Trouble::Other(short(&other.to_string())),
    }
}

/// The key itself is never part of what a keyring says; a long tale is cut all the same.
fn short(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

#[cfg(target_os = "linux")]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    // No bus, or nobody on it who keeps secrets: that is how most servers are.
    let store = zbus_secret_service_keyring_store::Store::new();
    store.map(|store| store as Arc<CredentialStore>).map_err(|_| Error::NoDefaultStore)
}

#[cfg(target_os = "macos")]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    Err(Error::NoDefaultStore)
}
