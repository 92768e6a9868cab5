//! The headers of Parquet pages, in Thrift's compact protocol, checked before anything is decoded.

use crate::error::{Error, Result};

/// Structs inside of structs that a header may have: statistics are one level deep.
const MAX_DEPTH: usize = 8;

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    Data,
    DataV2,
    Dictionary,
    Index,
}

/// The parts of a page header that tell its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    /// Bytes of the header itself.
    pub(crate) len: usize,
    /// Bytes of the page after the header.
    pub(crate) compressed: usize,
    /// Bytes of the page after decompression.
    pub(crate) uncompressed: usize,
    /// Values of the page, nulls included.
    pub(crate) values: u64,
}

impl PageHeader {
    /// Parses the header at the start of some bytes.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if there is none.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = Compact { bytes, at: 0 };
        let mut found = Fields::default();
        reader
            .header(&mut found)
            .and_then(|()| found.header(reader.at))
            .ok_or_else(|| Error::corrupt("expected the header of a Parquet page"))
    }

    /// Returns the bytes of the page with its header.
    pub(crate) fn page_len(&self) -> usize {
        self.len.saturating_add(self.compressed)
    }
}

/// The fields of a header as found.
#[derive(Debug, Default)]
struct Fields {
    kind: Option<i64>,
    uncompressed: Option<i64>,
    compressed: Option<i64>,
    /// Number of values in the header of each kind of page.
    data: Option<i64>,
    dictionary: Option<i64>,
    data_v2: Option<i64>,
}

impl Fields {
    fn header(&self, len: usize) -> Option<PageHeader> {
        let (kind, values) = match self.kind? {
            0 => (PageKind::Data, self.data?),
            1 => (PageKind::Index, 0),
            2 => (PageKind::Dictionary, self.dictionary?),
            3 => (PageKind::DataV2, self.data_v2?),
            _ => return None,
        };
        Some(PageHeader {
            kind,
            len,
            compressed: usize::try_from(self.compressed?).ok()?,
            uncompressed: usize::try_from(self.uncompressed?).ok()?,
            values: u64::try_from(values).ok()?,
        })
    }
}

/// Types of Thrift's compact protocol.
mod wire_type {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
}

struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    fn header(&mut self, out: &mut Fields) -> Option<()> {
        let mut id = 0;
        while let Some((field, kind)) = self.field(id)? {
            id = field;
            match (field, kind) {
                (1, wire_type::I32) => out.kind = Some(self.integer()?),
                (2, wire_type::I32) => out.uncompressed = Some(self.integer()?),
                (3, wire_type::I32) => out.compressed = Some(self.integer()?),
                (5, wire_type::STRUCT) => out.data = Some(self.num_values()?),
                (7, wire_type::STRUCT) => out.dictionary = Some(self.num_values()?),
                (8, wire_type::STRUCT) => out.data_v2 = Some(self.num_values()?),
                _ => self.skip(kind, 0)?,
            }
        }
        Some(())
    }

    /// Reads a struct, and returns its first field: the number of values.
    fn num_values(&mut self) -> Option<i64> {
        let (mut id, mut values) = (0, None);
        while let Some((field, kind)) = self.field(id)? {
            id = field;
            match (field, kind) {
                (1, wire_type::I32) => values = Some(self.integer()?),
                _ => self.skip(kind, 1)?,
            }
        }
        values
    }

    /// Reads the id and the type of the next field; the inner `None` at the end of the struct.
    fn field(&mut self, previous: i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let kind = byte & 0x0f;
        if kind == 0 {
            return Some(None);
        }
        let id = match byte >> 4 {
            0 => self.integer()?,
            delta => previous.checked_add(i64::from(delta))?,
        };
        Some(Some((id, kind)))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            wire_type::TRUE | wire_type::FALSE => {}
            wire_type::BYTE => self.advance(1)?,
            wire_type::I16 | wire_type::I32 | wire_type::I64 => {
                self.varint()?;
            }
            wire_type::DOUBLE => self.advance(8)?,
            wire_type::BINARY => {
                let len = self.len()?;
                self.advance(len)?;
            }
            wire_type::LIST | wire_type::SET => {
                let byte = self.byte()?;
                let len = match byte >> 4 {
                    15 => self.len()?,
                    short => usize::from(short),
                };
                for _ in 0..len {
                    self.skip_element(byte & 0x0f, depth + 1)?;
                }
            }
            wire_type::MAP => {
                let len = self.len()?;
                let kinds = if len > 0 { self.byte()? } else { 0 };
                for _ in 0..len {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 0x0f, depth + 1)?;
                }
            }
            wire_type::STRUCT => {
                let mut id = 0;
                while let Some((field, kind)) = self.field(id)? {
                    id = field;
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Skips an element of a collection, in which a Boolean takes a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            wire_type::TRUE | wire_type::FALSE => self.advance(1),
            _ => self.skip(kind, depth),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn advance(&mut self, len: usize) -> Option<()> {
        self.at = self
            .at
            .checked_add(len)
            .filter(|&at| at <= self.bytes.len())?;
        Some(())
    }

    /// Reads a length. No collection has more elements than there are bytes.
    fn len(&mut self) -> Option<usize> {
        let len = usize::try_from(self.varint()?).ok()?;
        (len <= self.bytes.len() - self.at).then_some(len)
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
        }
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 5 values and 40 bytes, of which 30 are stored, with statistics.
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
            values: 5,
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
