//! Edge cases of changes: parent folders, restored rows, units of time, names, counts.

use crate::crafted::rows_of_nothing;
use crate::numbers::{ids, names, numbers, read, write};
use crate::support::collect;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, Date32Array, Int64Array, StructArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_ord::cmp::lt;
use arrow_schema::{DataType, Field, TimeUnit};
use arrow_shard::io::{Container, Location, ReadAt, RelativeUrl};
use arrow_shard::metadata::{SortingColumn, TypeMapping};
use arrow_shard::ops::{
    CompactOptions, DeleteOptions, MergeOptions, ShardEditor, ShardSet, VacuumOptions, compact,
    list_files, list_shards, merge, merge_with, vacuum,
};
use arrow_shard::read::{Predicate, ShardOptions, col};
use arrow_shard::write::{Layout, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn two_level() -> WriterOptions {
    let options = WriterOptions::default().with_layout(Layout::TwoLevel);
    options.with_stripe_rows(10)
}

fn at_once() -> VacuumOptions {
    VacuumOptions::default().with_min_age(Duration::ZERO)
}

#[test]
fn a_shard_that_is_overwritten_leaves_what_a_folder_above_refers_to() {
    let folder = tempfile::tempdir().unwrap();
    let days = folder.path().join("days");
    std::fs::create_dir(&days).unwrap();
    let (day, week) = (days.join("1"), folder.path().join("week"));
    write(&day, vec![("id", ids(0..30))], two_level());
    merge([&day], &week).unwrap();
    let before = Shard::open(&day).unwrap();
    let files = names(&days);
    let overwrite = WriterOptions::default().with_overwrite(true);
    write(&day, vec![("id", ids(50..53))], overwrite);
    assert_eq!(names(&days), files);
    assert_eq!(read(&week), (0..30).collect::<Vec<_>>());
    let rows = collect(before.scan().build().unwrap()).unwrap();
    assert_eq!(rows.num_rows(), 30);
    // Only the folder with all directories shows which files are unused.
    assert_eq!(vacuum(folder.path(), at_once()).unwrap(), []);
    std::fs::remove_file(&week).unwrap();
    assert_eq!(vacuum(folder.path(), at_once()).unwrap().len(), 3);
    assert_eq!(names(&days), ["1"]);
    assert_eq!(read(&day), [50, 51, 52]);
}

#[test]
fn a_function_that_is_optional_for_readers_decides_what_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    write(&path, vec![("id", ids(0..30))], WriterOptions::default());
    let mut editor = ShardEditor::open(&path).unwrap();
    let small = Predicate::from_optional_fn(
        ["id"],
        |_| false,
        |batch| lt(batch.column(0), &Int64Array::new_scalar(10)),
    );
    assert_eq!(editor.delete(&small.and(col("id").gt(4))).unwrap(), 5);
    editor.commit().unwrap();
    assert_eq!(read(&path), (0..5).chain(10..30).collect::<Vec<_>>());
}

#[test]
fn rows_that_were_brought_back_are_deleted_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..25);
    let mut editor = ShardEditor::open(&path).unwrap();
    assert_eq!(editor.delete(&col("id").lt(12)).unwrap(), 12);
    assert_eq!(editor.delete(&col("id").lt(13)).unwrap(), 1);
    editor.commit().unwrap();
    let mut editor = ShardEditor::open(&path).unwrap();
    assert_eq!(editor.undelete(), 13);
    assert_eq!(editor.delete(&col("id").gt_eq(10)).unwrap(), 15);
    assert_eq!(editor.undelete_rows(&[11, 12, 3]).unwrap(), 2);
    assert_eq!(editor.delete(&col("id").eq(12)).unwrap(), 1);
    editor.commit().unwrap();
    assert_eq!(read(&path), (0..10).chain([11]).collect::<Vec<_>>());
}

fn write_native(path: &Path, column: ArrayRef) {
    let options = WriterOptions::default().with_mapping(TypeMapping::Amudai);
    write(path, vec![("t", column)], options);
}

