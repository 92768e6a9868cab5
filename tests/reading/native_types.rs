//! Shards in the native types of Amudai: data, statistics and constants, on both wires.
#![cfg(feature = "decimal")]

use crate::support::{collect, written, written_bytes};
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray,
    DurationNanosecondArray, FixedSizeBinaryArray, Int8Array, ListArray, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_shard::format::{FieldDescriptor, TypeStats, ValueKind, Wire, decimal128_text};
use arrow_shard::metadata::TypeMapping;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::write::{Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use std::sync::Arc;

const EPOCH: u64 = 621_355_968_000_000_000;

fn options(wire: Wire) -> WriterOptions {
    WriterOptions::default()
        .with_wire(wire)
        .with_mapping(TypeMapping::Amudai)
}

fn decimals(values: Vec<Option<i128>>) -> ArrayRef {
    let array = Decimal128Array::from(values);
    Arc::new(array.with_precision_and_scale(20, 2).unwrap())
}

fn extended(name: &str, data_type: DataType, extension: &str) -> Field {
    let key = "ARROW:extension:name".to_owned();
    Field::new(name, data_type, true).with_metadata([(key, extension.to_owned())].into())
}

/// Returns a few rows of every type with a native equivalent.
fn batch() -> RecordBatch {
    let times = TimestampMicrosecondArray::from(vec![Some(-3), None, Some(5), Some(4)]);
    let nanos = TimestampNanosecondArray::from(vec![100, 200, -100, 0]);
    let uuids = [[1u8; 16], [2; 16], [0; 16], [1; 16]];
    let prices = Decimal256Array::from(vec![None, None, Some(7.into()), Some((-7).into())]);
    let lengths = OffsetBuffer::from_lengths([1, 0, 2, 1]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 1, -719_162, 2_932_896]));
    let item = Arc::new(Field::new("item", DataType::Date32, true));
    let keys = Int8Array::from(vec![Some(1), Some(0), None, Some(1)]);
    let entries = decimals(vec![Some(10), Some(-5)]);
    let columns: Vec<(Field, ArrayRef)> = vec![
        (
            Field::new("time", DataType::Null, true),
            Arc::new(times.with_timezone("Europe/Oslo")),
        ),
        (Field::new("nanos", DataType::Null, false), Arc::new(nanos)),
        (
            Field::new("span", DataType::Null, true),
            Arc::new(DurationNanosecondArray::from(vec![-100, 0, 700, 0])),
        ),
        (
            Field::new("price", DataType::Null, true),
            decimals(vec![Some(150), None, Some(-12_345), Some(9)]),
        ),
        (
            Field::new("same", DataType::Null, true),
            decimals(vec![Some(-150); 4]),
        ),
        (
            Field::new("wide", DataType::Null, true),
            Arc::new(prices.with_precision_and_scale(70, -3).unwrap()),
        ),
        (
            extended("uuid", DataType::Null, "arrow.uuid"),
            Arc::new(FixedSizeBinaryArray::try_from_iter(uuids.iter()).unwrap()),
        ),
        (
            extended("json", DataType::Null, "arrow.json"),
            Arc::new(StringArray::from(vec![Some("{}"), None, Some("1"), None])),
        ),
        (
            Field::new("days", DataType::Null, true),
            Arc::new(ListArray::new(item, lengths, days, None)),
        ),
        (
            Field::new("key", DataType::Null, true),
            Arc::new(DictionaryArray::new(keys, entries)),
        ),
    ];
    let fields = columns
        .iter()
        .map(|(f, a)| f.clone().with_data_type(a.data_type().clone()));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

#[test]
fn native_types_come_back_as_they_were_written() {
    let batch = batch();
    for wire in [Wire::Spec, Wire::Reference] {
        for profile in [
            Profile::Plain,
            Profile::Balanced,
            #[cfg(feature = "zstd")]
            Profile::HighCompression,
        ] {
            let options = options(wire).with_profile(profile).with_stripe_rows(3);
            let bytes = written_bytes(std::slice::from_ref(&batch), options);
            let shard = Shard::from_bytes(bytes).unwrap();
            assert_eq!(shard.wire(), wire);
            assert_eq!(shard.schema().unwrap(), batch.schema());
            let options = InspectOptions::default().with_encodings(false);
            let mapping = shard.inspect(options).unwrap().mapping;
            assert_eq!(mapping, Some(TypeMapping::Amudai));
            let read = collect(shard.scan().build().unwrap()).unwrap();
            assert_eq!(read, batch, "{wire:?} {profile:?}");
            let report = shard.verify().unwrap();
            assert!(report.problems().is_empty(), "{report:?}");
        }
    }
}

#[test]
fn the_reference_wire_has_native_types_unless_told_otherwise() {
    let reference = WriterOptions::default().with_wire(Wire::Reference);
    assert_eq!(reference.mapping(), TypeMapping::Amudai);
    let lossless = reference.with_mapping(TypeMapping::Lossless);
    assert_eq!(lossless.mapping(), TypeMapping::Lossless);
    assert_eq!(WriterOptions::default().mapping(), TypeMapping::Lossless);
}

