//! The threads at stdin: one reads, and whoever has read a plain call runs it, while the next one takes over the reading.
//!
//! So a call is read, run and answered without a change of threads, a long call holds up nobody, and there is always somebody
//! who reads: a call can be called off while it runs. Everything else goes on to the SDK, in order. Called by `stdio.rs`.
//! Deliberately not here: what a line means (`frame.rs`), what a call does (`short.rs`).

use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use rmcp::model::{CallToolRequest, ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage};
use tokio::sync::{Notify, mpsc};

use super::frame::Frame;
use super::hall::AT_ONCE;
use super::short::{Short, Taken};
use super::stdio::{IsEdit, read_frame, write_line, write_message};
use super::turn::Turns;

/// Threads that are hired as soon as nobody reads, and stay. More would only wait for each other while calls are short.
const REGULAR: usize = 4;
/// Threads that may be there: one for each call that may run, and one that reads.
const MOST: usize = AT_ONCE + 1;
/// How long nobody may read. Whoever keeps all threads busy for longer is at long work, and another one is hired.
const PATIENCE: Duration = Duration::from_millis(5);
/// How long calls may still run when the client has closed stdin; the SDK gives its own as long.
const FAREWELL: Duration = Duration::from_secs(5);

/// The desk at which the line from the client ends.
pub struct Desk<R> {
    queue: Mutex<Queue<R>>,
    short: Short,
    /// Threads that read or wait to read.
    waiting: AtomicUsize,
    threads: AtomicUsize,
    /// Calls that were taken so far.
    taken: AtomicUsize,
    /// Whether it was noticed that nobody reads.
    alarm: AtomicBool,
    overseer: OnceLock<Option<Thread>>,
    /// Told when stdout is gone.
    gone: Arc<Notify>,
}

/// What only the thread that reads has its hands on.
struct Queue<R> {
    input: R,
    line: Vec<u8>,
    turns: Turns,
    is_edit: IsEdit,
    /// To the SDK; none when the line has ended.
    sender: Option<mpsc::Sender<ClientJsonRpcMessage>>,
}

