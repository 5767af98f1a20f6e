//! stdout, stderr and the keyboard. stdout is data; messages, questions and errors go to stderr.
//!
//! Deliberately not here: what text looks like (`paper.rs`) and what is asked (`asker.rs`).

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::failure::{Exit, Failure};
use crate::paper::{Colour, Controls, Paper, Role, Simple};
use crate::place::keyboard;

/// Where a command speaks.
#[derive(Debug)]
pub struct Terminal {
    /// How stdout looks.
    pub out: Paper,
    /// How stderr looks.
    pub err: Paper,
    /// Whether stdout carries JSON.
    pub json: bool,
    asks: bool,
    /// Whether a question waits for its answer.
    asking: AtomicBool,
    screen: bool,
    broken: AtomicBool,
    gone: AtomicBool,
}

impl Terminal {
    /// Looks at the streams and the environment once.
    pub fn new(json: bool, plain: bool) -> Terminal {
        let forced = set("CLICOLOR_FORCE");
        let paper = |is_terminal: bool| {
            let colour = wants_colour(is_terminal, &|name| std::env::var(name).ok()) && !plain;
            Paper {
                colour: if colour { Colour::On } else { Colour::Off },
                controls: if is_terminal || plain || forced { Controls::Shown } else { Controls::Raw },
                simple: if plain { Simple::Yes } else { Simple::No },
            }
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Terminal {
            out: if json { Paper::default() } else { paper(out) },
            err: Paper { controls: Controls::Shown, ..paper(err) },
            json,
            asks: err,
            asking: AtomicBool::new(false),
            screen: out,
            broken: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Writes data. A reader that went away is no error; a disk that is full is.
    pub fn data(&self, text: &str) {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone.store(true, Ordering::Relaxed)
            }
            Err(_) => self.broken.store(true, Ordering::Relaxed),
        }
    }

    /// Whether the reader of stdout went away, or cannot be written to.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || self.broken.load(Ordering::Relaxed)
    }

    /// Whether stdout is a terminal that a person looks at.
    pub fn is_screen(&self) -> bool {
        self.screen
    }

    /// How many characters a line of stdout holds: `COLUMNS`, or what the terminal says; nothing if there is no limit.
    pub fn width(&self) -> Option<usize> {
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let size = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
        told.or_else(|| size().filter(|_| self.screen)).filter(|columns| *columns > 0)
    }

    /// Writes data and makes sure that it ends its line.
    pub fn data_line(&self, text: &str) {
        let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        self.data(&format!("{text}{end}"));
    }

    /// Writes a value as JSON.
    pub fn json(&self, value: &impl serde::Serialize) {
        let text = serde_json::to_string(value).unwrap_or_else(|_| "{\"ok\":false}".to_owned());
        self.data(&format!("{text}\n"));
    }

