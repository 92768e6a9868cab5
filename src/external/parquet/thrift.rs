//! Structs in Thrift's compact protocol.

use super::cursor::Cursor;
use crate::error::{Error, Result};

/// Levels of structs and lists: the metadata of a file have eight.
const MAX_DEPTH: usize = 16;
/// Id of the schema in a footer.
const SCHEMA: i64 = 2;
/// Id of the number of children in an element of a schema.
const NUM_CHILDREN: i64 = 5;

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
                let (len, kind) = self.list()?;
                for _ in 0..len {
                    self.skip_element(kind, depth + 1)?;
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

    /// Reads the number of elements of a list, and their type.
    fn list(&mut self) -> Option<(usize, u8)> {
        let byte = self.0.byte()?;
        let len = match byte >> 4 {
            15 => self.len()?,
            short => usize::from(short),
        };
        Some((len, byte & 0x0f))
    }

    /// Reads a struct. Returns the integer with this id, or 0.
    fn integer_of_struct(&mut self, wanted: i64) -> Option<i64> {
        let (mut id, mut found) = (0, 0);
        while let Some((field, kind)) = self.field(id)? {
            id = field;
            if field == wanted && kind == wire_type::I32 {
                found = self.integer()?;
            } else {
                self.skip(kind, 1)?;
            }
        }
        Some(found)
    }

    /// Reads the elements of a schema, parents before children. Returns the number of levels of groups, at most
    /// `most + 1`.
    fn schema_levels(&mut self, most: usize) -> Option<usize> {
        let (len, kind) = self.list()?;
        if kind != wire_type::STRUCT {
            return None;
        }
        // The children that are still to come, of each group around the next element.
        let (mut missing, mut levels) = (Vec::new(), 0);
        for _ in 0..len {
            let children = self.integer_of_struct(NUM_CHILDREN)?;
            if let Some(last) = missing.last_mut() {
                *last -= 1;
            }
            if children > 0 {
                missing.push(children);
                levels = levels.max(missing.len());
            }
            if levels > most {
                break;
            }
            while missing.last() == Some(&0) {
                missing.pop();
            }
        }
        Some(levels)
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

/// Fails unless the bytes are the footer of a file that the crate `parquet` can parse: it reserves memory for the
/// number of row groups that the footer claims, and parses groups recursively.
///
/// # Errors
/// [`Corrupt`](crate::ErrorKind::Corrupt).
pub(crate) fn check_footer(bytes: &[u8], most_groups: usize) -> Result<()> {
    let is_whole = is_struct(bytes);
    let levels = || {
        let mut reader = Compact::new(bytes);
        let mut id = 0;
        while let Some((field, kind)) = reader.field(id)? {
            if field == SCHEMA && kind == wire_type::LIST {
                return reader.schema_levels(most_groups);
            }
            id = field;
            reader.skip(kind, 1)?;
        }
        None
    };
    match levels().filter(|_| is_whole) {
        Some(levels) if levels <= most_groups => Ok(()),
        Some(_) => Err(Error::corrupt(format!(
            "more than {most_groups} groups inside of each other in the schema of a Parquet file"
        ))),
        None => Err(Error::corrupt("the footer of the Parquet file is damaged")),
    }
}

/// Returns whether some bytes begin with a whole struct.
pub(crate) fn is_struct(bytes: &[u8]) -> bool {
    Compact::new(bytes).skip(wire_type::STRUCT, 0).is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a footer with a schema of these numbers of children, and the header of a list of row groups.
    fn footer(children: &[u8], row_groups: &[u8]) -> Vec<u8> {
        let count = u8::try_from(children.len()).unwrap();
        // Version 1, then a list of structs.
        let mut bytes = vec![0x15, 2, 0x19, 0xfc, count];
        for children in children {
            bytes.extend([0x55, 2 * children, 0]);
        }
        bytes.extend([0x16, 0, 0x19]);
        bytes.extend(row_groups);
        bytes.push(0);
        bytes
    }

    #[test]
    fn groups_in_groups_are_counted() {
        let flat = footer(&[3, 0, 0, 0], &[0x0c]);
        check_footer(&flat, 1).unwrap();
        check_footer(&flat, 0).unwrap_err();
        // The last child of a group is inside of it.
        let nested = footer(&[2, 1, 0, 1, 1, 0], &[0x0c]);
        check_footer(&nested, 3).unwrap();
        check_footer(&nested, 2).unwrap_err();
        for len in 0..flat.len() {
            check_footer(&flat[..len], 1).unwrap_err();
        }
    }

    #[test]
    fn row_groups_that_are_only_claimed_are_refused() {
        check_footer(&footer(&[1, 0], &[0x1c, 0]), 1).unwrap();
        for claimed in [&[0x2c, 0][..], &[0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0]] {
            check_footer(&footer(&[1, 0], claimed), 1).unwrap_err();
        }
    }
}
