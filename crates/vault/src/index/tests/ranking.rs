//! The order of ranked notes, compared with a sum over every word of every note.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::field::Field;
use super::super::forms::stem;
use super::super::token::{line_tokens, tokens};
use super::*;

/// Words with what each weighs, and how many of them are in the text.
type Weighed = (Vec<(Vec<u8>, u32)>, u32);

/// The words of a note with what each weighs; those of its name first.
fn weighed(path: &VaultPath, text: &str) -> Weighed {
    let (mut out, mut words) = (Vec::new(), 0);
    line_tokens(path.stem().as_bytes(), &mut Vec::new(), |text, _, word, _| {
        if word {
            out.push((text.to_vec(), Field::weight(Field::Title as u8)));
        }
    });
    tokens(text.as_bytes(), path.is_note(), |token| {
        words += u32::from(token.word);
        out.push((token.text.to_vec(), Field::weight(token.field as u8)));
    });
    (out, words)
}

/// Every note scored by reading it.
fn by_reading(rig: &Rig, text: &str, ranked: &Ranked, visible: Visible<'_>) -> Vec<(String, f32)> {
    let mut notes = Vec::new();
    rig.files
        .walk(&mut |entry| {
            if entry.kind == Kind::File && visible.sees(&entry.path) {
                notes.push(entry.path);
            }
        })
        .unwrap();
    let notes: Vec<(VaultPath, Weighed)> = notes
        .into_iter()
        .map(|path| {
            let text = String::from_utf8(rig.files.read(&path).unwrap()).unwrap();
            let weighed = weighed(&path, &text);
            (path, weighed)
        })
        .collect();
    let (all, words) = (notes.len() as f32, notes.iter().map(|note| u64::from(note.1.1)).sum::<u64>());
    let average = (words as f32 / all.max(1.0)).max(1.0);
    let mut scores = vec![(0.0f32, 0u8); notes.len()];
    let asked: Vec<&str> = text.split_whitespace().collect();
    let mut distinct: Vec<&str> = Vec::new();
    for word in &asked {
        let stem = stem(word.as_bytes());
        let same = |known: &str| {
            known == *word || (stem.is_some() && super::super::forms::stem(known.as_bytes()) == stem)
        };
        distinct.retain(|known| !same(known));
        distinct.push(word);
    }
    for (at, word) in distinct.iter().enumerate() {
        let is_last = at + 1 == distinct.len() && !text.ends_with(' ') && word.len() >= 3;
        let instead = ranked.corrected.iter().find(|(wrong, _)| wrong == word).map(|(_, right)| right);
        let factor = |found: &[u8]| match () {
            () if found == word.as_bytes() => 1.0,
            () if stem(found).is_some() && stem(found) == stem(word.as_bytes()) => 0.5,
            () if is_last && found.starts_with(word.as_bytes()) => 0.5,
            () if instead.is_some_and(|all| all.iter().any(|right| right.as_bytes() == found)) => 0.5,
            () => 0.0,
        };
        let weights: Vec<f32> = notes
            .iter()
            .map(|(_, (words, _))| words.iter().map(|(text, weight)| factor(text) * *weight as f32).sum())
            .collect();
        let found = weights.iter().filter(|weight| **weight > 0.0).count() as f32;
        let rarity = (1.0 + (all - found + 0.5) / (found + 0.5)).ln();
        for ((weight, (_, (_, length))), score) in weights.iter().zip(&notes).zip(&mut scores) {
            if *weight > 0.0 {
                let bound = 1.2 * (1.0 - 0.75 + 0.75 * *length as f32 / average);
                score.0 += rarity * weight * (1.2 + 1.0) / (weight + bound);
                score.1 += 1;
            }
        }
    }
    let share = |matched: u8| f32::from(matched) / distinct.len().max(1) as f32;
    let mut out: Vec<(String, f32)> = notes
        .iter()
        .zip(scores)
        .filter(|(_, (_, matched))| *matched > 0)
        .map(|((path, _), (score, matched))| (path.to_string(), score * (1.0 - 0.2 + 0.2 * share(matched))))
        .collect();
    out.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    out
}

fn a_word() -> impl Strategy<Value = &'static str> {
    select(vec!["the", "amber", "ambers", "of", "lattice", "then", "tea", "teak", "protocol", "x"])
}

fn a_note() -> impl Strategy<Value = String> {
    let gap = select(vec![" ", " ", " ", "\n", "\n# ", "\n## ", " #", ", "]);
    prop::collection::vec((a_word(), gap), 0..25)
        .prop_map(|all| all.into_iter().map(|(word, gap)| format!("{word}{gap}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_best_notes_are_those_of_a_sum_over_all_words(
        notes in prop::collection::vec(a_note(), 1..25),
        changed in prop::collection::vec((0usize..25, a_note()), 0..6),
        query in prop::collection::vec(prop_oneof![a_word(), Just("ambre"), Just("nothing")], 1..4),
        unfinished in any::<bool>(),
        limit in 0usize..30,
        hidden in any::<bool>(),
    ) {
        let rig = Rig::new("");
        let name = |at: usize| path(&format!("f{}/amber {at}.md", at % 3));
        notes.iter().enumerate().for_each(|(at, text)| rig.files.write(&name(at), text));
        let index = rig.open();
        for (at, text) in &changed {
            rig.files.write(&name(*at), text);
            index.refresh(&[name(*at)]).unwrap();
        }
        let sees = |path: &VaultPath| !hidden || !path.as_str().starts_with("f1/");
        let visible = if hidden { Visible::only(&sees) } else { Visible::all() };
        let text = query.join(" ") + if unfinished { "" } else { " " };
        let ranked = index.ranked(&RankedQuery { limit, ..RankedQuery::new(&text) }, visible, 0).unwrap();
        let expected = by_reading(&rig, &text, &ranked, visible);
        let found: Vec<(String, f32)> = ranked.hits.iter().map(|hit| (hit.path.to_string(), hit.score)).collect();
        prop_assert_eq!(ranked.total, expected.len());
        prop_assert_eq!(found, expected.into_iter().take(limit).collect::<Vec<_>>());
    }
}
