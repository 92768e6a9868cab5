//! Spec: Chapter 7, the metadata of encodings: reading and writing their fields and padding.

use crate::error::{Error, Result};
use crate::kernels::{Word, as_bytes, as_bytes_mut};

/// A reader of the fields at the front of a region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Splits a region into the `size` bytes of metadata after the encoding code, and the payload. Metadata are
    /// padded so that the payload starts on a multiple of 8.
    pub(super) fn split(values: &'a [u8], size: usize) -> Result<(Self, &'a [u8])> {
        let at = (2 + size).next_multiple_of(8);
        match (values.get(2..2 + size), values.get(at..)) {
            (Some(rest), Some(payload)) => Ok((Self { rest }, payload)),
            _ => Err(Error::corrupt(format!(
                "expected {at} bytes of encoding metadata, found {}",
                values.len()
            ))),
        }
    }

    pub(super) fn word<W: Word>(&mut self) -> Result<W> {
        let (bytes, rest) = self.rest.split_at_checked(W::BYTES).ok_or_else(|| {
            Error::corrupt(format!(
                "expected {} bytes, found {}",
                W::BYTES,
                self.rest.len()
            ))
        })?;
        self.rest = rest;
        match W::chunks(bytes) {
            [bytes] => Ok(W::from_le(*bytes)),
            _ => Err(Error::corrupt("expected one number")),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.word()
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.word()
    }

    pub(super) fn size(&mut self) -> Result<usize> {
        Ok(self.word::<u32>()? as usize)
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::corrupt(format!(
                "expected a flag of 0 or 1, found {other}"
            ))),
        }
    }
}

/// Splits a payload after the `size` bytes of the part named `what`.
pub(super) fn split_at<'a>(
    payload: &'a [u8],
    size: usize,
    what: &str,
) -> Result<(&'a [u8], &'a [u8])> {
    payload.split_at_checked(size).ok_or_else(|| {
        Error::corrupt(format!(
            "expected {size} bytes of {what}, found {}",
            payload.len()
        ))
    })
}

/// Splits a payload after the `size` bytes of the part named `what`, which is padded to a multiple of 8. The
/// padding may be missing if nothing follows it.
pub(super) fn split_padded<'a>(
    payload: &'a [u8],
    size: usize,
    what: &str,
) -> Result<(&'a [u8], &'a [u8])> {
    let (first, rest) = split_at(payload, size, what)?;
    let padding = size.next_multiple_of(8) - size;
    Ok((first, rest.get(padding..).unwrap_or_default()))
}

/// Copies raw words. The region must hold exactly `dst.len()` of them.
pub(super) fn read_words<W: Word>(bytes: &[u8], dst: &mut [W]) -> Result<()> {
    expect_words::<W>(bytes, dst.len())?;
    as_bytes_mut(dst).copy_from_slice(bytes);
    Ok(())
}

/// Checks that a region has the size of `n` raw words.
pub(super) fn expect_words<W: Word>(bytes: &[u8], n: usize) -> Result<()> {
    if n.checked_mul(W::BYTES) != Some(bytes.len()) {
        return Err(Error::corrupt(format!(
            "expected {n} values of {} bytes, found {} bytes",
            W::BYTES,
            bytes.len()
        )));
    }
    Ok(())
}

/// Appends raw words.
pub(super) fn write_words<W: Word>(values: &[W], out: &mut Vec<u8>) {
    out.extend_from_slice(as_bytes(values));
}

/// Appends one word.
pub(super) fn write_word<W: Word>(value: W, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_le().as_ref());
}

/// Pads with zeros to a multiple of 8, counted from `start`.
pub(super) fn pad(out: &mut Vec<u8>, start: usize) {
    let len = out.len() - start;
    out.resize(start + len.next_multiple_of(8), 0);
}

/// Appends the bytes that `write` writes, and stores their number in the 4 bytes reserved at `at`.
pub(super) fn write_sized<T>(
    out: &mut Vec<u8>,
    at: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T>,
) -> Result<T> {
    let start = out.len();
    let result = write(out)?;
    let size = size32(out.len() - start)?.to_le_bytes();
    match out.get_mut(at..at + 4) {
        Some(place) => place.copy_from_slice(&size),
        None => return Err(Error::invalid("no place was reserved for a size")),
    }
    Ok(result)
}

/// Converts a size or count to the 32 bits of its field.
pub(super) fn size32(size: usize) -> Result<u32> {
    u32::try_from(size).map_err(|_| {
        Error::invalid(format!(
            "a block part of {size} bytes or values exceeds 32 bits: use smaller blocks"
        ))
    })
}
