//! The gate: every HTTP request passes it before the protocol sees it.
//!
//! In this order: from where (`Host`, `Origin`), who (the token), whose session, how large, whether it is a message at
//! all, and whether the token reaches that far. What is refused here has cost no call. Tokens, arguments and texts of
//! notes are in no message and no log.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use pipeline::World as _;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};

use super::busy::Busy;
use super::settings::{Sessions, Settings};
use crate::mcp::auth::{Auth, Principal, Unwelcome, tool_scope};
use crate::mcp::frame::{self, Frame};
use crate::mcp::hall::Hall;
use crate::mcp::resource;
use crate::mcp::server::{Clients, Server};
use crate::mcp::tasks::Sitting;
use crate::socket::origin::Neighbours;
use crate::world::RealWorld;

mod papers;
mod reply;

use papers::Papers;
use reply::{json, plain, rpc_error};

/// Sessions at once, of all clients together.
const MOST_SESSIONS: usize = 256;
/// How long a client may take for the body of a request.
const BODY: Duration = Duration::from_secs(15);
/// How long an answer is kept for a client whose connection broke; it is told to come back after three seconds.
const KEPT_ANSWERS: Duration = Duration::from_secs(10);
const SESSION_ID: &str = "mcp-session-id";
/// Headers that decide something; two of a kind could be read in two ways.
const ONCE: [&str; 7] =
    ["host", "origin", "authorization", "content-type", "content-length", SESSION_ID, "mcp-protocol-version"];

/// What passed, or the answer that turns it away.
type Passed<T> = Result<T, Box<Response>>;

/// The gate and what lies behind it.
pub struct Gate {
    hall: Arc<Hall>,
    auth: Auth,
    papers: Papers,
    neighbours: Neighbours,
    path: String,
    max_body: usize,
    mode: Sessions,
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Whose each session is.
    owners: Mutex<HashMap<Arc<str>, Principal>>,
    busy: Arc<Busy>,
}

impl Gate {
    /// A gate for a door at this address.
    pub fn new(hall: Arc<Hall>, auth: Auth, address: SocketAddr, settings: Settings) -> Gate {
        let mut session = SessionConfig::default();
        session.keep_alive = Some(settings.stale);
        session.completed_cache_ttl = KEPT_ANSWERS;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = session;
        let sessions = Arc::new(sessions);
        // From where a request comes was judged by the gate; the size was, too.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(settings.max_body)
            .with_legacy_session_mode(settings.sessions == Sessions::Kept)
            .with_sse_keep_alive(Some(settings.heartbeat));
        let factory = {
            let hall = Arc::clone(&hall);
            move || Ok(Server::new(Arc::clone(&hall), Clients::Many))
        };
        Gate {
            papers: Papers::new(&hall, address, &settings),
            neighbours: Neighbours::new(address, settings.public_url.as_deref(), settings.origins),
            path: settings.path,
            max_body: settings.max_body,
            mode: settings.sessions,
            service: StreamableHttpService::new(factory, Arc::clone(&sessions), config),
            sessions,
            owners: Mutex::default(),
            busy: Arc::default(),
            hall,
            auth,
        }
    }

    /// Everything that can be asked for over HTTP.
    pub fn router(self: &Arc<Gate>) -> Router {
        let about = "/.well-known/oauth-protected-resource";
        Router::new()
            .route("/healthz", get(|| async { json(StatusCode::OK, &serde_json::json!({"status": "ok"})) }))
            .route("/.well-known/mcp.json", get(papers::card))
            .route(about, get(papers::protected_resource))
            .route(&format!("{about}{}", self.path), get(papers::protected_resource))
            .route(&self.path, any(endpoint))
            .fallback(|| async { plain(StatusCode::NOT_FOUND, "there is nothing here") })
            .layer(middleware::from_fn_with_state(Arc::clone(self), from_where))
            .with_state(Arc::clone(self))
    }

