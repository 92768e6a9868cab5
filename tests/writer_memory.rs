//! Memory of writers.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod support;

use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int16Array, Int32Array, Int64Array, LargeListViewArray,
    ListViewArray, RecordBatch, RunArray, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field};
use arrow_shard::format::DataEncoding;
use arrow_shard::write::{Layout, ShardWriter, WriterOptions};
use arrow_shard::{Error, Projection, Shard};
use std::sync::Arc;
use support::allocations::{self, Counting};
use support::collect;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;

/// Writes a batch several times to a file. Returns the peak memory in addition to the batch, and the shard.
fn write(batch: &RecordBatch, times: usize, options: WriterOptions) -> (usize, Shard) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.shard");
    allocations::start();
    let mut writer = ShardWriter::create_with(&path, batch.schema(), options).unwrap();
    for _ in 0..times {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    let peak = allocations::peak();
    (peak, Shard::open(&path).unwrap())
}

fn one(column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("c", column)]).unwrap()
}

/// Returns 5,000 rows that are all the same 5,000 numbers, or the same text of 10,000 bytes.
fn repeated() -> Vec<(&'static str, ArrayRef)> {
    let rows = 5000_usize;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..5000));
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let lists = ListViewArray::new(
        item.clone(),
        ScalarBuffer::from(vec![0; rows]),
        ScalarBuffer::from(vec![5000; rows]),
        numbers.clone(),
        None,
    );
    let large = LargeListViewArray::new(
        item,
        ScalarBuffer::from(vec![0; rows]),
        ScalarBuffer::from(vec![5000; rows]),
        numbers,
        None,
    );
    let text = "0123456789".repeat(1000);
    let ends = Int16Array::from(vec![5000]);
    let texts = StringArray::from(vec![text.as_str()]);
    let runs = RunArray::<Int16Type>::try_new(&ends, &texts).unwrap();
    let field = Arc::new(Field::new("m", DataType::Utf8, true));
    let members = StructArray::new(vec![field].into(), vec![Arc::new(texts)], None);
    let keys = Int16Array::from(vec![0; rows]);
    let entries = DictionaryArray::try_new(keys, Arc::new(members)).unwrap();
    let single = StringViewArray::from(vec![text.as_str()]);
    let view = single.views()[0];
    let views = StringViewArray::new(vec![view; rows].into(), single.data_buffers(), None);
    vec![
        ("list views", Arc::new(lists)),
        ("large list views", Arc::new(large)),
        ("runs", Arc::new(runs)),
        ("a dictionary of structs", Arc::new(entries)),
        ("views", Arc::new(views)),
    ]
}

#[test]
fn values_that_rows_share_do_not_exceed_the_memory_limit() {
    let limit = 4 * MIB;
    for (name, column) in repeated() {
        let batch = one(column);
        let options = WriterOptions::default().with_memory_limit(limit as u64);
        let (peak, shard) = write(&batch, 1, options);
        assert!(peak < 4 * limit, "{name}: {} MiB", peak / MIB);
        assert_eq!(shard.num_rows(), 5000);
        let rows = shard.scan().with_row_range(2_490..2_510).build().unwrap();
        let read = collect(rows).unwrap();
        let expected = one(batch.column(0).slice(2_490, 20));
        assert_eq!(read.column(0).len(), expected.column(0).len(), "{name}");
    }
}

/// Returns many distinct numbers, which need large filters.
fn numbers() -> RecordBatch {
    one(Arc::new(Int64Array::from_iter_values(0..20_000)))
}

#[test]
fn metadata_of_stripes_that_are_written_do_not_add_up() {
    for layout in [Layout::SingleFile, Layout::TwoLevel] {
        let options = WriterOptions::default()
            .with_layout(layout)
            .with_stripe_rows(20_000)
            .with_bloom_filter_enabled(true)
            .with_memory_limit(4 * MIB as u64);
        let (few, _) = write(&numbers(), 20, options.clone());
        let (many, shard) = write(&numbers(), 600, options);
        assert_eq!(shard.num_stripes(), 600);
        // A filter of a stripe takes 32 KiB.
        assert!(many < few + 2 * MIB, "{layout:?}: {few}, then {many} bytes");
    }
}

#[test]
fn metadata_between_stripes_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.shard");
    let options = WriterOptions::default()
        .with_stripe_rows(5000)
        .with_bloom_filter_enabled(true);
    let batch = numbers();
    let write = |options: WriterOptions| -> Result<Shard, Error> {
        let mut writer = ShardWriter::create_with(&path, batch.schema(), options)?;
        for _ in 0..5 {
            writer.write(&batch)?;
        }
        writer.finish()?;
        Shard::open(&path)
    };
    let kept = write(options.clone()).unwrap();
    let expected = collect(kept.scan().build().unwrap()).unwrap();
    let statistics = kept.statistics(Projection::All).unwrap();
    let small = options.with_memory_limit(256 << 10).with_overwrite(true);
    let spread = write(small).unwrap();
    assert_eq!(collect(spread.scan().build().unwrap()).unwrap(), expected);
    assert_eq!(spread.statistics(Projection::All).unwrap(), statistics);
    assert!(spread.verify().unwrap().is_sound());
    let last_buffer = |shard: &Shard| {
        let last = shard.num_stripes() - 1;
        let field = shard.stripe_field_descriptor(last, 0).unwrap().unwrap();
        let DataEncoding::Native(native) = &field.encodings[0] else {
            return None;
        };
        Some(native.buffers[0].buffer.as_ref()?.range.start())
    };
    let (kept, spread) = (last_buffer(&kept).unwrap(), last_buffer(&spread).unwrap());
    assert!(
        kept + 50_000 < spread,
        "{kept} and {spread}: nothing was spread"
    );
}
