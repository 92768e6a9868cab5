//! Damaged files end as errors: without a panic of the caller, without undefined behavior, and without waiting forever.
#![expect(
    clippy::unwrap_used,
    reason = "a table that cannot be made is a failed test"
)]

mod common;

use arrow_shard_lance::{LanceReader, LanceVersion};
use common::{dictionaries, flat, nested, write};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Damaged files, over all versions and tables.
const MUTANTS: usize = 2_000;
/// Reading such a small file takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads all rows; whether it worked.
fn is_read(path: &Path) -> bool {
    LanceReader::open(path).is_ok_and(|reader| {
        reader.into_iter().all(|batch| match batch {
            Ok(batch) => batch.num_rows() > 0,
            Err(error) => {
                assert!(!error.to_string().contains(".rs:"), "{error}");
                false
            }
        })
    })
}

/// Changes some bytes: the end of a file, where the metadata lie, more often than the rest.
fn damage(bytes: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = |bytes: &[u8], random: &mut StdRng| {
        if random.random_bool(0.7) {
            bytes.len() - 1 - random.random_range(0..bytes.len().min(2000))
        } else {
            random.random_range(0..bytes.len())
        }
    };
    match random.random_range(0..10) {
        0 => bytes.truncate(random.random_range(0..bytes.len())),
        1 => {
            let at = place(&bytes, random);
            bytes.remove(at);
        }
        2 => {
            let at = place(&bytes, random);
            let end = (at + 8).min(bytes.len());
            bytes[at..end].fill(0xFF);
        }
        _ => {
            for _ in 0..random.random_range(1..4) {
                let at = place(&bytes, random);
                bytes[at] = match random.random_range(0..3) {
                    0 => random.random(),
                    1 => bytes[at] ^ (1 << random.random_range(0..8)),
                    _ => bytes[at].wrapping_add(1),
                };
            }
        }
    }
    bytes
}

#[test]
fn damaged_files_end_as_errors_or_as_tables() {
    std::panic::set_hook(Box::new(|info| {
        // Panics of the Lance crates are caught in the threads of the reader.
        if thread::current()
            .name()
            .is_none_or(|name| !name.starts_with("lance"))
        {
            eprintln!("{info}");
        }
    }));
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for version in LanceVersion::ALL {
        for (name, batch) in [
            ("flat", flat(100)),
            ("nested", nested(60)),
            ("dictionaries", dictionaries(100)),
        ] {
            let path = folder.path().join(format!("{name}-{version}.lance"));
            write(&path, &[batch], version).unwrap();
            files.push(std::fs::read(&path).unwrap());
        }
    }
    let mut random = StdRng::seed_from_u64(37);
    let mutants: usize = std::env::var("MUTANTS").map_or(MUTANTS, |it| it.parse().unwrap());
    let (mut read, mut failed) = (0, 0);
    for mutant in 0..mutants {
        let bytes = damage(&files[mutant % files.len()], &mut random);
        let path: PathBuf = folder.path().join("damaged.lance");
        std::fs::write(&path, &bytes).unwrap();
        let (sender, receiver) = channel();
        let reading = path.clone();
        let thread = thread::spawn(move || sender.send(is_read(&reading)));
        match receiver.recv_timeout(PATIENCE) {
            Ok(true) => read += 1,
            Ok(false) => failed += 1,
            Err(why) => {
                let kept = std::env::temp_dir().join(format!("mutant-{mutant}.lance"));
                std::fs::write(&kept, &bytes).unwrap();
                let what = match why {
                    RecvTimeoutError::Timeout => "takes too long",
                    RecvTimeoutError::Disconnected => "panics",
                };
                panic!("mutant {mutant} {what}; it is kept as {}", kept.display());
            }
        }
        thread.join().unwrap().unwrap();
    }
    // Most changes of metadata are found; many changes of values are not, since Lance has no checksums.
    assert!(failed > mutants / 10, "{failed} errors, {read} tables");
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("empty.lance", &b""[..]),
        ("short.lance", b"LANC"),
        ("text.lance", &[b'a'; 5000]),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let error = LanceReader::open(&path).unwrap_err();
        assert_eq!(error.kind(), arrow_shard::ErrorKind::Corrupt, "{error}");
        let message = format!("{error:#}");
        assert!(
            message.contains(name) && !message.contains(".rs:"),
            "{message}"
        );
    }
    let missing = LanceReader::open(folder.path().join("missing.lance")).unwrap_err();
    assert_eq!(missing.kind(), arrow_shard::ErrorKind::NotFound);
    assert!(missing.to_string().contains("missing.lance"), "{missing}");
    let no_dataset = LanceReader::open(folder.path()).unwrap_err();
    assert_eq!(
        no_dataset.kind(),
        arrow_shard::ErrorKind::NotFound,
        "{no_dataset}"
    );
}
