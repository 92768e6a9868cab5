//! Spec: Chapter 7, "Block layout"; docs/format.md, "Blocks".
//!
//! ```text
//! presence_size u32 | values_size u32 | presence | pad to 8 | values | pad | checksum u32
//! ```
//! The padding before the checksum makes the size of the block a multiple of 8. In streams with checksums,
//! the checksum covers everything before it.

use super::fields::{size32, write_sized};
use crate::error::{Error, ErrorKind, Result};
use crate::format::checksum;

const HEADER: usize = 8;
const CHECKSUM: usize = 4;

/// The two sections of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The presence section, which is empty if all values are present.
    pub presence: &'a [u8],
    /// The encoded values.
    pub values: &'a [u8],
}

/// Strips the checksum of a block in a stream with checksums. Verifies it if `verify` is true.
///
/// # Errors
/// [`Checksum`](ErrorKind::Checksum) if the block is damaged, [`Corrupt`](ErrorKind::Corrupt) if
/// it is too short for a checksum.
pub fn strip_checksum(block: &[u8], verify: bool) -> Result<&[u8]> {
    let Some((content, stored)) = block.split_last_chunk::<CHECKSUM>() else {
        return Err(Error::corrupt(format!(
            "expected a block with a checksum of 4 bytes, found {} bytes",
            block.len()
        )));
    };
    if verify {
        let (stored, computed) = (u32::from_le_bytes(*stored), checksum(content));
        if stored != computed {
            return Err(Error::new(
                ErrorKind::Checksum,
                format!("expected {stored:08x}, computed {computed:08x}"),
            ));
        }
    }
    Ok(content)
}

/// Returns the stored checksum at the end of a block, in a stream with checksums.
pub fn stored_checksum(block: &[u8]) -> Option<u32> {
    let stored = block.last_chunk::<CHECKSUM>()?;
    Some(u32::from_le_bytes(*stored))
}

/// Splits a block without its checksum into its sections.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) if the sections exceed the block, or the block has more bytes
/// than sections and padding account for.
pub fn open(block: &[u8]) -> Result<Envelope<'_>> {
    let Some(([p0, p1, p2, p3, v0, v1, v2, v3], rest)) = block.split_first_chunk::<HEADER>() else {
        return Err(Error::corrupt(format!(
            "expected a block header of 8 bytes, found {} bytes",
            block.len()
        )));
    };
    let presence_size = u32::from_le_bytes([*p0, *p1, *p2, *p3]) as usize;
    let values_size = u32::from_le_bytes([*v0, *v1, *v2, *v3]) as usize;
    let start = presence_size.checked_next_multiple_of(8);
    let end = start.and_then(|start| start.checked_add(values_size));
    let (Some(presence), Some(values)) = (
        rest.get(..presence_size),
        start.zip(end).and_then(|(start, end)| rest.get(start..end)),
    ) else {
        return Err(Error::corrupt(format!(
            "sections of {presence_size} and {values_size} bytes exceed a block of {} bytes",
            block.len()
        )));
    };
    let surplus = rest.len() - end.unwrap_or_default();
    if surplus >= 8 {
        return Err(Error::corrupt(format!(
            "{surplus} bytes follow the values of a block, and padding has at most 7"
        )));
    }
    Ok(Envelope { presence, values })
}

/// Appends a whole block. `values` appends the encoded values, which start on a multiple of 8 within
/// the block.
///
/// # Errors
/// Returns the errors of `values`, and [`InvalidArgument`](ErrorKind::InvalidArgument) if a section exceeds
/// 4 GiB.
pub fn write(
    presence: &[u8],
    checksum: bool,
    out: &mut Vec<u8>,
    values: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&size32(presence.len())?.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(presence);
    out.resize(start + HEADER + presence.len().next_multiple_of(8), 0);
    write_sized(out, start + 4, values)?;
    let tail = if checksum { CHECKSUM } else { 0 };
    let size = (out.len() - start + tail).next_multiple_of(8);
    out.resize(start + size - tail, 0);
    if checksum {
        let sum = crate::format::checksum(out.get(start..).unwrap_or_default());
        out.extend_from_slice(&sum.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_block_opens_to_what_was_written(
            presence in prop::collection::vec(any::<u8>(), 0..20),
            values in prop::collection::vec(any::<u8>(), 0..40),
            sums: bool,
        ) {
            let mut out = vec![9; 8];
            write(&presence, sums, &mut out, |o| { o.extend(&values); Ok(()) }).unwrap();
            let block = &out[8..];
            prop_assert_eq!(block.len() % 8, 0);
            let content = if sums { strip_checksum(block, true).unwrap() } else { block };
            prop_assert_eq!(open(content).unwrap(), Envelope { presence: &presence, values: &values });
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = strip_checksum(&bytes, true);
            let _ = open(&bytes);
        }
    }

    #[test]
    fn a_flipped_bit_is_found_unless_nobody_looks() {
        let mut block = Vec::new();
        write(&[], true, &mut block, |o| {
            o.extend([1, 0, 5]);
            Ok(())
        })
        .unwrap();
        block[9] ^= 1;
        assert_eq!(
            strip_checksum(&block, true).unwrap_err().kind(),
            ErrorKind::Checksum
        );
        assert!(strip_checksum(&block, false).is_ok());
    }

    #[test]
    fn surplus_bytes_are_refused() {
        let mut block = Vec::new();
        write(&[], false, &mut block, |o| {
            o.extend([1, 0]);
            Ok(())
        })
        .unwrap();
        assert!(open(&block).is_ok());
        block.extend([0; 8]);
        assert!(open(&block).is_err());
        assert!(open(&block[..9]).is_err());
    }
}
