//! Merges, appends, deletes and column changes of shards: errors, preserved properties, and conflicts.

use crate::numbers::{ids, names, numbers, read, write};
use crate::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::io::{Location, MemoryFolder, SinkFactory, Store};
use arrow_shard::metadata::{NameValuePair, SortingColumn};
use arrow_shard::ops::{
    CompactOptions, MergeOptions, ShardEditor, ShardSet, VacuumOptions, compact, merge, merge_with,
    plan_compaction, vacuum,
};
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{ColumnOptions, Layout, ShardWriter, WriterOptions};
use arrow_shard::{ErrorKind, Limits, Shard};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

#[test]
fn a_merge_carries_statistics_filters_indexes_and_properties() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = |source: &str| {
        let column = ColumnOptions::default()
            .with_bloom_filter_enabled(true)
            .with_property(NameValuePair::new("unit", "metres"));
        WriterOptions::default()
            .with_column("id", column)
            .with_property(NameValuePair::new("source", source))
            .with_property(NameValuePair::new(source, true))
            .with_stripe_property(NameValuePair::new("day", source))
            .with_sorting_columns(vec![SortingColumn {
                path: "id".to_owned(),
                descending: false,
                nulls_first: false,
            }])
    };
    write(&path("a"), vec![("id", ids(0..20_000))], options("a"));
    write(&path("b"), vec![("id", ids(30_000..50_000))], options("b"));
    let merged = merge([path("a"), path("b")], path("m")).unwrap();
    assert_eq!((merged.num_rows(), merged.num_stripes()), (40_000, 2));
    assert!(merged.bytes() < 100_000, "{} bytes", merged.bytes());

    let shard = Shard::open(path("m")).unwrap();
    let statistics = shard.statistics(["id"]).unwrap();
    let id = statistics.column(1).as_struct();
    let value = |name: &str| id.column_by_name(name).unwrap().clone();
    assert_eq!(value("min").as_primitive::<Int64Type>().value(0), 0);
    assert_eq!(value("max").as_primitive::<Int64Type>().value(0), 49_999);
    assert!(value("max_is_exact").as_boolean().value(0));
    let distinct = value("distinct_count")
        .as_primitive::<UInt64Type>()
        .value(0);
    assert!((30_000..=40_000).contains(&distinct), "{distinct}");
    // The Bloom filter of one stripe and the range index of the other rule out nearly all rows.
    let mut scan = shard
        .scan()
        .with_filter(col("id").eq(30_007))
        .build()
        .unwrap();
    assert_eq!(
        scan.by_ref()
            .map(|batch| batch.unwrap().num_rows())
            .sum::<usize>(),
        1
    );
    assert!(scan.metrics().unwrap().values_tested <= 1024);
    // Properties of the first shard come first; the rows of several shards are not declared sorted.
    assert_eq!(
        shard.property("source").unwrap().unwrap().as_str(),
        Some("a")
    );
    assert!(shard.property("a").unwrap().is_some() && shard.property("b").unwrap().is_some());
    assert_eq!(shard.sorting_columns().unwrap(), []);
    let stripes = shard.stripes().unwrap();
    let day = |i: usize| stripes[i].property("day").unwrap().unwrap();
    let days = [day(0), day(1)];
    let days = days.each_ref().map(|day| day.as_str().unwrap());
    assert_eq!(days, ["a", "b"]);
    // The merged shard no longer needs the inputs.
    std::fs::remove_file(path("a")).unwrap();
    assert_eq!(read(&path("m")).len(), 40_000);
}

