//! The short way of a tool call that came over stdin: one thread reads it, runs it and writes the answer. The SDK would pass
//! each call through three tasks and two channels, which costs more than most calls themselves.
//!
//! Only plain calls go this way (`frame.rs`): a name and arguments, from a client that began with `initialize`, to a tool that
//! asks nobody. It is the same `Server::call` that the SDK reaches, so the road, the gate and the order of edits are the same.
//! Called by `desk.rs`. Deliberately not here: reading and writing.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, JsonRpcMessage, RequestId, ServerResult,
};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::runtime::Handle;

use super::line;
use super::server::Server;
use super::turn::Turn;

/// The short way to a server.
pub struct Short {
    server: Arc<Server>,
    runtime: Handle,
    running: Mutex<HashMap<RequestId, CallOff>>,
    ended: Condvar,
}

type CallOff = Box<dyn Fn() + Send>;

/// A call that was taken from the line and not run yet.
pub struct Taken {
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
    id: RequestId,
}

impl Short {
    /// To this server, whose calls wait on this runtime where they must wait.
    pub fn new(server: Arc<Server>, runtime: Handle) -> Short {
        Short { server, runtime, running: Mutex::default(), ended: Condvar::new() }
    }

    /// The client, if a call of this tool may go this way now.
    pub fn takes(&self, tool: &str, id: &RequestId) -> Option<&Peer<RoleServer>> {
        self.server.plain_client(tool).filter(|_| !self.running().contains_key(id))
    }

    /// Takes a call. From now on it can be called off: a word to that effect may be the next in the line.
    pub fn take(
        &self,
        client: &Peer<RoleServer>,
        id: RequestId,
        params: CallToolRequestParams,
        turn: Option<Turn>,
    ) -> Taken {
        let mut context = RequestContext::new(id.clone(), client.clone());
        if let Some(turn) = turn {
            context.extensions.insert(turn);
        }
        let token = context.ct.clone();
        self.running().insert(id.clone(), Box::new(move || token.cancel()));
        Taken { params, context, id }
    }

    /// Calls a call off; false if it is none of these. It gets no answer any more.
    pub fn call_off(&self, id: &RequestId) -> bool {
        let Some(call_off) = self.running().remove(id) else { return false };
        call_off();
        self.ended.notify_all();
        true
    }

    /// Runs a call and writes the answer, if one is still wanted. A tool that breaks down is an answer, too.
    pub fn run(&self, taken: Taken, write: impl FnOnce(&[u8])) {
        let Taken { params, context, id } = taken;
        let called = catch_unwind(AssertUnwindSafe(|| {
            self.runtime.block_on(self.server.call_on_own_thread(params, context))
        }));
        if self.running().contains_key(&id) {
            write(&answer(&id, called.unwrap_or_else(|_| Err(broken_down()))));
        }
        // Only now: whoever waits for the last call waits for its answer.
        self.running().remove(&id);
        self.ended.notify_all();
    }

    /// Waits until all are answered, but not for ever; those that are left are called off.
    pub fn wait(&self, at_most: Duration) {
        let waited = self
            .ended
            .wait_timeout_while(self.running(), at_most, |running| !running.is_empty())
            .map(|(running, _)| running);
        let mut running = waited.unwrap_or_else(|poisoned| poisoned.into_inner().0);
        running.drain().for_each(|(_, call_off)| call_off());
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, CallOff>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(id: &RequestId, called: Result<CallToolResponse, ErrorData>) -> Vec<u8> {
    match called {
        Ok(CallToolResponse::Complete(result)) => line::of_result(id, &result),
        Ok(other) => line::of_message(&JsonRpcMessage::response(ServerResult::from(other), id.clone())),
        Err(error) => line::of_message(&JsonRpcMessage::error(error, Some(id.clone()))),
    }
}

fn broken_down() -> ErrorData {
    ErrorData::internal_error("the tool broke down; this is a fault of Verger, please report it", None)
}
