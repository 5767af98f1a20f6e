//! A child's pipes as the SDK's transport: a line is a message. Lines that are no JSON are passed over (programs print
//! things); of a line that never ends no more than 16 MiB are kept, and the call ends at its limit.

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::time::Duration;
use tokio::process::{ChildStdin, ChildStdout};

use super::process::{Kept, Started};

/// How long a server may take to end after its stdin was closed.
const FAREWELL: Duration = Duration::from_secs(2);

/// The pipes, and the child that goes with them.
pub struct Pipes {
    lines: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
    child: Option<Kept>,
}

impl Pipes {
    /// Speaks with a child.
    pub fn new(started: Started) -> Pipes {
        Pipes { lines: AsyncRwTransport::new(started.stdout, started.stdin), child: Some(started.child) }
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.lines.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await.ok();
        if let Some(mut child) = self.child.take() {
            // It may end by itself; then what it started is ended with the group.
            tokio::time::timeout(FAREWELL, child.ended()).await.ok();
        }
        Ok(())
    }
}
