//! `verger query --base`, and the base tools by name.

use crate::rig::Rig;

fn rig() -> Rig {
    let rig = Rig::empty();
    rig.write(".obsidian/app.json", "{}");
    rig.write("Books/Dune.md", "---\nprice: 12.5\nstatus: done\n---\n#book\n");
    rig.write("Books/Emma.md", "---\nprice: 7\nstatus: open\n---\n#book/old [[Dune]]\n");
    rig.write("Note.md", "Text.\n\n```base\nfilters: file.hasLink(\"Dune\")\n```\n");
    rig.write(
        "Books.base",
        "filters: file.hasTag(\"book\")\nformulas:\n  half: price / 2\nodd: 1\nviews:\n  - type: table\n    name: All\n    order: [file.name, formula.half]\n    sort: [{property: price, direction: DESC}]\n    summaries: {price: Sum}\n  - type: table\n    name: Open\n    filters: status == \"open\"\n",
    );
    rig
}

#[test]
fn a_base_is_shown_as_markdown_csv_and_json_and_notices_go_to_stderr() {
    let rig = rig();
    let said = rig.run(&["query", "--base", "Books.base"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(
        said.out,
        "| file.name | half |\n| --- | --- |\n| [[Books/Dune.md\\|Dune.md]] | 6.25 |\n| [[Books/Emma.md\\|Emma.md]] | 3.5 |\n\n- price, Sum: 19.5\n"
    );
    assert!(said.err.contains("the key `odd` is not known"), "{said:?}");
    let csv = rig.ok(&["query", "--base", "Books.base", "--view", "Open", "--format", "csv"]);
    assert_eq!(csv.replace('\r', ""), "file.name\nEmma.md\n");
    let json = rig.json(&["query", "--base", "Books", "--view", "open"]);
    assert_eq!(json["data"]["rows"][0]["path"], "Books/Emma.md", "{json}");
    assert_eq!(json["data"]["count"], 1);
    assert!(rig.ok(&["query", "--base", "Note"]).contains("Emma"));
}

#[test]
fn a_wrong_view_lists_the_views_and_a_wrong_expression_has_a_caret() {
    let rig = rig();
    let said = rig.run(&["query", "--base", "Books.base", "--view", "Opne"]);
    assert!(said.code == 1 && said.err.contains("All, Open") && said.out.is_empty(), "{said:?}");
    rig.write("Bad.base", "views:\n  - name: V\n    filters:\n      and:\n        - file.hasTagg(\"x\")\n");
    let said = rig.run(&["query", "--base", "Bad.base"]);
    assert!(said.code == 1 && said.err.contains("`views[0].filters.and[0]` (line 5), column 6"), "{said:?}");
    assert!(said.err.contains('^') && said.err.contains("did you mean `hasTag`?"), "{said:?}");
    assert_ne!(rig.run(&["query", "--view", "x", "LIST"]).code, 0);
    assert_ne!(rig.run(&["query", "--base", "Books.base", "LIST"]).code, 0);
}

#[test]
fn a_base_is_created_updated_and_undone_by_the_tools() {
    let rig = rig();
    let before = rig.bytes();
    let created = r#"{"path": "New.base", "views": [{"name": "V", "filters": "price > 10"}]}"#;
    rig.ok(&["tool", "create_base", "-i", created, "--yes"]);
    assert!(rig.ok(&["query", "--base", "New.base"]).contains("Dune"));
    let again = rig.run(&["tool", "create_base", "-i", created, "--yes"]);
    assert!(again.code != 0 && again.err.contains("exists already"), "{again:?}");
    rig.ok(&[
        "tool",
        "update_base",
        "-i",
        r#"{"path": "Books.base", "formulas": {"half": "price / 4"}}"#,
        "--yes",
    ]);
    assert!(rig.ok(&["query", "--base", "Books.base"]).contains("3.125"));
    rig.ok(&["undo", "--yes"]);
    rig.ok(&["undo", "--yes"]);
    assert_eq!(rig.bytes(), before);
}
