//! What is written is there again, in order, with its header.

use serde_json::json;
use state::{Error, Filter, NewSession, NewStep};

use super::rig::{Room, new, says};

#[test]
fn steps_come_back_in_order_with_their_numbers() {
    let room = Room::new();
    room.sessions.create(&new("a1", 5)).unwrap();
    assert_eq!(room.sessions.append("a1", &[says("user", "hello"), says("assistant", "hi")], 10), Ok(2));
    let odd = json!({"b": [1, 2.5, null, "ü\u{0}\n"], "a": {"deep": [[[{}]]]}});
    let step = NewStep { kind: "call", body: odd.clone(), said: None };
    assert_eq!(room.sessions.append("a1", &[step], 20), Ok(3));
    assert_eq!(room.sessions.append("a1", &[], 30), Ok(3), "nothing is nothing");

    let steps = room.sessions.steps("a1").unwrap();
    assert_eq!(steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(steps.iter().map(|step| step.time_ms).collect::<Vec<_>>(), [10, 10, 20]);
    assert_eq!(steps[1].body, json!({"role": "assistant", "text": "hi"}));
    assert_eq!((steps[2].kind.as_str(), &steps[2].body), ("call", &odd));
    assert_eq!(steps[2].body.to_string(), odd.to_string(), "the order of the fields, too");

    let header = room.sessions.header("a1").unwrap();
    assert_eq!((header.created_ms, header.updated_ms, header.steps), (5, 20, 3));
}

#[test]
fn the_newest_step_of_some_kinds_is_known_without_reading_them_all() {
    let room = Room::new();
    room.sessions.create(&new("a1", 5)).unwrap();
    let newest = || room.sessions.newest("a1", &["asked", "over"]).unwrap();
    assert_eq!(newest(), None);
    let step = |kind| NewStep { kind, body: json!({}), said: None };
    for (kind, expected) in [("asked", "asked"), ("call", "asked"), ("over", "over"), ("model", "over")] {
        room.sessions.append("a1", &[step(kind)], 10).unwrap();
        assert_eq!(newest().as_deref(), Some(expected), "{kind}");
    }
    assert!(matches!(room.sessions.newest("b", &["asked"]), Err(Error::Missing { .. })));
}

#[test]
fn a_title_is_one_line_and_another_agent_can_go_on() {
    let room = Room::new();
    let long = format!("  two\nlines\u{1b}[31m {}", "x".repeat(500));
    room.sessions.create(&NewSession { title: Some(long), ..new("a1", 1) }).unwrap();
    let title = room.sessions.header("a1").unwrap().title.unwrap();
    assert!(title.starts_with("two lines [31m xxx") && title.chars().count() == 200, "{title}");
    room.sessions.rename("a1", Some("Plans")).unwrap();
    room.sessions.set_agent_and_model("a1", "writer", "m2", 9).unwrap();
    let header = room.sessions.header("a1").unwrap();
    assert_eq!((header.title.as_deref(), &*header.agent, &*header.model), (Some("Plans"), "writer", "m2"));
    room.sessions.rename("a1", Some(" \n ")).unwrap();
    assert_eq!(room.sessions.header("a1").unwrap().title, None);
}

#[test]
fn what_cannot_be_kept_is_refused_and_nothing_is_written() {
    let room = Room::new();
    room.sessions.create(&new("a1", 1)).unwrap();
    for id in ["", "a b", "../x", "ü", "a\0", &"x".repeat(101)] {
        assert!(matches!(room.sessions.create(&new(id, 1)), Err(Error::Unfit { .. })), "{id:?}");
    }
    assert_eq!(room.sessions.create(&new("a1", 2)), Err(Error::Exists { id: "a1".into() }));
    let orphan = NewSession { parent: Some("nobody".into()), ..new("a2", 1) };
    assert!(matches!(room.sessions.create(&orphan), Err(Error::Missing { .. })));

    let nested = |depth: usize| (1..depth).fold(json!(1), |inner, _| json!([inner]));
    let step = |body| NewStep { kind: "call", body, said: None };
    assert_eq!(room.sessions.append("a1", &[step(nested(300))], 1), Ok(1));
    let deep = room.sessions.append("a1", &[says("user", "kept?"), step(nested(301))], 1);
    assert!(matches!(deep, Err(Error::Unfit { .. })), "{deep:?}");
    let huge = room.sessions.append("a1", &[step(json!("x".repeat(64 * 1024 * 1024)))], 1);
    assert!(matches!(huge, Err(Error::Unfit { .. })), "{huge:?}");
    let said = Some(state::Said { role: "user".into(), text: "x".repeat(64 * 1024 * 1024 + 1) });
    let talkative = room.sessions.append("a1", &[NewStep { kind: "x", body: json!(1), said }], 1);
    assert!(matches!(talkative, Err(Error::Unfit { .. })), "{talkative:?}");
    assert_eq!(room.sessions.header("a1").unwrap().steps, 1, "all or none");
    assert_eq!(room.sessions.steps("a1").unwrap()[0].body, nested(300), "the deepest can be read again");
}

#[test]
fn a_conversation_is_found_by_the_start_of_its_id_or_by_its_title() {
    let room = Room::new();
    let titled = |id: &str, title: &str, now| NewSession { title: Some(title.into()), ..new(id, now) };
    room.sessions.create(&titled("abc1", "Über Pläne", 1)).unwrap();
    room.sessions.create(&titled("abd2", "Bread", 2)).unwrap();
    room.sessions.create(&titled("xyz3", "bread", 3)).unwrap();
    room.sessions.create(&titled("abd", "An id that others start with", 4)).unwrap();
    let id = |wanted: &str| room.sessions.find(wanted).map(|header| header.id);
    assert_eq!(id("abc").as_deref(), Ok("abc1"));
    assert_eq!(id("abd").as_deref(), Ok("abd"), "the whole id wins");
    assert_eq!(id(" über PLÄNE ").as_deref(), Ok("abc1"));
    let ambiguous = |wanted: &str, ids: &[&str]| Error::Ambiguous {
        wanted: wanted.into(),
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
    };
    assert_eq!(id("ab"), Err(ambiguous("ab", &["abd", "abd2", "abc1"])));
    assert_eq!(id("BREAD"), Err(ambiguous("BREAD", &["xyz3", "abd2"])));
    let missing = |wanted: &str| match id(wanted) {
        Err(Error::Missing { nearest, .. }) => nearest,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing("abc2"), ["abc1", "abd", "abd2"]);
    assert_eq!(missing("rea"), ["xyz3", "abd2"], "in the title");
    assert_eq!(missing("%"), Vec::<String>::new());
    assert_eq!(missing(""), Vec::<String>::new());
    assert!(room.sessions.header("abc").is_err(), "`header` takes whole ids");
}

#[test]
fn a_list_has_the_latest_first_and_leaves_children_out() {
    let room = Room::new();
    for (id, now) in [("a", 1), ("b", 2), ("c", 3)] {
        room.sessions.create(&new(id, now)).unwrap();
    }
    room.sessions.create(&NewSession { parent: Some("a".into()), ..new("child", 4) }).unwrap();
    room.sessions.rename("b", Some("100% Bread")).unwrap();
    room.sessions.append("a", &[says("user", "again")], 9).unwrap();
    let ids = |filter: &Filter| {
        let found = room.sessions.list(filter).unwrap();
        found.into_iter().map(|header| header.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&Filter::default()), ["a", "c", "b"]);
    assert_eq!(ids(&Filter { include_children: true, ..Filter::default() }), ["a", "child", "c", "b"]);
    assert_eq!(ids(&Filter { limit: 2, ..Filter::default() }), ["a", "c"]);
    assert_eq!(ids(&Filter { text: Some("0% br".into()), ..Filter::default() }), ["b"]);
    assert_eq!(ids(&Filter { text: Some("_".into()), ..Filter::default() }), Vec::<String>::new());
}

#[test]
fn a_fork_has_the_steps_up_to_its_place_and_goes_its_own_way() {
    let room = Room::new();
    room.sessions.create(&new("a", 1)).unwrap();
    room.sessions.append("a", &[says("user", "one"), says("user", "two"), says("user", "three")], 2).unwrap();
    room.sessions.fork("a", Some(2), &new("b", 5)).unwrap();
    room.sessions.fork("a", None, &new("c", 6)).unwrap();
    room.sessions.append("b", &[says("user", "other")], 7).unwrap();
    let texts = |id: &str| {
        let steps = room.sessions.steps(id).unwrap();
        steps.iter().map(|step| step.body["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts("a"), ["one", "two", "three"]);
    assert_eq!(texts("b"), ["one", "two", "other"]);
    assert_eq!(texts("c"), ["one", "two", "three"]);
    assert_eq!(room.sessions.steps("b").unwrap()[0].time_ms, 2, "when it was said");
    assert_eq!(room.sessions.header("b").unwrap().forked_from.as_deref(), Some("a"));
    let past = room.sessions.fork("a", Some(4), &new("d", 8));
    assert_eq!(past, Err(Error::NoSuchStep { number: 4, steps: 3 }));
    assert!(room.sessions.header("d").is_err(), "nothing was made");
    room.sessions.fork("a", Some(0), &new("e", 9)).unwrap();
    assert_eq!(texts("e"), Vec::<String>::new());
    room.sessions.delete("a", 10).unwrap();
    assert_eq!(texts("b").len(), 3, "a fork outlives its origin");
}

#[test]
fn deleting_takes_the_children_along_and_leaves_no_words_in_the_file() {
    let room = Room::new();
    for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("other", None)] {
        room.sessions.create(&NewSession { parent: parent.map(str::to_owned), ..new(id, 1) }).unwrap();
        room.sessions.append(id, &[says("user", &format!("swordfish of {id}"))], 2).unwrap();
    }
    room.sessions.delete("a", 3).unwrap();
    for id in ["a", "b", "c"] {
        assert!(matches!(room.sessions.steps(id), Err(Error::Missing { .. })), "{id}");
    }
    assert_eq!(room.sessions.steps("other").unwrap().len(), 1);
    assert!(matches!(room.sessions.delete("a", 4), Err(Error::Missing { .. })));
    for file in ["state.db", "state.db-wal"] {
        let bytes = std::fs::read(room.folder.path().join(file)).unwrap_or_default();
        let gone = b"swordfish of b";
        assert!(!bytes.windows(gone.len()).any(|part| part == gone), "{file}");
    }
}
