//! Asking the person in the editor: the diff, then once, always, for the session, for the task, or no.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use pipeline::approve::Deciding;
use pipeline::{Asker, Decision, Lifetime, Question};

use super::calls;
use super::desk::Table;
use crate::asker::{is_listed, listed};
use crate::paper::one_line;

/// How long a person may think.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// What can be chosen, and what it means.
const CHOICES: [(&str, PermissionOptionKind, Option<Lifetime>); 5] = [
    ("allow_once", PermissionOptionKind::AllowOnce, Some(Lifetime::Once)),
    ("allow_always", PermissionOptionKind::AllowAlways, Some(Lifetime::Always)),
    ("allow_session", PermissionOptionKind::AllowAlways, Some(Lifetime::Session)),
    ("allow_task", PermissionOptionKind::AllowAlways, Some(Lifetime::Task)),
    ("reject_once", PermissionOptionKind::RejectOnce, None),
];

/// The person in the editor. The protocol has the client put each question before its user.
pub struct Person(pub Arc<Table>);

impl Asker for Person {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            let chosen = choose(&self.0, request(&self.0, question)).await;
            let found = CHOICES.iter().find(|(id, ..)| Some(*id) == chosen.as_deref());
            match found.and_then(|(_, _, lifetime)| *lifetime) {
                Some(lifetime) => Decision::Yes(lifetime),
                None => Decision::No { reason: None },
            }
        })
    }

    fn name(&self) -> &str {
        "editor"
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// What the person chose. Nobody chose anything: closed, gone, stopped, too late.
pub async fn choose(table: &Table, request: RequestPermissionRequest) -> Option<String> {
    let answered = table.line.to.send_request(request).block_task();
    let answer = tokio::select! {
        biased;
        () = table.halt.stopped() => return None,
        answer = tokio::time::timeout(PATIENCE, answered) => answer.ok()?.ok()?,
    };
    match answer.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    }
}

fn request(table: &Table, question: &Question<'_>) -> RequestPermissionRequest {
    let id = table.asked_about(question.tool, Some(question.input), question.changes);
    let mut content = Vec::new();
    if let Some(warning) = &question.warning {
        content.push(calls::text(format!("Warning: {warning}")));
    }
    if let Some(target) = question.target {
        content.push(calls::text(format!("Reaches: {target}")));
    }
    let listed: Vec<String> = listed(question)
        .map(|(path, excerpt)| match excerpt {
            "" => format!("- {path}"),
            excerpt => format!("- {path}: {}", one_line(excerpt)),
        })
        .collect();
    if !listed.is_empty() {
        content.push(calls::text(listed.join("\n")));
    }
    content.extend(calls::diffs(&table.root, question.changes));
    let paths: Vec<String> = question.changes.iter().map(|change| change.path().to_string()).collect();
    let fields = ToolCallUpdateFields::new()
        .title(format!("{}: {}", question.tool, one_line(question.summary)))
        .kind(calls::kind(&table.mind.road.registry, question.tool))
        .status(ToolCallStatus::Pending)
        .content(content)
        .locations(calls::changed(&table.root, &paths))
        .raw_input(question.input.clone());
    let rule = question.rule.describe();
    let options = CHOICES.iter().map(|(id, kind, lifetime)| {
        let name = match lifetime {
            // An editor's dialog has no ticks: all or nothing.
            Some(Lifetime::Once) if is_listed(question) => "Yes, share all of them, once".to_owned(),
            Some(Lifetime::Task) if is_listed(question) => {
                "Yes, and do not ask again in this turn".to_owned()
            }
            Some(Lifetime::Once) => "Yes, once".to_owned(),
            Some(Lifetime::Always) => format!("Always: {rule}"),
            Some(Lifetime::Session) => format!("In this session: {rule}"),
            Some(Lifetime::Task) => format!("In this turn: {rule}"),
            None if is_listed(question) => "No, share none of them".to_owned(),
            None => "No".to_owned(),
        };
        PermissionOption::new(*id, name, *kind)
    });
    let session = table.line.session.clone();
    RequestPermissionRequest::new(session, ToolCallUpdate::new(id, fields), options.collect())
}
