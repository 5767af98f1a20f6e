//! A full disk, a failing disk, a read-only folder: the old text stays, the error is clear, the next call works.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::child::NEW;
use super::crash::child;
use super::rig::*;

const OLD: &str = "old line\n";

fn has(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The k-th write, fsync or rename fails, or the process dies there.
#[test]
fn the_kth_system_call_fails_and_nothing_is_torn() {
    if !has("strace") {
        eprintln!("skipped: strace is not installed");
        return;
    }
    let deepest = if std::env::var_os("VERGER_LONG").is_some() { 14 } else { 6 };
    let (mut cases, mut hit) = (0, 0);
    for (calls, fault) in [
        ("write,pwrite64,writev", "error=ENOSPC"),
        ("write,pwrite64,writev", "error=EIO"),
        ("write,pwrite64,writev", "signal=SIGKILL"),
        ("fsync,fdatasync", "error=EIO"),
        ("fsync,fdatasync", "signal=SIGKILL"),
        ("rename,renameat,renameat2", "error=EACCES"),
        ("rename,renameat,renameat2", "error=EXDEV"),
        ("rename,renameat,renameat2", "error=ENOSPC"),
        ("rename,renameat,renameat2", "signal=SIGKILL"),
        ("mkdir,mkdirat", "error=ENOSPC"),
        ("ftruncate", "error=EIO"),
        ("unlink,unlinkat", "signal=SIGKILL"),
    ] {
        for k in 1..=deepest {
            cases += 1;
            hit += usize::from(one_fault(calls, fault, k));
        }
    }
    eprintln!("{cases} faults injected, {hit} of them stopped the commit");
    assert!(hit > cases / 4, "the faults were hardly felt: {hit} of {cases}");
}

/// Returns whether the commit failed.
fn one_fault(calls: &str, fault: &str, k: usize) -> bool {
    let rig = Rig::new(&[("n.md", OLD.repeat(3_000).as_bytes())]);
    let Rig { folder, vault } = rig;
    drop(vault);
    let inner = child("it::child::replaces_one_note", folder.path());
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("inject={calls}:{fault}:when={k}")])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("VERGER_CHILD_FOLDER", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap();
    let what = format!("{calls} {fault} k={k}");
    let answer = std::fs::read_to_string(folder.path().join("answer")).unwrap_or_default();
    let vault = open(folder.path());
    let after = tree(&folder.path().join("vault"));
    let (old, new) = (OLD.repeat(3_000).into_bytes(), NEW.repeat(3_000).into_bytes());
    if after["n.md"] == new {
        assert_eq!(
            after.get("sub/second.md").map(Vec::as_slice),
            Some(NEW.as_bytes()),
            "{what}: half a commit"
        );
    } else {
        assert_eq!(after["n.md"], old, "{what}: torn");
        assert!(
            !after.contains_key("sub/second.md") && !after.contains_key("sub/"),
            "{what}: left behind: {:?}",
            after.keys()
        );
        assert!(!answer.starts_with("ok"), "{what}: said ok, did nothing");
    }
    assert!(
        !after.keys().any(|name| name.contains("verger-staged")),
        "{what}: stray file {:?}",
        after.keys()
    );
    let now = after["n.md"].clone();
    commit(&vault, "next", &[vault::Change::replace(path("n.md"), now, "works")])
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    !answer.starts_with("ok")
}

/// A real full disk: a small tmpfs in a mount namespace of its own, with more and more room left.
#[test]
fn a_full_disk_keeps_the_old_text_and_works_again_when_there_is_space() {
    let script = r#"
        set -e
        mount -t tmpfs -o size=1m tmpfs "$1"
        mkdir -p "$1/vault" "$1/data/stage"
        yes 'old line' | head -n 3000 > "$1/vault/n.md"
        cat /dev/zero > "$1/filler" 2>/dev/null || true
        truncate -s "-$3" "$1/filler"
        before=$(sha256sum < "$1/vault/n.md")
        "$2" --ignored --exact it::child::replaces_one_note --nocapture >/dev/null 2>&1 || true
        if [ "$before" = "$(sha256sum < "$1/vault/n.md")" ]; then echo kept; else echo written; fi
        if [ -e "$1/vault/sub" ]; then echo sub; fi
        rm -rf "$1/filler" "$1/answer"
        "$2" --ignored --exact it::child::replaces_one_note --nocapture >/dev/null 2>&1
        cat "$1/answer"
    "#;
    let mut kept = 0;
    for room in ["0", "4096", "8192", "16384", "28672", "36864", "49152"] {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new("unshare")
            .args(["-r", "-m", "sh", "-c", script, "sh"])
            .arg(folder.path())
            .arg(std::env::current_exe().unwrap())
            .arg(room)
            .env("VERGER_CHILD_FOLDER", folder.path())
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: unshare is not installed");
            return;
        };
        let (text, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if errors.contains("unshare") || errors.contains("mount:") {
            eprintln!("skipped: no mount namespace here ({})", errors.trim());
            return;
        }
        if text.contains("kept") {
            kept += 1;
            assert!(!text.contains("sub\n") && text.contains("ok "), "room {room}: {text} {errors}");
        } else {
            assert!(text.contains("written\nsub\n"), "room {room}: half a commit: {text} {errors}");
        }
    }
    assert!(kept >= 3, "the disk was hardly full");
}