impl<R: BufRead + Send + 'static> Desk<R> {
    /// A desk with nobody at it yet.
    pub fn new(
        input: R,
        is_edit: IsEdit,
        sender: mpsc::Sender<ClientJsonRpcMessage>,
        short: Short,
        gone: Arc<Notify>,
    ) -> Arc<Desk<R>> {
        let queue = Queue { input, line: Vec::new(), turns: Turns::default(), is_edit, sender: Some(sender) };
        Arc::new(Desk {
            queue: Mutex::new(queue),
            short,
            waiting: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            alarm: AtomicBool::new(false),
            overseer: OnceLock::new(),
            gone,
        })
    }

    /// One more thread. Left to itself: it ends with stdin or with the process.
    pub fn hire(self: &Arc<Self>) -> io::Result<()> {
        let desk = Arc::clone(self);
        self.threads.fetch_add(1, Ordering::Relaxed);
        let hired = thread::Builder::new().name("mcp-stdin".to_owned()).spawn(move || desk.work());
        if hired.is_err() {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        }
        hired.map(|_| ())
    }

    fn work(self: &Arc<Self>) {
        while let Some(call) = self.next() {
            self.let_another_read();
            self.short.run(call, |line| {
                if write_line(line).is_err() {
                    self.gone.notify_one();
                }
            });
            if self.somebody_reads() && self.threads.load(Ordering::Relaxed) > REGULAR {
                break;
            }
        }
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    fn somebody_reads(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Sees to it that the line is read while this thread is busy. Where no thread can be had, reading waits for it.
    fn let_another_read(self: &Arc<Self>) {
        self.taken.fetch_add(1, Ordering::Relaxed);
        if self.somebody_reads() {
            return;
        }
        if self.threads.load(Ordering::Relaxed) < REGULAR {
            self.hire().ok();
            return;
        }
        if !self.alarm.swap(true, Ordering::Relaxed)
            && let Some(overseer) = self.overseer.get_or_init(|| self.appoint().ok())
        {
            overseer.unpark();
        }
    }

    fn appoint(self: &Arc<Self>) -> io::Result<Thread> {
        let desk = Arc::clone(self);
        let appointed =
            thread::Builder::new().name("mcp-overseer".to_owned()).spawn(move || desk.oversee())?;
        Ok(appointed.thread().clone())
    }

    /// Hires when all threads have been busy with the same calls for longer than a moment.
    fn oversee(self: &Arc<Self>) {
        loop {
            while !self.alarm.load(Ordering::Relaxed) {
                thread::park();
            }
            let before = self.taken.load(Ordering::Relaxed);
            thread::sleep(PATIENCE);
            if self.somebody_reads() {
                self.alarm.store(false, Ordering::Relaxed);
                // Somebody may have gone with a call meanwhile, and found the alarm still on.
                self.alarm.store(!self.somebody_reads(), Ordering::Relaxed);
            } else if self.taken.load(Ordering::Relaxed) == before
                && self.threads.load(Ordering::Relaxed) < MOST
            {
                self.hire().ok();
            }
        }
    }

    /// The next call for this thread. What is not for it is dealt with on the way; none when the line has ended.
    fn next(&self) -> Option<Taken> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let call = self.next_of(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        call
    }

    fn next_of(&self, queue: &mut Queue<R>) -> Option<Taken> {
        loop {
            // Somebody else saw the end, or the SDK listens no more.
            queue.sender.as_ref().filter(|sender| !sender.is_closed())?;
            let goes_on = match read_frame(&mut queue.input, &mut queue.line) {
                None => {
                    self.short.wait(FAREWELL);
                    queue.sender = None;
                    return None;
                }
                Some(Frame::Nothing) => true,
                Some(Frame::Answer(mistake)) => write_message(&mistake).is_ok(),
                Some(Frame::Message(message)) => match self.judge(queue, *message) {
                    Judged::Ours(taken) => return Some(*taken),
                    Judged::Dealt => true,
                    Judged::Theirs(message) => {
                        queue.sender.as_ref().is_some_and(|sender| sender.blocking_send(*message).is_ok())
                    }
                },
            };
            if !goes_on {
                queue.sender = None;
                return None;
            }
        }
    }

    /// Whose message it is. An edit gets its place in the queue here, where messages still stand in a line.
    fn judge(&self, queue: &mut Queue<R>, mut message: ClientJsonRpcMessage) -> Judged {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let ClientRequest::CallToolRequest(call) = &mut request.request else {
                    return Judged::Theirs(Box::new(message));
                };
                let turn = (queue.is_edit)(&call.params.name).then(|| queue.turns.next());
                // The last thread that could read must not go away with a call.
                let alone = self.waiting.load(Ordering::Relaxed) <= 1;
                let full = alone && self.threads.load(Ordering::Relaxed) >= MOST;
                if !full
                    && is_plain(call)
                    && let Some(client) = self.short.takes(&call.params.name, &request.id)
                {
                    let (id, params) = (request.id.clone(), std::mem::take(&mut call.params));
                    return Judged::Ours(Box::new(self.short.take(client, id, params, turn)));
                }
                if let Some(turn) = turn {
                    call.extensions.insert(turn);
                }
                Judged::Theirs(Box::new(message))
            }
            JsonRpcMessage::Notification(told) => {
                let ClientNotification::CancelledNotification(cancelled) = &told.notification else {
                    return Judged::Theirs(Box::new(message));
                };
                let ours = cancelled.params.request_id.as_ref().is_some_and(|id| self.short.call_off(id));
                if ours { Judged::Dealt } else { Judged::Theirs(Box::new(message)) }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Judged::Theirs(Box::new(message)),
        }
    }
}

/// A name and arguments, nothing else.
fn is_plain(call: &CallToolRequest) -> bool {
    let params = &call.params;
    let more = params.meta.is_some() || params.input_responses.is_some() || params.request_state.is_some();
    !more && call.extensions.is_empty()
}

/// Whose message it is.
enum Judged {
    /// A call for the short way.
    Ours(Box<Taken>),
    /// Nothing is left to do.
    Dealt,
    /// The SDK's.
    Theirs(Box<ClientJsonRpcMessage>),
}
