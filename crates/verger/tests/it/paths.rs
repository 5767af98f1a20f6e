//! Every hostile and every odd path, through the real binary: nothing outside the vault is read or written, nothing
//! hangs, nothing crashes, and names that are only odd still work.
//!
//! The rows are `fixtures/paths.jsonl`, and the shared corpus where it is beside the project. `deny` must be refused;
//! `safe` may be refused or taken inside the vault; `protect` must not be written; `allow` must be written.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{Rig, Said};

const CANARY: &str = "CANARY-5f1c7a9e";
/// A call that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// Rows are shared out among this many vaults.
const LANES: usize = 4;

#[derive(Debug, Clone)]
struct Row {
    id: String,
    /// Ours are tried with more tools; the shared corpus is long.
    ours: bool,
    expect: String,
    path: String,
}

fn rows() -> Vec<Row> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut rows = Vec::new();
    for file in ["../../fixtures/paths.jsonl", "../../../shared/corpora/paths.jsonl"] {
        match std::fs::read_to_string(home.join(file)) {
            Ok(text) => rows.extend(text.lines().filter_map(row)),
            Err(_) => println!("{file} is not here; skipped"),
        }
    }
    assert!(rows.len() >= 60);
    rows
}

/// A row that is no Unicode text cannot even be said in JSON.
fn row(line: &str) -> Option<Row> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    Some(Row {
        ours: text("id").starts_with('V'),
        id: text("id"),
        expect: text("expect"),
        path: text("path"),
    })
}

/// The vault with everything that could lead out of it.
struct Trap {
    rig: Rig,
    outside: Vec<(PathBuf, Option<String>)>,
}

