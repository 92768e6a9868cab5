//! The headers of Parquet pages, in Thrift's compact protocol, checked before anything is decoded.

use super::thrift::{Compact, wire_type};
use crate::error::{Error, Result};

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    Data,
    DataV2,
    Dictionary,
    Index,
}

/// The header of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    /// Bytes of the header itself.
    pub(crate) len: usize,
    /// Bytes of the page after the header.
    pub(crate) compressed: usize,
    /// Bytes of the page after decompression.
    pub(crate) uncompressed: usize,
    /// CRC-32 of the bytes after the header, if it is stored.
    pub(super) crc: Option<u32>,
    /// Values of the page, nulls included.
    pub(crate) values: u64,
    /// Parquet's number of the encoding of the values.
    pub(super) encoding: i64,
    pub(super) levels: StoredLevels,
}

/// How the levels of a page are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredLevels {
    /// The page has none.
    None,
    /// Before the values and compressed with them, in this encoding.
    Compressed { encoding: i64 },
    /// Before the values, uncompressed.
    Apart {
        nulls: u64,
        /// Bytes of definition levels, and of repetition levels.
        bytes: (usize, usize),
        /// Whether the values are compressed.
        is_compressed: bool,
    },
}

impl PageHeader {
    /// Parses the header at the start of some bytes.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes do not begin with a header.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = Compact::new(bytes);
        reader
            .fields()
            .and_then(|found| found.header(reader.position()))
            .ok_or_else(|| Error::corrupt("expected the header of a Parquet page"))
    }

    /// Returns whether the values refer to the entries of a dictionary.
    pub(super) fn has_codes(&self) -> bool {
        matches!(self.encoding, 2 | 8)
    }

    /// Returns the bytes of the page with its header.
    pub(crate) fn page_len(&self) -> usize {
        self.len.saturating_add(self.compressed)
    }
}

/// Numbers and Booleans of a struct by their ids, from 1 on.
type StructNumbers = [Option<i64>; 7];

/// The fields of a header as found.
#[derive(Debug, Default)]
struct Fields {
    /// Kind, bytes before compression, bytes after it, and CRC.
    own: StructNumbers,
    /// The header of each kind of page.
    data: Option<StructNumbers>,
    dictionary: Option<StructNumbers>,
    data_v2: Option<StructNumbers>,
}

impl Fields {
    fn header(&self, len: usize) -> Option<PageHeader> {
        let [kind, uncompressed, compressed, crc, ..] = self.own;
        let mut header = PageHeader {
            kind: PageKind::Index,
            len,
            compressed: size(compressed)?,
            uncompressed: size(uncompressed)?,
            // Thrift has no unsigned integers.
            crc: match crc {
                Some(crc) => Some(i32::try_from(crc).ok()?.cast_unsigned()),
                None => None,
            },
            values: 0,
            encoding: 0,
            levels: StoredLevels::None,
        };
        match kind? {
            0 => {
                let [values, encoding, levels, ..] = self.data?;
                header.kind = PageKind::Data;
                header.values = u64::try_from(values?).ok()?;
                header.encoding = encoding?;
                header.levels = StoredLevels::Compressed { encoding: levels? };
            }
            1 => {}
            2 => {
                let [values, encoding, ..] = self.dictionary?;
                header.kind = PageKind::Dictionary;
                header.values = u64::try_from(values?).ok()?;
                header.encoding = encoding?;
            }
            3 => {
                let [
                    values,
                    nulls,
                    _,
                    encoding,
                    definition,
                    repetition,
                    is_compressed,
                ] = self.data_v2?;
                header.kind = PageKind::DataV2;
                header.values = u64::try_from(values?).ok()?;
                header.encoding = encoding?;
                header.levels = StoredLevels::Apart {
                    nulls: u64::try_from(nulls?).ok()?,
                    bytes: (size(definition)?, size(repetition)?),
                    // A page that does not say so is compressed.
                    is_compressed: is_compressed != Some(0),
                };
            }
            _ => return None,
        }
        Some(header)
    }
}

fn size(number: Option<i64>) -> Option<usize> {
    usize::try_from(i32::try_from(number?).ok()?).ok()
}

impl Compact<'_> {
    /// Reads the fields of a header. Known fields must have their types, so that no other reader sees other fields.
    fn fields(&mut self) -> Option<Fields> {
        let (mut id, mut found) = (0, Fields::default());
        while let Some((field, kind)) = self.field(id)? {
            id = field;
            match (field, kind) {
                (1..=4, wire_type::I32) => self.number(field, kind, &mut found.own)?,
                (5, wire_type::STRUCT) => found.data = Some(self.numbers()?),
                (7, wire_type::STRUCT) => found.dictionary = Some(self.numbers()?),
                (8, wire_type::STRUCT) => found.data_v2 = Some(self.numbers()?),
                (1..=5 | 7 | 8, _) => return None,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(found)
    }

    /// Reads the numbers and Booleans of a struct, and skips other fields.
    fn numbers(&mut self) -> Option<StructNumbers> {
        let (mut id, mut numbers) = (0, StructNumbers::default());
        while let Some((field, kind)) = self.field(id)? {
            id = field;
            self.number(field, kind, &mut numbers)?;
        }
        Some(numbers)
    }

    fn number(&mut self, field: i64, kind: u8, numbers: &mut StructNumbers) -> Option<()> {
        let place = field
            .checked_sub(1)
            .and_then(|place| usize::try_from(place).ok());
        let place = place.and_then(|place| numbers.get_mut(place));
        match (place, kind) {
            (Some(place), wire_type::I32) => *place = Some(self.integer()?),
            (Some(place), wire_type::TRUE) => *place = Some(1),
            (Some(place), wire_type::FALSE) => *place = Some(0),
            _ => self.skip(kind, 1)?,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page with 5 values in 40 bytes, 30 after compression, and with statistics.
    const DATA: [u8; 21] = [
        0x15, 0x00, // type 0
        0x15, 0x50, // 40 bytes
        0x15, 0x3c, // 30 bytes
        0x2c, // field 5: a struct
        0x15, 0x0a, // 5 values
        0x15, 0x00, 0x15, 0x06, 0x15, 0x06, // encodings
        0x1c, 0x18, 0x01, b'z', 0x00, // field 5: a struct with one text
        0x00, // end of the struct
    ];

    #[test]
    fn a_header_tells_sizes_and_values() {
        let bytes = [&DATA[..], &[0, 9, 9]].concat();
        let header = PageHeader::parse(&bytes).unwrap();
        let expected = PageHeader {
            kind: PageKind::Data,
            len: 22,
            compressed: 30,
            uncompressed: 40,
            crc: None,
            values: 5,
            encoding: 0,
            levels: StoredLevels::Compressed { encoding: 3 },
        };
        assert_eq!(header, expected);
        assert_eq!(header.page_len(), 52);
    }

    #[test]
    fn headers_that_are_cut_or_changed_are_errors_or_other_headers() {
        let bytes = [&DATA[..], &[0]].concat();
        for len in 0..bytes.len() {
            assert!(PageHeader::parse(&bytes[..len]).is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            for flip in 1..=255 {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                drop(PageHeader::parse(&changed));
            }
        }
    }

    #[test]
    fn collections_that_claim_many_elements_end_with_the_bytes() {
        // A list of 2^40 Booleans, a map, and structs inside of structs.
        for bytes in [
            &[0x99, 0xf1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20][..],
            &[0x9b, 0x80, 0x80, 0x80, 0x80, 0x10, 0x11],
            &[0x9c; 100],
        ] {
            assert!(PageHeader::parse(bytes).is_err());
        }
    }
}
