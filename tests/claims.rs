//! Shards of a few bytes that claim very many rows, as equal values or in huge blocks. Every operation on such a shard
//! takes memory and time in proportion to its bytes and to the requested rows, or fails with an error that names a
//! limit.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]
#![expect(clippy::panic, reason = "reports what went wrong with many files")]

#[path = "support/claims.rs"]
mod claims;
#[path = "support/descriptors.rs"]
mod descriptors;
mod support;

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::encoding::bytes::{Input, Plan as BytesPlan, encode};
use arrow_shard::encoding::{NumberKind, number};
use arrow_shard::io::NoContainer;
use arrow_shard::ops::{CompactOptions, ShardEditor, merge, plan_compaction};
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{Predicate, ShardOptions, VerifyReport, col};
use arrow_shard::write::WriterOptions;
use arrow_shard::{Error, ErrorKind, Limits, Result, Shard};
use bytes::Bytes;
use claims::{all_absent, claiming, put_blocks};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::allocations::{self, Counting};
use support::{collect, written_bytes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MEMORY: usize = 64 << 20;
const MEMORY_PER_BYTE: usize = 64;
/// Far more time than any step takes, even without optimization.
const TIME: Duration = Duration::from_secs(20);
/// Rows of the written shards, before they are forged.
const ROWS: usize = 100;

/// Runs a step within the bounds; `bytes` is the size of the shard.
#[track_caller]
fn bounded<T>(what: &str, bytes: usize, step: impl FnOnce() -> T) -> T {
    allocations::start();
    let begin = Instant::now();
    let done = allocations::caught(step).unwrap_or_else(|panic| panic!("{what}: {panic}"));
    let (peak, time) = (allocations::peak(), begin.elapsed());
    let most = MEMORY + MEMORY_PER_BYTE * bytes;
    assert!(peak <= most, "{what} took {peak} bytes of memory of {most}");
    assert!(time <= TIME, "{what} took {time:?}");
    done
}

/// Returns the value, or `None` for an error that names a limit; panics for other errors.
#[track_caller]
fn allowed<T>(what: &str, result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(e)
            if e.kind() == ErrorKind::LimitExceeded && e.to_string().contains("Limits::max_") =>
        {
            None
        }
        Err(e) => panic!("{what}: {e}"),
    }
}

/// Returns columns of every kind with equal values in all rows.
fn alike() -> RecordBatch {
    let number: ArrayRef = Arc::new(Int64Array::from(vec![7; ROWS]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["no such luck"; ROWS]));
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true; ROWS]));
    let member = Arc::new(Field::new("m", DataType::Int64, false));
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let sized = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int32, true)), 1);
    RecordBatch::try_from_iter_with_nullable([
        ("a", number.clone(), false),
        ("b", number.clone(), false),
        ("t", text, false),
        ("f", flag, false),
        (
            "s",
            Arc::new(StructArray::from(vec![(member, number)])) as ArrayRef,
            false,
        ),
        ("n", new_null_array(&DataType::Int32, ROWS), true),
        ("l", new_null_array(&list, ROWS), true),
        ("z", new_null_array(&sized, ROWS), true),
    ])
    .unwrap()
}

