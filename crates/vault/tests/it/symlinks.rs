//! No link leads out of the vault, no special file hangs us.

use super::rig::*;
use std::os::unix::fs::symlink;

#[test]
fn links_pipes_and_folders_are_refused_with_their_reason() {
    let rig = Rig::new(&[("in.md", b"in"), ("dir/x.md", b"x")]);
    let (root, outside) = (rig.root(), rig.folder.path().join("outside"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.md"), "CANARY").unwrap();
    symlink(outside.join("secret.md"), root.join("link.md")).unwrap();
    symlink(&outside, root.join("linkdir")).unwrap();
    symlink("in.md", root.join("inner.md")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink(outside.join("new.md"), root.join("dangling.md")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo.md"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket.md")).unwrap();
    let scope = scope();
    let view = rig.vault.view(&scope);
    for (name, read, write) in [
        ("link.md", "path_is_symlink", "path_is_symlink"),
        ("linkdir/secret.md", "path_is_symlink", "path_is_symlink"),
        ("linkdir/new.md", "path_is_symlink", "path_is_symlink"),
        ("inner.md", "path_is_symlink", "path_is_symlink"),
        ("loop", "path_is_symlink", "path_is_symlink"),
        ("dangling.md", "path_is_symlink", "path_is_symlink"),
        ("fifo.md", "path_is_special", "path_is_special"),
        ("socket.md", "path_is_special", "path_is_special"),
        ("dir", "path_is_directory", "file_exists"),
        ("in.md/below.md", "path_is_file", "path_is_file"),
    ] {
        assert_eq!(view.read(&path(name)).unwrap_err().reason(), read, "read {name}");
        assert_eq!(rig.commit(&[create(name, "x")]).unwrap_err().reason(), write, "create {name}");
        assert_ne!(rig.commit(&[replace(name, "x", "y")]).unwrap_err().reason(), "io", "replace {name}");
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(outside.join("secret.md")).unwrap(), "CANARY");
    let listed = view.list(&vault::VaultFolder::root(), vault::view::Depth::All).unwrap();
    let names: Vec<_> = listed.iter().map(|entry| entry.path.to_string()).collect();
    assert_eq!(names, ["dir", "dir/x.md", "in.md"]);
}

/// A folder that is swapped for a link while we write: nothing is ever written or read outside.
#[test]
fn a_folder_that_flips_to_a_link_never_leads_out() {
    let rig = Rig::new(&[("race/target.md", b"in")]);
    let (root, outside) = (rig.root(), rig.folder.path().join("outside"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("target.md"), "CANARY").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // A commit may make the folder anew while it is aside; then this turn does not flip.
                std::fs::rename(root.join("race"), root.join("aside")).ok();
                symlink(&outside, root.join("race")).ok();
                std::fs::remove_file(root.join("race")).ok();
                std::fs::rename(root.join("aside"), root.join("race")).ok();
            }
        });
        let scope = scope();
        let view = rig.vault.view(&scope);
        for n in 0..2_000 {
            if let Ok(bytes) = view.read(&path("race/target.md")) {
                assert_ne!(bytes, b"CANARY");
            }
            if n % 20 == 0 {
                rig.commit(&[create(&format!("race/new{n}.md"), "x")]).ok();
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(tree(&outside), [("target.md".into(), b"CANARY".to_vec())].into());
}
