//! In which lines a text stands, by the index alone.
//!
//! A text inside one word: all terms that contain it. A text across words: a term that ends with its first piece, the
//! middle pieces, a term that starts with its last, side by side in one line. Both are exact, because tokens spell their
//! line; where they are not (a space at the end could be any of two things) or where reading a few files costs less than
//! reading long lists, the answer says that it must be looked at.

use super::beside::{Piece, side_by_side};
use super::count::{line_counts, with_lines};
use super::plan::Need;
use super::postings::each_line;
use super::segment::{Damage, Segment};
use super::token::line_tokens;

/// Lines of a segment that match or may match.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Lines {
    /// Any may.
    All,
    /// These, in order: the document in the upper half, the line in the lower.
    These {
        /// Document and line.
        keys: Vec<u64>,
        /// Whether each of them is known to match, without looking.
        exact: bool,
    },
}

/// Documents of a segment that match or may match.
pub(super) enum Docs {
    /// Any may.
    All,
    /// These, in order.
    These {
        /// Document and number of lines.
        counts: Vec<(u32, u32)>,
        /// Whether each of the lines is known to match, without looking.
        exact: bool,
    },
}

/// The documents with lines that fulfil a condition.
pub(super) fn docs(segment: &Segment, need: &Need, whole_word: bool) -> Result<Docs, Damage> {
    docs_by(segment, need, whole_word, line_counts)
}

/// The same for those who do not ask in how many lines: some number that is not 0 stands for it.
pub(super) fn holding(segment: &Segment, need: &Need) -> Result<Docs, Damage> {
    docs_by(segment, need, false, with_lines)
}

fn docs_by(
    segment: &Segment,
    need: &Need,
    whole_word: bool,
    count: impl FnOnce(&Segment, &[u32]) -> Result<Vec<(u32, u32)>, Damage>,
) -> Result<Docs, Damage> {
    if let Need::Text(text) = need {
        let needle = Needle::new(text, whole_word);
        if let [piece] = needle.pieces.as_slice() {
            let terms = needle.terms(segment, 0, piece);
            let exact = needle.exact || terms.is_empty();
            return Ok(Docs::These { counts: count(segment, &terms)?, exact });
        }
    }
    Ok(match lines(segment, need, whole_word)? {
        Lines::All => Docs::All,
        Lines::These { keys, exact } => {
            let docs = keys.chunk_by(|a, b| a >> 32 == b >> 32);
            let counts = docs.map(|lines| ((lines[0] >> 32) as u32, lines.len() as u32)).collect();
            Docs::These { counts, exact }
        }
    })
}

/// The lines that fulfil a condition.
fn lines(segment: &Segment, need: &Need, whole_word: bool) -> Result<Lines, Damage> {
    match need {
        Need::All => Ok(Lines::All),
        Need::Nothing => Ok(Lines::These { keys: Vec::new(), exact: true }),
        Need::Text(text) => with_text(segment, text, whole_word),
        Need::And(needs) => all_of(segment, needs),
        Need::Or(needs) => one_of(segment, needs),
    }
}

fn all_of(segment: &Segment, needs: &[Need]) -> Result<Lines, Damage> {
    let mut found = Lines::All;
    for need in needs {
        found = match (found, lines(segment, need, false)?) {
            (Lines::All, other) | (other, Lines::All) => other,
            (Lines::These { keys: a, .. }, Lines::These { keys: b, .. }) => {
                Lines::These { keys: common(&a, &b), exact: false }
            }
        };
        if matches!(&found, Lines::These { keys, .. } if keys.is_empty()) {
            break;
        }
    }
    Ok(found)
}

fn one_of(segment: &Segment, needs: &[Need]) -> Result<Lines, Damage> {
    let mut all = Vec::new();
    for need in needs {
        match lines(segment, need, false)? {
            Lines::All => return Ok(Lines::All),
            Lines::These { keys, .. } => all.extend(keys),
        }
    }
    all.sort();
    all.dedup();
    Ok(Lines::These { keys: all, exact: false })
}

fn common(a: &[u64], b: &[u64]) -> Vec<u64> {
    let (mut at, mut out) = (0, Vec::new());
    for key in a {
        while b.get(at).is_some_and(|other| other < key) {
            at += 1;
        }
        if b.get(at) == Some(key) {
            out.push(*key);
        }
    }
    out
}

/// A text cut into pieces.
struct Needle {
    pieces: Vec<(Vec<u8>, bool)>,
    whole_word: bool,
    open_start: bool,
    open_end: bool,
    /// Whether the pieces say all there is to say.
    exact: bool,
}

