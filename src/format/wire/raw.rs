//! Spec: Chapter 6, "Message Serialization" (the protobuf encoding, one level deep).
//!
//! Reads the fields of a message before its type is known.

use crate::error::{Error, Result};

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Raw<'a> {
    Varint,
    I64(u64),
    Len(&'a [u8]),
    I32,
}

/// The fields of a message with their tags. Ends after the first error.
#[derive(Debug, Clone)]
pub(super) struct RawFields<'a> {
    rest: &'a [u8],
}

impl<'a> RawFields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the last value of a field, which is the valid one in protobuf.
    pub(super) fn last(message: &'a [u8], tag: u64) -> Result<Option<Raw<'a>>> {
        let mut found = None;
        for field in Self::new(message) {
            let (t, value) = field?;
            if t == tag {
                found = Some(value);
            }
        }
        Ok(found)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    fn field(&mut self) -> Option<(u64, Raw<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => self.varint().map(|_| Raw::Varint)?,
            1 => {
                let bytes = self.bytes(8)?.first_chunk::<8>()?;
                Raw::I64(u64::from_le_bytes(*bytes))
            }
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                Raw::Len(self.bytes(len)?)
            }
            5 => self.bytes(4).map(|_| Raw::I32)?,
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'a> Iterator for RawFields<'a> {
    type Item = Result<(u64, Raw<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let before = self.rest.len();
        Some(self.field().ok_or_else(|| {
            self.rest = &[];
            Error::corrupt(format!(
                "no protobuf field {before} bytes before the end of a message"
            ))
        }))
    }
}
