//! Spec: Chapter 6, "(Shard) Field Descriptor": the values of columns, held against all that filters
//! believe of them without reading them.

use super::super::inspect::contradictions;
use super::report::At;
use super::statistics::counts_nulls;
use super::{Column, Stripe, Verifier};
use crate::buffer::{Body, Physical, Storage};
use crate::error::{Error, Result};
use crate::format::{BufferKind, INDEX_BLOCK};
use crate::read::filter::predicate::{FilterColumn, Test};
use crate::read::filter::prune::{Facts, is_nan};
use crate::read::filter::{Bounds, FactsScope, absent, facts};
use crate::read::shard::metadata::StripeField;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, Scalar, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::cast;
use arrow_ord::cmp::{gt, gt_eq, lt, lt_eq, neq};
use arrow_schema::ArrowError;
use arrow_select::filter::filter;
use arrow_select::take::take;
use std::collections::HashSet;
use std::sync::Arc;

/// Facts that the metadata state about a column of a stripe, or about a member of structs in it.
pub(super) struct Claims {
    column: FilterColumn,
    /// Ordinals that lead from the column to the member.
    ordinals: Vec<usize>,
    facts: Facts,
    field: Arc<StripeField>,
    index: Option<Bounds>,
    /// Null rows counted so far.
    nulls: u64,
    /// Facts that have been refuted.
    refuted: HashSet<&'static str>,
}

/// The values of some rows.
struct MemberRows {
    /// In the type of the member's values.
    values: ArrayRef,
    /// Rows that are not null, and not in a null struct either.
    valid: BooleanBuffer,
    /// Values that are NaN.
    nan: BooleanBuffer,
}

type Compare = fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>;

impl Claims {
    /// Returns the values of the member, from the values of the column; `None` if they cannot be cast to the type of
    /// the claims.
    fn rows(&self, column: &ArrayRef) -> Option<MemberRows> {
        let (mut values, mut nulls) = (column.clone(), None);
        for &ordinal in &self.ordinals {
            nulls = NullBuffer::union(nulls.as_ref(), values.nulls());
            values = values.as_struct_opt()?.columns().get(ordinal)?.clone();
        }
        if values.data_type() != &self.column.value_type {
            values = cast(&values, &self.column.value_type).ok()?;
        }
        let len = values.len();
        let nulls = NullBuffer::union(nulls.as_ref(), values.logical_nulls().as_ref());
        let nan = if self.column.value_type.is_floating() {
            BooleanBuffer::collect_bool(len, |i| is_nan(&values, i))
        } else {
            BooleanBuffer::new_unset(len)
        };
        Some(MemberRows {
            valid: nulls.map_or_else(|| BooleanBuffer::new_set(len), |n| n.inner().clone()),
            values,
            nan,
        })
    }

