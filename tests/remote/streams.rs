//! Asynchronous scans, and decoders without I/O, return the same rows as blocking readers, and do not fetch more.

use crate::common::arrays::random_batch;
use crate::common::equal;
use crate::common::schemas::{Config, random_schema};
use crate::later::{Later, Log, SharedLog, distant};
use crate::support::{NAME, opened, written};
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_shard::io::MemoryFolder;
use arrow_shard::metadata::NameValuePair;
use arrow_shard::read::inspect::InspectOptions;
use arrow_shard::read::{
    Predicate, RowSelection, ScanBuilder, ShardDecoder, ShardOptions, Step, col,
};
use arrow_shard::write::{Layout, Profile, WriterOptions};
use arrow_shard::{ErrorKind, Result, Shard};
use bytes::Bytes;
use futures::executor::block_on;
use futures::{FutureExt, StreamExt, TryStreamExt};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

fn one(schema: &SchemaRef, batches: &[RecordBatch]) -> RecordBatch {
    if schema.fields().is_empty() {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        return RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
    }
    concat_batches(schema, batches).unwrap()
}

/// Panics with the place if two batches differ: see [`equal::assert_equal`].
fn assert_equal(found: &RecordBatch, expected: &RecordBatch, place: &str) {
    println!("{place}");
    equal::assert_equal(expected, found);
}

fn streamed(scan: ScanBuilder) -> std::result::Result<Vec<RecordBatch>, ArrowError> {
    block_on(async {
        let stream = scan.build_stream().await?;
        let schema = stream.schema();
        let batches: Vec<RecordBatch> = stream.try_collect().await?;
        assert!(batches.iter().all(|batch| batch.schema() == schema));
        Ok(batches)
    })
}

/// Returns the rows of a decoder that gets the requested bytes in reverse order.
fn decoded(
    folder: &MemoryFolder,
    scan: impl Fn(&Shard) -> ScanBuilder,
) -> Result<Vec<RecordBatch>> {
    let bytes_of = |request: &arrow_shard::read::Request| -> Bytes {
        let name = request.file().map_or(NAME, |url| url.path());
        let file = folder.get(name).unwrap();
        file.slice(request.range().to_usize().unwrap())
    };
    let size = folder.get(NAME).unwrap().len() as u64;
    let mut decoder = ShardDecoder::new(size, ShardOptions::default());
    let shard = loop {
        match decoder.open()? {
            Step::Ready(shard) => break shard,
            Step::Needs(requests) => {
                assert!(!requests.is_empty());
                for request in requests.iter().rev() {
                    decoder.supply(request, bytes_of(request))?;
                }
            }
        }
    };
    let mut scan = decoder.scan(scan(&shard))?;
    let mut batches = Vec::new();
    loop {
        match scan.next_batch()? {
            Step::Ready(Some(batch)) => batches.push(batch),
            Step::Ready(None) => return Ok(batches),
            Step::Needs(requests) => {
                assert!(!requests.is_empty());
                for request in requests.iter().rev() {
                    scan.supply(request, bytes_of(request))?;
                }
            }
        }
    }
}

fn check_no_byte_is_fetched_twice(log: &Log, place: &str) {
    let mut sorted = log.requests.clone();
    sorted.sort_by_key(|(name, range)| (name.clone(), range.start()));
    for pair in sorted.windows(2) {
        let [(first, before), (second, after)] = pair else {
            continue;
        };
        assert!(
            first != second || before.end() <= after.start(),
            "{place}: {first} {before} and {after}"
        );
    }
}

