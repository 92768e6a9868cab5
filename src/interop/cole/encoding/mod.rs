//! Spec: COLE 1.0, "Page Data Encoding".
//!
//! One file per encoding, with both directions and the size that a page would have.

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
pub(super) use write::{EncodedPage, Values};

/// A number of values as a length in memory.
fn to_len(num_values: u32) -> usize {
    // Hosts have addresses of 32 bits or more.
    num_values as usize
}

#[cfg(test)]
mod tests;