    /// Returns the rows that contradict a fact, for each fact. The first row has the number `first` in the stripe.
    fn wrong(&self, rows: &MemberRows, first: u64) -> Result<Vec<(&'static str, BooleanBuffer)>> {
        let MemberRows { values, valid, nan } = rows;
        let numbers = valid & &!nan;
        let found = |compare: Compare, other: &dyn Datum| -> Result<BooleanBuffer> {
            let (found, known) = compare(values, other)?.into_parts();
            Ok(known.map_or(found.clone(), |known| &found & known.inner()))
        };
        let mut wrong = Vec::new();
        if !self.ordinals.is_empty() {
            // The nulls of whole columns are counted instead.
            if !self.facts.may_be_null {
                wrong.push(("is null, and none is said to be", !valid));
            }
            if !self.facts.may_be_present {
                wrong.push(("holds a value, and all are said to be null", valid.clone()));
            }
        }
        if let Some(constant) = &self.facts.constant {
            let differs = found(neq, &Scalar::new(constant))?;
            wrong.push(("differs from constant_value", &differs & valid));
        }
        if let Some(low) = &self.facts.low {
            let compare: Compare = if low.inclusive { lt } else { lt_eq };
            let below = found(compare, &Scalar::new(&low.value))?;
            wrong.push(("is below min_value", &below & &numbers));
        }
        if let Some(high) = &self.facts.high {
            let compare: Compare = if high.inclusive { gt } else { gt_eq };
            let above = found(compare, &Scalar::new(&high.value))?;
            wrong.push(("is above max_value", &above & &numbers));
        }
        if !self.facts.may_be_nan {
            wrong.push(("is no number, and all are said to be", valid & nan));
        }
        if let Some(descriptor) = self.field.descriptor()
            && descriptor.bloom_filter.is_some()
        {
            let values = filter(values, &BooleanArray::new(valid.clone(), None))?;
            // The values are looked up in the filter only, which takes them in any order.
            let (has_null, set) = (false, None);
            let test = Test::In {
                values,
                has_null,
                set,
            };
            if let Some(lacking) = absent(&self.column, descriptor, &test) {
                let rows = valid.set_indices().zip(&lacking);
                let lacking = rows.filter(|(_, lacks)| *lacks).map(|(row, _)| row);
                let lacking: HashSet<usize> = lacking.collect();
                let lacks = BooleanBuffer::collect_bool(valid.len(), |i| lacking.contains(&i));
                wrong.push(("is not in the Bloom filter", lacks));
            }
        }
        if let Some(index) = &self.index {
            let count = valid.len() as u64;
            let blocks = (first..first + count).map(|row| row / INDEX_BLOCK);
            let blocks = UInt64Array::from_iter_values(blocks);
            let bit = |bits: &BooleanBuffer| -> Result<BooleanBuffer> {
                let bits = BooleanArray::new(bits.clone(), None);
                Ok(take(&bits, &blocks, None)?.as_boolean().values().clone())
            };
            let below = found(lt, &take(&index.low, &blocks, None)?)?;
            let above = found(gt, &take(&index.high, &blocks, None)?)?;
            let outside = &(&below | &above) & &numbers;
            wrong.push(("is outside of its block in the range index", outside));
            let hidden =
                &(&!&bit(&index.present)? & valid) | &(&!&bit(&index.nan)? & &(valid & nan));
            wrong.push((
                "is in a block without such values in the range index",
                hidden,
            ));
            let nulls = &!&bit(&index.nulls)? & &!valid;
            wrong.push(("is null in a block without nulls in the range index", nulls));
        }
        Ok(wrong)
    }
}

