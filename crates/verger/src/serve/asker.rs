//! Asking the person before the page: the plan with its diffs becomes a question in the inbox, their reply a decision.

use std::sync::Arc;

use agent::Answers;
use pipeline::approve::Deciding;
use pipeline::plan::Asked;
use pipeline::{Asker, Decision, Lifetime, Question, Rights, Road, World as _};
use serde_json::{Value, json};
use vault::VaultPath;

use super::diffs;
use super::inbox::{Kind, Reply, Word};
use super::rooms::desk::Desk;
use super::rooms::item::Called;
use super::rooms::live::Fits;
use crate::paper::one_line;
use crate::world::RealWorld;

/// The person before the page, for one turn.
pub struct Person(pub Arc<Desk>);

impl Asker for Person {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        Box::pin(async move {
            let exactly = |called: &Called| called.tool == question.tool && called.input == *question.input;
            // An input that the person has edited is not the one that the model wrote.
            let nearly = |called: &Called| called.tool == question.tool;
            let purpose = purpose(&self.0.road, question.tool);
            let paper = |paper: &mut Value| {
                approval(paper, question);
                paper["about"] = purpose.into();
            };
            let kind = match (question.reads, question.results) {
                ([], []) => Kind::Approval,
                ([], _) => Kind::Results,
                _ => Kind::Reads,
            };
            match put(&self.0, kind, &[&exactly, &nearly], paper).await {
                Some(reply) => decided(reply),
                None => Decision::No { reason: None },
            }
        })
    }

    fn name(&self) -> &str {
        "web"
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// Puts questions of the model before the person.
pub async fn answers(desk: &Arc<Desk>, asked: &[Asked]) -> Answers {
    if asked.is_empty() {
        return Answers::Nobody;
    }
    let fits = |called: &Called| called.tool.starts_with("ask_");
    let paper = |paper: &mut Value| {
        paper["tool"] = "ask_user".into();
        paper["summary"] = asked.first().map(|asked| asked.question.clone()).into();
        paper["asked"] = json!(asked);
    };
    match put(desk, Kind::Questions, &[&fits], paper).await {
        Some(Reply { answer: Word::Deny, .. }) | None => Answers::Cancelled,
        Some(reply) => Answers::Given(reply.answers.unwrap_or_default()),
    }
}

/// Waits for the person's reply to a question about a call of this turn.
async fn put(
    desk: &Arc<Desk>,
    kind: Kind,
    fits: &[&Fits<'_>],
    tell: impl FnOnce(&mut Value),
) -> Option<Reply> {
    let id = format!("q-{}", RealWorld.id().ok()?);
    let (item, child) = desk.room.live.waits(&id, fits);
    let head = desk.room.live.head();
    let mut paper = json!({
        "id": id, "kind": kind, "chat": desk.room.id, "chat_title": head.title, "task": desk.task, "item": item,
        "agent": head.agent, "model": head.model, "child": child, "tool": "", "about": "", "summary": "",
        "input": Value::Null, "editable": [], "files": [], "target": Value::Null, "warning": Value::Null,
        "rule": "", "legs": {"private": false, "untrusted": false, "outgoing": false}, "choices": ["once"],
        "rows": [], "asked": [], "since_ms": RealWorld.now().timestamp().as_millisecond(),
    });
    tell(&mut paper);
    let reply = desk.inbox.put(&id, &desk.room.id, kind, paper, &desk.halt).await;
    if let Some(item) = &item {
        desk.room.live.goes_on(item);
    }
    reply
}

fn approval(paper: &mut Value, question: &Question<'_>) {
    // Becoming another agent is a yes or a no, and nobody can give it beforehand.
    let is_plain = question.tool == "switch_agent";
    let keys: Vec<&String> =
        question.input.as_object().map(|input| input.keys().collect()).unwrap_or_default();
    paper["tool"] = question.tool.into();
    paper["summary"] = one_line(question.summary).into();
    paper["input"] = question.input.clone();
    paper["editable"] = if is_plain { json!([]) } else { json!(keys) };
    paper["files"] = json!(diffs::files(question.changes));
    paper["target"] = json!(question.target);
    paper["warning"] = json!(question.warning);
    paper["rule"] = question.rule.describe().into();
    paper["rows"] = rows(question);
    let legs = question.legs;
    paper["legs"] = json!({"private": legs.private, "untrusted": legs.untrusted, "outgoing": legs.left});
    paper["choices"] = if is_plain { json!(["once"]) } else { json!(["once", "task", "session", "always"]) };
}

/// What a tool is for: the first sentence of what it says of itself.
fn purpose(road: &Road, tool: &str) -> String {
    let listed = road.registry.list(&Rights::all());
    let description =
        listed.into_iter().find(|listing| listing.spec.name == tool).map(|found| found.description);
    let text = one_line(&description.unwrap_or_default());
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].to_owned()
}

/// The notes of which the answer tells; all are ticked until the person unticks some.
fn rows(question: &Question<'_>) -> Value {
    let row = |path: &VaultPath, title: &str, excerpt: &str| json!({"path": path, "title": title, "excerpt": excerpt, "ticked": true});
    let found = question.results.iter().map(|found| row(&found.path, &found.title, &found.excerpt));
    let is_found = |path: &VaultPath| question.results.iter().any(|found| found.path == *path);
    let read = question.reads.iter().filter(|path| !is_found(path)).map(|path| row(path, path.stem(), ""));
    found.chain(read).collect()
}

fn decided(reply: Reply) -> Decision {
    let lifetime = match reply.answer {
        Word::Deny => {
            let reason = reply.reason.map(|reason| reason.trim().to_owned());
            return Decision::No { reason: reason.filter(|reason| !reason.is_empty()) };
        }
        Word::Once => Lifetime::Once,
        Word::Task => Lifetime::Task,
        Word::Session => Lifetime::Session,
        Word::Always => Lifetime::Always,
    };
    match (reply.input, reply.paths) {
        (Some(input), _) => Decision::Edited(input),
        (None, Some(paths)) => {
            Decision::Only(paths.iter().filter_map(|path| VaultPath::parse(path).ok()).collect())
        }
        (None, None) => Decision::Yes(lifetime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reply_means_one_decision() {
        let of = |value: Value| decided(serde_json::from_value(value).unwrap());
        let no = |reason: Option<&str>| Decision::No { reason: reason.map(str::to_owned) };
        for (reply, decision) in [
            (json!({"answer": "once"}), Decision::Yes(Lifetime::Once)),
            (json!({"answer": "task"}), Decision::Yes(Lifetime::Task)),
            (json!({"answer": "session"}), Decision::Yes(Lifetime::Session)),
            (json!({"answer": "always"}), Decision::Yes(Lifetime::Always)),
            (json!({"answer": "once", "input": {"a": 1}}), Decision::Edited(json!({"a": 1}))),
            (
                json!({"answer": "once", "paths": ["a.md"]}),
                Decision::Only(vec![VaultPath::parse("a.md").unwrap()]),
            ),
            (json!({"answer": "once", "paths": []}), Decision::Only(Vec::new())),
            (json!({"answer": "deny", "paths": ["a.md"]}), no(None)),
            (json!({"answer": "deny"}), no(None)),
            (json!({"answer": "deny", "reason": " wrong note "}), no(Some("wrong note"))),
            (json!({"answer": "deny", "input": {"a": 1}}), no(None)),
        ] {
            assert_eq!(of(reply.clone()), decision, "{reply}");
        }
        for bad in [json!({}), json!({"answer": "yes"}), json!({"answer": "once", "more": 1})] {
            assert!(serde_json::from_value::<Reply>(bad.clone()).is_err(), "{bad}");
        }
    }
}
