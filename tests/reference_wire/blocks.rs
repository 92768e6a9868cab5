//! Checks block streams: block maps, the envelopes of blocks, presence.

use super::bytes::{
    Check, at, checksum, is_zero, rule, size_at, u8_at, u16_at, u32_at, u64_at, words,
};
use super::encodings::{Values, values_are_encoded_as_the_type_allows};
use roaring::RoaringBitmap;

/// Bytes of the footer of a block map.
const FOOTER: usize = 40;
/// Blocks of a segment.
const SEGMENT: u64 = 1024;

/// The content of a stream's blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) values: Values,
    /// Expected number of values.
    pub(crate) count: u64,
    pub(crate) embedded_presence: bool,
}

/// Checks a whole buffer, and counts the nulls in its presence sections.
pub(crate) fn check(
    buffer: &[u8],
    map_start: usize,
    blocks: u64,
    stream: &Stream,
) -> Result<u64, String> {
    let map = buffer.get(map_start..).ok_or("the block map is cut off")?;
    let sizes = at(block_sizes(map, blocks), || "block map".to_owned())?;
    let values: u64 = sizes.iter().map(|(values, _)| values).sum();
    rule(
        values == stream.count,
        "the block map counts the values of the field",
        || format!("{values} of {}", stream.count),
    )?;
    let bytes: usize = sizes.iter().map(|(_, bytes)| bytes).sum();
    rule(
        map_start == bytes.next_multiple_of(16),
        "blocks are padded to 16",
        || format!("{bytes} bytes of blocks, the map at {map_start}"),
    )?;
    rule(
        is_zero(&buffer[bytes..map_start]),
        "padding is zero",
        || "behind the blocks".to_owned(),
    )?;
    let mut start = 0;
    let mut nulls = 0;
    for (i, (values, bytes)) in sizes.iter().enumerate() {
        let block = &buffer[start..start + bytes];
        nulls += at(check_block(block, *values, stream), || format!("block {i}"))?;
        start += bytes;
    }
    Ok(nulls)
}

/// Returns the numbers of values and bytes of each block.
fn block_sizes(map: &[u8], blocks: u64) -> Result<Vec<(u64, usize)>, String> {
    rule(
        map.len() >= FOOTER + 16 && map.len().is_multiple_of(8),
        "a block map is a multiple of 8 long",
        || format!("{} bytes", map.len()),
    )?;
    let footer = words(&map[map.len() - FOOTER..], 8);
    let (value_count, block_count, segments) = (footer[0], footer[1], footer[2]);
    rule(
        block_count == blocks,
        "block_count matches the block map",
        || format!("{blocks}, in the map {block_count}"),
    )?;
    rule(footer[3] == SEGMENT, "segments have 1024 blocks", || {
        format!("{}", footer[3])
    })?;
    rule(
        segments == block_count.div_ceil(SEGMENT),
        "segments are full but for the last",
        || format!("{segments} of {block_count} blocks"),
    )?;
    let entries = usize::try_from(segments).unwrap() + 1;
    let list = map.len().checked_sub(FOOTER + 16 * entries);
    let list = list.ok_or("the segment list is cut off")?;
    let offsets = words(&map[list..map.len() - FOOTER], 8);
    let (positions, records) = offsets.split_at(entries);
    let mut sizes = Vec::new();
    let mut place = 0;
    for segment in 0..entries - 1 {
        rule(
            records[segment] == place as u64,
            "segment records lie one after the other",
            || format!("record {segment} at {}", records[segment]),
        )?;
        let first: (u64, usize) = sizes.iter().fold((0, 0), |(a, b), (x, y)| (a + x, b + y));
        rule(
            positions[segment] == first.0,
            "the segment list has the first value of segments",
            || format!("segment {segment}"),
        )?;
        place = at(segment_record(map, place, first, &mut sizes), || {
            format!("segment {segment}")
        })?;
    }
    rule(
        place == list && records[entries - 1] == list as u64,
        "the segment list follows the records",
        || format!("records end at {place}, the list is at {list}"),
    )?;
    let total: u64 = sizes.iter().map(|(values, _)| values).sum();
    rule(
        positions[entries - 1] == total && value_count == total,
        "the footer has all values",
        || format!("{value_count} of {total}"),
    )?;
    let bytes: usize = sizes.iter().map(|(_, bytes)| bytes).sum();
    rule(
        footer[4] == bytes as u64,
        "the footer has all bytes of the blocks",
        || format!("{} of {bytes}", footer[4]),
    )?;
    Ok(sizes)
}

