//! Spec: COLE 1.0, "Page Header" and "Statistics (for numeric columns)".
//!
//! ```text
//! ┌───────────────────┬─────────────────┬────────────┬──────────┬───────────┬────────────┐
//! │ uncompressed_size │ compressed_size │ num_values │ encoding │ has_stats │ statistics │
//! │         4         │        4        │     4      │    1     │     1     │  0 to 22   │
//! └───────────────────┴─────────────────┴────────────┴──────────┴───────────┴────────────┘
//!                                                                    ┌───────┘
//!                      ┌─────────┬─────┬─────────┬─────┬─────────────┴┐
//!                      │ has_min │ min │ has_max │ max │  null_count  │
//!                      │    1    │  8  │    1    │  8  │      4       │
//!                      └─────────┴─────┴─────────┴─────┴──────────────┘
//! ```

use super::cursor::Cursor;
use super::encoding_type::Encoding;
use crate::error::Result;

/// The header of a page, which precedes its values and is repeated in the metadata of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHeader {
    /// Bytes of the values in encoding PLAIN.
    pub uncompressed_size: u32,
    /// Bytes of the values as stored.
    pub compressed_size: u32,
    /// Number of values.
    pub num_values: u32,
    /// The encoding of the values.
    pub encoding: Encoding,
    /// Bounds of the values, if the writer stored any.
    pub statistics: Option<Statistics>,
}

/// Bounds of the integers of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Every value is at least this.
    pub min: Option<i64>,
    /// Every value is at most this.
    pub max: Option<i64>,
    /// Number of nulls: 0 in every page that can be read, because the format does not store which values are null.
    pub null_count: u32,
}

/// The size of an absent bound in bytes, which the specification leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbsentBounds {
    /// Absent bounds take no bytes, according to the conditions in the specification's table.
    NoBytes,
    /// Absent bounds take eight bytes, so that statistics always have the same length.
    EightBytes,
}

impl PageHeader {
    pub(super) fn read(cursor: &mut Cursor<'_>, absent: AbsentBounds) -> Result<Self> {
        Ok(Self {
            uncompressed_size: cursor.u32()?,
            compressed_size: cursor.u32()?,
            num_values: cursor.u32()?,
            encoding: Encoding::read(cursor)?,
            statistics: if cursor.flag("has_stats")? {
                Some(Statistics::read(cursor, absent)?)
            } else {
                None
            },
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.uncompressed_size.to_le_bytes());
        out.extend_from_slice(&self.compressed_size.to_le_bytes());
        out.extend_from_slice(&self.num_values.to_le_bytes());
        out.push(self.encoding.code());
        out.push(u8::from(self.statistics.is_some()));
        if let Some(statistics) = &self.statistics {
            statistics.write(out);
        }
    }

    /// Returns the size of the header in bytes.
    pub(super) fn len(&self, absent: AbsentBounds) -> u64 {
        let statistics = self.statistics.as_ref();
        14 + statistics.map_or(0, |statistics| statistics.len(absent))
    }
}

impl Statistics {
    fn read(cursor: &mut Cursor<'_>, absent: AbsentBounds) -> Result<Self> {
        let mut bound = |name| -> Result<Option<i64>> {
            let is_there = cursor.flag(name)?;
            let value = if is_there || absent == AbsentBounds::EightBytes {
                cursor.i64()?
            } else {
                0
            };
            Ok(is_there.then_some(value))
        };
        Ok(Self {
            min: bound("has_min")?,
            max: bound("has_max")?,
            null_count: cursor.u32()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        for bound in [self.min, self.max] {
            out.push(u8::from(bound.is_some()));
            if let Some(value) = bound {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        out.extend_from_slice(&self.null_count.to_le_bytes());
    }

    fn len(&self, absent: AbsentBounds) -> u64 {
        let bound = |bound: Option<i64>| {
            if bound.is_some() || absent == AbsentBounds::EightBytes {
                9
            } else {
                1
            }
        };
        bound(self.min) + bound(self.max) + 4
    }

    /// Returns whether a value lies within the bounds.
    pub(super) fn allow(&self, value: i64) -> bool {
        self.min.is_none_or(|min| min <= value) && self.max.is_none_or(|max| value <= max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_in_both_forms() {
        for (min, max, lens) in [
            (Some(-1), Some(i64::MAX), (36, 36)),
            (None, Some(7), (28, 36)),
            (None, None, (20, 36)),
        ] {
            let header = PageHeader {
                uncompressed_size: 1,
                compressed_size: 2,
                num_values: 3,
                encoding: Encoding::Delta,
                statistics: Some(Statistics {
                    min,
                    max,
                    null_count: 4,
                }),
            };
            let mut bytes = Vec::new();
            header.write(&mut bytes);
            assert_eq!(bytes.len() as u64, header.len(AbsentBounds::NoBytes));
            assert_eq!(
                (
                    header.len(AbsentBounds::NoBytes),
                    header.len(AbsentBounds::EightBytes)
                ),
                lens
            );
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(
                PageHeader::read(&mut cursor, AbsentBounds::NoBytes).unwrap(),
                header
            );
            cursor.finish().unwrap();
            let mut full = bytes[..14].to_vec();
            for bound in [min, max] {
                full.push(bound.is_some().into());
                full.extend_from_slice(&bound.unwrap_or(99).to_le_bytes());
            }
            full.extend_from_slice(&4_u32.to_le_bytes());
            let mut cursor = Cursor::new(&full);
            assert_eq!(
                PageHeader::read(&mut cursor, AbsentBounds::EightBytes).unwrap(),
                header
            );
            cursor.finish().unwrap();
        }
    }

    #[test]
    fn a_page_without_statistics_has_a_header_of_14_bytes() {
        let mut bytes = vec![0; 14];
        bytes[8] = 5;
        let header = PageHeader::read(&mut Cursor::new(&bytes), AbsentBounds::NoBytes).unwrap();
        assert_eq!((header.num_values, header.statistics), (5, None));
        bytes[13] = 2;
        assert!(PageHeader::read(&mut Cursor::new(&bytes), AbsentBounds::NoBytes).is_err());
        bytes[12] = 4;
        assert!(PageHeader::read(&mut Cursor::new(&bytes), AbsentBounds::NoBytes).is_err());
    }
}
