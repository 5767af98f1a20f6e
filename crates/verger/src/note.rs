//! `verger note`: a chat that lives in a note. The form of such a note is in `vault::edit::chat_note`, the loop in `agent`.

mod agents;
mod answer;
mod chat;
mod door;
mod make;
mod run;
mod settings;
mod title;
mod writer;

use crate::args::{Global, NoteWhat};
use crate::door::Door;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Does what was asked.
pub fn note(global: &Global, terminal: &Terminal, what: NoteWhat) -> Result<(), Failure> {
    let open = || Door::open(global, terminal);
    match what {
        NoteWhat::Run { note, model, agent, yes } => run::run(global, &run::Wish { note, model, agent, yes }),
        NoteWhat::New { template, agent, selection, writing } => {
            make::new(&open()?, &make::Wish { template, agent, selection }, writing)
        }
        NoteWhat::Title { note, model, writing } => title::title(global, &note, model, writing),
        NoteWhat::Clear { note, writing } => make::clear(&open()?, &note, writing),
    }
}
