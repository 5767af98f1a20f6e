//! What a line must contain to match: the query, seen from the index.
//!
//! Called by the exact search before any file is opened. A literal is its own condition; of a regular expression those
//! texts are taken that every match contains. A condition may let too much through (the scanner looks again), never too
//! little: `equal_to_the_scanner` in the tests holds that.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::letters::{fold, fold_text};
use crate::search::{Pattern, Query};

/// A condition on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// Any line may match.
    All,
    /// No line can.
    Nothing,
    /// It contains this folded text.
    Text(String),
    /// All of them.
    And(Vec<Need>),
    /// One of them.
    Or(Vec<Need>),
}

/// Longer alternations are not worth looking up one by one.
const MOST_BRANCHES: usize = 64;

/// What a line must contain to match the query.
pub(super) fn need(query: &Query) -> Need {
    match &query.pattern {
        // Lines are matched without their ends, so neither of the two can be in one (a `\r` within a line is rare).
        Pattern::Literal(text) if text.contains('\n') => Need::Nothing,
        Pattern::Literal(text) => Need::Text(fold_text(text)),
        Pattern::Regex(text) => regex_syntax::ParserBuilder::new()
            .utf8(false)
            .multi_line(true)
            .crlf(true)
            .build()
            .parse(text)
            .map_or(Need::All, |hir| of(&hir)),
    }
}

fn of(hir: &Hir) -> Need {
    let mut parts = Parts::default();
    parts.add(hir);
    parts.finish()
}

/// A sequence: the text that is growing, and the conditions before it.
#[derive(Default)]
struct Parts {
    text: String,
    needs: Vec<Need>,
}

impl Parts {
    fn add(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => self.text.extend(text.chars().map(fold)),
                Err(_) => self.cut(),
            },
            HirKind::Class(class) => match one_letter(class) {
                Some(letter) => self.text.push(letter),
                None => self.cut(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            HirKind::Alternation(branches) => {
                self.cut();
                self.needs.push(any_of(branches));
            }
            HirKind::Repetition(repetition) => {
                self.cut();
                if repetition.min > 0 {
                    self.add(&repetition.sub);
                    self.cut();
                }
            }
        }
    }

    /// What comes next does not follow directly.
    fn cut(&mut self) {
        if !self.text.is_empty() {
            self.needs.push(Need::Text(std::mem::take(&mut self.text)));
        }
    }

    fn finish(mut self) -> Need {
        self.cut();
        let mut needs = std::mem::take(&mut self.needs);
        needs.retain(|need| *need != Need::All);
        let impossible = |need: &Need| match need {
            Need::Nothing => true,
            Need::Text(text) => text.contains('\n'),
            _ => false,
        };
        if needs.iter().any(impossible) {
            return Need::Nothing;
        }
        match needs.len() {
            0 => Need::All,
            1 => needs.swap_remove(0),
            _ => Need::And(needs),
        }
    }
}

fn any_of(branches: &[Hir]) -> Need {
    if branches.len() > MOST_BRANCHES {
        return Need::All;
    }
    let mut needs: Vec<Need> = branches.iter().map(of).collect();
    if needs.contains(&Need::All) {
        return Need::All;
    }
    needs.retain(|need| *need != Need::Nothing);
    if needs.is_empty() { Need::Nothing } else { Need::Or(needs) }
}

/// The folded letter of a class such as `[Kk]`, into which case-insensitive letters are turned.
fn one_letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else {
        let Class::Bytes(class) = class else { return None };
        let letters: Vec<char> = class
            .iter()
            .take(3)
            .flat_map(|range| range.start()..=range.end())
            .take(3)
            .map(char::from)
            .collect();
        let all_ascii = letters.iter().all(char::is_ascii);
        return common(&letters).filter(|_| all_ascii);
    };
    let letters: Vec<char> =
        class.iter().take(5).flat_map(|range| range.start()..=range.end()).take(5).collect();
    common(&letters).filter(|_| letters.len() < 5)
}

fn common(letters: &[char]) -> Option<char> {
    let first = fold(*letters.first()?);
    letters.iter().all(|letter| fold(*letter) == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected: &str) {
        fn shown(need: &Need) -> String {
            let list = |needs: &[Need]| needs.iter().map(shown).collect::<Vec<_>>();
            match need {
                Need::All => "*".to_owned(),
                Need::Nothing => "!".to_owned(),
                Need::Text(text) => text.clone(),
                Need::And(needs) => format!("({})", list(needs).join("&")),
                Need::Or(needs) => format!("({})", list(needs).join("|")),
            }
        }
        let found = need(&Query::new(Pattern::Regex(pattern.to_owned())));
        assert_eq!(shown(&found), expected, "{pattern}");
    }

    #[test]
    fn every_match_contains_what_is_needed() {
        let rows = [
            ("Amber", "amber"),
            ("(?i)straße k", "straße k"),
            (r"foo\d+bar", "(foo&bar)"),
            ("a(b)c", "abc"),
            ("ab?c", "(a&c)"),
            ("(ab)+c", "(ab&c)"),
            ("foo|bar", "(foo|bar)"),
            ("foo|.*", "*"),
            ("x(foo|bar)y", "(x&(foo|bar)&y)"),
            (r"\bcat\b", "cat"),
            ("a\nb", "!"),
            (".*", "*"),
            ("[ab]c", "c"),
        ];
        for (pattern, expected) in rows {
            check(pattern, expected);
        }
    }
}
