//! Rule files, read and replaced whole for the person who writes them (in the settings of a door).
//!
//! Called by `Vault::write_rules`. A text that could not be read back as rules is never written: it would refuse everything.

use super::{LARGEST_RULES, rule_file};
use crate::disk::{Disk, STAGED_PREFIX, Stage};
use crate::error::{Error, Result};
use crate::path::VaultPath;
use crate::policy::{RuleFile, Rules};
use crate::recover;
use crate::store::{self, Store};

/// The text of the rule file of this name, if there is one.
pub(crate) fn text(disk: &Disk, name: &str) -> Result<Option<String>> {
    rule_file(disk, &path_of(name)?)
}

/// Replaces a rule file, all or nothing, if it still holds `before`.
pub(crate) fn write(
    disk: &Disk,
    store: &Store,
    file: RuleFile,
    before: Option<&str>,
    after: &str,
) -> Result<()> {
    let path = path_of(file.name())?;
    if after.len() as u64 > LARGEST_RULES {
        return Err(Error::TooLarge { path, size: after.len() as u64, limit: LARGEST_RULES });
    }
    Rules::parse(&[(file.name(), after.to_owned())], &[])?;
    let lock = store.lock_handle();
    let _held = store::hold(&lock)?;
    if rule_file(disk, &path)?.as_deref() != before {
        return Err(Error::Stale { path });
    }
    let folder = path_of(".verger")?;
    if disk.look(&folder)?.is_none() {
        disk.make_folder(&folder)?;
    }
    match put(disk, &recover::stage(disk, store)?, &path, after) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::CrossesDevices => {
            // Same device number, yet no rename across (a bind mount, an overlay): stage inside the vault instead.
            put(disk, &Stage::in_vault(disk)?, &path, after)
        }
        answer => answer,
    }
}

fn put(disk: &Disk, stage: &Stage, path: &VaultPath, after: &str) -> Result<()> {
    let there = disk.look(path)?.map(|(_, state)| state);
    let name = format!("{STAGED_PREFIX}rules-{}", crate::commit::new_id()?);
    let staged = stage.write(&name, after.as_bytes(), there.as_ref().map(|state| state.permissions))?;
    let placed = staged.sync().and_then(|()| match there {
        Some(_) => disk.put(stage, &staged, path).map(drop),
        None => disk.put_new(stage, &staged, path),
    });
    stage.remove(&name);
    placed?;
    disk.sync_folder(&path.parent())
}

fn path_of(name: &str) -> Result<VaultPath> {
    VaultPath::parse(name).map_err(|error| Error::Path { text: name.to_owned(), error })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at files from outside")]

    use super::*;
    use crate::Vault;

    fn vault() -> (tempfile::TempDir, Vault) {
        let folder = tempfile::tempdir().unwrap();
        let (root, data) = (folder.path().join("vault"), folder.path().join("data"));
        std::fs::create_dir_all(&root).unwrap();
        let vault = Vault::open(&root, &data).unwrap();
        (folder, vault)
    }

    #[test]
    fn a_rule_that_a_person_writes_holds_at_once_and_leaves_nothing_beside_it() {
        let (folder, vault) = vault();
        let path = VaultPath::parse("Private/a.md").unwrap();
        vault.write_rules(RuleFile::Ignore, None, "Private/\n").unwrap();
        assert!(vault.rules().unwrap().hides(&path));
        assert!(!vault.rules().unwrap().protects(&path));
        vault.write_rules(RuleFile::Ignore, Some("Private/\n"), "# nothing\n").unwrap();
        assert!(!vault.rules().unwrap().hides(&path));
        let left: Vec<_> = std::fs::read_dir(folder.path().join("vault/.verger")).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn a_rule_file_that_somebody_else_changed_is_not_written_over() {
        let (folder, vault) = vault();
        vault.write_rules(RuleFile::Protect, None, "a\n").unwrap();
        let file = folder.path().join("vault/.verger/protect");
        std::fs::write(&file, "b\n").unwrap();
        let refused = vault.write_rules(RuleFile::Protect, Some("a\n"), "c\n").unwrap_err();
        assert!(matches!(refused, Error::Stale { .. }));
        assert!(matches!(vault.write_rules(RuleFile::Protect, None, "c\n"), Err(Error::Stale { .. })));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "b\n");
    }

    #[test]
    fn rules_that_could_not_be_read_back_are_never_written() {
        let (folder, vault) = vault();
        for bad in ["[z-a]", "ok\na/[9-0]\n"] {
            assert!(vault.write_rules(RuleFile::Ignore, None, bad).is_err(), "{bad}");
        }
        let large = "x".repeat(2 << 20);
        assert!(matches!(vault.write_rules(RuleFile::Ignore, None, &large), Err(Error::TooLarge { .. })));
        assert!(!folder.path().join("vault/.verger").exists());
        // A link in the place of the folder leads out of the vault.
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("vault/.verger"))
            .unwrap();
        assert!(vault.write_rules(RuleFile::Ignore, None, "x\n").is_err());
        assert!(!folder.path().join("elsewhere/ignore").exists());
    }
}