#[test]
fn columns_are_united_by_name_and_integers_widened_where_they_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let point = |x: Option<i64>, y: Option<i64>| {
        let fields = [("x", x), ("y", y)]
            .into_iter()
            .filter_map(|(name, value)| {
                let column = Arc::new(Int64Array::from(vec![value?])) as ArrayRef;
                Some((Arc::new(Field::new(name, DataType::Int64, false)), column))
            });
        Arc::new(StructArray::from(fields.collect::<Vec<_>>())) as ArrayRef
    };
    let narrow = Arc::new(Int32Array::from(vec![7])) as ArrayRef;
    let columns = vec![("n", narrow), ("p", point(Some(1), None))];
    write(&path("a"), columns, WriterOptions::default());
    let columns = vec![
        ("p", point(Some(2), Some(3))),
        ("n", ids(8..9)),
        ("s", ids(0..1)),
    ];
    write(&path("b"), columns, WriterOptions::default());
    merge([path("a"), path("b")], path("m")).unwrap();
    let shard = Shard::open(path("m")).unwrap();
    let rows = collect(shard.scan().build().unwrap()).unwrap();
    let names: Vec<&str> = rows
        .schema_ref()
        .fields()
        .iter()
        .map(|f| f.name().as_str())
        .collect();
    assert_eq!(names, ["n", "p", "s"]);
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[7, 8]);
    let p = rows.column(1).as_struct();
    assert_eq!(p.column(0).as_primitive::<Int64Type>().values(), &[1, 2]);
    assert!(p.column(1).is_null(0) && p.column(1).as_primitive::<Int64Type>().value(1) == 3);
    assert!(rows.column(2).is_null(0) && rows.column(2).is_valid(1));

    // If there are several values, the values of the narrow column would have to be rewritten.
    let narrow = Arc::new(Int32Array::from(vec![7, 9])) as ArrayRef;
    write(&path("c"), vec![("n", narrow)], WriterOptions::default());
    let error = merge([path("b"), path("c")], path("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert!(error.to_string().contains("`n`"), "{error}");
    let text = Arc::new(StringArray::from(vec!["a"])) as ArrayRef;
    write(&path("d"), vec![("n", text)], WriterOptions::default());
    let error = merge([path("b"), path("d")], path("x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("`n`") && text.contains("Int64") && text.contains("String"),
        "{text}"
    );
    assert_eq!(
        names_without_stripes(folder.path()),
        ["a", "b", "c", "d", "m"]
    );
}

/// Asserts that an error names files by full paths, and only files that the caller knows.
fn says_paths(error: &arrow_shard::Error) {
    let text = error.to_string();
    let named = text.split('`').skip(1).step_by(2);
    let named: Vec<&Path> = named.map(Path::new).collect();
    assert!(named.len() > 1, "{text}");
    assert!(named.iter().all(|path| path.is_absolute()), "{text}");
    assert!(!text.contains(".stripe"), "{text}");
}

fn names_without_stripes(folder: &Path) -> Vec<String> {
    let mut names = names(folder);
    names.retain(|name| !name.ends_with(".amudai.stripe"));
    names
}

#[test]
fn what_is_refused_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    numbers(&folder.path().join("a"), 0..30);
    numbers(&below.join("b"), 30..40);
    let before = (names(folder.path()), names(&below));
    // A directory can only refer to files in its folder and subfolders.
    let error = merge([folder.path().join("a")], below.join("m")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{error}");
    says_paths(&error);
    let error = merge([folder.path().join("a")], folder.path().join("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    let error = merge::<PathBuf>([], folder.path().join("m")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let mut editor = ShardEditor::open(folder.path().join("a")).unwrap();
    let kind = |result: arrow_shard::Result<()>| result.unwrap_err().kind();
    assert_eq!(
        kind(editor.delete_rows(&[3, 30]).map(drop)),
        ErrorKind::RowOutOfRange
    );
    assert_eq!(
        kind(editor.delete(&col("x").eq(1)).map(drop)),
        ErrorKind::UnknownColumn
    );
    assert_eq!(
        kind(editor.drop_columns(["id", "x"])),
        ErrorKind::UnknownColumn
    );
    assert_eq!(
        kind(editor.select_columns(["id", "id"])),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(editor.rename_column("id.x", "y")),
        ErrorKind::UnknownColumn
    );
    let field = Field::new("id", DataType::Int64, false);
    assert_eq!(
        kind(editor.add_column(field, &ids(0..1))),
        ErrorKind::InvalidArgument
    );
    let field = Field::new("new", DataType::Int64, false);
    assert_eq!(
        kind(editor.add_column(field, &ids(0..2))),
        ErrorKind::InvalidArgument
    );
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)])]);
    let field = Field::new("new", lists.data_type().clone(), false);
    let lists = Arc::new(lists) as ArrayRef;
    assert_eq!(
        kind(editor.add_column(field, &lists)),
        ErrorKind::Unsupported
    );
    assert_eq!((editor.num_rows(), editor.num_deleted_rows()), (30, 0));
    drop(editor);
    assert_eq!((names(folder.path()), names(&below)), before);
    // A directory in the parent folder can refer to both.
    merge(
        [folder.path().join("a"), below.join("b")],
        folder.path().join("m"),
    )
    .unwrap();
    assert_eq!(read(&folder.path().join("m")), (0..40).collect::<Vec<_>>());
}

