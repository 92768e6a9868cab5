//! No byte is fetched twice in a scan, and wrong answers of a reader are detected.

use crate::logged::{Logged, bytes_of};
use crate::support::written_bytes;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_shard::io::{ByteRange, NoContainer, ReadAt};
use arrow_shard::read::{ShardOptions, col};
use arrow_shard::write::{Profile, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use bytes::Bytes;
use std::sync::Arc;

/// Returns a shard of numbers, texts, flags and lists of texts, in several stripes.
fn several_stripes(profile: Profile) -> Bytes {
    let count = 400_000i32;
    let noise = |i: i32| i64::from(i).wrapping_mul(0x1E37_79B9_7F4A_7C15);
    let text = |i: i32| (noise(i) % 11 != 0).then(|| format!("text {}", noise(i) >> 40));
    let texts: ArrayRef = Arc::new((0..count).map(text).collect::<StringArray>());
    let numbers: Int64Array = (0..count).map(|i| Some(noise(i))).collect();
    let flags: BooleanArray = (0..count).map(|i| Some(noise(i) & 256 == 0)).collect();
    let ends = (0..=count).map(|i| i - i % 3);
    let offsets = OffsetBuffer::new(ends.collect());
    let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let lists = ListArray::new(item, offsets, texts.clone(), None);
    let columns = [
        ("number", Arc::new(numbers) as ArrayRef),
        ("text", texts),
        ("flag", Arc::new(flags)),
        ("list", Arc::new(lists)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = WriterOptions::default().with_stripe_rows(250_000);
    written_bytes(&[batch], options.with_profile(profile))
}

/// Returns the number of bytes in more than one request.
fn fetched_again(requests: &[ByteRange]) -> u64 {
    let mut sorted = requests.to_vec();
    sorted.sort_unstable();
    let mut end = 0;
    let again = sorted.iter().map(|request| {
        let again = request.end().min(end).saturating_sub(request.start());
        end = end.max(request.end());
        again
    });
    again.sum()
}

#[test]
fn a_scan_fetches_no_byte_twice() {
    for profile in [Profile::Plain, Profile::Balanced, Profile::HighCompression] {
        let bytes = several_stripes(profile);
        let expected = Shard::from_bytes(bytes.clone()).unwrap();
        let expected = crate::support::collect(expected.scan().build().unwrap()).unwrap();
        for gap in [0, 64, 4 << 10, 1 << 20] {
            for fetch_bytes in [1 << 10, 1 << 20, 64 << 20] {
                let options = ShardOptions::default()
                    .with_coalesce_gap(gap)
                    .with_fetch_bytes(fetch_bytes);
                let file = Logged::new(bytes.clone());
                let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options);
                let shard = shard.unwrap();
                let context = format!("{profile:?}, gap {gap}, {fetch_bytes} at a time");
                let projections: [&[&str]; 2] = [&["number", "text", "flag", "list"], &["list"]];
                for names in projections {
                    file.requests();
                    let scan = shard.scan().with_projection(names);
                    let read = crate::support::collect(scan.build().unwrap()).unwrap();
                    let requests = file.requests();
                    assert_eq!(fetched_again(&requests), 0, "{context}, {names:?}");
                    let found = bytes_of(&requests);
                    assert!(found <= bytes.len() as u64, "{context}: {found}");
                    assert_eq!(read.num_rows(), expected.num_rows());
                    let list = read.column_by_name("list").unwrap();
                    assert_eq!(list, expected.column_by_name("list").unwrap(), "{context}");
                }
            }
        }
        // Fetching a whole stripe takes few requests.
        let options = ShardOptions::default()
            .with_coalesce_gap(1 << 20)
            .with_fetch_bytes(64 << 20);
        let file = Logged::new(bytes);
        let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
        file.requests();
        crate::support::collect(shard.scan().build().unwrap()).unwrap();
        let requests = file.requests();
        assert!(requests.len() <= 5 * 2, "{profile:?}: {requests:?}");
    }
}

#[test]
fn a_filtered_scan_fetches_no_byte_twice() {
    let filters = [
        // Many, some and few rows match; a column of the filter is tested twice, by two conditions.
        col("number").gt(0),
        col("number").gt(0).and(col("number").lt(1_i64 << 60)),
        col("number").between(0, 1_i64 << 56),
        col("number").between(0, 1_i64 << 50),
        col("text").is_null().and(col("flag").eq(true)),
        col("text").starts_with("text 12").and(col("number").gt(0)),
        col("list").is_null().or(col("text").starts_with("text -1")),
    ];
    for profile in [Profile::Plain, Profile::Balanced, Profile::HighCompression] {
        let bytes = several_stripes(profile);
        let expected = Shard::from_bytes(bytes.clone()).unwrap();
        for gap in [0, 4 << 10] {
            for fetch_bytes in [1 << 20, 64 << 20] {
                let options = ShardOptions::default()
                    .with_coalesce_gap(gap)
                    .with_fetch_bytes(fetch_bytes);
                for filter in &filters {
                    let file = Logged::new(bytes.clone());
                    let shard =
                        Shard::from_reader(file.clone(), Arc::new(NoContainer), options.clone());
                    let shard = shard.unwrap();
                    file.requests();
                    let scan = |shard: &Shard| {
                        let scan = shard.scan().with_filter(filter.clone());
                        crate::support::collect(scan.build().unwrap()).unwrap()
                    };
                    let read = scan(&shard);
                    let requests = file.requests();
                    let context =
                        format!("{profile:?}, gap {gap}, {fetch_bytes} at a time, {filter}");
                    // A later request may read bytes in a gap that an earlier one has spanned.
                    let most = if gap == 0 {
                        0
                    } else {
                        bytes.len() as u64 / 1000
                    };
                    let again = fetched_again(&requests);
                    assert!(again <= most, "{context}: {again} bytes");
                    assert_eq!(read, scan(&expected), "{context}");
                }
            }
        }
    }
}

#[cfg(feature = "threads")]
#[test]
fn threads_do_not_fetch_what_others_fetch() {
    for gap in [64, 1 << 20] {
        let options = ShardOptions::default().with_coalesce_gap(gap);
        let options = options.with_fetch_bytes(1 << 20);
        let file = Logged::new(several_stripes(Profile::Balanced));
        let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
        let scan = || {
            file.requests();
            let scan = shard.scan().with_projection(["number", "text", "flag"]);
            let reader = scan.with_threads(3).build().unwrap();
            assert_eq!(crate::support::collect(reader).unwrap().num_rows(), 400_000);
            file.requests()
        };
        // Several threads may open the same stripe at the same time. Once it is open, only data are read.
        scan();
        assert_eq!(fetched_again(&scan()), 0, "gap {gap}");
    }
}

/// A reader that answers requests for data with shifted bytes.
#[derive(Debug)]
struct Inexact {
    bytes: Bytes,
    more: i64,
    /// Requests that end beyond this position are answered correctly.
    below: u64,
}

impl ReadAt for Inexact {
    fn size(&self) -> Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, range: ByteRange) -> Result<Bytes> {
        let end = match range.end() > self.below {
            true => range.end(),
            false => range.end().checked_add_signed(self.more).unwrap(),
        };
        self.bytes.read_at(ByteRange::try_new(range.start(), end)?)
    }
}

#[test]
fn answers_of_another_length_are_the_fault_of_the_reader() {
    let bytes = several_stripes(Profile::Balanced);
    let size = bytes.len() as u64;
    for more in [-1, 1] {
        for below in [size - 1, size - 70_000] {
            let bytes = bytes.clone();
            let file = Arc::new(Inexact { bytes, more, below });
            let options = ShardOptions::default().with_tail_bytes(60_000);
            let shard = Shard::from_reader(file, Arc::new(NoContainer), options).unwrap();
            let error = match shard.scan().build() {
                Ok(reader) => {
                    arrow_shard::Error::from(crate::support::collect(reader).unwrap_err())
                }
                Err(error) => error,
            };
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            let (range, found) = error.message().split_once(": expected ").unwrap();
            let numbers: Vec<i64> = found.split(", got ").map(|n| n.parse().unwrap()).collect();
            assert_eq!(numbers[1], numbers[0] + more, "{error}");
            assert!(range.contains("asked for bytes "), "{error}");
        }
        // Opening a shard also checks the lengths of answers.
        let below = u64::MAX;
        let bytes = bytes.slice(..bytes.len() - 1);
        let file = Arc::new(Inexact {
            bytes,
            more: -1,
            below,
        });
        let opened = Shard::from_reader(file, Arc::new(NoContainer), ShardOptions::default());
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::Io);
    }
}

