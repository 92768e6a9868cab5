//! Values that contradict statistics, filters and indexes.

use super::super::Problem;
use super::{patch, verify, written};
use crate::error::ErrorKind;
use crate::format::{
    BufferKind, DataType, FieldDescriptor, RangeStats, StripeFieldDescriptor, ValueKind, Wire,
};
use crate::read::Shard;
use crate::write::{Profile, WriterOptions};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::Field;
use std::sync::Arc;

/// Returns a column of sorted numbers, a column of distinct texts, and a struct with a member.
fn told(rows: i64) -> RecordBatch {
    let numbers: Int64Array = (0..rows)
        .map(|i| (i % 50 > 0).then_some(1000 + i))
        .collect();
    let texts = (0..rows).map(|i| format!("{i} text {}", i.wrapping_mul(0x9E37_79B9_7F4A)));
    let member: ArrayRef = Arc::new(
        (0..rows)
            .map(|i| (i % 3 > 0).then_some(i * i % 1013))
            .collect::<Int64Array>(),
    );
    let field = Field::new("m", arrow_schema::DataType::Int64, true);
    let nested = StructArray::from(vec![(Arc::new(field), member)]);
    RecordBatch::try_from_iter_with_nullable([
        ("number", Arc::new(numbers) as ArrayRef, true),
        (
            "text",
            Arc::new(StringArray::from_iter_values(texts)),
            false,
        ),
        ("nested", Arc::new(nested), false),
    ])
    .unwrap()
}

#[test]
fn values_that_refute_what_is_said_of_them_are_named_with_their_block() {
    let options = || {
        WriterOptions::default()
            .with_block_values(1024)
            .with_bloom_filter_enabled(true)
            .with_dictionary_enabled(false)
    };
    let file = written(&told(10_000), options());
    assert_eq!(verify(file.clone()).unwrap().problems, []);
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let schema = shard.shard_schema().unwrap();
    let [number, text, nested] = [0, 1, 2].map(|i| &schema.fields[i].data_type);
    let member = &nested.children[0];
    type Change = Box<dyn FnOnce(&mut FieldDescriptor)>;
    let range = |change: fn(&mut RangeStats)| -> Change {
        Box::new(move |field| change(field.range_stats.as_mut().unwrap()))
    };
    let cases: [(&DataType, Change, &str, Option<u64>, &str); 6] = [
        (
            number,
            range(|range| range.min_value = Some(1002i64.into())),
            "number",
            Some(0),
            "row 1 of the stripe is below min_value",
        ),
        (
            number,
            range(|range| range.max_value = Some(10_998i64.into())),
            "number",
            Some(9),
            "row 9999 of the stripe is above max_value",
        ),
        (
            text,
            // Of the same length as before.
            range(|range| {
                let text = range.max_value.take().unwrap().kind;
                let Some(ValueKind::String(text)) = text else {
                    panic!("{text:?}");
                };
                let text = format!("9990{}", "~".repeat(text.len() - 4));
                range.max_value = Some(text.as_str().into());
            }),
            "text",
            Some(9),
            "row 9991 of the stripe is above max_value",
        ),
        (
            text,
            Box::new(|field: &mut FieldDescriptor| {
                let filter = field.bloom_filter.as_mut().unwrap();
                let mut data = filter.data.to_vec();
                data[..32].fill(0);
                filter.data = data.into();
            }),
            "text",
            None,
            "is not in the Bloom filter",
        ),
        (
            member,
            range(|range| range.max_value = Some(1000i64.into())),
            "nested.m",
            Some(0),
            "is above max_value",
        ),
        (
            member,
            Box::new(|field: &mut FieldDescriptor| field.null_count = Some(3333)),
            "nested.m",
            None,
            "3333 rows are said to be null, and 3334 are",
        ),
    ];
    for (node, change, path, block, text) in cases {
        let mut file = file.clone();
        patch(&mut file, Some(0), node, |d: &mut StripeFieldDescriptor| {
            change(&mut d.field);
        });
        let report = verify(file).unwrap();
        // Ignore the consequences in the range index and in the shard's statistics.
        let of_values =
            |p: &&Problem| p.stripe.is_some() && p.buffer != Some(BufferKind::RangeIndex);
        let of_values: Vec<_> = report.problems.iter().filter(of_values).collect();
        let [problem] = of_values.as_slice() else {
            panic!("{text}: {:?}", report.problems);
        };
        assert_eq!(problem.kind, ErrorKind::Corrupt);
        assert_eq!(
            (problem.stripe, problem.field.as_deref()),
            (Some(0), Some(path))
        );
        assert!(problem.message.contains(text), "{problem}");
        assert!(block.is_none() || problem.block == block, "{problem}");
    }
}

#[test]
fn values_outside_of_their_range_index_are_named() {
    // Ascending blocks of noise, so that two of them can be exchanged.
    let values = |swapped: bool| -> Vec<i64> {
        let value = |i: i64| {
            let block = i / 256;
            let source = match (swapped, block) {
                (true, 3) => i + 4 * 256,
                (true, 7) => i - 4 * 256,
                _ => i,
            };
            block << 32 | source.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF
        };
        (0..10_240).map(value).collect()
    };
    let batch = |swapped: bool| {
        let values: ArrayRef = Arc::new(Int64Array::from(values(swapped)));
        RecordBatch::try_from_iter([("id", values)]).unwrap()
    };
    let ranges = values(false);
    let range = |row: usize| &ranges[row / 256 * 256..][..256];
    let outside = |&(row, value): &(usize, i64)| {
        let range = range(row);
        range.iter().all(|v| *v < value) || range.iter().all(|v| *v > value)
    };
    let outside = values(true).into_iter().enumerate().find(outside);
    let (row, _) = outside.unwrap();
    // Shards of this wire do not record which index belongs to them.
    let options = WriterOptions::default()
        .with_wire(Wire::Reference)
        .with_profile(Profile::Fast)
        .with_dictionary_enabled(false);
    let index_of = |file: &[u8]| {
        let shard = Shard::from_bytes(file.to_vec().into()).unwrap();
        let field = shard.stripe_field_descriptor(0, 0).unwrap().unwrap();
        let mut buffers = super::super::data::native_buffers(&field);
        let index = buffers.find(|buffer| buffer.kind == BufferKind::RangeIndex);
        index
            .unwrap()
            .buffer
            .as_ref()
            .unwrap()
            .range
            .to_usize()
            .unwrap()
    };
    let other = written(&batch(false), options.clone());
    let mut file = written(&batch(true), options);
    assert_eq!(verify(file.clone()).unwrap().problems, []);
    let (from, to) = (index_of(&other), index_of(&file));
    assert_eq!(from.len(), to.len());
    file[to].copy_from_slice(&other[from]);
    let report = verify(file).unwrap();
    let [problem] = report.problems.as_slice() else {
        panic!("{:?}", report.problems);
    };
    let text = "of the stripe is outside of its block in the range index";
    assert_eq!(problem.message, format!("row {row} {text}"));
    assert_eq!(
        (problem.stripe, problem.field.as_deref()),
        (Some(0), Some("id"))
    );
}
