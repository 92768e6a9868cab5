//! Decompresses with a table of FSST symbols.

use crate::error::{Error, Result};
use arrow_buffer::MutableBuffer;

/// Longest symbol, in bytes.
pub(crate) const MAX_SYMBOL: usize = 8;

/// Escape code: the next byte is a literal.
pub(super) const ESCAPE: u8 = 255;

/// Codes that are processed together.
const STEP: usize = 8;

/// Padding after the values, because every symbol of a step is stored with 8 bytes.
const SLACK: usize = STEP * MAX_SYMBOL;

/// Symbols of 1 to 8 bytes by their code.
#[derive(Debug)]
pub(crate) struct Symbols {
    /// First byte lowest. The bytes after a symbol are arbitrary, because the next one overwrites them.
    words: [u64; 256],
    /// At most `MAX_SYMBOL`.
    lengths: [u8; 256],
    /// Codes below this have a symbol.
    count: u8,
}

impl Symbols {
    /// Makes a table of symbols with codes from 0 on. Takes one length per symbol.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for a length that is not 1 to 8, and for more than
    /// 255 symbols.
    pub(crate) fn try_new(symbols: &[[u8; MAX_SYMBOL]], lengths: &[u8]) -> Result<Self> {
        let count = u8::try_from(symbols.len())
            .ok()
            .filter(|count| usize::from(*count) == lengths.len())
            .ok_or_else(|| {
                Error::corrupt(format!(
                    "expected up to 255 symbols and as many lengths, found {} and {}",
                    symbols.len(),
                    lengths.len()
                ))
            })?;
        let legal = 1..=MAX_SYMBOL;
        if let Some(length) = lengths.iter().find(|l| !legal.contains(&usize::from(**l))) {
            return Err(Error::corrupt(format!(
                "expected symbols of 1 to {MAX_SYMBOL} bytes, found {length}"
            )));
        }
        let mut table = Self {
            words: [0; 256],
            lengths: [0; 256],
            count,
        };
        for (slot, symbol) in table.words.iter_mut().zip(symbols) {
            *slot = u64::from_le_bytes(*symbol);
        }
        table.lengths[..lengths.len()].copy_from_slice(lengths);
        Ok(table)
    }

    /// Appends the bytes that `src` decompresses to, which must be `total`.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for another number of bytes, and for a code without a symbol.
    /// `out` keeps its length then.
    pub(crate) fn decompress(
        &self,
        src: &[u8],
        total: usize,
        out: &mut MutableBuffer,
    ) -> Result<()> {
        self.append::<false>(src, total, out)
    }

    /// Appends the first `count` of the bytes that `src` decompresses to.
    ///
    /// # Errors
    /// Returns the errors of [`decompress`](Self::decompress) for the codes that are needed.
    pub(crate) fn decompress_first(
        &self,
        src: &[u8],
        count: usize,
        out: &mut MutableBuffer,
    ) -> Result<()> {
        self.append::<true>(src, count, out)
    }

    /// Appends `total` bytes. With `MORE`, `src` may decompress to more.
    fn append<const MORE: bool>(
        &self,
        src: &[u8],
        total: usize,
        out: &mut MutableBuffer,
    ) -> Result<()> {
        if total > src.len().saturating_mul(MAX_SYMBOL) {
            return Err(Error::corrupt(format!(
                "{} bytes of FSST cannot hold {total} bytes",
                src.len()
            )));
        }
        out.reserve(total + SLACK);
        let start = out.len();
        // SAFETY: `start` lies within the allocation, which has room for `total + SLACK` bytes after it.
        let mut dst = unsafe { Cursor::new(out.as_mut_ptr().add(start), total) };
        let mut rest = src;
        while let Some((step, after)) = rest.split_first_chunk::<STEP>() {
            if MORE && dst.remaining() <= 0 {
                break;
            }
            if dst.remaining() < 0 {
                return Err(too_long(total));
            }
            let codes = u64::from_le_bytes(*step);
            let others = bytes_from(codes, self.count);
            if others == 0 {
                // SAFETY: at most `total` bytes precede the cursor before the step, and the step
                // stores at most `SLACK` bytes.
                unsafe {
                    dst.push_four(self, codes);
                    dst.push_four(self, codes >> 32);
                }
                rest = after;
                continue;
            }
            let symbols = others.trailing_zeros() as usize / 8;
            for &code in &step[..symbols] {
                // SAFETY: as above. A byte of room remains, as these are fewer than `STEP` symbols.
                unsafe { dst.push(self, code) };
            }
            let (byte, after) = escaped(&rest[symbols..])?;
            // SAFETY: as above.
            unsafe { dst.push_byte(byte) };
            rest = after;
        }
        while let Some((&code, after)) = rest.split_first() {
            if MORE && dst.remaining() <= 0 {
                break;
            }
            if dst.remaining() < 0 {
                return Err(too_long(total));
            }
            if code < self.count {
                // SAFETY: at most `total` bytes precede the cursor.
                unsafe { dst.push(self, code) };
                rest = after;
            } else {
                let (byte, after) = escaped(rest)?;
                // SAFETY: as above.
                unsafe { dst.push_byte(byte) };
                rest = after;
            }
        }
        if !MORE && dst.remaining() < 0 {
            return Err(too_long(total));
        }
        if dst.remaining() > 0 {
            return Err(Error::corrupt(format!(
                "expected {total} decompressed bytes, {} are missing",
                dst.remaining()
            )));
        }
        // SAFETY: `total` bytes from `start` on were stored, one after the other.
        unsafe { out.set_len(start + total) };
        Ok(())
    }
}

