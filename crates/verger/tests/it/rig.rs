//! A copy of the tour vault in a temporary folder, and the binary with all its folders pointed into it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A vault and the machine around it.
pub struct Rig {
    /// Keeps the folder.
    pub folder: tempfile::TempDir,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Rig {
    /// A copy of the tour vault.
    pub fn tour() -> Rig {
        let rig = Rig::empty();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vaults/tour"), &rig.root());
        rig
    }

    /// A machine without a vault.
    pub fn empty() -> Rig {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "config", "data"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Rig { folder }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// The binary with this machine's folders; the vault is the current folder where there is one.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_verger"));
        let here = if self.root().is_dir() { self.root() } else { self.path("home") };
        command
            .args(arguments)
            .current_dir(here)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("TZ", "Europe/Berlin")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command.
    pub fn run(&self, arguments: &[&str]) -> Said {
        Said::from(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed, and returns its data.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        said.out
    }

    /// Runs a command with `--json` that must succeed, and returns `data`.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let out = self.ok(&[arguments, &["--json"]].concat());
        let value: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
        assert_eq!(value["ok"], true, "{value}");
        value
    }

    /// Runs a command with something on stdin.
    pub fn with_stdin(&self, arguments: &[&str], input: &str) -> Said {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Said::from(child.wait_with_output().unwrap())
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn has(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    /// The folder of the vault's data.
    pub fn data(&self) -> PathBuf {
        let all = self.path("data/verger/vaults");
        std::fs::read_dir(all).unwrap().next().unwrap().unwrap().path()
    }

    /// Every file of the vault with its bytes; the trash is left out.
    pub fn bytes(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        let mut waiting = vec![self.root()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(".trash") {
                    continue;
                }
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    all.push((path.clone(), std::fs::read(&path).unwrap()));
                }
            }
        }
        all.sort();
        all
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
