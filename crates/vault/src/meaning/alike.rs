//! Pairs of notes that are near in meaning, without comparing every note with every other.
//!
//! Each note's vector as a whole falls on one side of some random planes; notes on the same sides of all planes of one
//! table share a bucket and are compared with the nearest few there. So not every pair is looked at: by calculation,
//! not measured, a pair of nearness 0.9 is missed about once in four at a hundred thousand notes, one of 0.95 once in fourteen.

use crate::catalog::Visible;
use crate::path::VaultPath;

use super::vectors::Vectors;

/// How many times the notes are sorted into buckets, each time by other planes.
const TABLES: u64 = 8;
/// Notes of one bucket, about.
const BUCKET: usize = 32;
/// With how many notes of its bucket a note is compared.
const COMPARED: usize = 64;
/// The longest a list of pairs gets; the nearest are kept.
const MOST: usize = 1_000;
/// Planes of one table at most.
const PLANES: u32 = 16;

/// The pairs that are at least this near, the nearest first.
pub(super) fn pairs(vectors: &Vectors, least: f32, visible: Visible<'_>) -> Vec<(VaultPath, VaultPath, f32)> {
    let notes: Vec<(&VaultPath, Vec<i8>)> = vectors
        .iter()
        .filter(|note| visible.sees(&note.path))
        .filter_map(|note| Some((&note.path, small(&vectors.whole(note))?)))
        .collect();
    let mut found: Vec<(usize, usize, f32)> = Vec::new();
    for table in 0..TABLES {
        compare(&notes, table, least, &mut found);
        found.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        found.dedup_by_key(|(one, other, _)| (*one, *other));
        found.truncate(MOST);
    }
    let named = |(one, other, near): (usize, usize, f32)| {
        let (one, other) = (notes[one].0.min(notes[other].0), notes[one].0.max(notes[other].0));
        (one.clone(), other.clone(), near)
    };
    found.into_iter().map(named).collect()
}

/// The vector of length 127 in steps of 1; none of a vector that is all zeros.
fn small(vector: &[f32]) -> Option<Vec<i8>> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let step = |number: &f32| (number / length * 127.0).round() as i8;
    (length > 0.0).then(|| vector.iter().map(step).collect())
}

fn compare(notes: &[(&VaultPath, Vec<i8>)], table: u64, least: f32, found: &mut Vec<(usize, usize, f32)>) {
    let planes = (notes.len() / BUCKET).max(1).ilog2().min(PLANES);
    let mut order: Vec<(u32, usize)> =
        notes.iter().enumerate().map(|(at, (_, vector))| (sides(vector, table, planes), at)).collect();
    order.sort_unstable();
    for (place, (bucket, one)) in order.iter().enumerate() {
        let rest = order[place + 1..].iter().take(COMPARED).take_while(|(other, _)| other == bucket);
        for (_, other) in rest {
            let near = nearness(&notes[*one].1, &notes[*other].1);
            if near >= least {
                found.push((*one.min(other), *one.max(other), near));
            }
        }
    }
}

fn sides(vector: &[i8], table: u64, planes: u32) -> u32 {
    (0..planes).fold(0, |sides, plane| {
        let mut random = Random(table * 1_000 + u64::from(plane) + 1);
        let mut bits = 0;
        let mut sum = 0_i32;
        for (at, step) in vector.iter().enumerate() {
            if at % 64 == 0 {
                bits = random.next();
            }
            sum += if bits >> (at % 64) & 1 == 1 { i32::from(*step) } else { -i32::from(*step) };
        }
        sides << 1 | u32::from(sum > 0)
    })
}

fn nearness(one: &[i8], other: &[i8]) -> f32 {
    let dot =
        |a: &[i8], b: &[i8]| -> i32 { a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum() };
    let lengths = (dot(one, one) as f32 * dot(other, other) as f32).sqrt();
    if lengths > 0.0 { dot(one, other) as f32 / lengths } else { 0.0 }
}

/// SplitMix64: the same planes every time, so that the same vault has the same findings.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Stat;
    use crate::meaning::vectors::Row;

    fn noise(random: &mut Random) -> Vec<f32> {
        (0..128).map(|_| (random.next() % 2_001) as f32 / 1_000.0 - 1.0).collect()
    }

    /// Two hundred random notes, and next to each of the first twenty one that is nearly the same.
    fn vectors() -> Vectors {
        let (mut vectors, mut random) = (Vectors::new(128), Random(7));
        let mut put = |name: String, vector: &[f32]| {
            let rows: Vec<Row> = Row::new(1, 0..1, vector).into_iter().collect();
            vectors.put(VaultPath::parse(&name).unwrap(), Stat::default(), &rows, 0);
        };
        for number in 0..200 {
            let vector = noise(&mut random);
            put(format!("n{number}.md"), &vector);
            if number < 20 {
                let near = noise(&mut random);
                let near: Vec<f32> = vector.iter().zip(near).map(|(a, b)| a + b * 0.2).collect();
                put(format!("n{number}-twin.md"), &near);
            }
        }
        vectors
    }

    #[test]
    fn near_pairs_are_found_and_no_others() {
        let found = pairs(&vectors(), 0.8, Visible::all());
        assert!(found.len() >= 18, "only {} of 20", found.len());
        for (one, other, near) in &found {
            assert_eq!(other.stem(), one.stem().replace("-twin", ""), "{one} {other} {near}");
            assert!(*near > 0.9);
        }
        assert!(found.is_sorted_by(|a, b| a.2 >= b.2));
    }

    #[test]
    fn hidden_notes_are_in_no_pair() {
        let sees = |path: &VaultPath| !path.as_str().contains("twin");
        assert_eq!(pairs(&vectors(), 0.8, Visible::only(&sees)), []);
    }
}
