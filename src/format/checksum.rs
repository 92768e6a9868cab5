//! Spec: Chapter 6, "Checksums".

// This crate chooses vector instructions at run time, `xxhash-rust` at compile time. The bench
// `encodings` compares the two.
use std::fmt;
use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// Computes the 32-bit checksum of the format: XXH3-64 without seed, its halves XORed.
///
/// ```
/// assert_eq!(arrow_shard::format::checksum(b""), 0x15D5_14C7);
/// ```
pub fn checksum(bytes: &[u8]) -> u32 {
    fold(XxHash3_64::oneshot(bytes))
}

/// A [`checksum`] of bytes that arrive in pieces.
#[derive(Clone, Default)]
pub struct RunningChecksum(XxHash3_64);

impl fmt::Debug for RunningChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunningChecksum({:08x})", self.value())
    }
}

impl RunningChecksum {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Returns the checksum of all bytes so far.
    pub fn value(&self) -> u32 {
        fold(self.0.finish())
    }
}

fn fold(hash: u64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low half is what is asked for"
    )]
    let low = hash as u32;
    let high = (hash >> 32) as u32;
    high ^ low
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "halves and low bytes")]
mod tests {
    use super::{RunningChecksum, checksum};

    #[test]
    fn folds_the_two_halves_of_xxh3() {
        assert_eq!(checksum(b""), 0x15D5_14C7);
        assert_eq!(checksum(b"hello"), 0xC937_34A8);
        assert_eq!(checksum(b"testdata"), 0x5998_1402);
    }

    #[test]
    fn two_libraries_agree_on_every_length() {
        let bytes: Vec<u8> = (0..70_000u32).map(|i| ((i * 7919) >> 5) as u8).collect();
        let lengths = (0..2100).chain((2100..70_000).step_by(997));
        for len in lengths {
            let hash = xxhash_rust::xxh3::xxh3_64(&bytes[..len]);
            let folded = (hash >> 32) as u32 ^ hash as u32;
            assert_eq!(checksum(&bytes[..len]), folded, "{len} bytes");
            let mut running = RunningChecksum::default();
            let (before, behind) = bytes[..len].split_at(len / 3);
            running.update(before);
            running.update(behind);
            assert_eq!(running.value(), folded, "{len} bytes in two pieces");
        }
    }
}
