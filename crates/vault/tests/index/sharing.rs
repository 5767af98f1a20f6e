//! Several processes with one index: each has its own handles here, as processes have.

use super::rig::*;
use vault::VaultPath;
use vault::catalog::Visible;

#[test]
fn one_writes_and_the_others_notice() {
    let rig = Rig::new();
    rig.write("a.md", "amber");
    let (one, two) = (rig.open(), rig.open());
    assert!(two.take_events().is_empty(), "the second finds what the first has built");
    rig.write("b.md", "amber lattice");
    one.refresh(&[VaultPath::parse("b.md").unwrap()]).unwrap();
    one.save().unwrap();
    assert_eq!(two.search(&literal("amber"), Visible::all()).unwrap().files_matched, 1, "not told yet");
    two.refresh_all().unwrap();
    assert_eq!(two.stats(), one.stats(), "taken over, not indexed again");
    check_all(&rig.root(), &two);
    // Both change and save; the later one does not throw away what the first saved.
    rig.write("c.md", "of the protocol");
    one.refresh(&[VaultPath::parse("c.md").unwrap()]).unwrap();
    rig.write("d.md", "tea");
    two.refresh(&[VaultPath::parse("d.md").unwrap()]).unwrap();
    one.save().unwrap();
    two.save().unwrap();
    let three = rig.open();
    assert!(three.take_events().is_empty());
    for index in [&one, &two, &three] {
        index.refresh_all().unwrap();
        check_all(&rig.root(), index);
    }
}

#[test]
fn many_changes_leave_few_segments() {
    let rig = Rig::new();
    let mut random = Random(5);
    let index = rig.open();
    for number in 0..300 {
        let name = format!("n{}.md", number % 90);
        rig.write(&name, note(&mut random));
        index.refresh(&[VaultPath::parse(&name).unwrap()]).unwrap();
        if number % 7 == 0 {
            index.save().unwrap();
        }
        assert!(index.stats().segments <= 18, "{:?}", index.stats());
    }
    check_all(&rig.root(), &index);
    assert_eq!(index.stats().texts, 90);
}

#[test]
fn searches_go_on_while_notes_change() {
    let rig = Rig::new();
    let mut random = Random(11);
    (0..40).for_each(|number| rig.write(&format!("n{number}.md"), note(&mut random)));
    rig.write("steady.md", "unmoved mover");
    let index = rig.open();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for _ in 0..300 {
                let found = index.search(&literal("unmoved mover"), Visible::all()).unwrap();
                assert_eq!((found.total_matches, found.files_matched), (1, 1));
            }
        });
        for number in 0..200 {
            let name = format!("n{}.md", number % 40);
            rig.write(&name, note(&mut random));
            index.refresh(&[VaultPath::parse(&name).unwrap()]).unwrap();
            if number % 20 == 0 {
                index.save().unwrap();
            }
        }
        reader.join().unwrap();
    });
    check_all(&rig.root(), &index);
}
