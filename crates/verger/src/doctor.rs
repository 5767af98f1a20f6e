//! `doctor`: looks whether everything is in order, and says what to do where it is not. Changes nothing in the vault.

use std::path::Path;

use serde::Serialize;
use serde_json::json;
use vault::Vault;
use vault::store::gc::ReadData;

use crate::args::Global;
use crate::config::Config;
use crate::door::{AUDIT, GRANTS};
use crate::embedding::{self, Effort};
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::place::{self, Place};
use crate::terminal::Terminal;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    verdict: Verdict,
    what: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

fn ok(what: &'static str, detail: impl Into<String>) -> Finding {
    Finding { verdict: Verdict::Ok, what, detail: detail.into(), hint: None }
}

fn warn(what: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { verdict: Verdict::Warn, what, detail: detail.into(), hint: Some(hint.into()) }
}

fn fail(what: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { verdict: Verdict::Fail, what, detail: detail.into(), hint: Some(hint.into()) }
}

/// Less free space than this is worth a word.
const ROOM: u64 = 100 * 1024 * 1024;

/// Looks at everything and prints a line for each.
pub fn doctor(global: &Global, terminal: &Terminal) -> Result<(), Failure> {
    let findings = look(global);
    let failed = findings.iter().filter(|finding| finding.verdict == Verdict::Fail).count();
    let failure = || {
        Failure::new(
            Exit::Failed,
            "doctor_failed",
            format!("{failed} of {} checks failed", findings.len()),
            "do what the lines marked `fail` say, then run `verger doctor` again",
        )
    };
    if terminal.json {
        if failed == 0 {
            terminal.json(&json!({"ok": true, "data": {"findings": findings}}));
            return Ok(());
        }
        let mut failure = failure();
        failure.refusal = Box::new(failure.refusal.with("findings", &findings));
        return Err(failure);
    }
    for finding in &findings {
        let (role, word) = match finding.verdict {
            Verdict::Ok => (Role::Good, "ok  "),
            Verdict::Warn => (Role::Warning, "warn"),
            Verdict::Fail => (Role::Bad, "fail"),
        };
        let (paper, what) = (&terminal.out, finding.what);
        terminal.data(&format!("{}  {what}: {}\n", paper.paint(role, word), paper.text(&finding.detail)));
        if let Some(hint) = &finding.hint {
            terminal.data(&format!("      {}\n", paper.text(hint)));
        }
    }
    if failed == 0 { Ok(()) } else { Err(failure()) }
}

fn look(global: &Global) -> Vec<Finding> {
    let mut findings = Vec::new();
    let config = match place::config_folder().and_then(|folder| Ok((Config::load(&folder)?, folder))) {
        Ok((config, folder)) => {
            findings.push(ok("configuration", folder.join("config.toml").display().to_string()));
            config
        }
        Err(failure) => {
            findings.push(fail("configuration", &failure.refusal.message, &failure.refusal.hint));
            Config::default()
        }
    };
    let place = match global.one_vault().and_then(|vault| place::find(vault, &config)) {
        Ok(place) => place,
        Err(failure) => {
            findings.push(fail("vault", &failure.refusal.message, &failure.refusal.hint));
            return findings;
        }
    };
    findings.extend(look_at(&place, &config));
    findings
}

/// Looks at one vault, its data and what the configuration says of it.
pub fn look_at(place: &Place, config: &Config) -> Vec<Finding> {
    let mut findings = vault_folder(&place.root);
    findings.extend(data_folder(place));
    findings.extend(inside(place));
    findings.extend(contents(&place.root));
    findings.push(meaning(config));
    if config.limits.read_only {
        findings.push(warn(
            "limits",
            "nothing may be changed",
            "`limits.read_only` or OBSIDIAN_READ_ONLY says so",
        ));
    }
    findings
}

