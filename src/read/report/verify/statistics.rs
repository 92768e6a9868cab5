//! Spec: Chapter 6, "(Shard) Field Descriptor": what descriptors say of fields, as far as it is cheap
//! to see that it is false.

use super::super::concurrent_parts::in_order;
use super::super::inspect::contradictions;
use super::report::At;
use super::{Stripe, Verifier, VerifyOptions, nodes_of};
use crate::error::{Error, Result, Within};
use crate::format::{AnyValue, BasicType, DataType, FieldDescriptor, Schema};
use crate::read::scan::constant::{bound_value, check_value};
use crate::read::shard::metadata::Metadata;
use std::collections::{HashMap, HashSet};

/// Sums of the counts of all stripes, by field, for comparison with the counts of the shard.
#[derive(Debug, Default)]
pub(super) struct Counts {
    fields: HashMap<u32, Count>,
    /// Fields that a stripe lacks. Their rows may be counted as nulls or not at all.
    absent: HashSet<u32>,
    /// Whether a descriptor could not be read.
    is_incomplete: bool,
}

/// Number of positions, and of nulls if all stripes with the field state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    positions: u64,
    nulls: Option<u64>,
}

impl Default for Count {
    fn default() -> Self {
        Self {
            positions: 0,
            nulls: Some(0),
        }
    }
}

impl Count {
    fn add(&mut self, more: Self) {
        self.positions = self.positions.saturating_add(more.positions);
        let nulls = self.nulls.zip(more.nulls);
        self.nulls = nulls.map(|(some, more)| some.saturating_add(more));
    }
}

impl Counts {
    /// Records that a descriptor could not be read.
    pub(super) fn miss(&mut self) {
        self.is_incomplete = true;
    }

    fn add(&mut self, id: u32, known: &FieldDescriptor) {
        let count = self.fields.entry(id).or_default();
        count.add(Count {
            positions: known.position_count,
            nulls: known.null_count,
        });
    }

    /// Adds the counts of other stripes and fields.
    pub(super) fn absorb(&mut self, other: Self) {
        for (id, more) in other.fields {
            self.fields.entry(id).or_default().add(more);
        }
        self.absent.extend(other.absent);
        self.is_incomplete |= other.is_incomplete;
    }

    /// Records that a stripe does not have a field.
    pub(super) fn lack(&mut self, id: u32) {
        self.absent.insert(id);
    }

    /// Returns the counts of a field, if there are any and all are known.
    fn get(&self, id: u32) -> Option<Count> {
        let count = self.fields.get(&id).copied();
        count.filter(|_| !self.is_incomplete && !self.absent.contains(&id))
    }
}

