//! The desktop as a way to Obsidian: it opens `obsidian://` addresses if somebody sits before a screen and a program for
//! them is installed. Everything else needs the plugin (`rest.rs`).

use std::process::Stdio;
use std::time::Duration;

use pipeline::Refusal;
use tools::obsidian::app::{AppCommand, AppLink, Linked, Page};

/// How long the desktop may think.
const PATIENCE: Duration = Duration::from_secs(10);
const SCHEME: &str = "x-scheme-handler/obsidian";

/// The desktop.
pub struct Desktop(());

impl Desktop {
    /// The desktop, if there is a screen.
    pub fn find(variable: &dyn Fn(&str) -> Option<String>) -> Option<Desktop> {
        let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        (set("DISPLAY") || set("WAYLAND_DISPLAY")).then_some(Desktop(()))
    }
}

impl AppLink for Desktop {
    fn commands(&self) -> Linked<'_, Vec<AppCommand>> {
        Box::pin(async { Err(only_opens()) })
    }

    fn execute(&self, _: String) -> Linked<'_, ()> {
        Box::pin(async { Err(only_opens()) })
    }

    fn active(&self) -> Linked<'_, Option<String>> {
        Box::pin(async { Ok(None) })
    }

    fn open(&self, page: Page) -> Linked<'_, bool> {
        Box::pin(async move {
            // Without a program for the address, the desktop would open a browser or ask.
            let handler = said("xdg-mime", &["query", "default", SCHEME]).await;
            if handler.is_none_or(|handler| handler.trim().is_empty()) {
                return Ok(false);
            }
            Ok(said("xdg-open", &[&page.uri]).await.is_some())
        })
    }
}

/// What a program of the desktop said; none if it is not there, failed or took too long.
#[expect(clippy::disallowed_methods, reason = "the desktop's own programs, with fixed names")]
async fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Opens an address of ours in the browser, if there is a screen.
pub async fn browse(address: &str) -> bool {
    let variable = |name: &str| std::env::var(name).ok();
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let screen = cfg!(target_os = "macos") || Desktop::find(&variable).is_some();
    screen && said(opener, &[address]).await.is_some()
}

fn only_opens() -> Refusal {
    Refusal::new(
        "app_unreachable",
        "the desktop can only open notes",
        "set OBSIDIAN_API_KEY to that of the Local REST API plugin",
    )
}