fn vault_folder(root: &Path) -> Vec<Finding> {
    let name = root.display().to_string();
    let mut findings =
        vec![match rustix::fs::access(root, rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK) {
            Ok(()) => ok("vault", name.clone()),
            Err(_) => fail(
                "vault",
                format!("{name} may not be read"),
                "give yourself the right to read it (chmod u+rx)",
            ),
        }];
    findings.push(match rustix::fs::access(root, rustix::fs::Access::WRITE_OK) {
        Ok(()) => ok("writing", "the vault can be written"),
        Err(_) => warn(
            "writing",
            "the vault may not be written",
            "reading works; to change notes, give yourself the right (chmod u+w)",
        ),
    });
    findings
}

fn data_folder(place: &Place) -> Vec<Finding> {
    let name = place.data.display().to_string();
    if place.data.starts_with(&place.root) {
        return vec![fail(
            "data folder",
            format!("{name} lies inside the vault"),
            "set VERGER_DATA_DIR to a folder outside of it",
        )];
    }
    if let Err(error) = try_write(&place.data) {
        return vec![fail(
            "data folder",
            format!("{name} cannot be written: {error}"),
            "check its permissions, or set VERGER_DATA_DIR",
        )];
    }
    let mut findings = vec![ok("data folder", name)];
    findings.push(match (device(&place.root), device(&place.data)) {
        (Some(vault), Some(data)) if vault == data => ok("file system", "vault and data lie on the same one"),
        _ => warn(
            "file system",
            "vault and data lie on different ones; new text is then prepared in a hidden folder of the vault",
            "set VERGER_DATA_DIR to a folder on the vault's file system if a sync program picks that folder up",
        ),
    });
    for (what, folder) in [("free space (vault)", &place.root), ("free space (data)", &place.data)] {
        if let Ok(figures) = rustix::fs::statvfs(folder.as_path()) {
            let free = figures.f_bavail.saturating_mul(figures.f_frsize);
            findings.push(if free < ROOM {
                warn(what, format!("{} MiB left", free >> 20), "free some space before you change notes")
            } else {
                ok(what, format!("{} MiB left", free >> 20))
            });
        }
    }
    findings
}

/// What opening the vault shows: rules, store, audit, grants.
fn inside(place: &Place) -> Vec<Finding> {
    let refused = |what, error: vault::Error| fail(what, error.to_string(), error.hint());
    let vault = match Vault::open(&place.root, &place.data) {
        Ok(vault) => vault,
        Err(error) => return vec![refused("store", error)],
    };
    let mut findings = Vec::new();
    findings.push(match vault.rules() {
        Ok(_) => ok("rules", "the ignore and protect files can be read"),
        Err(error) => {
            fail("rules", error.to_string(), "mend the file; until then nothing can be read or written")
        }
    });
    findings.push(match vault.verify(ReadData::No) {
        Ok(report) if report.problems.is_empty() => {
            ok("store", format!("{} checkpoints", report.checkpoints))
        }
        Ok(report) => fail("store", report.problems.join("; "), "run `verger check --repair`"),
        Err(error) => refused("store", error),
    });
    findings.push(match pipeline::audit::Audit::open(&place.data.join(AUDIT)).and_then(|audit| audit.verify()) {
        Ok(report) if report.problems.is_empty() => ok("audit", format!("{} lines", report.lines)),
        Ok(report) => fail(
            "audit",
            report.problems.join("; "),
            "somebody or something wrote into it; `verger audit verify` names the lines. To start a new one, move the file away",
        ),
        Err(refusal) => fail("audit", refusal.message, refusal.hint),
    });
    findings.push(match pipeline::grants::Grants::open(&place.data.join(GRANTS)).list() {
        Ok(grants) => ok("grants", format!("{} standing", grants.len())),
        Err(refusal) => fail("grants", refusal.message, refusal.hint),
    });
    findings
}

/// Which embedding model is active, and whether it answers. A service is sent one word.
fn meaning(config: &Config) -> Finding {
    let choice = match config.embedding.choice() {
        Ok(choice) => choice,
        Err(problem) => return fail("meaning", problem.message, problem.hint),
    };
    match embedding::open(&choice, &config.embedding, Effort::Half) {
        Ok(model) => {
            let (name, width) = (model.name().to_owned(), model.dimensions());
            ok("meaning", format!("the model `{name}` answers with {width} numbers; {}", choice.whereto()))
        }
        Err(error) => warn(
            "meaning",
            format!("{error} ({})", choice.whereto()),
            "until it is mended, notes are found by their words alone; `[embedding]` in config.toml names the model",
        ),
    }
}

