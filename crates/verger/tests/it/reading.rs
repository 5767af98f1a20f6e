//! `read`, `ls`, `search`, `tags`, `links`, `daily`, `health`.

use crate::rig::Rig;

#[test]
fn a_note_is_found_by_path_name_and_link_and_printed_byte_by_byte() {
    let rig = Rig::tour();
    let text = rig.read("Projects/Seed library.md");
    for name in [
        "Projects/Seed library.md",
        "Projects/Seed library",
        "Seed library",
        "[[Seed library]]",
        "[[Seed library|seeds]]",
    ] {
        assert_eq!(rig.ok(&["read", name]), text, "{name}");
    }
    assert_eq!(rig.ok(&["read", "Garden"]), rig.read("Garden/Garden.md"), "the note, not the folder");
    let json = rig.json(&["read", "Seed library"]);
    assert_eq!(json["data"]["content"], text);
    assert_eq!(json["data"]["path"], "Projects/Seed library.md");
}

#[test]
fn a_long_note_is_printed_whole() {
    let rig = Rig::tour();
    let long: String = (0..20_000).map(|n| format!("line {n} é\r\n")).collect();
    rig.write("Long.md", &long);
    assert_eq!(rig.ok(&["read", "Long.md"]), long);
}

#[test]
fn one_section_can_be_read() {
    let rig = Rig::tour();
    rig.write("Sections.md", "# A\ntext\n## B\nunder b\n### C\ndeep\n## D\nlast\n");
    assert_eq!(rig.ok(&["read", "Sections#B"]), "## B\nunder b\n### C\ndeep\n");
    assert_eq!(rig.ok(&["read", "[[Sections#B#C]]"]), "### C\ndeep\n");
    rig.write("C# notes.md", "sharp\n");
    assert_eq!(rig.ok(&["read", "C# notes.md"]), "sharp\n");
}

#[test]
fn folders_are_listed_without_what_is_hidden() {
    let rig = Rig::tour();
    let top = rig.ok(&["ls"]);
    assert!(top.starts_with("Attachments/\nBooks/\nGarden/\n"), "{top}");
    assert!(!top.contains("Private") && !top.contains(".obsidian"), "{top}");
    assert_eq!(rig.ok(&["ls", "Journal/"]), "Journal/2026-05-06.md\nJournal/2026-05-07.md\n");
    assert!(rig.ok(&["ls", "-r"]).contains("Garden/Bees.md\n"));
    assert_eq!(rig.json(&["ls", "Journal"])["data"]["entries"][0]["path"], "Journal/2026-05-06.md");
}

#[test]
fn a_listing_that_is_longer_than_one_answer_is_whole() {
    let rig = Rig::tour();
    for number in 0..1_200 {
        rig.write(&format!("Many/{number:04}.md"), "");
    }
    assert_eq!(rig.ok(&["ls", "Many"]).lines().count(), 1_200);
}

#[test]
fn search_shows_path_line_and_text() {
    let rig = Rig::tour();
    let found = rig.ok(&["search", "-x", "QUINCE TREE", "--in", "Garden"]);
    assert!(found.contains("Garden/The quince tree.md:6:# The quince tree\n"), "{found}");
    assert!(!rig.ok(&["search", "-x", "qu.nce"]).contains("quince"), "literal unless asked otherwise");
    assert!(rig.ok(&["search", "-e", "^# The qu.nce"]).starts_with("Garden/The quince tree.md:6:"));
    let around = rig.ok(&["search", "# The quince tree", "-C", "1", "--glob", "*.md"]);
    assert!(around.starts_with("Garden/The quince tree.md-5----\nGarden/The quince tree.md:6:"), "{around}");
    let json = rig.json(&["search", "-x", "quince"]);
    assert!(json["data"]["total_matches"].as_u64().unwrap() >= 9);
    assert_eq!(rig.ok(&["search", "-x", "no such words anywhere"]), "");
    rig.write("Many.md", &"needle\n".repeat(900));
    assert_eq!(rig.ok(&["search", "-x", "needle"]).lines().count(), 900, "more than one page");
    assert_eq!(rig.ok(&["search", "-x", "needle", "-m", "3"]).lines().count(), 3);
}

