//! Spec: Chapter 6, "Checksums".

use xxhash_rust::xxh3::xxh3_64;

/// The 32-bit checksum of the format: XXH3-64 without seed, its halves XORed.
///
/// ```
/// assert_eq!(arrow_shard::format::checksum(b""), 0x15D5_14C7);
/// ```
pub fn checksum(bytes: &[u8]) -> u32 {
    let hash = xxh3_64(bytes);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low half is what is asked for"
    )]
    let low = hash as u32;
    let high = (hash >> 32) as u32;
    high ^ low
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn folds_the_two_halves_of_xxh3() {
        assert_eq!(checksum(b""), 0x15D5_14C7);
        assert_eq!(checksum(b"hello"), 0xC937_34A8);
        assert_eq!(checksum(b"testdata"), 0x5998_1402);
    }
}