#[test]
fn sorting_columns_follow_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let sorted = |path: &str| SortingColumn {
        path: path.to_owned(),
        descending: false,
        nulls_first: true,
    };
    let options = WriterOptions::default().with_sorting_columns(vec![sorted("a"), sorted("b")]);
    write(
        &path,
        vec![("a", ids(0..9)), ("b", ids(0..9)), ("c", ids(0..9))],
        options,
    );
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.rename_column("a", "new").unwrap();
    editor.drop_columns(["b"]).unwrap();
    editor.delete_rows(&[3]).unwrap();
    editor.commit().unwrap();
    let shard = Shard::open(&path).unwrap();
    assert_eq!(shard.sorting_columns().unwrap(), [sorted("new")]);
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.select_columns(["c"]).unwrap();
    editor.commit().unwrap();
    assert_eq!(Shard::open(&path).unwrap().sorting_columns().unwrap(), []);
}

#[test]
fn who_comes_second_gets_a_conflict_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..100);
    let mut first = ShardEditor::open(&path).unwrap();
    let mut second = ShardEditor::open(&path).unwrap();
    first.delete_rows(&[1]).unwrap();
    second.delete_rows(&[2]).unwrap();
    first.commit().unwrap();
    let files = names(folder.path());
    let error = second.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(names(folder.path()), files);

    // Concurrent changes: exactly the changes of successful commits are visible.
    let start = Arc::new(Barrier::new(4));
    let workers = (0..4u64).map(|worker| {
        let (path, start) = (path.clone(), start.clone());
        std::thread::spawn(move || {
            start.wait();
            let mut done = Vec::new();
            for row in (0..20).map(|i| 10 + worker * 20 + i) {
                let mut editor = ShardEditor::open(&path).unwrap();
                editor.delete_rows(&[row]).unwrap();
                match editor.commit() {
                    Ok(_) => done.push(i64::try_from(row).unwrap()),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
                }
            }
            done
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut deleted: Vec<i64> = workers
        .into_iter()
        .flat_map(|w| w.join().unwrap())
        .collect();
    deleted.push(1);
    let mut expected: Vec<i64> = (0..100).collect();
    expected.retain(|row| !deleted.contains(row));
    assert_eq!(read(&path), expected);
    vacuum(
        folder.path(),
        VacuumOptions::default().with_min_age(Duration::ZERO),
    )
    .unwrap();
    assert_eq!(read(&path), expected);
}

#[test]
fn a_writer_that_overwrites_and_an_editor_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..20);
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete_rows(&[1]).unwrap();
    let options = WriterOptions::default().with_overwrite(true);
    write(&path, vec![("id", ids(50..53))], options);
    assert_eq!(editor.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(read(&path), [50, 51, 52]);
}

#[test]
fn compaction_leaves_large_stripes_and_vacuum_what_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let two = WriterOptions::default()
        .with_layout(Layout::TwoLevel)
        .with_stripe_rows(100);
    write(&path("a"), vec![("id", ids(0..1000))], two.clone());
    write(&path("b"), vec![("id", ids(1000..1010))], two);
    merge([path("a"), path("b"), path("b")], path("m")).unwrap();
    let mut editor = ShardEditor::open(path("m")).unwrap();
    editor.delete_rows(&(200..260).collect::<Vec<_>>()).unwrap();
    editor.commit().unwrap();
    let options = CompactOptions::default().with_min_rows(50);
    // The third stripe has lost more than a fifth, and the last two are small.
    assert_eq!(
        plan_compaction(path("m"), options.clone()).unwrap(),
        [2..3, 10..12]
    );
    let before = Shard::open(path("m")).unwrap();
    let done = compact(path("m"), options.clone()).unwrap().unwrap();
    assert_eq!(
        (done.num_rows(), done.num_deleted_rows(), done.num_stripes()),
        (960, 0, 11)
    );
    let expected: Vec<i64> = (0..200).chain(260..1010).chain(1000..1010).collect();
    assert_eq!(read(&path("m")), expected);
    assert_eq!(compact(path("m"), options.clone()).unwrap(), None);
    // A reader with the old directory keeps working.
    assert_eq!(
        collect(before.scan().build().unwrap()).unwrap().num_rows(),
        960
    );

    let young = VacuumOptions::default();
    assert_eq!(vacuum(folder.path(), young.clone()).unwrap(), []);
    let now = young.with_min_age(Duration::ZERO);
    let read_files = Arc::new(Mutex::new(Vec::new()));
    let told = read_files.clone();
    let dry = now.clone().with_dry_run(true);
    let dry = dry.with_progress(move |p| {
        told.lock().unwrap().push((p.done, p.total));
        ControlFlow::Continue(())
    });
    let listed = vacuum(folder.path(), dry.clone()).unwrap();
    // The calls for each directory file, one after the other.
    assert_eq!(*read_files.lock().unwrap(), [(1, 3), (2, 3), (3, 3)]);
    // The file of deleted rows.
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(vacuum(folder.path(), now.clone()).unwrap(), listed);
    assert_eq!(read(&path("a")).len(), 1000);
    assert_eq!(read(&path("m")), expected);
    std::fs::remove_file(path("a")).unwrap();
    std::fs::remove_file(path("b")).unwrap();
    // Only these directories refer to two stripes of `a` and the stripe of `b`.
    vacuum(folder.path(), now.clone()).unwrap();
    assert_eq!(read(&path("m")), expected);
    std::fs::write(path("damaged"), "Amudai").unwrap();
    let names_before = names(folder.path());
    vacuum(folder.path(), now.clone()).unwrap();
    assert_eq!(names(folder.path()), names_before);
}

#[test]
fn shards_of_a_folder_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..25);
    let two = WriterOptions::default().with_layout(Layout::TwoLevel);
    write(&path("b"), vec![("id", ids(25..30)), ("x", ids(0..5))], two);
    numbers(&below.join("c"), 30..50);
    std::fs::write(path("notes.txt"), "no shard").unwrap();
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.delete_rows(&[3, 4]).unwrap();
    editor.commit().unwrap();
    let files = names(folder.path());

    let table = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(
        (table.num_rows(), table.row_ranges()),
        (28, &[0..25, 25..30][..])
    );
    let table = ShardSet::open([path("a"), below.join("c"), path("b")]).unwrap();
    assert_eq!(table.row_ranges(), [0..25, 25..45, 45..50]);
    // Each row leads to its file.
    let shards = [path("a"), below.join("c"), path("b")];
    let shards = shards.map(|path| Location::from(path.canonicalize().unwrap()));
    assert_eq!(table.shards(), shards);
    assert_eq!(table.locate(3), Some((0, 3)));
    assert_eq!(table.locate(26), Some((1, 1)));
    assert_eq!(table.locate(50), None);
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.append(path("b")).unwrap();
    let [a, _, b] = shards;
    assert_eq!(editor.shards(), [(a, 0..25), (b, 25..30)]);
    // Limits hold for tables and merges as for shards.
    let limits = Limits::default().with_max_stripes(0);
    let options = ShardOptions::default().with_limits(limits.clone());
    let merging = MergeOptions::default().with_limits(limits);
    for refused in [
        ShardSet::open_with([path("b")], options.clone()).map(drop),
        ShardSet::open_folder_with(folder.path(), options).map(drop),
        merge_with([path("b")], path("m"), merging).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }
    let rows = |scan: arrow_shard::read::ScanBuilder| {
        let rows = collect(scan.with_projection(["id"]).build().unwrap()).unwrap();
        rows.column(0).as_primitive::<Int64Type>().values().to_vec()
    };
    let expected: Vec<i64> = (0..3).chain(5..25).chain(30..50).chain(25..30).collect();
    assert_eq!(rows(table.scan()), expected);
    assert_eq!(rows(table.scan().with_threads(3)), expected);
    assert_eq!(
        rows(table.scan().with_offset(20).with_limit(6)),
        expected[20..26]
    );
    // Rows of a shard without the column are null.
    assert_eq!(rows(table.scan().with_filter(col("x").gt(1))), [27, 28, 29]);
    assert_eq!(rows(table.scan().with_filter(col("x").is_null())).len(), 43);
    let mut scan = table.scan().with_filter(col("id").eq(40)).build().unwrap();
    assert_eq!(
        scan.by_ref()
            .map(|batch| batch.unwrap().num_rows())
            .sum::<usize>(),
        1
    );
    assert!(scan.metrics().unwrap().skipped_by_statistics.rows >= 35);
    let taken = table.take(&[(2, 1), (0, 24), (1, 0)], ["id"]).unwrap();
    assert_eq!(
        taken.column(0).as_primitive::<Int64Type>().values(),
        &[26, 24, 30]
    );
    for wrong in [(0, 25), (3, 0), (0, 3)] {
        let error = table.take(&[wrong], ["id"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RowOutOfRange, "{error}");
    }
    let error = ShardSet::open::<&Path>([]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(names(folder.path()), files);
}

#[test]
fn shards_in_memory_live_as_files_do() {
    let folder = MemoryFolder::new();
    let add = |name: &str, range: std::ops::Range<i64>| {
        let batch = RecordBatch::try_from_iter([("id", ids(range))]).unwrap();
        let factory: Box<dyn SinkFactory> = Box::new(folder.clone());
        let options = WriterOptions::default();
        let mut writer = ShardWriter::create_in(factory, name, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    };
    let store = Store::memory(folder.clone());
    let open = |name: &str| Shard::open(store.at(name)).unwrap();
    add("a", 0..10);
    add("b", 10..20);
    let mut editor = ShardEditor::open(store.at("a")).unwrap();
    let mut late = ShardEditor::open(store.at("a")).unwrap();
    editor.append("b").unwrap();
    editor.delete(&col("id").lt(15)).unwrap();
    let done = editor.commit_to("c").unwrap();
    assert_eq!((done.num_rows(), done.num_deleted_rows()), (5, 15));
    let rows = collect(open("c").scan().build().unwrap()).unwrap();
    assert_eq!(
        rows.column(0).as_primitive::<Int64Type>().values(),
        &[15, 16, 17, 18, 19]
    );
    let before = open("a");
    let mut editor = ShardEditor::open(store.at("a")).unwrap();
    editor.delete_rows(&[1]).unwrap();
    editor.commit().unwrap();
    assert_eq!((before.num_rows(), open("a").num_rows()), (10, 9));
    assert_eq!(
        collect(before.scan().build().unwrap()).unwrap().num_rows(),
        10
    );
    // Nothing is lost of a change that came first, and nothing is left of the one that came too late.
    let names = folder.names();
    late.delete_rows(&[2]).unwrap();
    assert_eq!(late.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let taken = ShardEditor::open(store.at("b")).unwrap().commit_to("c");
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(folder.names(), names);
}

#[test]
fn added_columns_have_one_value_and_filters_know_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..25);
    let mut editor = ShardEditor::open(&path).unwrap();
    let text = Arc::new(StringArray::from(vec!["november"])) as ArrayRef;
    let metadata = HashMap::from([("k".to_owned(), "v".to_owned())]);
    let field = Field::new("month", DataType::Utf8, false).with_metadata(metadata);
    editor.add_column(field.clone(), &text).unwrap();
    let none = Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef;
    editor
        .add_column(Field::new("note", DataType::Utf8, true), &none)
        .unwrap();
    let schema = editor.schema();
    editor.commit().unwrap();
    let shard = Shard::open(&path).unwrap();
    assert_eq!(
        *shard.schema().unwrap(),
        Schema::new(schema.fields().clone())
    );
    let scan = |filter| shard.scan().with_filter(filter).build().unwrap();
    assert_eq!(
        collect(scan(col("month").eq("november")))
            .unwrap()
            .num_rows(),
        25
    );
    let mut none = scan(col("month").eq("december"));
    assert!(none.next().is_none());
    assert_eq!(none.metrics().unwrap().values_tested, 0);
    let rows = collect(scan(col("note").is_null().and(col("id").lt(2)))).unwrap();
    assert_eq!((rows.num_rows(), rows.column(2).null_count()), (2, 2));
    assert!(shard.verify().unwrap().is_sound());
}

#[test]
fn locations_of_several_folders_are_files_of_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("days")).unwrap();
    numbers(&path("days/1"), 0..10);
    numbers(&path("days/2"), 10..20);
    let days = Store::folder(path("days")).unwrap();
    // The name of the target is one of its own folder.
    merge([days.at("1"), days.at("2")], path("week")).unwrap();
    assert_eq!(read(&path("week")), (0..20).collect::<Vec<_>>());
    merge([path("days/2")], days.at("second")).unwrap();
    assert_eq!(read(&path("days/second")), (10..20).collect::<Vec<_>>());
    assert_eq!(
        days.at("1"),
        Location::from(path("days").canonicalize().unwrap().join("1"))
    );
    assert_ne!(days.at("1"), Location::from("1"));
    let error = Shard::open(days.at("../week")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForbiddenUrl, "{error}");
    let memory = Store::memory(MemoryFolder::new());
    let error = merge([days.at("1")], memory.at("m")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}
