//! One server with its connection, if there is one: kept, given up, and left alone for a while after it failed.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::foreign::connection::Connection;
use crate::foreign::process::Log;
use crate::foreign::server::Server;

/// The longest that a failing server is left alone.
const LONGEST_WAIT: u64 = 60;

/// A server and its connection.
pub(super) struct Entry {
    pub(super) server: Server,
    pub(super) log: Log,
    pub(super) live: tokio::sync::Mutex<Option<Arc<Connection>>>,
    /// The same for those who only look.
    known: Mutex<Option<Arc<Connection>>>,
    failures: Mutex<Option<(u32, Instant)>>,
    pub(super) uses: AtomicU64,
}

impl Entry {
    pub(super) fn new(server: Server) -> Entry {
        Entry {
            server,
            log: Log::default(),
            live: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            failures: Mutex::default(),
            uses: AtomicU64::new(0),
        }
    }

    pub(super) fn known(&self) -> Option<Arc<Connection>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|live| live.is_open())
    }

    pub(super) fn set_known(&self, live: Option<Arc<Connection>>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = live;
    }

    pub(super) async fn drop_connection(&self) {
        let live = self.live.lock().await.take();
        self.set_known(None);
        if let Some(live) = live.and_then(Arc::into_inner) {
            live.close().await;
        }
    }

    /// For how many seconds a failing server is still left alone.
    pub(super) fn waiting(&self) -> Option<u64> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, since) = (*failures)?;
        let wait = Duration::from_secs(2_u64.saturating_pow(count).min(LONGEST_WAIT));
        let left = wait.checked_sub(since.elapsed())?;
        Some(left.as_secs() + 1)
    }

    pub(super) fn failed(&self) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        *failures = Some((failures.map_or(0, |(count, _)| count + 1), Instant::now()));
    }

    pub(super) fn succeeded(&self) {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
