//! The only file that touches the vault's files. Everything is opened by handle beneath the vault's root, no
//! symbolic link is ever followed, and only regular files are read: a pipe posing as a note cannot hang us.
//!
//! Called by `commit.rs` (which decides what is written and when) and by `Vault` for reading. Deliberately not
//! here: what may be read or written (policy), what a change means (plans), how to take it back (store).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::files::{Entry, Files, Kind, Stat};
use crate::path::{PathError, VaultFolder, VaultPath};

/// The largest file that is read into memory.
pub const LARGEST_FILE: u64 = 256 * 1024 * 1024;
/// How deep folders may nest; deeper ones are not walked.
const DEEPEST: usize = 256;

/// A vault's folder, held open.
#[derive(Debug)]
pub struct Disk {
    root: OwnedFd,
    path: PathBuf,
}

/// A file's state: enough to see that it changed, and what must be kept when it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Bytes.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Which file it is.
    pub inode: u64,
    /// Last change of anything about it, nanoseconds since 1970. No program can set it back.
    pub touched_ns: i64,
    /// Permission bits.
    pub permissions: u32,
    /// User and group.
    pub owner: (u32, u32),
}

impl From<State> for Stat {
    fn from(state: State) -> Stat {
        // An odd factor, so that both numbers reach every bit and neither can undo the other.
        let mixed = state.touched_ns.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Stat { size: state.size, modified_ns: state.modified_ns, inode: state.inode ^ mixed }
    }
}

/// A file written beside the vault, waiting to take its place.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Its name in the stage.
    pub name: String,
    file: File,
}

/// Where staged files wait: a folder on the same file system as the vault, outside of it where possible.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: OwnedFd,
}

/// What `put` found in place of the file that it replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// The old file now lies in the stage under the staged name.
    Kept,
    /// The file system cannot swap; the old file is gone (its bytes are in the checkpoint).
    Gone,
}

impl Disk {
    /// Opens the vault's folder.
    pub fn open(path: &Path) -> Result<Disk> {
        let root = fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
            .map_err(|error| Error::io(format!("cannot open the vault at {}", path.display()), error))?;
        Ok(Disk { root, path: path.to_owned() })
    }

    /// Where the vault lies.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// A file's bytes and state, up to `limit` bytes.
    pub fn read_up_to(&self, path: &VaultPath, limit: u64) -> Result<(Vec<u8>, State)> {
        let fd = self
            .open_beneath(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
            .map_err(|errno| self.explain(path, errno))?;
        let stat = fs::fstat(&fd).map_err(|errno| Error::io(format!("cannot read `{path}`"), errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Error::IsFolder { path: path.clone() }),
            _ => return Err(Error::Special { path: path.clone() }),
        }
        let state = state(&stat);
        if state.size > limit {
            return Err(Error::TooLarge { path: path.clone(), size: state.size, limit });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(state.size).unwrap_or(0) + 1);
        File::from(fd)
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::io(format!("cannot read `{path}`"), error))?;
        if bytes.len() as u64 > limit {
            return Err(Error::TooLarge { path: path.clone(), size: bytes.len() as u64, limit });
        }
        Ok((bytes, state))
    }

