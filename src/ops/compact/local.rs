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

/// The stripes that [`compact`] would write anew: runs of neighbours, by their ordinals. Runs stay as they
/// are where that turns out to make no fewer stripes of them.
///
/// # Errors
/// Those of [`Shard::open`], or [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for options that make
/// no sense.
pub fn compaction(path: impl AsRef<Path>, options: &CompactOptions) -> Result<Vec<Range<u64>>> {
    options.ordinals(&ShardEditor::open_with(path, options.shard_options())?)
}

/// Writes stripes of the shard at `path` anew that are small, each together with its neighbours, and
/// those of which many rows are deleted, without these. Other stripes are referred to as they are. Gives
/// `None`, and changes nothing, if there is no such stripe, or if there would be as many afterwards: the keys
/// of an Arrow dictionary may be too small for the values of two stripes.
///
/// Rows keep their order; where deleted ones are gone, those behind them have other numbers. Stripes that
/// nothing refers to any more stay in the folder, for whoever has the shard open, until
/// [`vacuum`](crate::ops::vacuum).
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
/// Those of [`ShardEditor::commit`], or [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) where the
/// profile stores a column in another way.
pub fn compact(path: impl AsRef<Path>, options: &CompactOptions) -> Result<Option<EditSummary>> {
    let mut editor = ShardEditor::open_with(&path, options.shard_options())?;
    match rewrite(&mut editor, path.as_ref(), options)? {
        Some(rewritten) => rewritten.finish(editor.commit()).map(Some),
        None => Ok(None),
    }
}

/// Compacts a shard as [`compact`] does, and leaves it as it is: the new directory is at `target`, in the
/// folder of the shard or above it. Rewritten stripes are in the folder of the shard. If no stripe is
/// rewritten, the new directory refers to the stripes of the shard.
///
/// # Errors
/// Those of [`compact`] and of [`ShardEditor::commit_to`].
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
    /// Adds the bytes to a commit, or removes the files if it failed.
    fn finish(self, done: Result<EditSummary>) -> Result<EditSummary> {
        if done.is_err() {
            self.files.iter().for_each(|file| remove(file));
        }
        Ok(done?.with_bytes(self.bytes))
    }
}

/// Rewrites stripes of an editor's shard; `None` if all are better left as they are.
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
    // There may be an error to tell already, and nothing refers to the file.
    let _ = std::fs::remove_file(unused);
}

/// Files beside the directory file at `path`.
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
        // The last time that it may be ended: what follows is a commit.
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
