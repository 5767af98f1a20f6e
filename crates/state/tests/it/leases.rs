//! One process at a time works on a conversation.

use state::{Error, NewSession, Sessions, holder};

use super::child::Process;
use super::rig::{Room, new, says};

fn busy(outcome: Result<impl Sized, Error>) -> Option<String> {
    match outcome {
        Err(Error::Busy { holder, .. }) => Some(holder),
        Err(other) => panic!("{other:?}"),
        Ok(_) => None,
    }
}

#[test]
fn the_lease_of_a_killed_process_ends_at_once() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    let mut process = Process::start("lease", &room.file(), "s");
    let other = process.next().unwrap();
    let own = holder::this_process();
    assert_eq!(busy(room.sessions.lease("s", &own, 2_000, 60)), Some(other.clone()));
    assert_eq!(busy(room.sessions.append("s", &[says("user", "me too")], 2_000)), Some(other.clone()));
    assert_eq!(busy(room.sessions.delete("s", 2_000)), Some(other.clone()));
    assert_eq!(busy(room.sessions.set_agent_and_model("s", "a", "m", 2_000)), Some(other));
    room.sessions.rename("s", Some("a name is no step")).unwrap();
    room.sessions.fork("s", None, &new("copy", 2_000)).unwrap();
    process.kill();
    let lease = room.sessions.lease("s", &own, 2_000, 60).unwrap();
    assert_eq!(lease.session(), "s");
    assert_eq!(room.sessions.append("s", &[says("user", "now me")], 2_000), Ok(2));
}

#[test]
fn a_lease_ends_by_time_and_steps_renew_it() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    // Holders of whom nobody can tell whether they still run.
    let elsewhere = Sessions::open(&room.file()).unwrap();
    let first = room.sessions.lease("s", "first", 0, 10).unwrap();
    assert_eq!(busy(elsewhere.lease("s", "second", 9_999, 10)).as_deref(), Some("first"));
    room.sessions.append("s", &[says("user", "one")], 9_000).unwrap();
    assert_eq!(busy(elsewhere.lease("s", "second", 18_999, 10)).as_deref(), Some("first"));
    first.renew(18_000).unwrap();
    assert_eq!(busy(elsewhere.lease("s", "second", 27_999, 10)).as_deref(), Some("first"));

    let second = elsewhere.lease("s", "second", 28_000, 10).unwrap();
    assert_eq!(busy(room.sessions.append("s", &[says("user", "late")], 28_001)).as_deref(), Some("second"));
    assert_eq!(busy(first.renew(28_001)).as_deref(), Some("second"), "it is lost");
    drop(first);
    assert_eq!(
        elsewhere.append("s", &[says("user", "two")], 28_002),
        Ok(2),
        "the lost one took nothing along"
    );
    drop(second);
    // Somebody slept while another one wrote: what it would write does not fit any more.
    let sleeper = room.sessions.lease("s", "sleeper", 30_000, 10).unwrap();
    drop(elsewhere.lease("s", "quick", 50_000, 10).unwrap());
    let late = room.sessions.append("s", &[says("user", "from a dream")], 50_001);
    assert_eq!(late, Err(Error::Overtaken { session: "s".into() }));
    drop(sleeper);
    // Nobody was there meanwhile: then time alone takes nothing away.
    let slow = room.sessions.lease("s", "slow", 60_000, 10).unwrap();
    slow.renew(90_000).unwrap();
    drop(slow);
    assert_eq!(room.sessions.append("s", &[says("user", "three")], 95_000), Ok(3), "nobody has it now");
}

#[test]
fn another_part_of_the_same_process_does_not_get_it_either() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    let elsewhere = Sessions::open(&room.file()).unwrap();
    let own = holder::this_process();
    let lease = room.sessions.lease("s", &own, 0, 10).unwrap();
    assert_eq!(busy(room.sessions.clone().lease("s", &own, 1, 10)).as_ref(), Some(&own));
    assert_eq!(
        busy(room.sessions.lease("s", &own, 99_000, 10)).as_ref(),
        Some(&own),
        "its time is over, it is not"
    );
    assert_eq!(busy(elsewhere.lease("s", &own, 1, 10)).as_ref(), Some(&own));
    drop(lease);
    assert_eq!(busy(elsewhere.lease("s", &own, 2, 10).map(drop)), None);
    assert_eq!(busy(room.sessions.lease("s", &own, 3, 10).map(drop)), None);
}

#[test]
fn nobody_deletes_a_conversation_whose_child_is_worked_on() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    room.sessions.create(&NewSession { parent: Some("s".into()), ..new("child", 1) }).unwrap();
    let elsewhere = Sessions::open(&room.file()).unwrap();
    let lease = elsewhere.lease("child", "you", 0, 10).unwrap();
    assert_eq!(busy(room.sessions.delete("s", 1)).as_deref(), Some("you"));
    drop(lease);
    room.sessions.delete("s", 1).unwrap();
}
