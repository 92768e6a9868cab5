//! Rewrites stripes that are small or have many deleted rows.

use super::commit::EditSummary;
use super::deletes::EditedStripe;
use super::editor::ShardEditor;
use super::opening_options::opening;
use super::progress::WorkProgress;
use crate::Shard;
use crate::column::has_packed_columns;
use crate::error::{Error, Result, Within};
use crate::format::{DELETED_RECORD, Field};
use crate::io::{
    DescriptorUse, Location, NotWritten, Place, RelativeUrl, Sinks, Store, random_stripe_file_name,
};
use crate::progress::{Listener, with_progress};
use crate::read::{ShardOptions, ready_now};
use crate::settings::{check_threads, settings};
#[cfg(feature = "object_store")]
use crate::write::AsyncShardWriter;
use crate::write::{Profile, ShardWriter, WriterOptions};
use arrow_array::RecordBatchReader;
#[cfg(feature = "object_store")]
use futures_util::TryStreamExt;
use std::ffi::OsStr;
use std::ops::Range;

/// Returns the runs of neighboring stripes that [`compact`] would rewrite, by ordinal. `compact` keeps a run as it is
/// if rewriting it turns out neither to reduce the number of stripes nor to remove deleted rows or values in Parquet
/// files.
///
/// # Errors
/// Returns the errors of [`ShardEditor::open`], or [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for invalid
/// options.
pub fn plan_compaction(
    shard: impl Into<Location>,
    options: CompactOptions,
) -> Result<Vec<Range<u64>>> {
    let shard = shard.into();
    shard.store().check_near("plan_compaction_async")?;
    ready_now(plan_compaction_async(shard, options))
}

/// Returns the runs of stripes that a compaction would rewrite, in any store: the asynchronous form of
/// [`plan_compaction`].
///
/// # Errors
/// Returns the errors of [`plan_compaction`], but accepts asynchronous stores.
pub async fn plan_compaction_async(
    shard: impl Into<Location>,
    options: CompactOptions,
) -> Result<Vec<Range<u64>>> {
    let editor = ShardEditor::open_with_async(shard, options.shard_options()).await?;
    let migrated = options.migrated(&editor).await?;
    let runs = options.runs(editor.stripes(), &migrated)?.into_iter();
    Ok(runs.map(|run| run.start as u64..run.end as u64).collect())
}

/// Rewrites stripes of a shard: joins neighboring small stripes, and drops the deleted rows of stripes that have many.
/// [`CompactOptions`] sets the limits. [`CompactOptions::with_external`] adds all stripes with values in Parquet files.
/// The new directory refers to all other stripes as they are. Returns `None`, and changes nothing, if no stripe needs
/// rewriting. Two small stripes stay apart if their Arrow dictionaries together have more values than the key type can
/// number.
///
/// The profile of rewritten stripes is that of `options`. The wire, the packed groups, the type mapping and the
/// internal fields stay as they are in the shard. All other [`WriterOptions`](crate::write::WriterOptions) have their
/// defaults. So options of columns are lost, such as blobs, delimited values and forced Bloom filters.
///
/// Rows keep their order, but rows after removed ones get lower numbers. Rewritten stripes are files next to the
/// directory file. The old stripes stay in the folder for readers that have the shard open, until
/// [`vacuum`](crate::ops::vacuum) removes them.
///
/// ```no_run
/// use arrow_shard::ops::{CompactOptions, compact};
/// match compact("flights.amudai.shard", CompactOptions::default())? {
///     Some(done) => println!("{} stripes now", done.num_stripes()),
///     None => println!("there was nothing to do"),
/// }
/// # Ok::<(), arrow_shard::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`ShardEditor::open`] and [`ShardEditor::commit`]: an object that holds rows as well as the
/// directory is never replaced, so use [`compact_to_async`] for it. Also
/// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if the profile stores a column differently from the stripes
/// that stay; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for invalid options, or if the store is
/// asynchronous (use [`compact_async`]); [`Stopped`](crate::ErrorKind::Stopped) if the progress callback breaks.
pub fn compact(shard: impl Into<Location>, options: CompactOptions) -> Result<Option<EditSummary>> {
    let shard = shard.into();
    shard.store().check_near("compact_async")?;
    ready_now(compact_async(shard, options))
}

