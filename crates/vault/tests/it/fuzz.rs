//! Queries that were mutilated at random: each must end, with an answer or with an error that says something.
//!
//! `VERGER_FUZZ_SECONDS=600 cargo test -p verger-vault --release --test it fuzz` for a long run, `VERGER_FUZZ_SEED` for
//! another one. A case that panics or takes too long is printed whole. Seeds are our own fixtures, and the recorded
//! queries where they lie beside the checkout.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault::Vault;
use vault::policy::Scope;
use vault::query::dql::{self, Context, NoPages, QueryError, VaultPages, encode};
use vault::query::jsonlogic::{self, LogicError};

/// The longest that one case may take, on a busy machine without optimisation.
const LONGEST: Duration = Duration::from_secs(60);

const DQL_TOKENS: [&str; 44] = [
    "TABLE ",
    "LIST ",
    "TASK ",
    "CALENDAR ",
    "WITHOUT ID ",
    " FROM ",
    " WHERE ",
    " SORT ",
    " LIMIT ",
    " GROUP BY ",
    " FLATTEN ",
    " AS ",
    " DESC",
    "#",
    "[[",
    "]]",
    "\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    " and ",
    " or ",
    "!",
    "-",
    "=>",
    "file.",
    "rows.",
    "row",
    "this",
    "date(",
    "dur(",
    "map(",
    "reduce(",
    "regexreplace(",
    "\"x\" * 99999999",
    "1e9",
    "\u{0}",
    "é",
    "😀",
];
const LOGIC_TOKENS: [&str; 22] = [
    "{\"var\":",
    "{\"cat\":[",
    "{\"reduce\":[",
    "{\"map\":[",
    "{\"if\":[",
    "{\"regexp\":[",
    "{\"glob\":[",
    "{\"missing\":[",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "null",
    "true",
    "-1e308",
    "\"content\"",
    "\"\"",
    "\"accumulator\"",
    "99999999",
    "\u{7f}",
];

/// A small random number generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// A place between two characters.
    fn cut(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// One to six changes: take out, double, put in a token, splice with another seed, nest.
fn mutilate(random: &mut Random, seeds: &[String], tokens: &[&str]) -> String {
    let mut text = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let (a, b) = (random.cut(&text), random.cut(&text));
        let (start, end) = (a.min(b), a.max(b));
        match random.below(6) {
            0 => text.replace_range(start..end, ""),
            1 => {
                let copy = text[start..end].to_owned();
                text.insert_str(end, &copy);
            }
            2 | 3 => text.insert_str(start, random.pick(tokens)),
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.cut(other);
                text.replace_range(start.., &other[from..]);
            }
            _ => {
                let token = random.pick(tokens).repeat(1 + random.below(200));
                text.insert_str(start, &token);
            }
        }
    }
    text
}

/// Says which case it was when a test fails in it.
struct Case<'a>(&'a str);

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the case:\n{:?}", self.0);
        }
    }
}

/// Tries mutilated seeds until the time is over.
fn fuzz(name: &str, seeds: &[String], tokens: &[&str], attempt: impl Fn(&str)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = Duration::from_secs(number("VERGER_FUZZ_SECONDS").unwrap_or(2));
    let mut random = Random(number("VERGER_FUZZ_SEED").unwrap_or(20_261_115) | 1);
    seeds.iter().for_each(|seed| attempt(seed));
    let start = Instant::now();
    let mut cases = 0_usize;
    while start.elapsed() < time {
        let text = mutilate(&mut random, seeds, tokens);
        let _case = Case(&text);
        let begun = Instant::now();
        attempt(&text);
        assert!(begun.elapsed() < LONGEST, "{name}: {:?}", begun.elapsed());
        cases += 1;
    }
    println!("{name}: {cases} cases from {} seeds", seeds.len());
    assert!(cases > 0);
}

/// The texts under these keys in lines of JSON.
fn lines_of(path: &Path, keys: &[&str]) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    rows.flat_map(|row| {
        keys.iter().filter_map(|key| row[*key].as_str().map(str::to_owned)).collect::<Vec<_>>()
    })
    .collect()
}

