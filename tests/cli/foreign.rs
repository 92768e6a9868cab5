//! Conversion of data to and from other formats.

use super::{Folder, read_ipc};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, IntervalMonthDayNanoType, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, DictionaryArray, FixedSizeBinaryArray, Int32Array,
    RecordBatch, StringArray, StringViewArray, StructArray, Time32SecondArray,
    TimestampSecondArray,
};
use arrow_buffer::IntervalMonthDayNano;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::extension::{Json, Uuid};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{LogicalType, TimeUnit as ParquetUnit};
use parquet::data_type::{DataType as Physical, FixedLenByteArrayType, Int96, Int96Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes a file with the values of one required column.
fn parquet_of<T: Physical>(path: &Path, column: &str, values: &[T::T]) {
    let schema = parse_message_type(&format!("message m {{ REQUIRED {column}; }}")).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn text_in_place_of_a_stream_is_refused() {
    let folder = Folder::new();
    let batch =
        RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]);
    let batch = batch.unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    assert_eq!(
        folder
            .pipe(&["cat", "--from", "ipc-stream", "-"], &bytes)
            .code,
        0
    );
    let error = folder
        .pipe(&["cat", "--from", "ipc-stream", "-"], b"a,b\n1,2\n")
        .error(1);
    assert!(error.contains("not an Arrow IPC stream"), "{error}");
}