impl Trap {
    fn build() -> Trap {
        let rig = Rig::empty();
        let (root, vault) = (rig.folder.path().to_owned(), rig.root());
        for folder in [
            "outside",
            "vault-evil",
            "vault/sub/deep",
            "vault/.obsidian",
            "vault/.git/hooks",
            "vault/.trash",
            "vault/.verger",
            "vault/dir.md",
            "vault/race",
            "vault/race_dir/sub",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (path, text) in [
            ("secret.md", CANARY),
            ("outside/secret.md", CANARY),
            ("vault-evil/secret.md", CANARY),
            ("outside/hard-src.md", "hard link body\n"),
            ("vault/note.md", "---\ntitle: Note\n---\n# Heading\n\nHello note.\n"),
            ("vault/sub/note.md", "# Sub\n"),
            ("vault/.obsidian/app.json", "{}"),
            ("vault/.obsidian/community-plugins.json", "[]"),
            ("vault/.git/config", "[core]\n"),
            ("vault/.git/HEAD", "ref: refs/heads/main\n"),
            ("vault/.trash/old.md", "old\n"),
            ("vault/.env", "X=1\n"),
            ("vault/race/target.md", "in\n"),
            ("vault/race_dir/target.md", "in\n"),
        ] {
            std::fs::write(root.join(path), text).unwrap();
        }
        let out = root.join("outside").display().to_string();
        let home = rig.path("home").display().to_string();
        for (to, name) in [
            ("../outside/secret.md", "link_out.md"),
            (&format!("{out}/secret.md"), "link_abs.md"),
            ("../outside", "link_out_dir"),
            ("link_chain2", "link_chain1"),
            ("link_chain3", "link_chain2"),
            (&out, "link_chain3"),
            (&format!("{out}/created.md"), "link_dangling.md"),
            (&format!("{out}/nodir"), "link_dangling_dir"),
            ("/", "link_root"),
            ("/proc/self", "link_proc"),
            ("/dev/zero", "link_dev.md"),
            ("/dev/stdin", "link_fd.md"),
            ("../vault-evil", "link_evil"),
            ("link_loop_b", "link_loop_a"),
            ("link_loop_a", "link_loop_b"),
            ("../..", "sub/link_up_up"),
            ("../../../outside", "sub/deep/link_out_dir2"),
            ("/tmp", "link_tmp"),
            (&home, "link_home"),
            (".", "link_self"),
            ("/etc", "link_etc"),
            ("note.md", "link_in.md"),
            ("..", "sub/link_up"),
            ("sub", "link_sub"),
            (".obsidian", "link_obs"),
        ] {
            symlink(to, vault.join(name)).unwrap();
        }
        std::fs::hard_link(root.join("outside/hard-src.md"), vault.join("hard.md")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            vault.join("fifo.md"),
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        )
        .unwrap();
        // Too long a temporary folder leaves no room for a socket's name; then it is a missing file, refused as well.
        std::os::unix::net::UnixListener::bind(vault.join("socket.md")).ok();
        let mut trap = Trap { rig, outside: Vec::new() };
        trap.outside = trap.look_outside();
        trap
    }

    /// Everything beside the vault that must stay as it is. The hard link's other name may change with it.
    fn look_outside(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut all = Vec::new();
        for folder in ["", "outside", "vault-evil", "home"] {
            for entry in std::fs::read_dir(self.rig.folder.path().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if !path.ends_with("hard-src.md") {
                    let text = path.is_file().then(|| std::fs::read_to_string(&path).unwrap_or_default());
                    all.push((path, text));
                }
            }
        }
        for path in ["/tmp/verger-escape.md", "/var/tmp/verger-escape.md"].map(PathBuf::from) {
            all.push((path.clone(), path.exists().then(String::new)));
        }
        all.sort();
        all
    }

    fn fill(&self, path: &str) -> String {
        let root = self.rig.folder.path().display().to_string();
        path.replace("{VAULT}", &format!("{root}/vault"))
            .replace("{OUT}", &format!("{root}/outside"))
            .replace("{ROOT}", &root)
            .replace("{NAME}", "vault")
    }

    /// Calls a tool with a time limit. The input goes in by stdin: some paths are longer than an argument may be.
    fn call(&self, tool: &str, input: &Value) -> Result<Said, String> {
        let mut child = self
            .rig
            .command(&["tool", tool, "--input", "-", "--yes", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.to_string().as_bytes()).unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                return Err(format!("{tool}: hangs"));
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        Ok(Said::from(child.wait_with_output().unwrap()))
    }

    fn judge(&self, row: &Row, tool: &str, writes: bool, input: &Value) -> Result<(), String> {
        let said = self.call(tool, input)?;
        let fail = |what: &str| Err(format!("{tool}: {what}: {said:?}"));
        if !matches!(said.code, 0 | 1) || said.err.contains("panicked") {
            return fail("crashed");
        }
        if said.out.contains(CANARY) || said.out.contains("root:x:0:0") || said.err.contains(CANARY) {
            return fail("leaked");
        }
        if self.look_outside() != self.outside {
            return fail("wrote outside");
        }
        let value: Value =
            serde_json::from_str(&said.out).map_err(|error| format!("{tool}: {error}: {said:?}"))?;
        let ok = value["ok"] == true;
        if said.code == 1 && value["error"]["hint"].as_str().is_none_or(str::is_empty) {
            return fail("refused without a hint");
        }
        match (row.expect.as_str(), ok) {
            ("deny", true) => fail("was not refused"),
            ("protect", true) if writes => fail("wrote what is protected"),
            ("allow", false) if tool == "write_file" => fail("refused a harmless name"),
            _ => Ok(()),
        }
    }

    fn try_row(&self, row: &Row) -> Vec<String> {
        let path = self.fill(&row.path);
        let text = format!("harness {}\n", row.id);
        let calls = [
            ("read_file", false, json!({"path": path})),
            ("write_file", true, json!({"path": path, "content": text})),
            ("append_to_file", true, json!({"path": path, "content": text})),
            ("move_file", true, json!({"source": "note.md", "destination": path})),
        ];
        let mut problems = Vec::new();
        for (tool, writes, input) in &calls {
            if !row.ours && !matches!(*tool, "read_file" | "write_file") {
                continue;
            }
            // After an accepted write the move's target is taken, and a folder as target is a place to move to.
            let movable = matches!(row.expect.as_str(), "deny" | "protect")
                && !path.trim_matches(['/', '.', ' ']).is_empty()
                && !path.ends_with("dir.md");
            if *tool == "move_file" && !movable {
                continue;
            }
            if let Err(problem) = self.judge(row, tool, *writes, input) {
                problems.push(format!("{} {} {:?}: {problem}", row.id, row.expect, row.path));
            }
        }
        problems
    }
}

#[test]
fn no_path_leads_out_of_the_vault() {
    let rows = rows();
    let lane = |number: usize| {
        let rows: Vec<Row> = rows.iter().skip(number).step_by(LANES).cloned().collect();
        move || {
            let trap = Trap::build();
            rows.iter().flat_map(|row| trap.try_row(row)).collect::<Vec<String>>()
        }
    };
    let lanes: Vec<_> = (0..LANES).map(|number| std::thread::spawn(lane(number))).collect();
    let problems: Vec<String> = lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// A folder that is swapped for a link while calls are made: the calls end up inside or are refused.
#[test]
fn a_folder_that_becomes_a_link_between_two_looks_leads_nowhere() {
    let trap = Trap::build();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (race, aside) = (trap.rig.root().join("race_dir"), trap.rig.root().join("race_aside"));
    let flipper = std::thread::spawn({
        let (stop, outside) = (std::sync::Arc::clone(&stop), trap.rig.path("outside"));
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::rename(&race, &aside).unwrap();
                // In the gap a write may make the folder anew, which is its right; then there is no link this time.
                if symlink(&outside, &race).is_ok() {
                    std::thread::yield_now();
                    std::fs::remove_file(&race).unwrap();
                }
                while std::fs::rename(&aside, &race).is_err() {
                    std::fs::remove_dir_all(&race).ok();
                }
            }
        }
    });
    let row = Row { id: "race".to_owned(), ours: true, expect: "safe".to_owned(), path: String::new() };
    let mut problems = Vec::new();
    for _ in 0..40 {
        let input = json!({"path": "race_dir/secret.md"});
        problems.extend(trap.judge(&row, "read_file", false, &input).err());
        let input = json!({"path": "race_dir/secret.md", "content": "in the vault\n"});
        problems.extend(trap.judge(&row, "write_file", true, &input).err());
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    flipper.join().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