/// Rewrites stripes of a shard, in any store: the asynchronous form of [`compact`].
///
/// # Errors
/// Returns the errors of [`compact`], but accepts asynchronous stores.
pub async fn compact_async(
    shard: impl Into<Location>,
    options: CompactOptions,
) -> Result<Option<EditSummary>> {
    let mut editor = ShardEditor::open_with_async(shard, options.shard_options()).await?;
    let is_replaced = true;
    match rewrite(&mut editor, &options, is_replaced).await? {
        Some(rewritten) => rewritten.commit(editor, None).await.map(Some),
        None => Ok(None),
    }
}

/// Compacts a shard as [`compact`] does, but into a new shard. The shard itself is unchanged. If no stripe needs
/// rewriting, the new directory refers to the old stripes.
///
/// `target` is the name of the new directory file, as in [`Store::at`](crate::io::Store::at): for a local shard, a
/// path, relative to the current folder if it is not absolute. It must be in the folder of the shard or in a folder
/// above it. Rewritten stripes are written to the folder of the shard, not of `target`.
///
/// # Errors
/// Returns the errors of [`ShardEditor::open`]; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if `target` exists;
/// [`ForbiddenUrl`](crate::ErrorKind::ForbiddenUrl) if the shard is neither in its folder nor below;
/// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) if the profile stores a column differently from the stripes
/// that stay; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for invalid options, or if the store is
/// asynchronous (use [`compact_to_async`]); [`Stopped`](crate::ErrorKind::Stopped) if the progress callback breaks.
pub fn compact_to(
    shard: impl Into<Location>,
    target: impl AsRef<OsStr>,
    options: CompactOptions,
) -> Result<EditSummary> {
    let shard = shard.into();
    shard.store().check_near("compact_to_async")?;
    ready_now(compact_to_async(shard, target, options))
}

/// Compacts a shard into a new one, in any store: the asynchronous form of [`compact_to`].
///
/// # Errors
/// Returns the errors of [`compact_to`], but accepts asynchronous stores.
pub async fn compact_to_async(
    shard: impl Into<Location>,
    target: impl AsRef<OsStr>,
    options: CompactOptions,
) -> Result<EditSummary> {
    let mut editor = ShardEditor::open_with_async(shard, options.shard_options()).await?;
    let target = editor.store().home().find_new(target.as_ref())?;
    let is_replaced = false;
    match rewrite(&mut editor, &options, is_replaced).await? {
        Some(rewritten) => rewritten.commit(editor, Some(target)).await,
        None => Ok(editor.put(Some(target)).await?),
    }
}

/// Options of [`compact`], [`compact_to`] and [`plan_compaction`]: which stripes are rewritten, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactOptions {
    min_rows: u64,
    max_deleted: f64,
    external: bool,
    profile: Profile,
    threads: usize,
    opening: ShardOptions,
    listener: Listener,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            min_rows: 1 << 18,
            max_deleted: 0.2,
            external: false,
            profile: Profile::default(),
            threads: 1,
            opening: ShardOptions::default(),
            listener: Listener::default(),
        }
    }
}

settings! {
    CompactOptions {
        /// Number of rows, without deleted rows, below which a stripe is small: 262,144 by default. Neighboring small
        /// stripes are rewritten as one, up to the default rows and bytes of a stripe; if this setting is larger than
        /// the default rows, it is the limit of rows.
        min_rows, with_min_rows: u64;
        /// Share of deleted rows above which a stripe of any size is rewritten: 0.2 by default. Negative shares are
        /// errors.
        max_deleted, with_max_deleted: f64;
        /// Whether to rewrite all stripes with values in Parquet files, whatever their size, so that the shard no
        /// longer needs these files. Off by default.
        external, with_external: bool;
        /// Profile of rewritten stripes: `Balanced` by default. A shard with decimals stored as in Arrow, as the
        /// profile `Plain` stores them, needs `Plain`.
        profile, with_profile: Profile;
        /// Number of threads that read and encode, at least 1: 1 by default. In asynchronous stores they only encode.
        threads, with_threads: usize;
    }
}

opening!(CompactOptions);

with_progress! {
    CompactOptions,
    /// Calls `progress` with every batch of rewritten rows. If it breaks, the compaction stops and the shard is
    /// unchanged.
}

