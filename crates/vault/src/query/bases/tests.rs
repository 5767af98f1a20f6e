//! The language row by row (`fixtures/bases`), whole bases over a small vault, and what must never happen.

mod hostile;
mod views;

use std::collections::HashSet;

use serde_json::Value as Json;

use super::evaluate::{Evaluator, Fault, Row, Scope};
use super::parse::Names;
use super::*;
use crate::catalog::{Catalog, Visible};
use crate::files::MemoryFiles;

const VAULT: &str = include_str!("../../../../../fixtures/bases/vault.txt");
const EXPRESSIONS: &str = include_str!("../../../../../fixtures/bases/expressions.jsonl");
const MISTAKES: &str = include_str!("../../../../../fixtures/bases/mistakes.jsonl");
const FORMULAS: &str = "formulas:\n  twice: price * 2\n  twice more: formula.twice * 2\n";

fn context() -> Context {
    let now = "2026-03-14T09:26:53Z".parse::<jiff::Timestamp>().unwrap();
    let this = Some(VaultPath::parse("Home.md").unwrap());
    Context { now: now.to_zoned(jiff::tz::TimeZone::UTC), this, seed: 7 }
}

fn catalog() -> Catalog {
    Catalog::build(&MemoryFiles::parse(VAULT).unwrap()).unwrap()
}

fn not_private(path: &VaultPath) -> bool {
    !path.as_str().starts_with("Private")
}

/// An expression for `Books/Dune.md`; the diary may not be seen.
fn value(catalog: &Catalog, text: &str) -> Result<Json, String> {
    let base = Base::parse(FORMULAS).unwrap();
    let texts = HashSet::new();
    let names = ["twice".to_owned(), "twice more".to_owned()];
    let parsed = parse::parse(text, Names { formulas: &names, in_summary: false });
    let parsed = parsed.map_err(|mistake| format!("{}: {}", mistake.at, mistake.message))?;
    let at = Evaluator::new(catalog, Visible::only(&not_private), &base, &texts, &context()).unwrap();
    let dune = catalog.get(&VaultPath::parse("Books/Dune.md").unwrap(), Visible::all()).unwrap();
    let row = Row::new(dune);
    match at.evaluate(&parsed.expression, Scope { row: Some(&row), ..Scope::default() }) {
        Ok(value) => Ok(encode::to_json(&value)),
        Err(Fault::Failed(message, _)) => Err(message),
        Err(Fault::Limit(message)) => Err(format!("limit: {message}")),
    }
}

fn rows(lines: &str) -> Vec<Json> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn every_operator_function_method_and_field_gives_what_its_row_says() {
    let catalog = catalog();
    let rows = rows(EXPRESSIONS);
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let found = value(&catalog, row["expr"].as_str().unwrap());
            (found.as_ref() != Ok(&row["value"])).then(|| format!("{row} but {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_function_and_method_stands_in_a_row() {
    let methods = names::METHODS
        .iter()
        .flat_map(|(_, methods)| methods.iter())
        .map(|known| format!(".{}(", known.name));
    let functions = names::FUNCTIONS.iter().map(|known| format!("{}(", known.name));
    let fields = names::FILE_FIELDS.iter().map(|field| format!("file.{field}"));
    for wanted in methods.chain(functions).chain(fields) {
        assert!(EXPRESSIONS.contains(&wanted), "{wanted}");
    }
}

#[test]
fn mistakes_are_found_before_anything_runs_and_name_their_place() {
    for row in rows(MISTAKES) {
        let expr = row["expr"].as_str().unwrap();
        let yaml = format!(
            "{FORMULAS}views:\n  - type: table\n    name: V\n    filters:\n      and:\n        - {}\n",
            Json::from(expr)
        );
        match Base::parse(&yaml) {
            Err(BaseError::Expression { place, column, message, hint, line, .. }) => {
                assert_eq!(place, "views[0].filters.and[0]", "{row}");
                assert_eq!(line, 9, "{row}");
                assert_eq!(Json::from(column), row["column"], "{row}: {message}");
                assert!(message.contains(row["says"].as_str().unwrap()), "{row}: {message}");
                assert!(hint.contains(row["hint"].as_str().unwrap()), "{row}: {hint}");
            }
            other => panic!("{row}: {other:?}"),
        }
    }
}

#[test]
fn what_makes_no_sense_for_a_value_fails_with_words() {
    let catalog = catalog();
    for (text, expected) in [
        ("number(\"x\")", "`x` is no number"),
        ("date(\"soon\")", "`soon` is no date; it is written 2025-01-31 or 2025-01-31 12:00:00"),
        ("duration(\"1 fortnight\")", "`1 fortnight` is no duration; it is written 1d, 2 weeks or 1M 4h"),
        ("2 * duration(\"5h\")", "the duration must stand on the left: `duration(\"5h\") * 2`"),
        ("now() + 5", "to a date a duration is added, e.g. `date + \"1d\"`"),
        ("now() - \"soon\"", "`soon` is no duration; write e.g. \"1d\" or \"2 weeks\""),
        ("[1] - 1", "`-` does not work on a list and a number"),
        (
            "\"a\".abs()",
            "a string has no method `abs`; it has contains, containsAll, containsAny, endsWith, lower, replace, repeat, reverse, slice, split, startsWith, title, trim",
        ),
        ("1.lower()", "a number has no method `lower`; it has abs, ceil, floor, round, toFixed"),
        ("1.length", "a number has no field `length`"),
        ("\"a\".trim", "`trim` is a method of a string; write `trim(…)`"),
        (
            "1.isType(\"numbr\")",
            "there is no type `numbr`; there are: string, number, boolean, date, duration, list, object, link, file, null, regexp, html, image, icon",
        ),
        ("\"a\".repeat(-1)", "`repeat` takes a number that is not negative"),
        ("(1.5).toFixed(200)", "`toFixed` takes 0 to 100 digits"),
        ("status[true]", "a string cannot be indexed by a boolean"),
        ("max([1])", "`max` takes numbers, not a list"),
        ("date(\"8999-01-01\") + \"9000y\"", "this date is outside of the years that dates have"),
    ] {
        assert_eq!(value(&catalog, text), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn random_numbers_come_from_the_seed() {
    let catalog = catalog();
    let one = value(&catalog, "[random(), random()]").unwrap();
    assert_eq!(one, value(&catalog, "[random(), random()]").unwrap(), "the same seed, the same numbers");
    assert_ne!(one[0], one[1]);
}

#[test]
fn base_blocks_are_found_in_notes() {
    let note = "# A\n```base\nviews:\n  - type: table\n```\n\n> ```base\n> filters: a\n> ```\n\n- x\n  ```base\n  filters: b\n  ```\n\n```yaml\nfilters: c\n```\n";
    let found = blocks(note);
    assert_eq!(found.iter().map(|(_, line)| *line).collect::<Vec<_>>(), [3, 8, 13]);
    assert_eq!(found[0].0, "views:\n  - type: table\n");
    assert_eq!(found[1].0, "filters: a\n");
    assert_eq!(found[2].0, "filters: b\n");
    assert!(blocks("```base\nfilters: never closed").len() == 1);
    assert!(blocks("").is_empty());
}
