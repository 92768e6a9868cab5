//! The headers of the Bloom filters in Parquet files, in Thrift's compact protocol.

use super::thrift::{Compact, wire_type};

/// The header of a Bloom filter. The blocks of the filter follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BloomFilterHeader {
    /// Bytes of the header itself.
    pub(crate) len: usize,
    /// Bytes of the blocks.
    pub(crate) blocks: usize,
}

impl BloomFilterHeader {
    /// Parses the header at the start of some bytes. `None` if it is damaged, or the filter is of another kind than
    /// uncompressed split blocks with XXH64.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Compact::new(bytes);
        let (mut id, mut blocks, mut kinds) = (0, None, 0);
        while let Some((field, kind)) = reader.field(id)? {
            id = field;
            match (field, kind) {
                (1, wire_type::I32) => blocks = usize::try_from(reader.integer()?).ok(),
                // The algorithm, the hash function and the compression.
                (2..=4, wire_type::STRUCT) => kinds += first_variant(&mut reader)?,
                _ => reader.skip(kind, 0)?,
            }
        }
        (kinds == 3).then_some(Self {
            len: reader.position(),
            blocks: blocks?,
        })
    }
}

/// Reads a union of empty structs. Returns 1 if it is the first variant, and 0 for others.
fn first_variant(reader: &mut Compact<'_>) -> Option<u32> {
    let (variant, kind) = reader.field(0)??;
    reader.skip(kind, 0)?;
    let is_end = reader.field(variant)?.is_none();
    (kind == wire_type::STRUCT && is_end).then_some(u32::from(variant == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::bloom_filter::Sbbf;

    #[test]
    fn headers_of_the_only_known_kind_are_parsed() {
        let mut bytes = Vec::new();
        Sbbf::new(&[0; 96]).write(&mut bytes).unwrap();
        let header = BloomFilterHeader::parse(&bytes).unwrap();
        assert_eq!(header.blocks, 96);
        assert_eq!(header.len, bytes.len() - 96);
        for len in 0..header.len {
            assert_eq!(BloomFilterHeader::parse(&bytes[..len]), None, "{len} bytes");
        }
        let (mut read, mut refused) = (0, 0);
        for bit in 0..8 * header.len {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match BloomFilterHeader::parse(&damaged) {
                Some(_) => read += 1,
                None => refused += 1,
            }
        }
        assert!(read < refused, "{read} of {} were read", read + refused);
    }
}
