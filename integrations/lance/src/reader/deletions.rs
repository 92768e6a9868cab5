//! Reads lists of deleted rows.

use super::local_reader::LocalReader;
use crate::failure::{file_name, from_lance};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_shard::{Error, ErrorKind, Result};
use lance_core::utils::deletion::DeletionVector;
use lance_io::object_store::ObjectStore;
use lance_table::format::{DeletionFile, DeletionFileType};
use lance_table::io::deletion::{
    deletion_file_path, read_deletion_file, relative_deletion_file_path,
};
use object_store::path::Path as StorePath;
use std::path::PathBuf;

/// Bytes of the number of a row in a list.
const NUMBER_BYTES: u64 = 4;
/// Bytes that a buffer may have beyond its numbers: padding, and the bits that say which are null.
const PADDING_BYTES: u64 = 1 << 16;

/// Where the deleted rows of a fragment are listed.
#[derive(Debug)]
pub(super) struct Deletions {
    fragment: u64,
    /// Rows of the fragment.
    rows: u64,
    file: DeletionFile,
    /// The dataset that holds the list.
    folder: PathBuf,
}

impl Deletions {
    pub(super) fn new(fragment: u64, rows: u64, file: DeletionFile, folder: PathBuf) -> Self {
        Self {
            fragment,
            rows,
            file,
            folder,
        }
    }

    /// Reads the list. The rows are counted within the fragment.
    pub(super) async fn read(&self) -> Result<DeletionVector> {
        let path = self
            .folder
            .join(relative_deletion_file_path(self.fragment, &self.file));
        let read = async {
            let bytes = LocalReader::open(&path)?.all()?;
            if matches!(self.file.file_type, DeletionFileType::Array) {
                check(&bytes, self.rows)?;
            }
            // The Lance crates parse the bytes that were checked, and do not open the file again.
            let (root, store) = (StorePath::default(), ObjectStore::memory());
            let place = deletion_file_path(&root, self.fragment, &self.file);
            let parsed = async {
                store.put(&place, &bytes).await?;
                read_deletion_file(self.fragment, &self.file, &root, &store).await
            };
            parsed.await.map_err(|e| from_lance(&e, ErrorKind::Corrupt))
        };
        read.await.map_err(|e: Error| e.within(file_name(&path)))
    }
}

/// Checks that the buffers of an Arrow IPC file of numbers of rows are no larger than the rows of the fragment need.
/// The reader of Arrow IPC allocates what a compressed buffer announces.
fn check(bytes: &[u8], rows: u64) -> Result<()> {
    let numbers = rows.saturating_mul(NUMBER_BYTES);
    let most = numbers.saturating_add(PADDING_BYTES);
    sizes(bytes)
        .filter(|sizes| sizes.iter().all(|&size| size <= most))
        .map(drop)
        .ok_or_else(|| Error::new(ErrorKind::Corrupt, "the list of deleted rows is damaged"))
}

/// Returns the uncompressed sizes of all buffers; `None` if the file is damaged.
fn sizes(bytes: &[u8]) -> Option<Vec<u64>> {
    let (rest, tail) = bytes.split_last_chunk::<10>()?;
    let footer_bytes = arrow_ipc::reader::read_footer_length(*tail).ok()?;
    let footer = root_as_footer(rest.get(rest.len().checked_sub(footer_bytes)?..)?).ok()?;
    if footer.dictionaries().is_some_and(|it| !it.is_empty()) {
        return None;
    }
    let mut sizes = Vec::new();
    for block in footer.recordBatches()? {
        let (message, body) = parts(bytes, block)?;
        let message = root_as_message(message).ok()?;
        let batch = message.header_as_record_batch()?;
        for buffer in batch.buffers()? {
            let start = usize::try_from(buffer.offset()).ok()?;
            let stored = u64::try_from(buffer.length()).ok()?;
            let prefix = match batch.compression() {
                Some(_) if stored > 0 => body.get(start..)?.first_chunk::<8>(),
                _ => None,
            };
            // -1 marks a buffer that is stored uncompressed.
            let announced = prefix.map_or(-1, |bytes| i64::from_le_bytes(*bytes));
            sizes.push(match announced {
                -1 => stored,
                size => u64::try_from(size).ok()?,
            });
        }
    }
    Some(sizes)
}

/// Returns the message of a block, and its body.
fn parts<'a>(bytes: &'a [u8], block: &Block) -> Option<(&'a [u8], &'a [u8])> {
    let start = usize::try_from(block.offset()).ok()?;
    let length = usize::try_from(block.metaDataLength()).ok()?;
    let (message, body) = bytes.get(start..)?.split_at_checked(length)?;
    let body = body.get(..usize::try_from(block.bodyLength()).ok()?)?;
    let prefix = if message.starts_with(&[0xFF; 4]) {
        8
    } else {
        4
    };
    Some((message.get(prefix..)?, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_number_of_rows_of_a_manifest_has_a_bound() {
        let list = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/deleted.lance/_deletions/0-1-16655265050831090260.arrow");
        let bytes = std::fs::read(list).unwrap();
        for rows in [12, u64::MAX / NUMBER_BYTES, u64::MAX] {
            check(&bytes, rows).unwrap();
        }
        check(&bytes[..bytes.len() - 1], u64::MAX).unwrap_err();
    }
}