    /// What lies at a path: nothing, a file, a folder, or something that is neither.
    pub fn look(&self, path: &VaultPath) -> Result<Option<(Kind, State)>> {
        let parent = match self.place(&path.parent()) {
            Ok(parent) => parent,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(self.explain(path, errno)),
        };
        match fs::statat(&parent, path.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(Some((Kind::File, state(&stat)))),
                FileType::Directory => Ok(Some((Kind::Folder, state(&stat)))),
                FileType::Symlink => Err(Error::Symlink { path: path.clone() }),
                _ => Err(Error::Special { path: path.clone() }),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.explain(path, errno)),
        }
    }

    /// The state of what lies at a path, in one question to the kernel, only to be compared with an earlier one: links on the
    /// way are followed, so nothing may be opened or judged by it.
    pub(crate) fn glance(&self, path: &VaultPath) -> Result<Option<State>> {
        match fs::statat(&self.root, path.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(state(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(self.explain(path, errno)),
        }
    }

    /// Whether a folder holds nothing.
    pub(crate) fn is_empty_folder(&self, path: &VaultPath) -> Result<bool> {
        let folder = self.open_folder(&path.clone().into()).map_err(|errno| self.explain(path, errno))?;
        let entries =
            fs::Dir::read_from(&folder).map_err(|errno| Error::io(format!("cannot list `{path}`"), errno))?;
        Ok(entries.flatten().all(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")))
    }

    /// What lies directly in a folder, hidden names included.
    pub(crate) fn children(&self, path: &VaultPath) -> Result<Vec<VaultPath>> {
        let folder = self.open_folder(&path.clone().into()).map_err(|errno| self.explain(path, errno))?;
        let entries =
            fs::Dir::read_from(&folder).map_err(|errno| Error::io(format!("cannot list `{path}`"), errno))?;
        let names = entries.flatten().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
        names
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let child = path.join(&name).map_err(|error| Error::Path { text: name.clone(), error })?;
                // A name that is no UTF-8, or holds a back slash, would be taken for another file.
                if child.name().as_bytes() != entry.file_name().to_bytes() {
                    return Err(Error::Path { text: name, error: PathError::Control });
                }
                Ok(child)
            })
            .collect()
    }

    /// Puts a staged file in place of `path`, which must be there. The old file ends up in the stage.
    pub(crate) fn put(&self, stage: &Stage, staged: &Staged, path: &VaultPath) -> Result<Replaced> {
        let parent = self.place(&path.parent()).map_err(|errno| self.explain(path, errno))?;
        let swap = |flags| fs::renameat_with(&stage.folder, &staged.name, &parent, path.name(), flags);
        match swap(RenameFlags::EXCHANGE) {
            Ok(()) => Ok(Replaced::Kept),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                fs::renameat(&stage.folder, &staged.name, &parent, path.name())
                    .map_err(|errno| self.cannot("write", path, errno))?;
                Ok(Replaced::Gone)
            }
            Err(errno) => Err(self.cannot("write", path, errno)),
        }
    }

    /// Puts a staged file at `path`, where nothing may be.
    pub(crate) fn put_new(&self, stage: &Stage, staged: &Staged, path: &VaultPath) -> Result<()> {
        let parent = self.place(&path.parent()).map_err(|errno| self.explain(path, errno))?;
        rename_to_nothing(stage.folder.as_fd(), &staged.name, parent.as_fd(), path.name())
            .map_err(|errno| self.cannot("create", path, errno))
    }

    /// Takes a file out of the vault into the stage.
    pub(crate) fn take(&self, stage: &Stage, path: &VaultPath, name: &str) -> Result<()> {
        let parent = self.place(&path.parent()).map_err(|errno| self.explain(path, errno))?;
        rename_to_nothing(parent.as_fd(), path.name(), stage.folder.as_fd(), name)
            .map_err(|errno| self.cannot("remove", path, errno))
    }

    /// Puts a file that was taken back in its place.
    pub(crate) fn give_back(&self, stage: &Stage, name: &str, path: &VaultPath) -> Result<()> {
        let parent = self.place(&path.parent()).map_err(|errno| self.explain(path, errno))?;
        fs::renameat(&stage.folder, name, &parent, path.name())
            .map_err(|errno| self.cannot("restore", path, errno))
    }

    /// The bytes of a file that lies in the stage.
    pub(crate) fn read_staged(&self, stage: &Stage, name: &str) -> std::io::Result<Vec<u8>> {
        let fd = fs::openat(
            &stage.folder,
            name,
            // Whatever took the file's place meanwhile: a pipe must not hang us with the lock held.
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut bytes = Vec::new();
        File::from(fd).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Moves a file or folder to a place where nothing may be.
    pub(crate) fn rename(&self, from: &VaultPath, to: &VaultPath) -> Result<()> {
        let old = self.place(&from.parent()).map_err(|errno| self.explain(from, errno))?;
        let new = self.place(&to.parent()).map_err(|errno| self.explain(to, errno))?;
        if self.is_same_file(&old, from, &new, to) {
            return fs::renameat(&old, from.name(), &new, to.name())
                .map_err(|errno| self.cannot("move", from, errno));
        }
        rename_to_nothing(old.as_fd(), from.name(), new.as_fd(), to.name())
            .map_err(|errno| self.cannot("move", if errno == Errno::EXIST { to } else { from }, errno))
    }

    /// Makes one folder; its parent must be there.
    pub(crate) fn make_folder(&self, path: &VaultPath) -> Result<()> {
        let parent = self.place(&path.parent()).map_err(|errno| self.explain(path, errno))?;
        fs::mkdirat(&parent, path.name(), Mode::from_raw_mode(0o777))
            .map_err(|errno| self.cannot("create the folder", path, errno))
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, path: &VaultPath) -> Result<()> {
        let parent = self.place(&path.parent()).map_err(|errno| self.explain(path, errno))?;
        fs::unlinkat(&parent, path.name(), AtFlags::REMOVEDIR).map_err(|errno| match errno {
            Errno::NOTEMPTY | Errno::EXIST => Error::NotEmpty { path: path.clone() },
            errno => self.cannot("remove the folder", path, errno),
        })
    }

    /// Makes a folder's entries durable.
    pub(crate) fn sync_folder(&self, folder: &VaultFolder) -> Result<()> {
        let fd = self
            .open_folder(folder)
            .map_err(|errno| Error::io(format!("cannot open the folder `{folder}`"), errno))?;
        File::from(fd)
            .sync_all()
            .map_err(|error| Error::io(format!("cannot sync the folder `{folder}`"), error))
    }

    fn is_same_file(&self, old: &OwnedFd, from: &VaultPath, new: &OwnedFd, to: &VaultPath) -> bool {
        let identity = |folder: &OwnedFd, name: &str| {
            fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| (stat.st_dev, stat.st_ino, stat.st_nlink))
                .ok()
        };
        // A rename that changes only the case of a name, on a file system that does not tell them apart. Two hard
        // links have the same inode as well, so a link count above one does not qualify.
        match (identity(old, from.name()), identity(new, to.name())) {
            (Some(a), Some(b)) => a == b && a.2 == 1,
            _ => false,
        }
    }

    /// A folder, to name something in it. Not opened for reading: that would tell every program that watches the vault, our own
    /// among them.
    fn place(&self, folder: &VaultFolder) -> rustix::io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        return self.open_folder_for(folder, OFlags::DIRECTORY | OFlags::PATH);
        #[cfg(not(target_os = "linux"))]
        return self.open_folder(folder);
    }

    /// A folder, to read or to sync it.
    fn open_folder(&self, folder: &VaultFolder) -> rustix::io::Result<OwnedFd> {
        self.open_folder_for(folder, OFlags::DIRECTORY | OFlags::RDONLY)
    }

    fn open_folder_for(&self, folder: &VaultFolder, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        match folder.path() {
            None => fs::openat(&self.root, ".", flags | OFlags::CLOEXEC, Mode::empty()),
            Some(path) => self.open_beneath(path, flags),
        }
    }

    fn open_beneath(&self, path: &VaultPath, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        #[cfg(target_os = "linux")]
        {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match fs::openat2(&self.root, path.as_str(), flags, Mode::empty(), resolve) {
                Err(Errno::NOSYS | Errno::PERM) => {}
                answer => return answer,
            }
        }
        self.open_step_by_step(path, flags)
    }

    /// Where the kernel has no `openat2`: one name at a time, following nothing.
    fn open_step_by_step(&self, path: &VaultPath, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let mut folder: Option<OwnedFd> = None;
        for name in path.parent().as_str().split('/').filter(|name| !name.is_empty()) {
            let here: BorrowedFd<'_> = folder.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            let step = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = Some(fs::openat(here, name, step, Mode::empty())?);
        }
        let here: BorrowedFd<'_> = folder.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
        fs::openat(here, path.name(), flags, Mode::empty())
    }

    fn cannot(&self, verb: &str, path: &VaultPath, errno: Errno) -> Error {
        match errno {
            Errno::EXIST => Error::Exists { path: path.clone() },
            Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::ISDIR => self.explain(path, errno),
            errno => Error::io(format!("cannot {verb} `{path}`"), errno),
        }
    }

    /// Turns what the kernel says into a reason.
    fn explain(&self, path: &VaultPath, errno: Errno) -> Error {
        match errno {
            Errno::NOENT => Error::Missing { path: path.clone(), near: Vec::new() },
            Errno::LOOP | Errno::XDEV => Error::Symlink { path: path.clone() },
            Errno::NOTDIR if self.has_symlink(path) => Error::Symlink { path: path.clone() },
            Errno::NOTDIR => Error::NotAFolder { path: path.clone() },
            Errno::ISDIR => Error::IsFolder { path: path.clone() },
            Errno::NXIO | Errno::NODEV => Error::Special { path: path.clone() },
            errno => Error::io(format!("cannot open `{path}`"), errno),
        }
    }

    /// `O_NOFOLLOW | O_DIRECTORY` on a link says "not a directory"; this tells the two apart for the message.
    fn has_symlink(&self, path: &VaultPath) -> bool {
        let names: Vec<&str> = path.segments().collect();
        (1..=names.len()).any(|count| {
            fs::statat(&self.root, names[..count].join("/"), AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        })
    }

    /// Calls `each` for what lies directly in a folder; hidden names are left out.
    pub(crate) fn list(&self, at: &VaultFolder, each: &mut dyn FnMut(Entry)) -> Result<()> {
        self.list_with(at, &mut |path, name, folder, _| {
            let Ok(stat) = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
            if let Some(kind) = kind(FileType::from_raw_mode(stat.st_mode)) {
                each(Entry { path, kind, stat: state(&stat).into() });
            }
        })
    }

    /// Calls `each` for every file in a folder, at any depth. Names only: what a folder says of its files is enough to
    /// read them, and asking for the size and time of each takes as long again.
    pub(crate) fn walk_names(&self, at: &VaultFolder, each: &mut dyn FnMut(VaultPath)) -> Result<()> {
        match at.path().map(|path| self.look(path)).transpose()? {
            Some(None | Some((Kind::File, _))) => Ok(()),
            None | Some(Some((Kind::Folder, _))) => self.walk_names_below(at, 0, each),
        }
    }

    fn walk_names_below(
        &self,
        at: &VaultFolder,
        depth: usize,
        each: &mut dyn FnMut(VaultPath),
    ) -> Result<()> {
        let mut below = Vec::new();
        self.list_with(at, &mut |path, name, folder, said| {
            // Some file systems do not say.
            let found = match said {
                FileType::Unknown => fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                said => said,
            };
            match kind(found) {
                Some(Kind::Folder) => below.push(path),
                Some(Kind::File) => each(path),
                None => {}
            }
        })?;
        for path in below.into_iter().filter(|_| depth < DEEPEST) {
            // A folder that vanished or cannot be opened hides nothing else.
            self.walk_names_below(&path.into(), depth + 1, each).ok();
        }
        Ok(())
    }

    /// Calls `each` for what lies directly in a folder: path, name, the folder's handle, and what the folder says it is.
    fn list_with(
        &self,
        at: &VaultFolder,
        each: &mut dyn FnMut(VaultPath, &str, BorrowedFd<'_>, FileType),
    ) -> Result<()> {
        let cannot = |errno| Error::io(format!("cannot list the folder `{at}`"), errno);
        let mut entries = fs::Dir::new(self.open_folder(at).map_err(cannot)?).map_err(cannot)?;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(cannot)?;
            // Hidden names are no notes; a name that is no UTF-8 or holds control characters has no VaultPath.
            let Ok(name) = entry.file_name().to_str() else { continue };
            let Ok(path) = at.join(name) else { continue };
            if name.starts_with('.') || path.name() != name {
                continue;
            }
            each(path, name, entries.fd().map_err(cannot)?, entry.file_type());
        }
        Ok(())
    }

    fn walk_folder(&self, at: &VaultFolder, depth: usize, each: &mut dyn FnMut(Entry)) -> Result<()> {
        let mut below = Vec::new();
        self.list(at, &mut |entry| {
            if entry.kind == Kind::Folder {
                below.push(entry.path.clone());
            }
            each(entry);
        })?;
        for path in below.into_iter().filter(|_| depth < DEEPEST) {
            // A folder that vanished or cannot be opened hides nothing else.
            self.walk_folder(&path.into(), depth + 1, each).ok();
        }
        Ok(())
    }
}

impl Files for Disk {
    fn walk(&self, each: &mut dyn FnMut(Entry)) -> Result<()> {
        self.walk_folder(&VaultFolder::root(), 0, each)
    }

    fn read(&self, path: &VaultPath) -> Result<Vec<u8>> {
        self.read_up_to(path, LARGEST_FILE).map(|(bytes, _)| bytes)
    }

    fn walk_in(&self, at: &VaultFolder, each: &mut dyn FnMut(Entry)) -> Result<()> {
        match at.path().map(|path| self.look(path)).transpose()? {
            Some(None | Some((Kind::File, _))) => Ok(()),
            None | Some(Some((Kind::Folder, _))) => self.walk_folder(at, 0, each),
        }
    }

    fn stat(&self, path: &VaultPath) -> Result<Option<Entry>> {
        match self.look(path) {
            Ok(Some((kind, state))) => Ok(Some(Entry { path: path.clone(), kind, stat: state.into() })),
            // What is neither file nor folder is not part of the vault.
            Ok(None) | Err(Error::Symlink { .. } | Error::Special { .. } | Error::NotAFolder { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Stage {
    /// The stage in our own data folder.
    pub(crate) fn open(folder: &Path) -> Result<Stage> {
        let fd = fs::open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
            .map_err(|error| {
                Error::io(format!("cannot open the staging folder {}", folder.display()), error)
            })?;
        Ok(Stage { folder: fd })
    }

    /// The vault's own root as the stage, for vaults on another file system than our data.
    pub(crate) fn in_vault(disk: &Disk) -> Result<Stage> {
        let folder = disk
            .open_folder(&VaultFolder::root())
            .map_err(|errno| Error::io("cannot open the vault to stage files in it", errno))?;
        Ok(Stage { folder })
    }

    /// Whether a file can be renamed from here into the vault.
    pub(crate) fn is_beside(&self, disk: &Disk) -> bool {
        match (fs::fstat(&self.folder), fs::fstat(&disk.root)) {
            (Ok(stage), Ok(vault)) => stage.st_dev == vault.st_dev,
            _ => false,
        }
    }

    /// Writes a new file into the stage; it is not yet synced.
    pub(crate) fn write(&self, name: &str, bytes: &[u8], permissions: Option<u32>) -> Result<Staged> {
        let failed = |error: std::io::Error| Error::io("cannot stage the new text", error);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.folder, name, flags, Mode::from_raw_mode(0o666))
            .map_err(|e| failed(e.into()))?;
        let mut file = File::from(fd);
        file.write_all(bytes).map_err(failed)?;
        if let Some(permissions) = permissions {
            fs::fchmod(&file, Mode::from_raw_mode(permissions & 0o7777)).map_err(|e| failed(e.into()))?;
        }
        Ok(Staged { name: name.to_owned(), file })
    }

    /// The state of a file in the stage.
    pub(crate) fn stat(&self, name: &str) -> Option<State> {
        fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| state(&stat))
    }

    /// Removes a staged file; it may be gone already.
    pub(crate) fn remove(&self, name: &str) {
        // What cannot be removed now is swept at the next start.
        fs::unlinkat(&self.folder, name, AtFlags::empty()).ok();
    }

    /// Whether an interrupted commit left something.
    pub(crate) fn has_leftovers(&self) -> bool {
        !self.leftovers().is_empty()
    }

    /// Removes what interrupted commits left. With the lock held, nothing of ours in here is in use.
    pub(crate) fn sweep(&self) {
        for name in self.leftovers() {
            fs::unlinkat(&self.folder, name.as_os_str(), AtFlags::empty()).ok();
        }
    }

    fn leftovers(&self) -> Vec<OsString> {
        let Ok(entries) = fs::Dir::read_from(&self.folder) else { return Vec::new() };
        let names = entries.flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        names.filter(|name| name.as_bytes().starts_with(STAGED_PREFIX.as_bytes())).collect()
    }
}

/// How staged files are called; hidden, so that no editor shows one in the case that it must lie in the vault.
pub(crate) const STAGED_PREFIX: &str = ".verger-staged-";

impl Staged {
    /// Makes the bytes durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(|error| Error::io("cannot sync the staged text", error))
    }

    /// Gives the file to the owner of the one that it replaces. Only root can; for others it is theirs already, or
    /// stays with whoever writes.
    pub(crate) fn set_owner(&self, (user, group): (u32, u32)) {
        if rustix::process::geteuid().is_root() && (user, group) != (0, 0) {
            let (user, group) = (fs::Uid::from_raw(user), fs::Gid::from_raw(group));
            fs::fchown(&self.file, Some(user), Some(group)).ok();
        }
    }

    /// Gives the file an earlier time of change (for restores).
    pub(crate) fn set_modified(&self, nanoseconds: i64) -> Result<()> {
        let time = rustix::time::Timespec {
            tv_sec: nanoseconds.div_euclid(1_000_000_000),
            tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
        };
        let times = fs::Timestamps { last_access: time, last_modification: time };
        fs::futimens(&self.file, &times)
            .map_err(|errno| Error::io("cannot set the time of the staged text", errno))
    }
}

fn rename_to_nothing(
    from: BorrowedFd<'_>,
    old: &str,
    to: BorrowedFd<'_>,
    new: &str,
) -> rustix::io::Result<()> {
    match fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            // Without the flag there is a moment between the look and the rename; a look is still better than none.
            match fs::statat(to, new, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(Errno::NOENT) => fs::renameat(from, old, to, new),
                Err(errno) => Err(errno),
            }
        }
        answer => answer,
    }
}

fn kind(found: FileType) -> Option<Kind> {
    match found {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Folder),
        _ => None,
    }
}

fn state(stat: &fs::Stat) -> State {
    State {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: stat.st_mtime * 1_000_000_000 + i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
        inode: stat.st_ino,
        touched_ns: stat.st_ctime * 1_000_000_000 + i64::try_from(stat.st_ctime_nsec).unwrap_or(0),
        permissions: stat.st_mode & 0o7777,
        owner: (stat.st_uid, stat.st_gid),
    }
}