#[test]
fn random_tables_come_back_as_streams_and_from_decoders() {
    for seed in 0..60 {
        let mut rng = StdRng::seed_from_u64(seed);
        let config = Config {
            max_columns: 4,
            ..Config::default()
        };
        let schema = Arc::new(random_schema(&mut rng, &config));
        let rows = rng.random_range(0..3_000);
        let batch = random_batch(&mut rng, &schema, rows);
        let layouts = [Layout::SingleFile, Layout::TwoLevel];
        let profiles = [Profile::Plain, Profile::Balanced];
        let options = WriterOptions::default()
            .with_layout(layouts[rng.random_range(0..2)])
            .with_profile(profiles[rng.random_range(0..2)])
            .with_stripe_rows(rng.random_range(200..2_000));
        let folder = written(&schema, std::slice::from_ref(&batch), options).unwrap();
        let near = opened(&folder).unwrap();
        let polls = rng.random_range(0..4);
        let options = ShardOptions::default().with_fetch_bytes(rng.random_range(1..100_000));
        let (far, log) = distant(&folder, polls, options);
        let size = rng.random_range(1..1_000);
        let offset = rng.random_range(0..50);
        let prefetch = rng.random_range(1..6);
        let scan = |shard: &Shard| shard.scan().with_batch_size(size).with_offset(offset);
        let expected = crate::support::collect(scan(&near).build().unwrap()).unwrap();
        let place = format!("seed {seed}");
        let found = streamed(scan(&far).with_prefetch(prefetch)).unwrap();
        assert_equal(&one(&expected.schema(), &found), &expected, &place);
        check_no_byte_is_fetched_twice(&log.lock().unwrap(), &place);
        let found = decoded(&folder, scan).unwrap();
        assert_equal(&one(&expected.schema(), &found), &expected, &place);
        if rows > 0 {
            let some: Vec<u64> = (0..20).map(|_| rng.random_range(0..rows as u64)).collect();
            let scan = |shard: &Shard| shard.scan();
            let expected = scan(&near).take(&some).unwrap();
            let found = block_on(scan(&far).take_async(&some)).unwrap();
            assert_equal(&found, &expected, &place);
        }
    }
}

/// Returns a shard with four stripes of ascending numbers, numbers in no order, and texts.
fn table() -> MemoryFolder {
    let rows = 400_000i64;
    let noise = |i: i64| i.wrapping_mul(0x1E37_79B9_7F4A_7C15);
    // Blocks of items do not end at the borders of rows.
    let item = |i: i64, n: i64| (i % 11 > 0).then_some(noise(i + n));
    let lists = (0..rows).map(|i| (i % 5 > 0).then(|| (0..i % 7).map(move |n| item(i, n))));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows))),
        (
            "number",
            Arc::new(Int64Array::from_iter_values((0..rows).map(noise))),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter((0..rows).map(|i| {
                (i % 13 > 0).then(|| format!("text {} of many", noise(i) >> 44))
            }))),
        ),
        ("list", Arc::new(lists)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, name == "text" || name == "list")),
    );
    let batch = batch.unwrap();
    let options = WriterOptions::default().with_stripe_rows(131_072);
    written(&batch.schema(), &[batch], options).unwrap()
}

fn filters() -> Vec<Predicate> {
    vec![
        col("id").lt(70_000).and(col("number").gt(0)),
        col("text").starts_with("text 1"),
        col("text")
            .eq("text 77 of many")
            .or(col("id").between(200_000, 200_100)),
        col("id").gt(1_000_000),
        col("text").is_null(),
    ]
}

#[test]
fn filters_limits_and_selections_mean_the_same() {
    let folder = table();
    let near = opened(&folder).unwrap();
    for filter in filters() {
        for (offset, limit) in [
            (0, None),
            (5, Some(1_000)),
            (0, Some(0)),
            (100_000, Some(5)),
        ] {
            let scan = |shard: &Shard| {
                let scan = shard.scan().with_filter(filter.clone()).with_offset(offset);
                match limit {
                    Some(limit) => scan.with_limit(limit),
                    None => scan,
                }
            };
            let place = format!("{filter} {offset} {limit:?}");
            let expected = crate::support::collect(scan(&near).build().unwrap()).unwrap();
            let (far, log) = distant(&folder, 2, ShardOptions::default());
            let found = streamed(scan(&far)).unwrap();
            assert_equal(&one(&expected.schema(), &found), &expected, &place);
            check_no_byte_is_fetched_twice(&log.lock().unwrap(), &place);
            let found = decoded(&folder, scan).unwrap();
            assert_equal(&one(&expected.schema(), &found), &expected, &place);
        }
    }
    let rows = [0u64..3, 130_000..131_100, 399_999..400_000];
    let selection = RowSelection::from(rows.to_vec());
    let scan = |shard: &Shard| shard.scan().with_row_selection(selection.clone());
    let expected = crate::support::collect(scan(&near).build().unwrap()).unwrap();
    let (far, _) = distant(&folder, 1, ShardOptions::default());
    assert_eq!(
        one(&expected.schema(), &streamed(scan(&far)).unwrap()),
        expected
    );
}