    /// Whether all data could be written.
    pub fn finish(&self) -> Result<(), Failure> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(Failure::new(
                Exit::Failed,
                "output",
                "the output could not be written",
                "check where stdout goes (a full disk?)",
            ));
        }
        Ok(())
    }

    /// A message for the person; ready-made text, already safe.
    pub fn say(&self, text: &str) {
        let mut err = io::stderr().lock();
        // Nobody is left to be told that stderr is gone.
        writeln!(err, "{text}").ok();
    }

    /// A note in our own words that may hold names.
    pub fn note(&self, text: &str) {
        self.say(&self.err.text(text));
    }

    /// What went wrong and what to do.
    pub fn error(&self, message: &str, hint: &str) {
        self.say(&format!("{} {}", self.err.paint(Role::Bad, "error:"), self.err.text(message)));
        if !hint.is_empty() {
            self.say(&format!("{} {}", self.err.paint(Role::Title, "hint:"), self.err.text(hint)));
        }
    }

    /// Who shows a person how far long work has come: one line on stderr that is written over and goes when it is done.
    /// None where nobody looks.
    pub fn progress(&self) -> Option<impl Fn(&str, usize, usize) + Send + Sync + 'static> {
        let simple = self.err.simple == Simple::Yes;
        (self.asks && !simple && !self.json).then(|| {
            let shown = AtomicUsize::new(usize::MAX);
            move |what: &str, done: usize, total: usize| {
                /// Fewer files are done before anybody wonders.
                const MANY: usize = 2_000;
                let percent = done.saturating_mul(100) / total.max(1);
                if total < MANY || shown.swap(percent, Ordering::Relaxed) == percent {
                    return;
                }
                let mut err = io::stderr().lock();
                let line = if done < total {
                    format!("{what}: {done} of {total} files ({percent} %)")
                } else {
                    String::new()
                };
                // Nobody is left to be told that stderr is gone.
                write!(err, "\r\x1b[K{line}").and_then(|()| err.flush()).ok();
            }
        })
    }

    /// Whether a person can see a question and answer it.
    pub fn can_ask(&self) -> bool {
        self.asks && (io::stdin().is_terminal() || keyboard().is_some())
    }

    /// Shows a question and reads the answer. `None`: the person closed the input.
    pub fn ask(&self, question: &str) -> Option<String> {
        self.asking.store(true, Ordering::SeqCst);
        let answer = self.ask_now(question);
        self.asking.store(false, Ordering::SeqCst);
        answer
    }

    /// A line that was typed without being asked for; `None` if there is none within this time, or a question waits.
    pub fn line_if_typed(&self, wait: Duration) -> Option<String> {
        let stdin = io::stdin();
        let time = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut polled = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::IN)];
        let ready = rustix::event::poll(&mut polled, Some(&time)).is_ok_and(|ready| ready > 0);
        if !ready || self.asking.load(Ordering::SeqCst) {
            // A question takes its own answer; do not spin meanwhile.
            if ready {
                std::thread::sleep(wait);
            }
            return None;
        }
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) | Err(_) => {
                std::thread::sleep(wait);
                None
            }
            Ok(_) => Some(line),
        }
    }

    fn ask_now(&self, question: &str) -> Option<String> {
        let mut err = io::stderr().lock();
        write!(err, "{question}").and_then(|()| err.flush()).ok()?;
        let mut line = String::new();
        let read = match keyboard() {
            Some(keyboard) => BufReader::new(keyboard).read_line(&mut line),
            None => io::stdin().lock().read_line(&mut line),
        };
        match read {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    }

    /// All of stdin, for `-`.
    pub fn read_stdin(&self) -> Result<String, Failure> {
        const LARGEST: u64 = 64 * 1024 * 1024;
        if io::stdin().is_terminal() {
            self.note("reading from the keyboard; end with Ctrl-D");
        }
        let mut bytes = Vec::new();
        let failed = |message: String| {
            Failure::new(Exit::Failed, "input", message, "pipe UTF-8 text into the command")
        };
        io::stdin()
            .lock()
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(format!("stdin cannot be read: {error}")))?;
        if bytes.len() as u64 > LARGEST {
            return Err(failed("stdin holds more than 64 MiB".to_owned()));
        }
        String::from_utf8(bytes).map_err(|_| failed("stdin is not UTF-8 text".to_owned()))
    }
}

fn set(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !value.is_empty() && value != "0")
}

/// Whether to colour, by the common rules: `NO_COLOR` and `TERM=dumb` say no, `CLICOLOR_FORCE` says yes,
/// `CLICOLOR=0` says no, else a terminal gets colours.
fn wants_colour(is_terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") {
        return true;
    }
    is_terminal && variable("CLICOLOR").as_deref() != Some("0") && variable("TERM").as_deref() != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_follows_the_terminal_and_the_environment() {
        for (is_terminal, variables, expected) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (true, &[("CLICOLOR", "0")], false),
            (true, &[("TERM", "dumb")], false),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (true, &[("CLICOLOR", "1")], true),
        ] {
            let variable = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(wants_colour(is_terminal, &variable), expected, "{is_terminal} {variables:?}");
        }
    }
}