/// What a walk through the vault counted.
#[derive(Debug, Default)]
struct Counts {
    folders: usize,
    files: usize,
    links: usize,
    special: usize,
    conflicts: Vec<String>,
    unreadable: usize,
}

fn contents(root: &Path) -> Vec<Finding> {
    let mut counts = Counts::default();
    walk(root, &mut counts);
    let mut findings = vec![ok("notes", format!("{} files in {} folders", counts.files, counts.folders))];
    if counts.unreadable > 0 {
        findings.push(warn(
            "notes",
            format!("{} folders may not be read", counts.unreadable),
            "what is in them is left out everywhere",
        ));
    }
    findings.push(match counts.links + counts.special {
        0 => ok("links and special files", "none"),
        _ => warn(
            "links and special files",
            format!("{} symbolic links, {} pipes, sockets or devices", counts.links, counts.special),
            "they are never followed or read; use the real files",
        ),
    });
    findings.push(match counts.conflicts.as_slice() {
        [] => ok("sync conflicts", "none"),
        some => warn(
            "sync conflicts",
            format!("{} files, e.g. {}", some.len(), some[0]),
            "a sync program kept two versions; compare them and remove one",
        ),
    });
    if let Some(limit) = watch_limit() {
        findings.push(if counts.folders as u64 > limit {
            warn(
                "watching",
                format!("{} folders, but the system watches at most {limit}", counts.folders),
                "raise it: sudo sysctl fs.inotify.max_user_watches=524288",
            )
        } else {
            ok("watching", format!("{} folders of at most {limit}", counts.folders))
        });
    }
    findings
}

#[expect(
    clippy::disallowed_methods,
    reason = "counts what lies in the vault, links and pipes too, and opens none of it"
)]
fn walk(root: &Path, counts: &mut Counts) {
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        counts.folders += 1;
        let Ok(entries) = std::fs::read_dir(&folder) else {
            counts.unreadable += 1;
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => counts.links += 1,
                Ok(kind) if kind.is_dir() && name.starts_with('.') => {}
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    counts.files += 1;
                    if is_conflict(&name) {
                        counts.conflicts.push(name);
                    }
                }
                _ => counts.special += 1,
            }
        }
    }
}

/// The names that Syncthing, Dropbox, OneDrive, Nextcloud and iCloud give to the version that lost.
fn is_conflict(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains(".sync-conflict-")
        || name.contains("conflicted copy")
        || name.contains("(conflict ")
        || name.contains("_conflict-")
        || (name.starts_with('.') && name.ends_with(".icloud"))
}

#[expect(clippy::disallowed_methods, reason = "a figure of the system, outside the vault")]
fn watch_limit() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?.trim().parse().ok()
}

#[expect(clippy::disallowed_methods, reason = "asks on which file system a folder lies")]
fn device(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(folder).ok().map(|metadata| metadata.dev())
}

#[expect(clippy::disallowed_methods, reason = "our own data folder, outside the vault")]
fn try_write(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let probe = folder.join(".doctor");
    std::fs::write(&probe, b"ok")?;
    std::fs::remove_file(&probe)
}

#[cfg(test)]
mod tests {
    use super::is_conflict;

    #[test]
    fn sync_conflicts_are_known_by_their_names() {
        for (name, expected) in [
            ("Note.sync-conflict-20260101-120000-ABCDEF.md", true),
            ("Note (Wren's conflicted copy 2026-01-01).md", true),
            ("Note (conflict 2026-01-01).md", true),
            (".Note.md.icloud", true),
            ("Conflict resolution.md", false),
            ("Note.md", false),
        ] {
            assert_eq!(is_conflict(name), expected, "{name}");
        }
    }
}