#[test]
fn scans_count_the_bytes_that_they_read() {
    let filters = [
        None,
        Some(col("number").between(0, 1_i64 << 56)),
        Some(col("text").eq("text 12")),
    ];
    for profile in [Profile::Plain, Profile::Balanced] {
        let file = Logged::new(several_stripes(profile));
        let options = ShardOptions::default();
        let shard = Shard::from_reader(file.clone(), Arc::new(NoContainer), options).unwrap();
        for filter in &filters {
            for threads in [1, 3] {
                let scan = || {
                    let scan = shard.scan().with_threads(threads);
                    let scan = match filter {
                        Some(filter) => scan.with_filter(filter.clone()),
                        None => scan,
                    };
                    let mut reader = scan.build().unwrap();
                    assert!(reader.by_ref().all(|batch| batch.is_ok()));
                    reader.bytes_read()
                };
                let context = format!("{profile:?}, {filter:?}, {threads} threads");
                // The first scan also reads metadata, which the shard keeps.
                file.requests();
                let first = scan();
                let requested = bytes_of(&file.requests());
                let counted = scan();
                assert!(first <= requested, "{context}: {first}");
                // Of several threads, a slow one reads again what two pieces share and a fast one has forgotten.
                assert!(threads > 1 || counted <= first, "{context}: {first}");
                assert_eq!(counted, bytes_of(&file.requests()), "{context}");
                assert!(counted > 0, "{context}");
            }
        }
    }
}