    /// Answers a request of somebody who was judged elsewhere.
    pub async fn answer(&self, request: Request, who: Principal) -> Response {
        self.pass(request, who).await.unwrap_or_else(|refused| *refused)
    }

    /// The door's card.
    pub fn card(&self) -> Response {
        json(StatusCode::OK, self.papers.card())
    }

    /// The answer to somebody whose token does not count elsewhere.
    pub fn unwelcome(&self, why: &'static str) -> Response {
        self.papers.unwelcome(Unwelcome::Invalid(why))
    }

    /// Waits until no call is in flight.
    pub async fn idle(&self) {
        self.busy.idle().await;
    }

    /// Ends all streams and sessions.
    pub async fn end(&self) {
        self.service.config.cancellation_token.cancel();
        let open: Vec<_> = self.sessions.sessions.read().await.keys().cloned().collect();
        for id in open {
            // One that has ended by itself meanwhile is as good.
            self.sessions.close_session(&id).await.ok();
        }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<Arc<str>, Principal>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session that a request names, if it is the visitor's own. A foreign one is as unknown as none.
    fn sitting(&self, headers: &HeaderMap, who: &Principal) -> Passed<Option<Sitting>> {
        if self.mode == Sessions::None {
            return Ok(None);
        }
        let Some(id) = headers.get(SESSION_ID) else { return Ok(None) };
        let owners = self.owners();
        let known = id.to_str().ok().and_then(|id| owners.get_key_value(id));
        match known {
            Some((id, owner)) if owner.id() == who.id() => Ok(Some(Sitting(Arc::clone(id)))),
            _ => Err(plain(StatusCode::NOT_FOUND, "there is no such session; begin a new one").into()),
        }
    }

    /// Whether one more session fits. Those that ended by themselves are struck off first.
    async fn has_place(&self) -> bool {
        let open = self.sessions.sessions.read().await;
        self.owners().retain(|id, _| open.contains_key(id));
        open.len() < MOST_SESSIONS
    }

    /// Whether the visitor's token reaches as far as this message.
    fn reaches(&self, message: &ClientJsonRpcMessage, who: &Principal) -> Passed<()> {
        let JsonRpcMessage::Request(request) = message else { return Ok(()) };
        let missing = match &request.request {
            ClientRequest::CallToolRequest(call) => {
                let tool = call.params.name.as_ref();
                let effect = self.hall.effect(tool).filter(|effect| !who.may_call(tool, *effect));
                effect.map(|effect| tool_scope(tool, effect))
            }
            ClientRequest::ReadResourceRequest(read) => {
                let name = resource::name(&read.params.uri);
                (!who.may_read(name)).then(|| format!("resource:{name}:read"))
            }
            _ => None,
        };
        missing.map_or(Ok(()), |scope| Err(self.papers.out_of_scope(&scope).into()))
    }

    /// Reads and judges the body of a POST. What comes back is the message and its bytes.
    async fn message(&self, headers: &HeaderMap, body: Body) -> Passed<(ClientJsonRpcMessage, Vec<u8>)> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.is_some_and(|length| length.parse().map_or(true, |length: usize| length > self.max_body))
        {
            return Err(reply::too_large(self.max_body).into());
        }
        let bytes = tokio::time::timeout(BODY, collect(body, self.max_body)).await;
        let bytes = match bytes {
            Err(_) => {
                return Err(plain(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time").into());
            }
            Ok(Err(Unread::TooLarge)) => return Err(reply::too_large(self.max_body).into()),
            Ok(Err(Unread::Broken)) => {
                return Err(plain(StatusCode::BAD_REQUEST, "the body broke off").into());
            }
            Ok(Ok(bytes)) => bytes,
        };
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        match frame::judge(text) {
            Frame::Message(message) => Ok((*message, text.to_vec())),
            Frame::Answer(answer) => Err(json(StatusCode::BAD_REQUEST, &answer).into()),
            Frame::Nothing if text.trim_ascii().is_empty() => {
                Err(rpc_error(StatusCode::BAD_REQUEST, frame::INVALID_REQUEST, "there is no message").into())
            }
            // A notification or an answer that nobody understands: JSON-RPC leaves it alone.
            Frame::Nothing => Err(StatusCode::ACCEPTED.into_response().into()),
        }
    }

    /// A request for the endpoint of somebody who was let in.
    async fn pass(&self, request: Request, who: Principal) -> Passed<Response> {
        let (mut parts, body) = request.into_parts();
        let sitting = self.sitting(&parts.headers, &who)?;
        let (message, body) = match parts.method {
            Method::POST if reply::is_json(&parts.headers) => {
                let (message, bytes) = self.message(&parts.headers, body).await?;
                self.reaches(&message, &who)?;
                (Some(message), Body::from(bytes))
            }
            _ => (None, Body::empty()),
        };
        let begins = message.as_ref().is_some_and(is_initialize) && self.mode == Sessions::Kept;
        if begins && !self.has_place().await {
            return Err(reply::full().into());
        }
        let waits = message.as_ref().is_some_and(is_awaited);
        let ends = (parts.method == Method::DELETE).then(|| sitting.clone()).flatten();
        parts.extensions.insert(who.clone());
        sitting.map(|sitting| parts.extensions.insert(sitting));
        let call = waits.then(|| self.busy.begin());
        let mut answer = self.service.handle(Request::from_parts(parts, body)).await;
        if begins && let Some(id) = answer.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()) {
            self.owners().insert(id.into(), who);
        }
        if let Some(Sitting(id)) = ends {
            self.owners().remove(&id);
            if answer.status() == StatusCode::ACCEPTED {
                // It is over, not only accepted: there are clients that take 202 for a failure.
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
        }
        Ok(match call {
            Some(call) => call.until_sent(answer),
            None => answer.map(Body::new),
        })
    }
}

/// Whether a session begins with it.
fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// Whether the end waits for its answer. A subscription lasts until one side ends it.
fn is_awaited(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)))
}

