//! One live connection to a foreign server: come together, list its tools, call one. Everything is bounded in time and
//! size, and nothing is repeated.

use std::error::Error as StdError;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorCode, ErrorData, JsonObject, PaginatedRequestParams,
    ProtocolVersion, Tool,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};

use super::handler::{Forms, Handler};

/// How long the stream for a server's own questions may take to stand.
const SETTLING: Duration = Duration::from_millis(400);
/// The most pages of a list of tools.
const PAGES: usize = 50;
/// The most tools of one server.
const TOOLS: usize = 2_000;
/// The most bytes of one tool's own description of itself.
const LARGEST_TOOL: usize = 256 * 1024;

/// Which wire a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Era {
    /// Look for the newer one, and fall back.
    #[default]
    Either,
    /// With a handshake (revisions up to 2025-11-25).
    Handshake,
    /// Every request for itself (revision 2026-07-28).
    Stateless,
}

/// How something on a connection failed.
#[derive(Debug)]
pub enum Fault {
    /// The server answered with an error.
    Answered(ErrorData),
    /// It wants somebody to log in; its challenge, and the scope that was missing.
    Login {
        /// The header with which it said so.
        challenge: String,
        /// What the token lacked, if the token was good otherwise.
        scope: Option<String>,
    },
    /// The connection ended.
    Gone,
    /// It took too long.
    Slow,
    /// It broke the protocol, or could not be reached; why, in our words.
    Broken(String),
}

/// A live connection.
pub struct Connection {
    service: RunningService<RoleClient, Handler>,
    handler: Handler,
    tools: Mutex<Option<Arc<Vec<Tool>>>>,
}

impl Connection {
    /// Comes together with the server at the other end of a transport.
    pub async fn open<T, E, A>(
        transport: T,
        handler: Handler,
        era: Era,
        limit: Duration,
    ) -> Result<Connection, Fault>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: StdError + Send + Sync + 'static,
    {
        let opening = handler.clone().serve_with_lifecycle(transport, era.lifecycle());
        match tokio::time::timeout(limit, opening).await {
            Ok(Ok(service)) => Ok(Connection { service, handler, tools: Mutex::new(None) }),
            Ok(Err(error)) => Err(not_open(error)),
            Err(_) => Err(Fault::Slow),
        }
    }

    /// Over HTTP the SDK opens the stream for the server's own questions beside everything else, and says nothing
    /// when it stands; a question that a server asks before is lost. So whoever answers questions waits a moment.
    pub async fn settle(&self) {
        if self.handler.forms != Forms::Decline && self.revision() < ProtocolVersion::V_2026_07_28.to_string()
        {
            tokio::time::sleep(SETTLING).await;
        }
    }

    /// Whether it still stands.
    pub fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// The revision of the protocol that was agreed on.
    pub fn revision(&self) -> String {
        let info = self.service.peer().peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// The tools as they were listed last, if they were and are not known to have changed.
    pub fn known_tools(&self) -> Option<Arc<Vec<Tool>>> {
        if self.handler.stale.load(Ordering::Relaxed) {
            return None;
        }
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tools, asked for anew unless they are known.
    pub async fn tools(&self, limit: Duration) -> Result<Arc<Vec<Tool>>, Fault> {
        if let Some(tools) = self.known_tools() {
            return Ok(tools);
        }
        self.handler.stale.store(false, Ordering::Relaxed);
        let tools = tokio::time::timeout(limit, self.list()).await.map_err(|_| Fault::Slow)??;
        let tools = Arc::new(tools);
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&tools));
        Ok(tools)
    }

