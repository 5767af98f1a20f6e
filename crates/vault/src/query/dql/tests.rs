//! The recorded answers of Dataview itself, where they lie beside the repository, and rows of our own.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::*;

fn context() -> Context {
    let now = "2024-06-15T12:00:00Z".parse::<jiff::Timestamp>().unwrap();
    Context { now: now.to_zoned(jiff::tz::TimeZone::UTC), this: None }
}

/// The rows of a file of the recorded answers; none where they are not there.
fn corpus(name: &str) -> Option<Vec<Json>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/dataview").join(name);
    let Ok(text) = read(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[allow(clippy::disallowed_methods, reason = "the corpora are no vault")]
fn read(path: &std::path::Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

/// Numbers count as equal within 1e-9.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(1.0)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

#[track_caller]
fn score(name: &str, misses: &[String], total: usize) {
    println!("{name}: {} of {total}", total - misses.len());
    misses.iter().take(60).for_each(|miss| println!("  {miss}"));
    assert!(misses.is_empty(), "{name}: {} of {total} missed", misses.len());
}

fn expressions(name: &str) {
    let Some(rows) = corpus(name) else { return };
    let mut misses = Vec::new();
    for row in &rows {
        let expr = row["expr"].as_str().unwrap();
        let found = evaluate(expr, &NoPages, &context()).map(|value| encode::to_json(&value));
        let fits = match (&found, row.get("error")) {
            (Err(error), Some(_)) => row["stage"] != "parse" || error.status() == "parse-error",
            (Ok(found), None) => same(found, &row["value"]),
            _ => false,
        };
        if !fits {
            let found = found.map_or_else(|error| format!("error: {error}"), |found| found.to_string());
            misses.push(format!(
                "{} {expr}: {found}, not {}",
                row["id"],
                row.get("value").unwrap_or(&"error".into())
            ));
        }
    }
    score(name, &misses, rows.len());
}

#[test]
fn expressions_of_the_suite_have_the_recorded_values() {
    expressions("eval.jsonl");
}

#[test]
fn operators_and_functions_have_the_recorded_values() {
    expressions("matrix.jsonl");
}

#[test]
fn the_grammar_takes_what_dataview_takes() {
    let Some(rows) = corpus("parse.jsonl") else { return };
    let mut misses = Vec::new();
    for row in &rows {
        let (parser, input) = (row["parser"].as_str().unwrap(), row["input"].as_str().unwrap());
        let taken = takes(parser, input);
        if taken != row["ok"].as_bool().unwrap() {
            misses.push(format!("{} {parser} {input:?}: {taken}", row["id"]));
        }
    }
    score("parse.jsonl", &misses, rows.len());
}

fn takes(parser: &str, input: &str) -> bool {
    use parse::{Cursor, literal};
    match parser {
        "field" | "binaryOpField" => parse::expression(input).is_ok(),
        "query" => parse::query(input).is_ok(),
        "source" => parse::source(input).is_ok(),
        "date" => literal(input, Cursor::date).is_some(),
        "datePlus" => literal(input, Cursor::date_plus).is_some(),
        "duration" => literal(input, Cursor::duration).is_some(),
        "tag" => literal(input, Cursor::tag).is_some(),
        "string" => literal(input, Cursor::string).is_some(),
        "number" => literal(input, Cursor::number).is_some(),
        "bool" => literal(input, Cursor::boolean).is_some(),
        "identifier" => literal(input, Cursor::identifier).is_some(),
        "link" => literal(input, Cursor::link).is_some(),
        "inlineField" => literal(input, Cursor::inline_field).is_some(),
        "namedField" => literal(input, Cursor::named_field).is_some(),
        "sortField" => literal(input, Cursor::sort_field).is_some(),
        "queryType" => literal(input, Cursor::query_type).is_some(),
        "comment" => literal(input, Cursor::comment).is_some(),
        "dateField" => literal(input, Cursor::date_field).is_some(),
        other => panic!("{other}"),
    }
}

#[test]
fn tags_fields_keys_and_headings_are_read_as_recorded() {
    let Some(rows) = corpus("misc.jsonl") else { return };
    let mut misses = Vec::new();
    for row in &rows {
        let found = misc(row["what"].as_str().unwrap(), &row["args"]);
        if !same(&found, &row["value"]) {
            misses.push(format!(
                "{} {} {}: {found}, not {}",
                row["id"], row["what"], row["args"], row["value"]
            ));
        }
    }
    score("misc.jsonl", &misses, rows.len());
}

fn misc(what: &str, args: &Json) -> Json {
    use inline::{EmojiDates, Wrapping, inline_fields};
    let text = args[0].as_str().unwrap_or("");
    match what {
        "frontmatter-tags" => frontmatter_tags(args[0].as_object().unwrap()).into(),
        "text-tags" => text::text_tags(text).into(),
        "canonical-key" => text::canonical_key(text).into(),
        "heading-link-text" => text::heading_link_text(text).into(),
        "set-inline-field" => {
            inline::set_inline_field(text, args[1].as_str().unwrap(), args[2].as_str()).into()
        }
        "set-emoji-completion" => inline::set_emoji_completion(text, args[1].as_str()).into(),
        "inline-fields" => {
            let dates = if args[1] == true { EmojiDates::Read } else { EmojiDates::Ignore };
            let at = |byte: usize| text::units(&text[..byte]);
            let fields = inline_fields(text, dates).into_iter().map(|field| {
                let emoji = field.wrapping == Wrapping::Emoji;
                serde_json::json!({
                    "key": field.key,
                    "value": field.value,
                    "start": at(field.start),
                    // Dataview counts one unit for the emoji, whatever its length.
                    "startValue": if emoji { at(field.start) + 1 } else { at(field.value_start) },
                    "end": at(field.end),
                    "wrapping": match field.wrapping {
                        Wrapping::Square => "[",
                        Wrapping::Round => "(",
                        Wrapping::Emoji => "emoji-shorthand",
                        Wrapping::Line => "line",
                    },
                })
            });
            fields.collect()
        }
        other => panic!("{other}"),
    }
}

/// A copy of the recorded vault with the times of the recording.
#[allow(clippy::disallowed_methods, reason = "the corpora are no vault, and a test makes its own")]
fn recorded_vault() -> Option<tempfile::TempDir> {
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/dataview/vault");
    if !from.exists() {
        println!("skipped: {} is not there", from.display());
        return None;
    }
    let to = tempfile::tempdir().unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_704_164_645);
    let mut waiting = vec![PathBuf::new()];
    while let Some(folder) = waiting.pop() {
        std::fs::create_dir_all(to.path().join(&folder)).unwrap();
        for entry in std::fs::read_dir(from.join(&folder)).unwrap() {
            let name = folder.join(entry.unwrap().file_name());
            if from.join(&name).is_dir() {
                waiting.push(name);
                continue;
            }
            std::fs::write(to.path().join(&name), std::fs::read(from.join(&name)).unwrap()).unwrap();
            let file = std::fs::File::options().write(true).open(to.path().join(&name)).unwrap();
            file.set_modified(time).unwrap();
        }
    }
    Some(to)
}

#[test]
fn whole_queries_have_the_recorded_answers() {
    let (Some(rows), Some(root)) = (corpus("queries.jsonl"), recorded_vault()) else { return };
    let data = tempfile::tempdir().unwrap();
    let vault = crate::Vault::open(root.path(), data.path()).unwrap();
    let scope = crate::policy::Scope::default();
    let pages = VaultPages::new(vault.view(&scope)).unwrap();
    let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
    let answers = batch(&lines, &pages, &context().now);
    let mut misses = Vec::new();
    for (row, answer) in rows.iter().zip(answers) {
        let answer: Json = serde_json::from_str(&answer).unwrap();
        let expected = &row["expected"];
        let fits = answer["status"] == expected["status"]
            && same(&ordered(&answer["result"], row), &ordered(&expected["result"], row));
        if !fits {
            misses.push(format!(
                "{} {}{}\n    {answer}\n    not {expected}",
                row["id"], row["query"], row["expr"]
            ));
        }
    }
    score("queries.jsonl", &misses, rows.len());
}

/// Rows whose order the query leaves open are compared as sets.
fn ordered(result: &Json, row: &Json) -> Json {
    let mut result = result.clone();
    if row["ordered"] == true && row["inner_unordered"] != true {
        return result;
    }
    for name in ["rows", "values"] {
        let Some(rows) = result.get_mut(name).and_then(Json::as_array_mut) else { continue };
        if row["inner_unordered"] == true {
            rows.iter_mut().for_each(sort_inside);
        }
        if row["ordered"] != true {
            rows.sort_by_key(Json::to_string);
        }
    }
    result
}

fn sort_inside(value: &mut Json) {
    match value {
        Json::Array(items) => {
            items.iter_mut().for_each(sort_inside);
            items.sort_by_key(Json::to_string);
        }
        Json::Object(map) => map.values_mut().for_each(sort_inside),
        _ => {}
    }
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/dql/", $name))
    };
}

