//! How many calls are in flight, so that the end can wait for them.
//!
//! A call is in flight until the last byte of its answer was taken by the connection, or the client went away.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;

/// The calls in flight.
#[derive(Debug, Default)]
pub struct Busy {
    calls: AtomicUsize,
    done: Notify,
}

/// One of them.
#[derive(Debug)]
pub struct Call(Arc<Busy>);

impl Busy {
    /// One more, until what is returned is dropped.
    pub fn begin(self: &Arc<Busy>) -> Call {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Call(Arc::clone(self))
    }

    /// Waits until there is none.
    pub async fn idle(&self) {
        loop {
            let done = self.done.notified();
            if self.calls.load(Ordering::SeqCst) == 0 {
                return;
            }
            done.await;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
        self.0.done.notify_waiters();
    }
}

impl Call {
    /// Keeps the call in flight until this answer is out.
    pub fn until_sent<B>(self, answer: axum::http::Response<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        answer.map(|body| Body::new(Sending { body, _call: self }))
    }
}

struct Sending<B> {
    body: B,
    _call: Call,
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Sending<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_idle_when_the_last_answer_is_gone() {
        let busy = Arc::new(Busy::default());
        busy.idle().await;
        let (first, second) = (busy.begin(), busy.begin());
        let answer = first.until_sent(Response::new(Body::from("x")));
        drop(second);
        let waiting = tokio::spawn({
            let busy = Arc::clone(&busy);
            async move { busy.idle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(answer);
        waiting.await.unwrap();
    }
}
