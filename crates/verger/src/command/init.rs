//! `init`: makes a vault known. Writes what is missing, never over what is there; running it twice changes nothing.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::config::{self, Config};
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::place::{self, Place, write_new};
use crate::terminal::Terminal;

const IGNORE: &str = "\
# What stands here is kept from every tool: it is in none of their lists, searches, tags or links.
# One pattern a line, as in .gitignore. Examples:
# Private/
# *.secret.md
";

const PROTECT: &str = "\
# What stands here may be read, but not changed.
# One pattern a line, as in .gitignore. Examples:
# Templates/
# Archive/**
";

/// Makes the vault in this folder known; without a folder, lists the vaults that Obsidian knows.
pub fn init(terminal: &Terminal, path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return list(terminal) };
    let place = Place::at(path, "make the folder first, or check its spelling")?;
    let rules = place.root.join(".verger");
    let mut made = Vec::new();
    for (name, text) in [("ignore", IGNORE), ("protect", PROTECT)] {
        let file = rules.join(name);
        if write_new(&file, text).map_err(|error| cannot(&file, &error))? {
            made.push(file);
        }
    }
    let config_folder = place::config_folder()?;
    // A config.toml that cannot be read is told before anything is added to it.
    let before = Config::load(&config_folder)?;
    let file = config_folder.join("config.toml");
    if name_vault(&file, &place.root, &before).map_err(|error| cannot(&file, &error))? {
        made.push(file);
    }
    tell(terminal, &place, &made);
    Ok(())
}

fn tell(terminal: &Terminal, place: &Place, made: &[PathBuf]) {
    if terminal.json {
        terminal.json(&json!({"ok": true, "data": {"vault": place.root, "data": place.data, "made": made}}));
        return;
    }
    for file in made {
        let name = file.display().to_string();
        terminal.data(&format!("{} {}\n", terminal.out.paint(Role::Good, "made:"), terminal.out.text(&name)));
    }
    let root = place.root.display().to_string();
    terminal.data(&format!("vault: {}\n", terminal.out.text(&root)));
    if made.is_empty() {
        terminal.note("everything was there already");
    }
    terminal.note("next: verger doctor, then verger ls");
}

fn list(terminal: &Terminal) -> Result<(), Failure> {
    let vaults = place::known_to_obsidian();
    if vaults.is_empty() {
        return Err(Failure::usage(
            "no folder was named, and Obsidian's list of vaults is not on this machine",
            "name your vault's folder: verger init PATH",
        ));
    }
    if terminal.json {
        terminal.json(&json!({"ok": true, "data": {"vaults": vaults}}));
        return Ok(());
    }
    for vault in &vaults {
        let path = vault.path.display().to_string();
        let gone = if vault.found { "" } else { "  (not there any more)" };
        terminal.data(&format!("{}{gone}\n", terminal.out.text(&path)));
    }
    terminal.note("these are the vaults that Obsidian knows; choose one: verger init PATH");
    Ok(())
}

/// Names the vault in `config.toml` unless one is named. Returns whether it wrote.
fn name_vault(file: &Path, vault: &Path, before: &Config) -> std::io::Result<bool> {
    if write_new(file, &config::template(vault))? {
        return Ok(true);
    }
    if before.vault.is_some() {
        return Ok(false);
    }
    // A key of the top must stand before the first table, so it goes to the very beginning.
    place::insert_line(file, &config::vault_line(vault))?;
    Ok(true)
}

fn cannot(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "io",
        format!("{} cannot be written: {error}", file.display()),
        "check the permissions of its folder and the free space",
    )
}
