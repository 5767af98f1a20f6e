//! Limits that really stop: rounds, time, tokens, money, mistakes, a word.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::{Door, Halt, Limits, News, Over};
use llm::chat::{Part, ToolChoice};
use serde_json::json;

use crate::rig::{Ears, Rig, Say, Settings, last};

fn limited(limits: Limits) -> Settings {
    Settings { limits, ..Settings::default() }
}

#[tokio::test]
async fn after_the_last_round_the_model_may_say_what_it_did_without_tools() {
    let limits = Limits { rounds: 5, ..Limits::default() };
    let rig = Rig::with(limited(limits), |request| match request.choice {
        ToolChoice::None => Say::Text("that is all"),
        _ => Say::Calls(vec![(
            "make",
            json!({"path": format!("n{}.md", request.conversation.turn), "text": "x"}),
        )]),
    });
    let ears = Ears::saying_yes();
    let (_, over) = rig.say("go", &ears).await;
    assert_eq!((over, ears.text().as_str()), (Over::Rounds { limit: 5 }, "that is all"));
    assert_eq!(rig.asked().len(), 6);
    let warned: Vec<usize> = rig
        .asked()
        .iter()
        .enumerate()
        .filter(|(_, request)| last(request).contains("rounds are left"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(warned.first(), Some(&3), "told once, at three fifths");
}

#[tokio::test]
async fn tokens_and_money_stop_a_turn() {
    let plan = |request: &llm::chat::Request| {
        Say::Calls(vec![("make", json!({"path": format!("n{}.md", request.conversation.turn), "text": "x"}))])
    };
    let rig = Rig::with(limited(Limits { tokens: Some(250), ..Limits::default() }), plan);
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!((over, rig.asked().len()), (Over::Tokens { limit: 250 }, 3));
    let rig = Rig::with(limited(Limits { dollars: Some(0.0002), ..Limits::default() }), plan);
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!((over, rig.asked().len()), (Over::Money { limit: 2 }, 2));
}

#[tokio::test]
async fn a_limit_in_money_without_a_known_price_asks_no_model() {
    let settings = Settings {
        limits: Limits { dollars: Some(1.0), ..Limits::default() },
        price: None,
        ..Settings::default()
    };
    let rig = Rig::with(settings, |_| Say::Text("free?"));
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert!(matches!(&over, Over::Failed { why, .. } if why.contains("price")), "{over:?}");
    assert!(rig.asked().is_empty());
}

#[tokio::test]
async fn time_stops_a_model_that_never_ends() {
    let limits = Limits { time: Some(Duration::from_millis(200)), ..Limits::default() };
    let rig = Rig::with(limited(limits), |_| Say::Slow("la "));
    let start = Instant::now();
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert!(matches!(over, Over::Time { .. }), "{over:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn mistakes_in_a_row_stop_a_turn_and_a_success_in_between_forgives() {
    let rig = Rig::new(|request| {
        Say::Calls(vec![("read", json!({"path": format!("missing{}.md", request.conversation.turn)}))])
    });
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!((over, rig.asked().len()), (Over::Mistakes { limit: 3 }, 3));
    let rig = Rig::new(|request| match request.conversation.turn {
        turn @ (0 | 1 | 3 | 4) => Say::Calls(vec![("read", json!({"path": format!("missing{turn}.md")}))]),
        2 => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
        _ => Say::Text("found it"),
    });
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!(over, Over::Done);
}

#[tokio::test]
async fn a_word_stops_the_stream_at_once_and_what_was_said_is_kept() {
    let rig = Rig::new(|request| match last(request).as_str() {
        "go" => Say::Slow("la "),
        _ => Say::Text("here"),
    });
    let ears = Ears::saying_yes();
    let mut talk = rig.talk("agent").await;
    let halt = Halt::default();
    let door: Arc<dyn Door> = Arc::clone(&ears) as Arc<dyn Door>;
    let stop = async {
        while !ears.news.lock().unwrap().iter().any(|news| matches!(news, News::Text { .. })) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        halt.stop();
    };
    let parts = vec![Part::Text { text: "go".into() }];
    let start = Instant::now();
    let (over, ()) = tokio::join!(talk.say(parts, &door, &halt), stop);
    assert_eq!(over.unwrap(), Over::Stopped);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(talk.conversation().messages[1].text().starts_with("la "));
    assert_eq!(crate::rig::say(&mut talk, "still there?", &ears).await, Over::Done);
}

#[tokio::test]
async fn a_word_is_heard_while_the_conversation_is_summed_up() {
    let settings = Settings { window: Some(4_000), ..Settings::default() };
    let rig = Rig::with(settings, |request| {
        if !crate::rig::answers_only(request) {
            return Say::Slow("on and on ");
        }
        let turn = request.conversation.turn;
        Say::Calls(vec![("make", json!({"path": format!("n{turn}.md"), "text": "x".repeat(4_000)}))])
    });
    let ears = Ears::saying_yes();
    let mut talk = rig.talk("agent").await;
    let (halt, door) = (Halt::default(), Arc::clone(&ears) as Arc<dyn Door>);
    let stop = async {
        while rig.asked().iter().all(crate::rig::answers_only) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        halt.stop();
    };
    let parts = vec![Part::Text { text: "make many notes".into() }];
    let (over, ()) = tokio::join!(talk.say(parts, &door, &halt), stop);
    assert_eq!(over.unwrap(), Over::Stopped);
    assert_eq!(talk.conversation().condensed, 0, "it is as long as it was");
}

#[tokio::test]
async fn a_long_conversation_is_made_shorter_and_goes_on_with_its_legs() {
    let settings = Settings { window: Some(4_000), ..Settings::default() };
    let rig = Rig::with(settings, |request| {
        if !crate::rig::answers_only(request) {
            return Say::Text("GIST of it");
        }
        match request.conversation.turn {
            turn @ 0..12 => {
                Say::Calls(vec![("make", json!({"path": format!("n{turn}.md"), "text": "x".repeat(4_000)}))])
            }
            12 => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
            _ => Say::Text("done"),
        }
    });
    let ears = Ears::saying_yes();
    let (talk, over) = rig.say("make many notes", &ears).await;
    assert_eq!(over, Over::Done);
    assert!(talk.conversation().condensed >= 1);
    let asked = rig.asked();
    let request = asked.iter().rev().find(|request| crate::rig::answers_only(request)).unwrap();
    let first = request.messages[0].text();
    assert!(
        first.contains("make many notes") && first.contains("GIST of it") && first.contains("n0.md"),
        "{first}"
    );
    assert!(talk.conversation().legs.private, "reading is not forgotten");
    assert!((0..12).all(|turn| rig.note(&format!("n{turn}.md")).is_some()));
}
