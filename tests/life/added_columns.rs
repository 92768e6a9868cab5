//! Adds columns with values to a shard, next to its existing stripes.

use crate::numbers::{ids, numbers, write};
use crate::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, StringArray, StructArray,
};
use arrow_schema::{DataType, Field};
use arrow_shard::io::Store;
use arrow_shard::metadata::Wire;
use arrow_shard::ops::{
    CompactOptions, Overlap, ShardColumn, ShardEditor, ShardSet, VacuumOptions, compact, merge,
    vacuum,
};
use arrow_shard::read::col;
use arrow_shard::write::{ColumnOptions, Layout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard, ShardOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Returns structs of a text and a number, some of them null.
fn structs(rows: std::ops::Range<i64>) -> ArrayRef {
    let there = |i: i64, n: i64| i % n != 0;
    let texts: StringArray = rows
        .clone()
        .map(|i| there(i, 5).then(|| format!("text {i}")))
        .collect();
    let numbers: Int32Array = rows
        .clone()
        .map(|i| there(i, 3).then_some(i32::try_from(i).unwrap()))
        .collect();
    let nulls = rows.map(|i| there(i, 7)).collect::<Vec<_>>();
    let fields = vec![
        Field::new("text", DataType::Utf8, true),
        Field::new("number", DataType::Int32, true),
    ];
    let columns: Vec<ArrayRef> = vec![Arc::new(texts), Arc::new(numbers)];
    Arc::new(StructArray::new(fields.into(), columns, Some(nulls.into())))
}

fn field_of(name: &str, values: &ArrayRef) -> Field {
    Field::new(name, values.data_type().clone(), true)
}

/// Writes a shard with a column `id`, in stripes of ten rows.
fn in_stripes(path: &Path, rows: std::ops::Range<i64>, layout: Layout) {
    let options = WriterOptions::default()
        .with_layout(layout)
        .with_stripe_rows(10);
    write(path, vec![("id", ids(rows))], options);
}

fn is_sound(shard: &Shard) -> bool {
    let report = shard.verify().unwrap();
    println!("{:?}", report.problems());
    report.is_sound()
}

#[test]
fn values_of_their_own_are_written_beside_the_stripes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.amudai.shard");
    in_stripes(&path, 0..35, Layout::TwoLevel);
    let mut editor = ShardEditor::open(&path).unwrap();
    editor.delete_rows(&[3, 12]).unwrap();
    // The arrays do not end at stripe borders.
    let values = structs(0..35);
    let parts = [
        values.slice(0, 0),
        values.slice(0, 13),
        values.slice(13, 22),
    ];
    let field = field_of("s", &values);
    editor
        .add_column_values(field.clone(), parts, ColumnOptions::default())
        .unwrap();
    let sorted = Arc::new(Int64Array::from_iter_values(100..135)) as ArrayRef;
    let column = ColumnOptions::default().with_profile(Profile::Plain);
    editor
        .add_column_values(Field::new("n", DataType::Int64, false), [sorted], column)
        .unwrap();
    // Members of the new struct are columns like others.
    editor.drop_columns(["s.text"]).unwrap();
    editor.rename_column("s.number", "m").unwrap();
    let before = Shard::open(&path).unwrap();
    let done = editor.commit().unwrap();
    assert_eq!(
        (done.num_rows(), done.num_deleted_rows(), done.num_stripes()),
        (33, 2, 4)
    );

    let shard = Shard::open(&path).unwrap();
    assert!(is_sound(&shard));
    let all = collect(shard.scan().with_deleted_rows(true).build().unwrap()).unwrap();
    let numbers = all.column(1).as_struct();
    assert_eq!(numbers.column_names(), ["m"]);
    assert_eq!(numbers.nulls(), values.nulls());
    let expected = values.as_struct().column(1).as_primitive::<Int32Type>();
    for row in (0..35).filter(|&row| values.is_valid(row)) {
        let number = numbers.column(0).as_primitive::<Int32Type>();
        let value = |numbers: &Int32Array| numbers.is_valid(row).then(|| numbers.value(row));
        assert_eq!(value(number), value(expected), "{row}");
    }
    let rows = collect(shard.scan().build().unwrap()).unwrap();
    let n = rows.column(2).as_primitive::<Int64Type>();
    assert_eq!((rows.num_rows(), n.null_count()), (33, 0));
    assert_eq!((n.value(3), n.value(32)), (104, 134));
    // Statistics of the new values rule out three of four stripes.
    let mut late = shard.scan().with_filter(col("n").gt(131)).build().unwrap();
    let found = late.by_ref().map(|batch| batch.unwrap().num_rows());
    assert_eq!(found.sum::<usize>(), 3);
    assert_eq!(late.metrics().unwrap().values_tested, 5);
    assert_eq!(
        collect(before.scan().build().unwrap()).unwrap().num_rows(),
        35
    );

    // Later changes keep the new buffers, and vacuum does not remove them.
    compact(
        &path,
        CompactOptions::default()
            .with_min_rows(1)
            .with_max_deleted(0.05),
    )
    .unwrap();
    let now = VacuumOptions::default().with_min_age(Duration::ZERO);
    assert!(!vacuum(folder.path(), now).unwrap().is_empty());
    merge([&path], folder.path().join("m.amudai.shard")).unwrap();
    for name in ["a.amudai.shard", "m.amudai.shard"] {
        let shard = Shard::open(folder.path().join(name)).unwrap();
        assert!(is_sound(&shard));
        assert_eq!(collect(shard.scan().build().unwrap()).unwrap(), rows);
    }
}