fn with_vault(check: impl FnOnce(&Vault)) {
    let (root, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..12 {
        let text = format!(
            "---\nrank: {number}\ntags: [t{}, a/b]\ndue: 2024-06-{:02}\nwho: \"[[n{}]]\"\n---\n# N\nkey:: {number} days, [[n1]]\n\
             - [ ] task #x [due:: 2024-01-01]\n  - [x] inner ✅ 2024-02-02\n- plain (k:: v)\n[[n{}|shown]] ![[n0]]\n",
            number % 3,
            number + 1,
            (number + 1) % 12,
            (number * 5) % 12
        );
        std::fs::write(root.path().join(format!("n{number}.md")), text).unwrap();
    }
    std::fs::write(root.path().join("t.csv"), "a,b\n1,x\n2,\"y\"\n").unwrap();
    check(&Vault::open(root.path(), data.path()).unwrap());
}

#[test]
fn fuzz_dql_ends_with_an_answer_or_a_reason() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds = lines_of(&repository.join("fixtures/dql/queries.jsonl"), &["query", "expr"]);
    seeds.extend(lines_of(&repository.join("fixtures/dql/expressions.jsonl"), &["expr"]));
    seeds.extend(lines_of(&repository.join("../shared/corpora/dataview/queries.jsonl"), &["query", "expr"]));
    seeds.extend(lines_of(&repository.join("../shared/corpora/dataview/eval.jsonl"), &["expr"]));
    seeds.push(
        "TABLE rank, who.due FROM #t1 or csv(\"t.csv\") WHERE rank > 1 SORT due DESC LIMIT 3".to_owned(),
    );
    let now = "2024-06-15T12:00:00[UTC]".parse().unwrap();
    let context = Context { now, this: None };
    with_vault(|vault| {
        let scope = Scope::default();
        let pages = VaultPages::new(vault.view(&scope)).unwrap();
        let reason = |error: QueryError| {
            assert!(!error.to_string().is_empty());
            assert!(!matches!(error, QueryError::Vault(_)), "the vault is whole: {error}");
        };
        fuzz("dql", &seeds, &DQL_TOKENS, |text| {
            match dql::run(text, &pages, &context) {
                Ok(found) => {
                    encode::result_to_json(&found).to_string();
                    encode::to_markdown(&found);
                    encode::to_csv(&found);
                }
                Err(error) => reason(error),
            }
            match dql::evaluate(text, &NoPages, &context) {
                Ok(value) => drop(encode::to_json(&value).to_string()),
                Err(error) => reason(error),
            }
        });
    });
}

#[test]
fn fuzz_jsonlogic_ends_with_an_answer_or_a_reason() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/jsonlogic-tests.json");
    let recorded = std::fs::read_to_string(path).unwrap_or_default();
    let recorded: Vec<Value> = serde_json::from_str(&recorded).unwrap_or_default();
    let mut seeds: Vec<String> =
        recorded.iter().filter(|case| case.is_array()).map(|case| case[0].to_string()).collect();
    seeds.extend(
        [
            json!({"and": [{"==": [{"var": "frontmatter.rank"}, 3]}, {"in": ["a/b", {"var": "tags"}]}]}),
            json!({"some": [{"var": "links"}, {"glob": ["n1*", {"var": ""}]}]}),
            json!({"regexp": ["^#\\s", {"var": "content"}]}),
            json!({"reduce": [[1, 2, 3], {"cat": [{"var": "current"}, {"var": "accumulator"}]}, ""]}),
            json!({"missing_some": [1, ["path", "nope"]]}),
        ]
        .map(|rule| rule.to_string()),
    );
    with_vault(|vault| {
        let scope = Scope::default();
        let view = vault.view(&scope);
        fuzz("jsonlogic", &seeds, &LOGIC_TOKENS, |text| {
            let Ok(rule) = serde_json::from_str::<Value>(text) else { return };
            let reason = |error: LogicError| {
                assert!(!error.to_string().is_empty());
                assert!(!matches!(error, LogicError::Vault(_)), "the vault is whole: {error}");
            };
            jsonlogic::evaluate(&rule, &json!({"a": [1, "x", null], "b": {"c": 1}}))
                .map_or_else(reason, drop);
            jsonlogic::search(&rule, &view).map_or_else(reason, drop);
        });
    });
}
