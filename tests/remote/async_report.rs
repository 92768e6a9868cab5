//! Asynchronous readers return the same reports about a shard as blocking ones.

use crate::common::arrays::random_batch;
use crate::common::schemas::{Config, random_schema};
use crate::later::{SharedLog, distant, open_distant};
use crate::support::{NAME, Remote, opened, written};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use arrow_shard::io::{Container, MemoryFolder, ReadAt, RelativeUrl};
use arrow_shard::read::inspect::{InspectOptions, ShardInfo};
use arrow_shard::read::{ShardOptions, VerifyOptions, VerifyReport};
use arrow_shard::write::{Layout, Profile, WriterOptions};
use arrow_shard::{Error, ErrorKind, Result, Shard};
use futures::executor::block_on;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};

const LAYOUTS: [Layout; 2] = [Layout::SingleFile, Layout::TwoLevel];

/// A folder with files that are not resident in memory, like the files of [`distant`].
#[derive(Debug)]
struct RemoteFolder(MemoryFolder);

impl Container for RemoteFolder {
    fn open(&self, url: &RelativeUrl) -> Result<Arc<dyn ReadAt>> {
        let bytes = self.0.get(url.path());
        let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such object"))?;
        Ok(Arc::new(Remote(bytes)))
    }
}

/// Opens a written folder with blocking readers.
fn blocking(folder: &MemoryFolder) -> Result<Shard> {
    let root = Arc::new(Remote(folder.get(NAME).unwrap()));
    let files = Arc::new(RemoteFolder(folder.clone()));
    // Errors name requests, so both kinds of readers must use the same gap.
    let options = ShardOptions::default().with_coalesce_gap(1 << 20);
    Shard::from_reader(root, files, options)
}

fn random_table(seed: u64, layout: Layout) -> (StdRng, MemoryFolder) {
    let mut rng = StdRng::seed_from_u64(seed);
    let config = Config {
        max_columns: 4,
        ..Config::default()
    };
    let schema = Arc::new(random_schema(&mut rng, &config));
    let rows = rng.random_range(0..3_000);
    let batch = random_batch(&mut rng, &schema, rows);
    let profiles = [Profile::Plain, Profile::Balanced, Profile::HighCompression];
    let options = WriterOptions::default()
        .with_layout(layout)
        .with_profile(profiles[rng.random_range(0..3)])
        .with_bloom_filter_enabled(rng.random())
        .with_stripe_rows(rng.random_range(200..2_000));
    let folder = written(&schema, &[batch], options).unwrap();
    (rng, folder)
}

