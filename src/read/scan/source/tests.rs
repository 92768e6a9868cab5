//! Values kept between reads, and rows that the fields do not have.

use super::super::opening::open_fields;
use super::super::stripe_reader::StripeReader;
use super::{ReadState, StripeFields, StripeSource};
use crate::buffer::Selection;
use crate::column::{ByteLayout, ByteValues, NodeSource};
use crate::error::{ErrorKind, Result, to_usize};
use crate::format::DataType;
use crate::io::{ByteRange, NoContainer, ReadAt};
use crate::read::shard::column::Column;
use crate::read::shard::columns::InternalFields;
use crate::read::shard::fetch::{Fetched, StepBytes};
use crate::read::shard::metadata::{WINDOW_ROWS, ready};
use crate::read::shard::projection::Projection;
use crate::read::{Shard, ShardOptions};
use crate::write::{ColumnOptions, Profile, ShardWriter, WriterOptions};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, LargeStringArray, ListArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType as ArrowType, Field, Schema};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Returns a shard of one column without a dictionary.
fn written(column: ArrayRef) -> Bytes {
    let without = ColumnOptions::default().with_dictionary_enabled(false);
    written_with(column, WriterOptions::default().with_column("c", without))
}

/// Returns a shard of one column of raw values.
fn plain(column: ArrayRef) -> Shard {
    let options = WriterOptions::default().with_profile(Profile::Plain);
    Shard::from_bytes(written_with(column, options)).unwrap()
}

fn written_with(column: ArrayRef, options: WriterOptions) -> Bytes {
    let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    file.into()
}

/// Returns the columns of a shard, and their fields in the first stripe.
fn opened(shard: &Shard) -> (Arc<[Column]>, StripeFields) {
    let metadata = &shard.metadata;
    let columns =
        shard.drive(|step| metadata.projected(step, &Projection::All, InternalFields::Hidden));
    let (columns, _) = columns.unwrap();
    let fields = shard.drive(|step| {
        let rows = ready!(metadata.stripes(step))[0].total_record_count;
        open_fields(metadata, step, 0, rows, &columns)
    });
    (columns, fields.unwrap())
}

