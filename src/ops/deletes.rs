//! Which rows of an edited shard are deleted.

use super::source::Source;
use crate::Limits;
use crate::error::{Error, ErrorKind, Result, to_usize};
use crate::format::StripeProperties;
use crate::read::Predicate;
use crate::write::{Profile, ShardWriter, Wire, WriterOptions};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, Field, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stripe of an edited shard.
#[derive(Debug, Clone)]
pub(super) struct Stripe {
    /// Ordinal of the source.
    pub(super) source: usize,
    /// Ordinal of the stripe in it.
    pub(super) ordinal: u64,
    /// Rows, the deleted ones included.
    pub(super) rows: u64,
    pub(super) deleted_rows: u64,
    /// Bytes of the rows before encoding, where that is known.
    pub(super) raw_bytes: u64,
    pub(super) deleted: Deleted,
    /// The properties, if not those of the source.
    pub(super) properties: Option<StripeProperties>,
}

/// Which rows of a stripe are deleted.
#[derive(Debug, Clone)]
pub(super) enum Deleted {
    /// Those of the source.
    AsThere,
    /// None.
    Nothing,
    /// These, and there are some.
    Rows(BooleanBuffer),
}

impl Stripe {
    /// The stripes of source number `ordinal`.
    pub(super) fn all_of(source: &Source, ordinal: usize) -> Vec<Self> {
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

    /// Which rows are deleted.
    async fn deleted(&self, source: &Source) -> Result<BooleanBuffer> {
        match &self.deleted {
            Deleted::Rows(rows) => Ok(rows.clone()),
            Deleted::Nothing => Ok(BooleanBuffer::new_unset(bits(self.rows)?)),
            Deleted::AsThere => {
                let first = source.first_row(self.ordinal);
                source.shard.deleted_rows(first..first + self.rows).await
            }
        }
    }

    /// Deletes rows, or takes that back. Gives how many have changed.
    pub(super) async fn set(
        &mut self,
        source: &Source,
        rows: &BooleanBuffer,
        is_deleted: bool,
    ) -> Result<u64> {
        let before = self.deleted(source).await?;
        let after = match is_deleted {
            true => &before | rows,
            false => &before & &!rows,
        };
        let count = after.count_set_bits() as u64;
        let changed = count.abs_diff(before.count_set_bits() as u64);
        if changed > 0 {
            self.deleted_rows = count;
            self.deleted = match count {
                0 => Deleted::Nothing,
                _ => Deleted::Rows(after),
            };
        }
        Ok(changed)
    }

    /// Takes all deletes back. Gives how many have changed.
    pub(super) fn undelete(&mut self) -> u64 {
        self.deleted = Deleted::Nothing;
        std::mem::take(&mut self.deleted_rows)
    }
}

/// The length of a bit for each of the rows of a stripe, which its directory may say anything of.
fn bits(rows: u64) -> Result<usize> {
    Limits::default().check_batch_bytes(rows.div_ceil(8), 1)?;
    to_usize(rows)
}

/// Rows, by the ordinal of their stripe.
#[derive(Debug, Default)]
pub(super) struct RowSets(BTreeMap<usize, BooleanBufferBuilder>);

impl RowSets {
    /// The rows of a shard that match, by ordinal of the stripe there. `left` is told how many have not been
    /// looked at yet.
    pub(super) async fn matching(
        source: &Source,
        predicate: &Predicate,
        left: impl FnMut(u64),
    ) -> Result<Self> {
        let starts: Vec<(u64, u64)> = source.starts_and_lens().collect();
        let (mut sets, mut failed) = (Self::default(), Ok(()));
        let found = |row: u64| {
            if failed.is_ok() {
                failed = sets.insert(&starts, row);
            }
        };
        source
            .shard
            .for_each_match(predicate.clone(), found, left)
            .await?;
        failed?;
        Ok(sets)
    }

    /// Rows by number, of stripes that begin where `starts` says, and have so many rows.
    pub(super) fn of_rows(starts: &[(u64, u64)], rows: &[u64]) -> Result<Self> {
        let mut sets = Self::default();
        for &row in rows {
            sets.insert(starts, row)?;
        }
        Ok(sets)
    }

    fn insert(&mut self, starts: &[(u64, u64)], row: u64) -> Result<()> {
        // Empty stripes begin where the one after them does.
        let stripe = starts.partition_point(|(start, _)| *start <= row);
        let found = stripe
            .checked_sub(1)
            .and_then(|i| Some((i, starts.get(i)?)));
        let Some((stripe, (start, rows))) = found.filter(|(_, (start, len))| row - start < *len)
        else {
            let end = starts.last().map_or(0, |(start, len)| start + len);
            return Err(Error::new(
                ErrorKind::RowOutOfRange,
                format!("row {row} of a shard of {end} rows, the deleted ones included"),
            ));
        };
        let (place, rows) = (to_usize(row - start)?, bits(*rows)?);
        let set = self.0.entry(stripe).or_insert_with(|| {
            let mut set = BooleanBufferBuilder::new(rows);
            set.append_n(rows, false);
            set
        });
        set.set_bit(place, true);
        Ok(())
    }

    /// The rows of each stripe that has any.
    pub(super) fn finish(self) -> BTreeMap<usize, BooleanBuffer> {
        let sets = self.0.into_iter();
        sets.map(|(stripe, mut set)| (stripe, set.finish()))
            .collect()
    }
}

/// A shard of one column, which says what is deleted: a stripe for each of those that are given.
pub(super) fn deletes_shard(stripes: &[&BooleanBuffer], wire: Wire) -> Result<Vec<u8>> {
    let schema = Arc::new(Schema::new(vec![Field::new(
        "deleted",
        DataType::Boolean,
        false,
    )]));
    let options = WriterOptions::default()
        .with_wire(wire)
        .with_profile(Profile::Balanced)
        .with_stripe_rows(u64::MAX)
        .with_stripe_bytes(u64::MAX)
        .with_memory_limit(u64::MAX);
    let mut file = Vec::new();
    let mut writer = ShardWriter::try_new(&mut file, schema.clone(), options)?;
    for deleted in stripes {
        let column = Arc::new(BooleanArray::new((*deleted).clone(), None)) as ArrayRef;
        writer.write(&RecordBatch::try_new(schema.clone(), vec![column])?)?;
        writer.flush_stripe()?;
    }
    writer.finish()?;
    Ok(file)
}
