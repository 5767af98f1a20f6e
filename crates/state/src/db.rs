//! The file of the database: the only place that opens it. Made readable by the person only, brought to the version that
//! this program knows, and never replaced: a damaged or a newer file is an error, and stays as it is.
//!
//! Write-ahead log with `synchronous=FULL`: when a change is acknowledged it is on the disk. One connection writes, another
//! reads, so that a long search does not keep a step waiting. Several processes may do so at once.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, ffi};

use crate::error::Error;

/// The version that this program writes.
const VERSION: i64 = 1;

/// Marks the file as ours: "Vrgr".
const APPLICATION: i64 = 0x5672_6772;

/// The smallest page that SQLite writes: a file that is not empty is not shorter.
const SMALLEST: u64 = 512;

/// How long one process waits for another one's change.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is made in an empty file. Compared with the file each time it is opened: damage to these words would change
/// what every later statement means.
const SCHEMA: [(&str, &str); 6] = [
    (
        "sessions",
        "CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, agent TEXT NOT NULL, \
         model TEXT NOT NULL, parent TEXT REFERENCES sessions(id) ON DELETE CASCADE, forked_from TEXT, \
         created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, steps INTEGER NOT NULL, seal BLOB NOT NULL) STRICT",
    ),
    ("sessions_by_parent", "CREATE INDEX sessions_by_parent ON sessions(parent)"),
    (
        "steps",
        "CREATE TABLE steps (key INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE, \
         number INTEGER NOT NULL, time_ms INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, seal BLOB NOT NULL, \
         UNIQUE (session, number)) STRICT",
    ),
    (
        "said",
        "CREATE TABLE said (key INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE, \
         number INTEGER NOT NULL, time_ms INTEGER NOT NULL, agent TEXT NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, \
         seal BLOB NOT NULL, UNIQUE (session, number)) STRICT",
    ),
    ("said_by_time", "CREATE INDEX said_by_time ON said(time_ms)"),
    (
        "leases",
        "CREATE TABLE leases (session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE, \
         holder TEXT NOT NULL, until_ms INTEGER NOT NULL, token INTEGER NOT NULL) STRICT",
    ),
];

/// What can go wrong inside of a change, before it has the file's name.
#[derive(Debug)]
pub enum Fault {
    /// A reason that is known already.
    Known(Error),
    /// What is in the file is not what was written.
    Damage(String),
    /// What SQLite says.
    Sql(rusqlite::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Known(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sql(error)
    }
}

/// The open file.
#[derive(Debug)]
pub struct Db {
    path: PathBuf,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl Db {
    /// Opens the file, and makes it if it is not there.
    pub fn open(path: &Path) -> Result<Db, Error> {
        make(path).map_err(|error| io(path, &error))?;
        whole(path).map_err(|fault| named(path, fault))?;
        let connect = || -> Result<(Connection, Connection), Fault> {
            let mut writer = connection(path)?;
            migrate(&mut writer, path)?;
            write_ahead(&writer)?;
            let reader = connection(path)?;
            Ok((writer, reader))
        };
        let (writer, reader) = connect().map_err(|fault| named(path, fault))?;
        Ok(Db { path: path.to_owned(), writer: Mutex::new(writer), reader: Mutex::new(reader) })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes something, whole or not at all; on the disk when this returns.
    pub fn write<T>(&self, change: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, Error> {
        let mut writer = hold(&self.writer);
        let run = || -> Result<T, Fault> {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = change(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        run().map_err(|fault| named(&self.path, fault))
    }

    /// Looks at one state of the file, whatever others write meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, Error> {
        let mut reader = hold(&self.reader);
        let run = || -> Result<T, Fault> {
            let transaction = reader.transaction_with_behavior(TransactionBehavior::Deferred)?;
            look(&transaction)
        };
        run().map_err(|fault| named(&self.path, fault))
    }

    /// Writes the log into the file and empties it, if nobody reads just now: what was deleted is gone from there, too.
    pub fn fold_log(&self) {
        let writer = hold(&self.writer);
        // A reader may be in the way; then the log is folded later, as always.
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok();
    }
}

fn hold(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    // A panic rolled its transaction back; the connection itself is sound.
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there is such a file.
#[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
pub fn is_there(path: &Path) -> Result<bool, Error> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io(path, &error)),
    }
}

/// Makes the file before SQLite does, so that nobody else may read it even for a moment.
#[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
fn make(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(std::io::Error::other("it is no file")),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?.sync_all()?;
            File::open(folder)?.sync_all()
        }
        Err(error) => Err(error),
    }
}

/// SQLite takes a file that is too short for an empty one, and its log for an old one that may go. Both would be a reset.
#[expect(clippy::disallowed_methods, reason = "our own file, outside the vault")]
fn whole(path: &Path) -> Result<(), Fault> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    match length(path) {
        0 if length(Path::new(&log)) > 0 => Err(Fault::Damage("it is empty, but its log is not".to_owned())),
        1..SMALLEST => Err(Fault::Damage("it is cut off".to_owned())),
        _ => Ok(()),
    }
}

