//! A conversation that was left at any point goes on, and nothing that had an effect happens twice.

use std::sync::Arc;

use agent::{Door, Halt, Over, Step};
use llm::chat::Part;
use pipeline::Asker;
use serde_json::json;
use state::{NewSession, NewStep};

use crate::rig::{Ears, Rig, Say, last};

fn plan(request: &llm::chat::Request) -> Say {
    match request.conversation.turn {
        0 => Say::Calls(vec![
            ("read", json!({"path": "a.md"})),
            ("make", json!({"path": "one.md", "text": "1"})),
        ]),
        1 => Say::Calls(vec![
            ("make", json!({"path": "two.md", "text": "2"})),
            ("send", json!({"text": "hello"})),
        ]),
        _ => Say::Text("done"),
    }
}

/// The steps of a whole run, as they lie on disk.
async fn whole() -> Vec<state::Step> {
    let rig = Rig::new(plan);
    let (talk, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!(over, Over::Done);
    rig.mind.sessions.steps(&talk.conversation().id).unwrap()
}

#[tokio::test]
async fn a_turn_goes_on_after_any_step() {
    let steps = whole().await;
    assert!(steps.len() >= 8, "{}", steps.len());
    for cut in 1..steps.len() {
        let rig = Rig::new(plan);
        let new = NewSession {
            id: "0ld".into(),
            title: None,
            agent: "agent".into(),
            model: "test@model".into(),
            parent: None,
            forked_from: None,
            now_ms: 0,
        };
        rig.mind.sessions.create(&new).unwrap();
        let kept: Vec<NewStep> = steps[..cut].iter().filter_map(Step::read).map(|step| step.kept()).collect();
        rig.mind.sessions.append("0ld", &kept, 0).unwrap();
        // What the steps say was done, was done.
        let done: Vec<&str> = steps[..cut]
            .iter()
            .filter_map(Step::read)
            .filter_map(|step| match step {
                Step::Ended { checkpoint: Some(_), text, .. } => Some(text),
                _ => None,
            })
            .map(|_| "made")
            .collect();
        for name in ["one.md", "two.md"].iter().take(done.len()) {
            let text = if *name == "one.md" { "1" } else { "2" };
            std::fs::write(rig.folder.path().join("vault").join(name), text).unwrap();
        }
        let mut talk = rig.mind.resume("0ld").await.unwrap();
        let ears = Ears::saying_yes();
        let door: Arc<dyn Door> = Arc::clone(&ears) as Arc<dyn Door>;
        let over = talk.go_on(&door, &Halt::default()).await.unwrap();
        assert_eq!(over, Over::Done, "cut {cut}");
        assert_eq!(rig.note("one.md").as_deref(), Some("1"), "cut {cut}: {:?}", ears.ended());
        assert_eq!(rig.note("two.md").as_deref(), Some("2"), "cut {cut}: {:?}", ears.ended());
        assert_eq!(talk.conversation().messages.last().unwrap().text(), "done");
    }
}

/// The process dies after the road has carried a call out and before the conversation has written it down.
#[tokio::test]
async fn what_was_carried_out_before_the_crash_is_not_carried_out_again() {
    let rig = Rig::new(plan);
    let ears = Ears::saying_yes();
    let door: Arc<dyn Door> = Arc::clone(&ears) as Arc<dyn Door>;
    let mut talk = rig.talk("agent").await;
    let id = talk.conversation().id.clone();
    // Up to the answer with its calls.
    talk.say(vec![Part::Text { text: "go".into() }], &door, &Halt::default()).await.unwrap();
    let steps = rig.mind.sessions.steps(&id).unwrap();
    drop(talk);
    let second = steps
        .iter()
        .rposition(|step| step.kind == "answered" && step.body["message"]["parts"][0]["name"] == "make")
        .unwrap();
    let new = NewSession {
        id: "again".into(),
        title: None,
        agent: "agent".into(),
        model: "test@model".into(),
        parent: None,
        forked_from: None,
        now_ms: 0,
    };
    rig.mind.sessions.create(&new).unwrap();
    let kept: Vec<NewStep> = steps[..=second].iter().filter_map(Step::read).map(|step| step.kept()).collect();
    rig.mind.sessions.append("again", &kept, 0).unwrap();
    let changes = |rig: &Rig| {
        rig.mind
            .road
            .audit
            .last(1000)
            .unwrap()
            .into_iter()
            .filter(|line| line.tool == "make" && line.checkpoint.is_some())
            .count()
    };
    let sent = |rig: &Rig| {
        rig.mind.road.audit.last(1000).unwrap().into_iter().filter(|line| line.tool == "send").count()
    };
    let before = (changes(&rig), sent(&rig));
    let mut talk = rig.mind.resume("again").await.unwrap();
    let ears = Ears::saying_yes();
    let door: Arc<dyn Door> = Arc::clone(&ears) as Arc<dyn Door>;
    assert_eq!(talk.go_on(&door, &Halt::default()).await.unwrap(), Over::Done);
    assert_eq!((changes(&rig), sent(&rig)), before, "nothing was done twice");
    assert!(last(rig.asked().last().unwrap()).contains("before Verger was interrupted"));
    assert!(ears.asked.lock().unwrap().is_empty(), "nobody is asked about what was done");
}

#[tokio::test]
async fn taint_survives_a_restart_and_a_send_still_asks_a_person() {
    let rig = Rig::new(|request| match (last(request).as_str(), request.conversation.turn) {
        ("read it", _) => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
        ("send it", _) => Say::Calls(vec![("send", json!({"text": "secret"}))]),
        _ => Say::Text("ok"),
    });
    let ears = Ears::saying_yes();
    let mut talk = rig.talk("agent").await;
    crate::rig::say(&mut talk, "read it", &ears).await;
    let id = talk.conversation().id.clone();
    drop(talk);
    let mut talk = rig.mind.resume(&id).await.unwrap();
    // Said yes beforehand, but no person looks.
    let alone = Arc::new(Ears { yes: true, person: false, ..Ears::default() });
    crate::rig::say(&mut talk, "send it", &alone).await;
    assert_eq!(alone.ended(), ["send denied"]);
    let _: Arc<dyn Asker> = crate::rig::beforehand();
}
