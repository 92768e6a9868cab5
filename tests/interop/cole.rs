//! Writes and reads COLE files.

use super::cole_golden::rows;
use super::logged::{Logged, bytes_of};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchReader, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_shard::interop::cole::{ReaderBuilder, Writer, WriterOptions};
use arrow_shard::io::ReadAt;
use arrow_shard::read::{Predicate, RowSelection, col, col_at};
use arrow_shard::{ErrorKind, Limits, Shard};
use bytes::Bytes;
use proptest::prelude::*;
use std::sync::Arc;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("kind", DataType::Int32, false),
        Field::new("name", DataType::Utf8, false),
    ]))
}

/// Returns `count` rows: ascending numbers, a few kinds in runs, and short and long names.
pub(crate) fn table(count: i64) -> RecordBatch {
    let ids = (0..count).map(|i| i * 3);
    let kinds = (0..count).map(|i| i32::try_from(i / 7 % 5).unwrap());
    let names = (0..count).map(|i| "ab".repeat(usize::try_from(i % 11 * (i % 3)).unwrap()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(ids)),
        Arc::new(Int32Array::from_iter_values(kinds)),
        Arc::new(StringArray::from_iter_values(names)),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

pub(crate) fn write(batches: &[RecordBatch], options: WriterOptions) -> Bytes {
    let mut file = Vec::new();
    let mut writer = Writer::try_new(&mut file, batches[0].schema(), options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    let summary = writer.finish().unwrap();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(
        (summary.num_rows(), summary.bytes()),
        (rows as u64, file.len() as u64)
    );
    file.into()
}

fn open(file: &Bytes) -> ReaderBuilder {
    ReaderBuilder::try_new(Arc::new(file.clone())).unwrap()
}

fn small_pages() -> WriterOptions {
    WriterOptions::default()
        .with_page_rows(10)
        .with_row_group_rows(45)
}

#[test]
fn tables_come_back_whatever_their_pages_and_batches() {
    let table = table(300);
    for (page_rows, row_group_rows) in [(1, 1), (10, 45), (45, 10), (1000, 1000)] {
        let options = WriterOptions::default();
        let options = options
            .with_page_rows(page_rows)
            .with_row_group_rows(row_group_rows);
        let parts = [
            table.slice(0, 1),
            table.slice(1, 0),
            table.slice(1, 60),
            table.slice(61, 239),
        ];
        let file = write(&parts, options);
        assert_eq!(open(&file).num_rows(), 300);
        assert_eq!(
            file,
            write(std::slice::from_ref(&table), options),
            "batches leave no trace"
        );
        for batch_size in [1, 7, 8192] {
            let reader = open(&file).with_batch_size(batch_size).build().unwrap();
            assert_eq!(reader.schema(), table.schema());
            let batches = reader.collect::<Result<Vec<_>, _>>().unwrap();
            assert!(
                batches
                    .iter()
                    .all(|batch| (1..=batch_size).contains(&batch.num_rows()))
            );
            assert_eq!(concat_batches(&table.schema(), &batches).unwrap(), table);
        }
    }
}

#[test]
fn columns_come_in_the_order_that_is_asked_for() {
    let table = table(100);
    let file = write(std::slice::from_ref(&table), small_pages());
    let found = open(&file).with_projection(["name", "id"]).build().unwrap();
    let projected = Arc::new(table.schema().project(&[2, 0]).unwrap());
    assert_eq!(found.schema(), projected);
    let found = found.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(
        concat_batches(&projected, &found).unwrap(),
        table.project(&[2, 0]).unwrap()
    );
    let none = open(&file)
        .with_projection(Vec::<usize>::new())
        .build()
        .unwrap();
    let counts = none.map(|batch| batch.map(|batch| batch.num_rows()));
    assert_eq!(counts.sum::<Result<usize, _>>().unwrap(), 100);
    let error = open(&file).with_projection("nme").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownColumn);
    assert!(error.message().contains("did you mean `name`?"), "{error}");
    let error = open(&file).with_projection([3_usize]).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownColumn);
}

#[test]
fn a_column_that_is_named_repeatedly_comes_once_where_it_is_first_named() {
    let table = table(20);
    let file = write(std::slice::from_ref(&table), small_pages());
    let by_name = open(&file).with_projection(["name", "id", "name", "id"]);
    let by_index = open(&file).with_projection([2_usize, 2, 0, 2]);
    for builder in [by_name, by_index] {
        let reader = builder.with_batch_size(5).build().unwrap();
        let projected = Arc::new(table.schema().project(&[2, 0]).unwrap());
        assert_eq!(reader.schema(), projected);
        let batches = reader.collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(
            concat_batches(&projected, &batches).unwrap(),
            table.project(&[2, 0]).unwrap()
        );
    }
}

#[test]
fn errors_of_a_builder_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.cole");
    std::fs::write(&path, write(&[table(30)], small_pages())).unwrap();
    let open = || ReaderBuilder::open(&path).unwrap();
    for (builder, kind, message) in [
        (
            open().with_batch_size(0),
            ErrorKind::InvalidArgument,
            "batch_size is 0",
        ),
        (
            open().with_projection("nme"),
            ErrorKind::UnknownColumn,
            "there is no field `nme` in the file; did you mean `name`?",
        ),
        (
            open().with_projection([3_usize]),
            ErrorKind::UnknownColumn,
            "there is no column 3; the file has 3",
        ),
        (
            open().with_filter(col("nme").eq(1)),
            ErrorKind::UnknownColumn,
            "there is no field `nme` in the file; did you mean `name`?",
        ),
        (
            open().with_filter(col_at([3]).eq(1)),
            ErrorKind::UnknownColumn,
            "there is no column 3; the file has 3",
        ),
        (
            open().with_row_selection(20..31),
            ErrorKind::RowOutOfRange,
            "rows 20..31 of a file of 30 rows",
        ),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().starts_with(message), "{error}");
        let place = format!("file `{}`", path.display());
        assert!(error.element().starts_with(&place), "{error}");
    }
    let error = open().parse_predicate("nme = 1").unwrap_err();
    assert!(error.message().contains("in the file"), "{error}");
}

