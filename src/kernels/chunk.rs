//! Spec: Chapter 7, "FLBitPack" and "FFOR": the FastLanes order of 1024 values.

/// Values of a chunk.
pub(crate) const CHUNK: usize = 1024;

/// The order of groups of eight rows; its own inverse.
pub(super) const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];

/// First input index of a row; its lanes follow one another.
#[inline(always)]
pub(super) fn row_start(row: usize) -> usize {
    16 * ORDER[row / 8] + 128 * (row % 8)
}
