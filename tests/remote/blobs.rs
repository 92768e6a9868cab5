//! Blobs in a store with delayed answers.

use crate::later::{SharedLog, distant};
use crate::support::{NAME, opened, written};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use arrow_shard::io::{MemoryFolder, NoContainer};
use arrow_shard::read::{BlobForm, ShardOptions};
use arrow_shard::write::{ColumnOptions, WriterOptions};
use arrow_shard::{ErrorKind, Shard};
use futures::executor::block_on;
use futures::{FutureExt, TryStreamExt};
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use std::io::SeekFrom;
use std::sync::Arc;

/// Returns a shard of images of random bytes.
fn images(count: usize, bytes: usize) -> (RecordBatch, MemoryFolder) {
    let mut random = StdRng::seed_from_u64(5);
    let images: BinaryArray = (0..count)
        .map(|_| {
            let mut image = vec![0; bytes];
            random.fill_bytes(&mut image);
            Some(image)
        })
        .collect();
    let all = RecordBatch::try_from_iter([("image", Arc::new(images) as ArrayRef)]).unwrap();
    let column = ColumnOptions::default().with_blobs(65_536);
    let options = WriterOptions::default().with_column("image", column);
    let folder = written(&all.schema(), std::slice::from_ref(&all), options).unwrap();
    (all, folder)
}

/// Returns the lengths of the requests since the last call, and the number of rounds.
fn asked(log: &SharedLog) -> (Vec<u64>, usize) {
    let mut log = log.lock().unwrap();
    let lengths = log.requests.drain(..).map(|(_, range)| range.len());
    (lengths.collect(), std::mem::take(&mut log.calls))
}

#[test]
fn a_hundred_images_are_a_hundred_requests_at_a_time() {
    const IMAGE: u64 = 1_000_000;
    let (all, folder) = images(200, 1_000_000);
    // The default gap of readers of stores, which is longer than the image between two requested ones.
    let options = ShardOptions::default().with_coalesce_gap(1 << 20);
    let (shard, log) = distant(&folder, 3, options);
    block_on(shard.take_async(&[1], ["image"])).unwrap();
    asked(&log);
    let rows: Vec<u64> = (0..200).step_by(2).collect();
    let taken = block_on(shard.take_async(&rows, ["image"])).unwrap();
    let (taken, all) = (
        taken.column(0).as_binary::<i32>(),
        all.column(0).as_binary::<i32>(),
    );
    for i in 0..100 {
        assert_eq!(taken.value(i), all.value(2 * i), "image {i}");
    }
    let (requests, rounds) = asked(&log);
    assert_eq!((requests.len(), rounds), (100, 1));
    assert!(
        requests
            .iter()
            .all(|bytes| (IMAGE..IMAGE + 40).contains(bytes))
    );
}

#[test]
fn a_blob_is_read_piece_by_piece() {
    let (all, folder) = images(20, 100_000);
    let expected = all.column(0).as_binary::<i32>().value(11).to_vec();
    let (shard, log) = distant(&folder, 2, ShardOptions::default());
    let refused = shard.open_blob(11, "image").unwrap_err();
    assert!(refused.to_string().contains("open_blob_async"), "{refused}");
    block_on(async {
        let scan = shard.scan().with_blobs_as(BlobForm::Descriptions);
        let described: Vec<RecordBatch> = scan
            .build_stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(described[0].num_rows(), 20);
        let (requests, _) = asked(&log);
        assert!(
            requests.iter().sum::<u64>() < 530_000,
            "the tail and no image: {requests:?}"
        );
        let mut blob = shard.open_blob_async(11, "image").await.unwrap().unwrap();
        assert_eq!(blob.len(), 100_000);
        assert_eq!(blob.read_range(70..90).await.unwrap(), expected[70..90]);
        let mut read = Vec::new();
        loop {
            let piece = blob.read(33_333).await.unwrap();
            if piece.is_empty() {
                break;
            }
            read.extend_from_slice(&piece);
        }
        assert_eq!(read, expected);
        blob.seek(SeekFrom::Current(-5)).unwrap();
        assert_eq!(blob.read(100).await.unwrap(), expected[99_995..]);
        assert!(blob.read_range(99_990..100_001).await.is_err());
    });
}

#[test]
fn a_damaged_blob_ends_with_an_error() {
    let (_, folder) = images(3, 100_000);
    let mut bytes = folder.get(NAME).unwrap().to_vec();
    // The first image is among the first bytes of the file.
    bytes[50_000] ^= 1;
    folder.insert(NAME, bytes);
    let (shard, _) = distant(&folder, 2, ShardOptions::default());
    let error = block_on(async {
        let mut blob = shard.open_blob_async(0, "image").await.unwrap().unwrap();
        blob.read(60_000).await.unwrap();
        blob.read(60_000).await.unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Checksum, "{error}");
}

#[test]
fn a_blob_is_checked_after_a_failed_or_cancelled_read_too() {
    let (_, folder) = images(3, 100_000);
    let sound = folder.get(NAME).unwrap();
    for is_damaged in [false, true] {
        let mut bytes = sound.to_vec();
        bytes[50_000] ^= u8::from(is_damaged);
        folder.insert(NAME, bytes);
        // The image is not among the bytes that opening reads.
        let options = ShardOptions::default().with_tail_bytes(8192);
        let (shard, log) = distant(&folder, 2, options);
        let last = block_on(async {
            let mut blob = shard.open_blob_async(0, "image").await.unwrap().unwrap();
            blob.read(40_000).await.unwrap();
            {
                let mut log = log.lock().unwrap();
                log.fails_at = Some(log.calls);
            }
            let error = blob.read(40_000).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            // The answer takes more than one poll.
            assert!(blob.read(40_000).now_or_never().is_none());
            assert_eq!(blob.read(40_000).await.unwrap().len(), 40_000);
            assert!(blob.read(40_000).now_or_never().is_none());
            let first = blob.read(40_000).await;
            let again = blob.read(40_000).await;
            [first, again]
        });
        let found = last.map(|read| read.map(|bytes| bytes.len()).map_err(|e| e.kind()));
        let expected = if is_damaged {
            [Err(ErrorKind::Checksum), Err(ErrorKind::Checksum)]
        } else {
            [Ok(20_000), Ok(0)]
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn a_shard_within_a_blob_is_opened_in_its_place() {
    let (inner, folder) = images(2, 70_000);
    let file = folder.get(NAME).unwrap();
    let outer: BinaryArray = [Some(file.as_ref())].into_iter().collect();
    let outer = RecordBatch::try_from_iter([("file", Arc::new(outer) as ArrayRef)]).unwrap();
    let column = ColumnOptions::default().with_blobs(1);
    let options = WriterOptions::default().with_column("file", column);
    let folder = written(&outer.schema(), std::slice::from_ref(&outer), options).unwrap();
    let (shard, _) = distant(&folder, 2, ShardOptions::default());
    let read = block_on(async {
        let blob = shard.open_blob_async(0, "file").await.unwrap().unwrap();
        let files = Arc::new(NoContainer);
        let within = Shard::from_async_reader(Arc::new(blob), files, ShardOptions::default());
        within
            .await
            .unwrap()
            .take_async(&[0, 1], ["image"])
            .await
            .unwrap()
    });
    assert_eq!(read, inner);
    let blob = opened(&folder)
        .unwrap()
        .open_blob(0, "file")
        .unwrap()
        .unwrap();
    let within = Shard::from_reader(
        Arc::new(blob),
        Arc::new(NoContainer),
        ShardOptions::default(),
    );
    assert_eq!(within.unwrap().take(&[0, 1], ["image"]).unwrap(), inner);
}
