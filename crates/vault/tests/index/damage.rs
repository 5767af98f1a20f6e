//! Files of the index that were cut, changed, swapped or removed: noticed and healed, and the answers are right.

use std::collections::BTreeMap;
use std::path::Path;

use super::rig::*;
use vault::VaultPath;
use vault::catalog::Visible;
use vault::index::{Event, RankedQuery};

fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

fn put_back(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::create_dir(folder).unwrap();
    files.iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).unwrap());
}

/// A vault whose index has a base, two later segments and documents that are gone.
fn rig() -> Rig {
    let rig = Rig::new();
    let mut random = Random(7);
    for number in 0..60 {
        rig.write(&format!("f{}/n{number}.md", number % 3), note(&mut random));
    }
    let index = rig.open();
    for number in [3, 4, 61] {
        let name = format!("f{}/n{number}.md", number % 3);
        rig.write(&name, note(&mut random));
        index.refresh(&[VaultPath::parse(&name).unwrap()]).unwrap();
        index.save().unwrap();
    }
    assert_eq!(index.stats().segments, 4);
    rig
}

fn damage(folder: &Path, random: &mut Random) -> String {
    let names: Vec<String> = files_of(folder).into_keys().filter(|name| name != "lock").collect();
    let name = names[random.below(names.len())].clone();
    let place = folder.join(&name);
    let mut bytes = std::fs::read(&place).unwrap();
    let at = random.below(bytes.len());
    let what = match random.below(6) {
        0 => {
            bytes.truncate(at);
            format!("{name} cut to {at} bytes")
        }
        1 => {
            let end = (at + 1 + random.below(600)).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x55);
            format!("{name} changed from {at} to {end}")
        }
        2 => {
            bytes.insert(at, 7);
            format!("{name} one byte longer at {at}")
        }
        _ => {
            bytes[at] ^= 1 << random.below(8);
            format!("{name} one bit changed at {at}")
        }
    };
    std::fs::write(&place, bytes).unwrap();
    what
}

#[test]
fn damage_is_noticed_and_the_answers_are_right() {
    let rig = rig();
    let good = files_of(&rig.data());
    for seed in 1..=rounds(40, 200) as u64 {
        put_back(&rig.data(), &good);
        let what = damage(&rig.data(), &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let index = rig.open();
        check_all(&rig.root(), &index);
        index.ranked(&RankedQuery::new("amber latt"), Visible::all(), 0).unwrap();
        index.verify().unwrap();
        let events = index.take_events();
        assert!(matches!(events.as_slice(), [Event::Healed { .. }]), "seed {seed}: {what}: {events:?}");
        check_all(&rig.root(), &index);
        assert!(rig.open().take_events().is_empty(), "seed {seed}: {what}: it was healed on disk too");
    }
}

#[test]
fn swapped_or_missing_files_are_noticed() {
    let rig = rig();
    let good = files_of(&rig.data());
    let parts: Vec<&String> = good.keys().filter(|name| name.ends_with(".text")).collect();
    let check = |what: &str| {
        let index = rig.open();
        let events = index.take_events();
        assert!(matches!(events.as_slice(), [Event::Healed { .. }]), "{what}: {events:?}");
        check_all(&rig.root(), &index);
        put_back(&rig.data(), &good);
    };
    std::fs::write(rig.data().join(parts[0]), &good[parts[1]]).unwrap();
    check("one part in place of another");
    std::fs::remove_file(rig.data().join(parts[2])).unwrap();
    check("a part is missing");
    std::fs::write(rig.data().join(parts[1]), b"").unwrap();
    check("an empty part");
    std::fs::remove_dir_all(rig.data()).unwrap();
    assert!(matches!(rig.open().take_events().as_slice(), [Event::Built { files: 61 }]));
}

#[test]
fn a_folder_that_cannot_be_written_costs_the_saving_only() {
    let rig = rig();
    std::fs::remove_dir_all(rig.data()).unwrap();
    std::fs::write(rig.data(), b"in the way").unwrap();
    let index = rig.open();
    assert!(matches!(index.take_events().first(), Some(Event::NotSaved { .. })));
    check_all(&rig.root(), &index);
}