#[test]
fn rows_beyond_the_file_cannot_be_selected() {
    let file = write(&[table(30)], small_pages());
    for selection in [RowSelection::from(5..31), RowSelection::from([7, 30])] {
        let error = open(&file).with_row_selection(selection).build();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::RowOutOfRange);
    }
    // The first selection narrows the second one to rows of the file.
    let narrowed = open(&file)
        .with_row_selection(20..30)
        .with_row_selection(25..u64::MAX);
    assert_eq!(rows(narrowed).unwrap(), table(30).slice(25, 5));
}

#[test]
fn a_second_filter_narrows_the_first() {
    let table = table(30);
    let file = write(std::slice::from_ref(&table), small_pages());
    let found = open(&file)
        .with_filter(col("id").gt_eq(12))
        .with_filter(col("id").lt(60));
    assert_eq!(rows(found).unwrap(), table.slice(4, 16));
}

#[test]
fn a_cole_file_is_not_a_shard() {
    for count in [0, 3, 5000] {
        let file = write(&[table(count)], WriterOptions::default());
        let error = Shard::from_bytes(file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAShard);
        assert!(
            error
                .message()
                .contains("this is a COLE file; convert it first"),
            "{error}"
        );
    }
}

#[test]
fn filters_selections_and_windows_give_the_rows_that_a_scan_would() {
    let table = table(300);
    let file = write(std::slice::from_ref(&table), small_pages());
    let all = |batch: &RecordBatch, keep: &dyn Fn(i64, i32, &str) -> bool| {
        let ids = batch.column(0).as_primitive::<Int64Type>();
        let kinds = batch.column(1).as_primitive::<Int32Type>();
        let names = batch.column(2).as_string::<i32>();
        let rows = 0..batch.num_rows();
        let keep = rows.map(|i| keep(ids.value(i), kinds.value(i), names.value(i)));
        filter_record_batch(batch, &keep.collect::<Vec<_>>().into()).unwrap()
    };
    type Keep = dyn Fn(i64, i32, &str) -> bool;
    let filters: Vec<(Predicate, Box<Keep>)> = vec![
        (col("id").lt(100), Box::new(|id, _, _| id < 100)),
        (col("id").between(299, 302), Box::new(|id, _, _| id == 300)),
        (
            col("kind").eq(3).or(col("id").gt_eq(800)),
            Box::new(|id, kind, _| kind == 3 || id >= 800),
        ),
        (
            col("kind").is_in([1, 9]).and(!col("name").eq("")),
            Box::new(|_, kind, name| kind == 1 && !name.is_empty()),
        ),
        (
            col("name").starts_with("abab"),
            Box::new(|_, _, name| name.starts_with("abab")),
        ),
        (col("id").is_null(), Box::new(|_, _, _| false)),
        (col("id").eq(4), Box::new(|_, _, _| false)),
        (
            "kind = id".parse().unwrap(),
            Box::new(|id, kind, _| id == i64::from(kind)),
        ),
    ];
    for (filter, keep) in &filters {
        let expected = all(&table, keep.as_ref());
        for batch_size in [1, 16, 8192] {
            let found = rows(
                open(&file)
                    .with_filter(filter.clone())
                    .with_batch_size(batch_size),
            );
            assert_eq!(found.unwrap(), expected, "{filter}");
        }
        for (offset, limit) in [(0, 3), (2, 1000), (5, 4), (1000, 1)] {
            let found = open(&file)
                .with_filter(filter.clone())
                .with_offset(offset)
                .with_limit(limit);
            let start = usize::try_from(offset).unwrap().min(expected.num_rows());
            let len = usize::try_from(limit)
                .unwrap()
                .min(expected.num_rows() - start);
            assert_eq!(rows(found).unwrap(), expected.slice(start, len), "{filter}");
        }
        let selection = RowSelection::from(vec![3..50, 90..91, 200..299]);
        let selected = selection.to_bitmap(300).unwrap();
        let expected = all(
            &filter_record_batch(&table, &selected.into()).unwrap(),
            keep.as_ref(),
        );
        let found = open(&file)
            .with_row_selection(selection)
            .with_filter(filter.clone());
        assert_eq!(rows(found).unwrap(), expected, "{filter}");
    }
    let found = open(&file)
        .with_offset(7)
        .with_limit(100)
        .with_batch_size(9);
    assert_eq!(rows(found).unwrap(), table.slice(7, 100));
    let found = open(&file)
        .with_row_selection([7, 250, 3])
        .with_row_selection(5..1000);
    let two = concat_batches(&table.schema(), [&table.slice(7, 1), &table.slice(250, 1)]).unwrap();
    assert_eq!(rows(found).unwrap(), two);
}

