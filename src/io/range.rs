//! Checked byte ranges.

use crate::error::{Error, Result, to_usize};
use std::fmt;
use std::ops::Range;

/// A half-open range of bytes of an artifact; `start <= end` always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ByteRange {
    start: u64,
    end: u64,
}

impl ByteRange {
    /// Returns the range `[start, end)`.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if `start > end`.
    pub fn try_new(start: u64, end: u64) -> Result<Self> {
        if start > end {
            return Err(Error::corrupt(format!(
                "byte range {start}..{end} ends before it starts"
            )));
        }
        Ok(Self { start, end })
    }

    /// Returns the range of `len` bytes that begins at `start`.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the end exceeds 64 bits.
    pub fn with_len(start: u64, len: u64) -> Result<Self> {
        let end = start.checked_add(len).ok_or_else(|| {
            Error::corrupt(format!("a range of {len} bytes at {start} has no end"))
        })?;
        Ok(Self { start, end })
    }

    /// Returns the position of the first byte.
    pub fn start(self) -> u64 {
        self.start
    }

    /// Returns the position after the last byte.
    pub fn end(self) -> u64 {
        self.end
    }

    /// Returns the length in bytes.
    pub fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether the range is empty.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` is completely inside this range.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the sub-range `[start, end)`, in bytes relative to the start of this range.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the sub-range exceeds this range.
    pub fn slice(self, start: u64, end: u64) -> Result<Self> {
        if start > end || end > self.len() {
            return Err(Error::corrupt(format!(
                "bytes {start}..{end} exceed a range of {} bytes",
                self.len()
            )));
        }
        Ok(Self {
            start: self.start + start,
            end: self.start + end,
        })
    }

    /// Returns this range if an artifact of `size` bytes contains it.
    ///
    /// # Errors
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the range ends beyond the artifact.
    pub fn within_size(self, size: u64) -> Result<Self> {
        if self.end > size {
            return Err(Error::corrupt(format!(
                "byte range {self} lies outside of the {size} bytes of the file"
            )));
        }
        Ok(self)
    }

    /// Returns the range as indexes in memory.
    ///
    /// # Errors
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the host cannot address it.
    pub fn to_usize(self) -> Result<Range<usize>> {
        Ok(to_usize(self.start)?..to_usize(self.end)?)
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_never_ends_before_it_starts() {
        assert!(ByteRange::try_new(3, 2).is_err());
        assert!(ByteRange::with_len(u64::MAX, 1).is_err());
        assert_eq!(ByteRange::try_new(2, 5).unwrap().len(), 3);
    }

    #[test]
    fn slices_stay_inside() {
        let r = ByteRange::try_new(10, 20).unwrap();
        assert_eq!(r.slice(2, 4).unwrap(), ByteRange::try_new(12, 14).unwrap());
        assert!(r.slice(2, 11).is_err());
        assert!(r.slice(5, 4).is_err());
        assert!(r.within_size(19).is_err());
    }
}
