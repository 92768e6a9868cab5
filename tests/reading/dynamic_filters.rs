//! Predicates that become narrower while a scan runs, and columns that are selected by ordinal.
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

use crate::support;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_shard::read::{DynamicPredicate, Predicate, ScanBuilder, col, col_at};
use arrow_shard::write::{Profile, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const ROWS: i64 = 400_000;
const STRIPE_ROWS: u64 = 200_000;

/// A predicate for rows with a key below a bound, which the test lowers.
#[derive(Debug)]
struct Below {
    bound: AtomicI64,
    asked: AtomicU64,
}

impl Below {
    fn new(bound: i64) -> Arc<Self> {
        Arc::new(Self {
            bound: bound.into(),
            asked: 0.into(),
        })
    }

    fn lower(&self, bound: i64) {
        self.bound.fetch_min(bound, Ordering::Relaxed);
    }
}

impl DynamicPredicate for Below {
    fn version(&self) -> u64 {
        self.bound.load(Ordering::Relaxed).cast_unsigned()
    }

    fn predicate(&self) -> Option<Predicate> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let bound = self.bound.load(Ordering::Relaxed);
        (bound != i64::MAX).then(|| col("key").lt(bound))
    }
}

/// Returns ascending keys, and others in no order.
fn keys() -> RecordBatch {
    let mixed = |i: i64| i.wrapping_mul(7919) % ROWS;
    let columns: [(&str, ArrayRef); 2] = [
        ("key", Arc::new(Int64Array::from_iter_values(0..ROWS))),
        (
            "mixed",
            Arc::new((0..ROWS).map(mixed).collect::<Int64Array>()),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn shard() -> Shard {
    let options = WriterOptions::default().with_stripe_rows(STRIPE_ROWS);
    Shard::from_bytes(support::written_bytes(&[keys()], options)).unwrap()
}

/// Returns the sum and the number of all keys in a scan.
fn keys_of(scan: ScanBuilder) -> (i64, usize) {
    let batch = support::collect(scan.build().unwrap()).unwrap();
    let keys = batch["key"].as_primitive::<Int64Type>();
    (keys.values().iter().sum(), keys.len())
}

#[test]
fn a_scan_leaves_out_what_is_not_wanted_any_more() {
    let shard = shard();
    let below = Below::new(i64::MAX);
    let scan = shard.scan().with_dynamic_filter(below.clone());
    let mut reader = scan.build().unwrap();
    let mut rows = reader.next().unwrap().unwrap().num_rows();
    // With the lower bound, neither the rest of the stripe nor the next one is read.
    below.lower(10_000);
    let mut last = 0;
    for batch in reader.by_ref() {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        last = *batch["key"]
            .as_primitive::<Int64Type>()
            .values()
            .last()
            .unwrap();
    }
    assert!((10_000..=65_536).contains(&rows), "{rows} rows");
    assert!(last < 65_536, "{last}");
    let metrics = reader.metrics().unwrap();
    assert_eq!((metrics.rows, metrics.stripes), (400_000, 2));
    assert_eq!(metrics.rows_matched, rows as u64);
    let skipped = metrics.skipped_by_statistics;
    assert_eq!((skipped.rows, skipped.stripes), (200_000, 1));
}

#[test]
fn rows_that_every_version_matches_are_given_once() {
    let shard = shard();
    for threads in [1, 3] {
        for batch_size in [1000, 8192, 100_000] {
            let below = Below::new(ROWS);
            let scan = shard.scan().with_dynamic_filter(below.clone());
            let scan = scan
                .with_filter(col("mixed").gt_eq(0))
                .with_threads(threads);
            let reader = scan.with_batch_size(batch_size).build().unwrap();
            let mut keys = Vec::new();
            for (i, batch) in reader.enumerate() {
                below.lower(ROWS - 1000 * i64::try_from(i).unwrap().min(50));
                keys.extend_from_slice(batch.unwrap()["key"].as_primitive::<Int64Type>().values());
            }
            assert!(keys.is_sorted_by(|a, b| a < b), "in order, and each once");
            let wanted = usize::try_from(ROWS - 50_000).unwrap();
            assert!(keys.iter().take(wanted).copied().eq(0..ROWS - 50_000));
        }
    }
}

#[test]
fn it_is_asked_only_when_it_has_changed() {
    let shard = shard();
    let below = Below::new(i64::MAX);
    let scan = shard.scan().with_dynamic_filter(below.clone());
    assert_eq!(keys_of(scan).1, 400_000);
    assert_eq!(below.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn it_narrows_a_filter_a_limit_and_parts_of_a_scan() {
    let shard = shard();
    let scan = || shard.scan().with_dynamic_filter(Below::new(1000));
    assert_eq!(keys_of(scan()), ((0..1000).sum(), 1000));
    assert_eq!(
        keys_of(scan().with_filter(col("key").gt_eq(900))).1,
        100,
        "both are met"
    );
    assert_eq!(keys_of(scan().with_offset(10).with_limit(5)), (60, 5));
    let parts = scan().split(3).unwrap();
    let rows: usize = parts.into_iter().map(|part| keys_of(part).1).sum();
    assert_eq!(rows, 1000);
    let error = scan().take(&[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let limited = scan().with_limit(1).split(2).unwrap_err();
    assert_eq!(limited.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn deleted_rows_stay_hidden_when_the_predicate_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.amudai.shard");
    let options = WriterOptions::default()
        .with_stripe_rows(STRIPE_ROWS)
        .with_profile(Profile::Plain);
    std::fs::write(&path, support::written_bytes(&[keys()], options)).unwrap();
    let mut editor = arrow_shard::ops::ShardEditor::open(&path).unwrap();
    editor.delete(&col("key").lt(300_000)).unwrap();
    editor.commit().unwrap();
    let shard = Shard::open(&path).unwrap();
    let below = Below::new(i64::MAX);
    let reader = shard.scan().with_dynamic_filter(below.clone()).build();
    let mut keys = Vec::new();
    for batch in reader.unwrap() {
        keys.extend_from_slice(batch.unwrap()["key"].as_primitive::<Int64Type>().values());
        below.lower(399_999 - i64::try_from(keys.len()).unwrap() / 1000);
    }
    assert_eq!(keys[0], 300_000);
    assert!(keys.is_sorted_by(|a, b| a < b));
}

#[test]
fn columns_are_found_by_ordinals_whatever_their_names() {
    let inner = StructArray::from(vec![
        (
            Arc::new(Field::new("x.y", DataType::Int64, true)),
            Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("x", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["a", "b", "c"])),
        ),
    ]);
    let fields = vec![
        Field::new("s", arrow_array::Array::data_type(&inner).clone(), true),
        Field::new("same", DataType::Int64, true),
        Field::new("same", DataType::Int64, true),
        Field::new("s.x", DataType::Int64, true),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(inner),
        Arc::new(Int64Array::from(vec![10, 20, 30])),
        Arc::new(Int64Array::from(vec![30, 20, 10])),
        Arc::new(Int64Array::from(vec![7, 8, 9])),
    ];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let bytes = support::written_bytes(&[batch], WriterOptions::default());
    let shard = Shard::from_bytes(bytes).unwrap();
    let rows = |filter: Predicate| {
        let scan = shard.scan().with_projection([1]).with_filter(filter);
        let batch = support::collect(scan.build().unwrap()).unwrap();
        batch
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    };
    assert_eq!(rows(col_at([0, 0]).gt(1)), [20, 30]);
    assert_eq!(rows(col_at([0, 1]).eq("b")), [20]);
    assert_eq!(rows(col_at([1]).gt(10) & col_at([2]).gt(10)), [20]);
    assert_eq!(rows(col_at([3]).eq(9)), [30]);
    assert_eq!(rows(col_at([0]).is_null()), [] as [i64; 0]);
    let sums = Predicate::from_fn([col_at([1]), col_at([0, 0])], |batch| {
        assert_eq!(batch.schema().field(1).name(), "#0.0");
        let [a, b] = [0, 1].map(|i| batch.column(i).as_primitive::<Int64Type>().values().clone());
        let sums = a.iter().zip(b.iter()).map(|(a, b)| Some(a + b > 11));
        Ok(sums.collect::<BooleanArray>())
    });
    assert_eq!(rows(sums), [20, 30]);
    for (wrong, message) in [
        (col_at([4]).eq(1), "there is no column 4; the shard has 4"),
        (col_at([1, 0]).eq(1), "`same` of type Int64 has no member 0"),
        (col_at([0, 2]).eq(1), "has no member 2"),
        (col_at([]).eq(1), "`#` is not one column"),
    ] {
        let error = shard.scan().with_filter(wrong).build().unwrap_err();
        assert!(format!("{error:#}").contains(message), "{error:#}");
    }
}
