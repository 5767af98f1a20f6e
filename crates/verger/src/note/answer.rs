//! An answer on its way into a note: what the model says, and lines about what it did in between.

use vault::edit::chat_note::compose;

/// Text without a line end that is longer is written all the same.
const LONGEST_LINE: usize = 10_000;

/// An answer as far as it is known.
#[derive(Debug, Default)]
pub struct Answer {
    pieces: Vec<Piece>,
    /// How much there was when the model began to say what it says now.
    mark: (usize, usize),
}

#[derive(Debug)]
enum Piece {
    /// What the model says.
    Said(String),
    /// What was done, a line each. People see it; it is not sent back.
    Done(Vec<String>),
}

impl Answer {
    /// The model says more.
    pub fn say(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Said(said)) => said.push_str(text),
            _ => self.pieces.push(Piece::Said(text.to_owned())),
        }
    }

    /// What it said since the last mark is void.
    pub fn void(&mut self) {
        self.pieces.truncate(self.mark.0);
        if let Some(Piece::Said(said)) = self.pieces.last_mut() {
            said.truncate(self.mark.1);
        }
    }

    /// What is said so far holds.
    pub fn hold(&mut self) {
        let length = match self.pieces.last() {
            Some(Piece::Said(said)) => said.len(),
            _ => 0,
        };
        self.mark = (self.pieces.len(), length);
    }

    /// Something was done.
    pub fn did(&mut self, line: String) {
        match self.pieces.last_mut() {
            Some(Piece::Done(lines)) => lines.push(line),
            _ => self.pieces.push(Piece::Done(vec![line])),
        }
        self.hold();
    }

    /// Adds a paragraph of Verger's own.
    pub fn add(&mut self, paragraph: &str) {
        let gap = if self.pieces.is_empty() { "" } else { "\n\n" };
        self.say(&format!("{gap}{paragraph}"));
        self.hold();
    }

    /// All of it, as it stands in the note.
    pub fn whole(&self, newline: &str) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Said(said) => {
                    let said = compose::defused(said, newline);
                    out += if out.is_empty() || out.ends_with(newline) { said.trim_start() } else { &said };
                }
                Piece::Done(lines) => {
                    out.truncate(out.trim_end().len());
                    if !out.is_empty() {
                        out += &newline.repeat(2);
                    }
                    out += &compose::comment(lines, newline);
                    out += &newline.repeat(2);
                }
            }
        }
        out
    }

    /// What can be written now: up to the last line end, so that nobody sees half a link or half a code fence.
    pub fn ready(&self, newline: &str) -> String {
        let mut whole = self.whole(newline);
        let end = whole.rfind('\n').map_or(0, |end| end + 1);
        if whole.len() - end <= LONGEST_LINE {
            whole.truncate(end);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_ready_up_to_its_last_line_end_and_what_was_done_stands_in_a_comment() {
        let mut answer = Answer::default();
        answer.say("Let me look.");
        assert_eq!(answer.ready("\n"), "");
        answer.did("read a.md".to_owned());
        answer.did("read b.md".to_owned());
        answer.say("\nFound [[a");
        assert_eq!(
            answer.ready("\n"),
            "Let me look.\n\n=begin-chatgpt-md-comment\nread a.md\nread b.md\n=end-chatgpt-md-comment\n\n"
        );
        answer.say("]]\n");
        assert!(answer.ready("\r\n").ends_with("=end-chatgpt-md-comment\r\n\r\nFound [[a]]\r\n"));
        answer.say(&"x".repeat(LONGEST_LINE + 1));
        assert!(answer.ready("\n").ends_with('x'));
    }

    #[test]
    fn what_is_void_goes_and_what_held_before_stays() {
        let mut answer = Answer::default();
        answer.say("one ");
        answer.hold();
        answer.say("two ");
        answer.void();
        answer.say("three");
        assert_eq!(answer.whole("\n"), "one three");
        answer.did("x".to_owned());
        answer.say("lost");
        answer.void();
        assert!(answer.whole("\n").trim_end().ends_with("comment"));
        let mut answer = Answer::default();
        answer.say("lost");
        answer.void();
        assert_eq!(answer.whole("\n"), "");
        answer.add("Error: no.");
        assert_eq!(answer.whole("\n"), "Error: no.");
    }
}
