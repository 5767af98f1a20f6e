//! Reads tensors out of a safetensors file, one after the other, so that the file is never in memory as a whole.
//!
//! The format: the length of a JSON header (u64, little-endian), the header with type, shape and place of every tensor,
//! then the numbers. Nothing in the header is believed before it was compared with the file's size.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use serde_json::{Map, Value};

use super::files::Folder;
use crate::Error;

/// A longer header is no header.
const LONGEST_HEADER: u64 = 64 * 1024 * 1024;

pub(super) struct Tensors<'f> {
    folder: &'f Folder,
    name: &'static str,
    file: File,
    size: u64,
    header: Map<String, Value>,
    /// Where the numbers begin.
    start: u64,
}

/// Where a tensor lies and what it is.
struct Place {
    kind: String,
    shape: Vec<usize>,
    from: u64,
    bytes: usize,
}

impl<'f> Tensors<'f> {
    pub(super) fn open(folder: &'f Folder, name: &'static str) -> Result<Tensors<'f>, Error> {
        let wrong = |message: &str| folder.wrong(name, message);
        let mut file = folder.file(name)?;
        let size = file.metadata().map_err(|error| wrong(&format!("it cannot be read ({error})")))?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| wrong("it is too short for a safetensors file"))?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER || length.saturating_add(8) > size {
            return Err(wrong("it is not a safetensors file, or it was cut off"));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(|_| wrong("its header was cut off"))?;
        let header: Map<String, Value> = serde_json::from_slice(&header)
            .map_err(|error| wrong(&format!("its header is not what safetensors writes ({error})")))?;
        Ok(Tensors { folder, name, file, size, header, start: length + 8 })
    }

    pub(super) fn has(&self, tensor: &str) -> bool {
        self.header.contains_key(tensor)
    }

    pub(super) fn wrong(&self, message: &str) -> Error {
        self.folder.wrong(self.name, message)
    }

    /// The shape of a tensor.
    pub(super) fn shape(&self, tensor: &str) -> Result<Vec<usize>, Error> {
        Ok(self.place(tensor)?.shape)
    }

    /// A tensor as numbers; it must have this shape.
    pub(super) fn floats(&mut self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let place = self.place(tensor)?;
        if place.shape != shape {
            let message = format!("`{tensor}` has the shape {:?}; {shape:?} was expected", place.shape);
            return Err(self.wrong(&message));
        }
        let bytes = self.bytes(tensor, &place)?;
        let numbers = decode(&place.kind, &bytes);
        let numbers = numbers.ok_or_else(|| {
            self.wrong(&format!(
                "`{tensor}` has numbers of type {}; F32, F16, BF16 or I8 was expected",
                place.kind
            ))
        })?;
        match numbers.iter().all(|number| number.is_finite()) {
            true => Ok(numbers),
            false => Err(self.wrong(&format!("`{tensor}` holds something that is no number"))),
        }
    }

    /// A tensor of whole numbers from 0 on.
    pub(super) fn places(&mut self, tensor: &str, count: usize) -> Result<Vec<usize>, Error> {
        let place = self.place(tensor)?;
        let bytes = self.bytes(tensor, &place)?;
        let numbers: Option<Vec<usize>> = match place.kind.as_str() {
            "I64" | "U64" => {
                let (numbers, _) = bytes.as_chunks::<8>();
                numbers.iter().map(|bytes| usize::try_from(i64::from_le_bytes(*bytes)).ok()).collect()
            }
            "I32" | "U32" => {
                let (numbers, _) = bytes.as_chunks::<4>();
                numbers.iter().map(|bytes| usize::try_from(i32::from_le_bytes(*bytes)).ok()).collect()
            }
            _ => None,
        };
        let numbers = numbers.filter(|numbers| numbers.len() == count);
        numbers.ok_or_else(|| self.wrong(&format!("`{tensor}` must hold {count} whole numbers from 0 on")))
    }

    /// Shows pieces of the file, evenly spread, the header and the size among them.
    pub(super) fn sample(
        &mut self,
        count: u64,
        length: usize,
        show: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        show(&self.size.to_le_bytes());
        show(Value::Object(self.header.clone()).to_string().as_bytes());
        let mut piece = vec![0; length];
        for at in 0..count {
            let from = self.start + (self.size - self.start) / count * at;
            let length = usize::try_from(self.size - from).unwrap_or(length).min(length);
            self.read_at(from, &mut piece[..length]).map_err(|error| self.unreadable(&error))?;
            show(&piece[..length]);
        }
        Ok(())
    }

    fn place(&self, tensor: &str) -> Result<Place, Error> {
        let about = self.header.get(tensor);
        let about = about.ok_or_else(|| self.wrong(&format!("there is no tensor `{tensor}` in it")))?;
        let read = || {
            let whole = |value: &Value| usize::try_from(value.as_u64()?).ok();
            let shape: Option<Vec<usize>> = about.get("shape")?.as_array()?.iter().map(whole).collect();
            let offset = |at: usize| about.get("data_offsets")?.get(at)?.as_u64();
            let (from, to) = (self.start.checked_add(offset(0)?)?, self.start.checked_add(offset(1)?)?);
            let bytes = usize::try_from(to.checked_sub(from)?).ok().filter(|_| to <= self.size)?;
            Some(Place { kind: about.get("dtype")?.as_str()?.to_owned(), shape: shape?, from, bytes })
        };
        let place = read();
        place.ok_or_else(|| {
            self.wrong(&format!("`{tensor}` lies outside the file: it is damaged or was cut off"))
        })
    }

    fn bytes(&mut self, tensor: &str, place: &Place) -> Result<Vec<u8>, Error> {
        let width = match place.kind.as_str() {
            "F64" | "I64" | "U64" => 8,
            "F32" | "I32" | "U32" => 4,
            "F16" | "BF16" => 2,
            _ => 1,
        };
        let count = place.shape.iter().try_fold(width, |count: usize, side| count.checked_mul(*side));
        if count != Some(place.bytes) {
            return Err(self.wrong(&format!("`{tensor}` has another size than its shape says")));
        }
        let mut bytes = vec![0; place.bytes];
        self.read_at(place.from, &mut bytes).map_err(|error| self.unreadable(&error))?;
        Ok(bytes)
    }

    fn read_at(&mut self, from: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(from))?;
        self.file.read_exact(into)
    }

    fn unreadable(&self, error: &std::io::Error) -> Error {
        self.wrong(&format!("it cannot be read ({error})"))
    }
}

