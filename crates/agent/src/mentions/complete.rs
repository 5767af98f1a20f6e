//! Completing a mention while it is typed, from a list of names. The door gives the names, so what may not be read is
//! not among them.

use std::ops::Range;

/// How many are offered.
const MOST: usize = 50;

/// A name that would complete what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What to put in the place of `span`.
    pub text: String,
    /// What is replaced, from the `@` on.
    pub span: Range<usize>,
    /// The name, for a list.
    pub name: String,
}

/// The names that fit the mention before the cursor, the best first; none where there is no mention.
pub fn candidates(before: &str, names: &[String]) -> Vec<Candidate> {
    let Some((start, typed)) = begun(before) else { return Vec::new() };
    let typed = typed.to_lowercase();
    let mut fitting: Vec<(u8, usize, &String)> =
        names.iter().filter_map(|name| Some((rank(&typed, name)?, name.len(), name))).collect();
    // Of two that fit as well, the shorter name is the likelier one.
    fitting.sort();
    let span = start..before.len();
    fitting
        .into_iter()
        .take(MOST)
        .map(|(_, _, name)| Candidate { text: written(name), span: span.clone(), name: name.clone() })
        .collect()
}

/// Where the mention before the cursor starts, and what of the name is there.
fn begun(before: &str) -> Option<(usize, &str)> {
    let start = before.rfind('@')?;
    let earlier = before[..start].chars().next_back();
    if earlier.is_some_and(|c| c.is_alphanumeric() || matches!(c, '@' | '.' | '_' | '-' | '/')) {
        return None;
    }
    let rest = &before[start + 1..];
    if let Some(inner) = rest.strip_prefix("[[") {
        return (!inner.contains("]]") && !inner.contains('\n')).then_some((start, inner));
    }
    if let Some(inner) = rest.strip_prefix('"') {
        return (!inner.contains(['"', '\n'])).then_some((start, inner));
    }
    (!rest.contains(char::is_whitespace)).then_some((start, rest))
}

/// How well a name fits; less is better.
fn rank(typed: &str, name: &str) -> Option<u8> {
    let lower = name.to_lowercase();
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let begins_a_word =
        || last.split(|c: char| !c.is_alphanumeric()).any(|word| !word.is_empty() && word.starts_with(typed));
    match () {
        () if last.starts_with(typed) => Some(0),
        () if lower.starts_with(typed) => Some(1),
        () if begins_a_word() => Some(2),
        () if lower.contains(typed) => Some(3),
        () if is_scattered(typed, &lower) => Some(4),
        () => None,
    }
}

/// Whether the letters stand in the name in this order.
fn is_scattered(typed: &str, name: &str) -> bool {
    let mut letters = name.chars();
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// The mention of a name, as [`super::find`] reads it back.
fn written(name: &str) -> String {
    let simple = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.'))
        && !name.ends_with(['.', '_']);
    match () {
        () if simple => format!("@{name}"),
        () if name.contains(['"', '#', '|']) || name.contains("]]") => format!("@[[{name}]]"),
        () => format!("@\"{name}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(before: &str, all: &[&str]) -> Vec<String> {
        let all: Vec<String> = all.iter().map(|name| (*name).to_owned()).collect();
        candidates(before, &all).into_iter().map(|candidate| candidate.text).collect()
    }

    #[test]
    fn the_start_of_a_name_comes_first_and_scattered_letters_last() {
        let all = ["Old seeds", "Seed library", "xseedx", "Garden/Seed", "s-e-e-d", "Other"];
        assert_eq!(
            names("look at @seed", &all),
            ["@Garden/Seed", "@\"Seed library\"", "@\"Old seeds\"", "@xseedx", "@s-e-e-d"]
        );
        assert_eq!(names("@\"seed l", &all), ["@\"Seed library\""]);
        assert_eq!(names("@[[SEED LIB", &all), ["@\"Seed library\""]);
        assert_eq!(names("@", &all).len(), all.len());
    }

    #[test]
    fn where_there_is_no_mention_nothing_is_offered() {
        for before in ["", "seed", "anna@seed", "@seed library", "@\"Seed\" ", "@[[Seed]] s"] {
            assert!(names(before, &["Seed"]).is_empty(), "{before}");
        }
    }

    #[test]
    fn what_is_offered_is_read_back_as_the_same_name() {
        for name in ["a", "a b", "Garden/Seed.md", "ends.", "say \"x\"", "日本", "a,b"] {
            let text = names("@", &[name]).remove(0);
            let found = crate::mentions::find(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!((found[0].note.as_str(), found[0].span.clone()), (name, 0..text.len()), "{text}");
        }
    }

    #[test]
    fn a_hundred_thousand_names_are_no_trouble() {
        let all: Vec<String> = (0..100_000).map(|n| format!("Notes/Note {n}")).collect();
        assert_eq!(candidates("@note 99", &all).len(), 0, "a space ends a bare mention");
        let found = candidates("@\"note 99", &all);
        assert_eq!((found.len(), found[0].name.as_str()), (MOST, "Notes/Note 99"));
    }
}
