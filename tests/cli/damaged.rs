//! Damaged files of other formats: a message of one line, exit code 1, no output file, and at most the memory that a
//! sound file takes.

use super::data::{nested, plain};
use super::{Folder, NAMES};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fs;
use std::sync::Arc;

/// Number of damaged copies of each file; the environment variable `DAMAGED_FILES` overrides it.
const COPIES: usize = 60;

/// Damages bytes in one of several typical ways.
fn damage(bytes: &mut Vec<u8>, random: &mut SmallRng) {
    let at = random.random_range(0..bytes.len());
    match random.random_range(0..7) {
        0 => bytes[at] = random.random(),
        1 => bytes[at] ^= 1 << random.random_range(0..8),
        2 => bytes.truncate(at),
        3 => {
            let end = (at + random.random_range(1..64)).min(bytes.len());
            bytes[at..end].fill(random.random());
        }
        // Damaged sizes are the most dangerous.
        4 | 5 => {
            let huge: u64 = random.random::<u64>() >> random.random_range(0..40);
            for (byte, new) in bytes[at..].iter_mut().zip(huge.to_le_bytes()) {
                *byte = new;
            }
        }
        _ => {
            let end = (at + random.random_range(1..64)).min(bytes.len());
            bytes.drain(at..end);
        }
    }
}

#[test]
fn damaged_files_of_other_formats_end_with_one_line() {
    let copies = std::env::var("DAMAGED_FILES").map_or(COPIES, |copies| copies.parse().unwrap());
    let work = |(seed, name): (usize, &'static str)| {
        let rows = match name {
            "t.csv" => plain(300),
            _ => nested(),
        };
        let folder = Folder::with(&rows);
        if name != "t.arrow" {
            folder.run(&["convert", "t.arrow", name]).ok();
        }
        let whole = fs::read(folder.path(name)).unwrap();
        let damaged = format!("d.{name}");
        let names = |folder: &Folder| folder.names().into_iter().filter(|name| name != "x.shard");
        let before: Vec<String> = names(&folder).chain([damaged.clone()]).collect();
        let mut random = SmallRng::seed_from_u64(seed as u64);
        let mut refused = 0;
        for copy in 0..copies {
            let mut bytes = whole.clone();
            for _ in 0..random.random_range(1..4) {
                if !bytes.is_empty() {
                    damage(&mut bytes, &mut random);
                }
            }
            fs::write(folder.path(&damaged), &bytes).unwrap();
            let done = folder.run(&["convert", "--quiet", "--force", &damaged, "x.shard"]);
            let place = format!("{name}, copy {copy}: {} {}", done.code, done.err);
            assert!(done.code < 2, "{place}");
            assert!(most_memory() < 1 << 30, "{place}");
            assert_eq!(
                done.err.lines().count(),
                usize::try_from(done.code).unwrap(),
                "{place}"
            );
            if done.code == 1 {
                // If values are read but a shard does not support them, the error names the output.
                let is_named = done.err.contains(&damaged) || done.err.contains("x.shard");
                assert!(is_named, "{place}");
                refused += 1;
            }
            let mut left: Vec<String> = names(&folder).collect();
            left.sort_by_key(|name| before.iter().position(|it| it == name));
            assert_eq!(left, before, "{place}");
        }
        assert!(refused > copies / 10, "{name}: {refused}");
    };
    let foreign = NAMES
        .into_iter()
        .filter(|name| *name != "t.shard")
        .enumerate();
    std::thread::scope(|scope| {
        for case in foreign {
            scope.spawn(move || work(case));
        }
    });
}

/// Returns the peak memory of all child processes so far, in bytes; zero on systems that do not report it.
fn most_memory() -> u64 {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let most = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
        u64::try_from(most).unwrap() << 10
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// Returns a stream with a second message that claims a body of `bytes` bytes.
fn stream_with_body(bytes: i64) -> Vec<u8> {
    let column = Arc::new(Int64Array::from_iter_values(0..1_000)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let mut stream = writer.into_inner().unwrap();
    let found = |value: i64| {
        let places = stream.windows(8).enumerate();
        let mut places = places.filter(|(_, window)| **window == value.to_le_bytes());
        places.next().map(|(at, _)| at)
    };
    // The size of a thousand numbers, with or without validity bits.
    let at = (8_000..9_000).find_map(found).unwrap();
    stream[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
    stream
}

#[test]
fn sizes_that_nobody_can_hold_are_an_error_and_no_abort() {
    let folder = Folder::new();
    for bytes in [1 << 33, 1 << 40, i64::MAX - 64] {
        fs::write(folder.path("t.arrows"), stream_with_body(bytes)).unwrap();
        for output in ["t.shard", "t.csv"] {
            let error = folder.run(&["convert", "t.arrows", output]).error(1);
            assert!(
                error.contains("t.arrows") && error.contains("damaged"),
                "{error}"
            );
        }
        assert_eq!(folder.names(), ["t.arrows"]);
    }
}