#[test]
fn times_of_several_units_keep_their_fractions_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let micros = TimestampMicrosecondArray::from(vec![1_500_001, -1]);
    let nanos = TimestampNanosecondArray::from(vec![100]);
    write_native(
        &path("s"),
        Arc::new(TimestampSecondArray::from(vec![7, -7])),
    );
    write_native(&path("us"), Arc::new(micros.clone()));
    write_native(&path("ns"), Arc::new(nanos));
    write_native(&path("zone"), Arc::new(micros.with_timezone("+01:00")));
    write_native(&path("date"), Arc::new(Date32Array::from(vec![1])));
    for pair in [["s", "us"], ["us", "s"]] {
        let merged = path(&pair.concat());
        merge(pair.map(path), &merged).unwrap();
        let shard = Shard::open(&merged).unwrap();
        let unit = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(shard.schema().unwrap().field(0).data_type(), &unit);
        let rows = collect(shard.scan().build().unwrap()).unwrap();
        let rows = rows.column(0).as_primitive::<TimestampMicrosecondType>();
        let mut rows: Vec<i64> = rows.values().to_vec();
        rows.sort_unstable();
        assert_eq!(rows, [-7_000_000, -1, 1_500_001, 7_000_000]);
    }
    for pair in [
        ["s", "ns"],
        ["ns", "us"],
        ["us", "zone"],
        ["s", "date"],
        ["date", "us"],
    ] {
        let error = merge(pair.map(path), path("no")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch, "{pair:?}: {error}");
        assert!(error.to_string().contains("`t`"), "{error}");
    }
}

#[test]
fn a_column_that_takes_the_name_of_a_sorting_column_is_not_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let sorted = SortingColumn {
        path: "a".to_owned(),
        descending: false,
        nulls_first: true,
    };
    let columns = vec![("a", ids(0..9)), ("b", ids(0..9)), ("c", ids(0..9))];
    let options = WriterOptions::default().with_sorting_columns(vec![sorted]);
    write(&path, columns, options);
    for select in [false, true] {
        let mut editor = ShardEditor::open(&path).unwrap();
        match select {
            true => editor.select_columns(["c"]).unwrap(),
            false => editor.drop_columns(["a"]).unwrap(),
        }
        editor.rename_column("c", "a").unwrap();
        let other = folder.path().join(select.to_string());
        editor.commit_to(&other).unwrap();
        assert_eq!(Shard::open(&other).unwrap().sorting_columns().unwrap(), []);
    }
}

#[test]
fn a_path_that_comes_to_lead_elsewhere_is_no_sorting_column() {
    let folder = tempfile::tempdir().unwrap();
    let member = |name: &str| Arc::new(Field::new(name, DataType::Int64, false));
    let of_b = || -> ArrayRef { Arc::new(StructArray::from(vec![(member("b"), ids(0..3))])) };
    let sorted = |path: &str| SortingColumn {
        path: path.to_owned(),
        descending: false,
        nulls_first: true,
    };
    let mut number = 0;
    let mut check = |columns: Vec<(&str, ArrayRef)>,
                     change: fn(&mut ShardEditor) -> arrow_shard::Result<()>,
                     expected: &[SortingColumn]| {
        number += 1;
        let path = folder.path().join(format!("{number}"));
        let options = WriterOptions::default().with_sorting_columns(vec![sorted("a.b")]);
        write(&path, columns, options);
        let mut editor = ShardEditor::open(&path).unwrap();
        change(&mut editor).unwrap();
        editor.commit().unwrap();
        assert_eq!(
            Shard::open(&path).unwrap().sorting_columns().unwrap(),
            expected
        );
    };
    // Another column gets a name that was the path of a member.
    let member_of_a = || vec![("a", of_b()), ("x", ids(0..3))];
    check(
        member_of_a(),
        |editor| editor.rename_column("x", "a.b"),
        &[],
    );
    let add = |editor: &mut ShardEditor| {
        let null: ArrayRef = Arc::new(Int64Array::from(vec![None::<i64>]));
        editor.add_column(Field::new("a.b", DataType::Int64, true), &null)
    };
    check(member_of_a(), add, &[]);
    // The column is dropped, and a member has the same path.
    let both = || vec![("a.b", ids(0..3)), ("a", of_b())];
    check(both(), |editor| editor.drop_columns(["a.b"]), &[]);
    check(both(), |editor| editor.select_columns(["a"]), &[]);
    // Another column is dropped or renamed, and the path begins with its name.
    let beside = || vec![("a", ids(0..3)), ("a.b", ids(0..3))];
    check(
        beside(),
        |editor| editor.rename_column("a", "x"),
        &[sorted("a.b")],
    );
    check(
        beside(),
        |editor| editor.drop_columns(["a"]),
        &[sorted("a.b")],
    );
    check(
        member_of_a(),
        |editor| editor.rename_column("a", "x.y"),
        &[sorted("x.y.b")],
    );
    check(
        member_of_a(),
        |editor| editor.rename_column("a.b", "c"),
        &[sorted("a.c")],
    );
}

