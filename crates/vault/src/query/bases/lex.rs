//! Cuts an expression into words and signs. A slash starts a pattern where no value stands in front of it.

/// A piece of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A number.
    Number(f64),
    /// A text in quotes, its escapes resolved.
    Text(String),
    /// A pattern and the letters behind it.
    Pattern(String, String),
    /// A name.
    Name(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// Behind the last piece.
    End,
}

/// A piece and where it stands, in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub token: Token,
    pub start: usize,
    pub end: usize,
}

/// What cannot be cut, where, and what to try.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub at: usize,
    pub message: String,
    pub hint: String,
}

impl Mistake {
    pub(crate) fn new(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake { at, message: message.into(), hint: hint.into() }
    }
}

/// The longest first, so that `==` is not read as two.
const SIGNS: [&str; 22] = [
    "==", "!=", ">=", "<=", "&&", "||", "+", "-", "*", "/", "%", "!", ">", "<", "(", ")", "[", "]", "{", "}",
    ",", ".",
];

/// All pieces, the end included.
pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, Mistake> {
    let mut out: Vec<Placed> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, end) = piece(text, at, c, out.last().map(|placed| &placed.token))?;
        out.push(Placed { token, start: at, end });
        at = end;
    }
    out.push(Placed { token: Token::End, start: text.len(), end: text.len() });
    Ok(out)
}

fn piece(text: &str, at: usize, c: char, last: Option<&Token>) -> Result<(Token, usize), Mistake> {
    let rest = &text[at..];
    let next_is_digit = || rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if c.is_ascii_digit() || c == '.' && next_is_digit() && !ends_value(last) {
        return number(text, at);
    }
    if is_name_start(c) {
        let end = at + rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
        return Ok((Token::Name(text[at..end].to_owned()), end));
    }
    match c {
        '"' | '\'' => quoted(text, at, c),
        '/' if !ends_value(last) => pattern(text, at),
        ':' => Ok((Token::Sign(":"), at + 1)),
        _ => sign(rest, at, c),
    }
}

fn sign(rest: &str, at: usize, c: char) -> Result<(Token, usize), Mistake> {
    for (wrong, hint) in [
        ("===", "equality is written `==`"),
        ("!==", "it is written `!=`"),
        ("=>", "`map`, `filter` and `reduce` take an expression with `value` and `index`, no arrow"),
        ("??", "write `if(a, a, b)`"),
        ("?", "write `if(condition, yes, no)`"),
        ("**", "there is no power operator; multiply"),
    ] {
        if rest.starts_with(wrong) {
            return Err(Mistake::new(at, format!("there is no operator `{wrong}`"), hint));
        }
    }
    if let Some(found) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(found), at + found.len()));
    }
    let hint = match c {
        '=' => "equality is written `==`",
        '&' => "and is written `&&`",
        '|' => "or is written `||`",
        '#' => "a tag is a text: `file.hasTag(\"project\")`",
        '“' | '”' | '„' | '‘' | '’' => "texts stand in straight quotes",
        _ => "see the operators of bases: + - * / % == != > < >= <= ! && ||",
    };
    Err(Mistake::new(at, format!("`{c}` has no meaning here"), hint))
}

fn ends_value(last: Option<&Token>) -> bool {
    match last {
        Some(Token::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
        Some(Token::End) | None => false,
        Some(_) => true,
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '$') || !c.is_ascii() && !c.is_whitespace() && !is_quote(c)
}

fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_alphanumeric()
}

fn is_quote(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‘' | '’' | '«' | '»')
}

/// Digits; a point belongs to them only if a digit follows, so that `1.isTruthy()` is a call.
fn number(text: &str, at: usize) -> Result<(Token, usize), Mistake> {
    let bytes = text.as_bytes();
    let digits = |mut from: usize| {
        while bytes.get(from).is_some_and(u8::is_ascii_digit) {
            from += 1;
        }
        from
    };
    let mut end = digits(at);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let power = digits(end + 1 + sign);
        end = if power > end + 1 + sign { power } else { end };
    }
    match text[at..end].parse() {
        Ok(number) => Ok((Token::Number(number), end)),
        Err(_) => Err(Mistake::new(at, "this is no number", "numbers are written 42 or 3.14")),
    }
}

fn quoted(text: &str, at: usize, quote: char) -> Result<(Token, usize), Mistake> {
    let mut out = String::new();
    let mut chars = text[at + 1..].char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, 'r')) => out.push('\r'),
                Some((from, 'u')) => {
                    let digits = text[at + 1..].get(from + 1..from + 5);
                    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    match code.and_then(char::from_u32) {
                        Some(c) => {
                            out.push(c);
                            chars.nth(3);
                        }
                        None => out.push('u'),
                    }
                }
                Some((_, other)) => out.push(other),
                None => break,
            },
            c if c == quote => return Ok((Token::Text(out), at + 1 + place + 1)),
            c => out.push(c),
        }
    }
    Err(Mistake::new(at, "this text is never closed", format!("close it with {quote}")))
}

fn pattern(text: &str, at: usize) -> Result<(Token, usize), Mistake> {
    let mut in_class = false;
    let mut chars = text[at + 1..].char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '\n' => break,
            '/' if !in_class => {
                let source = text[at + 1..at + 1 + place].to_owned();
                let rest = &text[at + 2 + place..];
                let length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                return Ok((Token::Pattern(source, rest[..length].to_owned()), at + 2 + place + length));
            }
            _ => {}
        }
    }
    Err(Mistake::new(at, "this pattern is never closed", "a pattern stands between slashes: `/abc/`"))
}
