//! Everything that can go wrong in the vault, as reasons. A door turns them into words; nobody matches on text.

use crate::note::front::FrontError;
use crate::path::{PathError, VaultPath};

/// Why the vault says no.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a path inside the vault.
    #[error("`{text}` is not a path inside the vault: {error}")]
    Path {
        /// What was given.
        text: String,
        /// Why not.
        error: PathError,
    },
    /// Nothing there.
    #[error("there is no `{path}` in the vault")]
    Missing {
        /// What was looked for.
        path: VaultPath,
        /// Paths that look alike.
        near: Vec<VaultPath>,
    },
    /// The scope does not let this path be read.
    #[error("`{path}` may not be read ({subreason})")]
    Forbidden {
        /// What was asked for.
        path: VaultPath,
        /// Which rule says so.
        subreason: &'static str,
        /// The folders that may be read.
        allowed: Vec<String>,
    },
    /// Something is there already.
    #[error("`{path}` exists already")]
    Exists {
        /// What is in the way.
        path: VaultPath,
    },
    /// A folder where a file was asked for.
    #[error("`{path}` is a folder")]
    IsFolder {
        /// The folder.
        path: VaultPath,
    },
    /// A file where a folder was asked for, or needed on the way.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// The file.
        path: VaultPath,
    },
    /// A symbolic link on the way.
    #[error("`{path}` leads through a symbolic link")]
    Symlink {
        /// The path that was asked for.
        path: VaultPath,
    },
    /// A pipe, a socket, a device.
    #[error("`{path}` is not a regular file")]
    Special {
        /// The path that was asked for.
        path: VaultPath,
    },
    /// Not text.
    #[error("`{path}` is not a text file (byte {byte} is not UTF-8)")]
    Binary {
        /// The file.
        path: VaultPath,
        /// The first byte that is no text.
        byte: usize,
    },
    /// Larger than we read at once.
    #[error("`{path}` has {size} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The file.
        path: VaultPath,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is not what it was when the plan was made.
    #[error("`{path}` was changed by somebody else meanwhile")]
    Stale {
        /// The file.
        path: VaultPath,
    },
    /// A folder that still holds something.
    #[error("the folder `{path}` is not empty")]
    NotEmpty {
        /// The folder.
        path: VaultPath,
    },
    /// The front matter cannot be read, so it is not edited.
    #[error("{0}")]
    Front(#[from] FrontError),
    /// An edit that does not fit the note.
    #[error("{message}")]
    Edit {
        /// The reason code, e.g. `section_target_missing`.
        reason: &'static str,
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
        /// What could have been meant.
        candidates: Vec<String>,
    },
    /// The operating system said no.
    #[error("{doing}: {source}")]
    Io {
        /// What we were doing.
        doing: String,
        /// What it said.
        source: std::io::Error,
    },
    /// A store of ours is damaged.
    #[error("{what} is damaged: {detail}")]
    Damaged {
        /// Which store.
        what: String,
        /// How.
        detail: String,
    },
    /// No such checkpoint, or a prefix of several.
    #[error("{message}")]
    Checkpoint {
        /// The reason code.
        reason: &'static str,
        /// What is wrong.
        message: String,
    },
}

/// What vault functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An I/O error with what we were doing.
    pub fn io(doing: impl Into<String>, source: impl Into<std::io::Error>) -> Error {
        Error::Io { doing: doing.into(), source: source.into() }
    }

    /// The reason code that doors show.
    pub fn reason(&self) -> &'static str {
        match self {
            Error::Path { error, .. } => error.reason(),
            Error::Missing { .. } => "note_missing",
            Error::Forbidden { .. } => "path_forbidden",
            Error::Exists { .. } => "file_exists",
            Error::IsFolder { .. } => "path_is_directory",
            Error::NotAFolder { .. } => "path_is_file",
            Error::Symlink { .. } => "path_is_symlink",
            Error::Special { .. } => "path_is_special",
            Error::Binary { .. } => "not_text",
            Error::TooLarge { .. } => "too_large",
            Error::Stale { .. } => "stale",
            Error::NotEmpty { .. } => "folder_not_empty",
            Error::Front(_) => "frontmatter_invalid",
            Error::Edit { reason, .. } | Error::Checkpoint { reason, .. } => reason,
            Error::Io { .. } => "io",
            Error::Damaged { .. } => "store_damaged",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Error::Path { error, .. } => error.hint().to_owned(),
            Error::Missing { near, .. } if near.is_empty() => {
                "list the folder or search for the name".to_owned()
            }
            Error::Missing { near, .. } => format!("did you mean {}?", join(near)),
            Error::Forbidden { allowed, .. } if allowed.is_empty() => {
                "hidden files are settings, version control and keys; they are not read".to_owned()
            }
            Error::Forbidden { allowed, .. } => format!("readable: {}", allowed.join(", ")),
            Error::Exists { .. } => "choose another name, or edit what is there".to_owned(),
            Error::IsFolder { .. } => "list the folder and name one of its files".to_owned(),
            Error::NotAFolder { .. } => "name a folder, or use the file's own path".to_owned(),
            Error::Symlink { .. } => "use the path of the real file inside the vault".to_owned(),
            Error::Special { .. } => "only regular files are notes".to_owned(),
            Error::Binary { .. } => "it can be moved or deleted, but not read or edited as text".to_owned(),
            Error::TooLarge { .. } => "split the file, or work on it with another program".to_owned(),
            Error::Stale { .. } => "read it again and repeat the edit on the new text".to_owned(),
            Error::NotEmpty { .. } => "move or delete what is in it first".to_owned(),
            Error::Front(_) => "mend the YAML by an ordinary text edit first; nothing was changed".to_owned(),
            Error::Edit { hint, .. } => hint.clone(),
            Error::Io { .. } => {
                "nothing was changed; free some space or check the permissions, then try again".to_owned()
            }
            Error::Damaged { .. } => "run `verger check` to see what is wrong".to_owned(),
            Error::Checkpoint { .. } => {
                "list the checkpoints and use an id or a longer prefix of it".to_owned()
            }
        }
    }
}

fn join(paths: &[VaultPath]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}
