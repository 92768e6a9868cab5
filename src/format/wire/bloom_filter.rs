//! Spec: Chapter 6, "Split-Block Bloom Filters"; docs/format.md, "Two wires, one model".
//!
//! Chapter 6 describes two layouts of the message, and the reference uses a third one:
//!
//! | field | section on field descriptors | section on filters | reference |
//! |-|-|-|-|
//! | 4 | `hash_algorithm` | `blocks` | `hash_algorithm` |
//! | 5 | `data` | `hash_algorithm` | `hash_seed` (fixed64) |
//! | 6 | | | `data` |
//!
//! All three can be read. `Wire::Spec` writes the first.

use super::super::SplitBlockBloomFilter;
use super::raw::{Raw, RawFields};
use super::{Wire, parse, reference, spec};
use crate::error::{Error, Result};
use bytes::Bytes;
use prost::Message;

pub(super) fn encode(filter: &SplitBlockBloomFilter, wire: Wire) -> Result<Vec<u8>> {
    check(filter)?;
    let filter = filter.clone();
    match wire {
        Wire::Spec if filter.hash_seed != 0 => Err(Error::unsupported(format!(
            "Chapter 6 has no place for the seed {:#x} of a Bloom filter",
            filter.hash_seed
        ))),
        Wire::Spec => Ok(spec::SplitBlockBloomFilter {
            num_blocks: filter.num_blocks,
            target_fpp: filter.target_fpp,
            num_values: filter.num_values,
            hash_algorithm: filter.hash_algorithm,
            data: filter.data,
        }
        .encode_to_vec()),
        Wire::Reference => Ok(reference::SplitBlockBloomFilter {
            num_blocks: filter.num_blocks,
            target_fpp: filter.target_fpp,
            num_values: filter.num_values,
            hash_algorithm: filter.hash_algorithm,
            hash_seed: filter.hash_seed,
            data: filter.data,
        }
        .encode_to_vec()),
    }
}

/// The three layouts of the message.
#[derive(Debug, Clone, Copy)]
enum BloomLayout {
    DataLast,
    BlocksFirst,
    Seeded,
}

pub(super) fn decode(bytes: &Bytes, wire: Wire) -> Result<SplitBlockBloomFilter> {
    let filter = match layout(bytes, wire)? {
        BloomLayout::DataLast => {
            let m: spec::SplitBlockBloomFilter = parse(bytes.clone())?;
            SplitBlockBloomFilter {
                num_blocks: m.num_blocks,
                target_fpp: m.target_fpp,
                num_values: m.num_values,
                hash_algorithm: m.hash_algorithm,
                hash_seed: 0,
                data: m.data,
            }
        }
        BloomLayout::BlocksFirst => {
            let m: spec::SplitBlockBloomFilterBlocks = parse(bytes.clone())?;
            SplitBlockBloomFilter {
                num_blocks: m.num_blocks,
                target_fpp: m.target_fpp,
                num_values: m.num_values,
                hash_algorithm: m.hash_algorithm,
                hash_seed: 0,
                data: m.blocks,
            }
        }
        BloomLayout::Seeded => {
            let m: reference::SplitBlockBloomFilter = parse(bytes.clone())?;
            SplitBlockBloomFilter {
                num_blocks: m.num_blocks,
                target_fpp: m.target_fpp,
                num_values: m.num_values,
                hash_algorithm: m.hash_algorithm,
                hash_seed: m.hash_seed,
                data: m.data,
            }
        }
    };
    check(&filter)?;
    Ok(filter)
}

fn layout(bytes: &[u8], wire: Wire) -> Result<BloomLayout> {
    let (mut blocks, mut fourth, mut fifth) = (0, 0, 0);
    let mut seeded = wire == Wire::Reference;
    for field in RawFields::new(bytes) {
        match field? {
            (1, Raw::I64(value)) => blocks = value,
            (4, Raw::Len(value)) => fourth = value.len(),
            (5, Raw::Len(value)) => {
                fifth = value.len();
                seeded = false;
            }
            (5, Raw::I64(_)) | (6, _) => return Ok(BloomLayout::Seeded),
            _ => {}
        }
    }
    if seeded {
        return Ok(BloomLayout::Seeded);
    }
    let expected = byte_len(blocks);
    if expected == Some(fifth) {
        Ok(BloomLayout::DataLast)
    } else if expected == Some(fourth) {
        Ok(BloomLayout::BlocksFirst)
    } else {
        Err(Error::corrupt(format!(
            "neither field 4 ({fourth} bytes) nor field 5 ({fifth} bytes) of a Bloom filter is as long as its {blocks} blocks of 32 bytes"
        )))
    }
}

fn byte_len(blocks: u64) -> Option<usize> {
    usize::try_from(blocks.checked_mul(32)?).ok()
}

fn check(filter: &SplitBlockBloomFilter) -> Result<()> {
    if byte_len(filter.num_blocks) != Some(filter.data.len()) {
        return Err(Error::corrupt(format!(
            "a Bloom filter of {} blocks of 32 bytes has {} bytes",
            filter.num_blocks,
            filter.data.len()
        )));
    }
    Ok(())
}
