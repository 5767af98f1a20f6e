//! What the asker may see. Every query takes one, so that what is hidden is absent, not filtered afterwards.

use crate::path::VaultPath;

/// The paths that exist for the asker.
#[derive(Clone, Copy)]
pub struct Visible<'a>(Option<&'a dyn Fn(&VaultPath) -> bool>);

impl<'a> Visible<'a> {
    /// Everything.
    pub fn all() -> Visible<'static> {
        Visible(None)
    }

    /// Only the paths for which `sees` says yes.
    pub fn only(sees: &'a dyn Fn(&VaultPath) -> bool) -> Visible<'a> {
        Visible(Some(sees))
    }

    /// Whether nothing is hidden.
    pub(crate) fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the path exists for the asker.
    pub fn sees(&self, path: &VaultPath) -> bool {
        self.0.is_none_or(|sees| sees(path))
    }
}
