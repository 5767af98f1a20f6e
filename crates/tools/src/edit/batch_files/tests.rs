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
        expect![[r#"
            moved 2 files: `Inbox/Draft one.md -> Inbox/one.md`, `Inbox/Draft two.md -> Inbox/two.md`
            links rewritten in `Inbox/one.md`, `Inbox/two.md`, `b.md`
            > Inbox/Draft one.md -> Inbox/one.md
            > Inbox/Draft two.md -> Inbox/two.md
            ~ Inbox/one.md (13 -> 7 bytes)
            -[[Draft two]]
            +[[two]]
            ~ Inbox/two.md (13 -> 7 bytes)
            -[[Draft one]]
            +[[one]]
            ~ b.md (17 -> 11 bytes)
            -[[Draft one]] old
            +[[one]] old
        "#]],
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
        expect![[r#"
            moved 2 files: `Inbox/Draft one.md -> Inbox/One.md`, `b.md -> F/c.md`
            transformed 1 file: `F/c.md`
            links rewritten in `Inbox/Draft two.md`, `F/c.md`
            > Inbox/Draft one.md -> Inbox/One.md
            > b.md -> F/c.md
            ~ Inbox/Draft two.md (13 -> 7 bytes)
            -[[Draft one]]
            +[[One]]
            ~ F/c.md (17 -> 30 bytes)
            -[[Draft one]] old
            +---
            +done: true
            +---
            +[[One]] new
        "#]],
    );
}

#[test]
fn two_files_with_one_new_name_are_refused_before_anything_moves() {
    check(
        BatchFiles,
        VAULT,
        json!({"operations": [{"op": "rename", "glob": "/Inbox/*.md", "find": ".*", "replace": "x"}]}),
        expect![
            "refused: batch_refused: nothing was done; operation 1 on `Inbox/Draft two.md`: `Inbox/xx.md` is also the new path of `Inbox/Draft one.md`. mend these items, then send the whole batch again. give them different names"
        ],
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
        expect![
            "refused: batch_refused: nothing was done; operation 1 on `b.md`: `pic.png` would not be a note any more; operation 1 on `b.md`: `pic.png` exists already; operation 2: there is no `nothing.md` in the vault; operation 3 on `Inbox/Draft one.md`: `Inbox/Draft two.md` exists already; operation 4: no file fits `*.pdf`; and 3 more. mend these items, then send the whole batch again. use `pic.png.md`, or `pic.png/` for a folder"
        ],
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
        expect![
            "refused: batch_refused: nothing was done; operation 2 on `pic.png`: only notes have properties; operation 3 on `b.md`: `(` is no regular expression that we know: unclosed group. mend these items, then send the whole batch again. name files that end in `.md`"
        ],
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
        expect![[r#"
            moved 2 files: `1.md -> 2.md`, `2.md -> 3.md`
            links rewritten in `3.md`
            > 1.md -> 2.md
            > 2.md -> 3.md
            ~ 3.md (9 -> 9 bytes)
            -two [[1]]
            +two [[2]]
        "#]],
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
        expect![
            "refused: batch_refused: nothing was done; operation 1 on `F`: `F/a.md` lies in this folder or goes there, and the folder moves itself. mend these items, then send the whole batch again. do it in two batches"
        ],
    );
}

#[test]
fn nothing_to_change_is_an_answer() {
    check(
        BatchFiles,
        "a.md: x",
        json!({"operations": [{"op": "transform", "path": "a.md", "replacements": [{"search": "y", "replace": ""}]}]}),
        expect!["nothing to change in `a.md`"],
    );
    check(
        BatchFiles,
        "a.md: x",
        json!({"operations": []}),
        expect!["refused: input_invalid: there is nothing to do. give at least one operation"],
    );
}

#[test]
fn more_than_a_thousand_files_are_refused() {
    let vault: Vec<String> = (0..1_001).map(|number| format!("n{number}.md: x")).collect();
    check(
        BatchFiles,
        &vault.join("\n--- "),
        json!({"operations": [{"op": "move", "glob": "*.md", "destination": "F"}]}),
        expect!["refused: too_many_files: the batch would touch more than 1000 files. split it into several"],
    );
}

#[test]
fn a_file_may_go_into_a_folder_that_arrives_in_the_same_batch() {
    check(
        BatchFiles,
        "a.md: x\n--- F/b.md: y",
        json!({"operations": [
            {"op": "move", "path": "a.md", "destination": "G/F"},
            {"op": "move", "path": "F", "destination": "G"}]}),
        expect![[r#"
            moved 2 files: `F -> G/F`, `a.md -> G/F/a.md`
            > F -> G/F
            > a.md -> G/F/a.md
        "#]],
    );
}