#[test]
fn pages_that_statistics_rule_out_are_not_read() {
    let file = write(&[table(300)], small_pages());
    let logged = Logged::new(file);
    let open = || ReaderBuilder::try_new(logged.clone() as Arc<dyn ReadAt>).unwrap();
    // Row 100 is in the second page of the third row group.
    let builder = open().with_filter(col("id").eq(300));
    let chunks = builder.metadata().row_groups[2].columns.clone();
    logged.requests();
    assert_eq!(rows(builder).unwrap().num_rows(), 1);
    let mut requests = logged.requests();
    requests.sort_unstable();
    assert_eq!(requests.len(), 3, "a page per column");
    let chunk_bytes: u64 = chunks.iter().map(|chunk| chunk.total_size).sum();
    assert!(bytes_of(&requests) < chunk_bytes / 2);
    for (request, chunk) in requests.iter().zip(&chunks) {
        assert!(request.start() > chunk.file_offset);
        assert!(request.end() < chunk.file_offset + chunk.total_size);
    }
    let builder = open().with_filter(col("id").gt(900));
    logged.requests();
    assert_eq!(rows(builder).unwrap().num_rows(), 0);
    assert_eq!(logged.requests(), []);
    // Without a matching row, the other columns are not read; without a selected row, nothing is.
    let builder = open()
        .with_filter(col("id").eq(301))
        .with_row_selection(100..110);
    logged.requests();
    assert_eq!(rows(builder).unwrap().num_rows(), 0);
    assert_eq!(logged.requests().len(), 1);
    // A page is read once, with any batch size.
    let builder = open().with_batch_size(3).with_filter(col("kind").lt(4));
    logged.requests();
    assert_eq!(rows(builder).unwrap().num_rows(), 244);
    let mut requests = logged.requests();
    let count = requests.len();
    requests.sort_unstable();
    requests.dedup();
    assert_eq!(requests.len(), count);
}

#[test]
fn a_filter_of_the_wrong_type_or_column_is_refused() {
    let file = write(&[table(3)], small_pages());
    for (filter, kind) in [
        (col("nme").eq(1), ErrorKind::UnknownColumn),
        (col("name").eq(1), ErrorKind::SchemaMismatch),
    ] {
        let error = open(&file).with_filter(filter).build().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    assert!(open(&file).parse_predicate("kind = 3 AND").is_err());
    assert!(open(&file).parse_predicate("kind = 'x'").is_err());
    open(&file)
        .parse_predicate("kind = 3 AND name LIKE 'a%'")
        .unwrap();
    assert!(open(&file).with_batch_size(0).build().is_err());
}

#[test]
fn what_cole_cannot_hold_is_refused_before_anything_is_written() {
    let field = |name: &str, ty: &DataType| Field::new(name, ty.clone(), true);
    let refused = |fields: Vec<Field>| {
        let mut file = Vec::new();
        let error = Writer::try_new(
            &mut file,
            Arc::new(Schema::new(fields)),
            WriterOptions::default(),
        );
        let error = error.unwrap_err();
        assert_eq!(file, b"");
        error
    };
    let error = refused(vec![
        field("a", &DataType::Int32),
        field("b", &DataType::Float64),
    ]);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("column `b` is Float64"), "{error}");
    let error = refused(vec![
        field("a", &DataType::Int32),
        field("a", &DataType::Utf8),
    ]);
    assert_eq!(error.kind(), ErrorKind::AmbiguousColumn);
    let nulls: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let batch = RecordBatch::try_from_iter([("n", nulls)]).unwrap();
    let mut writer = Writer::try_new(Vec::new(), batch.schema(), WriterOptions::default()).unwrap();
    writer.write(&batch.slice(0, 1)).unwrap();
    let error = writer.write(&batch).unwrap_err();
    assert_eq!(error.message(), "column `n`, row 2: COLE has no nulls");
    let error = writer.write(&batch.slice(0, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned);
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Poisoned);
}

