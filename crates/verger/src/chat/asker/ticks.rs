//! Ticking in a numbered list: which notes are shared, by their numbers. The others stay private.

use std::collections::BTreeSet;

use pipeline::{Decision, VaultPath};

use super::Meant;
use crate::paper::Simple;

/// What can be answered.
pub fn prompt(simple: Simple, rule: &str) -> String {
    let choices = [
        "y = share all of them, once".to_owned(),
        "1 3-5 = only these (the others stay private in this conversation)".to_owned(),
        "not 2 = all but these".to_owned(),
        "t = all, and do not ask again in this task".to_owned(),
        format!("s = for this session, a = always: {rule}"),
        "e = edit the input, n = share nothing (n because …)".to_owned(),
    ];
    match simple {
        Simple::Yes => format!("{}\nYour choice (n): ", choices.join("\n")),
        Simple::No => format!("{}\nShare? [y/numbers/t/s/a/e/n] ", choices.join("\n")),
    }
}

/// What an answer means; `None` if nothing. A digit is a number of the list here, never a choice.
pub fn understand(line: &str, listed: &[VaultPath]) -> Option<Meant> {
    let answer = line.trim();
    let (but, numbers) = match answer.strip_prefix("not ") {
        Some(rest) => (true, rest),
        None => (false, answer),
    };
    if !but && !numbers.starts_with(|first: char| first.is_ascii_digit()) {
        return super::understand(line);
    }
    let named = self::numbers(numbers, listed.len())?;
    let ticked = (1..).zip(listed).filter(|(number, _)| named.contains(number) != but);
    Some(Meant::Decided(Decision::Only(ticked.map(|(_, path)| path.clone()).collect())))
}

/// `1 3-5, 7`; `None` if something in it is no number of the list.
fn numbers(text: &str, most: usize) -> Option<BTreeSet<usize>> {
    let mut named = BTreeSet::new();
    for piece in text.split([',', ' ']).filter(|piece| !piece.is_empty()) {
        let (from, to) = piece.split_once('-').unwrap_or((piece, piece));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        if from == 0 || to > most || from > to {
            return None;
        }
        named.extend(from..=to);
    }
    (!named.is_empty()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Lifetime;

    #[test]
    fn numbers_tick_notes_and_a_slip_of_the_finger_shares_nothing() {
        let listed: Vec<VaultPath> =
            ["a.md", "b.md", "c.md", "d.md"].iter().map(|path| VaultPath::parse(path).unwrap()).collect();
        let only = |places: &[usize]| {
            let paths = places.iter().map(|place| listed[*place].clone()).collect();
            Some(Meant::Decided(Decision::Only(paths)))
        };
        for (line, expected) in [
            ("1\n", only(&[0])),
            ("2, 4\n", only(&[1, 3])),
            ("1-3\n", only(&[0, 1, 2])),
            ("1-4\n", only(&[0, 1, 2, 3])),
            ("not 2\n", only(&[0, 2, 3])),
            ("not 1-4\n", only(&[])),
            ("y\n", Some(Meant::Decided(Decision::Yes(Lifetime::Once)))),
            ("t\n", Some(Meant::Decided(Decision::Yes(Lifetime::Task)))),
            ("n\n", Some(Meant::Decided(Decision::No { reason: None }))),
            ("\n", Some(Meant::Decided(Decision::No { reason: None }))),
            ("5\n", None),
            ("0\n", None),
            ("3-1\n", None),
            ("1 x\n", None),
            ("1-99999999999999999999\n", None),
            ("not\n", None),
            ("not \n", None),
            ("not x\n", None),
        ] {
            assert_eq!(understand(line, &listed), expected, "{line:?}");
        }
    }
}
