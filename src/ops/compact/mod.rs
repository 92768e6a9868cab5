//! Rewrites stripes that are small or have many deleted rows.

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

/// Which stripes a compaction rewrites, and how.
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
        /// Number of rows, without deleted rows, below which a stripe is small: 262,144 by default. Neighboring small
        /// stripes are rewritten as one, up to the default rows and bytes of a stripe; if this setting is larger than
        /// the default rows, it is the limit of rows.
        min_rows, with_min_rows: u64;
        /// Share of deleted rows above which a stripe of any size is rewritten: 0.2 by default. Negative shares are
        /// errors.
        max_deleted, with_max_deleted: f64;
        /// Profile of rewritten stripes: `Balanced` by default. A shard with decimals stored as in Arrow, as the
        /// profile `Plain` stores them, needs `Plain`.
        profile, with_profile: Profile;
        /// Number of threads that read and encode: 1 by default.
        threads, with_threads: usize;
    }
}

limits!(CompactOptions);

impl CompactOptions {
    /// Calls `progress` with every batch of rewritten rows. If it returns an error, the compaction stops and the shard
    /// is unchanged.
    #[must_use]
    pub fn with_progress(
        mut self,
        progress: impl Fn(EditProgress) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.listener = Some(Listener::new(progress));
        self
    }

    /// Returns the work of rewriting these runs: their rows, without deleted rows.
    fn rows_of(&self, stripes: &[Stripe], runs: &[Range<usize>]) -> Work {
        let stripes = runs.iter().filter_map(|run| stripes.get(run.clone()));
        let rows = stripes
            .flatten()
            .map(|stripe| stripe.rows - stripe.deleted_rows);
        Work::new(self.listener.clone(), rows.sum())
    }

    /// Whether a stripe has few rows, and is better joined with its neighbors.
    fn is_small(&self, stripe: &Stripe) -> bool {
        stripe.rows - stripe.deleted_rows < self.min_rows
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is no exact number")]
    fn is_much_deleted(&self, stripe: &Stripe) -> bool {
        stripe.deleted_rows as f64 > stripe.rows as f64 * self.max_deleted
    }

    /// Returns the runs of neighboring stripes to rewrite. Each becomes one stripe, unless the writer's memory or the
    /// keys of a dictionary do not suffice.
    ///
    /// # Errors
    /// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if `max_deleted` is negative or not a number, or
    /// if `threads` is 0.
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

/// The destination of rewritten stripes.
trait Rewriting {
    /// Writes the rows of a shard that are not deleted, and returns the new shard, its place and its size in bytes.
    async fn rewrite(&mut self, shard: &Shard, rows: Range<u64>) -> Result<(Shard, Place, u64)>;

    /// Removes the file that was written last.
    async fn discard(&mut self);
}

/// Rewrites runs of stripes and returns the number of bytes written, or `None` if no run is worth rewriting. A
/// rewritten run has fewer stripes or no deleted rows, so repeated compactions come to an end.
async fn rewrite_all(
    editor: &mut ShardEditor,
    runs: Vec<Range<usize>>,
    to: &mut impl Rewriting,
) -> Result<Option<u64>> {
    let mut written = None;
    // Backwards, so that the ordinals of earlier stripes do not change.
    for run in runs.into_iter().rev() {
        let place = || format!("stripes {}..{}", run.start, run.end);
        let stripes = editor.stripes().get(run.clone()).unwrap_or_default();
        let has_deleted = stripes.iter().any(|stripe| stripe.deleted_rows > 0);
        let (shard, rows) = editor.rows_of(&run).within(place)?;
        let (shard, at, bytes) = to.rewrite(shard, rows).await.within(place)?;
        // The writer ends a stripe early if the keys of a dictionary do not suffice for the next rows, so that the
        // rewritten run can have as many stripes as before.
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
    /// Returns the options for rewriting a run of stripes: as one stripe, unless that takes too much memory.
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

    /// Returns the ordinals of the stripes to rewrite.
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
        for share in [-0.1, f64::NAN] {
            let refused = CompactOptions::default().with_max_deleted(share);
            let error = refused.runs(&wide).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
}