#[cold]
fn too_long(total: usize) -> Error {
    Error::corrupt(format!("FSST data exceeds {total} bytes"))
}

/// Returns the byte after the escape that `rest` starts with, and the remaining bytes.
fn escaped(rest: &[u8]) -> Result<(u8, &[u8])> {
    match rest {
        [ESCAPE, byte, after @ ..] => Ok((*byte, after)),
        [ESCAPE] => Err(Error::corrupt("FSST data ends after an escape")),
        [code, ..] => Err(Error::corrupt(format!("FSST code {code} has no symbol"))),
        [] => Err(Error::corrupt("FSST data ends before a code")),
    }
}

/// Returns the high bit of every byte of `word` that is at least `least`.
#[inline(always)]
fn bytes_from(word: u64, least: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let least = u64::from(least) * ONES;
    // The high bits are left out of the subtraction, so that no byte borrows from another.
    let low = (word | HIGH) - (least & !HIGH);
    ((word & low) | ((word | low) & !least)) & HIGH
}

/// Position of the next symbol. Two pointers stay in registers, which a byte count did not.
struct Cursor {
    next: *mut u8,
    /// End of the requested bytes.
    end: *mut u8,
}

impl Cursor {
    /// Makes a cursor for `total` bytes.
    ///
    /// # Safety
    /// `total` bytes from `start` on, and all bytes pushed beyond them, lie in one allocation.
    unsafe fn new(start: *mut u8, total: usize) -> Self {
        // SAFETY: the caller has checked the room.
        let end = unsafe { start.add(total) };
        Self { next: start, end }
    }

    /// Returns the number of missing bytes, which is negative if there are too many.
    #[inline(always)]
    fn remaining(&self) -> isize {
        // SAFETY: both point into the allocation that was passed to `new`.
        unsafe { self.end.offset_from(self.next) }
    }

    /// Appends the symbols of the four codes in the low half of `codes`, the lowest first.
    ///
    /// # Safety
    /// There is room for four times `MAX_SYMBOL` bytes at the cursor.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest byte is a code")]
    unsafe fn push_four(&mut self, symbols: &Symbols, codes: u64) {
        for shift in [0, 8, 16, 24] {
            // SAFETY: the caller has checked the room.
            unsafe { self.push(symbols, (codes >> shift) as u8) };
        }
    }

    /// Appends a symbol.
    ///
    /// # Safety
    /// There is room for `MAX_SYMBOL` bytes at the cursor.
    #[inline(always)]
    unsafe fn push(&mut self, symbols: &Symbols, code: u8) {
        let word = symbols.words[usize::from(code)].to_le();
        // SAFETY: the caller has checked the room.
        unsafe {
            self.next.cast::<u64>().write_unaligned(word);
            self.next = self.next.add(symbols.lengths[usize::from(code)].into());
        }
    }