/// Returns a shard with three stripes of numbers, texts and structs.
fn table(layout: Layout) -> MemoryFolder {
    let rows = 30_000i64;
    let noise = |i: i64| i.wrapping_mul(0x1E37_79B9_7F4A_7C15);
    let numbers: Int64Array = (0..rows).map(|i| (i % 50 > 0).then_some(i)).collect();
    let texts = (0..rows).map(|i| (i % 13 > 0).then(|| format!("{i} text {}", noise(i) >> 40)));
    let member = Int64Array::from_iter_values((0..rows).map(noise));
    let field = Arc::new(Field::new("m", DataType::Int64, false));
    let nested = StructArray::from(vec![(field, Arc::new(member) as ArrayRef)]);
    let columns: [(&str, ArrayRef, bool); 3] = [
        ("number", Arc::new(numbers), true),
        ("text", Arc::new(texts.collect::<StringArray>()), true),
        ("nested", Arc::new(nested), false),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let options = WriterOptions::default()
        .with_layout(layout)
        .with_block_values(2_048)
        .with_stripe_rows(10_000);
    written(&batch.schema(), &[batch], options).unwrap()
}

/// The report of a verification, and its progress.
type Verified = (VerifyReport, Vec<(String, u64, u64)>);

fn verified(shard: &Shard) -> Verified {
    followed(VerifyOptions::default(), |options| {
        shard.verify_with(options)
    })
}

fn verified_later(shard: &Shard, prefetch: usize) -> Verified {
    let options = VerifyOptions::default().with_prefetch(prefetch);
    followed(options, |options| {
        block_on(shard.verify_with_async(options))
    })
}

/// Returns the report of `verify`, and the progress that its options are told.
fn followed(
    options: VerifyOptions,
    verify: impl FnOnce(VerifyOptions) -> Result<VerifyReport>,
) -> Verified {
    let (tell, told) = mpsc::channel();
    let report = verify(options.with_progress(move |p| {
        let field = p.field.unwrap().to_owned();
        tell.send((field, p.done, p.total)).unwrap();
        ControlFlow::Continue(())
    }));
    (report.unwrap(), told.try_iter().collect())
}

fn inspected_later(shard: &Shard, options: InspectOptions) -> Result<ShardInfo> {
    block_on(shard.inspect_async(options))
}

/// Compares the reports of both kinds of readers, and returns whether the shard is sound.
fn check(near: &Shard, far: impl Fn() -> Shard, rng: &mut StdRng, place: &str) -> bool {
    println!("{place}");
    let prefetch = rng.random_range(1..12);
    let expected = verified(near);
    assert_eq!(verified_later(&far(), prefetch), expected, "{place}");
    let encodings = rng.random();
    let options = InspectOptions::default()
        .with_encodings(encodings)
        .with_blocks(rng.random())
        .with_prefetch(prefetch);
    // A separate shard, because verification has already opened all files.
    match (
        near.inspect(options.clone()),
        inspected_later(&far(), options),
    ) {
        (Ok(expected), Ok(found)) => assert_eq!(found, expected, "{place}"),
        (expected, found) => {
            let [expected, found] =
                [expected, found].map(|info| format!("{:#}", info.unwrap_err()));
            assert_eq!(found, expected, "{place}");
        }
    }
    match (near.schema_nodes(), block_on(far().schema_nodes_async())) {
        (Ok(expected), Ok(found)) => assert_eq!(found, expected, "{place}"),
        (expected, found) => assert_eq!(expected.is_ok(), found.is_ok(), "{place}"),
    }
    expected.0.is_sound()
}

#[test]
fn random_tables_are_described_and_verified_alike() {
    for seed in 0..60 {
        for layout in LAYOUTS {
            let (mut rng, folder) = random_table(seed, layout);
            let fetch_bytes = rng.random_range(1..100_000);
            let polls = rng.random_range(0..4);
            let far = || {
                let options = ShardOptions::default().with_fetch_bytes(fetch_bytes);
                distant(&folder, polls, options.with_tail_bytes(1_000)).0
            };
            let place = format!("seed {seed}, {layout:?}");
            let near = opened(&folder).unwrap();
            assert!(check(&near, far, &mut rng, &place), "{place}");
        }
    }
}

/// Damages a file of a shard, or removes one.
fn damage(folder: &MemoryFolder, rng: &mut StdRng) -> MemoryFolder {
    let names = folder.names();
    let victim = rng.random_range(0..names.len());
    let kind = rng.random_range(0..10);
    let damaged = MemoryFolder::new();
    for (i, name) in names.iter().enumerate() {
        let mut bytes = folder.get(name).unwrap().to_vec();
        if i == victim && !bytes.is_empty() {
            match kind {
                0 if name != NAME => continue,
                1 if name != NAME => bytes.truncate(rng.random_range(0..bytes.len())),
                _ => {
                    for _ in 0..rng.random_range(1..4) {
                        let at = rng.random_range(0..bytes.len());
                        bytes[at] ^= 1 << rng.random_range(0..8);
                    }
                }
            }
        }
        damaged.insert(name, bytes);
    }
    damaged
}

#[test]
fn damaged_shards_get_the_same_report() {
    let (mut unsound, mut refused) = (0, 0);
    for seed in 0..100 {
        for layout in LAYOUTS {
            let (mut rng, folder) = match seed % 5 {
                0 => (StdRng::seed_from_u64(seed), table(layout)),
                _ => random_table(seed, layout),
            };
            let damaged = damage(&folder, &mut rng);
            let place = format!("seed {seed}, {layout:?}");
            let open = || {
                let options = ShardOptions::default();
                block_on(open_distant(&damaged, 1, options, &SharedLog::default()))
            };
            match (blocking(&damaged), open()) {
                (Ok(near), Ok(_)) => {
                    let far = || open().unwrap();
                    unsound += usize::from(!check(&near, far, &mut rng, &place));
                }
                (near, far) => {
                    refused += 1;
                    let [near, far] =
                        [near, far].map(|opened| format!("{:#}", opened.unwrap_err()));
                    assert_eq!(far, near, "{place}");
                }
            }
        }
    }
    println!("{unsound} are not sound, {refused} are refused");
    assert!(unsound > 100, "{unsound}");
}

#[test]
fn every_call_may_fail_and_then_the_verification_does() {
    for layout in LAYOUTS {
        let folder = table(layout);
        let options = || ShardOptions::default().with_tail_bytes(500);
        let (shard, log) = distant(&folder, 1, options());
        let (sound, _) = verified_later(&shard, 3);
        assert!(sound.is_sound());
        let calls = log.lock().unwrap().calls;
        assert!(calls > 50, "{calls}");
        let mut repeated = 0;
        for fails_at in 1..calls {
            let log = SharedLog::default();
            log.lock().unwrap().fails_at = Some(fails_at);
            let shard = block_on(open_distant(&folder, 1, options(), &log)).unwrap();
            let options = VerifyOptions::default().with_prefetch(3);
            match block_on(shard.verify_with_async(options)) {
                // The lists of fields, which are read ahead, are read again.
                Ok(report) => {
                    assert_eq!(report, sound, "call {fails_at}");
                    repeated += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "call {fails_at}: {error}");
                    assert!(error.message().contains("network"), "{fails_at}: {error}");
                }
            }
        }
        println!("{calls} calls, {repeated} repeated");
        assert_eq!(repeated, 1, "of {calls}");
    }
}

