//! Spec: Chapter 7, "FLBitPack" and "FFOR": the FastLanes order of 1024 values.

/// Number of values in a chunk.
pub(crate) const CHUNK: usize = 1024;

/// Order of the groups of eight rows. It is its own inverse.
pub(super) const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];

/// Returns the input index of the first value of a row. The other lanes follow it.
#[inline(always)]
pub(super) fn row_start(row: usize) -> usize {
    16 * ORDER[row / 8] + 128 * (row % 8)
}