impl Verifier<'_> {
    /// Returns the facts about a column of a stripe and its members, as far as they can be read.
    pub(super) async fn claims(&mut self, stripe: &Stripe, column: &Column) -> Vec<Claims> {
        let metadata = &self.shard.metadata;
        let mut all = Vec::new();
        for (column, ordinals) in FilterColumn::all_of(column) {
            let at = self.at(stripe, &column.path());
            let keys = column
                .nodes()
                .map(|node| (stripe.ordinal(), node.schema_id));
            let keys: Vec<_> = keys.collect();
            let read = metadata.run(|step| {
                let fields = keys.iter().map(|key| metadata.field(step, *key));
                fields.collect::<Result<Option<Vec<_>>>>()
            });
            let read = read.await;
            let Some(fields) = self.again(&at, read) else {
                continue;
            };
            let known: Vec<_> = fields.iter().map(|field| field.descriptor()).collect();
            // A descriptor that contradicts itself is reported elsewhere; it states nothing reliable about the values.
            if known
                .iter()
                .flatten()
                .any(|d| !contradictions(d).is_empty())
            {
                continue;
            }
            let scope = FactsScope::Stripe {
                ordinal: stripe.ordinal(),
                rows: stripe.all_rows(),
                stored_types: &metadata.stored_types,
            };
            let facts = facts(&column, &known, scope);
            let Some(field) = fields.last().cloned() else {
                continue;
            };
            let leaf = column.leaf();
            let key = (stripe.ordinal(), leaf.schema_id);
            let read = metadata
                .run(|step| metadata.range_index(step, key, leaf))
                .await;
            let index = self.again(&at, read).flatten();
            let index = index.filter(|index| index.positions() == stripe.all_rows());
            all.push(Claims {
                index: index.and_then(|index| Bounds::new(&index, &column, &facts)),
                column,
                ordinals,
                facts,
                field,
                nulls: 0,
                refuted: HashSet::new(),
            });
        }
        all
    }

    /// Compares the values of some rows of a column, from row `first` of the stripe on, with the facts about them.
    /// Reports the first row that refutes each kind of fact.
    pub(super) async fn values(
        &mut self,
        stripe: &Stripe,
        claims: &mut [Claims],
        column: &ArrayRef,
        first: u64,
    ) {
        for claims in claims {
            let Some(rows) = claims.rows(column) else {
                continue;
            };
            claims.nulls += (rows.valid.len() - rows.valid.count_set_bits()) as u64;
            let wrong = match claims.wrong(&rows, first) {
                Ok(wrong) => wrong,
                Err(error) => {
                    let at = self.at(stripe, &claims.column.path());
                    self.add(at, error);
                    continue;
                }
            };
            for (what, rows) in wrong {
                let Some(row) = rows.set_indices().next() else {
                    continue;
                };
                if claims.refuted.insert(what) {
                    let row = first + row as u64;
                    let at = self.place_of(stripe, &claims.column, row).await;
                    let text = format!("row {row} of the stripe {what}");
                    self.report.add(at, &Error::corrupt(text));
                }
            }
        }
    }

    /// Compares the number of nulls in each member of structs with its descriptor, after all rows were read. Members
    /// below a struct that may be null are skipped, because their descriptors do not count its nulls.
    pub(super) fn member_nulls(&mut self, stripe: &Stripe, claims: &[Claims]) {
        let rows = stripe.all_rows();
        let members = claims.iter().filter(|claims| !claims.ordinals.is_empty());
        for member in members.filter(|member| counts_nulls(member.column.leaf())) {
            let mut around = claims.iter().filter(|other| {
                other.ordinals.len() < member.ordinals.len()
                    && member.ordinals.starts_with(&other.ordinals)
            });
            let known = member.field.descriptor();
            let nulls = known.filter(|known| known.position_count == rows);
            let nulls = nulls.and_then(|known| known.null_count);
            if let Some(nulls) = nulls.filter(|nulls| *nulls != member.nulls)
                && around.all(|other| !other.facts.may_be_null)
            {
                let at = self.at(stripe, &member.column.path());
                let found = member.nulls;
                let text = format!("{nulls} rows are said to be null, and {found} are");
                self.report.add(at, &Error::corrupt(text));
            }
        }
    }

    /// Returns the place of a row of a member: its block, if its values are stored in blocks.
    async fn place_of(&mut self, stripe: &Stripe, column: &FilterColumn, row: u64) -> At {
        let at = self.at(stripe, &column.path());
        let metadata = &self.shard.metadata;
        let key = (stripe.ordinal(), column.leaf().schema_id);
        let open = metadata.run(|step| metadata.open_field(step, key, column.leaf()));
        let Ok(open) = open.await else { return at };
        let Storage::Buffers(buffers) = &open.layout.storage else {
            return at;
        };
        let by_row = matches!(
            open.layout.physical,
            Physical::Number(_) | Physical::Fixed(_) | Physical::Bytes
        );
        let Some(data) = buffers.data.as_ref().filter(|_| by_row) else {
            return at;
        };
        let at = at.buffer(
            BufferKind::Data,
            metadata.artifacts.name_of(data.place.artifact),
        );
        match &data.body {
            Body::Blocks(blocks) if !buffers.has_separate_offsets() => {
                let block = blocks
                    .map()
                    .and_then(|map| map.overlapping(row..row + 1).next());
                block.map_or(at.clone(), |block| at.block(block.ordinal))
            }
            _ => at,
        }
    }
}
