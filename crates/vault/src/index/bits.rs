//! A set of small numbers: which documents of a segment are gone, which the asker may see.

/// A set of numbers below a bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: u32,
}

impl Bits {
    pub fn new(bound: u32) -> Bits {
        Bits { words: vec![0; bound.div_ceil(64) as usize], count: 0 }
    }

    pub fn has(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Puts a number in; whether it was not there.
    pub fn insert(&mut self, number: u32) -> bool {
        let Some(word) = self.words.get_mut(number as usize / 64) else { return false };
        let bit = 1 << (number % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        self.count += u32::from(fresh);
        fresh
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// The numbers in it, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().zip(0..).flat_map(|(word, at)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }

    /// As bytes, for a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// From bytes; numbers beyond the bound are dropped.
    pub fn from_bytes(bytes: &[u8], bound: u32) -> Bits {
        let mut bits = Bits::new(bound);
        let (words, _) = bytes.as_chunks::<8>();
        for (at, word) in words.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let numbers = (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| at as u32 * 64 + bit);
            numbers.filter(|number| *number < bound).for_each(|number| {
                bits.insert(number);
            });
        }
        bits
    }
}