/// Runs all operations on a shard, and checks that each is within bounds.
fn everything(name: &str, file: &[u8], deleted: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.amudai.shard");
    std::fs::write(&path, file).unwrap();
    let size = file.len();
    let step = |what: &str| format!("{name}: {what}");
    let shard = bounded(&step("open"), size, || Shard::open(&path)).unwrap();
    let rows = shard.num_rows() + shard.num_deleted_rows();
    let columns: Vec<String> = {
        let schema = shard.schema().unwrap();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    };
    for (what, one) in [("first row", 0), ("last row", rows - 1)] {
        let read = bounded(&step(what), size, || {
            let scan = shard.scan().with_deleted_rows(true);
            Ok::<_, Error>(collect(scan.with_row_range(one..one + 1).build()?)?)
        });
        assert_eq!(read.unwrap().num_rows(), 1);
    }
    if deleted == 0 {
        bounded(&step("take"), size, || {
            shard.scan().take(&[0, rows / 2, rows - 1])
        })
        .unwrap();
    }
    let filters = [
        ("a", "a = 8"),
        ("a", "a > 7 AND a < 7"),
        ("t", "t LIKE '%zzz%'"),
        ("t", "t = 'other'"),
        ("b", "a <> b"),
        ("s", "s.m IS NULL"),
    ];
    let is_there = |name: &str| columns.iter().any(|column| column == name);
    for (_, text) in filters.iter().filter(|(column, _)| is_there(column)) {
        let filter: Predicate = text.parse().unwrap();
        let found = bounded(&step(&format!("filter {filter}")), size, || {
            let scan = shard
                .scan()
                .with_deleted_rows(true)
                .with_filter(filter.clone());
            Ok::<_, Error>(collect(scan.build()?)?.num_rows())
        });
        assert_eq!(found.unwrap(), 0, "{name}: {filter}");
    }
    let report: VerifyReport = bounded(&step("verify"), size, || shard.verify()).unwrap();
    assert!(report.is_sound(), "{name}: {:?}", report.problems());
    bounded(&step("inspect"), size, || {
        shard.inspect(InspectOptions::default())
    })
    .unwrap();
    bounded(&step("statistics"), size, || {
        shard.statistics(arrow_shard::Projection::All)
    })
    .unwrap();
    let edit = |what: &str, change: &dyn Fn(&mut ShardEditor) -> Result<u64>| {
        let target = folder
            .path()
            .join(format!("{}.amudai.shard", what.replace(' ', "-")));
        let what = step(what);
        let edited = bounded(&what, size, || {
            let mut editor = ShardEditor::open(&path)?;
            let changed = change(&mut editor)?;
            editor.commit_to(&target)?;
            Ok(changed)
        });
        let changed = allowed(&what, edited)?;
        let edited = Shard::open(&target).unwrap();
        assert_eq!(
            edited.num_rows() + edited.num_deleted_rows(),
            rows,
            "{what}"
        );
        let report = bounded(&format!("{what}, then verify"), size, || edited.verify());
        let report = report.unwrap();
        assert!(report.is_sound(), "{what}: {:?}", report.problems());
        Some((changed, edited.num_deleted_rows()))
    };
    let some = [0, rows / 2, rows - 1];
    let expected = if deleted == 0 { (3, 3) } else { (0, rows) };
    let result = edit("delete rows", &|editor| editor.delete_rows(&some));
    assert!(
        result.is_none_or(|found| found == expected),
        "{name}: {result:?}"
    );
    let expected = if deleted == 0 { (0, 0) } else { (3, rows - 3) };
    let result = edit("undelete rows", &|editor| editor.undelete_rows(&some));
    assert!(
        result.is_none_or(|found| found == expected),
        "{name}: {result:?}"
    );
    let changed = if deleted == 0 { rows } else { 0 };
    let result = edit("delete all", &|editor| {
        editor.delete(&col(columns[0].as_str()).is_not_null())
    });
    assert!(
        result.is_none_or(|found| found == (changed, rows)),
        "{name}: {result:?}"
    );
    let result = edit("undelete all", &|editor| Ok(editor.undelete()));
    assert_eq!(result, Some((deleted, 0)), "{name}");
    let one = columns[0].as_str();
    edit("select", &|editor| editor.select_columns([one]).map(|()| 0)).unwrap();
    bounded(&step("plan compaction"), size, || {
        plan_compaction(&path, CompactOptions::default())
    })
    .unwrap();
    if let Some(twice) = rows.checked_mul(2) {
        let target = folder.path().join("merged.amudai.shard");
        let merged = bounded(&step("merge"), size, || merge([&path, &path], &target)).unwrap();
        assert_eq!(merged.num_rows() + merged.num_deleted_rows(), twice);
    }
}

