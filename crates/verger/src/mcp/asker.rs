//! Who decides on a call that came over MCP: the client by having been let in, or its user by elicitation.
//!
//! Changes to notes are what the client was started for, so they are allowed and can be taken back; a delete and a command
//! of the app are asked where the client can ask; what leaves the machine, and everything under `--ask`, is asked or denied.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pipeline::approve::Deciding;
use pipeline::{Asker, Decision, Lifetime, Question};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleServer, ServiceError};
use vault::Change;
use vault::change::{Trash, diff_all};

use super::server::Approval;

/// How long a person may think.
const PATIENCE: Duration = Duration::from_secs(600);
/// How much of a diff the person is shown; a client's dialog is small.
const SHOWN: usize = 4_000;

/// The client, and its user where the client can ask.
pub struct AtClient {
    approval: Approval,
    /// The way to the user, if there is one.
    user: Option<Peer<RoleServer>>,
    asked: AtomicBool,
    declined_delete: AtomicBool,
}

impl AtClient {
    /// For one call.
    pub fn new(approval: Approval, user: Option<Peer<RoleServer>>) -> AtClient {
        AtClient { approval, user, asked: AtomicBool::new(false), declined_delete: AtomicBool::new(false) }
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
        match &self.user {
            Some(user) if must_ask || delete || command => {
                self.asked.store(true, Ordering::Relaxed);
                let said = ask(user, question).await;
                let yes = said.as_ref().is_ok_and(is_yes);
                self.declined_delete.store(delete && !yes, Ordering::Relaxed);
                match (yes, said) {
                    (true, _) => Decision::Yes(Lifetime::Once),
                    (_, Ok(_)) => Decision::No { reason: None },
                    (_, Err(error)) => {
                        Decision::No { reason: Some(format!("the client could not ask: {error}")) }
                    }
                }
            }
            None if must_ask => Decision::No {
                reason: Some("the client cannot ask its user, and no grant covers it".to_owned()),
            },
            _ => Decision::Yes(Lifetime::Once),
        }
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
        self.user.is_some()
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
