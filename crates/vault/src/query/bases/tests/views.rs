//! Whole bases: filters, formulas, sorting, groups, limits, summaries, and what may not be seen.

use expect_test::{Expect, expect};

use super::super::run::run_over;
use super::*;

fn ran(base: &str, view: Option<&str>) -> Result<ViewRows, BaseError> {
    let catalog = catalog();
    let base = Base::parse(base)?;
    run_over(
        &base,
        view,
        Window::default(),
        &catalog,
        Visible::only(&not_private),
        &HashSet::new(),
        &context(),
    )
}

#[track_caller]
fn check(base: &str, view: Option<&str>, expected: Expect) {
    let shown = match ran(base, view) {
        Ok(rows) => {
            let notices: String = rows.notices.iter().map(|notice| format!("! {notice}\n")).collect();
            format!("{} of {}\n{}{notices}", rows.count, rows.total, encode::to_markdown(&rows))
        }
        Err(error) => format!("{}: {}\nhint: {}\n", error.reason(), error.message(), error.hint()),
    };
    expected.assert_eq(&shown);
}

const BOOKS: &str = r#"filters:
  and:
    - file.hasTag("book")
    - not:
        - file.ext != "md"
formulas:
  formatted_price: 'if(price, price.toFixed(2) + " dollars")'
  ppu: "(price / age).round(2)"
properties:
  status:
    displayName: State
  formula.formatted_price:
    displayName: "Price"
summaries:
  customAverage: 'values.mean().round(3)'
views:
  - type: table
    name: All
    order:
      - file.name
      - note.status
      - formula.formatted_price
      - formula.ppu
    sort:
      - property: price
        direction: DESC
    summaries:
      price: Average
      formula.ppu: customAverage
  - type: cards
    name: Groups
    image: note.cover
    cardSize: 120
    groupBy:
      property: note.status
      direction: DESC
    order: [file.name, price]
    summaries: {price: Sum}
  - type: list
    name: Open
    filters: status == "open"
    limit: 1
    order: [file.basename, author]
"#;