/// Returns the descriptor of a column for the whole shard.
fn descriptor(shard: &Shard, name: &str) -> FieldDescriptor {
    let schema = shard.shard_schema().unwrap();
    let mut fields = schema.fields.iter().map(|f| &f.data_type);
    let node = fields.find(|node| node.name == name).unwrap();
    shard.field_descriptor(node.schema_id).unwrap().unwrap()
}

fn range(descriptor: &FieldDescriptor) -> [ValueKind; 2] {
    let range = descriptor.range_stats.clone().unwrap();
    assert!(range.min_inclusive && range.max_inclusive);
    [range.min_value, range.max_value].map(|bound| {
        let bound = bound.unwrap();
        assert_eq!(bound.annotation, None);
        bound.kind.unwrap()
    })
}

fn decimal(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Decimal(bytes) => decimal128_text(*bytes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn statistics_of_native_types_are_ticks_and_decimals() {
    let batch = batch();
    for wire in [Wire::Spec, Wire::Reference] {
        // Stripes of one row have other ranges, including constants.
        for rows in [4, 3, 1] {
            let options = options(wire).with_stripe_rows(rows);
            let bytes = written_bytes(std::slice::from_ref(&batch), options);
            let shard = Shard::from_bytes(bytes).unwrap();
            let times = [ValueKind::U64(EPOCH - 30), ValueKind::U64(EPOCH + 50)];
            assert_eq!(range(&descriptor(&shard, "time")), times);
            let spans = [ValueKind::I64(-1), ValueKind::I64(7)];
            assert_eq!(range(&descriptor(&shard, "span")), spans);
            let prices = descriptor(&shard, "price");
            let [min, max] = range(&prices);
            assert_eq!([decimal(&min), decimal(&max)], ["-123.45", "1.50"]);
            let Some(TypeStats::Decimal(signs)) = prices.type_specific else {
                panic!("{:?}", prices.type_specific)
            };
            assert_eq!((signs.negative_count, signs.positive_count), (1, 2));
            assert_eq!((signs.zero_count, signs.nan_count), (0, 0));
            let constant = descriptor(&shard, "same").constant_value.unwrap();
            assert_eq!(decimal(&constant.kind.unwrap()), "-1.50");
            assert_eq!(descriptor(&shard, "key").null_count, Some(1));
        }
    }
}

#[test]
fn a_requested_schema_converts_native_types() {
    let batch = batch();
    let bytes = written_bytes(std::slice::from_ref(&batch), options(Wire::Spec));
    let shard = Shard::from_bytes(bytes).unwrap();
    let wanted = [
        ("price", DataType::Decimal256(50, 20)),
        ("time", DataType::Timestamp(TimeUnit::Nanosecond, None)),
        ("span", DataType::Duration(TimeUnit::Millisecond)),
        ("wide", DataType::Decimal64(10, 0)),
        ("json", DataType::LargeBinary),
    ];
    let fields = wanted.map(|(name, data_type)| Field::new(name, data_type, true));
    let wanted: SchemaRef = Arc::new(Schema::new(fields.to_vec()));
    let read = collect(shard.scan().with_schema(wanted.clone()).build().unwrap()).unwrap();
    for (field, found) in wanted.fields().iter().zip(read.columns()) {
        let stored = batch.column_by_name(field.name()).unwrap();
        let expected = match field.name().as_str() {
            // An instant is the same in any time zone.
            "time" => {
                let nanos = [Some(-3_000), None, Some(5_000), Some(4_000)];
                Arc::new(TimestampNanosecondArray::from(nanos.to_vec()))
            }
            _ => arrow_cast::cast(stored, field.data_type()).unwrap(),
        };
        assert_eq!(found.as_ref(), expected.as_ref(), "{field}");
    }
    let narrow = Field::new("price", DataType::Decimal128(20, 1), true);
    let scan = shard
        .scan()
        .with_schema(Arc::new(Schema::new(vec![narrow.clone()])));
    let rounded = collect(scan.clone().build().unwrap()).unwrap();
    let expected = arrow_cast::cast(&batch["price"], narrow.data_type()).unwrap();
    assert_eq!(rounded.column(0), &expected);
    let error = collect(scan.with_strict_casts(true).build().unwrap()).unwrap_err();
    let error = crate::support::inner(&error);
    assert_eq!(error.kind(), ErrorKind::ValueOutOfRange);
    let text = error.to_string();
    assert!(
        text.contains("`price`") && text.contains("rows 2..3"),
        "{text}"
    );
}

#[test]
fn a_value_that_would_change_is_an_error_with_its_row_and_no_file() {
    let nanos = TimestampNanosecondArray::from(vec![100, 250]);
    let batch = RecordBatch::try_from_iter([("at", Arc::new(nanos) as ArrayRef)]).unwrap();
    for wire in [Wire::Spec, Wire::Reference] {
        let error = written(&batch.schema(), std::slice::from_ref(&batch), options(wire));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ValueOutOfRange);
        let text = error.to_string();
        assert!(
            text.contains("`at`") && text.contains("value 1 of these"),
            "{text}"
        );
    }
    let lossless = options(Wire::Spec).with_mapping(TypeMapping::Lossless);
    let bytes = written_bytes(std::slice::from_ref(&batch), lossless);
    let shard = Shard::from_bytes(bytes).unwrap();
    assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), batch);
}
