use super::*;
use expect_test::expect;
use pipeline::testing::check;

const VAULT: &str = "Inbox/Draft one.md: [[Draft two]]\n--- Inbox/Draft two.md: [[Draft one]]\n--- b.md: [[Draft one]] old\n--- pic.png: x";

#[test]
fn files_that_fit_a_glob_are_renamed_by_a_pattern_and_links_follow() {
    check(
        BatchFiles,
        VAULT,
        json!({"operations": [{"op": "rename", "glob": "/Inbox/*.md", "find": "^Draft (.*)", "replace": "$1"}]}),
        expect![[""]],
    );
}

#[test]
fn one_file_may_be_renamed_moved_and_transformed_at_once() {
    check(
        BatchFiles,
        VAULT,
        json!({"operations": [
            {"op": "rename", "path": "b.md", "new_name": "c"},
            {"op": "move", "path": "b.md", "destination": "F"},
            {"op": "transform", "path": "b.md", "replacements": [{"search": "old", "replace": "new"}],
             "updates": {"done": true}},
            {"op": "rename", "path": "Inbox/Draft one.md", "new_name": "One.md"},
            {"op": "transform", "glob": "Draft*", "replacements": [{"search": "nowhere", "replace": ""}]}]}),
        expect![[""]],
    );
}

#[test]
fn two_files_with_one_new_name_are_refused_before_anything_moves() {
    check(
        BatchFiles,
        VAULT,
        json!({"operations": [{"op": "rename", "glob": "/Inbox/*.md", "find": ".*", "replace": "x"}]}),
        expect![[""]],
    );
}

#[test]
fn every_item_that_fails_is_named() {
    check(
        BatchFiles,
        VAULT,
        json!({"operations": [
            {"op": "rename", "path": "b.md", "new_name": "pic.png"},
            {"op": "rename", "path": "nothing.md", "new_name": "x"},
            {"op": "rename", "path": "Inbox/Draft one.md", "new_name": "Draft two"},
            {"op": "move", "glob": "*.pdf", "destination": "PDF"},
            {"op": "move", "path": "b.md", "glob": "b.md", "destination": "F"},
            {"op": "rename", "path": "pic.png", "new_name": "../x.png"},
            {"op": "transform", "path": "Inbox", "remove": ["x"]}]}),
        expect![[""]],
    );
}

#[test]
fn a_failing_transform_stops_the_renames_too() {
    check(
        BatchFiles,
        VAULT,
        json!({"operations": [
            {"op": "rename", "path": "b.md", "new_name": "c"},
            {"op": "transform", "path": "pic.png", "updates": {"a": 1}},
            {"op": "transform", "path": "b.md", "replacements": [{"search": "(", "replace": "", "useRegex": true}]}]}),
        expect![[""]],
    );
}

#[test]
fn names_may_be_passed_on_in_one_batch() {
    check(
        BatchFiles,
        "1.md: one\n--- 2.md: two [[1]]",
        json!({"operations": [
            {"op": "rename", "path": "1.md", "new_name": "2"},
            {"op": "rename", "path": "2.md", "new_name": "3"}]}),
        expect![[""]],
    );
}

#[test]
fn a_folder_and_a_file_in_it_do_not_move_in_one_batch() {
    check(
        BatchFiles,
        "F/a.md: x",
        json!({"operations": [
            {"op": "move", "path": "F", "destination": "G"},
            {"op": "rename", "path": "F/a.md", "new_name": "b"}]}),
        expect![[""]],
    );
}

#[test]
fn nothing_to_change_is_an_answer() {
    check(
        BatchFiles,
        "a.md: x",
        json!({"operations": [{"op": "transform", "path": "a.md", "replacements": [{"search": "y", "replace": ""}]}]}),
        expect![[""]],
    );
    check(BatchFiles, "a.md: x", json!({"operations": []}), expect![[""]]);
}

#[test]
fn more_than_a_thousand_files_are_refused() {
    let vault: Vec<String> = (0..1_001).map(|number| format!("n{number}.md: x")).collect();
    check(
        BatchFiles,
        &vault.join("\n--- "),
        json!({"operations": [{"op": "move", "glob": "*.md", "destination": "F"}]}),
        expect![[""]],
    );
}