#[test]
fn rows_that_are_appended_later_are_null_or_have_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    in_stripes(&path("a"), 0..15, Layout::SingleFile);
    in_stripes(&path("b"), 15..18, Layout::SingleFile);
    let wide = Arc::new(Int64Array::from_iter_values(7..10)) as ArrayRef;
    let columns = vec![("id", ids(18..21)), ("n", wide)];
    write(&path("c"), columns, WriterOptions::default());
    let values = Arc::new(Int64Array::from_iter_values(100..115)) as ArrayRef;
    let field = Field::new("n", DataType::Int64, false);
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor
        .add_column_values(field, [values], ColumnOptions::default())
        .unwrap();
    editor.append(path("b")).unwrap();
    editor.append(path("c")).unwrap();
    assert!(editor.schema().field(1).is_nullable());
    editor.commit_to(path("abc")).unwrap();
    let shard = Shard::open(path("abc")).unwrap();
    assert!(is_sound(&shard));
    let rows = collect(shard.scan().build().unwrap()).unwrap();
    let n: Vec<_> = rows.column(1).as_primitive::<Int64Type>().iter().collect();
    let expected = (100..115)
        .map(Some)
        .chain([None; 3])
        .chain((7..10).map(Some));
    assert_eq!(n, expected.collect::<Vec<_>>());

    // Numbers of half the width would have to be rewritten.
    let narrow = Arc::new(Int32Array::from_iter_values(0..15)) as ArrayRef;
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor
        .add_column_values(field_of("n", &narrow), [narrow], ColumnOptions::default())
        .unwrap();
    editor.append(path("c")).unwrap();
    let error = editor.commit_to(path("narrow")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert!(
        error.to_string().contains("`n` holds 32-bit integers"),
        "{error}"
    );
    assert!(!path("narrow").exists());
}

#[test]
fn values_of_a_shard_of_one_wire_are_said_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = WriterOptions::default().with_wire(Wire::Reference);
    write(&path("r"), vec![("id", ids(0..9))], options);
    numbers(&path("s"), 9..12);
    let texts: StringArray = (0..9)
        .map(|i| (i % 4 != 0).then(|| format!("{i}")))
        .collect();
    let texts = Arc::new(texts) as ArrayRef;
    let mut editor = ShardEditor::open(path("r")).unwrap();
    let column = ColumnOptions::default().with_bloom_filter_enabled(true);
    editor
        .add_column_values(field_of("t", &texts), [texts.clone()], column)
        .unwrap();
    editor.append(path("s")).unwrap();
    editor.commit_to(path("both")).unwrap();
    let shard = Shard::open(path("both")).unwrap();
    assert_eq!(shard.wire(), Wire::Spec);
    assert!(is_sound(&shard));
    let rows = collect(shard.scan().with_projection(["t"]).build().unwrap()).unwrap();
    assert_eq!(rows.column(0).slice(0, 9).as_ref(), texts.as_ref());
    assert_eq!(rows.column(0).null_count(), 3 + 3);
    let three = shard.scan().with_filter(col("t").eq("3")).build().unwrap();
    assert_eq!(collect(three).unwrap().num_rows(), 1);
}

#[test]
fn shards_in_memory_get_columns_too() {
    let folder = crate::support::written(
        &arrow_schema::Schema::new(vec![Field::new("id", DataType::Int64, true)]).into(),
        &[],
        WriterOptions::default(),
    );
    // A shard without rows accepts a column without values.
    let folder = folder.unwrap();
    let shard = Store::memory(folder.clone()).at(&folder.names()[0]);
    let mut editor = ShardEditor::open(shard.clone()).unwrap();
    let field = Field::new("n", DataType::Int32, true);
    editor
        .add_column_values(field, [], ColumnOptions::default())
        .unwrap();
    assert_eq!(editor.commit().unwrap().num_rows(), 0);
    let shard = Shard::open(shard).unwrap();
    let schema = shard.schema().unwrap();
    assert_eq!(schema.fields().len(), 2);
    assert_eq!(
        collect(shard.scan().build().unwrap()).unwrap().num_rows(),
        0
    );
}

