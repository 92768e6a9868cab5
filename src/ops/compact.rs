//! Writes stripes anew that are small, or of which many rows are deleted.

use super::commit::EditSummary;
use super::deletes::Stripe;
use super::editor::ShardEditor;
use crate::Shard;
use crate::column::TypeMapping;
use crate::error::{Result, Within};
use crate::io::{LocalFolder, Sink, SinkFactory, random_stripe_file_name};
use crate::read::now;
use crate::settings::settings;
use crate::write::{Profile, ShardWriter, WriterOptions};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Which stripes [`compact`] writes anew, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactOptions {
    min_rows: u64,
    max_deleted: f64,
    profile: Profile,
    threads: usize,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            min_rows: 1 << 18,
            max_deleted: 0.2,
            profile: Profile::default(),
            threads: 1,
        }
    }
}

settings! {
    CompactOptions {
        /// Rows, without those that are deleted, below which a stripe is small: 262,144 by default. Small
        /// stripes are written anew where two of them are neighbours, and have together no more rows and bytes
        /// than a stripe has by default, or as many rows as this.
        min_rows, with_min_rows: u64;
        /// Share of deleted rows above which a stripe is written anew, whatever its size: 0.2 by default.
        max_deleted, with_max_deleted: f64;
        /// Profile of what is written anew: `Balanced` by default. A shard whose decimals are stored as in
        /// Arrow, as the profile `Plain` stores them, needs that profile.
        profile, with_profile: Profile;
        /// Threads that read and encode: 1 by default.
        threads, with_threads: usize;
    }
}

impl CompactOptions {
    /// Whether a stripe is better written anew, with others or alone.
    fn is_small(&self, stripe: &Stripe) -> bool {
        stripe.rows - stripe.deleted_rows < self.min_rows
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is no exact number")]
    fn is_much_deleted(&self, stripe: &Stripe) -> bool {
        stripe.deleted_rows as f64 > stripe.rows as f64 * self.max_deleted
    }

    /// The runs of neighbours that are written anew, each as one stripe. There is never one that would be
    /// written again and again: each has fewer stripes afterwards, or fewer deleted rows.
    fn runs(&self, stripes: &[Stripe]) -> Vec<Range<usize>> {
        let most_rows = WriterOptions::default().stripe_rows().max(self.min_rows);
        let most_bytes = WriterOptions::default().stripe_bytes();
        let mut runs: Vec<Range<usize>> = Vec::new();
        let (mut rows, mut bytes) = (0u64, 0u64);
        for (i, stripe) in stripes.iter().enumerate() {
            if !self.is_small(stripe) && !self.is_much_deleted(stripe) {
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
            stripes.len() > 1 || stripes.iter().any(|stripe| self.is_much_deleted(stripe))
        };
        runs.retain(is_worth);
        runs
    }
}

/// The stripes that [`compact`] would write anew: runs of neighbours, by their ordinals.
///
/// # Errors
/// Those of [`Shard::open`].
pub fn compaction(path: impl AsRef<Path>, options: &CompactOptions) -> Result<Vec<Range<u64>>> {
    let editor = ShardEditor::open(path)?;
    let runs = options.runs(editor.stripes()).into_iter();
    Ok(runs.map(|run| run.start as u64..run.end as u64).collect())
}

/// Writes stripes of the shard at `path` anew that are small, each together with its neighbours, and
/// those of which many rows are deleted, without these. Other stripes are referred to as they are. Gives
/// `None`, and changes nothing, if there is no such stripe.
///
/// Rows keep their order; where deleted ones are gone, those behind them have other numbers. Stripes that
/// nothing refers to any more stay in the folder, for whoever has the shard open, until
/// [`vacuum`](super::vacuum).
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
/// Those of [`ShardEditor::commit`], [`Unsupported`](crate::ErrorKind::Unsupported) for a shard with
/// internal fields beside the one that says what is deleted, or
/// [`SchemaMismatch`](crate::ErrorKind::SchemaMismatch) where the profile stores a column in another way.
pub fn compact(path: impl AsRef<Path>, options: &CompactOptions) -> Result<Option<EditSummary>> {
    let path = path.as_ref();
    let mut editor = ShardEditor::open(path)?;
    let runs = options.runs(editor.stripes());
    if runs.is_empty() {
        return Ok(None);
    }
    editor.check_no_internal()?;
    let mut written = Vec::new();
    let path = path.canonicalize()?;
    let rewritten = rewrite_all(&mut editor, runs, &path, options, &mut written);
    let done = rewritten.and_then(|bytes| Ok(editor.commit()?.with_bytes(bytes)));
    if done.is_err() {
        for file in &written {
            // There is an error to tell already, and nothing refers to the file.
            let _ = std::fs::remove_file(file);
        }
    }
    done.map(Some)
}

/// Writes runs of stripes to files beside the shard at `path`, which are added to `written`, and gives their
/// bytes.
fn rewrite_all(
    editor: &mut ShardEditor,
    runs: Vec<Range<usize>>,
    path: &Path,
    options: &CompactOptions,
    written: &mut Vec<PathBuf>,
) -> Result<u64> {
    let mut folder = LocalFolder::of_file(path)?;
    let mut bytes = 0;
    // From the last on, so that the ordinals of those before stay.
    for run in runs.into_iter().rev() {
        let name = random_stripe_file_name();
        let file = path.with_file_name(&name);
        let sink = folder.create(&name)?;
        written.push(file.clone());
        let place = || format!("stripes {}..{}", run.start, run.end);
        bytes += rewrite(editor, &run, sink, options).within(place)?;
        editor
            .replace_stripes(run.clone(), Shard::open(&file)?, &file)
            .within(place)?;
    }
    Ok(bytes)
}

/// Writes the rows of a run of stripes that are not deleted, and gives the bytes of the file.
fn rewrite(
    editor: &ShardEditor,
    run: &Range<usize>,
    sink: Box<dyn Sink>,
    options: &CompactOptions,
) -> Result<u64> {
    let (shard, rows) = editor.rows_of(run)?;
    let mapping = TypeMapping::of(&now(shard.stored_schema())?);
    let writing = WriterOptions::default()
        .with_wire(shard.wire())
        .with_mapping(mapping.unwrap_or_default())
        .with_profile(options.profile)
        .with_stripe_rows(u64::MAX)
        .with_stripe_bytes(u64::MAX)
        .with_threads(options.threads);
    let mut writer = ShardWriter::try_new(sink, shard.schema()?, writing)?;
    let scan = shard
        .scan()
        .with_row_range(rows)
        .with_threads(options.threads);
    for batch in scan.build()? {
        writer.write(&batch?)?;
    }
    Ok(writer.finish()?.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::deletes::Deleted;

    fn stripe(rows: u64, deleted_rows: u64, raw_bytes: u64) -> Stripe {
        Stripe {
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
        let runs = |options: &CompactOptions, stripes: &[Stripe]| -> Vec<(usize, usize)> {
            let runs = options.runs(stripes).into_iter();
            runs.map(|run| (run.start, run.end)).collect()
        };
        // Few rows of many bytes each: no two of them fit into a stripe.
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
        // A stripe that is larger than all is no reason to go on for ever.
        let large = CompactOptions::default().with_min_rows(u64::MAX);
        assert_eq!(
            runs(&large, &vec![stripe(1 << 40, 0, 1 << 20); 3]),
            [(0, 3)]
        );
        assert_eq!(runs(&large, &vec![stripe(1 << 40, 0, 200 << 20); 3]), []);
    }
}
