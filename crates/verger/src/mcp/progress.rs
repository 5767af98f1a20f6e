//! Signs of life while a call takes long (the first index of a large vault, a big batch): `notifications/progress` for
//! clients that gave a token. The numbers are seconds, because nobody knows beforehand how long it takes.

use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::task::JoinHandle;

/// How often the client hears something.
const EVERY: Duration = Duration::from_secs(1);

/// Tells the client until it is dropped.
pub struct Progress(Option<JoinHandle<()>>);

impl Progress {
    /// Starts, if the client asked for it.
    pub fn of(context: &RequestContext<RoleServer>, tool: &str) -> Progress {
        let Some(token) = context.meta.get_progress_token() else { return Progress(None) };
        let (peer, tool): (Peer<RoleServer>, String) = (context.peer.clone(), tool.to_owned());
        Progress(Some(tokio::spawn(async move {
            let mut seconds = 0.0;
            loop {
                tokio::time::sleep(EVERY).await;
                seconds += EVERY.as_secs_f64();
                let mut news = ProgressNotificationParam::new(token.clone(), seconds);
                news.message = Some(format!("{tool} is at work ({seconds} s)"));
                if peer.notify_progress(news).await.is_err() {
                    return;
                }
            }
        })))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