#[test]
fn bytes_of_the_next_rows_and_no_more_are_fetched_meanwhile() {
    let folder = table();
    let options = || ShardOptions::default().with_fetch_bytes(300_000);
    for (prefetch, polls) in [(1, 5), (2, 1), (3, 5), (8, 2)] {
        let (shard, log) = distant(&folder, polls, options());
        block_on(async {
            let scan = shard.scan().with_prefetch(prefetch);
            let mut stream = scan.build_stream().await.unwrap();
            while let Some(batch) = stream.next().await {
                batch.unwrap();
            }
        });
        let log = log.lock().unwrap();
        check_no_byte_is_fetched_twice(&log, "a scan");
        // One more request may belong to the piece that is being read.
        assert!(log.most_waiting <= prefetch + 1, "{}", log.most_waiting);
        assert_eq!(log.most_waiting > 1, prefetch > 1);
    }
    // A stream that is not polled fetches nothing, and a dropped stream ends.
    let (shard, log) = distant(&folder, 5, options());
    let mut stream = block_on(shard.scan().build_stream()).unwrap();
    block_on(stream.next()).unwrap().unwrap();
    let calls = log.lock().unwrap().calls;
    drop(stream);
    assert_eq!(log.lock().unwrap().calls, calls);
    assert_eq!(Arc::strong_count(&log), 3);
}

#[test]
fn opening_takes_one_request_and_a_scan_large_ones() {
    let folder = table();
    let (shard, log) = distant(&folder, 1, ShardOptions::default());
    assert_eq!(log.lock().unwrap().requests.len(), 1);
    block_on(shard.schema_async()).unwrap();
    streamed(shard.scan()).unwrap();
    let log = log.lock().unwrap();
    // The tail contains the metadata of all stripes; the columns of each of the four stripes are adjacent.
    assert!(log.requests.len() <= 1 + 4 + 4, "{:?}", log.requests);
}

#[test]
fn every_call_may_fail_and_then_that_is_the_error() {
    let folder = table();
    let (shard, log) = distant(
        &folder,
        1,
        ShardOptions::default().with_fetch_bytes(500_000),
    );
    let expected = streamed(shard.scan()).unwrap();
    let calls = log.lock().unwrap().calls;
    assert!(calls > 6, "{calls}");
    for filter in [None, Some(col("number").gt(0))] {
        for fails_at in 0..calls {
            let log = SharedLog::default();
            log.lock().unwrap().fails_at = Some(fails_at);
            let root = Later::new(NAME, folder.get(NAME).unwrap(), 1, &log);
            let files = Arc::new(arrow_shard::io::NoContainer);
            let options = ShardOptions::default().with_fetch_bytes(500_000);
            let read = block_on(async {
                let shard = Shard::from_async_reader(root, files, options).await?;
                let mut scan = shard.scan();
                if let Some(filter) = &filter {
                    scan = scan.with_filter(filter.clone());
                }
                let stream = scan.build_stream().await?;
                stream.try_collect::<Vec<_>>().await
            });
            match read {
                Ok(batches) => assert!(filter.is_some() || batches == expected),
                Err(error) => {
                    let error = arrow_shard::Error::from(error);
                    assert_eq!(error.kind(), ErrorKind::Io, "{error:#}");
                    assert!(format!("{error:#}").contains("network"), "{error:#}");
                }
            }
            let log = log.lock().unwrap();
            assert!(log.calls > fails_at || filter.is_some());
        }
    }
}

