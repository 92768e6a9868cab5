//! An entry of the cache of recent byte strings, which avoids lookups in a dictionary.

use super::codes::NULL;

/// A recent byte string: its first and last 8 bytes (all bytes of a short one), its length and its code.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecentBytes {
    pub(super) ends: (u64, u64),
    pub(super) len: usize,
    pub(super) code: u32,
}

impl RecentBytes {
    pub(super) const NONE: Self = Self {
        ends: (0, 0),
        len: 0,
        code: NULL,
    };

    /// Returns the first and the last 8 bytes, which overlap in a short value.
    #[inline]
    pub(super) fn ends(value: &[u8]) -> (u64, u64) {
        if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk()) {
            return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        }
        if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk()) {
            return (
                u32::from_le_bytes(*first).into(),
                u32::from_le_bytes(*last).into(),
            );
        }
        let byte = |i: usize| u64::from(value.get(i).copied().unwrap_or(0));
        (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
    }
}
