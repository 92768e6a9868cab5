//! Values kept between reads, and rows that the fields do not have.

use super::super::opening::open_fields;
use super::super::stripe_reader::StripeReader;
use super::{ReadState, StripeFields, StripeSource};
use crate::buffer::Selection;
use crate::column::{ByteLayout, ByteValues, NodeSource};
use crate::error::{ErrorKind, Result};
use crate::io::{ByteRange, NoContainer, ReadAt};
use crate::read::shard::column::Column;
use crate::read::shard::columns::InternalFields;
use crate::read::shard::fetch::{Fetched, StepBytes};
use crate::read::shard::metadata::ready;
use crate::read::shard::projection::Projection;
use crate::read::{Shard, ShardOptions};
use crate::write::{ColumnOptions, ShardWriter, WriterOptions};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, LargeStringArray, ListArray, RecordBatch};
use bytes::Bytes;
use std::sync::Arc;

/// Returns a shard of one column without a dictionary.
fn written(column: ArrayRef) -> Bytes {
    let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
    let column = ColumnOptions::default().with_dictionary_enabled(false);
    let options = WriterOptions::default().with_column("c", column);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    file.into()
}

/// Returns the columns of a shard, and their fields in the first stripe.
fn opened(shard: &Shard) -> (Arc<[Column]>, StripeFields) {
    let inner = &shard.inner;
    let columns =
        shard.drive(|step| inner.projected(step, &Projection::All, InternalFields::Hidden));
    let (columns, _) = columns.unwrap();
    let fields = shard.drive(|step| {
        let rows = ready!(inner.stripes(step))[0].total_record_count;
        open_fields(inner, step, 0, rows, &columns)
    });
    (columns, fields.unwrap())
}

#[test]
fn a_block_that_is_kept_serves_every_layout() {
    let text = |i: u64| format!("{i:>1000}");
    let texts = LargeStringArray::from_iter_values((0..3000).map(text));
    let shard = Shard::from_bytes(written(Arc::new(texts))).unwrap();
    let (columns, fields) = opened(&shard);
    let (fetched, mut state) = (Fetched::default(), ReadState::default());
    let mut source = StripeSource {
        metadata: &shard.inner,
        step: &StepBytes::new(&shard.inner.artifacts, &fetched),
        fields: &fields,
        state: &mut state,
        sequential: true,
        entries_of: None,
    };
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
    for (layout, rows) in reads {
        let range = Selection::range(rows.clone());
        let read = source.bytes(&columns[0].node, layout, &range).unwrap();
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
    let step = StepBytes::new(&shard.inner.artifacts, &fetched);
    let mut reader = StripeReader::new(&shard.inner, &step, &fields, &mut state, true);
    for end in [u64::MAX, 101] {
        let rows = Selection::range(99..end);
        let error = reader.fetch(&columns, &rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let words = format!("100 positions, position {} was", end - 1);
        assert!(error.message().contains(&words), "{error}");
    }
}