#[test]
fn methods_that_wait_for_nothing_say_so() {
    let folder = table();
    let (shard, _) = distant(&folder, 1, ShardOptions::default().with_tail_bytes(100));
    for error in [
        shard.schema().unwrap_err(),
        shard.scan().build().unwrap_err(),
        shard.take(&[1], ["id"]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("asynchronous"), "{error}");
    }
    // Once loaded, the schema stays available.
    let schema = block_on(shard.schema_async()).unwrap();
    assert_eq!(shard.schema().unwrap(), schema);
    let error = shard.scan().build().unwrap_err();
    assert!(error.to_string().contains("build_stream"), "{error}");
}

#[test]
fn blocking_methods_depend_on_no_size() {
    let rows =
        RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef)]);
    let small = written(
        &rows.as_ref().unwrap().schema(),
        &[rows.unwrap()],
        WriterOptions::default().with_stripe_property(NameValuePair::new("x", true)),
    );
    let small = small.unwrap();
    let stripe = distant(&small, 1, ShardOptions::default()).0;
    let stripe = block_on(stripe.stripes_async()).unwrap().remove(0);
    for (refused, instead) in [
        (stripe.properties().map(drop), "`properties_async`"),
        (stripe.property("x").map(drop), "`property_async`"),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(instead), "{error}");
    }
    let found = block_on(stripe.property_async("x")).unwrap();
    assert_eq!(found.and_then(|value| value.as_bool()), Some(true));
    for folder in [small, table()] {
        let open = || distant(&folder, 1, ShardOptions::default()).0;
        let stripe = block_on(open().stripes_async()).unwrap().remove(0);
        let shard = open();
        assert_eq!(shard.num_rows(), opened(&folder).unwrap().num_rows());
        assert!(shard.num_stripes() > 0 && shard.num_deleted_rows() == 0);
        let refused = [
            (shard.schema().map(drop), "`schema_async`"),
            (
                shard.parse_predicate("id = 7").map(drop),
                "`parse_predicate_async`",
            ),
            (shard.properties().map(drop), "`properties_async`"),
            (shard.property("x").map(drop), "`property_async`"),
            (shard.sorting_columns().map(drop), "`sorting_columns_async`"),
            (shard.stripes().map(drop), "`stripes_async`"),
            (shard.scan().split(2).map(drop), "`split_async`"),
            (shard.schema_nodes().map(drop), "`schema_nodes_async`"),
            (shard.statistics(["id"]).map(drop), "`statistics_async`"),
            (
                shard.stripe_statistics(["id"]).map(drop),
                "`stripe_statistics_async`",
            ),
            (shard.scan().build().map(drop), "build_stream`"),
            (stripe.scan().build().map(drop), "build_stream`"),
            (shard.take(&[], ["id"]).map(drop), "`take_async`"),
            (shard.take(&[1], ["id"]).map(drop), "`take_async`"),
            (
                shard.inspect(InspectOptions::default()).map(drop),
                "`inspect_async`",
            ),
            (shard.verify().map(drop), "`verify_async`"),
        ];
        for (refused, instead) in refused {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.message().contains(instead), "{instead}: {error}");
        }
        // Once loaded, the metadata stay available.
        block_on(shard.schema_async()).unwrap();
        shard.schema().unwrap();
        shard.parse_predicate("id = 7").unwrap();
        shard.properties().unwrap();
        assert_eq!(shard.property("x").unwrap(), None);
        assert_eq!(shard.sorting_columns().unwrap(), []);
        block_on(shard.stripes_async()).unwrap();
        shard.stripes().unwrap();
        shard.scan().split(2).unwrap();
        // Blocking scans still fail.
        assert!(shard.scan().build().is_err());
        assert!(shard.take(&[1], ["id"]).is_err());
        assert!(block_on(shard.verify_async()).unwrap().is_sound());
        assert!(shard.verify().is_err());
    }
}

