//! Compaction of shards in object stores.

use super::{CompactOptions, Rewriting, rewrite_all};
use crate::Shard;
use crate::error::Result;
use crate::io::random_stripe_file_name;
use crate::ops::commit::EditSummary;
use crate::ops::editor::ShardEditor;
use crate::ops::object::{beside, delete_all, place_of};
use crate::ops::place::Place;
use crate::ops::progress::Work;
use crate::read::{ShardOptions, ShardStream};
use crate::write::AsyncShardWriter;
use futures_util::TryStreamExt;
use object_store::ObjectStore;
use object_store::path::Path;
use std::ops::Range;
use std::sync::Arc;

/// Returns the runs of neighboring stripes that [`compact_object`] would rewrite, by ordinal: `compaction` for the
/// shard with the object at `path` as its directory file.
///
/// # Errors
/// Returns the errors of [`Shard::open_object`], or [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for invalid
/// options.
pub async fn compaction_object(
    store: Arc<dyn ObjectStore>,
    path: &Path,
    options: &CompactOptions,
) -> Result<Vec<Range<u64>>> {
    let editor = ShardEditor::open_object_with(store, path, options.shard_options()).await?;
    options.ordinals(&editor)
}

/// Rewrites small stripes and stripes with many deleted rows: `compact` for the shard with the object at `path` as its
/// directory file. Rewritten stripes are objects next to it.
///
/// # Errors
/// Returns the errors of `compact` and of [`ShardEditor::commit_object`]: an object that holds rows as well as the
/// directory is never replaced; use [`compact_object_to`] for it.
pub async fn compact_object(
    store: Arc<dyn ObjectStore>,
    path: &Path,
    options: &CompactOptions,
) -> Result<Option<EditSummary>> {
    let mut editor =
        ShardEditor::open_object_with(store.clone(), path, options.shard_options()).await?;
    let is_replaced = true;
    match rewrite(&store, &mut editor, path, options, is_replaced).await? {
        Some(rewritten) => rewritten.commit(store, editor, None).await.map(Some),
        None => Ok(None),
    }
}

/// Compacts a shard as [`compact_object`] does, but into a new shard: the new directory is the object at `target`, in
/// the folder of the shard or above it, which must not exist. The shard itself is unchanged. If no stripe is rewritten,
/// the new directory refers to the stripes of the shard.
///
/// # Errors
/// Returns the errors of `compact` and of [`ShardEditor::commit_object_to`].
pub async fn compact_object_to(
    store: Arc<dyn ObjectStore>,
    path: &Path,
    target: &Path,
    options: &CompactOptions,
) -> Result<EditSummary> {
    let mut editor =
        ShardEditor::open_object_with(store.clone(), path, options.shard_options()).await?;
    let is_replaced = false;
    match rewrite(&store, &mut editor, path, options, is_replaced).await? {
        Some(rewritten) => rewritten.commit(store, editor, Some(target)).await,
        None => Ok(editor.put_into(store, Some(target)).await?),
    }
}

/// Rewritten stripes that no directory refers to yet.
struct Rewritten {
    bytes: u64,
    objects: Vec<Path>,
}

impl Rewritten {
    /// Writes the directory. If that failed for certain, removes the stripes.
    async fn commit(
        self,
        store: Arc<dyn ObjectStore>,
        editor: ShardEditor,
        target: Option<&Path>,
    ) -> Result<EditSummary> {
        match editor.put_into(store.clone(), target).await {
            Ok(done) => Ok(done.with_bytes(self.bytes)),
            Err(failed) => {
                if !failed.may_be_there {
                    delete_all(&*store, &self.objects).await;
                }
                Err(failed.into())
            }
        }
    }
}

/// Rewrites stripes of an editor's shard. Returns `None` if no run is worth rewriting. If the directory is to be
/// replaced but holds rows, this fails before anything is written.
async fn rewrite(
    store: &Arc<dyn ObjectStore>,
    editor: &mut ShardEditor,
    path: &Path,
    options: &CompactOptions,
    is_replaced: bool,
) -> Result<Option<Rewritten>> {
    let runs = options.runs(editor.stripes())?;
    if runs.is_empty() {
        return Ok(None);
    }
    if is_replaced {
        editor.check_replaceable().await?;
    }
    let mut to = Beside {
        store: store.clone(),
        path,
        options,
        rows: options.rows_of(editor.stripes(), &runs),
        written: Vec::new(),
    };
    let bytes = rewrite_all(editor, runs, &mut to).await;
    if bytes.is_err() {
        delete_all(&**store, &to.written).await;
    }
    let objects = to.written;
    Ok(bytes?.map(|bytes| Rewritten { bytes, objects }))
}

/// Writes objects next to the one at `path`.
struct Beside<'a> {
    store: Arc<dyn ObjectStore>,
    path: &'a Path,
    options: &'a CompactOptions,
    rows: Work,
    written: Vec<Path>,
}

impl Rewriting for Beside<'_> {
    async fn rewrite(&mut self, shard: &Shard, rows: Range<u64>) -> Result<(Shard, Place, u64)> {
        let object = beside(self.path, random_stripe_file_name());
        let writing = self.options.writing(shard).await?;
        let scan = shard.scan().with_row_range(rows);
        let scan = scan.with_stored_internal_fields();
        let mut batches = scan.build_stream().await?;
        let (store, schema) = (self.store.clone(), batches.schema());
        let mut writer = AsyncShardWriter::create_part(store, &object, schema, writing).await?;
        if let Err(error) = copy(&mut batches, &mut writer, &mut self.rows).await {
            // The first error is reported.
            let _ = writer.abort().await;
            return Err(error);
        }
        self.written.push(object.clone());
        let bytes = writer.finish().await?.bytes();
        // The last chance of the listener to stop the compaction: the commit follows.
        self.rows.add(0)?;
        let options = ShardOptions::default();
        let rewritten = Shard::open_object(self.store.clone(), &object, options).await?;
        Ok((rewritten, place_of(&object), bytes))
    }

    async fn discard(&mut self) {
        if let Some(object) = self.written.pop() {
            delete_all(&*self.store, &[object]).await;
        }
    }
}

/// Writes the rows of a stream, and counts them.
async fn copy(
    batches: &mut ShardStream,
    writer: &mut AsyncShardWriter,
    rows: &mut Work,
) -> Result<()> {
    while let Some(batch) = batches.try_next().await? {
        writer.write(&batch).await?;
        rows.add(batch.num_rows())?;
    }
    Ok(())
}
