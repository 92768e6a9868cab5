//! Spec: Chapter 6, "Checksums".

// Chooses vector instructions at run time, which `xxhash-rust` does when it is compiled: the bench
// `encodings` compares the two.
use twox_hash::XxHash3_64;

/// The 32-bit checksum of the format: XXH3-64 without seed, its halves XORed.
///
/// ```
/// assert_eq!(arrow_shard::format::checksum(b""), 0x15D5_14C7);
/// ```
pub fn checksum(bytes: &[u8]) -> u32 {
    let hash = XxHash3_64::oneshot(bytes);
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
    use super::checksum;

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
        }
    }
}
