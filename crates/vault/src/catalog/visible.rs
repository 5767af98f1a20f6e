//! What the asker may see. Every query takes one, so that what is hidden is absent, not filtered afterwards.

use super::remembered::Remembered;
use crate::path::VaultPath;

/// The paths that exist for the asker.
#[derive(Clone, Copy)]
pub struct Visible<'a> {
    sees: Option<&'a dyn Fn(&VaultPath) -> bool>,
    memory: Option<&'a Remembered>,
}

impl<'a> Visible<'a> {
    /// Everything.
    pub fn all() -> Visible<'static> {
        Visible { sees: None, memory: None }
    }

    /// Only the paths for which `sees` says yes.
    pub fn only(sees: &'a dyn Fn(&VaultPath) -> bool) -> Visible<'a> {
        Visible { sees: Some(sees), memory: None }
    }

    /// The same, with a memory that belongs to those who see exactly this.
    pub(crate) fn remembering(self, memory: &'a Remembered) -> Visible<'a> {
        Visible { memory: Some(memory), ..self }
    }

    /// Whether nothing is hidden.
    pub(crate) fn is_all(&self) -> bool {
        self.sees.is_none()
    }

    /// Whether the path exists for the asker.
    pub fn sees(&self, path: &VaultPath) -> bool {
        self.sees.is_none_or(|sees| sees(path))
    }

    /// The memory of the asker; `of_all` is that of those who see everything.
    pub(super) fn memory(&self, of_all: &'a Remembered) -> Option<&'a Remembered> {
        if self.is_all() { Some(of_all) } else { self.memory }
    }
}
