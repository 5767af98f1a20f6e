//! Starting programs: the one place in Verger that does. A foreign server is a child in a process group of its own
//! that ends with us: the group is killed when it is dropped, and by the kernel should Verger itself be killed.
//!
//! The second needs a call between fork and exec, which is not safe Rust; so where Verger's own program is known, the
//! child starts as that program, asks the kernel itself, and becomes the server ([`become_server`]).

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Variables that a server gets without being named: where things are and how text is written, nothing of the user's.
const HARMLESS: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TERM",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// How deep servers may start servers.
pub const DEPTH_VARIABLE: &str = "VERGER_MCP_DEPTH";
/// The hidden command under which Verger's own program becomes a server.
pub const BECOME: [&str; 2] = ["dev", "become-server"];

/// What to start.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables besides the harmless ones.
    pub env: BTreeMap<String, String>,
    /// The folder to start it in.
    pub cwd: Option<PathBuf>,
    /// Verger's own program, which becomes the server.
    pub through: Option<PathBuf>,
}

/// A running child with its ends of the pipes.
#[derive(Debug)]
pub struct Started {
    /// Ends its group when dropped.
    pub child: Kept,
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
}

/// A child whose whole group ends when this is dropped.
#[derive(Debug)]
pub struct Kept {
    child: Child,
    group: Option<rustix::process::Pid>,
}

impl Kept {
    /// Waits until it ended by itself.
    pub async fn ended(&mut self) -> io::Result<std::process::ExitStatus> {
        self.child.wait().await
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // The child may be gone; what it started is still in the group.
        if let Some(group) = self.group {
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
    }
}

/// The last lines that a server wrote to stderr; a person may look at them, a model does not.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<VecDeque<String>>>);

const LINES: usize = 200;
const LONGEST_LINE: usize = 2_000;

impl Log {
    /// Adds a line; the oldest goes.
    pub fn add(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().filter(|c| !c.is_control() || *c == '\t').take(LONGEST_LINE).collect());
    }

    /// The last lines, oldest first.
    pub fn last(&self, count: usize) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(count)).cloned().collect()
    }

    async fn follow(self, stderr: ChildStderr) {
        let mut reader = BufReader::new(stderr);
        let mut line = Vec::new();
        // A line without an end is cut into lines; nothing piles up.
        while let Ok(1..) = (&mut reader).take(8 * 1024).read_until(b'\n', &mut line).await {
            self.add(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
}

/// Starts a program. The kernel ties a child to the thread that started it, so one thread that never ends starts all.
pub async fn start(what: Start, log: Log) -> io::Result<Started> {
    let (answer, answered) = oneshot::channel();
    let job = Job { what, runtime: Handle::current(), answer };
    starter().send(job).map_err(|_| io::Error::other("the thread that starts programs is gone"))?;
    let mut child = answered.await.map_err(io::Error::other)??;
    let group = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = Kept { child, group };
    if let Some(stderr) = stderr {
        tokio::spawn(log.follow(stderr));
    }
    let no_pipe = || io::Error::other("the program has no pipes");
    Ok(Started { child, stdin: stdin.ok_or_else(no_pipe)?, stdout: stdout.ok_or_else(no_pipe)? })
}

struct Job {
    what: Start,
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Child>>,
}

fn starter() -> &'static Sender<Job> {
    static STARTER: OnceLock<Sender<Job>> = OnceLock::new();
    STARTER.get_or_init(|| {
        let (sender, jobs) = channel::<Job>();
        let work = move || {
            for job in jobs {
                let _inside = job.runtime.enter();
                // Whoever asked may have given up; then the child is dropped, and ends.
                job.answer.send(command(&job.what).spawn()).ok();
            }
        };
        // Without the thread, the sender answers that nobody listens.
        std::thread::Builder::new().name("starter".to_owned()).spawn(work).ok();
        sender
    })
}

#[expect(clippy::disallowed_methods, reason = "the one place where programs are started")]
fn command(what: &Start) -> Command {
    let mut command = match &what.through {
        Some(ourselves) => {
            let mut command = Command::new(ourselves);
            command.args(BECOME).arg(std::process::id().to_string()).arg("--").arg(&what.command);
            command
        }
        None => Command::new(&what.command),
    };
    command.args(&what.args).env_clear();
    for name in HARMLESS {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(&what.env).env(DEPTH_VARIABLE, (depth() + 1).to_string());
    if let Some(folder) = &what.cwd {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// How many servers that started servers are above this process.
pub fn depth() -> u32 {
    std::env::var(DEPTH_VARIABLE).ok().and_then(|depth| depth.parse().ok()).unwrap_or(0)
}

/// Becomes a server: from now on the kernel ends this process when its parent ends. Returns only if that failed, or
/// if `parent` is not the parent any more: then nobody would end us.
#[expect(clippy::disallowed_methods, reason = "the one place where programs are started")]
pub fn become_server(parent: u32, command: &OsString, args: &[OsString]) -> io::Error {
    #[cfg(target_os = "linux")]
    {
        if let Err(error) =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        {
            return error.into();
        }
        let now = rustix::process::getppid().and_then(|now| u32::try_from(now.as_raw_nonzero().get()).ok());
        if now != Some(parent) {
            return io::Error::other("the parent is gone");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    use std::os::unix::process::CommandExt;
    std::process::Command::new(command).args(args).exec()
}