#[test]
fn a_table_has_its_columns_order_formulas_and_summaries() {
    check(
        BOOKS,
        None,
        expect![[r#"
        3 of 3
        | file.name | State | Price | ppu |
        | --- | --- | --- | --- |
        | [[Books/Dune.md\|Dune.md]] | done | 12.50 dollars | 2.5 |
        | [[Books/Emma.md\|Emma.md]] | open | 7.00 dollars | 3.5 |
        | [[Books/Textbook.md\|Textbook.md]] | open |  |  |

        - price, Average: 9.75
        - ppu, customAverage: 3
    "#]],
    );
}

#[test]
fn a_cards_view_is_grouped_with_summaries_for_each_group() {
    check(
        BOOKS,
        Some("groups"),
        expect![[r#"
        3 of 3
        ### open (2)

        | file.name | price |
        | --- | --- |
        | [[Books/Emma.md\|Emma.md]] | 7 |
        | [[Books/Textbook.md\|Textbook.md]] |  |

        - price, Sum: 7

        ### done (1)

        | file.name | price |
        | --- | --- |
        | [[Books/Dune.md\|Dune.md]] | 12.5 |

        - price, Sum: 12.5

        ### All

        - price, Sum: 19.5
    "#]],
    );
}

#[test]
fn a_limit_keeps_the_first_rows_and_says_how_many_there_are() {
    check(
        BOOKS,
        Some("Open"),
        expect![[r#"
        1 of 2
        | file.basename | author |
        | --- | --- |
        | [[Books/Emma.md\|Emma]] | [[Jane Austen\|Austen]] |
    "#]],
    );
}

#[test]
fn a_wrong_view_names_the_views() {
    check(
        BOOKS,
        Some("Opened"),
        expect![[r#"
        view_unknown: there is no view `Opened`
        hint: the views are: All, Groups, Open
    "#]],
    );
}

#[test]
fn a_base_without_views_lists_all_files() {
    check(
        "",
        None,
        expect![[r#"
        7 of 7
        | file.name |
        | --- |
        | [[Books.base\|Books.base]] |
        | [[Books/Dune.md\|Dune.md]] |
        | [[Books/Emma.md\|Emma.md]] |
        | [[Books/Textbook.md\|Textbook.md]] |
        | [[Books/cover.png\|cover.png]] |
        | [[Home.md\|Home.md]] |
        | [[People/Frank Herbert.md\|Frank Herbert.md]] |
    "#]],
    );
}

#[test]
fn this_is_the_note_around_the_base() {
    check(
        "filters: file.hasLink(this.file) || this.favourites.contains(file)",
        None,
        expect![[r#"
        1 of 1
        | file.name |
        | --- |
        | [[Books/Dune.md\|Dune.md]] |
    "#]],
    );
    check(
        "filters: file.backlinks.contains(this)\nviews:\n  - name: V\n    order: [file.file, file.backlinks]",
        None,
        expect![[r#"
            2 of 2
            | file.file | file.backlinks |
            | --- | --- |
            | [[Books/Dune.md]] | [[Books/Emma.md]], [[Home.md]], [[People/Frank Herbert.md]] |
            | [[Books/Emma.md]] | [[Home.md]] |
        "#]],
    );
}

#[test]
fn groups_and_filters_may_be_empty_and_nested() {
    check(
        "filters:\n  or:\n    - and: []\n    - not:\n        - or:\n            - status == \"done\"\nviews:\n  - name: V\n    filters: {}\n    groupBy: file.folder\n    sort:\n      - column: file.name\n        direction: desc\n",
        None,
        expect![[r#"
            7 of 7
            ### / (2)

            | file.name |
            | --- |
            | [[Home.md\|Home.md]] |
            | [[Books.base\|Books.base]] |

            ### Books (4)

            | file.name |
            | --- |
            | [[Books/Textbook.md\|Textbook.md]] |
            | [[Books/Emma.md\|Emma.md]] |
            | [[Books/Dune.md\|Dune.md]] |
            | [[Books/cover.png\|cover.png]] |

            ### People (1)

            | file.name |
            | --- |
            | [[People/Frank Herbert.md\|Frank Herbert.md]] |

        "#]],
    );
}

#[test]
fn every_built_in_summary_says_its_number() {
    let names = ["Average", "Min", "Max", "Sum", "Range", "Median", "Stddev", "Empty", "Filled", "Unique"];
    let lines = |id: &str, name: &str| {
        let base = format!(
            "filters: file.hasTag(\"book\")\nviews:\n  - name: V\n    summaries:\n      {id}: {name}\n"
        );
        let rows = ran(&base, None).unwrap();
        format!("{id} {name}: {}\n", encode::to_json(&rows.summaries[0].value))
    };
    let mut out: String = names.iter().map(|name| lines("price", name)).collect();
    for name in ["Earliest", "Latest", "Range", "Unique"] {
        out += &lines("published", name);
    }
    for name in ["Checked", "Unchecked", "Empty"] {
        out += &lines("rated", name);
    }
    expect![[r#"
        price Average: 9.75
        price Min: 7
        price Max: 12.5
        price Sum: 19.5
        price Range: 5.5
        price Median: 9.75
        price Stddev: 2.75
        price Empty: 1
        price Filled: 2
        price Unique: 2
        published Earliest: {"$date":"1815-12-23"}
        published Latest: {"$date":"1965-08-01"}
        published Range: {"$duration":{"years":149,"months":7,"days":9}}
        published Unique: 2
        rated Checked: 1
        rated Unchecked: 1
        rated Empty: 1
    "#]]
    .assert_eq(&out);
}

#[test]
fn what_fails_on_some_rows_is_told_and_what_fails_on_all_is_refused() {
    let base = |filter: &str| {
        format!(
            "filters: {filter}\nformulas:\n  n: number(status) + 1\n  d: if(price, date(status))\nviews:\n  - name: V\n    order: [file.name, formula.d]\n"
        )
    };
    check(
        &base("file.hasTag(\"book\")"),
        None,
        expect![[r#"
        3 of 3
        | file.name | d |
        | --- | --- |
        | [[Books/Dune.md\|Dune.md]] |  |
        | [[Books/Emma.md\|Emma.md]] |  |
        | [[Books/Textbook.md\|Textbook.md]] |  |
        ! `formulas.d` failed on 2 rows; the first, `Books/Dune.md`: in formula `d`, byte 11: `done` is no date; it is written 2025-01-31 or 2025-01-31 12:00:00
    "#]],
    );
    check(
        &base("number(file.name) > 1"),
        None,
        expect![[r#"
        base_failed: `filters` fails on every row; the first, `Books.base`: `Books.base` is no number
        hint: check the properties and types that it uses
    "#]],
    );
    check(
        &base("formula.n > 1"),
        None,
        expect![[r#"
        0 of 0
        | file.name | d |
        | --- | --- |
        ! `filters` failed on 3 rows; the first, `Books/Dune.md`: in formula `n`, byte 1: `done` is no number
    "#]],
    );
}

#[test]
fn a_summary_that_fails_is_empty_and_told() {
    let base = "filters: file.hasTag(\"book\")\nsummaries:\n  bad: number(\"x\")\nviews:\n  - name: V\n    groupBy: status\n    summaries: {price: bad}\n";
    let rows = ran(base, None).unwrap();
    assert_eq!(rows.notices, ["`summaries.bad` failed for `price`: `x` is no number"]);
    assert_eq!(encode::to_json(&rows.summaries[0].value), Json::Null);
}

#[test]
fn wrong_shapes_name_the_key_and_the_line() {
    for (base, expected) in [
        (
            "views: 3",
            expect![[r#"
            base_invalid: line 1: `views` must be a list of views, but it is `3`
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "- a\n- b",
            expect![[r#"
            base_invalid: line 1: a base is a list of `key: value` lines
            hint: a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes
        "#]],
        ),
        (
            "filters: [a, b]",
            expect![[r#"
            base_invalid: line 1: `filters` must be an expression, or a mapping with `and`, `or` or `not`, but it is a list
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "filters:\n  and: [a]\n  or: [b]",
            expect![[r#"
            base_invalid: line 2: `filters` must be a mapping with exactly one of `and`, `or` and `not`, but it is a mapping
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "filters:\n  all: [a]",
            expect![[r#"
            base_invalid: line 2: `filters` must be a mapping with exactly one of `and`, `or` and `not`, but it is a mapping
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "formulas: [a]",
            expect![[r#"
            base_invalid: line 1: `formulas` must be a mapping of names to expressions, but it is a list
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "formulas:\n  a: [1]",
            expect![[r#"
            base_invalid: line 2: `formulas.a` must be an expression, but it is a list
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "views:\n  - name: V\n    limit: many",
            expect![[r#"
            base_invalid: line 3: `views[0].limit` must be a whole number, but it is `many`
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "views:\n  - table",
            expect![[r#"
            base_invalid: line 2: `views[0]` must be a mapping with `type` and `name`, but it is `table`
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "views:\n  - name: V\n    sort:\n      - property: a\n        direction: UP",
            expect![[r#"
            base_invalid: line 5: `views[0].sort[0].direction` must be `ASC` or `DESC`, but it is `UP`
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "views:\n  - name: V\n    sort:\n      - direction: ASC",
            expect![[r#"
            base_invalid: line 4: `views[0].sort[0]` must be a mapping with `property` and `direction`, but it is a mapping
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "views:\n  - name: V\n    order: [file.nam]",
            expect![[r#"
            expression_invalid: `views[0].order[0]` (line 3), column 6: a file has no property `nam`
            file.nam
                 ^
            hint: did you mean `name`?
        "#]],
        ),
        (
            "views:\n  - name: V\n    summaries:\n      a: Averge",
            expect![[r#"
            expression_invalid: `views[0].summaries.a` (line 4), column 1: there is no summary `Averge`
            Averge
            ^
            hint: did you mean `Average`?
        "#]],
        ),
        (
            "properties:\n  a: b",
            expect![[r#"
            base_invalid: line 2: `properties.a` must be a mapping, e.g. `displayName: Price`, but it is `b`
            hint: see the syntax of bases: filters, formulas, properties, summaries, views
        "#]],
        ),
        (
            "formulas:\n  a: formula.b\n  b: formula.c\n  c: formula.b",
            expect![[r#"
            expression_invalid: the formulas go round in a circle: b → c → b
            hint: let one of them do without the others
        "#]],
        ),
        (
            "formulas:\n  a: formula.a",
            expect![[r#"
            expression_invalid: the formulas go round in a circle: a → a
            hint: let one of them do without the others
        "#]],
        ),
        (
            "a: [",
            expect![[r#"
            base_invalid: line 2: while parsing a node, did not find expected node content
            hint: a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes
        "#]],
        ),
        (
            "filters:\n  and:\n    - !done",
            expect![[r#"
            base_invalid: line 3: `!` starts a YAML tag here; an expression that starts with `!` stands in quotes
            hint: a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes
        "#]],
        ),
        (
            "filters: !file.hasTag(\"x\")",
            expect![[r#"
            base_invalid: line 1: while scanning a tag, did not find expected whitespace or line break
            hint: a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes
        "#]],
        ),
        (
            "a: 1\na: 2",
            expect![[r#"
            base_invalid: line 2: the key `a` stands there twice
            hint: a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes
        "#]],
        ),
        (
            "views:\n  - name: V\n    filters:\n      and:\n        - 'ünï'\n        - 'file.hasTagg(\"x\")'",
            expect![[r#"
                expression_invalid: `views[0].filters.and[1]` (line 6), column 6: a file has no method `hasTagg`
                file.hasTagg("x")
                     ^
                hint: did you mean `hasTag`?
            "#]],
        ),
    ] {
        check(base, None, expected);
    }
}

#[test]
fn unknown_keys_and_lost_formulas_are_notices() {
    check(
        "filter: a\nviews:\n  - name: V\n    plugin: {deep: 1}\n    order: [formula.gone]\n    limit: 1\n",
        None,
        expect![[r#"
            1 of 7
            | gone |
            | --- |
            |  |
            ! line 1: the key `filter` is not known and was left alone; did you mean `filters`?
            ! `views[0].order[0]` names the formula `gone`, which is not there; its values are empty
        "#]],
    );
}

#[test]
fn what_may_not_be_seen_is_in_no_row_count_link_or_summary() {
    let base = "filters: status == \"open\" || file.name == \"Dune.md\"\nviews:\n  - name: V\n    order: [file.path, file.backlinks]\n    groupBy: status\n    summaries: {price: Sum, file.path: Filled}\n";
    let rows = ran(base, None).unwrap();
    let json = encode::rows_to_json(&rows).to_string();
    assert!(!json.contains("Diary") && !json.contains("1000") && !json.contains("Private"), "{json}");
    assert_eq!((rows.count, rows.total), (3, 3));
    // The one who may see it gets it.
    let all = run_over(
        &Base::parse(base).unwrap(),
        None,
        Window::default(),
        &catalog(),
        Visible::all(),
        &HashSet::new(),
        &context(),
    );
    let all = all.unwrap();
    assert_eq!(all.count, 4);
    assert!(encode::to_csv(&all).contains("Private/Diary.md"));
    let hidden =
        "filters: file.hasLink(\"Diary\") || file(\"Diary\") != null || link(\"Diary\").asFile() != null";
    assert_eq!(ran(hidden, None).unwrap().total, 0);
}

#[test]
fn a_window_shows_some_rows_and_counts_all() {
    let (catalog, base) = (catalog(), Base::parse("filters: file.ext == \"md\"").unwrap());
    let window = Window { offset: 1, limit: 2 };
    let rows =
        run_over(&base, None, window, &catalog, Visible::only(&not_private), &HashSet::new(), &context())
            .unwrap();
    let paths: Vec<&str> = rows.rows.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(paths, ["Books/Emma.md", "Books/Textbook.md"]);
    assert_eq!((rows.offset, rows.count, rows.total), (1, 5, 5));
}

#[test]
fn csv_and_json_keep_the_types() {
    let base = "filters: file.name == \"Dune.md\"\nviews:\n  - name: V\n    order: [file.name, author, published, genres, rated, meta, nothing]\n";
    let rows = ran(base, None).unwrap();
    expect![[r#"
        file.name,author,published,genres,rated,meta,nothing
        Dune.md,People/Frank Herbert.md,1965-08-01,space; politics,true,"{pages: 412, lang: en}",
    "#]]
    .assert_eq(&encode::to_csv(&rows).replace("\r\n", "\n"));
    assert_eq!(encode::to_csv(&rows).matches("\r\n").count(), 2);
    expect![[r#"{"path":"Books/Dune.md","values":{"file.name":"Dune.md","author":{"$link":{"target":"Frank Herbert","path":"People/Frank Herbert.md","fragment":null,"display":null}},"published":{"$date":"1965-08-01"},"genres":["space","politics"],"rated":true,"meta":{"pages":412,"lang":"en"},"nothing":null}}"#]].assert_eq(&encode::rows_to_json(&rows)["rows"][0].to_string());
}

#[test]
fn properties_that_the_editor_keeps_as_text_are_no_dates() {
    let base = Base::parse("filters: published.isType(\"string\")").unwrap();
    let texts = HashSet::from(["published".to_owned()]);
    let rows =
        run_over(&base, None, Window::default(), &catalog(), Visible::all(), &texts, &context()).unwrap();
    assert_eq!(rows.total, 2);
}

#[test]
fn ten_thousand_notes_are_filtered_sorted_and_summed_up_quickly() {
    let files = MemoryFiles::default();
    for number in 0..10_000 {
        let path = VaultPath::parse(&format!("Folder {}/Note {number}.md", number % 100)).unwrap();
        let tag = ["garden", "work/verger", "home"][number % 3];
        files.write(
            &path,
            format!(
                "---\nrank: {number}\ndue: 2026-01-0{}\n---\n#{tag} [[Note {}]]\n",
                number % 9 + 1,
                number / 2
            ),
        );
    }
    let catalog = Catalog::build(&files).unwrap();
    for (base, total) in [
        ("filters: file.hasTag(\"work\")", 3_333),
        (
            "filters: file.hasTag(\"work\")\nviews:\n  - name: V\n    order: [file.name, rank, due]\n    sort: [{property: rank, direction: DESC}]\n    groupBy: due\n    summaries: {rank: Average}\n    limit: 100\n",
            3_333,
        ),
        ("filters: file.hasLink(\"Note 10\")", 2),
        ("filters: file.backlinks.length > 1", 4_999),
    ] {
        let parsed = Base::parse(base).unwrap();
        let start = std::time::Instant::now();
        let window = Window { offset: 0, limit: 50 };
        let rows = run_over(
            &parsed,
            None,
            window,
            &catalog,
            Visible::only(&not_private),
            &HashSet::new(),
            &context(),
        )
        .unwrap();
        println!("{:?} for {} of 10,000: {}", start.elapsed(), rows.total, base.lines().next().unwrap());
        assert_eq!(rows.total, total, "{base}");
        assert!(
            start.elapsed() < std::time::Duration::from_secs(5),
            "even unoptimised: {:?}",
            start.elapsed()
        );
    }
}
