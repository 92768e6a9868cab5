//! All types in public signatures can be imported from the crate, without the feature `experimental` and without
//! separate Arrow crates.

use arrow_shard::arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_shard::arrow_buffer::BooleanBuffer;
use arrow_shard::arrow_schema::{SchemaRef, TimeUnit};
use arrow_shard::bytes::Bytes;
use arrow_shard::metadata::{
    AnyValue, DataRef, INGESTION_TIMESTAMP, NameValuePair, RECORD_IDENTITY, ShardProperties,
    StripeProperties, TypeMapping, ValueKind, Wire,
};
use arrow_shard::ops::{CompactOptions, DeleteOptions, MergeOptions, PackOptions, VacuumOptions};
use arrow_shard::read::inspect::{
    BufferKind, EncodingTree, InspectOptions, PresenceKind, RangeStats, TypeStats,
};
use arrow_shard::read::{RowSelection, ShardOptions, VerifyOptions};
use arrow_shard::write::{self, WriterOptions};
use arrow_shard::{Progress, Shard, ShardWriter};
use std::ops::ControlFlow;
use std::sync::Arc;

fn written(options: WriterOptions) -> Shard {
    let ids = Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let schema: SchemaRef = batch.schema();
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema, options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    Shard::from_bytes(Bytes::from(file)).unwrap()
}

#[test]
fn properties_are_found_by_name() {
    let first = NameValuePair::new("source", "sensor 7");
    let second = NameValuePair::new("source", "another");
    let nested = NameValuePair::new("list", vec![AnyValue::from(1u64), AnyValue::null()]);
    let of_stripe = NameValuePair::new("day", -3i64);
    let options = WriterOptions::default()
        .with_wire(Wire::Spec)
        .with_mapping(TypeMapping::Lossless)
        .with_property(first)
        .with_property(second)
        .with_property(nested)
        .with_stripe_property(of_stripe);
    let shard = written(options);
    let source = shard.property("source").unwrap().unwrap();
    assert_eq!(source.as_str(), Some("sensor 7"), "the first counts");
    let list = shard.property("list").unwrap().unwrap();
    assert_eq!(list.as_list().unwrap()[0].as_i64(), Some(1));
    assert_eq!(list.as_list().unwrap()[1].kind, Some(ValueKind::Null));
    assert!(shard.property("day").unwrap().is_none());
    let stripes = shard.stripes().unwrap();
    let day = stripes[0].property("day").unwrap();
    assert_eq!(day.and_then(|day| day.as_i64()), Some(-3));
    assert!(stripes[0].property("source").unwrap().is_none());
}

#[test]
fn types_of_public_signatures_can_be_named() {
    let shard = written(WriterOptions::default());
    let _: Wire = shard.wire();
    let _: &ShardProperties = shard.properties().unwrap();
    let stripes = shard.stripes().unwrap();
    let _: StripeProperties = stripes[0].properties().unwrap();
    let info = shard
        .inspect(InspectOptions::default().with_blocks(true))
        .unwrap();
    let field = &info.stripes[0].fields[0];
    assert_eq!(
        (field.stored_type.as_str(), field.label.as_str()),
        ("Int32", "")
    );
    let _: &Option<RangeStats> = &field.range;
    let _: &Option<TypeStats> = &field.type_specific;
    let _: BufferKind = field.buffers[0].kind;
    let block = &field.buffers[0].blocks.as_ref().unwrap().trees[0];
    let _: (&EncodingTree, PresenceKind) = (&block.encoding, block.presence);
    let _: Option<DataRef> = None;
    let bits = BooleanBuffer::from(vec![true, false, true]);
    assert_eq!(RowSelection::from(bits).len(), 2);
    let options = ShardOptions::default();
    assert_eq!(options.default_time_unit(), TimeUnit::Nanosecond);
    assert_eq!(options.default_precision_and_scale(), (38, 16));
    let _: Option<write::InternalValues> = WriterOptions::default().record_identity().cloned();
    assert_eq!(INGESTION_TIMESTAMP, "Kusto.Amudai.IngestionTimestamp");
    assert_eq!(RECORD_IDENTITY, "Kusto.Amudai.RecordIdentity");
    assert_eq!(
        write::SORTING_COLUMNS_PROPERTY,
        "arrow_shard.sorting_columns"
    );
}

#[test]
fn one_callback_follows_all_long_operations() {
    fn follow(progress: Progress<'_>) -> ControlFlow<()> {
        if progress.done < progress.total {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
    let _ = CompactOptions::default().with_progress(follow);
    let _ = DeleteOptions::default().with_progress(follow);
    let _ = MergeOptions::default().with_progress(follow);
    let _ = PackOptions::default().with_progress(follow);
    let _ = VacuumOptions::default().with_progress(follow);
    let options = VerifyOptions::default().with_progress(follow);
    assert_eq!(options, options.clone());
    assert_ne!(options, VerifyOptions::default());
    let report = written(WriterOptions::default()).verify_with(options);
    assert!(!report.unwrap().is_complete());
}
