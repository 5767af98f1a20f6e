//! The audit read in part: its end first and backwards, later only what was added. A vault in daily use has hundreds of
//! thousands of lines, and whoever draws a month needs neither the rest of them nor their inputs.

use std::borrow::Cow;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::PoisonError;

use serde::Deserialize;

use super::{Audit, Ended, unusable};
use crate::refusal::Refusal;

/// How much is read at a time.
const CHUNK: u64 = 256 * 1024;

/// A line, as far as somebody needs it who counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Brief<'l> {
    /// RFC 3339, UTC.
    #[serde(borrow)]
    pub time: Cow<'l, str>,
    /// Who acted.
    #[serde(borrow)]
    pub agent: Cow<'l, str>,
    /// The tool.
    #[serde(borrow)]
    pub tool: Cow<'l, str>,
    /// How it ended.
    pub outcome: Ended,
    /// The reason code of a refusal or denial.
    #[serde(borrow, default)]
    pub reason: Option<Cow<'l, str>>,
    /// The checkpoint from which it can be undone.
    #[serde(borrow, default)]
    pub checkpoint: Option<Cow<'l, str>>,
}

/// Which part of which file has been read: whole lines from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    file: (u64, u64),
    /// Where the first line that was read begins.
    pub start: u64,
    /// Where the last one ends.
    pub end: u64,
}

impl Audit {
    /// An empty span at the end of the file, to read backwards from.
    pub fn here(&self) -> Result<Span, Refusal> {
        let file = self.file()?;
        let look = || -> std::io::Result<Span> {
            let data = file.metadata()?;
            // A line that is being written, or was cut off, is for those who come later.
            let end = end_of_lines(&file, data.len())?;
            Ok(Span { file: (data.dev(), data.ino()), start: end, end })
        };
        look().map_err(|error| unusable(&self.path, &error))
    }

    /// Reads what was added behind a span. False if the file is another one by now, or shorter: then all is to be read anew.
    pub fn forwards(&self, span: &mut Span, each: &mut dyn FnMut(&Brief<'_>)) -> Result<bool, Refusal> {
        let now = self.here()?;
        if now.file != span.file || now.end < span.end {
            return Ok(false);
        }
        let file = self.file()?;
        let mut read = || -> std::io::Result<()> {
            while span.end < now.end {
                let mut size = CHUNK.min(now.end - span.end);
                let (bytes, whole) = loop {
                    let bytes = piece(&file, span.end, size)?;
                    match bytes.iter().rposition(|byte| *byte == b'\n') {
                        Some(last) => break (bytes, last + 1),
                        // One line is longer than the piece.
                        None if span.end + size < now.end => size = (size * 2).min(now.end - span.end),
                        None => return Ok(()),
                    }
                };
                lines(&bytes[..whole]).filter_map(brief).for_each(|line| each(&line));
                span.end += whole as u64;
            }
            Ok(())
        };
        read().map_err(|error| unusable(&self.path, &error))?;
        Ok(true)
    }

    /// Reads what stands before a span, the newest line first, until `each` breaks or nothing is left.
    pub fn backwards(
        &self,
        span: &mut Span,
        each: &mut dyn FnMut(&Brief<'_>) -> ControlFlow<()>,
    ) -> Result<(), Refusal> {
        let file = self.file()?;
        let mut read = || -> std::io::Result<()> {
            let mut size = CHUNK;
            while span.start > 0 {
                let from = span.start.saturating_sub(size);
                let bytes = piece(&file, from, span.start - from)?;
                // The piece begins in the middle of a line, unless it is the first one.
                let first = match from {
                    0 => 0,
                    _ => match bytes[..bytes.len() - 1].iter().position(|byte| *byte == b'\n') {
                        Some(end) => end + 1,
                        None => {
                            size *= 2;
                            continue;
                        }
                    },
                };
                for line in lines(&bytes[first..]).rev() {
                    if brief(line).is_some_and(|line| each(&line).is_break()) {
                        return Ok(());
                    }
                    span.start -= line.len() as u64 + 1;
                }
                span.start = from + first as u64;
                size = CHUNK;
            }
            Ok(())
        };
        read().map_err(|error| unusable(&self.path, &error))
    }

    fn file(&self) -> Result<File, Refusal> {
        self.ready()?;
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.file.try_clone().map_err(|error| unusable(&self.path, &error))
    }
}

fn piece(file: &File, from: u64, size: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

fn end_of_lines(file: &File, length: u64) -> std::io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let from = end.saturating_sub(CHUNK);
        let bytes = piece(file, from, end - from)?;
        if let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + last as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// The lines of a text that ends with one.
fn lines(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    text.split(|byte| *byte == b'\n')
}

fn brief(line: &[u8]) -> Option<Brief<'_>> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Entry;

    fn entry(number: usize, padding: usize) -> Entry {
        Entry {
            time: format!("2026-03-14T09:00:{:02}Z", number % 60),
            task: "t".to_owned(),
            agent: "a".to_owned(),
            call: None,
            tool: format!("tool-{number}"),
            outcome: Ended::Answered,
            reason: None,
            approval: None,
            checkpoint: None,
            paths: vec!["x".repeat(padding)],
            bytes: None,
            input: serde_json::Value::Null,
            milliseconds: 1,
        }
    }

    fn number(line: &Brief<'_>) -> usize {
        line.tool.trim_start_matches("tool-").parse().unwrap()
    }

    #[test]
    fn lines_are_read_backwards_and_what_is_added_is_read_forwards() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::open(&folder.path().join("audit.jsonl")).unwrap();
        // Lines of all lengths, one of them longer than a piece.
        for at in 0..300 {
            let padding = if at == 150 { 600_000 } else { at * 17 % 5000 };
            audit.append(entry(at, padding)).unwrap();
        }
        let mut span = audit.here().unwrap();
        let mut seen = Vec::new();
        let until = |stop: usize, span: &mut Span, seen: &mut Vec<usize>| {
            audit
                .backwards(span, &mut |line| match number(line) < stop {
                    true => ControlFlow::Break(()),
                    false => {
                        seen.push(number(line));
                        ControlFlow::Continue(())
                    }
                })
                .unwrap();
        };
        until(200, &mut span, &mut seen);
        assert_eq!(seen, (200..300).rev().collect::<Vec<_>>());
        until(0, &mut span, &mut seen);
        assert_eq!(seen, (0..300).rev().collect::<Vec<_>>());
        assert_eq!(span.start, 0);
        for at in 300..320 {
            audit.append(entry(at, 600_000 * usize::from(at == 310))).unwrap();
        }
        let mut added = Vec::new();
        assert!(audit.forwards(&mut span, &mut |line| added.push(number(line))).unwrap());
        assert_eq!(added, (300..320).collect::<Vec<_>>());
        assert!(audit.forwards(&mut span, &mut |_| panic!("nothing was added")).unwrap());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "damages the file")]
    fn a_line_that_is_cut_off_waits_and_a_file_put_aside_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::open(&path).unwrap();
        assert_eq!(audit.here().unwrap().end, 0);
        audit.append(entry(1, 0)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"time\":\"2026"].concat()).unwrap();
        let mut span = audit.here().unwrap();
        assert_eq!(span.end, whole.len() as u64);
        std::fs::write(&path, b"").unwrap();
        assert!(!audit.forwards(&mut span, &mut |_| {}).unwrap());
        std::fs::remove_file(&path).unwrap();
        audit.append(entry(2, 0)).ok();
        std::fs::write(&path, &whole).unwrap();
        assert!(!audit.forwards(&mut span, &mut |_| {}).unwrap());
    }
}