    async fn list(&self) -> Result<Vec<Tool>, Fault> {
        let mut tools: Vec<Tool> = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor = cursor;
            let page = self.service.list_tools(Some(page)).await.map_err(fault)?;
            tools.extend(page.tools);
            if tools.len() > TOOLS {
                return Err(Fault::Broken(format!("it lists more than {TOOLS} tools")));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                let large = |tool: &Tool| serde_json::to_vec(tool).map_or(usize::MAX, |text| text.len());
                tools.retain(|tool| large(tool) <= LARGEST_TOOL);
                return Ok(tools);
            }
        }
        Err(Fault::Broken(format!("its list of tools has more than {PAGES} pages")))
    }

    /// Calls a tool, once. When the limit passes or this is dropped, the server is told that the call is cancelled.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        limit: Duration,
    ) -> Result<CallToolResult, Fault> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let called = self.service.call_tool(params);
        tokio::time::timeout(limit, called).await.map_err(|_| Fault::Slow)?.map_err(fault)
    }

    /// Ends it and waits a moment for the other side.
    pub async fn close(self) {
        self.service.cancel().await.ok();
    }
}

impl Era {
    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred = || ProtocolVersion::KNOWN_VERSIONS.iter().rev().cloned().collect();
        match self {
            Era::Handshake => ClientLifecycleMode::Initialize,
            Era::Stateless => ClientLifecycleMode::Discover { preferred_versions: preferred() },
            Era::Either => ClientLifecycleMode::Auto {
                preferred_versions: preferred(),
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
        }
    }
}

fn not_open(error: ClientInitializeError) -> Fault {
    if let Some(login) = login_in(&error) {
        return login;
    }
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => not_open(*fallback),
        ClientInitializeError::ConnectionClosed(_) => Fault::Gone,
        ClientInitializeError::JsonRpcError(error) => Fault::Answered(error),
        ClientInitializeError::TransportError { error, .. } => Fault::Broken(in_our_words(&*error.error)),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            Fault::Broken("it speaks no revision of the protocol that verger knows".to_owned())
        }
        _ => Fault::Broken("its first answer makes no sense".to_owned()),
    }
}

fn fault(error: ServiceError) -> Fault {
    match error {
        ServiceError::McpError(error) => Fault::Answered(error),
        ServiceError::TransportSend(error) => match login_in(&error) {
            Some(login) => login,
            None => Fault::Broken(in_our_words(&*error.error)),
        },
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => Fault::Gone,
        ServiceError::Timeout { .. } => Fault::Slow,
        ServiceError::InputRequiredRoundsExceeded { .. } => {
            Fault::Broken("it asks again and again for more input".to_owned())
        }
        _ => Fault::Broken("its answer is of another kind than the question".to_owned()),
    }
}

/// The challenge in an error, however deep.
fn login_in(error: &(dyn StdError + 'static)) -> Option<Fault> {
    let mut inner = Some(error);
    while let Some(error) = inner {
        if let Some(auth) = error.downcast_ref::<AuthRequiredError>() {
            return Some(Fault::Login { challenge: auth.www_authenticate_header.clone(), scope: None });
        }
        if let Some(auth) = error.downcast_ref::<InsufficientScopeError>() {
            let scope = Some(auth.required_scope.clone().unwrap_or_default());
            return Some(Fault::Login { challenge: auth.www_authenticate_header.clone(), scope });
        }
        if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } =
            error.downcast_ref::<ClientInitializeError>().unwrap_or(&ClientInitializeError::Cancelled)
        {
            return login_in(&**fallback);
        }
        inner = match error.downcast_ref::<ClientInitializeError>() {
            Some(ClientInitializeError::TransportError { error, .. }) => Some(&*error.error),
            _ => error.source(),
        };
    }
    None
}

/// What kind of trouble a transport had, without anything that the other side wrote.
fn in_our_words(error: &(dyn StdError + 'static)) -> String {
    let mut inner = Some(error);
    while let Some(error) = inner {
        if let Some(error) = error.downcast_ref::<crate::egress::Blocked>() {
            return error.to_string();
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return format!("the connection failed ({})", error.kind());
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            if let Some(status) = error.status() {
                return format!("it answers with HTTP {}", status.as_u16());
            }
            if error.is_timeout() {
                return "it cannot be reached in time".to_owned();
            }
        }
        inner = error.source();
    }
    "the connection failed".to_owned()
}

/// Whether the server did not know the first question, so that the other wire may be its own.
pub fn speaks_otherwise(fault: &Fault) -> bool {
    matches!(fault, Fault::Answered(error)
        if matches!(error.code, ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_REQUEST | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION))
}
