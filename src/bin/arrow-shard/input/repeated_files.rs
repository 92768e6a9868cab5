//! Files with rows that a shard next to them also has.

use crate::failure::Failure;
use crate::file_format::FileFormat;
use crate::location::{open_one_of_many, stored, wait};
use arrow_shard::ops::held_shards_async;
use arrow_shard::read::ShardOptions;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Returns the files that a shard needs in addition to its directory file. None for other files, and for shards that
/// cannot be opened.
pub(super) fn needed(file: &Path, options: &ShardOptions) -> Vec<PathBuf> {
    if FileFormat::of_input(file, None).ok() != Some(FileFormat::Shard) {
        return Vec::new();
    }
    let Ok(shard) = open_one_of_many(file, options.clone()) else {
        return Vec::new();
    };
    let inside = shard.referenced_files().unwrap_or_default();
    let inside = inside.iter().map(|part| file.with_file_name(part.path()));
    let outside = shard.external_files().unwrap_or_default();
    let outside = outside.iter().filter_map(|url| {
        let location = stored(Path::new(url)).ok()?;
        location.path()
    });
    inside.chain(outside).collect()
}

/// Returns the files that a shard among them refers to, and the shards that another shard contains, as a merged one
/// does: their rows would be read twice. Shards that cannot be opened are ignored; reading them fails.
pub(super) fn repeated(
    files: &[PathBuf],
    options: &ShardOptions,
) -> Result<HashSet<PathBuf>, Failure> {
    let is_shard = |file: &&PathBuf| FileFormat::by_name(file) == Some(FileFormat::Shard);
    let (mut shards, mut repeated) = (Vec::new(), HashSet::new());
    if files.len() < 2 {
        return Ok(repeated);
    }
    for file in files.iter().filter(is_shard) {
        let Ok(shard) = open_one_of_many(file, options.clone()) else {
            continue;
        };
        let Ok(parts) = shard.referenced_files() else {
            continue;
        };
        repeated.extend(parts.iter().map(|part| file.with_file_name(part.path())));
        shards.push((file, shard));
    }
    let locations = shards
        .iter()
        .map(|(file, shard)| Ok((stored(file)?, shard.clone())))
        .collect::<Result<Vec<_>, Failure>>()?;
    // Only a shard of several files can contain another.
    if repeated.is_empty() {
        return Ok(repeated);
    }
    let Some((at, _)) = locations.first().cloned() else {
        return Ok(repeated);
    };
    let held = wait(&at, held_shards_async(locations))?;
    for (contained, _) in held {
        repeated.extend(shards.get(contained).map(|(file, _)| PathBuf::clone(file)));
    }
    Ok(repeated)
}
