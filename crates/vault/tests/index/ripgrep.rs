//! The same files, lines and columns as ripgrep, for generated queries.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::rig::*;
use vault::catalog::Visible;
use vault::index::TextIndex;
use vault::search::{Case, Pattern, Query};

type Places = BTreeSet<(String, usize, usize)>;

fn ripgrep(root: &Path, query: &Query) -> Places {
    let mut command = Command::new("rg");
    command.args([
        "--no-config",
        "--no-ignore",
        "--crlf",
        "--no-heading",
        "--color=never",
        "-H",
        "-n",
        "--column",
        "-0",
    ]);
    command.args((query.case == Case::Ignore).then_some("-i"));
    command.args(query.whole_word.then_some("-w"));
    let text = match &query.pattern {
        Pattern::Literal(text) => {
            command.arg("-F");
            text
        }
        Pattern::Regex(text) => text,
    };
    let output = command.args(["-e", text, "."]).current_dir(root).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| {
            let (path, rest) = line.split_once('\0').unwrap();
            let mut numbers = rest.splitn(3, ':').map(|number| number.parse::<usize>());
            let mut number = || numbers.next().unwrap().unwrap();
            (path.trim_start_matches("./").to_owned(), number(), number())
        })
        .collect()
}

/// All pages; columns in bytes, as ripgrep counts.
fn indexed(index: &TextIndex, query: &Query) -> Places {
    let mut query = query.clone();
    let mut places = Places::new();
    loop {
        let found = index.search(&query, Visible::all()).unwrap();
        for one in found.matches {
            let before: usize = one.line_text.chars().take(one.column - 1).map(char::len_utf8).sum();
            places.insert((one.path.to_string(), one.line, before + 1));
        }
        query.after = found.next;
        if query.after.is_none() {
            assert_eq!((places.len(), found.total_matches), (found.total_matches, places.len()));
            return places;
        }
    }
}

fn query(random: &mut Random) -> Query {
    let words = [
        "amber",
        "AMBER lat",
        "mber",
        "lattice protocol",
        "über",
        "ÜBER",
        "naïve",
        "日本",
        "x_1",
        "the",
        "stone",
        "STRASSE",
        "straße",
        "note 1",
        "nobodywrotethis",
        "café, ",
        "[[",
        "]] t",
        " - ",
        "2026 of",
        "e",
        "of the",
        "#",
    ];
    let regexes = [
        r"amb\w+",
        r"\bthe\b",
        "^# Note [0-4]",
        "tea$",
        "(of|the) [a-z]+",
        "(?i:ÜB)er",
        r"\d{4}",
        "lattice.*amber",
        "^$",
        "[[:upper:]]m",
        r"x_\d, ",
        "caf.",
        "日.語",
    ];
    let pattern = match random.below(3) {
        0 => Pattern::Regex(random.pick(&regexes).to_owned()),
        1 => Pattern::Literal(random.pick(&words).to_owned()),
        _ => {
            // A piece of a note like those in the vault: mostly rare, often across words.
            let text = note(random).replace('\n', " ");
            let (from, length) = (random.below(40), 2 + random.below(14));
            let piece: String = text.chars().skip(from).take(length).collect();
            Pattern::Literal(if piece.is_empty() { "amber".to_owned() } else { piece })
        }
    };
    // `-w` of ripgrep 13 means `\b` on both sides, which differs where the text itself starts with no letter.
    let starts_and_ends_in_words = match &pattern {
        Pattern::Literal(text) => {
            text.chars().next().is_some_and(char::is_alphanumeric)
                && text.chars().next_back().is_some_and(char::is_alphanumeric)
        }
        Pattern::Regex(_) => false,
    };
    Query {
        case: if random.below(3) == 0 { Case::Exact } else { Case::Ignore },
        whole_word: starts_and_ends_in_words && random.below(4) == 0,
        ..Query::new(pattern)
    }
}

#[test]
fn results_are_those_of_ripgrep() {
    if Command::new("rg").arg("--version").output().is_err() {
        println!("skipped: ripgrep is not installed");
        return;
    }
    let rig = Rig::new();
    let mut random = Random(42);
    for number in 0..60 {
        rig.write(&format!("f{}/n{number}.md", number % 5), note(&mut random));
    }
    rig.write("crlf.md", "amber\r\nthe lattice\r\n\r\n");
    let index = rig.open();
    for number in 0..rounds(100, 500) {
        let query = query(&mut random);
        assert_eq!(indexed(&index, &query), ripgrep(&rig.root(), &query), "{number}: {query:?}");
    }
}
