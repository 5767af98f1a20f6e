//! A system that does not play along: no room, no rights, odd files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use state::{Error, Sessions};

use super::rig::{Room, new, says};

#[test]
fn the_file_is_for_the_person_only() {
    let room = Room::new();
    room.sessions.create(&new("s", 1)).unwrap();
    let mode =
        |name: &str| std::fs::metadata(room.folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    std::fs::set_permissions(room.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    Sessions::open(&room.file()).unwrap();
    assert_eq!(mode("state.db"), 0o600, "mended");
}

#[test]
fn looking_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    assert!(Sessions::open_if_there(&file).unwrap().is_none());
    assert!(!file.exists());
    Sessions::open(&file).unwrap();
    assert!(Sessions::open_if_there(&file).unwrap().is_some());
}

#[test]
fn what_is_no_file_is_an_error_and_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| folder.path().join(name);
    std::fs::create_dir(inside("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(inside("pipe")).status().unwrap().success());
    std::fs::write(inside("file"), "x").unwrap();
    for file in [inside("folder"), inside("pipe"), inside("file/state.db"), "/proc/state.db".into()] {
        let error = Sessions::open(&file).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{}: {error:?}", file.display());
        assert!(error.hint().contains(&file.display().to_string()));
    }
}

/// Runs `the_small_disk` of this binary in a place of its own, where `small` is a disk of its own.
fn on_a_small_disk(what: &str, folder: &Path) -> bool {
    let script = "mount -t tmpfs -o size=400k small \"$1\" && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(folder);
    let can = command.arg("true").output().is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: no `unshare`, or no right to mount in it");
        return false;
    }
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, "sh"]).arg(folder).arg(std::env::current_exe().unwrap());
    let output = command
        .args(["it::trouble::the_small_disk", "--exact", "--nocapture"])
        .env("VERGER_STATE_SMALL", what)
        .env("VERGER_STATE_FILE", folder.join("state.db"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    true
}

#[test]
fn a_full_disk_is_an_error_and_what_was_acknowledged_stays() {
    let folder = tempfile::tempdir().unwrap();
    on_a_small_disk("full", folder.path());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    on_a_small_disk("read-only", folder.path());
}

/// Not a test of its own: does nothing unless it was started by one.
#[test]
fn the_small_disk() {
    let Ok(what) = std::env::var("VERGER_STATE_SMALL") else { return };
    let file = std::path::PathBuf::from(std::env::var_os("VERGER_STATE_FILE").unwrap());
    let folder = file.parent().unwrap();
    if what == "full" { fill(&file) } else { read_only(&file, folder) }
}

fn fill(file: &Path) {
    let sessions = Sessions::open(file).unwrap();
    sessions.create(&new("s", 1)).unwrap();
    let step = says("user", &"words ".repeat(500));
    let mut acknowledged = 0;
    let error = loop {
        match sessions.append("s", std::slice::from_ref(&step), 1) {
            Ok(number) => acknowledged = number,
            Err(error) => break error,
        }
        assert!(acknowledged < 1_000, "the disk is not small");
    };
    assert_eq!(error, Error::Full { path: file.to_owned() });
    assert!(acknowledged > 5, "{acknowledged}");
    assert_eq!(sessions.steps("s").unwrap().len() as u64, acknowledged);
    assert!(sessions.append("s", std::slice::from_ref(&step), 1).is_err(), "still full");
    drop(sessions);
    let again = Sessions::open(file).unwrap();
    assert_eq!(again.steps("s").unwrap().len() as u64, acknowledged);
    assert_eq!(again.check().unwrap().problems, Vec::<String>::new());
}

fn read_only(file: &Path, folder: &Path) {
    let sessions = Sessions::open(file).unwrap();
    sessions.create(&new("s", 1)).unwrap();
    drop(sessions);
    let mounted = |options: &str| {
        let status = Command::new("mount").args(["-o", options]).arg(folder).status().unwrap();
        assert!(status.success());
    };
    mounted("remount,ro");
    let fresh = Sessions::open(&folder.join("other.db")).unwrap_err();
    assert!(matches!(fresh, Error::Io { .. }), "{fresh:?}");
    let error = Sessions::open(file).and_then(|sessions| sessions.append("s", &[says("user", "x")], 1));
    assert!(matches!(error, Err(Error::Io { .. })), "{error:?}");
    mounted("remount,rw");
    assert_eq!(Sessions::open(file).unwrap().append("s", &[says("user", "x")], 1), Ok(1));
}
