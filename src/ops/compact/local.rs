//! Compaction of shards in local folders.

use super::{CompactOptions, Rewriting, rewrite_all};
use crate::Shard;
use crate::error::{Result, Within};
use crate::io::{LocalFolder, SinkFactory, random_stripe_file_name};
use crate::ops::commit::EditSummary;
use crate::ops::editor::ShardEditor;
use crate::ops::local::existing;
use crate::ops::local_path::place_of;
use crate::ops::place::Place;
use crate::ops::progress::Work;
use crate::read::now;
use crate::write::ShardWriter;
use arrow_array::RecordBatchReader;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Returns the runs of neighboring stripes that [`compact`] would rewrite, by ordinal. `compact` keeps a run as it is
/// if rewriting it turns out not to reduce the number of stripes.
///
/// # Errors
/// Returns the errors of [`Shard::open`], or [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for invalid
/// options.
pub fn compaction(path: impl AsRef<Path>, options: &CompactOptions) -> Result<Vec<Range<u64>>> {
    options.ordinals(&ShardEditor::open_with(path, options.shard_options())?)
}

/// Rewrites stripes of the shard at `path`: small stripes together with their neighbors, and stripes with many deleted
/// rows without these rows. The new directory refers to all other stripes as they are. Returns `None`, and changes
/// nothing, if there is no such stripe, or if rewriting would not reduce the number of stripes: the keys of an Arrow
/// dictionary may be too small for the values of two stripes.
///
/// Rows keep their order, but rows after removed ones get lower numbers. The old stripes stay in the folder for readers
/// that have the shard open, until [`vacuum`](crate::ops::vacuum) removes them.
///
/// ```no_run
/// use arrow_shard::ops::{CompactOptions, compact};
/// match compact("flights.amudai.shard", &CompactOptions::default())? {
///     Some(done) => println!("{} stripes now", done.stripes()),
///     None => println!("there was nothing to do"),
/// }
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`ShardEditor::commit`], or [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if the
/// profile stores a column in another way.
pub fn compact(path: impl AsRef<Path>, options: &CompactOptions) -> Result<Option<EditSummary>> {
    let mut editor = ShardEditor::open_with(&path, options.shard_options())?;
    match rewrite(&mut editor, path.as_ref(), options)? {
        Some(rewritten) => rewritten.finish(editor.commit()).map(Some),
        None => Ok(None),
    }
}

/// Compacts a shard as [`compact`] does, but into a new shard: the new directory is at `target`, in the folder of the
/// shard or above it. The shard itself is unchanged. Rewritten stripes are in the folder of the shard. If no stripe is
/// rewritten, the new directory refers to the stripes of the shard.
///
/// # Errors
/// Returns the errors of [`compact`] and of [`ShardEditor::commit_to`].
pub fn compact_to(
    path: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &CompactOptions,
) -> Result<EditSummary> {
    let mut editor = ShardEditor::open_with(&path, options.shard_options())?;
    match rewrite(&mut editor, path.as_ref(), options)? {
        Some(rewritten) => rewritten.finish(editor.commit_to(target)),
        None => editor.commit_to(target),
    }
}

/// Rewritten stripes that no directory refers to yet.
struct Rewritten {
    bytes: u64,
    files: Vec<PathBuf>,
}

impl Rewritten {
    /// Adds the rewritten bytes to the summary of a commit. If the commit failed, removes the files.
    fn finish(self, done: Result<EditSummary>) -> Result<EditSummary> {
        if done.is_err() {
            self.files.iter().for_each(|file| remove(file));
        }
        Ok(done?.with_bytes(self.bytes))
    }
}

/// Rewrites stripes of an editor's shard. Returns `None` if no run is worth rewriting.
fn rewrite(
    editor: &mut ShardEditor,
    path: &Path,
    options: &CompactOptions,
) -> Result<Option<Rewritten>> {
    let runs = options.runs(editor.stripes())?;
    if runs.is_empty() {
        return Ok(None);
    }
    let path = existing(path)?;
    let mut to = Beside {
        folder: LocalFolder::of_file(&path)?.with_permissions_of(&path),
        path,
        options,
        rows: options.rows_of(editor.stripes(), &runs),
        written: Vec::new(),
    };
    let bytes = now(rewrite_all(editor, runs, &mut to));
    if bytes.is_err() {
        to.written.iter().for_each(|file| remove(file));
    }
    let files = to.written;
    Ok(bytes?.map(|bytes| Rewritten { bytes, files }))
}

fn remove(unused: &Path) {
    // The caller reports an earlier error, and nothing refers to the file.
    let _ = std::fs::remove_file(unused);
}

/// Writes files next to the directory file at `path`.
struct Beside<'a> {
    folder: LocalFolder,
    path: PathBuf,
    options: &'a CompactOptions,
    rows: Work,
    written: Vec<PathBuf>,
}

impl Rewriting for Beside<'_> {
    async fn rewrite(&mut self, shard: &Shard, rows: Range<u64>) -> Result<(Shard, Place, u64)> {
        let name = random_stripe_file_name();
        let file = self.path.with_file_name(&name);
        let sink = self.folder.create(&name)?;
        self.written.push(file.clone());
        let writing = self.options.writing(shard).await?;
        let scan = shard.scan().with_row_range(rows);
        let scan = scan.with_stored_internal_fields();
        let batches = scan.with_threads(self.options.threads).build()?;
        let mut writer = ShardWriter::try_new(sink, batches.schema(), writing)?;
        for batch in batches {
            let batch = batch?;
            writer.write(&batch)?;
            self.rows.add(batch.num_rows())?;
        }
        let bytes = writer.finish()?.bytes();
        // The last chance of the listener to stop the compaction: the commit follows.
        self.rows.add(0)?;
        let place = || file.display().to_string();
        let rewritten = Shard::open(&file).within(place)?;
        Ok((rewritten, place_of(&file)?, bytes))
    }

    async fn discard(&mut self) {
        if let Some(file) = self.written.pop() {
            remove(&file);
        }
    }
}
