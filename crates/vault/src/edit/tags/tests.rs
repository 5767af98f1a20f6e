//! Tags added, removed and renamed: what is not the tag stays.

use proptest::prelude::*;

use super::*;

fn owned(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

#[track_caller]
fn check(edit: Result<TagEdit>, text: &str, applied: &[&str], skipped: &[&str]) {
    let edit = edit.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(edit.text, text);
    assert_eq!((edit.applied, edit.skipped), (owned(applied), owned(skipped)));
}

#[track_caller]
fn check_removed(text: &str, tag: &str, expected: &str) {
    let edit = remove(text, &owned(&[tag]), Location::Inline).expect("removed");
    assert_eq!(edit.text, expected, "{text:?} without {tag}");
}

#[test]
fn tags_are_listed_once_front_matter_first() {
    let lists = list("---\ntags: [a, '#b']\n---\n#C and #A `#no` [[x#no]] %% #no %%\n#c #x/y\n");
    assert_eq!(lists.front, ["a", "b"]);
    assert_eq!(lists.inline, ["C", "A", "x/y"]);
    assert_eq!(lists.all, ["a", "b", "C", "x/y"]);
    assert_eq!(list("---\ntags: \"a, #b c\"\n---\n").front, ["a", "b", "c"]);
    assert_eq!(list("---\ntags: [\n---\n").front, Vec::<String>::new());
}

#[test]
fn front_matter_tags_become_a_list_in_their_order() {
    let add = |text: &str, tags: &[&str]| add(text, &owned(tags), Location::Front);
    check(add("x", &["#a", "b/c"]), "---\ntags:\n  - a\n  - b/c\n---\nx", &["a", "b/c"], &[]);
    check(add("---\ntags: [x]\n---\n", &["X", "y"]), "---\ntags: [x, y]\n---\n", &["y"], &["X"]);
    check(add("---\ntags:\n- x # c\n---\n", &["y"]), "---\ntags:\n- x # c\n- y\n---\n", &["y"], &[]);
    check(add("---\ntags: x, y\n---\n", &["z"]), "---\ntags:\n  - x\n  - y\n  - z\n---\n", &["z"], &[]);
    check(add("---\nTags:\n---\n", &["z"]), "---\nTags:\n  - z\n---\n", &["z"], &[]);
    check(add("---\ntags: x\n---\n", &["x"]), "---\ntags: x\n---\n", &[], &["x"]);
    assert_eq!(add("---\ntags: {a: b}\n---\n", &["x"]).expect_err("refused").reason(), "tags_not_a_list");
    assert_eq!(add("---\ntags: [\n---\n", &["x"]).expect_err("refused").reason(), "frontmatter_invalid");
}

#[test]
fn the_last_tag_takes_its_key_along() {
    let remove = |text: &str, tags: &[&str]| remove(text, &owned(tags), Location::Front);
    check(remove("---\ntags: [a, b]\n---\n", &["A"]), "---\ntags: [b]\n---\n", &["A"], &[]);
    check(remove("---\ntags: [a]\nk: 1\n---\n", &["a"]), "---\nk: 1\n---\n", &["a"], &[]);
    check(remove("---\ntags: a\n---\n\nx", &["a", "z"]), "x", &["a"], &["z"]);
    check(remove("---\ntags: a, b\n---\n", &["a"]), "---\ntags:\n  - b\n---\n", &["a"], &[]);
    check(remove("---\ntags: [a/b, ab]\n---\n", &["a"]), "---\ntags: [a/b, ab]\n---\n", &[], &["a"]);
    check(remove("---\ntag: a\n---\n#a", &["a"]), "#a", &["a"], &[]);
}

#[test]
fn inline_tags_are_added_on_a_last_line() {
    let add = |text: &str, tags: &[&str]| add(text, &owned(tags), Location::Inline);
    check(add("text", &["a", "é"]), "text\n#a #é\n", &["a", "é"], &[]);
    check(add("text\r\n", &["a"]), "text\r\n#a\r\n", &["a"], &[]);
    check(add("", &["a"]), "#a\n", &["a"], &[]);
    check(add("#A `#b`\n", &["a", "b"]), "#A `#b`\n#b\n", &["b"], &["a"]);
    check(add("---\ntags: [\n---\n", &["a"]), "---\ntags: [\n---\n#a\n", &["a"], &[]);
    assert_eq!(add("```\ncode\n", &["a"]).expect_err("refused").reason(), "tag_unreachable");
}

#[test]
fn both_places_are_filled_each_for_itself() {
    check(add("#a\n", &owned(&["a"]), Location::Both), "---\ntags:\n  - a\n---\n#a\n", &["a"], &[]);
    check(
        add("---\ntags: [a]\n---\n#a\n", &owned(&["a"]), Location::Both),
        "---\ntags: [a]\n---\n#a\n",
        &[],
        &["a"],
    );
    check(
        remove("---\ntags: [a]\nk: 1\n---\nx #a\n", &owned(&["a"]), Location::Both),
        "---\nk: 1\n---\nx\n",
        &["a"],
        &[],
    );
}

#[test]
fn a_removed_tag_takes_one_space_and_no_more() {
    check_removed("x #a y", "a", "x y");
    check_removed("x  #a  y", "a", "x   y");
    check_removed("x #a\ny", "a", "x\ny");
    check_removed("x #a  \ny", "a", "x  \ny");
    check_removed("- p\n  - x #a\n\n    y  z", "a", "- p\n  - x\n\n    y  z");
    check_removed("- #a x\n  - y\n", "a", "- x\n  - y\n");
    check_removed("- [ ] #a\n- #a\n1. #a\n> #a\n", "a", "- [ ] \n- \n1. \n> \n");
    check_removed("x #a, y (#a)", "a", "x , y (#a)");
    check_removed("x\n#a\ny", "a", "x\ny");
    check_removed("x\r\n#a #a\r\ny", "a", "x\r\ny");
    check_removed("x\n#a", "a", "x\n");
    check_removed("#a", "a", "");
    check_removed("x #a #A #b #a", "a", "x #b");
    check_removed("#x #a", "a", "#x");
}

#[test]
fn only_the_tag_itself_is_removed() {
    for text in
        ["x #a/b #ab #a-b #a_b", "`#a` ```#a```", "%% #a %% x", "[[n#a]] [x](y#a) http://x/#a", "x#a", "\\#a"]
    {
        check_removed(text, "a", text);
    }
    check_removed("#été #étés", "Été", "#étés");
}

#[test]
fn renaming_takes_children_along() {
    let text = "---\ntags: [a, x, A/b]\n---\n#a/c `#a` #ab #A\n";
    check(
        rename(text, "a", "z/y"),
        "---\ntags: [z/y, x, z/y/b]\n---\n#z/y/c `#a` #ab #z/y\n",
        &["a", "A/b", "a/c"],
        &[],
    );
    check(rename("---\ntags: [a, b]\n---\n", "a", "b"), "---\ntags: [b]\n---\n", &["a"], &[]);
    check(rename("---\ntags: a b\n---\n", "a", "c"), "---\ntags:\n  - c\n  - b\n---\n", &["a"], &[]);
    check(rename("x", "a", "b"), "x", &[], &["a"]);
}

#[test]
fn what_is_no_tag_name_is_refused() {
    for name in
        ["", "#", "a b", "123", "a/", "/a", "a//b", "a.b", "a,b", "a#b", "a\nb", "a\u{2028}b", "[[x]]"]
    {
        for result in [
            add("x", &owned(&[name]), Location::Both),
            remove("x", &owned(&[name]), Location::Both),
            rename("x", "a", name),
        ] {
            assert_eq!(result.expect_err("refused").reason(), "tag_invalid", "{name:?}");
        }
    }
    for name in ["a", "#a", "y1984", "2024-05", "été", "日本", "🎉", "a_b/c-d"] {
        assert!(add("x", &owned(&[name]), Location::Both).is_ok(), "{name}");
    }
}

proptest! {
    #[test]
    fn an_added_tag_can_be_taken_back(text in "([a-z ]{1,8}\n){0,3}", tag in "[a-zé]{1,5}(/[a-z]{1,3})?") {
        let tags = [tag];
        let added = add(&text, &tags, Location::Both).expect("added");
        prop_assert_eq!(&list(&added.text).all, &tags);
        // Blank first lines go with a block that goes.
        let back = remove(&added.text, &tags, Location::Both).expect("removed");
        prop_assert_eq!(back.text.trim_start(), text.trim_start());
    }

    #[test]
    fn removing_leaves_all_other_words(words in prop::collection::vec((prop::sample::select(WORDS), prop::sample::select(GAPS)), 0..20)) {
        let text: String = words.iter().map(|(word, gap)| format!("{word}{gap}")).collect();
        let edit = remove(&text, &owned(&["a"]), Location::Inline).expect("removed");
        let left: Vec<&str> = words.iter().map(|(word, _)| *word).filter(|word| *word != "#a").collect();
        let found = edit.text.split_whitespace().filter(|word| !matches!(*word, "-" | ">"));
        prop_assert_eq!(found.collect::<Vec<_>>(), left);
        prop_assert!(!list(&edit.text).inline.contains(&"a".to_owned()));
        let lists = list(&text).inline.into_iter().filter(|tag| tag != "a").collect::<Vec<_>>();
        prop_assert_eq!(list(&edit.text).inline, lists);
    }
}

const WORDS: &[&str] = &["#a", "#a", "#b", "#a/b", "#ab", "#aé", "x", "é", "`c`", "[[n#a]]"];
const GAPS: &[&str] = &[" ", "\n", "\n\n", "\r\n", " \n", "\n- ", "\n> "];
