//! The deleted rows of an edited shard.

use super::row_set::RowSet;
use super::source::SourceShard;
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{StripeProperties, Wire};
use crate::progress::{Listener, with_progress};
use crate::read::Predicate;
use crate::write::{StripeBits, bits_shard};
use std::collections::BTreeMap;
use std::ops::Range;

/// Options of [`ShardEditor::delete_with`](super::ShardEditor::delete_with).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeleteOptions {
    pub(super) listener: Listener,
}

with_progress! {
    DeleteOptions,
    /// Calls `progress` from time to time with the number of rows that have been tested. If it breaks, no row is
    /// deleted.
}

/// A stripe of an edited shard.
#[derive(Debug, Clone)]
pub(super) struct EditedStripe {
    /// Ordinal of the source.
    pub(super) source: usize,
    /// Ordinal of the stripe in the source.
    pub(super) ordinal: u64,
    /// Number of rows, deleted rows included.
    pub(super) rows: u64,
    pub(super) deleted_rows: u64,
    /// Number of bytes of the rows before encoding, or 0 if unknown.
    pub(super) raw_bytes: u64,
    pub(super) deleted: Deleted,
    /// The properties, if they differ from the source.
    pub(super) properties: Option<StripeProperties>,
}

/// The deleted rows of a stripe.
#[derive(Debug, Clone)]
pub(super) enum Deleted {
    /// The same rows as in the source.
    AsThere,
    /// No row.
    Nothing,
    /// These rows, at least one.
    Rows(RowSet),
}

impl EditedStripe {
    /// Returns all stripes of a source. `ordinal` is its ordinal among the sources.
    pub(super) fn all_of(source: &SourceShard, ordinal: usize) -> Vec<Self> {
        let stripes = (0..).zip(&source.stripes);
        let stripes = stripes.map(|(i, stripe)| Self {
            source: ordinal,
            ordinal: i,
            rows: stripe.total_record_count,
            deleted_rows: stripe.deleted_record_count,
            raw_bytes: stripe.raw_data_size.unwrap_or(0),
            deleted: Deleted::AsThere,
            properties: None,
        });
        stripes.collect()
    }

    /// Whether the stripe is unchanged; `source` is its shard.
    pub(super) fn is_as_there(&self, source: &SourceShard) -> bool {
        let place = usize::try_from(self.ordinal);
        let there = place.ok().and_then(|place| source.stripes.get(place));
        let deletes_are_as_there = match &self.deleted {
            Deleted::AsThere => true,
            Deleted::Nothing => there.is_some_and(|there| there.deleted_record_count == 0),
            Deleted::Rows(_) => false,
        };
        deletes_are_as_there && self.properties.is_none()
    }

    /// Returns the deleted rows.
    async fn deleted(&self, source: &SourceShard) -> Result<RowSet> {
        let mut deleted = RowSet::none(self.rows);
        match &self.deleted {
            Deleted::Rows(rows) => return Ok(rows.clone()),
            Deleted::Nothing => {}
            Deleted::AsThere => {
                let first = source.first_row(self.ordinal);
                let rows = first..first + self.rows;
                let found = |rows: Range<u64>| deleted.insert(rows.start - first..rows.end - first);
                let read = source.shard.for_each_deleted(self.ordinal, rows, found);
                read.await?;
            }
        }
        Ok(deleted)
    }

    /// Deletes or restores rows. Returns the number of rows that changed.
    pub(super) async fn set(
        &mut self,
        source: &SourceShard,
        rows: &RowSet,
        is_deleted: bool,
    ) -> Result<u64> {
        let mut deleted = self.deleted(source).await?;
        let before = deleted.len();
        if is_deleted {
            deleted.add(rows);
        } else {
            deleted.remove(rows);
        }
        let count = deleted.len();
        let changed = count.abs_diff(before);
        if changed > 0 {
            if count > 0 && count < self.rows {
                let checked = self.check_bits(source);
                checked.within(|| format!("stripe {}", self.ordinal))?;
            }
            self.deleted_rows = count;
            self.deleted = match count {
                0 => Deleted::Nothing,
                _ => Deleted::Rows(deleted),
            };
        }
        Ok(changed)
    }

    /// Fails if a bit for each row would exceed the limit of readers.
    fn check_bits(&self, source: &SourceShard) -> Result<()> {
        let (rows, most) = (self.rows, source.shard.limits().max_batch_bytes());
        if rows.div_ceil(8) <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "the stripe has {rows} rows, and a bit for each would exceed Limits::max_batch_bytes \
                 ({most}); delete all of its rows, or rewrite it with fewer rows a stripe"
            ),
        ))
    }

    /// Restores all rows. Returns the number of rows that were deleted.
    pub(super) fn undelete(&mut self) -> u64 {
        self.deleted = Deleted::Nothing;
        std::mem::take(&mut self.deleted_rows)
    }
}

/// Sets of rows, by ordinal of their stripe.
#[derive(Debug, Default)]
pub(super) struct RowSets(BTreeMap<usize, RowSet>);

impl RowSets {
    /// Returns the rows of a shard that match, by ordinal of the stripe in the shard. Calls `left` with the number of
    /// rows that have not been tested; its error ends the search.
    pub(super) async fn matching(
        source: &SourceShard,
        predicate: &Predicate,
        left: impl FnMut(u64) -> Result<()>,
    ) -> Result<Self> {
        let starts: Vec<(u64, u64)> = source.starts_and_lens().collect();
        let mut sets = Self::default();
        let found = |rows: Range<u64>| sets.insert(&starts, rows);
        let matches = source.shard.for_each_match(predicate.clone(), found, left);
        matches.await?;
        Ok(sets)
    }

    /// Returns the sets for rows by number. `starts` has the first row and the number of rows of each stripe.
    pub(super) fn of_rows(starts: &[(u64, u64)], rows: &[u64]) -> Result<Self> {
        let mut sets = Self::default();
        for &row in rows {
            sets.insert(starts, row..row.saturating_add(1))?;
        }
        Ok(sets)
    }

    /// Adds consecutive rows, which may belong to several stripes.
    fn insert(&mut self, starts: &[(u64, u64)], rows: Range<u64>) -> Result<()> {
        let mut row = rows.start;
        while row < rows.end || row == rows.start {
            // An empty stripe begins at the same row as the next stripe. This finds the last of them.
            let stripe = starts.partition_point(|(start, _)| *start <= row);
            let found = stripe
                .checked_sub(1)
                .and_then(|i| Some((i, starts.get(i)?)));
            let Some((stripe, (start, len))) = found.filter(|(_, (start, len))| row - start < *len)
            else {
                let end = starts.last().map_or(0, |(start, len)| start + len);
                return Err(Error::new(
                    ErrorKind::RowOutOfRange,
                    format!("row {row} of a shard of {end} rows, the deleted ones included"),
                ));
            };
            let end = rows.end.min(start + len);
            let set = self.0.entry(stripe).or_insert_with(|| RowSet::none(*len));
            set.insert(row - start..end - start);
            row = end;
        }
        Ok(())
    }

    /// Returns the rows of each stripe that has any.
    pub(super) fn finish(self) -> BTreeMap<usize, RowSet> {
        self.0
    }
}

/// Returns the bytes of a shard with one column, which marks the deleted rows. It has one stripe for each given set.
pub(super) fn deletes_shard(stripes: &[&RowSet], wire: Wire) -> Result<Vec<u8>> {
    let stripes = stripes.iter().map(|deleted| StripeBits {
        rows: deleted.rows(),
        ones: deleted.len(),
        pieces: deleted.bits(),
    });
    bits_shard("deleted", stripes, wire)
}
