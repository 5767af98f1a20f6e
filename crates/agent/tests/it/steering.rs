//! What a model says to its loop: asking, another agent, children, skills, advice.

use std::sync::Arc;

use agent::{Answers, News, Over};
use serde_json::json;

use crate::rig::{Ears, Rig, Say, Settings, first, last};

#[tokio::test]
async fn the_person_answers_or_nobody_is_there() {
    let plan = |request: &llm::chat::Request| match request.conversation.turn {
        0 => Say::Calls(vec![("ask_user", json!({"question": "Which?"}))]),
        _ => Say::Text("thanks"),
    };
    for (answers, expected) in [
        (Answers::Given(vec!["the red one".to_owned()]), "The user answers: the red one"),
        (Answers::Cancelled, "would rather not"),
        (Answers::Nobody, "Nobody can be asked here"),
    ] {
        let rig = Rig::new(plan);
        let ears = Ears::saying_yes();
        ears.answers.lock().unwrap().push_back(answers);
        let (_, over) = rig.say("go", &ears).await;
        assert_eq!(over, Over::Done);
        assert!(last(&rig.asked()[1]).contains(expected));
    }
}

#[tokio::test]
async fn completion_ends_the_turn_and_later_calls_of_the_reply_are_not_made() {
    let rig = Rig::new(|_| {
        Say::Calls(vec![
            ("attempt_completion", json!({"result": "it is done"})),
            ("make", json!({"path": "c.md", "text": "x"})),
        ])
    });
    let (_, over) = rig.say("go", &Ears::saying_yes()).await;
    assert_eq!((over, rig.note("c.md")), (Over::Completed { result: "it is done".into() }, None));
}

#[tokio::test]
async fn another_agent_with_more_rights_needs_a_person_and_one_with_fewer_does_not() {
    let plan = |request: &llm::chat::Request| match request.conversation.turn {
        0 => Say::Calls(vec![("switch_agent", json!({"agent": "agent"}))]),
        1 => Say::Calls(vec![("make", json!({"path": "c.md", "text": "x"}))]),
        _ => Say::Text("end"),
    };
    for (yes, person, made) in [(true, true, true), (false, true, false), (true, false, false)] {
        let rig = Rig::new(plan);
        let ears = Arc::new(Ears { yes, person, ..Ears::default() });
        let mut talk = rig.talk("reader").await;
        crate::rig::say(&mut talk, "go", &ears).await;
        assert_eq!(rig.note("c.md").is_some(), made, "yes {yes}, person {person}");
    }
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![
            ("switch_agent", json!({"agent": "reader"})),
            ("make", json!({"path": "c.md", "text": "x"})),
        ]),
        _ => Say::Text("end"),
    });
    let ears = Ears::saying_yes();
    rig.say("go", &ears).await;
    assert_eq!(rig.note("c.md"), None, "fewer rights hold at once, also for the rest of the reply");
    assert!(ears.asked.lock().unwrap().is_empty(), "nobody was asked");
}

#[tokio::test]
async fn an_agent_that_is_gone_reads_only_and_says_so() {
    let rig = Rig::new(|request| match request.conversation.turn {
        0 => Say::Calls(vec![
            ("make", json!({"path": "c.md", "text": "x"})),
            ("read", json!({"path": "a.md"})),
        ]),
        _ => Say::Text("end"),
    });
    let ears = Ears::saying_yes();
    let mut talk = rig.talk("vanished").await;
    crate::rig::say(&mut talk, "go", &ears).await;
    assert_eq!(
        (rig.note("c.md"), ears.ended()),
        (None, vec!["make refused".to_owned(), "read answered".to_owned()])
    );
    assert!(
        ears.news
            .lock()
            .unwrap()
            .iter()
            .any(|news| matches!(news, News::Notice { text } if text.contains("gone")))
    );
}