impl Verifier<'_> {
    /// Checks the statistics in the descriptor of a field of a stripe.
    pub(super) fn stripe_statistics(&mut self, known: &FieldDescriptor, node: &DataType, at: &At) {
        self.counts.add(node.schema_id, known);
        self.statistics(known, node, at);
    }

    /// Checks that the constant and the bounds of a field fit its type, and that its statistics do not contradict each
    /// other.
    fn statistics(&mut self, known: &FieldDescriptor, node: &DataType, at: &At) {
        let range = known.range_stats.as_ref();
        let bound = |value: Option<&AnyValue>, inclusive| bound_value(value?, inclusive, node);
        let constant = known.constant_value.as_ref();
        let values = [
            ("constant_value", constant.filter(|v| !v.is_null()).cloned()),
            (
                "min_value",
                range.and_then(|r| bound(r.min_value.as_ref(), r.min_inclusive)),
            ),
            (
                "max_value",
                range.and_then(|r| bound(r.max_value.as_ref(), r.max_inclusive)),
            ),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                let checked = check_value(&value, node);
                self.note(at.clone(), checked.within(|| name.to_owned()));
            }
        }
        for what in contradictions(known) {
            self.report.add(at.clone(), &Error::corrupt(what));
        }
    }

    /// Compares the number of nulls that were read from a column of a stripe with the number in its descriptor. `read`
    /// is `None` if some rows were not read.
    pub(super) async fn nulls(&mut self, stripe: &Stripe, node: &DataType, read: Option<u64>) {
        let key = (stripe.ordinal(), node.schema_id);
        let metadata = &self.shard.metadata;
        let field = metadata.run(|step| metadata.field(step, key)).await;
        let at = self.at(stripe, &node.name);
        let field = self.again(&at, field);
        let known = field.as_ref().and_then(|field| field.descriptor());
        let known = known.filter(|_| counts_nulls(node));
        let Some((known, read)) = known.zip(read) else {
            return;
        };
        // Rows after the last position are null.
        let missing = stripe.all_rows().saturating_sub(known.position_count);
        let nulls = known.null_count.map(|nulls| nulls.saturating_add(missing));
        if let Some(nulls) = nulls.filter(|nulls| *nulls != read) {
            let text = format!("{nulls} rows are said to be null, and {read} are");
            self.report.add(at, &Error::corrupt(text));
        }
    }

    /// Checks the shard-level descriptors.
    pub(super) async fn shard_fields(&mut self, schema: &Schema, options: &VerifyOptions) {
        let metadata = &self.shard.metadata;
        let nodes = schema.fields.iter();
        let mut nodes = nodes.flat_map(|field| nodes_of(&field.data_type));
        let Some((node, path)) = nodes.next() else {
            return;
        };
        // The first request reads the list that locates all descriptors.
        let described = shard_descriptor(metadata, node).await;
        if !metadata.has_shard_field_list() {
            // The list is damaged, so one error is enough.
            self.note(self.root(), described);
            return;
        }
        self.shard_field(node, path, described);
        let others = nodes.map(|(node, path)| async move {
            let described = shard_descriptor(metadata, node).await;
            (node, path, described)
        });
        in_order(others, options.prefetch, |(node, path, described)| {
            self.shard_field(node, path, described);
        })
        .await;
    }

    /// Checks the shard-level descriptor of a field.
    fn shard_field(
        &mut self,
        node: &DataType,
        path: String,
        described: Result<Option<FieldDescriptor>>,
    ) {
        let at = At {
            field: Some(path),
            ..self.root()
        };
        if let Some(Some(known)) = self.note(at.clone(), described) {
            self.statistics(&known, node, &at);
            self.shard_counts(&known, node.schema_id, &at);
        }
    }

    /// Compares the counts of a shard-level descriptor with the sums of the stripes.
    fn shard_counts(&mut self, known: &FieldDescriptor, id: u32, at: &At) {
        let Some(stripes) = self.counts.get(id) else {
            return;
        };
        let positions = Some((known.position_count, stripes.positions));
        let nulls = known.null_count.zip(stripes.nulls);
        for (name, counts) in [("position_count", positions), ("null_count", nulls)] {
            if let Some((of_shard, sum)) = counts.filter(|(of_shard, sum)| of_shard != sum) {
                let text =
                    format!("{name} is {of_shard}, and those of the stripes add up to {sum}");
                self.report.add(at.clone(), &Error::corrupt(text));
            }
        }
    }
}

async fn shard_descriptor(metadata: &Metadata, node: &DataType) -> Result<Option<FieldDescriptor>> {
    let id = node.schema_id;
    let described = metadata.run(|step| {
        metadata
            .shard_descriptor(step, id)
            .within(|| format!("shard-level descriptor of schema node {id}"))
    });
    described.await
}

/// Whether a descriptor counts the nulls of a node as readers see them. A union is null where its active member is
/// null, and a unit has no values.
pub(super) fn counts_nulls(node: &DataType) -> bool {
    !matches!(node.basic_type, BasicType::Union | BasicType::Unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_known_where_all_stripes_tell_them() {
        let known = |position_count, null_count| FieldDescriptor {
            position_count,
            null_count,
            ..FieldDescriptor::default()
        };
        let mut counts = Counts::default();
        counts.add(3, &known(100, Some(7)));
        counts.add(3, &known(20, Some(2)));
        counts.add(4, &known(100, Some(7)));
        counts.add(4, &known(20, None));
        let count = |positions, nulls| Some(Count { positions, nulls });
        assert_eq!(counts.get(3), count(120, Some(9)));
        assert_eq!(counts.get(4), count(120, None));
        assert_eq!(counts.get(5), None);
        // A shard may count the rows of a stripe without the field, or omit them.
        counts.lack(3);
        assert_eq!(counts.get(3), None);
        assert_eq!(counts.get(4), count(120, None));
        counts.miss();
        assert_eq!(counts.get(4), None);
    }
}
