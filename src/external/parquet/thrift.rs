//! Structs in Thrift's compact protocol.

use super::cursor::Cursor;

/// Levels of structs and lists: the metadata of a file have eight.
const MAX_DEPTH: usize = 16;

/// Types of Thrift's compact protocol.
pub(super) mod wire_type {
    pub(in super::super) const TRUE: u8 = 1;
    pub(in super::super) const FALSE: u8 = 2;
    pub(in super::super) const BYTE: u8 = 3;
    pub(in super::super) const I16: u8 = 4;
    pub(in super::super) const I32: u8 = 5;
    pub(in super::super) const I64: u8 = 6;
    pub(in super::super) const DOUBLE: u8 = 7;
    pub(in super::super) const BINARY: u8 = 8;
    pub(in super::super) const LIST: u8 = 9;
    pub(in super::super) const SET: u8 = 10;
    pub(in super::super) const MAP: u8 = 11;
    pub(in super::super) const STRUCT: u8 = 12;
}

/// Reads the fields of structs.
pub(super) struct Compact<'a>(Cursor<'a>);

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(Cursor::new(bytes))
    }

    /// Returns the number of bytes that have been read.
    pub(super) fn position(&self) -> usize {
        self.0.position()
    }

    pub(super) fn integer(&mut self) -> Option<i64> {
        self.0.integer()
    }

    /// Reads the id and the type of the next field; the inner `None` at the end of the struct.
    pub(super) fn field(&mut self, previous: i64) -> Option<Option<(i64, u8)>> {
        let byte = self.0.byte()?;
        let kind = byte & 0x0f;
        if kind == 0 {
            return Some(None);
        }
        let id = match byte >> 4 {
            0 => self.0.integer()?,
            delta => previous.checked_add(i64::from(delta))?,
        };
        Some(Some((id, kind)))
    }

    pub(super) fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            wire_type::TRUE | wire_type::FALSE => {}
            wire_type::BYTE => self.advance(1)?,
            wire_type::I16 | wire_type::I32 | wire_type::I64 => {
                self.0.varint()?;
            }
            wire_type::DOUBLE => self.advance(8)?,
            wire_type::BINARY => {
                let len = self.len()?;
                self.advance(len)?;
            }
            wire_type::LIST | wire_type::SET => {
                let byte = self.0.byte()?;
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
                let kinds = if len > 0 { self.0.byte()? } else { 0 };
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

    fn advance(&mut self, len: usize) -> Option<()> {
        self.0.take(len).map(|_| ())
    }

    /// Reads a length. No collection has more elements than there are bytes.
    fn len(&mut self) -> Option<usize> {
        let len = usize::try_from(self.0.varint()?).ok()?;
        (len <= self.0.rest().len()).then_some(len)
    }
}

/// Returns whether the struct at the start of some bytes has a field with this id.
pub(crate) fn has_field(bytes: &[u8], wanted: i64) -> bool {
    let mut reader = Compact::new(bytes);
    let mut id = 0;
    while let Some(Some((field, kind))) = reader.field(id) {
        if field == wanted {
            return true;
        }
        id = field;
        if reader.skip(kind, 0).is_none() {
            return false;
        }
    }
    false
}
