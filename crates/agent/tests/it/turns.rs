//! How a turn goes: calls, answers, trouble with the model.

use llm::Error;
use llm::chat::{Part, Role, StopReason};
use serde_json::json;

use crate::rig::{Ears, Rig, Say, last, say};
use agent::{News, Over};

#[tokio::test]
async fn calls_are_made_and_their_answers_go_back_until_the_model_only_speaks() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![("read", json!({"path": "a.md"})), ("read", json!({"path": "b.md"}))]),
        1 => Say::Calls(vec![("make", json!({"path": "c.md", "text": "gamma"}))]),
        _ => Say::Text("all done"),
    });
    let ears = Ears::saying_yes();
    let (talk, over) = rig.say("go", &ears).await;
    assert_eq!(over, Over::Done);
    assert_eq!(ears.text(), "all done");
    assert_eq!(ears.ended(), ["read answered", "read answered", "make done"]);
    assert_eq!(rig.note("c.md").as_deref(), Some("gamma"));
    let second = &rig.asked()[1];
    let answers = second.messages.last().unwrap();
    assert_eq!(answers.role, Role::User);
    let text = last(second);
    assert!(text.contains("alpha") && text.contains("beta") && text.contains("untrusted-content"), "{text}");
    assert!(talk.conversation().legs.private && talk.conversation().legs.untrusted);
    assert_eq!(talk.conversation().spent.tokens(), 330);
    assert!((talk.conversation().spent.dollars - 330.0 / 1e6).abs() < 1e-12);
}

#[tokio::test]
async fn what_the_person_brings_along_from_outside_is_known_also_after_a_restart() {
    let rig = Rig::new(|_| Say::Text("I see"));
    let ears = Ears::saying_yes();
    let (talk, _) = rig.say("plain words", &ears).await;
    assert!(!talk.conversation().legs.untrusted);
    let brought = pipeline::wrap::for_model(&pipeline::Output::new("obey", ()).from_outside("a page"));
    let (talk, _) = rig.say(&format!("What is this? {brought}"), &ears).await;
    assert!(talk.conversation().legs.untrusted && !talk.conversation().legs.private);
    let id = talk.conversation().id.clone();
    drop(talk);
    assert!(rig.mind.resume(&id).await.unwrap().conversation().legs.untrusted);
}

#[tokio::test]
async fn the_prompt_and_the_tools_stay_the_same_through_a_conversation() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
        _ => Say::Text("yes"),
    });
    let ears = Ears::saying_yes();
    let (mut talk, _) = rig.say("one", &ears).await;
    say(&mut talk, "two", &ears).await;
    let asked = rig.asked();
    assert_eq!(asked.len(), 3);
    for request in &asked {
        assert_eq!((&request.system, &request.tools), (&asked[0].system, &asked[0].tools));
    }
    assert!(asked[0].system[0].contains("- tidy: tidies") && asked[0].system[1].contains("rhymes"));
    // What was sent before is sent again, byte for byte, or a provider's cache is lost.
    for (earlier, later) in asked.iter().zip(&asked[1..]) {
        let known = earlier.messages.len() - 1;
        assert_eq!(earlier.messages[..known], later.messages[..known]);
    }
}

#[tokio::test]
async fn a_denial_is_told_to_the_model_and_nothing_is_written() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![("make", json!({"path": "c.md", "text": "x"}))]),
        _ => Say::Text("I see"),
    });
    let ears = std::sync::Arc::new(Ears { person: true, ..Ears::default() });
    let (_, over) = rig.say("go", &ears).await;
    assert_eq!((over, rig.note("c.md")), (Over::Done, None));
    assert_eq!(ears.ended(), ["make denied"]);
    assert!(last(&rig.asked()[1]).contains("not now"));
}

#[tokio::test]
async fn an_input_that_is_no_json_is_an_error_and_never_an_empty_call() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Raw("make", "{\"path\": \"c.md\", \"te"),
        _ => Say::Text("sorry"),
    });
    let ears = Ears::saying_yes();
    let (_, over) = rig.say("go", &ears).await;
    assert_eq!((over, ears.ended()), (Over::Done, vec!["make refused".to_owned()]));
    assert!(last(&rig.asked()[1]).contains("not a JSON object"), "{}", last(&rig.asked()[1]));
}

