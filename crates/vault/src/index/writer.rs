//! Writes a segment from front to back: postings as they come, then vocabulary, documents, checksums and the footer.
//!
//! Called by the batch that indexes notes, into memory, and by the merge, into a file. [`super::segment`] reads it.

use std::io::{self, Write};

use super::postings::Streams;
use super::segment::{BLOCK, Doc, FOOTER, Kind, MAGIC, VERSION, digest};

/// Whether a segment carries the hashes of its blocks: a file does, bytes in memory need none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksums {
    Yes,
    No,
}

/// A segment as it is written. Terms come in byte order, documents in path order.
pub(super) struct Writer<W: Write> {
    out: Hashing<W>,
    vocabulary: Vec<u8>,
    terms: Vec<u8>,
    docs: Vec<u8>,
    paths: Vec<u8>,
}

/// What is written down of a term.
pub(super) struct TermEntry<'a> {
    pub text: &'a [u8],
    pub docs: u32,
    pub occurrences: u32,
    pub streams: Streams<'a>,
    pub last_doc: u32,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W, checksums: Checksums) -> io::Result<Writer<W>> {
        let mut out = Hashing {
            out,
            written: 0,
            block: Vec::new(),
            hashes: Vec::new(),
            on: checksums == Checksums::Yes,
        };
        out.put(MAGIC)?;
        Ok(Writer { out, vocabulary: vec![b'\n'], terms: Vec::new(), docs: Vec::new(), paths: Vec::new() })
    }

    pub fn term(&mut self, term: &TermEntry<'_>) -> io::Result<()> {
        let start = u32::try_from(self.vocabulary.len()).map_err(too_large)?;
        let Streams { docs, lines, places } = term.streams;
        for number in [start, term.docs, term.occurrences, term.last_doc] {
            self.terms.extend(number.to_le_bytes());
        }
        self.terms.extend(self.out.written.to_le_bytes());
        for part in [docs, lines] {
            self.terms.extend(u32::try_from(part.len()).map_err(too_large)?.to_le_bytes());
        }
        self.vocabulary.extend(term.text);
        self.vocabulary.push(b'\n');
        [docs, lines, places].into_iter().try_for_each(|part| self.out.put(part))
    }

    pub fn doc(&mut self, path: &str, doc: &Doc) -> io::Result<()> {
        self.paths.extend(path.as_bytes());
        let kind = match doc.kind {
            Kind::Text => 0u32,
            Kind::Binary => 1,
            Kind::Unread => 2,
        };
        let end = u32::try_from(self.paths.len()).map_err(too_large)?;
        for number in [end, kind, doc.words, doc.lines] {
            self.docs.extend(number.to_le_bytes());
        }
        self.docs.extend(doc.stat.size.to_le_bytes());
        self.docs.extend(doc.stat.modified_ns.to_le_bytes());
        self.docs.extend(doc.stat.inode.to_le_bytes());
        Ok(())
    }

    /// Writes the rest and gives back where it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        let mut marks = Vec::with_capacity(5);
        for part in [&self.vocabulary, &self.terms, &self.docs, &self.paths] {
            marks.push(self.out.written);
            self.out.put(part)?;
        }
        marks.push(self.out.written);
        let hashes = self.out.end_of_blocks()?;
        self.out.out.write_all(&hashes)?;
        let length = self.out.written + hashes.len() as u64 + FOOTER as u64;
        let mut footer = u64::from(VERSION).to_le_bytes().to_vec();
        marks.iter().chain([&0, &length]).for_each(|number| footer.extend(number.to_le_bytes()));
        footer.extend(0u64.to_le_bytes());
        footer.extend(digest(&hashes));
        let hash = digest(&footer);
        footer.extend(hash);
        footer.extend(MAGIC);
        self.out.out.write_all(&footer)?;
        Ok(self.out.out)
    }
}

fn too_large(_: std::num::TryFromIntError) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "the vault is too large for the text index")
}

struct Hashing<W: Write> {
    out: W,
    written: u64,
    block: Vec<u8>,
    hashes: Vec<u8>,
    on: bool,
}

impl<W: Write> Hashing<W> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        if !self.on {
            return self.out.write_all(bytes);
        }
        while self.block.len() + bytes.len() >= BLOCK {
            let (now, later) = bytes.split_at(BLOCK - self.block.len());
            self.block.extend(now);
            bytes = later;
            self.hashes.extend(digest(&self.block));
            self.out.write_all(&self.block)?;
            self.block.clear();
        }
        self.block.extend(bytes);
        Ok(())
    }

    fn end_of_blocks(&mut self) -> io::Result<Vec<u8>> {
        if !self.block.is_empty() {
            self.hashes.extend(digest(&self.block));
            self.out.write_all(&self.block)?;
        }
        Ok(std::mem::take(&mut self.hashes))
    }
}
