//! A person who unticks a note: its text is in no request to the model, in this conversation, its children and after a
//! restart. The model is obedient: it asks for the note in every way it has, again and again.

use std::sync::Arc;

use agent::{Door, Halt, Step};
use llm::chat::{Part, Request};
use pipeline::Review;
use serde_json::json;

use crate::rig::{Ears, Rig, Say, Settings, answers_only, first, last, say};

/// What stands in `b.md` and must stay there.
const SECRET: &str = "beta";

fn reviewed(reads: bool, results: bool, plan: impl Fn(&Request) -> Say + Send + Sync + 'static) -> Rig {
    Rig::with(Settings { review: Review { reads, results }, ..Settings::default() }, plan)
}

fn keeping() -> Arc<Ears> {
    Arc::new(Ears { yes: true, person: true, keeps: Some("b.md"), ..Ears::default() })
}

/// Every way to the note, and then a child that tries them as well.
fn insists(request: &Request) -> Say {
    if !answers_only(request) {
        return Say::Text("a summary");
    }
    let tries = vec![
        ("search", json!({"text": "a"})),
        ("read", json!({"path": "b.md"})),
        ("read", json!({"path": "a.md"})),
        ("search", json!({"text": "eta"})),
    ];
    let is_child = first(request).contains("YOU ARE THE CHILD");
    match request.conversation.turn {
        0 => Say::Calls(tries),
        1 if !is_child => Say::Calls(vec![(
            "spawn_agent",
            json!({"children": [{"name": "kid", "task": "YOU ARE THE CHILD"}]}),
        )]),
        2 => Say::Calls(tries),
        _ => Say::Text("done"),
    }
}

#[track_caller]
fn never_told(rig: &Rig) {
    for request in rig.asked() {
        let body = serde_json::to_string(&request.messages).unwrap();
        assert!(!body.contains(SECRET), "{body}");
    }
}

#[tokio::test]
async fn what_was_unticked_is_in_no_request_to_the_model_or_to_a_child() {
    for (reads, results) in [(true, true), (false, true), (true, false)] {
        let rig = reviewed(reads, results, insists);
        let ears = keeping();
        let (talk, _) = rig.say("find it", &ears).await;
        never_told(&rig);
        let bodies: Vec<String> = rig.asked().iter().map(last).collect();
        assert!(bodies.iter().any(|body| body.contains("alpha")), "what was ticked is told: {bodies:?}");
        assert!(bodies.iter().any(|body| body.contains("1 found")), "and only that is counted: {bodies:?}");
        assert!(talk.conversation().kept.iter().any(|path| path.as_str() == "b.md"));
        let asked_children = rig.asked().iter().any(|request| first(request).contains("YOU ARE THE CHILD"));
        assert!(asked_children, "the child worked");
    }
}

#[tokio::test]
async fn without_a_review_nobody_is_asked_and_the_same_model_reads_it() {
    let rig = reviewed(false, false, insists);
    let ears = keeping();
    rig.say("find it", &ears).await;
    assert!(ears.asked.lock().unwrap().is_empty());
    assert!(rig.asked().iter().map(last).any(|body| body.contains(SECRET)));
}

#[tokio::test]
async fn where_nobody_can_be_asked_nothing_is_shared_and_no_leg_counts() {
    let rig = reviewed(true, true, |request| match request.conversation.turn {
        0 => Say::Calls(vec![("search", json!({"text": "a"})), ("read", json!({"path": "b.md"}))]),
        _ => Say::Text("done"),
    });
    let ears = Arc::new(Ears::default());
    let (talk, _) = rig.say("find it", &ears).await;
    assert_eq!(ears.ended(), ["search denied", "read denied"]);
    never_told(&rig);
    assert!(!talk.conversation().legs.private && !talk.conversation().legs.untrusted);
    assert!(talk.conversation().kept.is_empty(), "a no hides nothing: it can be asked again");
}

#[tokio::test]
async fn what_was_kept_private_stays_so_after_a_restart_even_with_the_review_switched_off() {
    let rig = reviewed(true, true, insists);
    let (talk, _) = rig.say("find it", &keeping()).await;
    let id = talk.conversation().id.clone();
    let steps = rig.mind.sessions.steps(&id).unwrap();
    let steps: Vec<Step> = steps.iter().filter_map(Step::read).collect();
    let kept = steps.iter().position(|step| matches!(step, Step::Kept { .. })).unwrap();
    let ended = steps.iter().position(|step| matches!(step, Step::Ended { .. })).unwrap();
    assert!(kept < ended, "it is on disk no later than the answer that lacks it");
    drop(talk);
    let mut talk = rig.mind.resume(&id).await.unwrap();
    // Nobody would untick anything any more.
    let ears = Ears::saying_yes();
    say(&mut talk, "try again", &ears).await;
    never_told(&rig);
    let children: Vec<String> = talk.conversation().children.values().cloned().collect();
    drop(talk);
    for child in children {
        let mut talk = rig.mind.resume(&child).await.unwrap();
        assert!(talk.conversation().kept.iter().any(|path| path.as_str() == "b.md"));
        let door: Arc<dyn Door> = Ears::saying_yes();
        let parts = vec![Part::Text { text: "and you?".to_owned() }];
        talk.say(parts, &door, &Halt::default()).await.unwrap();
    }
    never_told(&rig);
}