#[test]
fn columns_and_members_get_no_name_that_another_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let member = |name: &str| Arc::new(Field::new(name, DataType::Int64, false));
    let pair = StructArray::from(vec![(member("x"), ids(0..3)), (member("y"), ids(0..3))]);
    let columns: Vec<(&str, ArrayRef)> = vec![("p", Arc::new(pair)), ("q", ids(0..3))];
    write(&path, columns, WriterOptions::default());
    let mut editor = ShardEditor::open(&path).unwrap();
    for (column, name) in [("p", "q"), ("q", "p"), ("p.x", "y")] {
        let error = editor.rename_column(column, name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
    // A member may keep its own name, or have the name of a member of another struct.
    editor.rename_column("p.x", "x").unwrap();
    editor.rename_column("p.x", "q").unwrap();
    editor.rename_column("q", "q").unwrap();
    editor.commit().unwrap();
    let schema = Shard::open(&path).unwrap().schema().unwrap();
    let DataType::Struct(members) = schema.field(0).data_type() else {
        unreachable!("the column is a struct");
    };
    assert_eq!(
        (members[0].name(), schema.field(1).name()),
        (&"q".into(), &"q".into())
    );
}

#[test]
fn a_source_that_was_replaced_is_a_conflict_whichever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    numbers(&path("a"), 0..10);
    numbers(&path("b"), 10..20);
    let overwrite = WriterOptions::default().with_overwrite(true);
    let mut editor = ShardEditor::open(path("a")).unwrap();
    editor.append(path("b")).unwrap();
    write(&path("b"), vec![("id", ids(70..80))], overwrite.clone());
    let mut twice = ShardEditor::open(path("a")).unwrap();
    twice.append(path("b")).unwrap();
    write(&path("b"), vec![("id", ids(80..90))], overwrite);
    twice.append(path("b")).unwrap();
    let before = names(folder.path());
    for editor in [editor, twice] {
        let error = editor.commit_to(path("m")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!(names(folder.path()), before);
    }
}

#[test]
fn rows_that_are_claimed_cost_no_memory_and_are_counted_within_64_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("most"), rows_of_nothing(u64::MAX)).unwrap();
    std::fs::write(path("few"), rows_of_nothing(3)).unwrap();
    let mut editor = ShardEditor::open(path("most")).unwrap();
    for other in ["few", "most"] {
        let error = editor.append(path(other)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }
    assert_eq!(editor.num_rows(), u64::MAX);
    let error = editor.delete_rows(&[17]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(editor.undelete(), 0);
    let error = ShardSet::open([path("most"), path("few")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

#[test]
fn a_compaction_counts_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..50);
    let before = names(folder.path());
    let done = compact(&path, CompactOptions::default()).unwrap().unwrap();
    let new = names(folder.path());
    let new = new.iter().filter(|name| !before.contains(name));
    let size = |name: &String| folder.path().join(name).metadata().unwrap().len();
    // The name of the directory file does not change.
    let written: u64 = new.map(size).sum::<u64>() + path.metadata().unwrap().len();
    assert_eq!(done.bytes(), written);
}

#[test]
fn shards_are_listed_without_parts_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("b"), vec![("id", ids(0..20))], two_level());
    numbers(&path("a"), 20..30);
    std::fs::create_dir(path("below")).unwrap();
    std::fs::write(path("notes.txt"), "of another kind").unwrap();
    std::fs::write(path(".arrow-shard.0123456789abcdef.tmp"), "Amudai").unwrap();
    let listed = list_shards(folder.path()).unwrap();
    assert_eq!(
        listed,
        ["a", "b", "notes.txt"].map(|name| Location::from(path(name)))
    );
    let table = ShardSet::open_folder(folder.path()).unwrap();
    assert_eq!(table.row_ranges(), [0..10, 10..30]);
    let error = list_shards(path("none")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn files_of_subfolders_are_listed_without_hidden_ones() {
    // The name of the folder itself begins with a dot.
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["b/2", "b/_1", "a.txt", ".c", "_d/3", "b/e/4"] {
        std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        std::fs::write(path(name), name).unwrap();
    }
    let listed = list_files(folder.path()).unwrap();
    let root = folder.path().canonicalize().unwrap();
    let want = ["a.txt", "b/2", "b/e/4"].map(|name| Location::from(root.join(name)));
    assert_eq!(listed, want);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(path("b/2"), path("link")).unwrap();
        assert_eq!(list_files(folder.path()).unwrap(), want);
    }
    let error = list_files(path("none")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[cfg(unix)]
#[test]
fn stripes_that_are_written_anew_are_as_private_as_the_shard() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..50);
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, private).unwrap();
    compact(&path, CompactOptions::default()).unwrap();
    for name in names(folder.path()) {
        let metadata = folder.path().join(&name).metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

/// A folder that counts opened files.
#[derive(Debug)]
struct Counting(Arc<dyn Container>, Arc<AtomicUsize>);

impl Container for Counting {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.open(url)
    }
}

#[test]
fn rows_of_several_shards_are_read_through_the_container_that_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("a"), folder.path().join("b")];
    numbers(&paths[0], 0..10);
    numbers(&paths[1], 10..30);
    let opened = Arc::new(AtomicUsize::new(0));
    let through = |folder: Arc<dyn Container>| {
        Arc::new(Counting(folder, opened.clone())) as Arc<dyn Container>
    };
    let table = ShardSet::open_through(&paths, through, ShardOptions::default()).unwrap();
    let rows = collect(table.scan().with_projection(["id"]).build().unwrap()).unwrap();
    assert_eq!(rows.num_rows(), 30);
    assert_eq!(opened.load(Ordering::Relaxed), 2);
}

