//! Several threads produce the same batches, errors and bytes as one.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "small numbers"
)]

use crate::crafted::rows_of_nothing;
use crate::support::inner;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    LargeStringArray, ListArray, RecordBatch, StringArray,
};
use arrow_schema::ArrowError;
use arrow_shard::io::Sink;
use arrow_shard::read::{Predicate, ScanBuilder, VerifyOptions};
use arrow_shard::write::{Profile, ShardWriter, WriterOptions};
use arrow_shard::{Error, ErrorKind, Shard};
use bytes::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const ROWS: usize = 300_000;

fn batch() -> RecordBatch {
    let valid = |i: usize| !i.is_multiple_of(7);
    let ids: Int64Array = (0..ROWS as i64).map(Some).collect();
    let texts: StringArray = (0..ROWS)
        .map(|i| valid(i).then(|| format!("{}", i * 7919 % 10_007)))
        .collect();
    let long: LargeStringArray = (0..ROWS)
        .map(|i| Some(format!("row {i} of many")))
        .collect();
    let doubles: Float64Array = (0..ROWS)
        .map(|i| valid(i + 1).then_some(i as f64 / 8.0))
        .collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..ROWS)
            .map(|i| valid(i).then(move || (0..i % 4).map(move |n| Some((i * n % 1000) as i32)))),
    );
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(ids)),
        ("text", Arc::new(texts)),
        ("long", Arc::new(long)),
        ("double", Arc::new(doubles)),
        ("list", Arc::new(lists)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(batch: &RecordBatch, options: WriterOptions) -> Vec<u8> {
    let mut file = Vec::new();
    let options = options.with_creation_time(Some(1));
    let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
    let rows = batch.num_rows();
    for start in (0..rows).step_by(9_001) {
        writer
            .write(&batch.slice(start, 9_001.min(rows - start)))
            .unwrap();
    }
    writer.finish().unwrap();
    file
}

fn two_stripes() -> WriterOptions {
    WriterOptions::default().with_stripe_rows(150_001)
}

fn shard() -> Shard {
    Shard::from_bytes(written(&batch(), two_stripes()).into()).unwrap()
}

#[test]
fn a_writer_with_threads_gives_the_same_bytes() {
    let batch = batch();
    let options = WriterOptions::default();
    for (cut, rows) in [
        (two_stripes(), ROWS),
        (options.clone().with_stripe_rows(1_000), 20_000),
        (options.clone().with_stripe_bytes(3_000_000), ROWS),
        (options.clone().with_memory_limit(3_000_000), ROWS),
        (options, 0),
    ] {
        let rows = batch.slice(0, rows);
        for profile in [
            Profile::Plain,
            Profile::Balanced,
            #[cfg(feature = "zstd")]
            Profile::HighCompression,
        ] {
            let options = cut.clone().with_profile(profile);
            let alone = written(&rows, options.clone());
            for threads in [2, 4] {
                assert!(
                    alone == written(&rows, options.clone().with_threads(threads)),
                    "{threads} threads, {options:?}"
                );
            }
        }
    }
}

#[test]
fn a_memory_limit_ends_stripes_of_a_writer_with_threads() {
    let batch = batch();
    let options = WriterOptions::default().with_memory_limit(3_000_000);
    let file = written(&batch, options.with_threads(2));
    let stripes = Shard::from_bytes(file.into()).unwrap().num_stripes();
    assert!((3..100).contains(&stripes), "{stripes}");
}

#[test]
fn keys_that_overflow_end_stripes_of_a_writer_with_threads() {
    // Three batches have too many entries for keys of 8 bits.
    let words = |part: usize| (0..60).map(move |i| format!("word {}", part * 60 + i));
    let keys = Int8Array::from_iter_values((0..6_000).map(|i| (i % 60) as i8));
    let batches: Vec<RecordBatch> = (0..7)
        .map(|part| {
            let words = StringArray::from_iter_values(words(part));
            let column = DictionaryArray::new(keys.clone(), Arc::new(words));
            RecordBatch::try_from_iter([("word", Arc::new(column) as ArrayRef)]).unwrap()
        })
        .collect();
    let write = |threads: usize| {
        let mut file = Vec::new();
        let options = WriterOptions::default().with_creation_time(Some(1));
        let options = options.with_threads(threads);
        let mut writer = ShardWriter::try_new(&mut file, batches[0].schema(), options).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        assert_eq!(writer.finish().unwrap().num_stripes(), 4);
        file
    };
    assert!(write(1) == write(3));
}

#[test]
fn entries_of_dictionaries_that_wait_count_as_memory() {
    // Few rows in each batch, with 1 MB of new entries.
    let batch = |part: usize| {
        let words = StringArray::from_iter_values((0..1000).map(|i| format!("{:01000}", part + i)));
        let keys = Int32Array::from_iter_values(0..10);
        let column = DictionaryArray::new(keys, Arc::new(words));
        RecordBatch::try_from_iter([("word", Arc::new(column) as ArrayRef)]).unwrap()
    };
    for threads in [1, 2] {
        let options = WriterOptions::default().with_memory_limit(10 << 20);
        let options = options.with_threads(threads);
        let mut file = Vec::new();
        let mut writer = ShardWriter::try_new(&mut file, batch(0).schema(), options).unwrap();
        for part in 0..5 {
            writer.write(&batch(part)).unwrap();
        }
        assert!(writer.memory_size() > 5_000_000, "{}", writer.memory_size());
        for part in 5..50 {
            writer.write(&batch(part)).unwrap();
        }
        let stripes = writer.finish().unwrap().num_stripes();
        assert!((4..10).contains(&stripes), "{stripes}");
    }
}

#[test]
fn a_flushed_stripe_has_been_written() {
    for threads in [1, 3] {
        let batch = batch().slice(0, 70_000);
        let options = WriterOptions::default().with_threads(threads);
        let mut writer = ShardWriter::try_new(Vec::new(), batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        assert_eq!(
            (writer.in_progress_rows(), writer.bytes_written()),
            (70_000, 0)
        );
        writer.flush_stripe().unwrap();
        assert_eq!(writer.in_progress_rows(), 0);
        assert!(writer.bytes_written() > 70_000);
        assert_eq!(writer.finish().unwrap().num_stripes(), 1);
    }
}

/// A sink that fails or panics after a number of bytes.
struct Full {
    panics: bool,
    room: usize,
}

impl Sink for Full {
    fn write_all(&mut self, bytes: &[u8]) -> arrow_shard::Result<()> {
        if bytes.len() <= self.room {
            self.room -= bytes.len();
            return Ok(());
        }
        assert!(!self.panics, "on purpose");
        Err(Error::new(ErrorKind::Io, "no room"))
    }

    fn commit(&mut self) -> arrow_shard::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_whose_sink_has_failed_finishes_nothing() {
    let batch = batch();
    for (threads, panics) in [(1, false), (1, true), (3, false), (3, true)] {
        let room = 100_000;
        let options = two_stripes().with_threads(threads);
        let sink = Full { panics, room };
        let mut writer = ShardWriter::try_new(sink, batch.schema(), options).unwrap();
        let written = catch_unwind(AssertUnwindSafe(|| {
            writer.write(&batch)?;
            writer.flush_stripe()
        }));
        match written {
            Ok(written) => assert_eq!(written.unwrap_err().kind(), ErrorKind::Io),
            Err(panic) => assert_eq!(panic.downcast_ref(), Some(&"on purpose")),
        }
        let error = writer.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Poisoned, "{threads} {panics}");
    }
}

#[test]
fn a_scan_with_threads_gives_the_same_batches() {
    let shard = shard();
    for (batch_size, rows) in [
        (8192, 0..ROWS as u64),
        (5000, 0..ROWS as u64),
        (100_000, 17..ROWS as u64 - 5),
        (1 << 20, 0..ROWS as u64),
        (333, 65_000..66_500),
        (10, 7..7),
    ] {
        let scan = shard
            .scan()
            .with_batch_size(batch_size)
            .with_row_range(rows);
        let scan = scan.with_row_number("row");
        let alone: Vec<RecordBatch> = scan.clone().build().unwrap().map(Result::unwrap).collect();
        let mut reader = scan.with_threads(3).build().unwrap();
        let expected: usize = alone.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(reader.remaining_rows(), expected as u64);
        for (i, batch) in alone.iter().enumerate() {
            assert_eq!(
                &reader.next().unwrap().unwrap(),
                batch,
                "batch {i} of {batch_size}"
            );
        }
        assert!(reader.next().is_none());
        assert_eq!(reader.remaining_rows(), 0);
    }
}

#[test]
fn a_scan_on_the_only_thread_of_a_pool_does_not_wait_for_itself() {
    let shard = shard();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let rows = pool.install(|| {
        let scan = shard.scan().with_threads(4).build().unwrap();
        scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    });
    assert_eq!(rows, ROWS);
}

#[test]
fn more_threads_than_there_are_read_all_rows() {
    let scan = shard().scan().with_projection(["id"]);
    for threads in [usize::MAX, 1 << 63] {
        let reader = scan.clone().with_threads(threads).build().unwrap();
        let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, ROWS);
    }
}

#[test]
fn a_writer_behind_a_lock_lets_no_other_task_want_the_lock_meanwhile() {
    let batch = batch().slice(0, 1000);
    let options = WriterOptions::default().with_threads(2);
    let writer = ShardWriter::try_new(Vec::new(), batch.schema(), options).unwrap();
    let writer = Mutex::new(writer);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    // The only thread of the pool gets the lock, unless it runs the next task while it writes.
    let write = || match writer.try_lock() {
        Ok(mut writer) => {
            writer.write(&batch).unwrap();
            writer.flush_stripe().unwrap();
            1
        }
        Err(_) => 0,
    };
    let written: usize = pool.install(|| {
        let written = AtomicUsize::new(0);
        rayon::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|_| {
                    written.fetch_add(write(), Ordering::Relaxed);
                });
            }
        });
        written.into_inner()
    });
    assert_eq!(written, 20);
    assert_eq!(
        writer.into_inner().unwrap().finish().unwrap().num_rows(),
        20_000
    );
}