/// Reads one record, and returns its end.
fn segment_record(
    map: &[u8],
    start: usize,
    first: (u64, usize),
    sizes: &mut Vec<(u64, usize)>,
) -> Result<usize, String> {
    rule(
        u64_at(map, start)? == first.0 && u64_at(map, start + 8)? == first.1 as u64,
        "a segment record has the place of its first block",
        || format!("{first:?}"),
    )?;
    let least = (u32_at(map, start + 16)?, u32_at(map, start + 20)?);
    let bits = (u8_at(map, start + 24)?, u8_at(map, start + 25)?);
    let count = usize::from(u16_at(map, start + 26)?);
    let mut columns = Vec::new();
    let mut at = start + 28;
    for (bits, least, padding) in [(bits.0, least.0, 4), (bits.1, least.1, 8)] {
        rule(
            matches!(bits, 8 | 16 | 32),
            "sizes have 8, 16 or 32 bits",
            || format!("{bits}"),
        )?;
        let width = usize::from(bits) / 8;
        let packed = map
            .get(at..at + count * width)
            .ok_or("a record is cut off")?;
        let all: Vec<u64> = words(packed, width);
        let most = all.iter().max().copied().unwrap_or(0);
        let narrowest = match most {
            0..=0xff => 8,
            0x100..=0xffff => 16,
            _ => 32,
        };
        rule(
            narrowest == bits && all.iter().min() == Some(&0),
            "sizes are stored beyond their minimum, as narrow as can be",
            || format!("{bits} bits for up to {most}"),
        )?;
        columns.push(
            all.iter()
                .map(|size| size + u64::from(least))
                .collect::<Vec<u64>>(),
        );
        at += packed.len();
        let end = at.next_multiple_of(padding);
        rule(
            map.get(at..end).is_some_and(is_zero),
            "padding is zero",
            || format!("at {at}"),
        )?;
        at = end;
    }
    let bytes = columns.pop().unwrap_or_default();
    for (values, bytes) in columns.pop().unwrap_or_default().into_iter().zip(bytes) {
        rule(values > 0, "no block is empty", || {
            "a block of no values".to_owned()
        })?;
        rule(
            bytes > 0 && bytes % 8 == 0,
            "a block is a multiple of 8 long",
            || format!("{bytes} bytes"),
        )?;
        sizes.push((values, usize::try_from(bytes).unwrap()));
    }
    Ok(at)
}

/// Checks one block, and returns its number of nulls.
fn check_block(block: &[u8], count: u64, stream: &Stream) -> Result<u64, String> {
    let n = usize::try_from(count).unwrap();
    let (presence_size, values_size) = (size_at(block, 0)?, size_at(block, 4)?);
    let values_at = 8 + presence_size.next_multiple_of(8);
    let end = values_at + values_size;
    rule(
        block.len() == (end + 4).next_multiple_of(8),
        "sections and checksum fill a block",
        || format!("{presence_size} and {values_size} in {} bytes", block.len()),
    )?;
    let sum = block.len() - 4;
    rule(
        u32_at(block, sum)? == checksum(&block[..sum]),
        "a block ends with its checksum",
        || "another one".to_owned(),
    )?;
    let padding = [&block[8 + presence_size..values_at], &block[end..sum]].concat();
    rule(is_zero(&padding), "padding is zero", || {
        "in a block".to_owned()
    })?;
    let section = &block[8..8 + presence_size];
    rule(
        section.is_empty() || stream.embedded_presence,
        "presence only where the flag says so",
        || format!("{presence_size} bytes of presence"),
    )?;
    let null = at(presence(section, n), || "presence".to_owned())?;
    let nulls = null.iter().filter(|null| **null).count() as u64;
    let values = &block[values_at..end];
    values_are_encoded_as_the_type_allows(values, stream.values, n, &null, values_at)?;
    Ok(nulls)
}

/// Returns which values are null.
fn presence(section: &[u8], n: usize) -> Result<Vec<bool>, String> {
    let exact = "a presence section is of one of three kinds";
    match section {
        [] => Ok(vec![false; n]),
        [1] => Ok(vec![true; n]),
        [2, bytes @ ..] => {
            rule(bytes.len() == n, exact, || {
                format!("{} bytes for {n} values", bytes.len())
            })?;
            Ok(bytes.iter().map(|&byte| byte == 0).collect())
        }
        [3, negated @ (0 | 1), bytes @ ..] => {
            let mut rest = bytes;
            let listed = RoaringBitmap::deserialize_from(&mut rest).map_err(|e| e.to_string())?;
            let fits = listed.max().is_none_or(|max| (max as usize) < n);
            rule(rest.is_empty() && fits, exact, || {
                format!("{} bytes follow", rest.len())
            })?;
            let null = |i| listed.contains(i) == (*negated == 1);
            Ok((0..u32::try_from(n).unwrap()).map(null).collect())
        }
        [kind, ..] => rule(false, exact, || format!("kind {kind}")).map(|()| Vec::new()),
    }
}

/// Returns the u64 values of a checked stream, if all of its blocks are Plain or SingleValue.
pub(crate) fn plain_numbers(
    buffer: &[u8],
    map_start: usize,
    blocks: u64,
) -> Result<Option<Vec<u64>>, String> {
    let mut numbers = Vec::new();
    let mut start = 0;
    for (count, bytes) in block_sizes(&buffer[map_start..], blocks)? {
        let values = &buffer[start + 8..];
        let count = usize::try_from(count).unwrap();
        match u16_at(values, 0)? {
            1 => numbers.extend(words(&values[2..2 + 8 * count], 8)),
            7 => numbers.extend(vec![u64_at(values, 2)?; count]),
            _ => return Ok(None),
        }
        start += bytes;
    }
    Ok(Some(numbers))
}

/// Checks a RANGE_INDEX: its header, the sizes of its parts, and its padding.
pub(crate) fn range_index(buffer: &[u8], basic_type: u8, positions: u64) -> Check {
    let holds = u16_at(buffer, 0)? == 1
        && u8_at(buffer, 2)? == basic_type
        && u8_at(buffer, 3)? == 1
        && u64_at(buffer, 4)? == positions
        && u16_at(buffer, 36)? == 256
        && u16_at(buffer, 38)? == 0;
    rule(holds, "a range index has the header of its field", || {
        format!("{:?}", &buffer[..40])
    })?;
    let parts = u64_at(buffer, 12)? + u64_at(buffer, 20)? + u64_at(buffer, 28)?;
    let end = 40 + usize::try_from(parts).unwrap();
    let padded = buffer.len() == end.next_multiple_of(64) && is_zero(&buffer[end..]);
    rule(padded, "a range index is padded to 64", || {
        format!("{end} of {} bytes", buffer.len())
    })
}
