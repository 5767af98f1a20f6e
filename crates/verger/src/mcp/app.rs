//! The running Obsidian beside the vault: what the environment says about it, and the way to it.
//!
//! With `OBSIDIAN_API_KEY` it is the Local REST API plugin (`rest.rs`); else the desktop, which can only open addresses
//! (`desktop.rs`); else nothing. Called once at start; what is set wrong is an error then, not later.

use std::sync::Arc;
use std::time::Duration;

use pipeline::Road;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tools::obsidian::app::{App, AppLink, Commands};
use vault::VaultPath;
use vault::policy::Limits;

use super::desktop::Desktop;
use super::rest::{Rest, Verify};
use super::vaults::scope;
use crate::config::flag;
use crate::failure::{Exit, Failure};

/// Where the plugin listens if nobody says otherwise.
const BASE_URL: &str = "http://127.0.0.1:27123";
const PATIENCE_MS: u64 = 30_000;

/// The app beside the vault of this name, by what the environment says.
pub fn from_environment(
    variable: &dyn Fn(&str) -> Option<String>,
    vault: Option<String>,
) -> Result<App, Failure> {
    let text = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let commands = flag("OBSIDIAN_ENABLE_COMMANDS", variable("OBSIDIAN_ENABLE_COMMANDS").as_deref())?;
    let verify = flag("OBSIDIAN_VERIFY_SSL", variable("OBSIDIAN_VERIFY_SSL").as_deref())?;
    let patience = match text("OBSIDIAN_REQUEST_TIMEOUT_MS").map(|text| text.parse::<u64>()) {
        None => PATIENCE_MS,
        Some(Ok(number @ 1..=600_000)) => number,
        Some(_) => {
            return Err(wrong(
                "OBSIDIAN_REQUEST_TIMEOUT_MS",
                "it is not a number of milliseconds up to 600000",
            ));
        }
    };
    let link: Option<Arc<dyn AppLink>> = match text("OBSIDIAN_API_KEY") {
        Some(key) => {
            let base = text("OBSIDIAN_BASE_URL").unwrap_or_else(|| BASE_URL.to_owned());
            let verify = if verify { Verify::Always } else { Verify::NotOnLoopback };
            let rest = Rest::new(&base, &key, verify, Duration::from_millis(patience))
                .map_err(|problem| wrong("OBSIDIAN_BASE_URL", &problem))?;
            Some(Arc::new(rest))
        }
        None if commands => {
            return Err(wrong(
                "OBSIDIAN_ENABLE_COMMANDS",
                "commands need OBSIDIAN_API_KEY, which is not set",
            ));
        }
        None => Desktop::find(variable).map(|desktop| Arc::new(desktop) as Arc<dyn AppLink>),
    };
    Ok(App { link, vault, commands: if commands { Commands::On } else { Commands::Off } })
}

fn wrong(name: &str, message: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        "config_invalid",
        format!("the variable {name} is wrong: {message}"),
        "mend or unset it; `verger docs config` explains it",
    )
}

/// Asks the app which note is open, where a call means that one. Without the app, or where it shows nothing that may be
/// read, the call stays as it is, and the tool looks at what Obsidian has saved.
pub async fn name_active(app: &App, road: &Road, limits: &Limits, arguments: &mut JsonObject) {
    let Some(link) = &app.link else { return };
    if arguments.get("target").is_none_or(|target| *target != json!({"type": "active"})) {
        return;
    }
    let Ok(Some(path)) = link.active().await else { return };
    let Ok(path) = VaultPath::parse(&path) else { return };
    let Ok(scope) = scope(road, limits) else { return };
    if matches!(road.vault().view(&scope).look(&path), Ok(Some(_))) {
        arguments.insert("target".to_owned(), json!({"type": "path", "path": Value::from(path.as_str())}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pairs: &[(&str, &str)], expected: Result<(bool, Commands), &str>) {
        let variable =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        match (from_environment(&variable, None), expected) {
            (Ok(app), Ok(expected)) => assert_eq!((app.link.is_some(), app.commands), expected, "{pairs:?}"),
            (Err(failure), Err(part)) => {
                let text = failure.refusal.message;
                assert!(text.contains(part), "{pairs:?}: {text}");
            }
            (found, _) => {
                panic!("{pairs:?}: {:?}", found.map(|app| app.link.is_some()).map_err(|f| f.refusal))
            }
        }
    }

    #[test]
    fn what_is_set_wrong_is_an_error_at_start() {
        let key = ("OBSIDIAN_API_KEY", "k");
        check(&[], Ok((false, Commands::Off)));
        check(&[key], Ok((true, Commands::Off)));
        check(&[key, ("OBSIDIAN_ENABLE_COMMANDS", "yes")], Ok((true, Commands::On)));
        check(&[("OBSIDIAN_ENABLE_COMMANDS", "true")], Err("OBSIDIAN_API_KEY"));
        check(&[key, ("OBSIDIAN_ENABLE_COMMANDS", "maybe")], Err("neither true nor false"));
        check(&[key, ("OBSIDIAN_REQUEST_TIMEOUT_MS", "soon")], Err("milliseconds"));
        check(&[key, ("OBSIDIAN_BASE_URL", "http://example.org")], Err("https"));
        check(&[key, ("OBSIDIAN_BASE_URL", "https://example.org")], Ok((true, Commands::Off)));
        check(&[key, ("OBSIDIAN_BASE_URL", "ftp://127.0.0.1")], Err("http"));
        check(&[key, ("OBSIDIAN_BASE_URL", "nonsense")], Err("no address"));
    }
}