#[test]
fn a_read_only_folder_is_a_clear_error_and_changes_nothing() {
    if is_root() {
        // Root writes everywhere; the same is shown on a read-only mount by the full-disk test's namespace in CI.
        eprintln!("skipped: permission bits do not stop root");
        return;
    }
    let rig = Rig::new(&[("dir/n.md", b"old"), ("m.md", b"old")]);
    let folder = rig.root().join("dir");
    let set = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    let error = rig.commit(&[replace("m.md", "old", "new"), replace("dir/n.md", "old", "new")]).unwrap_err();
    assert_eq!(error.reason(), "io");
    assert_eq!(rig.tree()["m.md"], b"old");
    set(0o755);
    rig.commit(&[replace("dir/n.md", "old", "new")]).unwrap();
}

/// A vault on a file system of its own that is read-only: nothing can be staged, and that is what is said.
#[test]
fn a_read_only_vault_is_a_clear_error_and_works_again_when_it_can_be_written() {
    let script = r#"
        set -e
        mkdir -p "$1/vault"
        mount -t tmpfs -o size=1m tmpfs "$1/vault"
        yes 'old line' | head -n 3000 > "$1/vault/n.md"
        before=$(sha256sum < "$1/vault/n.md")
        mount -o remount,ro "$1/vault"
        "$2" --ignored --exact it::child::replaces_one_note --nocapture >/dev/null 2>&1
        cat "$1/answer"; echo
        if [ "$before" = "$(sha256sum < "$1/vault/n.md")" ]; then echo kept; fi
        mount -o remount,rw "$1/vault"
        "$2" --ignored --exact it::child::replaces_one_note --nocapture >/dev/null 2>&1
        cat "$1/answer"; echo
        ls -A "$1/vault"
    "#;
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["-r", "-m", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env("VERGER_CHILD_FOLDER", folder.path())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: unshare is not installed");
        return;
    };
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.contains("unshare") || errors.contains("mount:") {
        eprintln!("skipped: no mount namespace here ({})", errors.trim());
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("error ") && lines[0].contains("Read-only file system"), "{text} {errors}");
    assert_eq!(lines[1], "kept", "{text}");
    assert!(lines[2].starts_with("ok "), "{text}");
    // Staged inside the vault, because it is a file system of its own; nothing of that is left.
    assert_eq!(lines[3..], ["n.md", "sub"], "{text}");
}

/// The order that makes a write durable: staged bytes, then sync, then the rename, then the folder.
#[test]
fn a_file_is_synced_before_its_rename_and_its_folder_after() {
    if !has("strace") {
        eprintln!("skipped: strace is not installed");
        return;
    }
    let Rig { folder, vault } = Rig::new(&[("n.md", OLD.as_bytes())]);
    drop(vault);
    let trace = folder.path().join("trace");
    let inner = child("it::child::replaces_one_note", folder.path());
    Command::new("strace")
        .args(["-f", "-y", "-e", "trace=write,pwrite64,fsync,fdatasync,renameat,renameat2", "-o"])
        .arg(&trace)
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("VERGER_CHILD_FOLDER", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let lines = std::fs::read_to_string(&trace).unwrap();
    let at = |wanted: &dyn Fn(&str) -> bool| lines.lines().position(wanted);
    let write = at(&|line| line.contains("write(") && line.contains("verger-staged")).expect("staged write");
    let sync = at(&|line| line.contains("fsync(") && line.contains("verger-staged"))
        .expect("sync of the staged file");
    let log =
        at(&|line| line.contains("sync(") && line.contains("checkpoints.log")).expect("sync of the log");
    let rename = at(&|line| line.contains("renameat") && line.contains("n.md")).expect("rename");
    let folder_sync =
        at(&|line| line.contains("fsync(") && line.contains("/vault>")).expect("sync of the folder");
    assert!(write < sync && sync < rename && log < rename && rename < folder_sync, "{lines}");
}