#[test]
fn progress_is_told_of_rows_that_are_looked_at_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    numbers(&path, 0..35);
    let mut editor = ShardEditor::open(&path).unwrap();
    let (tell, heard) = mpsc::channel();
    let options = DeleteOptions::default().with_progress(move |p| {
        tell.send((p.done, p.total)).unwrap();
        ControlFlow::Continue(())
    });
    let deleted = editor.delete_with(&col("id").gt_eq(17), options);
    assert_eq!(deleted.unwrap(), 18);
    let told: Vec<(u64, u64)> = heard.iter().collect();
    assert_eq!(told.last(), Some(&(35, 35)));
    assert!(told.is_sorted() && told.len() > 1, "{told:?}");
    editor.undelete_rows(&[20, 21]).unwrap();
    editor.commit().unwrap();

    let (tell, heard) = mpsc::channel();
    let options = CompactOptions::default().with_progress(move |p| {
        tell.send((p.done, p.total)).unwrap();
        ControlFlow::Continue(())
    });
    assert!(compact(&path, options).unwrap().is_some());
    let told: Vec<(u64, u64)> = heard.iter().collect();
    assert_eq!(told.last(), Some(&(19, 19)));
    assert!(told.is_sorted() && told.iter().all(|(_, total)| *total == 19));
}

#[test]
fn rows_without_a_match_are_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("even");
    let rows = 200_000;
    let even = (0..rows).map(|i| i * 7919 % 200_003 * 2);
    let even = Arc::new(Int64Array::from_iter_values(even)) as ArrayRef;
    write(&path, vec![("id", even)], WriterOptions::default());
    // A window has 65,536 rows.
    let window = ShardOptions::default().with_fetch_bytes(1);
    let mut editor = ShardEditor::open_with(&path, window).unwrap();
    let (sender, calls) = std::sync::mpsc::channel();
    let options = DeleteOptions::default().with_progress(move |progress| {
        sender.send((progress.done, progress.total)).unwrap();
        ControlFlow::Break(())
    });
    let odd = editor.delete_with(&col("id").eq(100_001), options);
    assert_eq!(odd.unwrap_err().kind(), ErrorKind::Stopped);
    let calls: Vec<_> = calls.iter().collect();
    let [(done, total)] = calls[..] else {
        panic!("{calls:?}");
    };
    assert!(done < total && total == 200_000, "{calls:?}");
}

#[test]
fn who_is_told_of_progress_may_end_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, vec![("id", ids(0..30))], two_level());
    let (files, bytes) = (names(folder.path()), std::fs::read(&path).unwrap());
    let mut editor = ShardEditor::open(&path).unwrap();
    let options = DeleteOptions::default().with_progress(|_| ControlFlow::Break(()));
    let error = editor.delete_with(&col("id").gt(0), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    assert!(!editor.has_changes());
    let options = MergeOptions::default().with_progress(|_| ControlFlow::Break(()));
    let error = merge_with([&path], folder.path().join("m"), options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    assert_eq!(names(folder.path()), files);
    let options = CompactOptions::default().with_progress(|_| ControlFlow::Break(()));
    let error = compact(&path, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    assert_eq!(names(folder.path()), files);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    // No directory refers to the stripes anymore.
    std::fs::remove_file(&path).unwrap();
    numbers(&path, 0..3);
    let error = vacuum(
        folder.path(),
        at_once().with_progress(|_| ControlFlow::Break(())),
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(names(folder.path()), files);
}