#[test]
fn rows_that_are_alike_cost_nothing() {
    let file = written_bytes(&[alike()], WriterOptions::default());
    for (rows, stripes) in [(31, 1), (31, 64), (33, 1), (37, 3), (50, 1), (62, 1)] {
        let forged = claiming(&file, 1 << rows, stripes, 0, |_, _, _| ());
        everything(&format!("2^{rows} x {stripes}"), &forged, 0);
    }
}

#[test]
fn rows_that_are_all_deleted_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| folder.path().join(format!("{name}.amudai.shard")));
    // Nulls take no bytes, except that the items of lists have buffers even without any item.
    let alike = alike();
    let nulls = ["n", "z"].map(|name| alike.schema().index_of(name).unwrap());
    let batch = alike.project(&nulls).unwrap();
    std::fs::write(&from, written_bytes(&[batch], WriterOptions::default())).unwrap();
    let mut editor = ShardEditor::open(&from).unwrap();
    assert_eq!(editor.delete(&col("n").is_null()).unwrap(), ROWS as u64);
    editor.commit_to(&to).unwrap();
    // The deletes are a constant, and the values take no bytes either, so no other files are written.
    let files = std::fs::read_dir(folder.path()).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let file = std::fs::read(&to).unwrap();
    for rows in [31, 33, 50, 62] {
        let forged = claiming(&file, 1 << rows, 1, 1 << rows, |_, _, _| ());
        everything(&format!("2^{rows}, all deleted"), &forged, 1 << rows);
    }
    // The count is compared with the constant, for any number of rows.
    for rows in [ROWS as u64, 1 << 40, 1 << 62] {
        let forged = claiming(&file, rows, 1, 5, |_, _, _| ());
        let shard = Shard::from_bytes(forged.into()).unwrap();
        let report = shard.verify().unwrap();
        let words = format!("5 rows are said to be deleted, and {rows} are");
        let is_told = report.problems().iter().any(|p| p.message.contains(&words));
        assert!(is_told, "{rows}: {:?}", report.problems());
    }
}

/// Returns a shard of one column `a` of numbers, or `t` of texts, in `count` blocks of `values` values.
fn blocks(text: bool, count: usize, values: usize, block: &[u8]) -> Vec<u8> {
    let column: ArrayRef = match text {
        true => Arc::new(StringArray::from(vec!["x"; ROWS])),
        false => Arc::new(Int64Array::from(vec![7; ROWS])),
    };
    let name = if text { "t" } else { "a" };
    let batch = RecordBatch::try_from_iter([(name, column)]).unwrap();
    let file = written_bytes(&[batch], WriterOptions::default());
    let rows = (count * values) as u64;
    claiming(&file, rows, 1, 0, |_, described, file| {
        described.field.range_stats = None;
        put_blocks(described, file, count, values, block);
    })
}

/// Returns a block of numbers that are all 7, in an encoding.
fn sevens(values: usize, plan: &number::Plan) -> Vec<u8> {
    let mut block = Vec::new();
    number::encode(&vec![7u64; values], NumberKind::Signed, plan, &mut block).unwrap();
    block
}