#[tokio::test]
async fn a_call_that_leaked_into_the_text_is_recognised_and_not_made() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Text(
            "```json\n{\"name\": \"make\", \"arguments\": {\"path\": \"c.md\", \"text\": \"x\"}}\n```",
        ),
        _ => Say::Text("never mind"),
    });
    let ears = Ears::saying_yes();
    let (_, over) = rig.say("go", &ears).await;
    assert_eq!((over, rig.note("c.md")), (Over::Done, None));
    assert!(last(&rig.asked()[1]).contains("came as text and was not made"));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again_and_what_was_shown_is_void() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let rig = Rig::new(move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Say::Cut("half an ans"),
        1 => Say::Error(Error::Overloaded { service: "x".into(), status: 529, message: "busy".into() }),
        _ => Say::Text("whole"),
    });
    let ears = Ears::saying_yes();
    let (talk, over) = rig.say("go", &ears).await;
    assert_eq!((over, ears.text().as_str()), (Over::Done, "half an ans(void)whole"));
    assert_eq!(talk.conversation().messages.len(), 2, "the half is nowhere");
}

#[tokio::test]
async fn what_cannot_pass_ends_the_turn_with_its_reason_and_the_conversation_lives_on() {
    let rig = Rig::new(|request| match super::rig::last(request).as_str() {
        "again" => Say::Text("hello"),
        _ => Say::Error(Error::Auth { service: "x".into(), status: 401, message: "bad key".into() }),
    });
    let ears = Ears::saying_yes();
    let (mut talk, over) = rig.say("go", &ears).await;
    assert!(matches!(&over, Over::Failed { why, .. } if why.contains("bad key")), "{over:?}");
    assert_eq!(rig.asked().len(), 1, "a wrong key is not tried again");
    talk.use_model("main").await.unwrap();
    // Two things of the user's side in a row are one message.
    let over = say(&mut talk, "again", &ears).await;
    assert!(matches!(over, Over::Failed { .. }), "{over:?}");
    assert_eq!(rig.asked()[1].messages.len(), 1);
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more_and_then_called_empty() {
    let rig = Rig::new(|_| Say::Text(""));
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!((over, rig.asked().len()), (Over::Empty, 2));
}

#[tokio::test]
async fn a_model_that_refuses_ends_the_turn_and_one_that_pauses_goes_on() {
    let rig = Rig::new(|_| Say::Stop(StopReason::Refused("no".into())));
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!(over, Over::Refused { why: "no".into() });
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Stop(StopReason::Paused),
        _ => Say::Text("on"),
    });
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!(over, Over::Done);
}

#[tokio::test]
async fn a_model_without_tools_still_answers() {
    let rig = Rig::new(|request| match request.tools.is_empty() {
        false => Say::Error(Error::NoTools { service: "x".into(), message: "no tools".into() }),
        true => Say::Text("plain"),
    });
    let ears = Ears::saying_yes();
    let (_, over) = rig.say("go", &ears).await;
    assert_eq!((over, ears.text().as_str()), (Over::Done, "plain"));
    assert!(
        ears.news
            .lock()
            .unwrap()
            .iter()
            .any(|news| matches!(news, News::Notice { text } if text.contains("cannot call tools")))
    );
}

#[tokio::test]
async fn what_the_person_adds_reaches_the_model_at_the_next_round() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
        1 => Say::Text("first"),
        _ => Say::Text("second"),
    });
    let ears = Ears::saying_yes();
    ears.added.lock().unwrap().push("and b, too".to_owned());
    let (_, over) = rig.say("go", &ears).await;
    assert_eq!(over, Over::Done);
    let asked = rig.asked();
    let parts = &asked[0].messages.last().unwrap().parts;
    assert!(parts.iter().any(|part| matches!(part, Part::Text { text } if text == "and b, too")));
}
