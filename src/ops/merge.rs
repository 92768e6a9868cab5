//! Merges shards.

use super::commit::EditSummary;
use super::editor::ShardEditor;
use super::members::{Opening, open_all};
use super::opening_options::opening;
use super::progress::WorkProgress;
use super::put::check_new;
use crate::error::{Error, Result};
use crate::io::{ExistingFile, Location};
use crate::progress::{Listener, with_progress};
use crate::read::{ShardOptions, ready_now};
use crate::settings::settings;

/// Options of [`merge_with`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergeOptions {
    overwrite: bool,
    dry_run: bool,
    opening: ShardOptions,
    listener: Listener,
}

settings! {
    MergeOptions {
        /// Whether to replace an existing file at the target. Off by default. The target must not be a shard to merge.
        /// The files of a replaced shard stay; [`vacuum`](super::vacuum()) removes them once no shard needs them. In a
        /// store without second names, other shards that refer to the replaced file lose its rows, and reading them
        /// fails.
        overwrite, with_overwrite: bool;
        /// Whether to check the shards and the target without writing anything. Off by default. The summary then
        /// describes the merged shard, except that it counts no second names: none is made.
        dry_run, with_dry_run: bool;
    }
}

opening!(MergeOptions);

with_progress! {
    MergeOptions,
    /// Calls `progress` with every shard that has been opened. If it breaks, no file is written.
}

/// Merges shards: writes a directory file `target` that refers to the buffers of the shards, in the given order. The
/// shards must be in the folder of `target`, or in subfolders.
///
/// If a local shard is a single file, `merge` adds a second file to its folder, and the new directory refers to that
/// one. It is a clone if the file system supports clones, otherwise a hard link ([`EditSummary::linked`]), otherwise a
/// copy. After a hard link, do not overwrite the shard in place, as `cp` does: the merged shard would lose its rows.
///
/// ```no_run
/// use arrow_shard::ops::merge;
/// let merged = merge(["days/1.amudai.shard", "days/2.amudai.shard"], "week.amudai.shard")?;
/// println!("{} rows in {} stripes", merged.num_rows(), merged.num_stripes());
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if `target` exists;
/// [`ForbiddenUrl`](crate::ErrorKind::ForbiddenUrl) for a shard outside of its folder;
/// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if columns of the same name have types that do not fit, see
/// [`ShardEditor::append`]; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if `shards` is empty, if the shards
/// and the target are not all in one store, if the target is one of the shards, if two shards hold the same rows
/// ([`ShardEditor::check_distinct`]), or if the store is asynchronous (use [`merge_async`]); or the other errors of
/// [`ShardEditor::append`] and [`ShardEditor::commit_to`].
pub fn merge<L: Into<Location>>(
    shards: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
) -> Result<EditSummary> {
    merge_with(shards, target, MergeOptions::default())
}

/// Merges shards, like [`merge`], with options.
///
/// # Errors
/// Returns the errors of [`merge`], and [`Stopped`](crate::ErrorKind::Stopped) if the progress callback breaks.
pub fn merge_with<L: Into<Location>>(
    shards: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
    options: MergeOptions,
) -> Result<EditSummary> {
    let target = target.into();
    target
        .store()
        .check_near("merge_async or merge_with_async")?;
    let shards: Vec<Location> = shards.into_iter().map(Into::into).collect();
    ready_now(merge_with_async(shards, target, options))
}

/// Merges shards, in any store: the asynchronous form of [`merge`].
///
/// # Errors
/// Returns the errors of [`merge`], but accepts asynchronous stores.
pub async fn merge_async<L: Into<Location>>(
    shards: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
) -> Result<EditSummary> {
    merge_with_async(shards, target, MergeOptions::default()).await
}

/// Merges shards, with options, in any store: the asynchronous form of [`merge_with`].
///
/// # Errors
/// Returns the errors of [`merge_with`], but accepts asynchronous stores.
pub async fn merge_with_async<L: Into<Location>>(
    shards: impl IntoIterator<Item = L>,
    target: impl Into<Location>,
    options: MergeOptions,
) -> Result<EditSummary> {
    let target = target.into();
    let shards: Vec<Location> = shards.into_iter().map(Into::into).collect();
    let (first, others) = shards
        .split_first()
        .ok_or_else(|| Error::invalid("there is no shard to merge"))?;
    for other in others.iter().chain([&target]) {
        first.store().check_same(other)?;
    }
    let opening = Opening::edit(options.shard_options());
    let mut work = WorkProgress::new(options.listener.clone(), shards.len() as u64);
    let mut editor = ShardEditor::open_with_async(first.clone(), opening.options.clone()).await?;
    work.add(1)?;
    for source in open_all(others, &opening, |_, _| false, &mut work).await? {
        editor.append_source(source).await?;
    }
    editor.check_distinct_async().await?;
    // The target may be named from another folder than the first shard.
    let home = target.home();
    let place = home.find_new(target.name())?;
    if options.overwrite {
        check_replaceable(&editor, &target).await?;
    }
    if options.dry_run {
        if !options.overwrite {
            check_new(target.store(), &place).await?;
        }
        return editor.planned(&place).await;
    }
    let existing = if options.overwrite {
        ExistingFile::Replaced
    } else {
        ExistingFile::Kept
    };
    Ok(editor.put_at(place, existing).await?)
}

/// Fails if the merged shard would refer to rows in the file that it replaces.
async fn check_replaceable(editor: &ShardEditor, target: &Location) -> Result<()> {
    let Ok(replaced) = target.home().find(target.name()) else {
        return Ok(());
    };
    for source in editor.sources() {
        let files = source.files().await?;
        let mut files = files.iter().map(|url| source.place.beside(url));
        if source.place == replaced || files.any(|file| file == replaced) {
            return Err(Error::invalid(format!(
                "`{target}` is one of the shards to merge, or holds rows of one; append the others to it, or choose \
                 another target"
            )));
        }
    }
    Ok(())
}
