//! A connection whose other end must read: one that takes nothing for too long is broken off.
//!
//! Whoever opens a stream of news or asks for a long answer and then does not read would hold a place, and what waits to be
//! sent, for ever. Called by `http.rs`. Deliberately not here: limits on what comes in.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream with a limit on how long nothing may be taken.
pub struct Unread<S> {
    stream: S,
    limit: Duration,
    /// Runs while something waits to be taken.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> Unread<S> {
    /// This stream under this limit.
    pub fn new(stream: S, limit: Duration) -> Unread<S> {
        Unread { stream, limit, waits: None }
    }

    /// Passes on what came of it, or that it took too long. Whatever was taken starts the time anew.
    fn within<T>(&mut self, context: &mut Context<'_>, came: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if came.is_ready() {
            self.waits = None;
            return came;
        }
        let limit = self.limit;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(waits.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unread<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unread<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let came = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within(context, came)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let came = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.within(context, came)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let came = Pin::new(&mut self.stream).poll_flush(context);
        self.within(context, came)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let came = Pin::new(&mut self.stream).poll_shutdown(context);
        self.within(context, came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn a_client_that_does_not_read_is_let_go() {
        let (ours, _theirs) = duplex(16);
        let mut ours = Unread::new(ours, Duration::from_millis(50));
        let error = ours.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_is_not() {
        let (ours, mut theirs) = duplex(16);
        let mut ours = Unread::new(ours, Duration::from_millis(500));
        let reader = tokio::spawn(async move {
            let (mut taken, mut some) = (0, [0; 16]);
            while let Ok(count @ 1..) = theirs.read(&mut some).await {
                taken += count;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            taken
        });
        // Longer in all than nothing at all may be taken.
        ours.write_all(&[0; 16 * 40]).await.unwrap();
        drop(ours);
        assert_eq!(reader.await.unwrap(), 16 * 40);
    }
}
