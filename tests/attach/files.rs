//! Scans, takes, filters and edits of attached files.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, new_null_array,
};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_shard::ops::{
    AttachOptions, CompactOptions, ShardEditor, attach, attach_with, compact, list_parquet_files,
    plan_compaction,
};
use arrow_shard::read::col;
use arrow_shard::{ErrorKind, Shard, ShardWriter};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A table of texts with nulls and ascending numbers.
pub(crate) fn table(rows: i64) -> RecordBatch {
    let ids = Int64Array::from_iter_values(0..rows);
    let texts =
        StringArray::from_iter((0..rows).map(|i| (i % 7 > 0).then(|| format!("text {}", i % 100))));
    let columns = [
        ("id", Arc::new(ids) as ArrayRef),
        ("text", Arc::new(texts) as ArrayRef),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(crate) fn write_parquet(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Reads a file by the crate `parquet`.
pub(crate) fn read_parquet(path: &Path) -> RecordBatch {
    let file = File::open(path).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
    let batches = batches
        .iter()
        .map(|batch| batch.clone().with_schema(schema.clone()).unwrap());
    concat_batches(&schema, &batches.collect::<Vec<_>>()).unwrap()
}

pub(crate) fn read_shard(shard: &Shard) -> RecordBatch {
    let scan = shard.scan().build().unwrap();
    let batches: Vec<RecordBatch> = scan.map(Result::unwrap).collect();
    concat_batches(&shard.schema().unwrap(), &batches).unwrap()
}

pub(crate) fn assert_sound(shard: &Shard) {
    let report = shard.verify().unwrap();
    assert!(report.is_sound(), "{:?}", report.problems());
}

fn small_groups() -> WriterProperties {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .build()
}

#[test]
fn an_attached_file_has_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let batch = table(5_000);
    write_parquet(&path, &batch, small_groups());
    let target = folder.path().join("t.amudai.shard");
    let summary = attach([&path], &target).unwrap();
    assert_eq!((summary.num_rows(), summary.num_stripes()), (5_000, 1));
    assert_eq!(summary.num_other_files(), 1);
    let shard = Shard::open(&target).unwrap();
    assert_eq!(read_shard(&shard), batch);
    let rows = [3, 4, 999, 1_000, 4_321, 7];
    let taken = shard.take(&rows, ["text", "id"]).unwrap();
    let ids = taken.column(1).as_primitive::<Int64Type>();
    assert_eq!(ids.values(), &rows.map(|row| i64::try_from(row).unwrap()));
    let filtered = shard
        .scan()
        .with_filter(col("id").gt_eq(4_990))
        .build()
        .unwrap();
    let rows: usize = filtered.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 10);
    assert_sound(&shard);
}

#[test]
fn files_are_united_by_name_and_stripes_end_with_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    std::fs::create_dir(&lake).unwrap();
    let first = table(2_500);
    write_parquet(&lake.join("a.parquet"), &first, small_groups());
    let more = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef),
        (
            "more",
            Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef,
        ),
    ]);
    write_parquet(
        &lake.join("b.parquet"),
        &more.unwrap(),
        WriterProperties::default(),
    );
    let target = folder.path().join("t.amudai.shard");
    let files = [lake.join("a.parquet"), lake.join("b.parquet")];
    let options = arrow_shard::ops::AttachOptions::default().with_stripe_rows(1);
    arrow_shard::ops::attach_with(files, &target, options).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!((shard.num_rows(), shard.num_stripes()), (2_502, 4));
    let read = read_shard(&shard);
    assert_eq!(
        read.column(0).as_primitive::<Int64Type>().values()[2_500..],
        [7, 8]
    );
    assert_eq!(
        read.column(1).null_count(),
        first.column(1).null_count() + 2
    );
    assert_eq!(read.column(2).as_string::<i32>().value(2_501), "y");
}

#[test]
fn a_changed_file_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_parquet(&path, &table(100), WriterProperties::default());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    let other = WriterProperties::builder().set_created_by("another writer".into());
    write_parquet(&path, &table(100), other.build());
    let shard = Shard::open(&target).unwrap();
    let error = shard.scan().build().unwrap().next().unwrap().unwrap_err();
    let error = arrow_shard::Error::from(error);
    assert!(error.to_string().contains("t.parquet"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let shard = Shard::open(&target).unwrap();
    let error = shard.scan().build().unwrap().next().unwrap().unwrap_err();
    let error = arrow_shard::Error::from(error);
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("t.parquet"), "{error}");
}

