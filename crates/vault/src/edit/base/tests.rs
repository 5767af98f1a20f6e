//! Edits of bases as people and Obsidian write them: what is not meant stays, byte by byte.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn path(text: &str) -> Vec<Step> {
    let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Item);
    text.split('/').map(step).collect()
}

fn set(at: &str, value: Value) -> Op {
    Op::Set(path(at), value)
}

#[track_caller]
fn check(text: &str, ops: &[Op], expected: Expect) {
    let shown = apply(text, ops).unwrap_or_else(|error| format!("{error}"));
    expected.assert_eq(&shown);
}

const NASTY: &str = r#"# My books
filters: # all views
  and:
    - file.hasTag("book")   # the tag
    # - file.inFolder("Old")
formulas:
  'quoted key': "price * 2"
  long: |
    if(price,
      price.toFixed(2))

  last: 'it''s' # end

# about properties
properties: {status: {displayName: State}, file.ext: {displayName: "Ext, really"}}
views:
- type: table
  name: "First"
  columnSize:
    note.status: 120
  order:
  - file.name
  - status # why

  # the second
- name: Second
  type: cards
  sort: []
strange: &x [1, 2]
again: *x
"#;

#[test]
fn one_value_changes_and_everything_else_stays() {
    for (ops, expected) in [
        (
            vec![set("formulas/last", json!("price > 1"))],
            expect![[r#"
            -  last: 'it''s' # end
            +  last: 'price > 1' # end
        "#]],
        ),
        (
            vec![set("formulas/long", json!("1"))],
            expect![[r#"
            -  long: |
            -    if(price,
            -      price.toFixed(2))
            +  long: "1"
        "#]],
        ),
        (
            vec![set("formulas/new", json!("a: b"))],
            expect![[r#"
            +  new: "a: b"
        "#]],
        ),
        (
            vec![set("filters", json!({"or": ["a", {"not": ["b"]}]}))],
            expect![[r#"
            -  and:
            -    - file.hasTag("book")   # the tag
            +  or:
            +    - a
            +    - not:
            +        - b   # the tag
        "#]],
        ),
        (
            vec![set("filters", json!("a == 1"))],
            expect![[r#"
            -filters: # all views
            -  and:
            -    - file.hasTag("book")   # the tag
            +filters: a == 1 # all views   # the tag
        "#]],
        ),
        (
            vec![set("properties/note.x/displayName", json!("X"))],
            expect![[r#"
            -properties: {status: {displayName: State}, file.ext: {displayName: "Ext, really"}}
            +properties: {status: {displayName: State}, file.ext: {displayName: "Ext, really"}, note.x: {displayName: X}}
        "#]],
        ),
        (
            vec![set("views/0/filters", json!({"and": ["x > 1"]})), set("views/1/name", json!("2nd"))],
            expect![[r#"
                +  filters:
                +    and:
                +      - x > 1
                -- name: Second
                +- name: 2nd
            "#]],
        ),
        (
            vec![set("views/1/sort", json!([{"property": "a", "direction": "DESC"}]))],
            expect![[r#"
            -  sort: []
            +  sort: [{property: a, direction: DESC}]
        "#]],
        ),
        (
            vec![set("summaries/mine", json!("values.mean()"))],
            expect![[r#"
            +summaries:
            +  mine: values.mean()
        "#]],
        ),
        (
            vec![Op::Push(path("views"), json!({"type": "table", "name": "Third", "order": ["file.name"]}))],
            expect![[r#"
                +- type: table
                +  name: Third
                +  order:
                +    - file.name
            "#]],
        ),
        (
            vec![Op::Push(path("views/0/order"), json!("price"))],
            expect![[r#"
            +  - price
        "#]],
        ),
        (
            vec![Op::Remove(path("views/0"))],
            expect![[r#"
            -- type: table
            -  name: "First"
            -  columnSize:
            -    note.status: 120
            -  order:
            -  - file.name
            -  - status # why
        "#]],
        ),
        (
            vec![Op::Remove(path("views/1/name"))],
            expect![[r#"
            -- name: Second
            -  type: cards
            +- type: cards
        "#]],
        ),
        (
            vec![Op::Remove(path("filters/and/0"))],
            expect![[r#"
            -filters: # all views
            -  and:
            -    - file.hasTag("book")   # the tag
        "#]],
        ),
        (
            vec![Op::Remove(path("formulas/long")), Op::Remove(path("properties/status"))],
            expect![[r#"
            -  long: |
            -    if(price,
            -      price.toFixed(2))
            -properties: {status: {displayName: State}, file.ext: {displayName: "Ext, really"}}
            +properties: {file.ext: {displayName: "Ext, really"}}
        "#]],
        ),
        (
            vec![set("again", json!("own"))],
            expect![[r#"
            -again: *x
            +again: own
        "#]],
        ),
        (
            vec![Op::Remove(path("strange"))],
            expect![[r#"
            this base is written in a way that the edit could damage
        "#]],
        ),
        (
            vec![Op::Remove(path("filters/or"))],
            expect![[r#"
            `filters.or` is not there
        "#]],
        ),
        (
            vec![Op::Remove(path("nothing"))],
            expect![[r#"
            `nothing` is not there
        "#]],
        ),
        (
            vec![Op::Push(path("filters"), json!("x"))],
            expect![[r#"
            `filters` is not a list
        "#]],
        ),
        (
            vec![set("views/7/name", json!("x"))],
            expect![[r#"
            `views[7]` cannot be reached
        "#]],
        ),
    ] {
        let shown = match apply(NASTY, &ops) {
            Ok(new) => {
                let diff = similar::TextDiff::from_lines(NASTY, &new);
                let changed =
                    diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
                changed.map(|change| format!("{}{change}", change.tag())).collect()
            }
            Err(error) => format!("{error}\n"),
        };
        expected.assert_eq(&shown);
    }
}

#[test]
fn line_ends_byte_order_marks_and_missing_last_line_ends_stay() {
    let windows = "\u{feff}views: []\r\nfilters: a\r\n";
    let new = apply(windows, &[set("formulas/x", json!("1 + 1"))]).unwrap();
    assert_eq!(new, format!("{windows}formulas:\r\n  x: 1 + 1\r\n"));
    let new = apply(windows, &[Op::Push(path("views"), json!({"name": "A"}))]).unwrap();
    assert_eq!(new, windows.replace("[]", "[{name: A}]"));
    check(
        "filters: a",
        &[set("formulas/x", json!("y"))],
        expect![[r#"
        filters: a
        formulas:
          x: y
    "#]],
    );
    check(
        "",
        &[set("views", json!([{"type": "table", "name": "A"}]))],
        expect![[r#"
        views:
          - type: table
            name: A
    "#]],
    );
    check(
        "# only words\n",
        &[Op::Push(path("views"), json!({"name": "A"}))],
        expect![[r#"
        # only words
        views:
          - name: A
    "#]],
    );
    check(
        "views:\n",
        &[Op::Push(path("views"), json!({"name": "A"}))],
        expect![[r#"
        views:
          - name: A
    "#]],
    );
    check(
        "formulas:\n  ä: 'ö' # ü\n",
        &[set("formulas/ä", json!("ß"))],
        expect![[r#"
        formulas:
          ä: 'ß' # ü
    "#]],
    );
}

#[test]
fn the_last_of_something_takes_its_key_along() {
    check(
        "formulas:\n  a: '1'\nviews: []\n",
        &[Op::Remove(path("formulas/a"))],
        expect![[r#"
        views: []
    "#]],
    );
    check("filters:\n  and:\n    - a\n", &[Op::Remove(path("filters/and/0"))], expect![[""]]);
}

#[test]
fn a_new_base_reads_back_as_what_it_was_made_of() {
    let data = json!({"filters": {"and": ["file.hasTag(\"a\")", "x: y"]}, "formulas": {"f": "'a' + \"b\""},
        "views": [{"type": "table", "name": "T #1", "order": ["file.name"], "limit": 5}]});
    let data = data.as_object().unwrap();
    let text = create(data);
    expect![[r#"
        filters:
          and:
            - file.hasTag("a")
            - "x: y"
        formulas:
          f: "'a' + \"b\""
        views:
          - type: table
            name: "T #1"
            order:
              - file.name
            limit: 5
    "#]]
    .assert_eq(&text);
    assert_eq!(&yaml::read(&text).unwrap().data, data);
}

proptest! {
    #[test]
    fn an_edit_says_what_it_should_or_is_refused(
        value in "[a-z\"': #\\[{}&*|>-]{0,12}",
        key in "[a-zä\"': #-]{1,6}",
        at in prop_oneof![Just("filters"), Just("formulas"), Just("properties"), Just("views/0"), Just("views/1")],
    ) {
        let mut at = path(at);
        at.push(Step::Key(key));
        if let Ok(new) = apply(NASTY, &[Op::Set(at.clone(), json!(value))]) {
            let data = Value::Object(yaml::read(&new).unwrap().data);
            prop_assert_eq!(find(&data, &at), Some(&json!(value)));
            let back = apply(&new, &[Op::Remove(at.clone())]);
            if find(&Value::Object(yaml::read(NASTY).unwrap().data), &at).is_none() {
                prop_assert_eq!(back.unwrap(), NASTY);
            }
        }
    }
}