/// Calls a function with the values of the first column of a shard that is read in order.
fn with_source<T>(shard: &Shard, read: impl FnOnce(&mut StripeSource<'_>, &DataType) -> T) -> T {
    let (columns, fields) = opened(shard);
    let (fetched, mut state) = (Fetched::default(), ReadState::default());
    let mut source = StripeSource {
        metadata: &shard.metadata,
        step: &StepBytes::new(&shard.metadata.artifacts, &fetched),
        fields: &fields,
        state: &mut state,
        sequential: true,
        entries_of: None,
    };
    read(&mut source, &columns[0].node)
}

#[test]
fn a_block_that_is_kept_serves_every_layout() {
    let text = |i: u64| format!("{i:>1000}");
    let texts = LargeStringArray::from_iter_values((0..3000).map(text));
    let shard = Shard::from_bytes(written(Arc::new(texts))).unwrap();
    use ByteLayout::{Offsets32, Offsets64, Views};
    // A block has about a thousand values, so some ranges are inside of a block and others cross block borders.
    let reads = [
        (Views, 0..10),
        (Offsets32, 10..20),
        (Views, 20..1500),
        (Offsets32, 1500..2500),
        (Views, 2500..2600),
        (Offsets64, 2600..3000),
    ];
    with_source(&shard, |source, node| {
        for (layout, rows) in reads {
            let range = Selection::range(rows.clone());
            let read = source.bytes(node, layout, &range).unwrap();
            let values = read.values;
            let found = match values {
                ByteValues::Offsets32(..) => Offsets32,
                ByteValues::Offsets64(..) => Offsets64,
                ByteValues::Views(..) => Views,
            };
            assert_eq!(found, layout, "{rows:?}");
            for (i, row) in rows.enumerate() {
                assert_eq!(values.value(i), text(row).as_bytes(), "row {row}");
            }
        }
    });
}

#[test]
fn raw_text_in_memory_is_checked_once_for_all_rows_of_a_window() {
    let rows = WINDOW_ROWS + 1000;
    let text = |i: u64| (!i.is_multiple_of(7)).then(|| format!("ä {i}"));
    let texts = StringArray::from_iter((0..rows).map(text));
    let shard = plain(Arc::new(texts.clone()));
    with_source(&shard, |source, node| {
        for range in [
            3..40,
            40..3000,
            65_000..WINDOW_ROWS,
            WINDOW_ROWS..rows,
            0..1,
        ] {
            let [start, end] = [range.start, range.end].map(|row| to_usize(row).unwrap());
            let wanted = texts.slice(start, end - start);
            let range = Selection::range(range);
            let found = source.kept_bytes(node, &ArrowType::Utf8, &range).unwrap();
            let found = found.expect("rows of one window");
            assert_eq!(found.as_string::<i32>(), &wanted);
            let kept = source.kept_bytes(node, &ArrowType::Utf8, &range).unwrap();
            let starts = |array: &ArrayRef| array.as_string::<i32>().value_offsets().as_ptr();
            assert_eq!(starts(&found), starts(&kept.unwrap()));
        }
        let key = |window| ((0, node.schema_id), window, true);
        let kept = [0, 1, 2].map(|window| source.metadata.byte_arrays.get(&key(window)));
        let lens = kept.map(|array| array.map_or(0, |array| array.len() as u64));
        assert_eq!(lens, [WINDOW_ROWS, 1000, 0]);
        // Other widths of offsets, and rows of two windows, are read by themselves.
        let range = Selection::range(WINDOW_ROWS - 1..WINDOW_ROWS + 1);
        for (wanted, range) in [
            (ArrowType::Utf8, range),
            (ArrowType::LargeUtf8, Selection::range(0..9)),
            (ArrowType::Utf8View, Selection::range(0..9)),
        ] {
            assert!(source.kept_bytes(node, &wanted, &range).unwrap().is_none());
        }
        source.sequential = false;
        let few = Selection::range(0..9);
        let found = source.kept_bytes(node, &ArrowType::Utf8, &few).unwrap();
        assert!(found.is_none(), "rows that are taken");
    });
}

#[test]
fn bytes_that_are_not_text_spoil_only_their_own_rows() {
    let values = (0..5000).map(|i| {
        if i == 700 {
            vec![0xff]
        } else {
            vec![b'a'; i % 5]
        }
    });
    let values = BinaryArray::from_iter_values(values);
    let shard = plain(Arc::new(values.clone()));
    with_source(&shard, |source, node| {
        let range = Selection::range(0..10);
        let text = source.kept_bytes(node, &ArrowType::Utf8, &range).unwrap();
        assert!(text.is_none(), "the window has a value that is not text");
        let all = Selection::range(0..5000);
        let bytes = source.kept_bytes(node, &ArrowType::Binary, &all).unwrap();
        assert_eq!(bytes.unwrap().as_binary::<i32>(), &values);
    });
    let schema = Arc::new(Schema::new(vec![Field::new("c", ArrowType::Utf8, true)]));
    let read = |rows: Range<u64>| -> Result<usize> {
        let scan = shard
            .scan()
            .with_schema(schema.clone())
            .with_row_range(rows);
        let batches = scan.build()?;
        batches.map(|batch| Ok(batch?.num_rows())).sum()
    };
    assert_eq!(read(0..700).unwrap(), 700);
    assert_eq!(read(701..5000).unwrap(), 4299);
    assert_eq!(
        read(690..710).unwrap_err().kind(),
        ErrorKind::ValueOutOfRange
    );
}

/// A file that only answers reads.
#[derive(Debug)]
struct Remote(Bytes);

impl ReadAt for Remote {
    fn size(&self) -> Result<u64> {
        self.0.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        self.0.read_at(range)
    }
}

#[test]
fn rows_that_a_field_has_not_are_refused_before_they_are_fetched() {
    let lists = (0..100).map(|i| Some((0..i % 4).map(Some)));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let file = Arc::new(Remote(written(Arc::new(lists))));
    let options = ShardOptions::default();
    let shard = Shard::from_reader(file, Arc::new(NoContainer), options).unwrap();
    let (columns, fields) = opened(&shard);
    let (fetched, mut state) = (Fetched::default(), ReadState::default());
    let step = StepBytes::new(&shard.metadata.artifacts, &fetched);
    let mut reader = StripeReader::new(&shard.metadata, &step, &fields, &mut state, true);
    for end in [u64::MAX, 101] {
        let rows = Selection::range(99..end);
        let error = reader.fetch(&columns, &rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let words = format!("100 positions, position {} was", end - 1);
        assert!(error.message().contains(&words), "{error}");
    }
}
