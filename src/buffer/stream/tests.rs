use super::*;

#[test]
fn a_block_ends_where_little_of_it_follows_beside_what_was_read() {
    let ends = |len: usize, ranges: &[Range<usize>]| {
        let block = BlockRange {
            ordinal: 0,
            values: 0..len as u64,
            bytes: 0..0,
        };
        let ranges = ranges.to_vec();
        BlockPart { block, len, ranges }.ends_block()
    };
    assert!(ends(8192, &[0..100, 101..8190]));
    assert!(!ends(8192, &[0..100, 101..7000]));
    // Batches much smaller than the block: each needs the block for the next one, except the last.
    assert!(!ends(65_536, &[63_488..64_000, 64_001..64_512]));
    assert!(ends(65_536, &[64_512..65_000, 65_001..65_536]));
}
