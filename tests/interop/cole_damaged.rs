//! Damaged COLE files: reading returns an error, or rows of the schema, without a panic and without much memory.

use super::cole::{table, write};
use super::cole_golden::{files, rows};
use arrow_shard::interop::cole::{ReaderBuilder, WriterOptions};
use arrow_shard::read::col;
use arrow_shard::{ErrorKind, Limits, Result};
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::path::PathBuf;
use std::sync::Arc;

/// Reads some rows of a file, in small batches, like a caller that does not trust the file.
fn read(file: &[u8]) -> Result<usize> {
    let file = Arc::new(Bytes::copy_from_slice(file));
    let limits = Limits::strict();
    let mut count = 0;
    for filter in [None, Some(col("i").gt(3))] {
        let builder = ReaderBuilder::try_new_with(file.clone(), limits.clone())?;
        let mut builder = builder.with_limit(1000).with_batch_size(100);
        if let Some(filter) = filter {
            if builder.schema().index_of("i").is_err() {
                continue;
            }
            builder = builder.with_filter(filter);
        }
        for batch in builder.build()? {
            count += batch?.num_rows();
        }
    }
    Ok(count)
}

#[test]
fn damaged_files_are_errors_or_rows() {
    let mut random = StdRng::seed_from_u64(17);
    let mut sources: Vec<Vec<u8>> = files()
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    sources.push(write(&[table(60)], WriterOptions::default().with_page_rows(20)).to_vec());
    let (mut refused, mut total) = (0, 0);
    for _ in 0..4000 {
        let mut file = sources[random.random_range(0..sources.len())].clone();
        match random.random_range(0..4) {
            0 => file.truncate(random.random_range(0..file.len())),
            1 => {
                let at = random.random_range(0..file.len() - 4);
                let number = [u32::MAX, 1 << 31, 0, 1][random.random_range(0..4)];
                file[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            _ => {
                for _ in 0..random.random_range(1..4) {
                    let at = random.random_range(0..file.len());
                    file[at] ^= 1 << random.random_range(0..8);
                }
            }
        }
        total += 1;
        refused += usize::from(read(&file).is_err());
    }
    // Without checksums, not every flipped bit is an error, but most are.
    assert!(refused * 2 > total, "{refused} of {total}");
}

#[test]
fn every_truncation_is_refused() {
    let file = write(&[table(30)], WriterOptions::default());
    for len in 0..file.len() {
        let error = read(&file[..len]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}: {error}");
    }
}

#[test]
fn errors_name_file_row_group_column_and_page() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("bad.cole");
    let options = WriterOptions::default()
        .with_page_rows(20)
        .with_row_group_rows(60);
    let mut file = write(&[table(120)], options).to_vec();
    let chunk = {
        let builder = ReaderBuilder::try_new(Arc::new(Bytes::from(file.clone()))).unwrap();
        builder.metadata().row_groups[1].columns[2].clone()
    };
    let last = usize::try_from(chunk.file_offset + chunk.total_size).unwrap() - 1;
    file[last] = 0xFF;
    std::fs::write(&path, &file).unwrap();
    let error = rows(ReaderBuilder::open(&path).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let place = format!(
        "file `{}`, row group 1, column `name`, page 2",
        path.display()
    );
    assert_eq!(error.element(), place, "{error}");
    std::fs::write(&path, b"id,name\n1,one\n2,two\n3,three\n").unwrap();
    let error = ReaderBuilder::open(&path).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not a COLE file: it begins with \"id,n\""),
        "{error}"
    );
}
