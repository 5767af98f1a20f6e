//! The running Obsidian, as far as a tool may use it. Doors bring an implementation; without one every tool works on the
//! files alone. Deliberately not here: how the app is reached (`verger/src/mcp/rest.rs`, `desktop.rs`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pipeline::Refusal;
use vault::VaultPath;

/// What an action on the app is said to reach.
pub const TARGET: &str = "Obsidian";

/// An answer of the app.
pub type Linked<'l, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'l>>;

/// A way to the app.
pub trait AppLink: Send + Sync {
    /// Its commands, as they are now.
    fn commands(&self) -> Linked<'_, Vec<AppCommand>>;
    /// Runs one of them.
    fn execute(&self, id: String) -> Linked<'_, ()>;
    /// The path of the file that the user looks at, as the app writes it.
    fn active(&self) -> Linked<'_, Option<String>>;
    /// Shows a page; false if there is no app that could.
    fn open(&self, page: Page) -> Linked<'_, bool>;
}

/// A command of the app or of one of its plugins.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AppCommand {
    /// Its id, e.g. `editor:toggle-bold`.
    pub id: String,
    /// Its name, as the user reads it.
    pub name: String,
}

/// What to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The note.
    pub path: VaultPath,
    /// Its address, for links that go by address.
    pub uri: String,
    /// Where.
    pub tab: Tab,
}

/// Where a page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// Where the user is.
    Current,
    /// Beside it.
    New,
}

/// The app beside a vault.
#[derive(Clone, Default)]
pub struct App {
    /// The way to it, if there is one.
    pub link: Option<Arc<dyn AppLink>>,
    /// The name under which it knows the vault.
    pub vault: Option<String>,
    /// Whether its commands may be listed and run.
    pub commands: Commands,
}

/// Whether the app's commands may be used. They can do anything that the user can, so somebody must have said so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Commands {
    /// They are not even listed.
    #[default]
    Off,
    /// They may.
    On,
}

impl App {
    /// The way to it, or a refusal that says what is missing.
    pub(super) fn link(&self) -> Result<Arc<dyn AppLink>, Refusal> {
        self.link.clone().ok_or_else(|| {
            Refusal::new(
                "app_unreachable",
                "no Obsidian is connected",
                "set OBSIDIAN_API_KEY and OBSIDIAN_BASE_URL to those of the Local REST API plugin",
            )
        })
    }
}
