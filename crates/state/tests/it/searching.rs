//! What search finds in what was said.

use state::{Error, Found, NewStep, SearchHistory};

use super::rig::{Room, new, says};

fn query(text: &str) -> SearchHistory {
    SearchHistory { text: text.into(), ..SearchHistory::default() }
}

#[track_caller]
fn numbers(room: &Room, query: &SearchHistory) -> Vec<u64> {
    room.sessions.search(query).unwrap().iter().map(|found| found.number).collect()
}

#[test]
fn nothing_in_the_text_is_a_wildcard_and_case_does_not_count_in_any_script() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    let lines = [
        "100% sure",
        "1000 sure",
        "snake_case",
        "snakeXcase",
        "a\\b",
        "a.*b",
        "ÄPFEL und Öl",
        "ΟΔΟΣ",
        "straße",
        "日本語 の 文",
        "tab\there\nand there",
        "🎉 party",
        "zero\0byte",
    ];
    for (time, line) in lines.iter().enumerate() {
        room.sessions.append("s", &[says("user", line)], time as i64).unwrap();
    }
    for (text, expected) in [
        ("100%", vec![1]),
        ("%", vec![1]),
        ("SNAKE_case", vec![3]),
        ("_", vec![3]),
        ("a\\b", vec![5]),
        ("a.*b", vec![6]),
        (".", vec![6]),
        ("äpfel", vec![7]),
        ("öL", vec![7]),
        ("οδοσ", vec![8]),
        ("STRAßE", vec![9]),
        ("語", vec![10]),
        ("🎉", vec![12]),
        ("o\0B", vec![13]),
        ("sure", vec![2, 1]),
        ("nowhere", vec![]),
        ("  sure ", vec![2, 1]),
    ] {
        assert_eq!(numbers(&room, &query(text)), expected, "{text}");
    }
    let found = room.sessions.search(&query("HERE\nand")).unwrap();
    assert_eq!(found[0].snippet, "tab here and there", "one line");
}

#[test]
fn the_newest_comes_first_and_role_conversation_and_agent_narrow_it() {
    let room = Room::new();
    room.sessions.create(&new("a", 1)).unwrap();
    room.sessions.create(&state::NewSession { title: Some("Second".into()), ..new("b", 1) }).unwrap();
    room.sessions.append("a", &[says("user", "bread 1"), says("assistant", "bread 2")], 10).unwrap();
    room.sessions.append("b", &[says("user", "bread 3")], 30).unwrap();
    room.sessions.append("a", &[says("user", "bread 4")], 20).unwrap();
    room.sessions.set_agent_and_model("b", "writer", "m", 31).unwrap();
    room.sessions.append("b", &[says("assistant", "bread 5")], 40).unwrap();
    let texts = |query: &SearchHistory| {
        let found = room.sessions.search(query).unwrap();
        found.into_iter().map(|found| found.snippet).collect::<Vec<_>>().join(", ")
    };
    let all = query("bread");
    assert_eq!(texts(&all), "bread 5, bread 3, bread 4, bread 2, bread 1");
    assert_eq!(texts(&SearchHistory { limit: 2, ..all.clone() }), "bread 5, bread 3");
    let user = SearchHistory { role: Some("user".into()), ..all.clone() };
    assert_eq!(texts(&user), "bread 3, bread 4, bread 1");
    let a = SearchHistory { session: Some("a".into()), ..all.clone() };
    assert_eq!(texts(&a), "bread 4, bread 2, bread 1");
    assert_eq!(texts(&SearchHistory { agent: Some("writer".into()), ..all.clone() }), "bread 5");
    let found = room.sessions.search(&all).unwrap().remove(1);
    let expected = Found {
        session: "b".into(),
        title: Some("Second".into()),
        role: "user".into(),
        time_ms: 30,
        snippet: "bread 3".into(),
        number: 1,
    };
    assert_eq!(found, expected);
    let missing = room.sessions.search(&SearchHistory { session: Some("c".into()), ..all });
    assert!(matches!(missing, Err(Error::Missing { .. })));
}

#[test]
fn a_snippet_is_220_characters_around_the_place() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    let far = format!("{}NEEDLE{}", "ä".repeat(5_000), "ö".repeat(5_000));
    let near_the_end = format!("{} needle", "ü".repeat(1_000));
    let long = "needle ".repeat(100);
    for text in [&far, &near_the_end, &long] {
        room.sessions.append("s", &[says("user", text)], 1).unwrap();
    }
    let snippets: Vec<String> = room
        .sessions
        .search(&query("needle"))
        .unwrap()
        .into_iter()
        .rev()
        .map(|found| found.snippet)
        .collect();
    for (snippet, longest) in snippets.iter().zip([222, 222, 221]) {
        assert!(snippet.to_lowercase().contains("needle"), "{snippet}");
        assert!(snippet.chars().count() <= longest, "{}", snippet.chars().count());
    }
    assert!(snippets[0].starts_with("…ä") && snippets[0].ends_with("ö…"), "{}", snippets[0]);
    assert!(snippets[1].starts_with("…ü") && snippets[1].ends_with(" needle"), "{}", snippets[1]);
    let whole = room.sessions.search(&query(&"needle ".repeat(90))).unwrap();
    assert!(whole[0].snippet.chars().count() <= 221, "a long needle is clipped, too");
}

#[test]
fn a_text_that_forks_have_copied_is_found_once() {
    let room = Room::new();
    room.sessions.create(&new("a", 1)).unwrap();
    room.sessions.append("a", &[says("user", "bread"), says("assistant", "more bread")], 2).unwrap();
    room.sessions.fork("a", None, &new("b", 5)).unwrap();
    room.sessions.fork("b", None, &new("c", 6)).unwrap();
    room.sessions.append("c", &[says("user", "bread again")], 7).unwrap();
    let found = room.sessions.search(&query("bread")).unwrap();
    let places: Vec<(&str, u64)> = found.iter().map(|found| (&*found.session, found.number)).collect();
    assert_eq!(places, [("c", 3), ("c", 2), ("c", 1)]);
    let a = SearchHistory { session: Some("a".into()), ..query("bread") };
    assert_eq!(numbers(&room, &a), [2, 1], "each has its own");
}

#[test]
fn what_cannot_be_searched_for_is_refused_and_thirty_is_the_most() {
    let room = Room::new();
    for text in ["", "  \n", &"x".repeat(1_001)] {
        assert!(matches!(room.sessions.search(&query(text)), Err(Error::Unfit { .. })), "{text:?}");
    }
    assert_eq!(room.sessions.search(&query("x")).unwrap(), []);
    room.sessions.create(&new("s", 1)).unwrap();
    let steps: Vec<NewStep> = (0..50).map(|number| says("user", &format!("x {number}"))).collect();
    room.sessions.append("s", &steps, 1).unwrap();
    assert_eq!(numbers(&room, &SearchHistory { limit: 1_000, ..query("x") }).len(), 30);
    assert_eq!(numbers(&room, &query("x")).len(), 10);
}