    /// Appends a byte.
    ///
    /// # Safety
    /// There is room for a byte at the cursor.
    #[inline(always)]
    unsafe fn push_byte(&mut self, byte: u8) {
        // SAFETY: the caller has checked the room.
        unsafe {
            self.next.write(byte);
            self.next = self.next.add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu::tests::STEP;
    use super::*;

    fn table() -> Symbols {
        let symbols = [
            *b"ab------",
            *b"the -+-+",
            *b"12345678",
            *b"x\0\0\0\0\0\0\0",
        ];
        Symbols::try_new(&symbols, &[2, 4, 8, 1]).unwrap()
    }

    /// Decompresses one code after the other, without optimizations.
    fn plainly(table: &Symbols, src: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut codes = src.iter();
        while let Some(&code) = codes.next() {
            if code < table.count {
                let word = table.words[usize::from(code)].to_le_bytes();
                out.extend_from_slice(&word[..usize::from(table.lengths[usize::from(code)])]);
            } else if code == ESCAPE {
                out.push(*codes.next()?);
            } else {
                return None;
            }
        }
        Some(out)
    }

    fn run(table: &Symbols, src: &[u8], total: usize) -> Option<Vec<u8>> {
        let mut out = MutableBuffer::new(0);
        out.extend_from_slice(b"before");
        let result = table.decompress(src, total, &mut out);
        assert_eq!(out.as_slice()[..6], *b"before");
        match result {
            Ok(()) => Some(out.as_slice()[6..].to_vec()),
            Err(_) => {
                assert_eq!(out.len(), 6);
                None
            }
        }
    }

    #[test]
    fn the_first_bytes_are_those_of_all() {
        let table = table();
        let src = [
            1, 2, 0, 255, 255, 3, 1, 1, 255, 7, 2, 2, 2, 0, 1, 3, 3, 2, 1,
        ];
        let all = plainly(&table, &src).unwrap();
        for count in 0..=all.len() {
            let mut out = MutableBuffer::new(0);
            out.extend_from_slice(b"before");
            table.decompress_first(&src, count, &mut out).unwrap();
            assert_eq!(out.as_slice()[6..], all[..count]);
        }
        let mut out = MutableBuffer::new(0);
        let more = table.decompress_first(&src, all.len() + 1, &mut out);
        assert!(more.is_err() && out.is_empty());
    }

    #[test]
    fn steps_give_what_single_codes_give() {
        let table = table();
        let mut seed = 1u64;
        for case in (0..3000).step_by(STEP) {
            let len = case % 40;
            let src: Vec<u8> = (0..len)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    match seed >> 58 {
                        0 => 255,
                        1 if case % 5 == 0 => 77,
                        other => (other & 3) as u8,
                    }
                })
                .collect();
            let want = plainly(&table, &src);
            let total = want.as_ref().map_or(len, Vec::len);
            assert_eq!(run(&table, &src, total), want, "{src:?}");
            if want.is_some() {
                assert_eq!(run(&table, &src, total + 1), None);
                assert_eq!(
                    total.checked_sub(1).and_then(|t| run(&table, &src, t)),
                    None
                );
                assert_eq!(run(&table, &src, total / 2).is_some(), total == 0);
            }
        }
    }

    #[test]
    fn bytes_are_compared_alone() {
        for least in 0..=255 {
            for byte in (0..=255u8).step_by(STEP) {
                let word = u64::from_le_bytes([byte, 0, byte, 255, 1, byte, 128, 127]);
                let want =
                    [byte, 0, byte, 255, 1, byte, 128, 127].map(|b| (b >= least) as u8 * 128);
                assert_eq!(bytes_from(word, least), u64::from_le_bytes(want));
            }
        }
    }

    #[test]
    fn illegal_tables_are_refused() {
        let symbol = [*b"abcdefgh"];
        assert!(Symbols::try_new(&symbol, &[0]).is_err());
        assert!(Symbols::try_new(&symbol, &[9]).is_err());
        assert!(Symbols::try_new(&symbol, &[]).is_err());
        assert!(Symbols::try_new(&[[0; 8]; 256], &[1; 256]).is_err());
        let full = Symbols::try_new(&[[7; 8]; 255], &[8; 255]).unwrap();
        assert_eq!(run(&full, &[254; 9], 72), Some(vec![7; 72]));
        let none = Symbols::try_new(&[], &[]).unwrap();
        assert_eq!(
            run(&none, &[255, 1, 255, 255, 255, 3, 255, 4, 255, 5], 5),
            Some(vec![1, 255, 3, 4, 5])
        );
        assert_eq!(run(&none, &[0; 8], 8), None);
    }
}