#[test]
fn seconds_reach_parquet_with_their_meaning_and_come_back() {
    let columns = [
        (
            "at",
            Arc::new(TimestampSecondArray::from(vec![Some(1), None])) as ArrayRef,
        ),
        (
            "zoned",
            Arc::new(TimestampSecondArray::from(vec![2, -3]).with_timezone("Europe/Oslo")),
        ),
        (
            "time",
            Arc::new(Time32SecondArray::from(vec![Some(4), None])),
        ),
        ("day", Arc::new(Date64Array::from(vec![86_400_000, 1]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    let batch = batch.unwrap();
    let folder = Folder::with(&batch);
    folder.run(&["convert", "t.arrow", "t.parquet"]).ok();
    let file = SerializedFileReader::new(File::open(folder.path("t.parquet")).unwrap()).unwrap();
    let schema = file.metadata().file_metadata().schema_descr();
    for i in 0..4 {
        let column = schema.column(i);
        let unit = match column.logical_type_ref() {
            Some(LogicalType::Timestamp(it)) => it.unit,
            Some(LogicalType::Time(it)) => it.unit,
            other => unreachable!("{other:?}"),
        };
        assert_eq!(unit, ParquetUnit::MILLIS);
    }
    folder.run(&["convert", "t.parquet", "back.arrow"]).ok();
    assert_eq!(read_ipc(&folder.path("back.arrow")), batch);
    // More milliseconds than fit into 64 bits.
    let late = TimestampSecondArray::from(vec![i64::MAX / 10]);
    let batch = RecordBatch::try_from_iter([("late", Arc::new(late) as ArrayRef)]).unwrap();
    let folder = Folder::with(&batch);
    let error = folder.run(&["convert", "t.arrow", "t.parquet"]).error(1);
    assert!(error.contains("`late`"), "{error}");
    assert_eq!(folder.names(), ["t.arrow"]);
}

#[test]
fn metadata_and_extensions_pass_through_parquet_and_shards() {
    let uuids = FixedSizeBinaryArray::try_from_iter([[7u8; 16]].into_iter()).unwrap();
    let texts = StringArray::from(vec!["{}"]);
    let fields = vec![
        Field::new("id", DataType::FixedSizeBinary(16), true).with_extension_type(Uuid),
        Field::new("doc", DataType::Utf8, true).with_extension_type(Json::default()),
    ];
    let geo = HashMap::from([("geo".to_owned(), "{\"version\":\"1.1.0\"}".to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, geo));
    let batch =
        RecordBatch::try_new(schema.clone(), vec![Arc::new(uuids), Arc::new(texts)]).unwrap();
    let folder = Folder::with(&batch);
    for (from, to) in [
        ("t.arrow", "a.parquet"),
        ("a.parquet", "b.shard"),
        ("b.shard", "c.parquet"),
        ("c.parquet", "back.arrow"),
    ] {
        folder.run(&["convert", from, to]).ok();
    }
    assert_eq!(read_ipc(&folder.path("back.arrow")), batch);
    // Readers without support for Arrow see the right types.
    let file = File::open(folder.path("c.parquet")).unwrap();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let read = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
    let pairs = read
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap();
    assert!(pairs.iter().any(|pair| pair.key == "geo"));
    assert_eq!(*read.schema().fields(), *schema.fields());
}

#[test]
fn int96_beyond_nanoseconds_is_read_in_microseconds() {
    let folder = Folder::new();
    let int96 = |nanos: u64, julian_day: u32| {
        let mut value = Int96::new();
        #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
        value.set_data(nanos as u32, (nanos >> 32) as u32, julian_day);
        value
    };
    // 2000-01-01, and 9999-12-31.
    let (near, far) = (int96(1_000, 2_451_545), int96(0, 5_373_484));
    for (values, unit) in [
        (&[near][..], TimeUnit::Nanosecond),
        (&[near, far], TimeUnit::Microsecond),
    ] {
        parquet_of::<Int96Type>(&folder.path("t.parquet"), "INT96 at", values);
        folder
            .run(&["convert", "--force", "t.parquet", "t.arrow"])
            .ok();
        let batch = read_ipc(&folder.path("t.arrow"));
        assert_eq!(
            batch.column(0).data_type(),
            &DataType::Timestamp(unit, None)
        );
        if values.len() > 1 {
            let micros = batch.column(0).as_primitive::<TimestampMicrosecondType>();
            assert_eq!(
                micros.values().to_vec(),
                [946_684_800_000_001, 253_402_214_400_000_000]
            );
        }
    }
}

#[test]
fn intervals_keep_their_months() {
    let folder = Folder::new();
    let interval = |months: u32, days: u32, millis: u32| {
        let words = [months, days, millis].map(u32::to_le_bytes);
        parquet::data_type::FixedLenByteArray::from(words.concat())
    };
    let values = [interval(14, 3, 250), interval(0, 1, 0)];
    let column = "FIXED_LEN_BYTE_ARRAY(12) span (INTERVAL)";
    parquet_of::<FixedLenByteArrayType>(&folder.path("t.parquet"), column, &values);
    folder.run(&["convert", "t.parquet", "t.shard"]).ok();
    folder.run(&["convert", "t.shard", "t.arrow"]).ok();
    let batch = read_ipc(&folder.path("t.arrow"));
    let spans = batch.column(0).as_primitive::<IntervalMonthDayNanoType>();
    let want = [
        IntervalMonthDayNano::new(14, 3, 250_000_000),
        IntervalMonthDayNano::new(0, 1, 0),
    ];
    assert_eq!(spans.values().to_vec(), want);
    // The numbers are unsigned.
    let long = [interval(1, 0, 3_600_000_000)];
    for (months, long) in [(1, &long), (0, &[interval(0, 0, 3_600_000_000)])] {
        parquet_of::<FixedLenByteArrayType>(&folder.path("l.parquet"), column, long);
        folder
            .run(&["convert", "--force", "l.parquet", "l.arrow"])
            .ok();
        let batch = read_ipc(&folder.path("l.arrow"));
        let spans = batch.column(0).as_primitive::<IntervalMonthDayNanoType>();
        let want = IntervalMonthDayNano::new(months, 0, 3_600_000_000_000_000);
        assert_eq!(spans.value(0), want);
    }
    parquet_of::<FixedLenByteArrayType>(&folder.path("d.parquet"), column, &values[1..]);
    folder.run(&["convert", "d.parquet", "d.arrow"]).ok();
    let days = read_ipc(&folder.path("d.arrow"));
    let day_time = DataType::Interval(arrow_schema::IntervalUnit::DayTime);
    assert_eq!(days.column(0).data_type(), &day_time);
}

#[test]
fn a_footer_that_miscounts_its_rows_is_an_error() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    parquet_of::<parquet::data_type::Int32Type>(&path, "INT32 a", &[1, 2, 3]);
    let bytes = std::fs::read(&path).unwrap();
    // In Thrift's compact form: the third field is the number of rows, the fourth the row groups.
    let mut damaged = bytes.clone();
    let places = bytes
        .windows(3)
        .enumerate()
        .filter(|(_, window)| *window == [0x16, 6, 0x19]);
    let [(at, _)] = places.collect::<Vec<_>>()[..] else {
        unreachable!("no number of rows");
    };
    damaged[at + 1] = 0;
    std::fs::write(&path, damaged).unwrap();
    let error = folder.run(&["convert", "t.parquet", "t.arrow"]).error(1);
    assert!(error.contains("0 rows") && error.contains('3'), "{error}");
}

#[test]
fn dates_that_no_calendar_holds_are_an_error_and_no_text() {
    let days = Date32Array::from(vec![0, i32::MAX]);
    let batch = RecordBatch::try_from_iter([("day", Arc::new(days) as ArrayRef)]).unwrap();
    let folder = Folder::with(&batch);
    for name in ["t.ndjson", "t.csv"] {
        let error = folder.run(&["convert", "t.arrow", name]).error(1);
        assert!(error.contains("t.arrow") || error.contains(name), "{error}");
    }
    assert!(
        folder
            .run(&["convert", "t.arrow", "t.ndjson"])
            .error(1)
            .contains("`day`")
    );
    assert_eq!(folder.names(), ["t.arrow"]);
}

/// Returns a dictionary column.
fn dictionary(keys: &[Option<i32>], entries: ArrayRef) -> ArrayRef {
    let keys: Int32Array = keys.iter().copied().collect();
    Arc::new(DictionaryArray::<Int32Type>::try_new(keys, entries).unwrap())
}

#[test]
fn nulls_of_a_dictionary_are_null_in_json() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(5), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), None]));
    let keys = [Some(0), Some(1), None];
    let member = dictionary(&keys, texts.clone());
    let member = StructArray::from(vec![(
        Arc::new(Field::new("m", member.data_type().clone(), true)),
        member,
    )]);
    let columns = [
        ("n", dictionary(&keys, numbers)),
        ("t", dictionary(&keys, texts)),
        ("d", dictionary(&keys, days)),
        ("s", Arc::new(member)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let folder = Folder::with(&batch);
    folder.run(&["convert", "t.arrow", "t.ndjson"]).ok();
    let json = std::fs::read_to_string(folder.path("t.ndjson")).unwrap();
    let null = "{\"n\":null,\"t\":null,\"d\":null,\"s\":{\"m\":null}}\n";
    let first = "{\"n\":5,\"t\":\"a\",\"d\":\"1970-01-01\",\"s\":{\"m\":\"a\"}}\n";
    assert_eq!(json, [first, null, null].concat());
}

#[test]
fn a_dictionary_of_seconds_comes_back_from_parquet() {
    let seconds = TimestampSecondArray::from(vec![7, -1]);
    let column = dictionary(&[Some(1), None, Some(0)], Arc::new(seconds));
    let batch = RecordBatch::try_from_iter_with_nullable([("at", column, true)]).unwrap();
    let folder = Folder::with(&batch);
    folder.run(&["convert", "t.arrow", "t.parquet"]).ok();
    folder.run(&["convert", "t.parquet", "back.arrow"]).ok();
    let back = read_ipc(&folder.path("back.arrow"));
    assert_eq!(back.schema(), batch.schema());
    let values = |batch: &RecordBatch| {
        let column = batch.column(0).as_dictionary::<Int32Type>();
        let column = column.downcast_dict::<TimestampSecondArray>().unwrap();
        column.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(values(&back), values(&batch));
}

#[test]
fn a_writer_that_panics_is_an_error_that_names_the_column() {
    let views: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
    let column = dictionary(&[Some(0)], views);
    let batch = RecordBatch::try_from_iter([("view", column)]).unwrap();
    let folder = Folder::with(&batch);
    let done = folder.run(&["convert", "t.arrow", "t.parquet"]);
    // A later version of the writer may support it.
    if done.code != 0 {
        let error = done.error(1);
        assert!(error.contains("column `view`"), "{error}");
        assert_eq!(folder.names(), ["t.arrow"]);
    }
}
