//! Fields with several stored encodings: a reader uses the first encoding that it can decode completely. If there is
//! none, the error names the problem of each encoding.
#![cfg(feature = "zstd")]

use crate::descriptors::with_descriptors;
use crate::support::{collect, remote, written_bytes};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_shard::buffer::{BLOCK_MAPS_PROPERTY, CHECKSUMS_PROPERTY, ENCODING_CODES_PROPERTY};
use arrow_shard::format::{
    BufferKind, DataEncoding, EncodedBuffer, NameValuePair, NativeDataEncoding,
};
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{Projection, col};
use arrow_shard::write::{ColumnOptions, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use bytes::Bytes;
use std::sync::Arc;

const ROWS: usize = 3000;

fn table() -> RecordBatch {
    let id = |i: usize| (i % 9 != 4).then(|| i64::try_from(i * i % 1009).unwrap());
    let ids: Int64Array = (0..ROWS).map(id).collect();
    let name = |i: usize| (i % 7 != 3).then(|| format!("name {} of {}", i * 31 % 977, i % 13));
    let names: StringArray = (0..ROWS).map(name).collect();
    let offsets = OffsetBuffer::from_lengths((0..ROWS).map(|i| i % 3));
    let items: Int64Array = (0..usize::try_from(offsets[ROWS]).unwrap())
        .map(id)
        .collect();
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let lists = ListArray::new(item, offsets, Arc::new(items), None);
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(ids)),
        ("name", Arc::new(names)),
        ("lists", Arc::new(lists)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn shard() -> Bytes {
    let column = ColumnOptions::default().with_dictionary_enabled(false);
    let options = WriterOptions::default()
        .with_profile(Profile::Balanced)
        .with_column("name", column);
    written_bytes(&[table()], options)
}

/// Returns an encoding with buffers at places without blocks.
fn elsewhere(native: &NativeDataEncoding) -> NativeDataEncoding {
    let mut other = native.clone();
    let first = native.buffers[0].buffer.clone();
    for buffer in &mut other.buffers {
        buffer.buffer.clone_from(&first);
        buffer.block_map = None;
    }
    other
}

/// Returns the shard with other encodings before or after the written one. Each has the codes that it declares, and a
/// flag for the written one.
fn with_encodings(file: &[u8], encodings: &[(Option<&[u16]>, bool)]) -> Vec<u8> {
    with_descriptors(file, |_, field, _| {
        let Some(DataEncoding::Native(written)) = field.encodings.pop() else {
            return;
        };
        // These properties refer to encodings by ordinal.
        let properties = &mut field.field.custom_properties;
        properties
            .retain(|p| ![CHECKSUMS_PROPERTY, BLOCK_MAPS_PROPERTY].contains(&p.name.as_str()));
        let mut codes = Vec::new();
        for (ordinal, (noted, is_written)) in (0u16..).zip(encodings) {
            let native = match is_written {
                true => written.clone(),
                false => elsewhere(&written),
            };
            field.encodings.push(DataEncoding::Native(native));
            if let Some(noted) = noted {
                let count = u16::try_from(noted.len()).unwrap();
                let words = [&[ordinal, count], *noted].concat();
                codes.extend(words.into_iter().flat_map(u16::to_le_bytes));
            }
        }
        field
            .field
            .custom_properties
            .push(NameValuePair::new(ENCODING_CODES_PROPERTY, codes));
    })
}

const KNOWN: &[u16] = &[1, 4, 16];
const UNKNOWN: &[u16] = &[1, 0x9001, 0x9002];

#[test]
fn the_first_encoding_whose_blocks_are_known_is_read() {
    let (file, table) = (shard(), table());
    for encodings in [
        &[(Some(UNKNOWN), false), (Some(KNOWN), true)][..],
        &[(Some(UNKNOWN), false), (None, true), (Some(UNKNOWN), false)],
        &[
            (Some(UNKNOWN), false),
            (Some(UNKNOWN), false),
            (Some(&[]), true),
        ],
        &[(Some(KNOWN), true), (Some(KNOWN), false)],
        &[(None, true), (Some(UNKNOWN), false)],
    ] {
        let bytes = Bytes::from(with_encodings(&file, encodings));
        for shard in [
            Shard::from_bytes(bytes.clone()).unwrap(),
            remote(bytes, Default::default()).unwrap(),
        ] {
            assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), table);
            let taken = shard.take(&[2999, 4, 17], Projection::All).unwrap();
            let rows = [2999, 4, 17].map(|i| table.slice(i, 1));
            let rows = concat_batches(&table.schema(), &rows).unwrap();
            assert_eq!(taken, rows);
            let found = shard.scan().with_filter(col("id").eq(81)).build().unwrap();
            let found: usize = found.map(|batch| batch.unwrap().num_rows()).sum();
            let ids = table.column(0).as_primitive::<Int64Type>();
            assert_eq!(found, ids.iter().filter(|id| *id == Some(81)).count());
            assert!(shard.verify().unwrap().problems().is_empty());
        }
    }
}

#[test]
fn the_encodings_that_are_passed_over_are_the_damaged_ones() {
    let file = shard();
    let damaged = with_encodings(&file, &[(Some(KNOWN), false), (Some(KNOWN), true)]);
    let shard = Shard::from_bytes(damaged.into()).unwrap();
    collect(shard.scan().build().unwrap()).unwrap_err();
}

#[test]
fn who_can_read_none_is_told_what_each_lacks() {
    let bytes = with_descriptors(
        &with_encodings(&shard(), &[(Some(UNKNOWN), true), (None, true)]),
        |_, field, _| {
            if let Some(DataEncoding::Native(native)) = field.encodings.get_mut(1) {
                let place = native.buffers[0].buffer.clone().unwrap();
                native
                    .buffers
                    .push(EncodedBuffer::new(BufferKind::Other(77), place));
            }
        },
    );
    let shard = Shard::from_bytes(bytes.into()).unwrap();
    let error = shard.take(&[1], ["name"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let text = error.to_string();
    for word in [
        "stripe 0",
        "`name`",
        "encoding 0: blocks encoded as unknown encoding (36865), unknown encoding (36866)",
        "encoding 1: buffer kind 77",
    ] {
        assert!(text.contains(word), "{text}");
    }
    assert!(!text.contains("Plain"), "{text}");
}

#[test]
fn inspection_lists_the_buffers_of_every_encoding() {
    let file = with_encodings(&shard(), &[(Some(UNKNOWN), true), (Some(KNOWN), true)]);
    let shard = Shard::from_bytes(file.into()).unwrap();
    let info = shard.inspect(InspectOptions::default()).unwrap();
    let buffers = &info.stripes[0].fields[0].buffers;
    assert!(buffers.len().is_multiple_of(2) && !buffers.is_empty());
}
