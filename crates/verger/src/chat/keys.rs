//! What a person types while a turn runs: it is heard at the next round.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::screen::Screen;
use crate::terminal::Terminal;

/// How long a look at the keyboard takes.
const LOOK: Duration = Duration::from_millis(100);

/// Listens until it is dropped.
pub struct Listening {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Listens to the keyboard, if there is one that a person sits at. While a question is asked, its answer is not taken.
pub fn listen(screen: &Arc<Screen>, terminal: &Arc<Terminal>) -> Option<Listening> {
    use std::io::IsTerminal;
    if !std::io::stdin().is_terminal() || terminal.json {
        return None;
    }
    let over = Arc::new(AtomicBool::new(false));
    let (screen, terminal, ended) = (Arc::clone(screen), Arc::clone(terminal), Arc::clone(&over));
    let thread = std::thread::spawn(move || {
        while !ended.load(Ordering::SeqCst) {
            let Some(line) = terminal.line_if_typed(LOOK) else { continue };
            let line = line.trim();
            if !line.is_empty() {
                screen.add(line.to_owned());
                terminal.note("(heard; it goes in at the next round)");
            }
        }
    });
    Some(Listening { over, thread: Some(thread) })
}