#[test]
fn a_local_file_appears_when_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.cole");
    let mut writer = Writer::create(&path, schema()).unwrap();
    writer.write(&table(10)).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let mut writer = Writer::create(&path, schema()).unwrap();
    writer.write(&table(10)).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        rows(ReaderBuilder::open(&path).unwrap()).unwrap(),
        table(10)
    );
    let error = Writer::create(&path, schema()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn files_without_columns_or_rows_are_files() {
    let empty = Arc::new(Schema::empty());
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(5));
    let batch = RecordBatch::try_new_with_options(empty, vec![], &options).unwrap();
    let file = write(&[batch], WriterOptions::default());
    assert_eq!(rows(open(&file)).unwrap().num_rows(), 5);
    let file = write(&[table(0)], WriterOptions::default());
    assert_eq!(open(&file).num_rows(), 0);
    assert_eq!(rows(open(&file)).unwrap(), table(0));
}

#[test]
fn large_strings_make_small_batches() {
    let large = "x".repeat(10 << 20);
    let array: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
        &large, 20,
    )));
    let batch = RecordBatch::try_from_iter([("s", array)]).unwrap();
    let file = write(std::slice::from_ref(&batch), WriterOptions::default());
    // A row group ends once it has 128 MiB, within a batch as well.
    let builder = open(&file);
    let groups = builder.metadata().row_groups.iter();
    assert_eq!(
        groups.map(|group| group.num_rows).collect::<Vec<_>>(),
        [13, 7]
    );
    let found = builder
        .build()
        .unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert_eq!(
        found.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(),
        [6, 6, 1, 6, 1]
    );
    let found = open(&file)
        .with_filter(col("s").starts_with("x"))
        .build()
        .unwrap();
    assert_eq!(
        found.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        20
    );
    let limits = Limits::default().with_max_batch_bytes(10 << 20);
    let reader = ReaderBuilder::try_new_with(Arc::new(file), limits).unwrap();
    let error = rows(reader.with_batch_size(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn offsets_of_strings_count_towards_the_limit_of_a_batch() {
    let array: ArrayRef = Arc::new(StringArray::from(vec![""; 1000]));
    let batch = RecordBatch::try_from_iter([("a", array.clone()), ("b", array)]).unwrap();
    let file = write(std::slice::from_ref(&batch), WriterOptions::default());
    let read = |bytes| {
        let limits = Limits::default().with_max_batch_bytes(bytes);
        rows(ReaderBuilder::try_new_with(Arc::new(file.clone()), limits)?)
    };
    let bytes = 2 * 4 * 1001;
    assert_eq!(read(bytes).unwrap(), batch);
    assert_eq!(
        read(bytes - 1).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn random_tables_come_back(
        numbers in prop::collection::vec(any::<i64>(), 0..200),
        texts in prop::collection::vec(".{0,9}", 1..200),
        page_rows in 1..50_u32,
        row_group_rows in 1..120_u32,
        low: i64,
    ) {
        let names = (0..numbers.len()).map(|i| &texts[i % texts.len()]);
        let columns: [(&str, ArrayRef); 3] = [
            ("a", Arc::new(Int64Array::from(numbers.clone()))),
            ("b", Arc::new(Int32Array::from_iter_values(numbers.iter().map(|n| i32::try_from(n >> 33).unwrap())))),
            ("c", Arc::new(StringArray::from_iter_values(names))),
        ];
        let fields: Vec<Field> = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), false)).collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
        let options = WriterOptions::default().with_page_rows(page_rows).with_row_group_rows(row_group_rows);
        let file = write(std::slice::from_ref(&batch), options);
        prop_assert_eq!(&rows(open(&file)).unwrap(), &batch);
        let keep: Vec<bool> = numbers.iter().map(|&n| n > low).collect();
        let expected = filter_record_batch(&batch, &keep.into()).unwrap();
        prop_assert_eq!(rows(open(&file).with_filter(col("a").gt(low))).unwrap(), expected);
    }
}