fn family(request: &llm::chat::Request) -> Say {
    let turn = request.conversation.turn;
    match first(request).as_str() {
        "go" => match turn {
            0 => Say::Calls(vec![(
                "spawn_agent",
                json!({"children": [
                    {"name": "one", "task": "child one"},
                    {"name": "two", "task": "child two", "role": "researcher"},
                    {"name": "three", "task": "child three"},
                ]}),
            )]),
            _ => Say::Text("family is done"),
        },
        "child one" if turn == 0 => Say::Calls(vec![("make", json!({"path": "one.md", "text": "1"}))]),
        "child one" => Say::Text("wrote one"),
        "child two" if turn == 0 => Say::Calls(vec![("make", json!({"path": "two.md", "text": "2"}))]),
        "child two" => Say::Text("could not write"),
        "child three" if turn == 0 => {
            Say::Calls(vec![("spawn_agent", json!({"children": [{"name": "grand", "task": "grandchild"}]}))])
        }
        "child three" => Say::Text("grandchild reports"),
        "grandchild" if turn == 0 => {
            Say::Calls(vec![("spawn_agent", json!({"children": [{"name": "x", "task": "too deep"}]}))])
        }
        "grandchild" if turn == 1 => Say::Calls(vec![("read", json!({"path": "a.md"}))]),
        "grandchild" => Say::Text("read a"),
        other => panic!("nobody should ask this: {other}"),
    }
}

#[tokio::test]
async fn children_work_within_their_parent_s_rights_and_report() {
    let rig = Rig::new(family);
    let ears = Ears::saying_yes();
    let (talk, over) = rig.say("go", &ears).await;
    assert_eq!(over, Over::Done);
    assert_eq!((rig.note("one.md").as_deref(), rig.note("two.md")), (Some("1"), None));
    let told = rig.asked().iter().filter(|request| first(request) == "go").map(last).next_back().unwrap();
    for expected in ["## one", "wrote one", "## two", "could not write", "## three", "grandchild reports"] {
        assert!(told.contains(expected), "{expected} in {told}");
    }
    assert!(talk.conversation().legs.private, "what a grandchild read is known above");
    assert_eq!(talk.conversation().spent.tokens(), 110 * rig.asked().len() as u64, "all are paid for");
    let nested = ears.news.lock().unwrap().iter().any(|news| {
        matches!(news, News::Child { name, news } if name == "three" && matches!(&**news, News::Child { name, .. } if name == "grand"))
    });
    assert!(nested);
}

#[tokio::test]
async fn a_child_that_ends_without_a_word_is_called_empty_and_one_that_runs_out_says_so() {
    let rig = Rig::new(|request| match (first(request).as_str(), request.conversation.turn) {
        ("go", 0) => Say::Calls(vec![(
            "spawn_agent",
            json!({"children": [{"name": "mute", "task": "mute"}, {"name": "busy", "task": "busy", "turns": 2}, {"name": "slow", "task": "slow", "seconds": 1}]}),
        )]),
        ("go", _) => Say::Text("ok"),
        ("mute", _) => Say::Text(""),
        ("slow", _) => Say::Slow("z"),
        (_, turn) => match request.choice {
            llm::chat::ToolChoice::None => Say::Text("not finished"),
            _ => Say::Calls(vec![("make", json!({"path": format!("b{turn}.md"), "text": "x"}))]),
        },
    });
    rig.say("go", &Ears::saying_yes()).await;
    let told = rig.asked().iter().filter(|request| first(request) == "go").map(last).next_back().unwrap();
    assert!(told.contains("NO RESULT") && told.contains("NOT FINISHED: stopped after 2 rounds"), "{told}");
    assert!(told.contains("NOT FINISHED: stopped after 1 s"), "{told}");
}

#[tokio::test]
async fn a_skill_that_nobody_trusts_is_data_and_a_trusted_one_is_not() {
    for (name, wrapped) in [("tidy", false), ("stranger", true)] {
        let rig = Rig::new(move |request| match request.conversation.turn {
            0 => Say::Calls(vec![("read_skill", json!({ "name": name }))]),
            _ => Say::Text("ok"),
        });
        let (talk, _) = rig.say("go", &Ears::saying_yes()).await;
        assert_eq!(last(&rig.asked()[1]).contains("untrusted-content"), wrapped, "{name}");
        assert_eq!(talk.conversation().legs.untrusted, wrapped, "{name}");
    }
}

#[tokio::test]
async fn advice_is_given_three_times_a_turn() {
    let rig = Rig::with(Settings::default(), |request| match request.conversation.purpose {
        llm::chat::Purpose::Advice => Say::Text("do it"),
        _ => match request.conversation.turn {
            turn @ 0..4 => Say::Calls(vec![("consult_flagship", json!({ "problem": format!("p{turn}") }))]),
            _ => Say::Text("ok"),
        },
    });
    let ears = Ears::saying_yes();
    rig.say("go", &ears).await;
    assert_eq!(
        ears.ended(),
        ["consult_flagship steered"; 3].into_iter().chain(["consult_flagship refused"]).collect::<Vec<_>>()
    );
}