#[test]
fn attached_rows_are_deleted_merged_and_compacted_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let batch = table(3_000);
    write_parquet(&path, &batch, small_groups());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    let native = folder.path().join("n.amudai.shard");
    let mut writer = ShardWriter::create(&native, batch.schema()).unwrap();
    writer.write(&batch.slice(0, 10)).unwrap();
    writer.finish().unwrap();
    let mut editor = ShardEditor::open(&target).unwrap();
    assert_eq!(editor.delete(&col("id").lt(1_000)).unwrap(), 1_000);
    editor.append(&native).unwrap();
    editor.commit().unwrap();
    let expected = concat_batches(
        &batch.schema(),
        [&batch.slice(1_000, 2_000), &batch.slice(0, 10)],
    );
    let expected = expected.unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(read_shard(&shard), expected);
    compact(&target, CompactOptions::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(read_shard(&shard), expected);
}

#[test]
fn files_of_a_folder_are_found_in_order_without_hidden_ones() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".lake/a", ".lake/_old", ".lake/b"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let lake = folder.path().join(".lake");
    for name in [
        "b/2.PARQUET",
        "a/1.pq",
        "a/_tmp.parquet",
        "_old/1.parquet",
        "3.parq",
        "4.csv",
    ] {
        std::fs::write(lake.join(name), "x").unwrap();
    }
    let found = list_parquet_files(&lake).unwrap();
    let found: Vec<String> = found
        .iter()
        .map(|file| file.name().to_string_lossy().into_owned())
        .collect();
    let ends = ["3.parq", "a/1.pq", "b/2.PARQUET"];
    assert_eq!(found.len(), ends.len(), "{found:?}");
    assert!(
        found
            .iter()
            .zip(ends)
            .all(|(name, end)| name.ends_with(end)),
        "{found:?}"
    );
    let error = attach(&found[..1], folder.path().join("t.amudai.shard")).unwrap_err();
    assert!(error.to_string().contains("3.parq"), "{error}");
}

#[test]
fn values_equal_to_cut_bounds_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let texts = StringArray::from(vec!["a", "ab", "b", "bc"]);
    let batch = RecordBatch::try_from_iter([("text", Arc::new(texts) as ArrayRef)]).unwrap();
    let cut = WriterProperties::builder().set_statistics_truncate_length(Some(1));
    write_parquet(&path, &batch, cut.build());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_sound(&shard);
    for text in ["a", "ab", "b", "bc"] {
        let scan = shard
            .scan()
            .with_filter(col("text").eq(text))
            .build()
            .unwrap();
        let rows: usize = scan.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 1, "{text}");
    }
    let statistics = shard.statistics(["text"]).unwrap();
    assert_eq!(statistics.num_rows(), 1);
}

#[test]
fn compaction_makes_stripes_of_any_size_native_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let batch = table(3_000);
    write_parquet(&path, &batch, small_groups());
    let target = folder.path().join("t.amudai.shard");
    attach([&path], &target).unwrap();
    // One stripe without neighbors, and without deleted rows.
    assert!(
        compact(&target, CompactOptions::default())
            .unwrap()
            .is_none()
    );
    let options = CompactOptions::default().with_external(true);
    let planned = plan_compaction(&target, options.clone()).unwrap();
    assert_eq!(planned, std::slice::from_ref(&(0..1)));
    let done = compact(&target, options.clone()).unwrap().unwrap();
    assert_eq!((done.num_rows(), done.num_stripes()), (3_000, 1));
    std::fs::remove_file(&path).unwrap();
    let shard = Shard::open(&target).unwrap();
    assert_eq!(read_shard(&shard), batch);
    assert_sound(&shard);
    assert!(compact(&target, options).unwrap().is_none());
}

