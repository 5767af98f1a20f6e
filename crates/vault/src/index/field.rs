//! What a line of a note counts as when notes are ranked: title, alias, tag, heading or body.
//!
//! One pass, line by line, with no parsing: indexing a hundred thousand notes has a few seconds. What it gets wrong in odd
//! notes (a heading in an indented code block) changes an order, never what is found. Exact facts are the catalog's.

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    /// Plain text.
    Body = 0,
    /// A heading below the title.
    Heading = 1,
    /// A tag, in front matter or in the text.
    Tag = 2,
    /// Another name of the note.
    Alias = 3,
    /// The file's name, the first heading, or `title` in front matter.
    Title = 4,
}

impl Field {
    /// How much more than a word of the body a word here is worth.
    pub fn weight(code: u8) -> u32 {
        match code {
            1 | 2 => 3,
            3 => 5,
            4 => 6,
            _ => 1,
        }
    }
}

/// Follows a note from line to line.
pub(super) struct Fields {
    is_note: bool,
    first: bool,
    in_front: bool,
    /// The field of the list under the key that was read last.
    list: Field,
    fence: Option<(u8, usize)>,
    titled: bool,
}

impl Fields {
    pub fn new(is_note: bool) -> Fields {
        Fields { is_note, first: true, in_front: false, list: Field::Body, fence: None, titled: false }
    }

    /// The field of the next line.
    pub fn of_line(&mut self, line: &[u8]) -> Field {
        if !self.is_note {
            return Field::Body;
        }
        let is_rule = line.trim_ascii_end() == b"---";
        if std::mem::take(&mut self.first) && is_rule {
            self.in_front = true;
            return Field::Body;
        }
        match self.in_front {
            true => self.of_front_line(line, is_rule),
            false => self.of_body_line(line),
        }
    }

    fn of_front_line(&mut self, line: &[u8], is_rule: bool) -> Field {
        if is_rule {
            self.in_front = false;
            return Field::Body;
        }
        let is_key = line.first().is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'-' | b'#'));
        if is_key {
            let key = line.split(|byte| *byte == b':').next().unwrap_or_default();
            self.list = match key.trim_ascii().to_ascii_lowercase().as_slice() {
                b"title" => Field::Title,
                b"alias" | b"aliases" => Field::Alias,
                b"tag" | b"tags" => Field::Tag,
                _ => Field::Body,
            };
        }
        self.list
    }

    fn of_body_line(&mut self, line: &[u8]) -> Field {
        let Some(first) = line.first() else { return Field::Body };
        // Most lines start with a letter.
        if !matches!(first, b'#' | b'`' | b'~' | b' ') {
            return Field::Body;
        }
        let inner = line.trim_ascii_start();
        if let Some((byte, length)) = fence(inner) {
            match self.fence {
                None => self.fence = Some((byte, length)),
                Some((open, least)) if open == byte && length >= least => self.fence = None,
                Some(_) => {}
            }
            return Field::Body;
        }
        let level = inner.iter().take_while(|byte| **byte == b'#').count();
        let is_heading = (1..=6).contains(&level) && inner.get(level).is_none_or(u8::is_ascii_whitespace);
        if self.fence.is_some() || !is_heading {
            return Field::Body;
        }
        if level == 1 && !self.titled {
            self.titled = true;
            return Field::Title;
        }
        Field::Heading
    }
}

fn fence(line: &[u8]) -> Option<(u8, usize)> {
    let byte = *line.first()?;
    let length = line.iter().take_while(|one| **one == byte).count();
    (matches!(byte, b'`' | b'~') && length >= 3).then_some((byte, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_for_what_they_are() {
        let note = "---\ntitle: T\naliases:\n  - A\ntags: [x]\nk: v\n---\n# One\n## Two\n# Three\n```\n# code\n```\n#tag\ntext";
        let mut fields = Fields::new(true);
        let found: String = note
            .lines()
            .map(|line| match fields.of_line(line.as_bytes()) {
                Field::Body => 'b',
                Field::Heading => 'h',
                Field::Tag => 't',
                Field::Alias => 'a',
                Field::Title => 'T',
            })
            .collect();
        assert_eq!(found, "bTaatbbThhbbbbb");
        assert_eq!(Fields::new(false).of_line(b"# x"), Field::Body);
    }
}
