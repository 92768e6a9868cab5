//! Spec: docs/format.md, "Blobs" (property `arrow_shard.blobs`).
//!
//! A blob is an unencoded value that is alone in its block:
//!
//! ```text
//! u32 0 | u32 size + 19 | u16 code = 1 | u8 8 | u64 0 | u64 size | value | pad to 8 [| checksum u32]
//! ```

use super::BlockRange;
use crate::encoding::EncodingCode;
use crate::error::{Error, Result};
use crate::format::{NameValuePair, ValueKind, find_property};
use std::ops::Range;

/// Name of the property of a stripe field that holds its [`BlobTable`].
pub const BLOBS_PROPERTY: &str = "arrow_shard.blobs";

/// Bytes of a blob's block before the value.
const BLOB_HEADER: usize = 27;
/// Bytes of the region of values before the value.
const REGION_HEADER: u64 = 19;
/// Bytes of the checksum after the value.
const CHECKSUM: u64 = 4;

/// A list of the blocks of DATA that are blobs: one byte per block, 0 for other blocks, else 1 plus the bytes of
/// padding after the value. Without the table, the block map would give the size of a blob only up to the next multiple
/// of 8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlobTable(Vec<u8>);

impl BlobTable {
    /// Adds a block that is not a blob.
    pub fn push_other(&mut self) {
        self.0.push(0);
    }

    /// Adds the block of a blob of `len` bytes. The block has `block` bytes.
    pub fn push_blob(&mut self, block: usize, len: usize, checksums: bool) {
        let tail = if checksums { size_of::<u32>() } else { 0 };
        let padding = block.saturating_sub(BLOB_HEADER + len + tail);
        self.0.push(u8::try_from(padding + 1).unwrap_or(u8::MAX));
    }

    /// Returns the number of blobs.
    pub fn count(&self) -> u64 {
        self.0.iter().filter(|&&entry| entry > 0).count() as u64
    }

    /// Returns whether any block is a blob.
    pub fn has_blobs(&self) -> bool {
        self.0.iter().any(|&entry| entry > 0)
    }

    /// Returns the table as a property.
    pub fn to_property(&self) -> NameValuePair {
        NameValuePair::new(BLOBS_PROPERTY, self.0.clone())
    }

    /// Finds the table in the properties of a stripe field, if it has one.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the property is malformed.
    pub fn from_properties(properties: &[NameValuePair]) -> Result<Option<Self>> {
        let Some(value) = find_property(properties, BLOBS_PROPERTY) else {
            return Ok(None);
        };
        match &value.kind {
            Some(ValueKind::Bytes(bytes)) => Ok(Some(Self(bytes.to_vec()))),
            _ => Err(Error::corrupt(format!(
                "property {BLOBS_PROPERTY} is malformed"
            ))),
        }
    }

    /// Returns the range of the block's value in its buffer, if the block is a blob.
    pub(super) fn find(&self, block: &BlockRange, checksums: bool) -> Result<Option<Range<u64>>> {
        let padding = match self.0.get(block.ordinal) {
            Some(0) => return Ok(None),
            Some(entry) => u64::from(entry - 1),
            None => {
                return Err(Error::corrupt(format!(
                    "property {BLOBS_PROPERTY} describes {} blocks, but there are more",
                    self.0.len()
                )));
            }
        };
        let tail = padding + if checksums { CHECKSUM } else { 0 };
        let start = block.bytes.start.checked_add(BLOB_HEADER as u64);
        let value = start.map(|start| start..block.bytes.end.saturating_sub(tail));
        let is_alone = block.values.end - block.values.start == 1;
        match value.filter(|value| is_alone && padding < 8 && !value.is_empty()) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::corrupt(format!(
                "property {BLOBS_PROPERTY}: block {} of {} values and {} bytes is not a blob",
                block.ordinal,
                block.values.end - block.values.start,
                block.bytes.end - block.bytes.start
            ))),
        }
    }
}

/// Returns the first bytes of the block of a blob of `len` bytes.
pub fn blob_header(len: u64) -> [u8; BLOB_HEADER] {
    let mut header = [0; BLOB_HEADER];
    // Blocks have less than 4 GiB.
    #[expect(clippy::cast_possible_truncation, reason = "the file is wrong then")]
    let region = len.wrapping_add(REGION_HEADER) as u32;
    header[4..8].copy_from_slice(&region.to_le_bytes());
    header[8..10].copy_from_slice(&EncodingCode::Plain.to_u16().to_le_bytes());
    header[10] = 8;
    header[19..27].copy_from_slice(&len.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{bytes, envelope};

    #[test]
    fn a_blob_is_found_where_its_block_has_it() {
        for (len, checksums) in [(1, true), (2, false), (5, true), (70_000, true), (9, false)] {
            let value: Vec<u8> = (0..len).map(|i: u32| i.to_le_bytes()[0]).collect();
            let offsets = [0, value.len() as u64];
            let input = bytes::Input {
                offsets: &offsets,
                values: &value,
                fixed: None,
                len: 1,
                nulls: None,
                fixed_single_value: true,
            };
            let mut block = Vec::new();
            envelope::write(&[], checksums, &mut block, |out| {
                bytes::encode(&input, &bytes::Plan::Plain, out)
            })
            .unwrap();
            let mut table = BlobTable::default();
            table.push_other();
            table.push_blob(block.len(), value.len(), checksums);
            let table = BlobTable::from_properties(&[table.to_property()]).unwrap();
            let table = table.unwrap();
            assert_eq!(table.count(), 1);
            let place = |ordinal, values| BlockRange {
                ordinal,
                values,
                bytes: 0..block.len() as u64,
            };
            assert_eq!(table.find(&place(0, 0..1), checksums).unwrap(), None);
            let found = table.find(&place(1, 1..2), checksums).unwrap().unwrap();
            let found = usize::try_from(found.start).unwrap()..usize::try_from(found.end).unwrap();
            assert_eq!(block[found], value);
            assert_eq!(block[..BLOB_HEADER], blob_header(value.len() as u64));
            assert!(table.find(&place(1, 1..3), checksums).is_err());
            assert!(table.find(&place(2, 1..2), checksums).is_err());
            let short = BlockRange {
                bytes: 0..30,
                ..place(1, 1..2)
            };
            assert!(table.find(&short, true).is_err());
        }
    }
}
