//! Spec: Chapter 7, block encodings: values to bytes and back.
//!
//! A block is an [`envelope`] around a [`presence`] section and encoded values, either [`number`]s or
//! [`bytes`]. The first two bytes of encoded values name their encoding. Most encodings nest others.

mod code;
mod compress;
mod context;
mod dictionaries;
mod fields;
mod trained_dictionary;

pub mod bytes;
pub mod envelope;
pub mod number;
pub mod presence;

#[cfg(test)]
mod tests;

pub use crate::kernels::{NumberKind, Word};
pub use code::EncodingCode;
pub use context::{Context, Scratch};
pub use dictionaries::{Dictionaries, DictionaryKind};
pub use trained_dictionary::Trained;

use std::ops::Range;

/// Expected results of an encoding.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Size of the encoded values, in bytes.
    pub bytes: usize,
    /// Time to decode a value, in nanoseconds. It is rough, and serves to compare encodings.
    pub decode_cost: f32,
}

/// The encodings of a block, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodingTree {
    /// The outermost encoding.
    pub code: EncodingCode,
    /// Number of values.
    pub values: usize,
    /// Size in bytes, children included.
    pub bytes: usize,
    /// Nested encoded regions and the names of their contents.
    pub children: Vec<(&'static str, EncodingTree)>,
}

/// Nested regions and the names of their contents.
type Children = Vec<(&'static str, EncodingTree)>;

impl std::fmt::Display for EncodingTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} x {} B", self.code, self.values, self.bytes)?;
        for (i, (name, child)) in self.children.iter().enumerate() {
            let open = if i == 0 { " { " } else { ", " };
            write!(f, "{open}{name}: {child}")?;
        }
        if self.children.is_empty() {
            Ok(())
        } else {
            f.write_str(" }")
        }
    }
}

/// Checks that `ranges` ascend within `n` positions, and returns their total length.
fn check_ranges(ranges: &[Range<usize>], n: usize) -> crate::Result<usize> {
    let (mut end, mut count) = (0, 0);
    for range in ranges {
        if range.start < end || range.end < range.start || range.end > n {
            return Err(crate::Error::invalid(format!(
                "expected ascending ranges of {n} positions, found {range:?}"
            )));
        }
        end = range.end;
        count += range.len();
    }
    Ok(count)
}
