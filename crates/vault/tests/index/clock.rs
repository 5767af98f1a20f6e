//! Clocks that jump and times that are set back: what is searched is what the files hold.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::rig::*;
use vault::catalog::Visible;

fn set_time(rig: &Rig, name: &str, time: SystemTime) {
    File::options().write(true).open(rig.root().join(name)).unwrap().set_modified(time).unwrap();
}

#[test]
fn times_that_go_backwards_are_changes_like_others() {
    let rig = Rig::new();
    let mut random = Random(3);
    (0..20).for_each(|at| rig.write(&format!("n{at}.md"), note(&mut random)));
    drop(rig.open());
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for (at, time) in
        [(1, long_ago), (2, SystemTime::UNIX_EPOCH), (3, SystemTime::now() + Duration::from_secs(1 << 30))]
    {
        rig.write(&format!("n{at}.md"), note(&mut random));
        set_time(&rig, &format!("n{at}.md"), time);
    }
    let index = rig.open();
    check_all(&rig.root(), &index);
    assert!(index.verify().unwrap());
}

#[test]
fn another_text_of_the_same_size_and_time_is_noticed() {
    let rig = Rig::new();
    rig.write("a.md", "amber amber");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    set_time(&rig, "a.md", time);
    let running = rig.open();
    assert_eq!(running.search(&literal("amber"), Visible::all()).unwrap().total_matches, 1);
    // In place, so that the file keeps its number; then the old time is written back.
    rig.write("a.md", "cedar cedar");
    set_time(&rig, "a.md", time);
    running.refresh_all().unwrap();
    for index in [running, rig.open()] {
        assert_eq!(index.search(&literal("amber"), Visible::all()).unwrap().total_matches, 0);
        assert_eq!(index.search(&literal("cedar"), Visible::all()).unwrap().total_matches, 1);
        check_all(&rig.root(), &index);
    }
}
