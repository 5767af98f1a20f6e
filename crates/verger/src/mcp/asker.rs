//! Who decides on a call that came over MCP: the client by having been let in, or its user by elicitation.
//!
//! Changes to notes are what the client was started for, so they are allowed and can be taken back; a delete and a command
//! of the app are asked where the client can ask; what leaves the machine, and everything under `--ask`, is asked or denied.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pipeline::approve::Deciding;
use pipeline::{Asker, Decision, Lifetime, Question};
use rmcp::model::{
    CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, RequestStateCodec, SealOptions,
    ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleServer, ServiceError};
use vault::Change;
use vault::change::{Trash, diff_all};

use super::hall::Approval;

/// How long a person may think.
const PATIENCE: Duration = Duration::from_secs(600);
/// How much of a diff the person is shown; a client's dialog is small.
const SHOWN: usize = 4_000;

/// The name of the one question in a result that asks.
const ASKED: &str = "confirm";

/// The way to the client's user.
pub enum Way {
    /// There is none.
    None,
    /// A request of ours, answered while the call waits.
    Now(Peer<RoleServer>),
    /// A result that asks; the client calls again and brings the answer along.
    Later(Box<Later>),
}

/// What a client that calls again brings along.
pub struct Later {
    seal: RequestStateCodec,
    /// To whom and to which call an answer belongs.
    bound: Vec<u8>,
    said: Option<ElicitResult>,
    /// The question that was answered, as the seal names it.
    answered: Option<Vec<u8>>,
}

impl Way {
    /// For a client that calls again. What is not sealed by us for this very call counts for nothing.
    pub fn later(seal: RequestStateCodec, who: &str, request: &CallToolRequestParams) -> Way {
        let arguments = request.arguments.as_ref().map(serde_json::to_string).and_then(Result::ok);
        let bound = format!("{who}\n{}\n{}", request.name, arguments.unwrap_or_default()).into_bytes();
        let opened = request.request_state.as_deref().and_then(|state| seal.open_with(state, &bound).ok());
        let said = request.input_responses.as_ref().and_then(|said| said.get(ASKED).cloned());
        let said = said.and_then(|said| serde_json::from_value(said).ok());
        Way::Later(Box::new(Later { seal, bound, said, answered: opened }))
    }
}

/// The client, and its user where the client can ask.
pub struct AtClient {
    approval: Approval,
    way: Way,
    asked: AtomicBool,
    declined_delete: AtomicBool,
    open: Mutex<Option<InputRequiredResult>>,
}

impl AtClient {
    /// For one call.
    pub fn new(approval: Approval, way: Way) -> AtClient {
        AtClient {
            approval,
            way,
            asked: AtomicBool::new(false),
            declined_delete: AtomicBool::new(false),
            open: Mutex::new(None),
        }
    }

    /// The question that the client must take to its user before it calls again.
    pub fn open_question(&self) -> Option<InputRequiredResult> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the user was asked about a delete and did not want it.
    pub fn declined_delete(&self) -> bool {
        self.declined_delete.load(Ordering::Relaxed)
    }

    async fn decide(&self, question: &Question<'_>) -> Decision {
        let delete = is_delete(question.changes);
        // An action has a target; no client was let in for that, but for the app beside the vault, which somebody connected.
        let beyond = question.target.is_some_and(|target| target != tools::obsidian::app::TARGET);
        let must_ask = self.approval == Approval::Ask || beyond || question.warning.is_some();
        let command = question.tool == "obsidian_execute_command";
        let said = match &self.way {
            _ if !must_ask && !delete && !command => return Decision::Yes(Lifetime::Once),
            Way::None if must_ask => {
                let reason = "the client cannot ask its user, and no grant covers it".to_owned();
                return Decision::No { reason: Some(reason) };
            }
            Way::None => return Decision::Yes(Lifetime::Once),
            Way::Now(user) => ask(user, question).await,
            Way::Later(later) => match later.answer(question) {
                Ok(said) => Ok(said),
                Err(form) => {
                    *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(*form);
                    return Decision::No { reason: Some("the client asks its user first".to_owned()) };
                }
            },
        };
        self.asked.store(true, Ordering::Relaxed);
        let yes = said.as_ref().is_ok_and(is_yes);
        self.declined_delete.store(delete && !yes, Ordering::Relaxed);
        match (yes, said) {
            (true, _) => Decision::Yes(Lifetime::Once),
            (_, Ok(_)) => Decision::No { reason: None },
            (_, Err(error)) => Decision::No { reason: Some(format!("the client could not ask: {error}")) },
        }
    }
}

