//! Conversations that begin elsewhere: in a chat note.

use std::sync::Arc;

use agent::{Door, Halt, Over, Refusals, Settings};
use llm::chat::{Message, Part};
use pipeline::ledger::Legs;
use serde_json::json;

use crate::rig::{Ears, Rig, Say, last, say};

#[tokio::test]
async fn what_was_said_elsewhere_is_sent_with_its_system_texts_and_settings_and_survives_a_restart() {
    let rig = Rig::new(|_| Say::Text("yes"));
    let ears = Ears::saying_yes();
    let mut talk = rig.talk("agent").await;
    let legs = Legs { private: true, untrusted: true, left: false };
    let messages = vec![Message::user("one"), Message::assistant("two")];
    talk.seed(messages, vec!["Be brief.".to_owned()], legs).await.unwrap();
    let wanted =
        Settings { temperature: Some(0.5), top_p: Some(0.9), max_tokens: Some(7), stop: vec!["END".into()] };
    talk.settings = wanted.clone();
    let door: Arc<dyn Door> = Arc::clone(&ears) as Arc<dyn Door>;
    let parts = vec![Part::Text { text: "three".to_owned() }];
    let over = talk.say_under("note-1", parts, &door, &Halt::default()).await.unwrap();
    assert_eq!(over, Over::Done);
    let asked = &rig.asked()[0];
    let texts: Vec<String> = asked.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert_eq!(asked.system.last().map(String::as_str), Some("Be brief."));
    let sent = Settings {
        temperature: asked.temperature,
        top_p: asked.top_p,
        max_tokens: asked.max_tokens,
        stop: asked.stop.clone(),
    };
    assert_eq!(sent, wanted);
    let id = talk.conversation().id.clone();
    let before = talk.conversation().clone();
    drop(talk);
    let again = rig.mind.resume(&id).await.unwrap();
    assert_eq!(again.conversation(), &before);
    assert!(again.conversation().legs.private && again.conversation().system == ["Be brief."]);
}

#[tokio::test]
async fn refusals_can_be_objects_with_the_words_that_chats_in_notes_have_always_used() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![("make", json!({"path": "c.md", "text": "x"})), ("nothing", json!({}))]),
        _ => Say::Text("I see"),
    });
    let ears = Arc::new(Ears::default());
    let mut talk = rig.talk("agent").await;
    talk.refusals = Refusals::Object;
    say(&mut talk, "go", &ears).await;
    let told = last(&rig.asked()[1]);
    assert!(told.contains(r#""error":"User cancelled tool execution""#), "{told}");
    assert!(told.contains(r#""code":"denied""#) && told.contains("not now"), "{told}");
    assert!(told.contains(r#""error":"Unknown tool: nothing""#), "{told}");
    assert!(told.contains(r#""code":"tool_unknown""#), "{told}");
}