impl CompactOptions {
    /// Returns the work of rewriting these runs: their rows, without deleted rows.
    fn rows_of(&self, stripes: &[EditedStripe], runs: &[Range<usize>]) -> WorkProgress {
        let stripes = runs.iter().filter_map(|run| stripes.get(run.clone()));
        let rows = stripes
            .flatten()
            .map(|stripe| stripe.rows - stripe.deleted_rows);
        WorkProgress::new(self.listener.clone(), rows.sum())
    }

    /// Whether a stripe has few rows, and is better joined with its neighbors.
    fn is_small(&self, stripe: &EditedStripe) -> bool {
        stripe.rows - stripe.deleted_rows < self.min_rows
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is no exact number")]
    fn is_much_deleted(&self, stripe: &EditedStripe) -> bool {
        stripe.deleted_rows as f64 > stripe.rows as f64 * self.max_deleted
    }

    /// Returns for each stripe whether it is rewritten because it has values in Parquet files.
    async fn migrated(&self, editor: &ShardEditor) -> Result<Vec<bool>> {
        let mut migrated = Vec::with_capacity(editor.stripes().len());
        for stripe in editor.stripes() {
            let source = editor.sources().get(stripe.source);
            migrated.push(match source.filter(|_| self.external) {
                Some(source) => source.is_external(stripe.ordinal).await?,
                None => false,
            });
        }
        Ok(migrated)
    }

    /// Returns the runs of neighboring stripes to rewrite, among them the `migrated` ones. Each becomes one stripe,
    /// unless the writer's memory or the keys of a dictionary do not suffice.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if `max_deleted` is negative or not a number, or
    /// if `threads` is 0.
    fn runs(&self, stripes: &[EditedStripe], migrated: &[bool]) -> Result<Vec<Range<usize>>> {
        if self.max_deleted.is_nan() || self.max_deleted < 0.0 {
            return Err(Error::invalid(format!(
                "a share of deleted rows is at least 0; {} is none",
                self.max_deleted
            )));
        }
        check_threads(self.threads)?;
        let most_rows = WriterOptions::default().stripe_rows().max(self.min_rows);
        let most_bytes = WriterOptions::default().stripe_bytes();
        let mut runs: Vec<Range<usize>> = Vec::new();
        let (mut rows, mut bytes) = (0u64, 0u64);
        for (i, stripe) in stripes.iter().enumerate() {
            let is_migrated = migrated.get(i).is_some_and(|&migrated| migrated);
            if !self.is_small(stripe) && !self.is_much_deleted(stripe) && !is_migrated {
                continue;
            }
            let left = stripe.rows - stripe.deleted_rows;
            let more = (
                rows.saturating_add(left),
                bytes.saturating_add(stripe.raw_bytes),
            );
            match runs.last_mut() {
                Some(last) if last.end == i && more.0 <= most_rows && more.1 <= most_bytes => {
                    last.end = i + 1;
                    (rows, bytes) = more;
                }
                _ => {
                    runs.push(i..i + 1);
                    (rows, bytes) = (left, stripe.raw_bytes);
                }
            }
        }
        let is_worth = |run: &Range<usize>| {
            let stripes = stripes.get(run.clone()).unwrap_or_default();
            stripes.len() > 1
                || stripes.iter().any(|stripe| self.is_much_deleted(stripe))
                || any(migrated, run)
        };
        runs.retain(is_worth);
        Ok(runs)
    }
}

/// Whether a flag of a run of stripes is set.
fn any(flags: &[bool], run: &Range<usize>) -> bool {
    flags.get(run.clone()).unwrap_or_default().contains(&true)
}

/// Rewritten stripes that no directory refers to yet.
struct Rewritten {
    bytes: u64,
    written: RewrittenFiles,
}

impl Rewritten {
    /// Writes the directory. If that failed for certain, removes the stripes.
    async fn commit(self, editor: ShardEditor, target: Option<Place>) -> Result<EditSummary> {
        match editor.put(target).await {
            Ok(done) => Ok(done.with_bytes(self.bytes)),
            Err(NotWritten {
                error,
                may_be_there,
            }) => {
                if !may_be_there {
                    self.written.remove().await;
                }
                Err(error)
            }
        }
    }
}

/// The files of rewritten stripes.
struct RewrittenFiles {
    store: Store,
    files: Vec<Place>,
}

impl RewrittenFiles {
    /// Removes all files. Nothing refers to them, and the caller reports an earlier error.
    async fn remove(&self) {
        for file in &self.files {
            let _ = self.store.home().remove(file).await;
        }
    }
}

/// Rewrites stripes of an editor's shard. Returns `None` if no run is worth rewriting. If the directory is to be
/// replaced but cannot be, this fails before anything is written.
async fn rewrite(
    editor: &mut ShardEditor,
    options: &CompactOptions,
    is_replaced: bool,
) -> Result<Option<Rewritten>> {
    let migrated = options.migrated(editor).await?;
    let runs = options.runs(editor.stripes(), &migrated)?;
    if runs.is_empty() {
        return Ok(None);
    }
    let store = editor.store().clone();
    if is_replaced && !store.home().has_second_names() {
        editor.check_replaceable().await?;
    }
    let mut rows = options.rows_of(editor.stripes(), &runs);
    let mut written = RewrittenFiles {
        store,
        files: Vec::new(),
    };
    match rewrite_all(editor, runs, &migrated, options, &mut rows, &mut written).await {
        Ok(bytes) => Ok(bytes.map(|bytes| Rewritten { bytes, written })),
        Err(error) => {
            written.remove().await;
            Err(error)
        }
    }
}

/// Rewrites runs of stripes and returns the number of bytes written, or `None` if no run is worth rewriting. A
/// rewritten run has fewer stripes, no deleted rows or no values in Parquet files, so repeated compactions end.
async fn rewrite_all(
    editor: &mut ShardEditor,
    runs: Vec<Range<usize>>,
    migrated: &[bool],
    options: &CompactOptions,
    done: &mut WorkProgress,
    written: &mut RewrittenFiles,
) -> Result<Option<u64>> {
    let mut all_bytes = None;
    // Backwards, so that the ordinals of earlier stripes do not change.
    for run in runs.into_iter().rev() {
        let place = || format!("stripes {}..{}", run.start, run.end);
        let stripes = editor.stripes().get(run.clone()).unwrap_or_default();
        let has_deleted = stripes.iter().any(|stripe| stripe.deleted_rows > 0);
        let (shard, rows) = editor.rows_of(&run).within(place)?;
        let url = RelativeUrl::from_file_name(&random_stripe_file_name())?;
        let file = editor.place().beside(&url);
        written.files.push(file.clone());
        let bytes = write_rows(editor, shard, rows, &file, options, done).await;
        let bytes = bytes.within(place)?;
        // The last chance of the listener to stop the compaction: the commit follows.
        done.add(0)?;
        let home = editor.store().home();
        let opened = home.open(&file, DescriptorUse::Open)?;
        let rewritten = Shard::of_opened(opened, ShardOptions::default()).await;
        let rewritten = rewritten.within(place)?;
        // The writer ends a stripe early if the keys of a dictionary do not suffice for the next rows, so the
        // rewritten run may not have fewer stripes.
        let is_migrated = any(migrated, &run);
        if rewritten.num_stripes() >= run.len() as u64 && !has_deleted && !is_migrated {
            // Nothing refers to the file.
            let _ = home.remove(&file).await;
            written.files.pop();
            continue;
        }
        all_bytes = Some(all_bytes.unwrap_or(0) + bytes);
        let replaced = editor.replace_run(run.clone(), rewritten, file).await;
        replaced.within(place)?;
    }
    Ok(all_bytes)
}

/// Writes rows of a shard that are not deleted to a new file, and returns its size in bytes.
async fn write_rows(
    editor: &ShardEditor,
    shard: &Shard,
    rows: Range<u64>,
    file: &Place,
    options: &CompactOptions,
    done: &mut WorkProgress,
) -> Result<u64> {
    let writing = options.writing(shard).await?;
    let scan = shard.scan().with_row_range(rows);
    let scan = scan.with_stored_internal_fields();
    let name = file.names().last().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    match editor.store().home().sinks(editor.place())? {
        Sinks::Blocking(mut folder) => {
            let sink = folder.create(&name)?;
            let batches = scan.with_threads(options.threads).build()?;
            let mut writer = ShardWriter::try_new(sink, batches.schema(), writing)?;
            for batch in batches {
                let batch = batch?;
                writer.write(&batch)?;
                done.add(batch.num_rows())?;
            }
            Ok(writer.finish()?.bytes())
        }
        #[cfg(feature = "object_store")]
        Sinks::Async(mut folder) => {
            let mut batches = scan.build_stream().await?;
            let sink = folder.create(&name).await?;
            let mut writer = AsyncShardWriter::try_new(sink, batches.schema(), writing)?;
            let copied = async {
                while let Some(batch) = batches.try_next().await? {
                    writer.write(&batch).await?;
                    done.add(batch.num_rows())?;
                }
                Ok(())
            };
            if let Err(error) = copied.await {
                // The first error is reported.
                let _ = writer.abort().await;
                return Err(error);
            }
            Ok(writer.finish().await?.bytes())
        }
        #[cfg(not(feature = "object_store"))]
        Sinks::Async(_) => Err(Error::unsupported(
            "this build has no asynchronous stores; enable the feature `object_store`",
        )),
    }
}

impl CompactOptions {
    /// Returns the options for rewriting a run of stripes: as one stripe, unless that takes too much memory.
    async fn writing(&self, shard: &Shard) -> Result<WriterOptions> {
        let mapping = shard.type_mapping_async().await?;
        let schema = shard.stored_schema().await?;
        let kept = |field: &Field| {
            let kind = field.internal_kind.as_deref();
            kind.is_some_and(|kind| kind != DELETED_RECORD)
        };
        let mut options = WriterOptions::default();
        for field in schema.fields.iter().map(|field| &field.data_type) {
            if has_packed_columns(field) {
                let columns = field.children.iter().map(|column| column.name.as_str());
                options = options.with_packed_columns(columns);
            }
        }
        Ok(options
            .with_internal_fields(schema.fields.into_iter().filter(kept).collect())
            .with_wire(shard.wire())
            .with_mapping(mapping.unwrap_or_default())
            .with_profile(self.profile)
            .with_stripe_rows(u64::MAX)
            .with_stripe_bytes(u64::MAX)
            .with_threads(self.threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::deletes::Deleted;

    fn stripe(rows: u64, deleted_rows: u64, raw_bytes: u64) -> EditedStripe {
        EditedStripe {
            source: 0,
            ordinal: 0,
            rows,
            deleted_rows,
            raw_bytes,
            deleted: Deleted::AsThere,
            properties: None,
        }
    }

    #[test]
    fn what_is_written_anew_is_not_written_anew_again() {
        let options = CompactOptions::default();
        let runs = |options: &CompactOptions, stripes: &[EditedStripe]| -> Vec<(usize, usize)> {
            let runs = options.runs(stripes, &[]).unwrap().into_iter();
            runs.map(|run| (run.start, run.end)).collect()
        };
        // Few rows of many bytes each: no two stripes fit into one.
        let wide = vec![stripe(50_000, 0, 200 << 20); 5];
        assert_eq!(runs(&options, &wide), []);
        let half = vec![stripe(50_000, 0, 100 << 20); 5];
        assert_eq!(runs(&options, &half), [(0, 2), (2, 4)]);
        assert_eq!(
            runs(&options, &vec![stripe(200_000, 0, 0); 7]),
            [(0, 5), (5, 7)]
        );
        let deleted = [stripe(100, 21, 1), stripe(1 << 20, 0, 1), stripe(100, 0, 1)];
        assert_eq!(runs(&options, &deleted), [(0, 1)]);
        // Stripes that are larger than any limit are not rewritten again and again.
        let large = CompactOptions::default().with_min_rows(u64::MAX);
        assert_eq!(
            runs(&large, &vec![stripe(1 << 40, 0, 1 << 20); 3]),
            [(0, 3)]
        );
        assert_eq!(runs(&large, &vec![stripe(1 << 40, 0, 200 << 20); 3]), []);
        // A stripe with values in Parquet files is rewritten without a neighbor, too.
        let stripes = vec![stripe(1 << 20, 0, 0); 3];
        let migrated = options.runs(&stripes, &[false, true, false]).unwrap();
        assert_eq!((migrated.len(), migrated.first()), (1, Some(&(1..2))));
        for share in [-0.1, f64::NAN] {
            let refused = CompactOptions::default().with_max_deleted(share);
            let error = refused.runs(&wide, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
}