#[test]
fn every_call_of_an_inspection_may_fail_and_then_it_does() {
    for layout in LAYOUTS {
        let folder = table(layout);
        let options = || ShardOptions::default().with_tail_bytes(500);
        let (shard, log) = distant(&folder, 1, options());
        let expected = inspected_later(&shard, InspectOptions::default()).unwrap();
        let calls = log.lock().unwrap().calls;
        assert!(calls > 20, "{calls}");
        for fails_at in 1..calls {
            let log = SharedLog::default();
            log.lock().unwrap().fails_at = Some(fails_at);
            let shard = block_on(open_distant(&folder, 1, options(), &log)).unwrap();
            match inspected_later(&shard, InspectOptions::default()) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error:#}"),
                Ok(info) => assert_eq!(info, expected, "call {fails_at}"),
            }
        }
    }
}

#[test]
fn columns_are_fetched_at_the_same_time_and_no_more_than_asked_for() {
    for layout in LAYOUTS {
        let folder = table(layout);
        for prefetch in [1, 2, 4] {
            let options = || ShardOptions::default().with_tail_bytes(500);
            let (shard, log) = distant(&folder, 5, options());
            assert!(verified_later(&shard, prefetch).0.is_sound());
            check_waiting(&log, prefetch, layout);
            let (shard, log) = distant(&folder, 5, options());
            let asked = InspectOptions::default().with_prefetch(prefetch);
            inspected_later(&shard, asked).unwrap();
            check_waiting(&log, prefetch, layout);
        }
    }
}

fn check_waiting(log: &SharedLog, prefetch: usize, layout: Layout) {
    let most = log.lock().unwrap().most_waiting;
    // The lists of fields of all stripes come in one round.
    let lists = if layout == Layout::TwoLevel { 3 } else { 1 };
    assert!(most >= prefetch && most <= prefetch.max(lists), "{most}");
}