#[test]
fn values_that_do_not_fit_are_refused_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    in_stripes(&path, 0..15, Layout::SingleFile);
    let mut editor = ShardEditor::open(&path).unwrap();
    let before = editor.schema();
    let field = Field::new("n", DataType::Int32, false);
    let mut refused = |field: &Field, values: ArrayRef| {
        let options = ColumnOptions::default();
        let added = editor.add_column_values(field.clone(), [values], options);
        assert_eq!(editor.schema(), before);
        added.unwrap_err()
    };
    let numbers = |n: i32| Arc::new(Int32Array::from_iter_values(0..n)) as ArrayRef;
    for n in [0, 14, 16] {
        let error = refused(&field, numbers(n));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("for 15 rows"), "{error}");
    }
    let error = refused(&field, ids(0..15));
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    let error = refused(&Field::new("id", DataType::Int32, false), numbers(15));
    assert!(
        error.to_string().contains("name of another column"),
        "{error}"
    );
    let nulls = Arc::new(Int32Array::from(vec![None; 15])) as ArrayRef;
    refused(&field, nulls);
    let one = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let error = editor.add_column(field, &one).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{error}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

/// The rows of a stripe share a dictionary, and may have more distinct values than the key type allows.
#[test]
fn a_dictionary_that_a_stripe_would_overflow_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, vec![("id", ids(0..200))], WriterOptions::default());
    let part = |from: i64| {
        let values = Arc::new(Int64Array::from_iter_values(from..from + 100));
        let keys = (0..100).collect::<arrow_array::Int8Array>();
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys, values).unwrap()) as ArrayRef
    };
    let field = field_of("d", &part(0));
    let mut editor = ShardEditor::open(&path).unwrap();
    let options = ColumnOptions::default();
    let error = editor
        .add_column_values(field.clone(), [part(0), part(100)], options.clone())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    editor
        .add_column_values(field, [part(0), part(0)], options)
        .unwrap();
    editor.commit().unwrap();
    assert!(is_sound(&Shard::open(&path).unwrap()));
}

/// Opens shards with a column of the given values.
fn open_with(
    shards: &[std::path::PathBuf],
    overlap: Overlap,
    values: ArrayRef,
) -> arrow_shard::Result<ShardSet> {
    let columns = [ShardColumn::new(field_of("year", &values), values)];
    let options = ShardOptions::default();
    ShardSet::open_with_columns(shards, overlap, &columns, |folder| folder, options)
}

#[test]
fn a_table_has_columns_with_a_value_for_each_shard() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a", "b", "c"].map(|name| folder.path().join(format!("{name}.amudai.shard")));
    for (path, first) in names.iter().zip([0, 100, 200]) {
        in_stripes(path, first..first + 15, Layout::SingleFile);
    }
    let years = Arc::new(Int64Array::from(vec![Some(2025), None, Some(2025)])) as ArrayRef;
    let table = open_with(&names, Overlap::Refuse, years.clone()).unwrap();
    let rows = collect(table.scan().build().unwrap()).unwrap();
    let found = rows.column_by_name("year").unwrap();
    let found = found.as_primitive::<Int64Type>();
    assert!((0..45).all(|i| found.is_null(i) == (15..30).contains(&i)));
    assert_eq!((found.value(0), found.value(44)), (2025, 2025));
    assert!(is_sound(table.shard()));

    // A filter on the column skips the stripes of whole shards.
    let scan = table
        .scan()
        .with_filter(col("year").eq(2025))
        .with_threads(1);
    let mut reader = scan.build().unwrap();
    let matched: usize = reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(matched, 30);
    assert_eq!(reader.metrics().unwrap().skipped_by_statistics.stripes, 2);

    // A shard that is left out takes its value with it.
    let both = folder.path().join("both.amudai.shard");
    merge(&names[..2], &both).unwrap();
    let paths = [names[0].clone(), names[2].clone(), both];
    let years = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let table = open_with(&paths, Overlap::LeaveOut, years.clone()).unwrap();
    assert_eq!((table.num_rows(), table.left_out().len()), (45, 1));
    let rows = collect(table.scan().build().unwrap()).unwrap();
    let found = rows.column_by_name("year").unwrap();
    let found = found.as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(found, [vec![2; 15], vec![3; 30]].concat());

    // Errors name the column.
    let error = open_with(&paths, Overlap::Refuse, years.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = open_with(&names, Overlap::Refuse, years.slice(0, 2)).unwrap_err();
    assert!(error.to_string().contains("`year`"), "{error}");
    let texts = Arc::new(StringArray::from(vec!["x"; 3])) as ArrayRef;
    let columns = [ShardColumn::new(
        Field::new("id", DataType::Utf8, true),
        texts,
    )];
    let (overlap, options) = (Overlap::Refuse, ShardOptions::default());
    let opened = ShardSet::open_with_columns(&names, overlap, &columns, |folder| folder, options);
    let error = opened.unwrap_err();
    assert!(error.to_string().contains("`id`"), "{error}");
}