#[test]
fn a_damaged_block_is_met_at_the_same_row() {
    let mut file = written(&batch(), two_stripes());
    let at = file.len() / 2;
    file[at] ^= 1;
    let shard = Shard::from_bytes(Bytes::from(file)).unwrap();
    let read = |threads| -> (usize, ArrowError) {
        let mut rows = 0;
        for batch in shard.scan().with_threads(threads).build().unwrap() {
            match batch {
                Ok(batch) => rows += batch.num_rows(),
                Err(e) => return (rows, e),
            }
        }
        panic!("damage was not found")
    };
    let (rows, error) = read(1);
    let (same_rows, same_error) = read(2);
    assert_eq!(
        (rows, error.to_string()),
        (same_rows, same_error.to_string())
    );
    assert!(rows > 0 && rows < ROWS);
}

#[test]
fn parts_of_a_scan_are_all_of_it() {
    let shard = shard();
    for parts in [1, 2, 3, 7, 1000] {
        let scan = shard.scan().with_offset(1234).with_limit(200_000);
        let split = scan.split(parts).unwrap();
        assert!(split.len() <= parts);
        let mut next = 1234;
        for part in split {
            for batch in part.with_row_number("row").build().unwrap() {
                let batch = batch.unwrap();
                let row = batch.column(5).as_any();
                let row = row.downcast_ref::<arrow_array::UInt64Array>().unwrap();
                assert_eq!(row.value(0), next);
                next += batch.num_rows() as u64;
            }
        }
        assert_eq!(next, 201_234);
    }
    assert!(shard.scan().with_limit(0).split(4).unwrap().is_empty());
}

