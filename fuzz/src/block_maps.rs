//! Checks a block map: its blocks follow each other, are found by position, and do not change when written and parsed
//! again.
//!
//! Input: u64 bytes before the map | map

use arrow_shard::buffer::{BlockMap, BlockRange};

pub fn run(data: &[u8]) {
    let Some((size, map)) = data.split_first_chunk::<8>() else {
        return;
    };
    let size = u64::from_le_bytes(*size);
    let Ok(parsed) = BlockMap::parse(map, size) else {
        return;
    };
    assert!(parsed.data_size() <= size);
    let blocks = blocks(&parsed);
    let (mut values, mut bytes) = (0, 0);
    for (i, block) in blocks.iter().enumerate() {
        assert_eq!(
            (block.ordinal, block.values.start, block.bytes.start),
            (i, values, bytes)
        );
        assert!(block.values.end > values && block.bytes.end > bytes);
        (values, bytes) = (block.values.end, block.bytes.end);
    }
    assert_eq!((values, bytes), (parsed.value_count(), parsed.data_size()));
    for block in blocks.iter().step_by(blocks.len() / 16 + 1) {
        let found = parsed.overlapping(block.values.clone()).collect::<Vec<_>>();
        assert_eq!(found, std::slice::from_ref(block));
    }
    let mut out = Vec::new();
    parsed.encode(&mut out).expect("a map");
    let again = BlockMap::parse(&out, size).expect("what was just written");
    assert_eq!(self::blocks(&again), blocks);
}

fn blocks(map: &BlockMap) -> Vec<BlockRange> {
    (0..map.len())
        .map(|i| map.block(i).expect("a block below the count"))
        .collect()
}