fn rows(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn our_own_expressions() {
    for row in rows(fixture!("expressions.jsonl")) {
        let found = evaluate(row["expr"].as_str().unwrap(), &NoPages, &context());
        match (found, row.get("error")) {
            (Ok(found), None) => {
                let found = encode::to_json(&found);
                assert!(same(&found, &row["value"]), "{}: {found}, not {}", row["expr"], row["value"]);
            }
            (Err(_), Some(_)) => {}
            (found, _) => panic!("{}: {:?}", row["expr"], found.map(|value| encode::to_json(&value))),
        }
    }
}

#[test]
fn deep_calls_end_in_an_error_and_not_the_stack() {
    let nested = |count: usize| format!("{}1{}", "list(".repeat(count), ")".repeat(count));
    let texts = [
        "((f) => f(f))((f) => f(f))".to_owned(),
        "((f) => map([f], f))((f) => map([f], f))".to_owned(),
        "((f) => [{ a: !(1 + f(f)) }])((f) => [{ a: !(1 + f(f)) }])".to_owned(),
        nested(60),
    ];
    // Half of what a test thread has, and unoptimised frames: a server's threads have room to spare.
    let asked = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        texts.map(|text| evaluate(&text, &NoPages, &context()).map_err(|error| error.to_string()).is_ok())
    });
    assert_eq!(asked.unwrap().join().unwrap(), [false, false, false, true]);
}