#[test]
fn tags_links_and_health_are_told() {
    let rig = Rig::tour();
    let tags = rig.ok(&["tags"]);
    assert!(tags.lines().any(|line| line.trim_start().ends_with("#garden")), "{tags}");
    assert!(rig.ok(&["tags", "#garden"]).contains("Garden/Bees.md\n"));
    assert!(rig.json(&["tags"])["data"]["total"].as_u64().unwrap() > 5);
    let links = rig.ok(&["links", "Seed library"]);
    assert!(
        links.contains("-> to Garden/Seed shelf.md, line") && links.contains("<- from Start.md, line"),
        "{links}"
    );
    assert!(rig.ok(&["links", "New roof"]).contains("Estimate from Harcourt, line 13  (leads nowhere)\n"));
    let health = rig.ok(&["health"]);
    for kind in ["error  broken_link  Projects/New roof.md:13:", "tag_variant", "orphan"] {
        assert!(health.contains(kind), "{health}");
    }
    assert!(rig.ok(&["health", "--kind", "orphan"]).starts_with("info  orphan  Left on the windowsill.md"));
    assert_eq!(rig.json(&["health", "--kind", "orphan"])["data"]["total"], 1);
}

#[test]
fn what_is_certain_is_mended_in_one_change_and_can_be_taken_back() {
    let rig = Rig::tour();
    let note = "Library/The returns box.md";
    let before = rig.read(note);
    assert!(
        rig.ok(&["health", "--kind", "tag-variant", "--repair", "--dry-run"])
            .contains("+tags: [projects, garden/seeds]")
    );
    assert_eq!(rig.read(note), before, "a dry run changes nothing");
    rig.ok(&["health", "--kind", "tag_variant", "--repair", "--yes"]);
    assert_eq!(rig.read(note), before.replace("#Repair", "#repair"));
    assert_eq!(rig.json(&["health", "--kind", "tag_variant"])["data"]["total"], 0);
    rig.ok(&["undo", "--yes"]);
    assert_eq!(rig.read(note), before);
    let words = "a few words that are said twice in this vault and nowhere else, which makes them rather easy to find for anybody who looks at all of the texts";
    rig.write("One.md", words);
    rig.write("Two.md", &format!("{words} again"));
    let found = rig.ok(&["health", "--deep", "--kind", "near_duplicate"]);
    assert!(found.starts_with("warning  near_duplicate  One.md, Two.md: 2 notes share "), "{found}");
}

#[test]
fn the_daily_note_is_made_shown_and_added_to() {
    let rig = Rig::tour();
    let missing = rig.run(&["daily"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("hint: make it from its template: verger daily --create"), "{missing:?}");
    rig.ok(&["daily", "--create", "--yes"]);
    let before = rig.ok(&["daily"]);
    assert!(!before.is_empty());
    rig.ok(&["daily", "--append", "- one line", "-y"]);
    assert_eq!(rig.ok(&["daily"]), format!("{}- one line\n", with_end(&before)));
    rig.ok(&["daily", "--offset", "-1", "--append", "- yesterday", "-y"]);
    assert!(rig.ok(&["daily", "--offset=-1"]).ends_with("- yesterday\n"));
}

fn with_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[test]
fn what_the_ignore_file_hides_is_nowhere() {
    let rig = Rig::tour();
    let secret = rig.read("Private/Presents.md");
    let line = secret.lines().find(|line| line.len() > 20).unwrap();
    assert_eq!(rig.run(&["read", "Private/Presents.md"]).code, 1);
    assert_eq!(rig.run(&["read", "Presents"]).code, 1);
    assert_eq!(rig.ok(&["search", "-x", line]), "");
    assert!(!rig.ok(&["ls", "-r"]).contains("Presents"));
}

#[test]
fn limits_and_the_environment_narrow_what_is_seen() {
    let rig = Rig::tour();
    let limited = |arguments: &[&str], name: &str, value: &str| {
        let output = rig.command(arguments).env(name, value).output().unwrap();
        crate::rig::Said::from(output)
    };
    assert_eq!(limited(&["read", "Inbox.md"], "OBSIDIAN_READ_PATHS", "Garden").code, 1);
    assert_eq!(limited(&["read", "Garden/Bees.md"], "OBSIDIAN_READ_PATHS", "Garden").code, 0);
    let said = limited(&["append", "Inbox.md", "x", "--yes"], "OBSIDIAN_READ_ONLY", "true");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("read_only_mode"), "{said:?}");
    let said = limited(&["ls"], "OBSIDIAN_READ_ONLY", "maybe");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("hint: set it to `true` or `false`"), "{said:?}");
}