#[test]
fn columns_of_files_have_one_value_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..3)
        .map(|i| {
            let path = folder.path().join(format!("{i}.parquet"));
            write_parquet(&path, &table(2_500), small_groups());
            path
        })
        .collect();
    let target = folder.path().join("t.amudai.shard");
    let days = Arc::new(StringArray::from(vec![Some("mon"), None, Some("tue")])) as ArrayRef;
    let day = Field::new("day", DataType::Utf8, true);
    let options = AttachOptions::default().with_stripe_rows(1);
    for (field, values, word) in [
        (day.clone(), days.slice(0, 2), "each of 3 files, found 2"),
        (
            day.clone().with_name("id"),
            days.clone(),
            "column `id` is in the Parquet files",
        ),
        (day.clone().with_nullable(false), days.clone(), "`day`"),
        (
            Field::new("day", DataType::Int64, true),
            days.clone(),
            "`day`",
        ),
    ] {
        let options = options.clone().with_file_column(field, values);
        let error = attach_with(&files, &target, options).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(!target.exists());
    }
    // The columns after a nested one have their own values.
    let members = vec![Field::new("x", DataType::Int64, true)];
    let nested = Field::new("nested", DataType::Struct(members.into()), true);
    let nulls = new_null_array(nested.data_type(), 3);
    let options = options.with_file_column(nested, nulls);
    let numbers = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let number = Field::new("number", DataType::Int64, false);
    let options = options
        .with_file_column(day, days)
        .with_file_column(number, numbers);
    let dry = attach_with(&files, &target, options.clone().with_dry_run(true)).unwrap();
    assert!(!target.exists());
    let summary = attach_with(&files, &target, options).unwrap();
    assert_eq!((dry.num_rows(), dry.num_stripes()), (7_500, 9));
    assert_eq!(dry.num_rows(), summary.num_rows());
    let shard = Shard::open(&target).unwrap();
    let read = read_shard(&shard);
    let days = read.column_by_name("day").unwrap().as_string::<i32>();
    assert!(days.iter().take(2_500).all(|day| day == Some("mon")));
    assert_eq!(days.null_count(), 2_500);
    assert_eq!(read.column_by_name("nested").unwrap().null_count(), 7_500);
    for (filter, rows, stripes) in [
        (col("day").eq("tue"), 2_500, 6),
        (col("number").eq(2), 2_500, 6),
        (col("day").is_null(), 2_500, 6),
        (col("number").lt(1), 0, 9),
    ] {
        let mut scan = shard.scan().with_filter(filter).build().unwrap();
        let found: usize = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(found, rows);
        let skipped = scan.metrics().unwrap().skipped_by_statistics;
        assert_eq!(skipped.stripes, stripes);
    }
    let taken = shard.take(&[7_000, 3, 2_600], ["number"]).unwrap();
    let taken = taken.column(0).as_primitive::<Int64Type>();
    assert_eq!(taken.values()[..], [3, 1, 2]);
    assert_sound(&shard);
}

#[test]
fn progress_counts_files_in_two_steps_and_can_stop_each_of_them() {
    let folder = tempfile::tempdir().unwrap();
    // The offsets of lists are written to a file of their own.
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(
        (0..500).map(|i| Some((0..i % 3).map(|_| Some(i)).collect::<Vec<_>>())),
    );
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef)]).unwrap();
    let paths: Vec<_> = (0..3)
        .map(|i| folder.path().join(format!("{i}.parquet")))
        .collect();
    for path in &paths {
        write_parquet(path, &batch, small_groups());
    }
    let target = folder.path().join("t.amudai.shard");
    let calls = Arc::new(Mutex::new(Vec::new()));
    for stop_at in 0..6 {
        calls.lock().unwrap().clear();
        let seen = calls.clone();
        let options = AttachOptions::default().with_progress(move |progress| {
            let mut seen = seen.lock().unwrap();
            seen.push((progress.done, progress.total));
            match seen.len() > stop_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let error = attach_with(&paths, &target, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }
    assert_eq!(
        *calls.lock().unwrap(),
        [(0, 3), (1, 3), (1, 3), (2, 3), (2, 3), (3, 3)]
    );
    attach(&paths, &target).unwrap();
    assert_eq!(read_shard(&Shard::open(&target).unwrap()).num_rows(), 1500);
}