#[test]
fn sorting_what_has_no_order_does_not_panic() {
    let items: Vec<String> = (0..200)
        .map(|n| match n % 5 {
            0 => "0 / 0".to_owned(),
            1 => format!("dur({} hours)", n % 7),
            2 => format!("dur({} minutes)", n % 7 * 60),
            3 => format!("[0 / 0, {}]", n * 37 % 11),
            _ => format!("{}", n * 53 % 17),
        })
        .collect();
    let sorted = evaluate(&format!("sort([{}])", items.join(", ")), &NoPages, &context()).unwrap();
    let Value::List(sorted) = sorted else { panic!("no list") };
    assert_eq!(sorted.len(), 200);
    assert!(matches!(sorted.last(), Some(Value::Number(number)) if number.is_nan()));
}

/// Our own vault, in which `Private` may not be read.
fn with_our_vault(check: impl FnOnce(&VaultPages<'_>)) {
    let read = ["Home.md", "Garden.md", "People", "data"].map(|path| VaultPath::parse(path).unwrap());
    let limits = crate::policy::Limits { read: Some(read.into()), ..Default::default() };
    with_scoped_vault(
        fixture!("vault.txt"),
        crate::policy::Scope::new(limits, crate::policy::Rules::default()),
        check,
    );
}

/// A vault from one text, all of which may be read.
fn with_vault(text: &str, check: impl FnOnce(&VaultPages<'_>)) {
    with_scoped_vault(text, crate::policy::Scope::default(), check);
}

fn with_scoped_vault(text: &str, scope: crate::policy::Scope, check: impl FnOnce(&VaultPages<'_>)) {
    use crate::files::Files;
    let files = crate::files::MemoryFiles::parse(text).unwrap();
    let root = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    files.walk(&mut |entry| entries.push(entry)).unwrap();
    for entry in entries.iter().filter(|entry| entry.kind == crate::files::Kind::File) {
        put(&root.path().join(entry.path.as_str()), &files.read(&entry.path).unwrap());
    }
    let vault = crate::Vault::open(root.path(), data.path()).unwrap();
    check(&VaultPages::new(vault.view(&scope)).unwrap());
}

#[allow(clippy::disallowed_methods, reason = "a test makes its own vault")]
fn put(path: &std::path::Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn our_own_queries_over_a_vault_with_a_hidden_folder() {
    with_our_vault(|pages| {
        let text = fixture!("queries.jsonl");
        for (row, answer) in rows(text).iter().zip(batch(text, pages, &context().now)) {
            let answer: Json = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["status"], row["expected"][0], "{}: {answer}", row["id"]);
            if let Some(expected) = row["expected"].get(1) {
                let found = brief(&answer["result"]);
                assert!(same(&found, expected), "{}: {found}, not {expected}", row["id"]);
            }
        }
    });
}

/// Only the rows; links by their path, tasks by their text.
fn brief(result: &Json) -> Json {
    match result {
        Json::Array(items) => items.iter().map(brief).collect(),
        Json::Object(map) => match (map.get("$link"), map.get("text"), map.get("rows").or(map.get("values")))
        {
            (Some(link), _, _) => link["path"].clone(),
            (_, Some(text), _) => text.clone(),
            (_, _, Some(rows)) if map.contains_key("type") => brief(rows),
            _ => Json::Object(map.iter().map(|(key, value)| (key.clone(), brief(value))).collect()),
        },
        other => other.clone(),
    }
}

#[test]
fn answers_are_markdown_and_csv_for_people() {
    with_our_vault(|pages| {
        let ask = |text: &str| run(text, pages, &context()).unwrap();
        let table = ask("TABLE budget, owner FROM \"Garden\" OR \"Home\" SORT file.name");
        expect_test::expect![[r#"
            | File | budget | owner |
            | --- | --- | --- |
            | [[Garden.md\|Garden]] | 120.5 | \- |
            | [[Home.md\|Home]] | \- | [[People/Ann.md\|Ann]] |
        "#]]
        .assert_eq(&encode::to_markdown(&table));
        assert_eq!(
            encode::to_csv(&table),
            "File,budget,owner\r\nGarden.md,120.5,\r\nHome.md,,People/Ann.md\r\n"
        );
        let tasks = ask("TASK GROUP BY completed");
        expect_test::expect![[r#"
            - false
                - [ ] dig #soil [due:: 2024-06-18] ^dig
            - true
                - [x] find spade
                - [x] plant ✅ 2024-06-01
        "#]]
        .assert_eq(&encode::to_markdown(&tasks));
    });
}

/// Runs a query with pages that have everything, whatever it mentions.
fn run_on_whole_pages(text: &str, pages: &dyn Pages) -> Result<Json, String> {
    let query = parse::query(text).map_err(|error| error.to_string())?;
    let evaluator = Evaluator::new(pages, &context(), Wants::everything()).map_err(QueryError::from);
    let evaluator = evaluator.map_err(|error| error.to_string())?;
    let found = run::run(&evaluator, &query).map_err(|fault| QueryError::from(fault).to_string())?;
    Ok(encode::result_to_json(&found))
}

/// Pages that are always made whole.
struct WholePages<'a>(&'a VaultPages<'a>);

impl Pages for WholePages<'_> {
    fn all(&self) -> Vec<VaultPath> {
        self.0.all()
    }

    fn in_folder(&self, folder: &str) -> Option<Vec<VaultPath>> {
        self.0.in_folder(folder)
    }

    fn tagged(&self, tag: &str) -> Vec<VaultPath> {
        self.0.tagged(tag)
    }

    fn file(&self, path: &str) -> Option<VaultPath> {
        self.0.file(path)
    }

    fn resolve(&self, target: &str, from: Option<&VaultPath>) -> Option<VaultPath> {
        self.0.resolve(target, from)
    }

    fn linking_to(&self, path: &VaultPath) -> Vec<VaultPath> {
        self.0.linking_to(path)
    }

    fn linking_nowhere(&self, target: &str) -> Vec<VaultPath> {
        self.0.linking_nowhere(target)
    }

    fn linked_from(&self, path: &VaultPath) -> Option<Vec<VaultPath>> {
        self.0.linked_from(path)
    }

    fn pages(
        &self,
        paths: &[VaultPath],
        _: &Maker,
    ) -> crate::error::Result<Vec<Option<std::sync::Arc<value::Object>>>> {
        self.0.pages(paths, &Maker::whole(&date::Zone::Local(context().now.time_zone().clone())))
    }

    fn csv(&self, path: &str) -> crate::error::Result<Option<String>> {
        self.0.csv(path)
    }
}

#[test]
fn what_is_not_mentioned_changes_no_answer() {
    let own = rows(fixture!("queries.jsonl"));
    let mut texts: Vec<String> =
        own.iter().filter_map(|row| row["query"].as_str().map(str::to_owned)).collect();
    for recorded in corpus("queries.jsonl").into_iter().flatten() {
        texts.extend(recorded["query"].as_str().map(str::to_owned));
    }
    texts.extend(
        [
            "LIST date(file.link)",
            "LIST extract(file.link, \"file\")",
            "TABLE rows.file.name, length(rows) GROUP BY file.folder",
            "LIST map(rows, (r) => r.file.path) GROUP BY file.folder",
            "TABLE key.file.size, key.tags GROUP BY file.link",
            "TABLE owner.role, owner.file.name WHERE owner SORT owner.role DESC LIMIT 1",
            "TABLE file, file.outlinks, file.inlinks, file.day",
            "TABLE row FLATTEN file.tags AS t WHERE t LIMIT 3",
            "TASK WHERE file.name != \"x\" SORT text LIMIT 2",
            "TABLE file.lists.text, file.tasks.due SORT length(file.lists) DESC LIMIT 3",
            "LIST FLATTEN rows AS r GROUP BY budget",
        ]
        .map(str::to_owned),
    );
    let compare = |pages: &VaultPages<'_>| {
        for text in &texts {
            let whole = WholePages(pages);
            let found = run(text, pages, &context());
            let found = found.map(|found| encode::result_to_json(&found)).map_err(|error| error.to_string());
            assert_eq!(found, run_on_whole_pages(text, &whole), "{text}");
        }
    };
    with_our_vault(compare);
    if let Some(root) = recorded_vault() {
        let data = tempfile::tempdir().unwrap();
        let vault = crate::Vault::open(root.path(), data.path()).unwrap();
        let scope = crate::policy::Scope::default();
        compare(&VaultPages::new(vault.view(&scope)).unwrap());
    }
}

/// Notes with values of all kinds, several of a kind, and some without.
fn odd_values() -> String {
    let values = [
        "1",
        "2.5",
        "-3",
        "\"2\"",
        "x",
        "X",
        "\"\"",
        "true",
        "false",
        "null",
        "2024-01-02",
        "2024-01-02T10:00:00",
        "2023-12-31T23:00:00-05:00",
        "3 days",
        "1.5d",
        "\"[[n1]]\"",
        "\"[[#here]]\"",
        "\"[[nowhere]]\"",
        "[]",
        "[1, x]",
        "{a: 1}",
        "{}",
        "é",
        "\"36 hours\"",
        "\"1.5 days\"",
    ];
    let mut notes = vec!["hidden/secret.md: ---\nv: 1\nw: 2\ntags: [t/u]\n---\n".to_owned()];
    for (n, value) in values.iter().enumerate() {
        let other = values[(n * 7 + 3) % values.len()];
        notes.push(format!("n{n}.md: ---\nv: {value}\nw: {other}\nMy Key: {value}\n---\n#t/u\n"));
        notes.push(format!(
            "f/m{n}.md: ---\ntags: [t, 7]\nw: {other}\n---\nv:: {}\n",
            value.trim_matches('"')
        ));
        notes.push(format!("f/g/m{n}.md: ---\nw: {value}\nv: {other}\n---\nv:: 1\n(w:: [[n2]])\n"));
        notes.push(format!("e{n}.md: nothing"));
    }
    notes.join("\n--- ")
}

#[test]
fn both_ways_give_the_same_rows() {
    let mut texts = Vec::new();
    let leaves = ["v", "w", "my-key", "absent", "file.name", "file.path", "file.size"];
    let values =
        ["1", "2.5", "\"x\"", "true", "null", "date(2024-01-02)", "dur(36h)", "[[n1]]", "[1]", "\"\""];
    for (number, leaf) in leaves.iter().enumerate() {
        for (at, operator) in ["<", "<=", ">", ">=", "=", "!="].iter().enumerate() {
            for value in values {
                texts.push(format!("TABLE v WHERE {leaf} {operator} {value}"));
                texts.push(format!("TABLE w WHERE {value} {operator} {leaf} SORT v DESC LIMIT {}", at + 1));
            }
        }
        let next = leaves[(number + 1) % leaves.len()];
        for source in ["", "FROM #t", "FROM \"f\"", "FROM \"n1\"", "FROM \"nothing\"", "FROM -#t"] {
            texts.push(format!("LIST {source} WHERE {leaf} SORT {next} DESC, {leaf}"));
            texts.push(format!("LIST {source} WHERE !({leaf} AND {next}) OR v = 1 SORT {leaf} LIMIT 7"));
            texts.push(format!("LIST {source} WHERE {leaf} WHERE upper({next}) LIMIT 3"));
            texts.push(format!("LIST {source} WHERE upper({leaf}) OR {next} SORT {leaf}"));
            texts.push(format!(
                "LIST {source} WHERE typeof({leaf}) = \"number\" SORT {leaf} DESC, {next} LIMIT 4"
            ));
            texts.push(format!("LIST {source} WHERE typeof(v) != \"link\" SORT {leaf} LIMIT 40"));
        }
    }
    let rules = crate::policy::Rules::parse(&[("ignore", "hidden/".to_owned())], &[]).unwrap();
    let scope = crate::policy::Scope::new(Default::default(), rules);
    with_scoped_vault(&odd_values(), scope, |pages| {
        let mut sifted = 0;
        for text in &texts {
            let found = run(text, pages, &context()).map(|found| encode::result_to_json(&found));
            let found = found.map_err(|error| error.to_string());
            sifted += usize::from(found.as_ref().is_ok_and(|found| found.to_string().contains(".md")));
            assert_eq!(found, run_on_whole_pages(text, &WholePages(pages)), "{text}");
            assert!(!format!("{found:?}").contains("secret"), "{text}");
        }
        assert!(sifted > 500, "{sifted} of {} have rows", texts.len());
    });
}

#[test]
fn sorting_with_a_limit_keeps_what_sorting_alone_would() {
    let names: Vec<String> = (0..5_000).map(|n| format!("n{n}.md")).collect();
    let text: String = names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("--- {name}: ---\nrank: {}\n---\n", (n * 7919) % 97))
        .collect();
    with_vault(text.trim_start_matches("--- "), |pages| {
        let rows =
            |text: &str| encode::result_to_json(&run(text, pages, &context()).unwrap())["rows"].clone();
        let all = rows("TABLE rank WHERE rank > 3 SORT rank, file.size DESC");
        for limit in [1, 20, 700] {
            let few = rows(&format!("TABLE rank WHERE rank > 3 SORT rank, file.size DESC LIMIT {limit}"));
            assert_eq!(few.as_array().unwrap()[..], all.as_array().unwrap()[..limit]);
        }
        let first = rows("TABLE rank WHERE rank = 5 LIMIT 3");
        assert_eq!(first.as_array().unwrap()[..], rows("TABLE rank WHERE rank = 5").as_array().unwrap()[..3]);
    });
}

#[track_caller]
fn check_limit(found: Result<Value, QueryError>, text: &str) {
    let start: String = text.chars().take(60).collect();
    match found {
        Err(QueryError::Limit { message }) => {
            assert!(message.contains("more than") || message.contains("deeper"), "{message}")
        }
        other => panic!("{start}: {:?}", other.map(|value| value.type_name())),
    }
}

#[test]
fn hostile_expressions_end_with_a_limit_that_is_named() {
    let numbers = (0..60).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let thousand = format!("[{}]", vec!["0"; 1_000].join(", "));
    for text in [
        format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("{}1{}", "[".repeat(40_000), "]".repeat(40_000)),
        "!".repeat(50_000) + "1",
        format!("{}1", "(a) => ".repeat(5_000)),
        format!("reduce([{numbers}], (a, b) => a + \"\" + a)"),
        format!("reduce([{numbers}], (a, b) => [a, a] + [a, a])"),
        "\"x\" * 1000000000000".to_owned(),
        "padleft(\"x\", 100000000000)".to_owned(),
        format!("map({thousand}, (a) => (\"x\" * 10000000) = (\"x\" * 10000000))"),
        format!("map({thousand}, (a) => replace(\"x\" * 100000, \"x\", \"y\" * 1000))"),
        format!("map({thousand}, (a) => join({thousand}, \"x\" * 1000))"),
    ] {
        check_limit(evaluate(&text, &NoPages, &context()), &text);
    }
    check_limit(evaluate(&"a".repeat(200_000), &NoPages, &context()), "a long query");
}

#[test]
fn patterns_that_grow_when_compiled_are_refused_and_cost_steps() {
    for pattern in ["(a{1000}){1000}", "((a{100}){100}){100}", "(.{900}){900}"] {
        let found = evaluate(&format!("regextest(\"{pattern}\", \"aaa\")"), &NoPages, &context());
        assert!(
            matches!(&found, Err(QueryError::Evaluate { message }) if message.contains("pattern")),
            "{pattern}"
        );
    }
    let numbers = (0..2_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!("map([{numbers}], (n) => regextest(\"(ab|cd){{\" + n + \"}}\", \"abab\"))");
    check_limit(evaluate(&text, &NoPages, &context()), &text);
}

#[test]
fn flattening_lists_in_lists_ends_with_a_limit() {
    let list = vec!["1"; 500].join(", ");
    with_vault(&format!("a.md: ---\nbig: [{list}]\n---\n--- b.md: ---\nbig: [{list}]\n---\n"), |pages| {
        let text = "LIST FLATTEN big AS a FLATTEN big AS b FLATTEN big AS c FLATTEN big AS d";
        let found = run(text, pages, &context());
        assert!(matches!(&found, Err(QueryError::Limit { message }) if message.contains("200000 rows")));
        let sources = vec!["\"a\""; 9_000].join(" or ");
        let found = run(&format!("LIST FROM {sources}"), pages, &context()).map(|_| ());
        assert!(found.is_ok() || matches!(found, Err(QueryError::Limit { .. })), "a long source ends");
    });
}
