//! Writes stripes anew that are small, or of which many rows are deleted.

#[cfg(not(target_family = "wasm"))]
mod local;
#[cfg(feature = "object_store")]
mod object;

#[cfg(not(target_family = "wasm"))]
pub use local::{compact, compact_to, compaction};
#[cfg(feature = "object_store")]
pub use object::{compact_object, compact_object_to, compaction_object};

use super::deletes::Stripe;
use super::editor::ShardEditor;
use super::limited::limits;
use super::place::Place;
use super::progress::{EditProgress, Listener, Work};
use crate::Shard;
use crate::column::{TypeMapping, has_packed_columns};
use crate::error::{Error, Result, Within};
use crate::format::{DELETED_RECORD, Field};
use crate::limits::Limits;
use crate::settings::{check_threads, settings};
use crate::write::{Profile, WriterOptions};
use std::ops::Range;

/// Which stripes a compaction writes anew, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactOptions {
    min_rows: u64,
    max_deleted: f64,
    profile: Profile,
    threads: usize,
    limits: Limits,
    listener: Option<Listener>,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            min_rows: 1 << 18,
            max_deleted: 0.2,
            profile: Profile::default(),
            threads: 1,
            limits: Limits::default(),
            listener: None,
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
        /// Negative shares are refused.
        max_deleted, with_max_deleted: f64;
        /// Profile of what is written anew: `Balanced` by default. A shard whose decimals are stored as in
        /// Arrow, as the profile `Plain` stores them, needs that profile.
        profile, with_profile: Profile;
        /// Threads that read and encode: 1 by default.
        threads, with_threads: usize;
    }
}

limits!(CompactOptions);

impl CompactOptions {
    /// Calls `progress` with every batch of rows that is written anew. An error of it ends the compaction:
    /// the shard is left as it was.
    #[must_use]
    pub fn with_progress(
        mut self,
        progress: impl Fn(EditProgress) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.listener = Some(Listener::new(progress));
        self
    }

    /// The rows of the runs that are written anew, of which none is done.
    fn rows_of(&self, stripes: &[Stripe], runs: &[Range<usize>]) -> Work {
        let stripes = runs.iter().filter_map(|run| stripes.get(run.clone()));
        let rows = stripes
            .flatten()
            .map(|stripe| stripe.rows - stripe.deleted_rows);
        Work::new(self.listener.clone(), rows.sum())
    }

    /// Whether a stripe is better written anew, with others or alone.
    fn is_small(&self, stripe: &Stripe) -> bool {
        stripe.rows - stripe.deleted_rows < self.min_rows
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is no exact number")]
    fn is_much_deleted(&self, stripe: &Stripe) -> bool {
        stripe.deleted_rows as f64 > stripe.rows as f64 * self.max_deleted
    }

    /// The runs of neighbours that are written anew, each as one stripe as far as the writer's memory and the
    /// keys of dictionaries go.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a share of deleted rows that is none, or for
    /// no thread.
    fn runs(&self, stripes: &[Stripe]) -> Result<Vec<Range<usize>>> {
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
        Ok(runs)
    }
}

/// Where stripes that are written anew go.
trait Rewriting {
    /// Writes rows of a shard that are not deleted; gives where they are, and how many bytes they take.
    async fn rewrite(&mut self, shard: &Shard, rows: Range<u64>) -> Result<(Shard, Place, u64)>;

    /// Removes what was written last.
    async fn discard(&mut self);
}

/// Writes runs of stripes anew, and gives the bytes that were written; `None` if all stripes are better left
/// as they are. There is none that would be written again and again: each run has fewer stripes afterwards,
/// or deleted rows are gone.
async fn rewrite_all(
    editor: &mut ShardEditor,
    runs: Vec<Range<usize>>,
    to: &mut impl Rewriting,
) -> Result<Option<u64>> {
    let mut written = None;
    // From the last on, so that the ordinals of those before stay.
    for run in runs.into_iter().rev() {
        let place = || format!("stripes {}..{}", run.start, run.end);
        let stripes = editor.stripes().get(run.clone()).unwrap_or_default();
        let has_deleted = stripes.iter().any(|stripe| stripe.deleted_rows > 0);
        let (shard, rows) = editor.rows_of(&run).within(place)?;
        let (shard, at, bytes) = to.rewrite(shard, rows).await.within(place)?;
        // A stripe ends where the keys of a dictionary would not do for the next rows.
        if shard.num_stripes() >= run.len() as u64 && !has_deleted {
            to.discard().await;
            continue;
        }
        written = Some(written.unwrap_or(0) + bytes);
        let replaced = editor.replace_run(run.clone(), shard, at).await;
        replaced.within(place)?;
    }
    Ok(written)
}

impl CompactOptions {
    /// How a run of stripes is written anew: as one, unless that takes too much memory.
    async fn writing(&self, shard: &Shard) -> Result<WriterOptions> {
        let schema = shard.stored_schema().await?;
        let mapping = TypeMapping::of(&schema);
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

    /// The ordinals of the stripes that are written anew.
    fn ordinals(&self, editor: &ShardEditor) -> Result<Vec<Range<u64>>> {
        let runs = self.runs(editor.stripes())?.into_iter();
        Ok(runs.map(|run| run.start as u64..run.end as u64).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
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
            let runs = options.runs(stripes).unwrap().into_iter();
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
        for share in [-0.1, f64::NAN] {
            let refused = CompactOptions::default().with_max_deleted(share);
            let error = refused.runs(&wide).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
}
