//! Changes of the bytes of a file, all of them or a share.

use std::fmt::Display;
use std::ops::Range;

/// Without the variable `FULL`, one change in this many is tried. There are nine changes of most bytes, so that the
/// kinds of changes take turns from byte to byte.
const SHARE: usize = 4;

/// Selects changes.
pub(crate) struct Sample {
    share: usize,
    seen: usize,
}

impl Default for Sample {
    fn default() -> Self {
        let is_full = std::env::var_os("FULL").is_some();
        Self {
            share: if is_full { 1 } else { SHARE },
            seen: 0,
        }
    }
}

impl Sample {
    /// Returns the number of changes to try, given the number of all changes.
    pub(crate) fn share_of(&self, changes: usize) -> usize {
        changes / self.share
    }

    /// Returns whether the next change is tried.
    pub(crate) fn takes_next(&mut self) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(self.share)
    }

    /// Calls `each` with a copy of `bytes` for the changes of the bytes in `range`.
    pub(crate) fn changes(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        mut each: impl FnMut(&mut Vec<u8>, &dyn Display),
    ) {
        let mut changed = bytes.to_vec();
        for at in range.clone() {
            for mask in [0x01, 0x80, 0xFF] {
                if self.takes_next() {
                    changed[at] ^= mask;
                    each(&mut changed, &format_args!("byte {at} ^ {mask:#04x}"));
                    changed.copy_from_slice(bytes);
                }
            }
            for (width, name) in [(4, "u32"), (8, "u64")] {
                let end = at + width;
                if end > range.end {
                    continue;
                }
                let mut one = [0; 8];
                one[0] = 1;
                for (value, shown) in [([0; 8], "0"), (one, "1"), ([0xFF; 8], "max")] {
                    if bytes[at..end] == value[..width] || !self.takes_next() {
                        continue;
                    }
                    changed[at..end].copy_from_slice(&value[..width]);
                    each(&mut changed, &format_args!("{name} at {at} = {shown}"));
                    changed.copy_from_slice(bytes);
                }
            }
        }
    }
}
