//! The unsigned integers that represent all numbers.

use arrow_buffer::ArrowNativeType;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

mod sealed {
    pub trait Sealed {}
}

/// How the bits of a [`Word`] encode a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumberKind {
    /// An unsigned integer.
    Unsigned,
    /// An integer in two's complement.
    Signed,
    /// An IEEE 754 number, of 4 or 8 bytes only.
    Float,
}

impl std::fmt::Display for NumberKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unsigned => "unsigned",
            Self::Signed => "signed",
            Self::Float => "floating-point",
        })
    }
}

/// The bits of a number of 1, 2, 4 or 8 bytes. Encodings compare and move numbers as words, so that
/// floats keep every bit. A [`NumberKind`] says how to interpret a word.
pub trait Word:
    sealed::Sealed
    + ArrowNativeType
    + Copy
    + Ord
    + Hash
    + Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Size in bytes.
    const BYTES: usize;
    /// Size in bits.
    const BITS: u32;
    /// Number of words that are packed side by side in a FastLanes chunk: 1024 / `BITS`.
    const LANES: usize;
    /// All bits 0.
    const ZERO: Self;
    /// The integer 1.
    const ONE: Self;
    /// All bits 1.
    const MAX: Self;
    /// Only the highest bit 1.
    const SIGN: Self;
    /// `[u8; BYTES]`.
    type Bytes: Copy + AsRef<[u8]>;

    /// Returns the whole words of `bytes`, which need not be aligned. Leaves out a remainder.
    fn chunks(bytes: &[u8]) -> &[Self::Bytes];
    /// Returns the whole words of `bytes` for writing. Leaves out a remainder.
    fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
    /// Makes a word of little-endian bytes.
    fn from_le(bytes: Self::Bytes) -> Self;
    /// Returns the little-endian bytes of the word.
    fn to_le(self) -> Self::Bytes;
    /// Returns the integer, zero-extended.
    fn to_u64(self) -> u64;
    /// Returns the low bits of `value`.
    fn truncate(value: u64) -> Self;
    /// Returns the sum modulo 2^`BITS`.
    fn plus(self, other: Self) -> Self;
    /// Returns the difference modulo 2^`BITS`.
    fn minus(self, other: Self) -> Self;
    /// Returns the product modulo 2^`BITS`.
    fn times(self, other: Self) -> Self;
    /// Returns the number of bits up to the highest 1, or 0 for 0.
    fn bit_length(self) -> u32;
    /// Returns the vectors of this type in `pools`.
    fn pool(pools: &mut Pools) -> &mut Vec<Vec<Self>>;

    /// Returns a word whose unsigned order is the order of the numbers. Floats are in total order.
    #[inline(always)]
    fn order_key(self, kind: NumberKind) -> Self {
        match kind {
            NumberKind::Unsigned => self,
            NumberKind::Signed => self ^ Self::SIGN,
            NumberKind::Float if self & Self::SIGN == Self::ZERO => self ^ Self::SIGN,
            NumberKind::Float => !self,
        }
    }

    /// Returns the word that has this [`order_key`](Self::order_key).
    #[inline(always)]
    fn from_order_key(key: Self, kind: NumberKind) -> Self {
        match kind {
            NumberKind::Unsigned => key,
            NumberKind::Signed => key ^ Self::SIGN,
            NumberKind::Float if key & Self::SIGN == Self::ZERO => !key,
            NumberKind::Float => key ^ Self::SIGN,
        }
    }
}

/// Vectors kept for reuse, by element type.
#[derive(Debug, Default)]
pub struct Pools {
    u8: Vec<Vec<u8>>,
    u16: Vec<Vec<u16>>,
    u32: Vec<Vec<u32>>,
    u64: Vec<Vec<u64>>,
}

macro_rules! word {
    ($t:ident $(, $lint:meta)?) => {
        impl sealed::Sealed for $t {}
        impl Word for $t {
            const BYTES: usize = size_of::<$t>();
            const BITS: u32 = $t::BITS;
            const LANES: usize = 1024 / (8 * size_of::<$t>());
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MAX: Self = $t::MAX;
            const SIGN: Self = 1 << ($t::BITS - 1);
            type Bytes = [u8; size_of::<$t>()];

            #[inline(always)]
            fn chunks(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }
            #[inline(always)]
            fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }
            #[inline(always)]
            fn from_le(bytes: Self::Bytes) -> Self {
                Self::from_le_bytes(bytes)
            }
            #[inline(always)]
            fn to_le(self) -> Self::Bytes {
                self.to_le_bytes()
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            $(#[$lint])?
            fn truncate(value: u64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn bit_length(self) -> u32 {
                Self::BITS - self.leading_zeros()
            }
            #[inline]
            fn pool(pools: &mut Pools) -> &mut Vec<Vec<Self>> {
                &mut pools.$t
            }
        }
    };
}

word!(
    u8,
    expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are asked for"
    )
);
word!(
    u16,
    expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are asked for"
    )
);
word!(
    u32,
    expect(
        clippy::cast_possible_truncation,
        reason = "the low bits are asked for"
    )
);
word!(u64);

/// Returns the bytes of words as they are in memory. On the hosts that this crate supports, files store the same.
pub(crate) fn as_bytes<W: Word>(words: &[W]) -> &[u8] {
    // SAFETY: words are plain integers without padding, and bytes need no alignment; the slice
    // covers exactly the words and borrows them.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Returns the bytes of words for writing, as they are in memory.
pub(crate) fn as_bytes_mut<W: Word>(words: &mut [W]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`. Any bytes make valid integers, and the words are borrowed mutably.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_keys_sort_as_the_numbers_do_and_invert() {
        let floats = [
            f64::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            1e-300,
            2.0,
            f64::INFINITY,
            f64::NAN,
        ];
        let keys = floats.map(|f| f.to_bits().order_key(NumberKind::Float));
        assert!(keys.is_sorted_by(|a, b| a < b));
        for (f, k) in floats.iter().zip(keys) {
            assert_eq!(u64::from_order_key(k, NumberKind::Float), f.to_bits());
        }
        let ints = [i8::MIN, -1, 0, 1, i8::MAX];
        let keys = ints.map(|i| (i.cast_unsigned()).order_key(NumberKind::Signed));
        assert!(keys.is_sorted());
        for (i, k) in ints.iter().zip(keys) {
            assert_eq!(u8::from_order_key(k, NumberKind::Signed), i.cast_unsigned());
        }
    }
}
