//! The watcher over a real folder.
#![allow(
    clippy::disallowed_methods,
    reason = "the watcher is tested on a real folder, which the test itself fills"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;

use notify::event::{AccessKind, Flag, RemoveKind};

use super::*;
use crate::catalog::Visible;
use crate::files::{Entry, Files, Kind, Stat};

/// A vault on disk, without any of the care that the real disk layer takes.
struct RealFiles(PathBuf);

impl RealFiles {
    fn entry(path: VaultPath, data: &fs::Metadata) -> Entry {
        let kind = if data.is_dir() { Kind::Folder } else { Kind::File };
        let modified_ns = data.mtime() * 1_000_000_000 + data.mtime_nsec();
        Entry { path, kind, stat: Stat { size: data.len(), modified_ns, inode: data.ino() } }
    }
}

impl Files for RealFiles {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()> {
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            let Ok(listing) = fs::read_dir(&folder) else { continue };
            for at in listing.flatten() {
                let (Some(path), Ok(data)) = (inside(&self.0, &at.path()), at.metadata()) else { continue };
                if data.is_dir() {
                    folders.push(at.path());
                }
                each(RealFiles::entry(path, &data));
            }
        }
        Ok(())
    }

    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        fs::read(self.0.join(path.as_str())).map_err(|error| Error::io("reading", error))
    }

    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>> {
        let data = fs::symlink_metadata(self.0.join(path.as_str())).ok();
        Ok(data.map(|data| RealFiles::entry(path.clone(), &data)))
    }
}

struct Scene {
    folder: tempfile::TempDir,
    live: Arc<Live>,
    _watcher: Watcher,
}

impl Scene {
    fn new(notes: usize) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..notes {
            fs::write(folder.path().join(format!("n{number}.md")), "# old\n").unwrap();
        }
        let live = Arc::new(Live::build(Arc::new(RealFiles(folder.path().to_owned()))).unwrap());
        let watcher = Watcher::start(folder.path(), live.clone(), |_| ()).unwrap();
        Scene { folder, live, _watcher: watcher }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn title(&self, path: &str) -> Option<String> {
        let path = VaultPath::parse(path).unwrap();
        self.live.read().get(&path, Visible::all()).map(|info| info.title().to_owned())
    }

    /// How long until the note has this title; gives up after five seconds.
    #[track_caller]
    fn wait_for(&self, path: &str, title: Option<&str>) -> Duration {
        let started = Instant::now();
        while self.title(path).as_deref() != title {
            assert!(
                started.elapsed() < Duration::from_secs(5),
                "{path} is {:?}, not {title:?}",
                self.title(path)
            );
            thread::sleep(Duration::from_millis(1));
        }
        started.elapsed()
    }

    fn replace(&self, name: &str, text: &str) {
        fs::write(self.at(".new"), text).unwrap();
        fs::rename(self.at(".new"), self.at(name)).unwrap();
    }
}

#[test]
fn an_outside_edit_is_seen_soon() {
    let scene = Scene::new(50);
    let mut times: Vec<Duration> = (0..40)
        .map(|round| {
            let (name, title) = (format!("n{round}.md"), format!("new {round}"));
            match round % 2 {
                0 => scene.replace(&name, &format!("# {title}\n")),
                _ => fs::write(scene.at(&name), format!("# {title}\n")).unwrap(),
            }
            scene.wait_for(&name, Some(&title))
        })
        .collect();
    times.sort();
    println!("seen after p50 {:?}, p95 {:?}, worst {:?}", times[20], times[38], times[39]);
    // The goal is 50 ms at p95; the test leaves room for a machine that is busy with other tests.
    assert!(times[20] < Duration::from_millis(150), "{times:?}");
}

#[test]
fn creation_removal_and_renames_of_files_and_folders_are_seen() {
    let scene = Scene::new(2);
    fs::create_dir_all(scene.at("a/b")).unwrap();
    fs::write(scene.at("a/b/deep.md"), "# deep").unwrap();
    scene.wait_for("a/b/deep.md", Some("deep"));
    fs::write(scene.at("a/b/later.md"), "# later").unwrap();
    scene.wait_for("a/b/later.md", Some("later"));
    fs::rename(scene.at("a"), scene.at("moved")).unwrap();
    scene.wait_for("moved/b/deep.md", Some("deep"));
    scene.wait_for("a/b/deep.md", None);
    fs::write(scene.at("moved/b/deep.md"), "# deeper").unwrap();
    scene.wait_for("moved/b/deep.md", Some("deeper"));
    fs::remove_file(scene.at("n0.md")).unwrap();
    scene.wait_for("n0.md", None);
    fs::rename(scene.at("n1.md"), scene.at("n2.md")).unwrap();
    scene.wait_for("n2.md", Some("old"));
    assert_eq!(scene.title("n1.md"), None);
    let outside = tempfile::tempdir().unwrap();
    fs::rename(scene.at("moved"), outside.path().join("gone")).unwrap();
    scene.wait_for("moved/b/deep.md", None);
    let folders: Vec<_> = scene.live.read().folders(Visible::all()).cloned().collect();
    assert_eq!(folders, [], "a removed folder takes its folders along");
}

#[test]
fn a_burst_into_new_folders_loses_nothing() {
    let scene = Scene::new(0);
    for folder in 0..20 {
        fs::create_dir_all(scene.at(&format!("f{folder}/g/h"))).unwrap();
        for note in 0..5 {
            fs::write(scene.at(&format!("f{folder}/g/h/n{note}.md")), "# x").unwrap();
        }
    }
    for (folder, note) in (0..20).flat_map(|folder| (0..5).map(move |note| (folder, note))) {
        scene.wait_for(&format!("f{folder}/g/h/n{note}.md"), Some("x"));
    }
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let live = Arc::new(Live::build(Arc::new(crate::files::MemoryFiles::default())).unwrap());
    assert!(Watcher::start(Path::new("/no/such/folder"), live, |_| ()).is_err());
}

#[test]
fn events_become_places_to_look_at() {
    let root = Path::new("/v");
    let event = |kind, paths: &[&str]| {
        Ok(paths.iter().fold(Event::new(kind), |event, path| event.add_path(path.into())))
    };
    let name = EventKind::Modify(ModifyKind::Name(notify::event::RenameMode::Both));
    let rows = [
        (event(EventKind::Access(AccessKind::Any), &["/v/a.md"]), "{} everything: false"),
        (event(EventKind::Create(CreateKind::File), &["/v/a.md"]), r#"{"a.md"} everything: false"#),
        (event(EventKind::Remove(RemoveKind::File), &["/v/x/a.md"]), r#"{"x/a.md"} everything: false"#),
        (event(name, &["/v/a", "/v/b"]), r#"{"a", "b"} everything: false"#),
        (event(EventKind::Any, &["/v/.git/x", "/w/y.md"]), "{} everything: false"),
        (event(EventKind::Remove(RemoveKind::Folder), &["/v"]), "{} everything: true"),
        (Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), "{} everything: true"),
        (Err(notify::Error::generic("lost")), "{} everything: true"),
    ];
    for (event, expected) in rows {
        let shown = format!("{event:?}");
        let mut burst = Burst::default();
        burst.take(root, Signal::Event(event));
        assert_eq!(format!("{:?} everything: {}", burst.paths, burst.everything), expected, "{shown}");
    }
}
