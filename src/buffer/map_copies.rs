//! Spec: docs/format.md, "Copies of block maps" (property `arrow_shard.block_maps`).

use crate::error::{Error, Result};
use crate::format::{NameValuePair, ValueKind, find_property};
use bytes::Bytes;

/// Name of the property of a stripe field that holds its [`MapCopies`].
pub const BLOCK_MAPS_PROPERTY: &str = "arrow_shard.block_maps";

/// Largest block map that is copied, in bytes.
const MAX_COPY_BYTES: usize = 4096;

/// Smallest ratio of a buffer to its block map for which the map is copied. In smaller buffers, readers
/// fetch the map along with the blocks.
const MIN_COPY_RATIO: u64 = 256;

/// Copies of the block maps of a stripe field. With remote storage, a reader that has the descriptor need not
/// request the map before the blocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MapCopies {
    copies: Vec<MapCopy>,
}

/// The copy of a block map.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MapCopy {
    /// Ordinal of the encoding in the stripe field.
    encoding: u16,
    /// Ordinal of the buffer in the encoding.
    buffer: u16,
    map: Bytes,
}

impl MapCopies {
    /// Adds a copy of the map of a buffer of `buffer_len` bytes, if the map is much smaller than the buffer.
    pub fn add(&mut self, encoding: u16, buffer: u16, map: &[u8], buffer_len: u64) {
        let is_small = (map.len() as u64).saturating_mul(MIN_COPY_RATIO) <= buffer_len;
        if is_small && map.len() <= MAX_COPY_BYTES {
            self.copies.push(MapCopy {
                encoding,
                buffer,
                map: Bytes::copy_from_slice(map),
            });
        }
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Returns the copies as a property.
    pub fn to_property(&self) -> NameValuePair {
        let mut bytes = Vec::new();
        for copy in &self.copies {
            bytes.extend_from_slice(&copy.encoding.to_le_bytes());
            bytes.extend_from_slice(&copy.buffer.to_le_bytes());
            // Only short maps are copied.
            let len = u32::try_from(copy.map.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(&copy.map);
        }
        NameValuePair::new(BLOCK_MAPS_PROPERTY, bytes)
    }

    /// Finds the copies in the properties of a stripe field. The list is empty without such a property.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the property is malformed.
    pub fn from_properties(properties: &[NameValuePair]) -> Result<Self> {
        let Some(value) = find_property(properties, BLOCK_MAPS_PROPERTY) else {
            return Ok(Self::default());
        };
        let malformed = || Error::corrupt(format!("property {BLOCK_MAPS_PROPERTY} is malformed"));
        let Some(ValueKind::Bytes(bytes)) = &value.kind else {
            return Err(malformed());
        };
        let mut rest = bytes.as_ref();
        let mut copies = Vec::new();
        while !rest.is_empty() {
            let (copy, behind) = MapCopy::parse(rest).ok_or_else(malformed)?;
            copies.push(copy);
            rest = behind;
        }
        Ok(Self { copies })
    }

    /// Returns the first copy of the block map of a buffer, if there is one.
    pub fn find(&self, encoding: usize, buffer: usize) -> Option<&Bytes> {
        let place = |copy: &MapCopy| (usize::from(copy.encoding), usize::from(copy.buffer));
        let mut copies = self.copies.iter();
        let found = copies.find(|copy| place(copy) == (encoding, buffer));
        found.map(|copy| &copy.map)
    }
}

impl MapCopy {
    /// Splits off the first copy. Returns also the remaining bytes.
    fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ([e0, e1, b0, b1, len @ ..], bytes) = bytes.split_first_chunk::<8>()?;
        let len = u32::from_le_bytes(*len) as usize;
        let (map, rest) = bytes.split_at_checked(len)?;
        let copy = Self {
            encoding: u16::from_le_bytes([*e0, *e1]),
            buffer: u16::from_le_bytes([*b0, *b1]),
            map: Bytes::copy_from_slice(map),
        };
        Some((copy, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn copies_survive_and_large_maps_are_not_copied() {
        let mut copies = MapCopies::default();
        copies.add(0, 1, b"a map", 1280);
        copies.add(0, 2, b"as large as its buffer", 30);
        copies.add(0, 3, &[7; MAX_COPY_BYTES + 1], u64::MAX);
        copies.add(2, 0, b"", 0);
        let read = MapCopies::from_properties(&[copies.to_property()]).unwrap();
        assert_eq!(read, copies);
        assert_eq!(read.find(0, 1).unwrap().as_ref(), b"a map");
        assert_eq!(read.find(2, 0).unwrap().as_ref(), b"");
        for (encoding, buffer) in [(0, 2), (0, 3), (1, 0), (0, 0)] {
            assert_eq!(read.find(encoding, buffer), None);
        }
        assert!(MapCopies::from_properties(&[]).unwrap().is_empty());
    }

    #[test]
    fn malformed_properties_are_refused() {
        let mut copies = MapCopies::default();
        copies.add(0, 1, b"a map", 1280);
        let value = copies.to_property().value.unwrap();
        let Some(ValueKind::Bytes(bytes)) = &value.kind else {
            panic!("bytes");
        };
        for len in 1..bytes.len() {
            let cut = NameValuePair::new(BLOCK_MAPS_PROPERTY, bytes[..len].to_vec());
            let error = MapCopies::from_properties(&[cut]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}");
        }
        let text = NameValuePair::new(BLOCK_MAPS_PROPERTY, "text");
        assert!(MapCopies::from_properties(&[text]).is_err());
    }
}