/// The endpoint of the protocol.
async fn endpoint(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let now = RealWorld.now().timestamp().as_second();
    let token = request.headers().get(AUTHORIZATION).map(axum::http::HeaderValue::as_bytes);
    match gate.auth.admit(token, now).await {
        Ok(who) => gate.pass(request, who).await.unwrap_or_else(|refused| *refused),
        Err(Unwelcome::Undecided(why)) => plain(StatusCode::SERVICE_UNAVAILABLE, why),
        Err(why) => gate.papers.unwelcome(why),
    }
}

/// Lets nobody near who names a foreign host or comes from a foreign page.
async fn from_where(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if ONCE.iter().any(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        return plain(StatusCode::BAD_REQUEST, "a header is there twice");
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host else { return plain(StatusCode::BAD_REQUEST, "there is no usable Host header") };
    // A request may name its host in the first line, too; then that one counts, so it must be as good.
    let first =
        request.uri().authority().is_none_or(|authority| gate.neighbours.may_name(authority.as_str()));
    if !first || !gate.neighbours.may_name(host) {
        return plain(StatusCode::FORBIDDEN, "this host is not served here");
    }
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default().to_owned());
    if origin.as_deref().is_some_and(|origin| !gate.neighbours.may_call(origin)) {
        return plain(StatusCode::FORBIDDEN, "pages of this origin may not call");
    }
    let named = origin.filter(|origin| gate.neighbours.is_named(origin));
    let answer = match (&named, request.method()) {
        (Some(_), &Method::OPTIONS) => reply::preflight(),
        _ => next.run(request).await,
    };
    reply::finish(answer, named.as_deref())
}

/// Why a body could not be read.
enum Unread {
    TooLarge,
    Broken,
}

async fn collect(body: Body, most: usize) -> Result<Vec<u8>, Unread> {
    let mut body = std::pin::pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if data.len() > most - bytes.len() {
            return Err(Unread::TooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}
