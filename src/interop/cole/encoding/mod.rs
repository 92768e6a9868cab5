//! Spec: COLE 1.0, "Page Data Encoding".
//!
//! One file per encoding: it reads pages, writes them, and computes the size of a page before it is written.

mod delta;
mod dictionary;
mod integer;
mod page;
mod plain;
mod rle;
mod runs;
mod strings;
mod write;

pub(super) use page::{Page, PageInteger};
pub(super) use strings::StringBuilder;
pub(super) use write::{EncodedPage, PageValues};

/// Converts a number of values to a length in memory.
fn to_len(num_values: u32) -> usize {
    // Lossless: all supported targets have addresses of 32 bits or more.
    num_values as usize
}

#[cfg(test)]
mod tests;
