//! Finds shards of a table that are contained in other shards.

#[cfg(not(target_family = "wasm"))]
use super::local::existing;
#[cfg(not(target_family = "wasm"))]
use super::local_path;
#[cfg(feature = "object_store")]
use super::object;
#[cfg(not(target_family = "wasm"))]
use super::overlap::local_id;
#[cfg(feature = "object_store")]
use super::overlap::object_id;
use super::overlap::{IdOf, Overlap, held};
use super::place::Place;
use super::source::Source;
use crate::Shard;
use crate::error::Result;
#[cfg(not(target_family = "wasm"))]
use std::path::Path;

/// Finds shards that are contained in others: another of the shards refers to all of their data. Each open shard comes
/// with the path of its directory file. Returns pairs of ordinals: a contained shard, and a shard that contains it. A
/// table of these shards must leave out the contained ones, as
/// [`ShardSet::open_folder`](super::ShardSet::open_folder) does.
///
/// # Errors
/// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names both shards, if two shards share some
/// data while each of them also refers to other data, and errors of the file system and of the metadata.
#[cfg(not(target_family = "wasm"))]
pub async fn held_shards<P: AsRef<Path>>(
    shards: impl IntoIterator<Item = (P, Shard)>,
) -> Result<Vec<(usize, usize)>> {
    let shards = shards.into_iter().map(|(path, shard)| {
        let path = existing(path.as_ref())?;
        Ok((local_path::place_of(&path)?, shard))
    });
    held_of(shards, local_id).await
}

/// Finds shards in one store that are contained in others: [`held_shards`] for objects. Each open shard comes with the
/// path of its object.
///
/// # Errors
/// Returns the errors of [`held_shards`].
#[cfg(feature = "object_store")]
pub async fn held_shard_objects(
    shards: impl IntoIterator<Item = (object_store::path::Path, Shard)>,
) -> Result<Vec<(usize, usize)>> {
    let shards = shards.into_iter();
    let shards = shards.map(|(path, shard)| Ok((object::place_of(&path), shard)));
    held_of(shards, object_id).await
}

async fn held_of(
    shards: impl Iterator<Item = Result<(Place, Shard)>>,
    id_of: IdOf,
) -> Result<Vec<(usize, usize)>> {
    let mut sources = Vec::new();
    for (place, shard) in shards.collect::<Result<Vec<_>>>()? {
        sources.push(Source::load(shard, place).await?);
    }
    let held = held(&sources, Overlap::LeaveOut, id_of).await?;
    let mut held: Vec<(usize, usize)> = held.into_iter().collect();
    held.sort_unstable();
    Ok(held)
}