impl Needle {
    /// Cuts a text into pieces, and drops spaces at its ends: such a space is a token here and none there.
    fn new(text: &str, whole_word: bool) -> Needle {
        let mut pieces = Vec::new();
        line_tokens(text.as_bytes(), &mut Vec::new(), |text, _, word, _| pieces.push((text.to_vec(), word)));
        let is_space = |piece: Option<&(Vec<u8>, bool)>| piece.is_some_and(|(text, _)| text == b" ");
        let open_end = !is_space(pieces.last());
        if !open_end {
            pieces.pop();
        }
        let open_start = !is_space(pieces.first());
        if !open_start {
            pieces.remove(0);
        }
        let ends = [pieces.first(), pieces.last()];
        let mut exact = open_start && open_end;
        // Whether a word ends where the text ends is known only if a word is there.
        exact &= !whole_word || ends.into_iter().flatten().all(|(_, word)| *word);
        // Characters that a line is cut at, or that the scanner strips.
        exact &= !text.contains('\r');
        Needle { pieces, whole_word, open_start, open_end, exact }
    }

    /// The terms that could hold a piece.
    fn terms(&self, segment: &Segment, at: usize, (text, word): &(Vec<u8>, bool)) -> Vec<u32> {
        let closed = self.whole_word && *word;
        let open_start = at == 0 && self.open_start && !closed;
        let open_end = at + 1 == self.pieces.len() && self.open_end && !closed;
        match (open_start, open_end) {
            (true, true) => segment.containing(text),
            (true, false) => segment.ending(text),
            (false, true) => segment.starting(text).collect(),
            (false, false) => segment.find_term(text).into_iter().collect(),
        }
    }
}

fn with_text(segment: &Segment, text: &str, whole_word: bool) -> Result<Lines, Damage> {
    let needle = Needle::new(text, whole_word);
    if needle.pieces.is_empty() {
        return Ok(Lines::All);
    }
    let mut exact = needle.exact;
    let mut found: Vec<Piece> = Vec::with_capacity(needle.pieces.len());
    for (at, piece) in needle.pieces.iter().enumerate() {
        let terms = needle.terms(segment, at, piece);
        let occurrences = terms.iter().map(|term| u64::from(segment.term(*term).occurrences)).sum();
        if terms.is_empty() {
            return Ok(Lines::These { keys: Vec::new(), exact: true });
        }
        found.push(Piece { at: at as u32, terms, occurrences });
    }
    found.sort_by_key(|piece| piece.occurrences);
    let keys = match found.as_slice() {
        [piece] => piece_lines(segment, piece)?,
        pieces => {
            let (keys, known) = side_by_side(segment, pieces)?;
            exact = (exact || keys.is_empty()) && known;
            keys
        }
    };
    Ok(Lines::These { keys, exact })
}

fn piece_lines(segment: &Segment, piece: &Piece) -> Result<Vec<u64>, Damage> {
    let mut runs = Runs::default();
    for term in &piece.terms {
        let mut run = runs.start(segment.term(*term).occurrences as usize);
        let mut before = 0;
        each_line(segment.lines(*term)?, |doc, line| {
            let key = u64::from(doc) << 32 | u64::from(line);
            if line > 0 && key != before {
                run.push(key);
            }
            before = key;
        });
        runs.end(run);
    }
    Ok(runs.join())
}

/// Sorted lists on their way into one. Most of a thousand words that contain a text are rare, and a few are not: the short
/// lists are sorted together, the long ones only merged.
pub(super) struct Runs<T> {
    short: Vec<T>,
    long: Vec<Vec<T>>,
}

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs { short: Vec::new(), long: Vec::new() }
    }
}

impl<T: Ord + Copy> Runs<T> {
    const SHORT: usize = 2_048;

    pub fn start(&self, length: usize) -> Vec<T> {
        Vec::with_capacity(length)
    }

    pub fn end(&mut self, run: Vec<T>) {
        match run.len() < Self::SHORT {
            true => self.short.extend(run),
            false => self.long.push(run),
        }
    }

    /// All of them in order, each value once.
    pub fn join(mut self) -> Vec<T> {
        self.short.sort_unstable();
        self.short.dedup();
        self.long.push(self.short);
        while self.long.len() > 1 {
            self.long.sort_by_key(|run| std::cmp::Reverse(run.len()));
            if let (Some(a), Some(b)) = (self.long.pop(), self.long.pop()) {
                self.long.push(merged(&a, &b));
            }
        }
        self.long.pop().unwrap_or_default()
    }
}

fn merged<T: Ord + Copy>(a: &[T], b: &[T]) -> Vec<T> {
    if a.is_empty() {
        return b.to_vec();
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::with_capacity(a.len() + b.len());
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        out.push(*x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    out.extend(&a[i..]);
    out.extend(&b[j..]);
    out
}