impl Later {
    /// What the user said to this very question, or the question to take to the user.
    fn answer(&self, question: &Question<'_>) -> Result<ElicitResult, Box<InputRequiredResult>> {
        // The whole diff counts, not only what a dialog shows: whoever said yes said it to this change.
        let whole = format!("{}\n{}", message(question), diff_all(question.changes));
        let name = ring::digest::digest(&ring::digest::SHA256, whole.as_bytes());
        if let (Some(said), Some(answered)) = (&self.said, &self.answered)
            && answered == name.as_ref()
        {
            return Ok(said.clone());
        }
        let mut requests = InputRequests::new();
        requests.insert(ASKED.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form(question))));
        let options = SealOptions::new().associated_data(&self.bound).ttl(PATIENCE);
        let sealed = self.seal.seal_with(name.as_ref(), &options);
        Err(Box::new(InputRequiredResult::new(Some(requests), Some(sealed))))
    }
}

impl Asker for AtClient {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(self.decide(question))
    }

    fn name(&self) -> &str {
        if self.asked.load(Ordering::Relaxed) { "mcp elicitation" } else { "mcp client" }
    }

    fn is_person(&self) -> bool {
        !matches!(self.way, Way::None)
    }
}

fn is_delete(changes: &[Change]) -> bool {
    changes.iter().any(|change| match change {
        Change::Delete { .. } | Change::RemoveFolder { .. } => true,
        Change::Move { trash, .. } => *trash == Trash::Into,
        Change::Create { .. } | Change::Replace { .. } | Change::MakeFolder { .. } => false,
    })
}

fn is_yes(said: &ElicitResult) -> bool {
    let confirmed = said.content.as_ref().and_then(|content| content.get("confirm"));
    said.action == ElicitationAction::Accept && confirmed.and_then(serde_json::Value::as_bool) == Some(true)
}

/// Shows the client's user a form and waits for it.
async fn ask(user: &Peer<RoleServer>, question: &Question<'_>) -> Result<ElicitResult, ServiceError> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)));
    let waiting = user.send_request_with_option(request, PeerRequestOptions::with_timeout(PATIENCE)).await?;
    match waiting.await_response().await? {
        ClientResult::ElicitResult(said) => Ok(said),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

fn form(question: &Question<'_>) -> ElicitRequestParams {
    let schema = ElicitationSchema::builder().required_bool("confirm").build();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(question),
        // One field that is there cannot be missing; an empty form would be answered without `confirm`, which is a no.
        requested_schema: schema.unwrap_or_else(|_| ElicitationSchema::new(Default::default())),
    }
}

/// What the person reads.
fn message(question: &Question<'_>) -> String {
    let mut text = format!("{}: {}", question.tool, question.summary.replace(['\n', '\r'], " "));
    if let Some(target) = question.target {
        text += &format!("\nReaches: {target}");
    }
    if let Some(warning) = &question.warning {
        text += &format!("\nWarning: {warning}");
    }
    for change in question.changes.iter().take(20) {
        text += &format!("\n{}", change.headline());
    }
    if !is_delete(question.changes) && !question.changes.is_empty() {
        let diff = diff_all(question.changes);
        text += &format!("\n\n{}", diff.chars().take(SHOWN).collect::<String>());
    }
    text
}