#[test]
fn search_shows_the_best_notes_with_the_lines_that_say_why() {
    let rig = Rig::tour();
    let found = rig.ok(&["search", "quince", "tree"]);
    assert!(found.starts_with("Garden/The quince tree.md  The quince tree\n"), "{found}");
    assert!(found.contains("  6: # The quince tree\n"), "{found}");
    let typo = rig.run(&["search", "quinse"]);
    assert!(typo.out.contains("quince") && typo.err.contains("nobody wrote \"quinse\""), "{typo:?}");
    let other_words = rig.ok(&["search", "--meaning", "keeping pests off the lettuce", "-m", "5"]);
    assert!(other_words.contains("Slugs.md"), "{other_words}");
    let json = rig.json(&["search", "heron"]);
    assert!(json["data"]["notes"].as_array().unwrap().len() >= 2, "{json}");
    let nothing = rig.run(&["search", "zzyxwv"]);
    assert!(nothing.out.is_empty() && nothing.err.contains("--meaning"), "{nothing:?}");
    // What is changed outside is found by the next search.
    rig.write("Fresh.md", "# Fresh\nA brontosaurus came by.\n");
    assert!(rig.ok(&["search", "brontosaurus"]).starts_with("Fresh.md"));
}

#[test]
fn queries_are_answered_as_tables_csv_json_and_in_batches() {
    let rig = Rig::tour();
    let table = rig.ok(&["query", "TABLE length(file.tags) AS n FROM #garden SORT file.name LIMIT 2"]);
    assert!(table.starts_with("| File | n |\n| --- | --- |\n"), "{table}");
    assert!(rig.ok(&["query", "LIST LIMIT 1", "--format", "csv"]).lines().count() >= 1);
    assert_eq!(rig.json(&["query", "LIST LIMIT 3"])["data"]["values"].as_array().unwrap().len(), 3);
    let logic = rig.ok(&["query", "--jsonlogic", r#"{"glob": ["Garden/*", {"var": "path"}]}"#]);
    assert!(logic.contains("Garden/Slugs.md"), "{logic}");
    let wrong = rig.run(&["query", "TABLE x FORM y"]);
    assert!(wrong.code == 1 && wrong.err.contains("column 9") && wrong.err.contains('^'), "{wrong:?}");
    let rows = "{\"id\": 1, \"expr\": \"1 + 1\"}\nnonsense\n{\"id\": 2, \"query\": \"LIST WHERE\"}\n{\"id\": 3, \"expr\": \"date(today).year\"}\n";
    let said = rig.with_stdin(&["query", "--batch", "-", "--json", "--now", "2024-06-15T12:00:00Z"], rows);
    let lines: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> =
        lines.iter().map(|line| (line["status"].as_str().unwrap(), line["result"].clone())).collect();
    assert_eq!(told[0], ("ok", serde_json::json!(2)));
    assert_eq!((told[1].0, told[2].0), ("error", "parse-error"));
    assert_eq!(told[3], ("ok", serde_json::json!(2024)));
}