#[test]
fn no_thread_at_all_is_an_error() {
    let options = WriterOptions::default().with_threads(0);
    let error = ShardWriter::try_new(Vec::new(), batch().schema(), options)
        .err()
        .unwrap();
    assert!(error.to_string().contains("threads is 0"), "{error}");
    let shard = shard();
    let scan = || shard.scan().with_threads(0);
    let verified = shard.verify_with(VerifyOptions::default().with_threads(0));
    let errors = [
        scan().build().err().unwrap(),
        scan().take(&[0]).err().unwrap(),
        verified.err().unwrap(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("threads is 0"), "{error}");
    }
}

#[test]
fn a_panic_in_a_predicate_reaches_the_caller() {
    let shard = shard();
    for threads in [1, 2] {
        let odd = Predicate::from_fn(["id"], |batch| {
            assert!(batch.num_rows() == 0, "on purpose");
            Ok(BooleanArray::from(Vec::<bool>::new()))
        });
        let scan = shard.scan().with_filter(odd).with_threads(threads);
        let read = || scan.build().unwrap().count();
        let panic = catch_unwind(AssertUnwindSafe(read)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"), "{threads}");
    }
    // The pool still works.
    let rows = shard.scan().with_threads(2).build().unwrap();
    assert_eq!(rows.map(|b| b.unwrap().num_rows()).sum::<usize>(), ROWS);
}

#[test]
fn rows_that_cost_no_bytes_are_not_listed() {
    for total in [1 << 60, u64::MAX] {
        let shard = Shard::from_bytes(rows_of_nothing(total).into()).unwrap();
        assert_eq!(shard.num_rows(), total);
        let scan = shard.scan().with_row_number("row");
        let mut reader = scan.clone().with_threads(2).build().unwrap();
        for i in 0..100 {
            let batch = reader.next().unwrap().unwrap();
            let numbers = batch.column(0).as_primitive::<UInt64Type>();
            assert_eq!((numbers.value(0), numbers.len()), (i * 8192, 8192));
        }
        drop(reader);
        let parts = scan.split(4).unwrap();
        assert_eq!(parts.len(), 4);
        let left = |part: ScanBuilder| part.build().unwrap().remaining_rows();
        let left: Vec<u64> = parts.into_iter().map(left).collect();
        assert_eq!(left.iter().sum::<u64>(), total);
        assert!(left.iter().all(|&rows| rows.abs_diff(total / 4) < 1 << 20));
        // The last rows, with windows that end beyond the largest row number.
        let last = scan.with_row_range(total - 10..total);
        for threads in [1, 2] {
            let reader = last.clone().with_threads(threads).build().unwrap();
            let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(rows, 10);
        }
    }
}

#[test]
fn batches_of_all_rows_obey_the_limit_of_batches() {
    let shard = Shard::from_bytes(rows_of_nothing(1 << 60).into()).unwrap();
    let all = shard.scan().with_batch_size(usize::MAX);
    let scans = [
        all.clone().with_row_number("row"),
        all.clone().with_row_selection(0..1 << 59),
        all.with_row_selection(0..1 << 59).with_row_number("row"),
    ];
    for scan in scans {
        let error = scan.build().unwrap().next().unwrap().unwrap_err();
        assert_eq!(inner(&error).kind(), ErrorKind::LimitExceeded, "{error}");
    }
}