fn decode(kind: &str, bytes: &[u8]) -> Option<Vec<f32>> {
    let halves = |read: fn(u16) -> f32| {
        let (halves, _) = bytes.as_chunks::<2>();
        halves.iter().map(|half| read(u16::from_le_bytes(*half))).collect()
    };
    match kind {
        "F32" => {
            let (numbers, _) = bytes.as_chunks::<4>();
            Some(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
        }
        "F16" => Some(halves(from_half)),
        "BF16" => Some(halves(|bits| f32::from_bits(u32::from(bits) << 16))),
        "I8" => Some(bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect()),
        _ => None,
    }
}

/// A number of half precision: 1 bit sign, 5 bits exponent, 10 bits fraction.
fn from_half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_are_read() {
        assert_eq!(decode("F32", &1.5_f32.to_le_bytes()), Some(vec![1.5]));
        assert_eq!(
            decode("F16", &[0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00]),
            Some(vec![1.0, -2.0, 5.960_464_5e-8])
        );
        assert_eq!(decode("BF16", &[0x80, 0x3f, 0x00, 0xc0]), Some(vec![1.0, -2.0]));
        assert_eq!(decode("I8", &[127, 129]), Some(vec![127.0, -127.0]));
        assert_eq!(decode("F64", &[0; 8]), None);
    }
}
