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

/// As `compaction`, of the shard whose directory file is the object at `path`.
///
/// # Errors
/// Those of [`Shard::open_object`], or [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for options
/// that make no sense.
pub async fn compaction_object(
    store: Arc<dyn ObjectStore>,
    path: &Path,
    options: &CompactOptions,
) -> Result<Vec<Range<u64>>> {
    let editor = ShardEditor::open_object_with(store, path, options.shard_options()).await?;
    options.ordinals(&editor)
}

/// As `compact`, of the shard whose directory file is the object at `path`. Stripes that are written anew
/// are objects beside it.
///
/// # Errors
/// Those of `compact` and of [`ShardEditor::commit_object`]: an object that holds rows of stripes beside
/// the directory is never replaced, see [`compact_object_to`].
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

/// Compacts a shard as [`compact_object`] does, and leaves it as it is: the new directory is the object at
/// `target`, in the folder of the shard or above it, which must not exist. If no stripe is rewritten, it
/// refers to the stripes of the shard.
///
/// # Errors
/// Those of `compact` and of [`ShardEditor::commit_object_to`].
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
    /// Writes the directory, or removes the stripes again if it cannot be there.
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

/// Rewrites stripes of an editor's shard; `None` if all are better left as they are. Fails before if the
/// directory is to be replaced and cannot be.
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

/// Objects beside the one at `path`.
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
            // There is an error to tell already.
            let _ = writer.abort().await;
            return Err(error);
        }
        self.written.push(object.clone());
        let bytes = writer.finish().await?.bytes();
        // The last time that it may be ended: what follows is a commit.
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

/// Writes the rows of a stream.
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