#[test]
fn statistics_stripes_and_properties_are_the_same() {
    let folder = table();
    let near = opened(&folder).unwrap();
    let options = || ShardOptions::default().with_tail_bytes(100);
    let (far, _) = distant(&folder, 2, options());
    let fresh = [(); 4].map(|()| distant(&folder, 2, options()).0);
    block_on(async {
        let found = far.statistics_async(["id", "text"]).await.unwrap();
        assert_eq!(found, near.statistics(["id", "text"]).unwrap());
        let found = far.stripe_statistics_async(["number"]).await.unwrap();
        assert_eq!(found, near.stripe_statistics(["number"]).unwrap());
        let rows = |stripes: Vec<arrow_shard::read::Stripe>| -> Vec<_> {
            stripes.iter().map(|stripe| stripe.row_range()).collect()
        };
        let stripes = far.stripes_async().await.unwrap();
        let last = stripes.last().unwrap().scan();
        let batches = last
            .build_stream()
            .await
            .unwrap()
            .try_collect::<Vec<_>>()
            .await
            .unwrap();
        assert_eq!(
            batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
            400_000 - 3 * 131_072
        );
        assert_eq!(rows(stripes), rows(near.stripes().unwrap()));
        let properties = far.properties_async().await.unwrap();
        assert_eq!(properties, near.properties().unwrap());
        assert_eq!(far.sorting_columns().unwrap(), []);
        // The other methods need nothing to be loaded before.
        let order = fresh[0].sorting_columns_async().await.unwrap();
        assert_eq!(order, near.sorting_columns().unwrap());
        assert_eq!(fresh[1].property_async("none").await.unwrap(), None);
        let found = fresh[2].parse_predicate_async("number = 7").await.unwrap();
        let expected = near.parse_predicate("number = 7").unwrap();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        let parts = fresh[3].scan().split_async(3).await.unwrap();
        assert_eq!(parts.len(), near.scan().split(3).unwrap().len());
    });
}

#[test]
fn decoders_are_asked_for_their_own_shard_and_end_after_an_error() {
    let folder = table();
    let file = folder.get(NAME).unwrap();
    let bring = |decoder: &mut ShardDecoder, file: &Bytes| loop {
        match decoder.open() {
            Ok(Step::Ready(shard)) => return Ok(shard),
            Ok(Step::Needs(requests)) => {
                for request in requests {
                    let bytes = file.slice(request.range().to_usize().unwrap());
                    decoder.supply(&request, bytes).unwrap();
                }
            }
            Err(error) => return Err(error),
        }
    };
    let options = || ShardOptions::default().with_tail_bytes(100);
    let mut decoder = ShardDecoder::new(file.len() as u64, options());
    let shard = bring(&mut decoder, &file).unwrap();
    // No request would ever be answered.
    let error = block_on(shard.take_async(&[1], ["id"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:#}");
    assert!(shard.properties().is_err());
    let other = opened(&folder).unwrap();
    let error = decoder.scan(other.scan()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let mut scan = decoder.scan(shard.scan().with_limit(0)).unwrap();
    assert!(scan.schema().is_none());
    while let Step::Needs(requests) = scan.next_batch().unwrap() {
        assert!(!requests.is_empty());
        for request in requests {
            let bytes = file.slice(request.range().to_usize().unwrap());
            assert!(scan.supply(&request, bytes.slice(1..)).is_err());
            scan.supply(&request, bytes).unwrap();
        }
    }
    assert_eq!(scan.schema().unwrap().fields().len(), 4);

    let nothing = Bytes::from(vec![7; 1_000]);
    let mut decoder = ShardDecoder::new(1_000, options());
    let error = bring(&mut decoder, &nothing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAShard);
    assert!(decoder.open().is_err());
}

#[test]
fn streams_and_futures_are_send_and_need_no_runtime() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let folder = table();
    let (shard, _) = distant(&folder, 0, ShardOptions::default());
    let stream = is_send(shard.scan().with_filter(col("id").lt(3)).build_stream());
    let stream = is_send(block_on(stream).unwrap());
    assert!(
        is_send(shard.take_async(&[1], ["id"]))
            .now_or_never()
            .is_some()
    );
    let rows: usize = std::thread::spawn(|| {
        let batches: Vec<_> = block_on(stream.try_collect()).unwrap();
        batches.iter().map(RecordBatch::num_rows).sum()
    })
    .join()
    .unwrap();
    assert_eq!(rows, 3);
}
