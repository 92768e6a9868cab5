//! Opens the shards of a table or a merge.

use super::progress::WorkProgress;
use super::source::SourceShard;
use crate::Shard;
use crate::error::{Error, Result};
use crate::io::{DescriptorUse, FileRole, Location};
use crate::read::{ShardOptions, ready_now};
#[cfg(feature = "object_store")]
use futures_util::{StreamExt, TryStreamExt, stream};
#[cfg(feature = "threads")]
use rayon::prelude::*;

/// Bytes that the first read takes from the end of a near file, and holds while it is open. Small, because a table may
/// have thousands of members.
const NEAR_TAIL_BYTES: u64 = 8 << 10;

/// Bytes that the first request reads from the end of each distant file of a table. They are held until the table is
/// open; longer metadata take one or two more requests.
const DISTANT_TAIL_BYTES: u64 = 64 << 10;

/// Number of near files that are opened before an error ends the opening.
const NEAR_AT_ONCE: usize = 256;

/// Number of distant files that are asked for concurrently.
#[cfg(feature = "object_store")]
pub(super) const AT_ONCE: usize = 32;

/// How shards that are one of many are opened.
#[derive(Debug)]
pub(super) struct Opening {
    purpose: Purpose,
    pub(super) options: ShardOptions,
}

/// The purpose of opening shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// An edit, which reads the metadata that it needs.
    Edit,
    /// A table, which needs all metadata.
    Table,
}

impl Opening {
    /// Opens the shards of an edit.
    pub(super) fn edit(options: ShardOptions) -> Self {
        Self {
            purpose: Purpose::Edit,
            options,
        }
    }

    /// Opens the shards of a table.
    pub(super) fn table(options: ShardOptions) -> Self {
        Self {
            purpose: Purpose::Table,
            options,
        }
    }

    /// Opens a shard that is one of many, without keeping a local file open.
    pub(super) async fn open(&self, shard: &Location) -> Result<SourceShard> {
        let home = shard.home();
        let options = self.options.clone();
        let options = if home.is_near() {
            options.with_tail_bytes(NEAR_TAIL_BYTES)
        } else if self.purpose == Purpose::Table {
            options.with_tail_bytes(DISTANT_TAIL_BYTES)
        } else {
            options
        };
        let place = home.find(shard.name())?;
        let opened = Shard::of_opened(home.open(&place, DescriptorUse::Pooled)?, options).await?;
        let store = shard.store().clone();
        if self.purpose == Purpose::Table && !store.is_near() {
            SourceShard::load_all(opened, store, place).await
        } else {
            SourceShard::load(opened, store, place).await
        }
    }
}

/// Opens shards, several at a time, and returns them in their order. Skips a shard if `is_left_out` accepts the error
/// of opening it. Each shard is a unit of `work`.
pub(super) async fn open_all(
    shards: &[Location],
    opening: &Opening,
    is_left_out: fn(&Location, &Error) -> bool,
    work: &mut WorkProgress,
) -> Result<Vec<SourceShard>> {
    let keep = |shard: &Location, opened: Result<SourceShard>| match opened {
        Err(error) if is_left_out(shard, &error) => Ok(None),
        opened => opened.map(Some),
    };
    #[cfg(feature = "object_store")]
    if shards.iter().any(|shard| !shard.store().is_near()) {
        let open = |shard: Location| async move {
            let opened = opening.open(&shard).await;
            keep(&shard, opened)
        };
        let mut opened = stream::iter(shards.to_vec()).map(open).buffered(AT_ONCE);
        let mut sources = Vec::with_capacity(shards.len());
        while let Some(source) = opened.try_next().await? {
            sources.extend(source);
            work.add(1)?;
        }
        return Ok(sources);
    }
    let open = |shard: &Location| {
        let opened = ready_now(opening.open(shard));
        keep(shard, opened)
    };
    let mut sources = Vec::with_capacity(shards.len());
    for some in shards.chunks(NEAR_AT_ONCE) {
        #[cfg(feature = "threads")]
        let opened: Vec<Result<Option<SourceShard>>> = some.par_iter().map(open).collect();
        #[cfg(not(feature = "threads"))]
        let opened: Vec<Result<Option<SourceShard>>> = some.iter().map(open).collect();
        // Report the error of the first failing shard in the list, even if a later shard failed earlier.
        for source in opened {
            sources.extend(source?);
            work.add(1)?;
        }
    }
    Ok(sources)
}

/// Waits for all checks, several at a time.
pub(super) async fn all_at_once(checks: Vec<impl Future<Output = Result<()>>>) -> Result<()> {
    #[cfg(feature = "object_store")]
    return stream::iter(checks)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await;
    #[cfg(not(feature = "object_store"))]
    {
        for check in checks {
            check.await?;
        }
        Ok(())
    }
}

/// Lists the files of a folder that may be shards by their names, sorted. It skips files in subfolders, stripe files
/// (`*.amudai.stripe`) and temporary files, but not files of other formats.
///
/// # Errors
/// Returns the errors of the store, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if it is asynchronous:
/// use [`list_shards_async`].
pub fn list_shards(folder: impl Into<Location>) -> Result<Vec<Location>> {
    let folder = folder.into();
    folder.store().check_near("list_shards_async")?;
    ready_now(list_shards_async(folder))
}

/// Lists the files of a folder that may be shards by their names, in any store: the asynchronous form of
/// [`list_shards`].
///
/// # Errors
/// Returns the errors of the store.
pub async fn list_shards_async(folder: impl Into<Location>) -> Result<Vec<Location>> {
    let folder = folder.into();
    let mut names = folder.home().names(folder.name()).await?;
    names.retain(|name| FileRole::of(name) == FileRole::Shard);
    names.sort();
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// Opens the shards of a folder, in the order of their names, without files of other formats.
pub(super) async fn open_folder(
    folder: &Location,
    options: ShardOptions,
) -> Result<Vec<SourceShard>> {
    let shards = list_shards_async(folder.clone()).await?;
    let (opening, mut work) = (Opening::table(options), WorkProgress::default());
    open_all(&shards, &opening, Location::is_of_another_kind, &mut work).await
}

/// Returns the error for a table or a folder without shards.
pub(super) fn no_shard() -> Error {
    Error::invalid("there is no shard to make a table of")
}

/// Returns the error for a folder without shards.
pub(super) fn no_shard_in(folder: &Location) -> Error {
    let error =
        Error::invalid("the folder has no shard of its own; its subfolders are not searched");
    error.within(folder.home().describe_folder(folder.name()))
}