#[test]
fn large_blocks_cost_what_is_asked_for() {
    let values = 1 << 20;
    let single = || Box::new(number::Plan::SingleValue);
    let runs = number::Plan::RunLength {
        values: Some(single()),
        lengths: Some(single()),
    };
    let delta = number::Plan::Delta {
        differences: single(),
    };
    for (name, plan) in [
        ("one value", *single()),
        ("runs", runs),
        ("differences", delta),
    ] {
        let block = sevens(values, &plan);
        assert!(block.len() < 100, "{name}: {} bytes", block.len());
        everything(name, &blocks(false, 1, values, &block), 0);
        everything(
            &format!("{name}, often"),
            &blocks(false, 30, values, &block),
            0,
        );
    }
    let texts = |length: usize, values: usize| {
        let text = "no such luck".repeat(length / 12 + 1);
        let mut block = Vec::new();
        let offsets = [0, length as u64];
        let input = Input::variable(&offsets, &text.as_bytes()[..length], None);
        encode(&input, &BytesPlan::SingleValue, &mut block).unwrap();
        blocks(true, 1, values, &block)
    };
    everything("texts", &texts(30, values), 0);
    // With long values, only the requested rows are read.
    for values in [40_000, values] {
        let file = texts(60_000, values);
        let shard = Shard::from_bytes(file.clone().into()).unwrap();
        let read = bounded("a long text", file.len(), || {
            collect(shard.scan().with_limit(1).build()?)
        });
        assert_eq!(read.unwrap().num_rows(), 1);
        let taken = bounded("long texts", file.len(), || shard.scan().take(&[7, 3, 7]));
        assert_eq!(taken.unwrap().num_rows(), 3);
    }
    let file = texts(60_000, values);
    let shard = Shard::from_bytes(file.clone().into()).unwrap();
    let report = bounded("verify long texts", file.len(), || shard.verify());
    assert_eq!(report.unwrap().problems(), []);
    // A filter tests one value of each block.
    let name = shard.schema().unwrap().field(0).name().clone();
    for (filter, rows) in [
        (format!("\"{name}\" = 'zzz'"), 0),
        (format!("\"{name}\" LIKE '%zzz%'"), 0),
        (format!("\"{name}\" LIKE 'no such%'"), 1),
    ] {
        let filter = shard.parse_predicate(&filter).unwrap();
        let read = bounded("filter long texts", file.len(), || {
            collect(shard.scan().with_filter(filter).with_limit(1).build()?)
        });
        assert_eq!(read.unwrap().num_rows(), rows);
    }
    // More values are an error that names the limit.
    let block = sevens(1, &single());
    let shard = Shard::from_bytes(blocks(false, 1, 1 << 26, &block).into()).unwrap();
    let error = collect(shard.scan().with_limit(1).build().unwrap()).unwrap_err();
    let error = support::inner(&error);
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(
        error.to_string().contains("Limits::max_block_values"),
        "{error}"
    );
}

#[test]
fn null_lists_of_a_fixed_size_are_bounded_by_a_limit() {
    let rows = 50;
    for (size, fits) in [(1 << 10, rows), (1 << 24, 2), (1 << 28, 0), (1 << 30, 0)] {
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let lists = Field::new("z", DataType::FixedSizeList(item, size), true);
        let schema = Arc::new(Schema::new(vec![lists]));
        let file = written_bytes(&[RecordBatch::new_empty(schema)], WriterOptions::default());
        let file = Bytes::from(all_absent(&file, 2, rows));
        let read = |limit: u64, limits: Limits| {
            let options = ShardOptions::default().with_limits(limits);
            let shard = Shard::from_reader(Arc::new(file.clone()), Arc::new(NoContainer), options);
            let shard = shard.unwrap();
            collect(shard.scan().with_limit(limit).build().unwrap())
        };
        for limit in [1, 2, rows] {
            let limits = Limits::default();
            let bytes = usize::try_from(limits.max_absent_bytes()).unwrap();
            allocations::start();
            let found = read(limit, limits);
            let peak = allocations::peak();
            assert!(
                peak <= bytes + bytes / 4 + MEMORY,
                "{limit} rows of {size} items took {peak} bytes"
            );
            match found {
                Ok(batch) => assert_eq!((batch.num_rows() as u64, true), (limit, limit <= fits)),
                Err(e) => {
                    let e = support::inner(&e);
                    assert_eq!(e.kind(), ErrorKind::LimitExceeded, "{e}");
                    let text = e.to_string();
                    assert!(text.contains("Limits::max_absent_bytes"), "{text}");
                    assert!(
                        text.contains("raise the limit") && limit > fits,
                        "{size}, {limit}: {text}"
                    );
                }
            }
        }
        // A caller with a higher limit can read them.
        if size == 1 << 24 {
            let limits = Limits::default().with_max_absent_bytes(1 << 29);
            assert_eq!(read(3, limits).unwrap().num_rows(), 3);
        }
    }
}
