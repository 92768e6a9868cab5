//! Shards in local folders as one file.

use super::{PackOptions, Target, copy};
use crate::Shard;
use crate::error::{Result, Within};
use crate::io::{LocalSink, Sink};
use crate::ops::commit::EditSummary;
use crate::read::now;
use bytes::Bytes;
use std::path::Path;

/// Writes the shard at `path` as one file, `target`, with its directory and all buffers that it refers to in other
/// files. Afterwards `target` can be moved, copied or sent on its own. The buffers are copied as they are, not encoded
/// again, so rows, deleted rows, statistics and filters stay the same. Data of dropped columns and other unreferenced
/// bytes are left out.
///
/// The file appears when it is complete. The shard and its files stay, unless `target` is the shard itself and
/// [`with_overwrite`](PackOptions::with_overwrite) is set. The operation holds a few megabytes in memory.
///
/// ```no_run
/// use arrow_shard::ops::{PackOptions, pack};
/// let packed = pack("flights.amudai.shard", "backup/flights.amudai.shard", &PackOptions::default())?;
/// println!("{} rows in a file of {} bytes", packed.rows(), packed.bytes());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Shard::open`]; [`AlreadyExists`](crate::ErrorKind::AlreadyExists),
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a reserved name,
/// [`NotFound`](crate::ErrorKind::NotFound) if a file of the shard is missing,
/// [`Unsupported`](crate::ErrorKind::Unsupported) for columns in Parquet files, or errors of the operating system.
/// After an error, no new file exists.
pub fn pack(
    path: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &PackOptions,
) -> Result<EditSummary> {
    let (path, target) = (path.as_ref(), target.as_ref());
    let shard = Shard::open_with(path, options.shard_options())?;
    let mut sink = if options.overwrite {
        LocalSink::create_or_replace(target)?
    } else {
        LocalSink::create(target)?
    };
    let done = now(copy(&shard, options, &mut sink)).within(|| path.display().to_string())?;
    sink.commit()?;
    Ok(done)
}

impl Target for LocalSink {
    async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.write_all(&bytes)
    }
}
