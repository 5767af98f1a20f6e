//! Markdown as it streams in, with the colours of a terminal: headings, code, emphasis, quotes. The text itself is not
//! changed; only styles are put around it, so that what is copied from the screen is what the model wrote.

use anstyle::{AnsiColor, Style};

/// Paints text that comes in pieces.
#[derive(Debug, Default)]
pub struct Painter {
    /// What of the line is held back until it is clear what the line is.
    held: String,
    /// The style of the line that runs.
    line: Option<Style>,
    in_fence: bool,
    bold: bool,
    code: bool,
    /// A single star that may be the first of two.
    star: bool,
}

impl Painter {
    /// The piece as it should be printed now.
    pub fn paint(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len() + 16);
        for letter in piece.chars() {
            match (letter, self.line) {
                ('\n', _) => {
                    out.push_str(&self.end());
                    out.push('\n');
                }
                (_, None) => {
                    self.held.push(letter);
                    if is_clear(&self.held) {
                        self.begin(&mut out);
                    }
                }
                (_, Some(style)) => self.letter(letter, style, &mut out),
            }
        }
        out
    }

    /// Ends the line that runs.
    pub fn end(&mut self) -> String {
        let mut out = String::new();
        if !self.held.is_empty() {
            self.begin(&mut out);
        }
        if self.star {
            out.push('*');
        }
        if let Some(style) = self.line.take() {
            out.push_str(&reset(style, self.bold || self.code));
        }
        (self.bold, self.code, self.star) = (false, false, false);
        out
    }

    /// The line is known now: its style, and what was held back.
    fn begin(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        let is_fence = held.trim_start().starts_with("```") || held.trim_start().starts_with("~~~");
        let style = style(&held, self.in_fence || is_fence);
        if is_fence {
            self.in_fence = !self.in_fence;
        }
        self.line = Some(style);
        out.push_str(&style.render().to_string());
        for letter in held.chars() {
            self.letter(letter, style, out);
        }
    }

    fn letter(&mut self, letter: char, style: Style, out: &mut String) {
        if self.in_fence {
            out.push(letter);
            return;
        }
        match letter {
            '*' if !self.code => {
                self.star = !self.star;
                if !self.star {
                    self.bold = !self.bold;
                    match self.bold {
                        true => out.push_str(&format!("{}**", Style::new().bold().render())),
                        false => {
                            out.push_str(&format!("**{}{}", Style::new().render_reset(), style.render()))
                        }
                    }
                }
                return;
            }
            '`' => {
                self.flush_star(out);
                self.code = !self.code;
                match self.code {
                    true => out.push_str(&format!("{}`", cyan().render())),
                    false => out.push_str(&format!("`\u{1b}[0m{}", style.render())),
                }
                return;
            }
            _ => {}
        }
        self.flush_star(out);
        out.push(letter);
    }

    fn flush_star(&mut self, out: &mut String) {
        if std::mem::take(&mut self.star) {
            out.push('*');
        }
    }
}

/// Whether the beginning of a line says what it is.
fn is_clear(held: &str) -> bool {
    let start = held.trim_start();
    if start.is_empty() {
        return held.len() >= 8;
    }
    let marks = start.chars().take_while(|letter| matches!(letter, '#' | '`' | '~' | '>')).count();
    marks < start.chars().count() || marks >= 7
}

fn style(held: &str, in_fence: bool) -> Style {
    let start = held.trim_start();
    if in_fence {
        return cyan();
    }
    let marks = start.chars().take_while(|letter| *letter == '#').count();
    if (1..=6).contains(&marks) && start[marks..].starts_with(' ') {
        return Style::new().bold();
    }
    if start.starts_with('>') {
        return Style::new().dimmed();
    }
    Style::new()
}

fn cyan() -> Style {
    Style::new().fg_color(Some(AnsiColor::Cyan.into()))
}

fn reset(style: Style, inner: bool) -> String {
    if inner { "\u{1b}[0m".to_owned() } else { format!("{style:#}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without styles.
    fn bare(text: &str) -> String {
        let mut out = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1b}' => while letters.next().is_some_and(|letter| letter != 'm') {},
                letter => out.push(letter),
            }
        }
        out
    }

    #[test]
    fn only_styles_are_added_wherever_the_pieces_are_cut() {
        let text = "# Title\n\nSome **bold** and `code` and 2 * 3.\n> quote\n```rust\nlet a = **b;\n```\n- *item*\n####### no\n**open\nend";
        for size in 1..9 {
            let mut painter = Painter::default();
            let letters: Vec<char> = text.chars().collect();
            let mut out = String::new();
            for piece in letters.chunks(size) {
                out.push_str(&painter.paint(&piece.iter().collect::<String>()));
            }
            out.push_str(&painter.end());
            assert_eq!(bare(&out), text, "in pieces of {size}");
            assert!(out.contains("\u{1b}[1m# Title\u{1b}[0m"), "{out:?}");
        }
    }
}
