//! File contents in the log: named by their BLAKE3 hash, stored once, compressed where that helps.

use std::cell::RefCell;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, Result};

/// The name of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(*blake3::hash(bytes).as_bytes())
    }

    /// The first 16 hex digits: what `ifMatch` and listings show.
    pub fn short(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = self.0[..8].iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        blake3::Hash::from_hex(&text).map(|hash| Hash(*hash.as_bytes())).map_err(de::Error::custom)
    }
}

/// How a blob's bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packing {
    /// As they are.
    Raw,
    /// Compressed with zstd.
    Zstd,
}

/// Small texts do not compress; the attempt costs more than it saves.
const WORTH_PACKING: usize = 512;
const LEVEL: i32 = 1;

/// Packs bytes for the log.
pub fn pack(bytes: &[u8]) -> (Packing, Vec<u8>) {
    if bytes.len() >= WORTH_PACKING
        && let Ok(packed) = compress(bytes)
        && packed.len() < bytes.len()
    {
        return (Packing::Zstd, packed);
    }
    (Packing::Raw, bytes.to_vec())
}

thread_local! {
    /// Making a compressor costs more than using it on one note, so it is kept.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(zstd::bulk::Compressor::new(LEVEL)?),
        };
        compressor.compress(bytes)
    })
}

/// Unpacks a blob and makes sure that it is what its name says.
pub fn unpack(packing: Packing, stored: Vec<u8>, size: usize, name: &Hash) -> Result<Vec<u8>> {
    let damaged =
        |detail: String| Error::Damaged { what: format!("the stored file {}", name.short()), detail };
    let bytes = match packing {
        Packing::Raw => stored,
        Packing::Zstd => zstd::bulk::decompress(&stored, size).map_err(|error| damaged(error.to_string()))?,
    };
    if Hash::of(&bytes) != *name {
        return Err(damaged("its bytes do not match its name".to_owned()));
    }
    Ok(bytes)
}
