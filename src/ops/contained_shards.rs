//! Finds shards of a table that are contained in other shards.

use super::members::open_folder;
use super::overlap::{LeftOut, Overlap, held, settle};
use super::source::SourceShard;
use crate::Shard;
use crate::error::Result;
use crate::io::Location;
use crate::read::{ShardOptions, ready_now, ready_now_or};

/// Finds shards that are contained in others: another of the shards refers to all of their data. Each open shard comes
/// with the location of its directory file. Returns pairs of ordinals: a contained shard, and a shard that contains it.
/// A table of these shards must leave out the contained ones, as
/// [`ShardSet::open_folder`](super::ShardSet::open_folder) does.
///
/// # Errors
/// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names both shards, if two shards share some
/// data while each of them also refers to other data or has other rows deleted, and errors of the store and of the
/// metadata. Shards of an asynchronous store need [`held_shards_async`].
pub fn held_shards<L: Into<Location>>(
    shards: impl IntoIterator<Item = (L, Shard)>,
) -> Result<Vec<(usize, usize)>> {
    ready_now_or("`held_shards_async`", held_shards_async(shards))
}

/// Finds shards that are contained in others, in any store: the asynchronous form of [`held_shards`].
///
/// # Errors
/// Returns the errors of [`held_shards`].
pub async fn held_shards_async<L: Into<Location>>(
    shards: impl IntoIterator<Item = (L, Shard)>,
) -> Result<Vec<(usize, usize)>> {
    let shards: Vec<(Location, Shard)> = shards
        .into_iter()
        .map(|(location, shard)| (location.into(), shard))
        .collect();
    let mut sources = Vec::with_capacity(shards.len());
    for (location, shard) in shards {
        let place = location.home().find(location.name())?;
        sources.push(SourceShard::load(shard, location.store().clone(), place).await?);
    }
    let held = held(&sources, Overlap::LeaveOut).await?;
    let mut held: Vec<(usize, usize)> = held.into_iter().collect();
    held.sort_unstable();
    Ok(held)
}

/// Returns the shards that a table of this folder leaves out, because another shard refers to all of their data: see
/// [`ShardSet::left_out`](super::ShardSet::left_out). Column types may differ between the shards.
///
/// # Errors
/// Returns the errors of [`ShardSet::open_folder`](super::ShardSet::open_folder), except for types of columns that do
/// not fit. A folder without shards is no error.
pub fn held_by_others(folder: impl Into<Location>) -> Result<Vec<LeftOut>> {
    let folder = folder.into();
    folder.store().check_near("held_by_others_async")?;
    ready_now(held_by_others_async(folder))
}

/// Returns the shards that a table of this folder leaves out, in any store: the asynchronous form of
/// [`held_by_others`].
///
/// # Errors
/// Returns the errors of [`held_by_others`].
pub async fn held_by_others_async(folder: impl Into<Location>) -> Result<Vec<LeftOut>> {
    let sources = open_folder(&folder.into(), ShardOptions::default()).await?;
    Ok(settle(sources, Overlap::LeaveOut).await?.1)
}