fn connection(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(
        "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL; \
         PRAGMA secure_delete=ON;",
    )?;
    Ok(connection)
}

/// Looks whose file it is and of which version, and makes the tables in an empty one.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Fault> {
    if number(connection, "PRAGMA user_version")? == 0 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        if number(&transaction, "PRAGMA user_version")? == 0 {
            if number(&transaction, "SELECT count(*) FROM sqlite_schema")? != 0 {
                return Err(Fault::Damage("it is a database of another program".to_owned()));
            }
            for (_, statement) in SCHEMA {
                transaction.execute_batch(statement)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
        }
    }
    let found = number(connection, "PRAGMA user_version")?;
    if number(connection, "PRAGMA application_id")? != APPLICATION {
        return Err(Fault::Damage("it is a database of another program".to_owned()));
    }
    if found > VERSION {
        return Err(Error::TooNew { path: path.to_owned(), found, known: VERSION }.into());
    }
    if found != VERSION {
        return Err(Fault::Damage(format!("there is no version {found}")));
    }
    same_tables(connection)
}

fn same_tables(connection: &Connection) -> Result<(), Fault> {
    let mut statement =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")?;
    let found: Vec<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut wanted = SCHEMA;
    wanted.sort_unstable();
    let same = found.iter().map(|(name, sql)| (name.as_str(), sql.as_str())).eq(wanted);
    if same { Ok(()) } else { Err(Fault::Damage("its tables are not those of its version".to_owned())) }
}

fn number(connection: &Connection, question: &str) -> Result<i64, rusqlite::Error> {
    connection.query_row(question, [], |row| row.get(0))
}

/// Changes to the write-ahead log. While others open the file as well, SQLite says "busy" at once, so we ask again.
fn write_ahead(connection: &Connection) -> Result<(), Fault> {
    let mut tries_left = 1_000;
    loop {
        let mode = connection
            .query_row("PRAGMA journal_mode=WAL", [], |row| row.get::<_, String>(0))
            .map_err(Fault::Sql);
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(Fault::Damage(format!("its log is of the kind `{mode}`"))),
            Err(Fault::Sql(error)) if tries_left > 0 && is_busy(&error) => tries_left -= 1,
            Err(fault) => return Err(fault),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn io(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Error::Full { path: path.to_owned() }
        }
        _ => Error::Io { path: path.to_owned(), why: error.to_string() },
    }
}

/// A fault with the file's name: the reason that people see.
fn named(path: &Path, fault: Fault) -> Error {
    let path = path.to_owned();
    let error = match fault {
        Fault::Known(error) => return error,
        Fault::Damage(why) => return Error::Damaged { path, why },
        Fault::Sql(error) => error,
    };
    let why = error.to_string();
    let rusqlite::Error::SqliteFailure(failure, _) = &error else {
        // Our statements never change, so a value of another kind or a statement that no longer fits is damage.
        return Error::Damaged { path, why };
    };
    match failure.code {
        ErrorCode::DiskFull => Error::Full { path },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Locked { path },
        ErrorCode::SystemIoFailure
            if !matches!(
                failure.extended_code,
                ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS | ffi::SQLITE_IOERR_DATA
            ) =>
        {
            Error::Io { path, why }
        }
        ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::OutOfMemory
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::NoLargeFileSupport => Error::Io { path, why },
        _ => Error::Damaged { path, why },
    }
}