#[test]
fn a_verification_that_is_broken_off_reads_no_more() {
    let folder = table(Layout::TwoLevel);
    let (shard, log) = distant(&folder, 2, ShardOptions::default());
    let (tell, told) = mpsc::channel();
    let options = VerifyOptions::default().with_progress(move |progress| {
        tell.send(()).unwrap();
        match progress.done {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let report = block_on(shard.verify_with_async(options)).unwrap();
    assert!(!report.is_complete() && report.problems().is_empty());
    assert_eq!((report.num_fields(), told.try_iter().count()), (2, 2));
    let calls = log.lock().unwrap().calls;
    drop(shard);
    assert_eq!(
        (log.lock().unwrap().calls, Arc::strong_count(&log)),
        (calls, 1)
    );
}

#[test]
fn threads_are_for_readers_that_block() {
    let folder = table(Layout::TwoLevel);
    let (shard, _) = distant(&folder, 1, ShardOptions::default());
    let threads = VerifyOptions::default().with_threads(4);
    let found = block_on(shard.verify_with_async(threads.clone())).unwrap();
    assert_eq!(found, verified(&opened(&folder).unwrap()).0);
    // Asynchronous methods work with blocking readers, too.
    let near = opened(&folder).unwrap();
    assert_eq!(block_on(near.verify_async()).unwrap(), found);
    assert_eq!(near.verify_with(threads).unwrap(), found);
    let options = InspectOptions::default();
    let info = inspected_later(&near, options.clone()).unwrap();
    assert_eq!(info, near.inspect(options).unwrap());
}

#[test]
fn methods_that_wait_for_nothing_say_so() {
    for layout in LAYOUTS {
        let folder = table(layout);
        let options = || ShardOptions::default().with_tail_bytes(100);
        let (shard, log) = distant(&folder, 1, options());
        assert!(shard.schema_nodes().is_err());
        // They also work with all metadata in memory.
        for are_loaded in [false, true] {
            if are_loaded {
                block_on(shard.inspect_async(InspectOptions::default())).unwrap();
            }
            let calls = log.lock().unwrap().calls;
            let inspected = shard.inspect(InspectOptions::default()).map(drop);
            let mut refused = vec![(inspected, "inspect_async")];
            for threads in [1, 2] {
                let options = VerifyOptions::default().with_threads(threads);
                let report = shard.verify_with(options);
                refused.push((report.map(drop), "verify_async"));
            }
            for (refused, instead) in refused {
                let error = refused.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:#}");
                assert!(error.message().contains(instead), "{error}");
            }
            assert_eq!(log.lock().unwrap().calls, calls);
        }
    }
}

#[test]
fn others_run_between_batches_and_columns() {
    let shard = opened(&table(Layout::SingleFile)).unwrap();
    let polls = |future: &mut dyn FnMut(&mut Context<'_>) -> bool| {
        let mut context = Context::from_waker(Waker::noop());
        (1..).find(|_| future(&mut context)).unwrap()
    };
    let options = VerifyOptions::default().with_prefetch(1);
    let mut verified = pin!(shard.verify_with_async(options));
    let mut verified = |cx: &mut Context<'_>| verified.as_mut().poll(cx).is_ready();
    // Nine columns of two batches.
    let found: u32 = polls(&mut verified);
    assert!(found > 9 * 2 + 9, "{found}");
    let options = InspectOptions::default().with_prefetch(1);
    let mut inspected = pin!(shard.inspect_async(options));
    let mut inspected = |cx: &mut Context<'_>| inspected.as_mut().poll(cx).is_ready();
    let found: u32 = polls(&mut inspected);
    assert!(found > 2 * 9, "{found}");
}

#[test]
fn properties_of_stripes_are_read_later() {
    let folder = table(Layout::TwoLevel);
    let (far, _) = distant(&folder, 1, ShardOptions::default().with_tail_bytes(100));
    let near = opened(&folder).unwrap().stripes().unwrap();
    for (far, near) in block_on(far.stripes_async()).unwrap().iter().zip(near) {
        let found = block_on(far.properties_async()).unwrap();
        assert_eq!(found, near.properties().unwrap());
    }
}

#[test]
fn futures_may_be_sent_to_other_threads() {
    fn sent<T: Send>(future: T) -> T {
        future
    }
    let shard = distant(&table(Layout::TwoLevel), 1, ShardOptions::default()).0;
    let (verify, inspect) = (VerifyOptions::default(), InspectOptions::default());
    let done = std::thread::scope(|scope| {
        let verified = sent(shard.verify_async());
        let with = sent(shard.verify_with_async(verify));
        let inspected = sent(shard.inspect_async(inspect));
        let nodes = sent(shard.schema_nodes_async());
        let all = scope.spawn(|| {
            block_on(async {
                let reports = [verified.await.unwrap(), with.await.unwrap()];
                let (info, nodes) = (inspected.await.unwrap(), nodes.await.unwrap());
                let sound = reports.iter().all(VerifyReport::is_sound);
                (sound, info.stripes.len(), nodes.len())
            })
        });
        all.join().unwrap()
    });
    assert_eq!(done, (true, 3, 3));
}
