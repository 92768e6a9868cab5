//! The predicate of a scan, and the plans of the stripes that it is tested in.

use super::Counters;
use super::dynamic::{Conditions, DynamicPredicate};
use super::metrics::PruningLevel;
use super::predicate::{BoundPredicate, FilterColumn, Leaf, PredicateNode, Test, Truth};
use super::prune::{Facts, simplify, truth};
use super::range_index::{IndexedStripe, indexed_columns};
use super::statistics::{FactsScope, absent, facts};
use super::stripe_plan::{Conjunct, EntryTests, Matching, StripePlan};
use crate::buffer::{RangeIndex, Selection};
use crate::column::{DictionaryEntries, has_dictionary};
use crate::error::{ErrorKind, Result, Within};
use crate::format::{FieldDescriptor, StripeDirectory};
use crate::read::scan::opening::open_fields;
use crate::read::scan::source::StripeFields;
use crate::read::shard::column::Column;
use crate::read::shard::fetch::StepBytes;
use crate::read::shard::metadata::{Metadata, StripeField, ready};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The predicate of a scan, and its results that stripes and readers share.
#[derive(Debug)]
pub(in crate::read) struct Filter {
    pub(super) bound: BoundPredicate,
    pub(in crate::read) counters: Arc<Counters>,
    /// Follows a dynamic predicate; `None` if the predicate does not change.
    refresh: Option<Refresh>,
    /// Whether the statistics of the shard rule out every row.
    none_matches: OnceLock<bool>,
    plans: Mutex<Plans>,
}

/// The source of later versions of a filter.
#[derive(Debug)]
struct Refresh {
    conditions: Conditions,
    source: Arc<dyn DynamicPredicate>,
    /// Version of the source when the filter was created, or an earlier one.
    version: u64,
    /// The latest filter created from these conditions, for all readers of the scan.
    latest: Arc<Mutex<Weak<Filter>>>,
}

/// The plans of stripes that are being read. They contain dictionaries and block maps, so all of them together may be
/// much larger than the metadata that a shard keeps.
#[derive(Debug, Default)]
struct Plans {
    /// By ordinal, the plans of all stripes that have been planned.
    stripes: HashMap<u64, Weak<StripePlan>>,
    /// The latest plan; the reader of the next rows is likely to ask for it.
    last: Option<Arc<StripePlan>>,
}

/// The descriptors of the nodes of a column, in a stripe or over the shard; `None` for a node that is missing there.
type Descriptors<'a> = Vec<Option<&'a FieldDescriptor>>;

impl Filter {
    pub(in crate::read) fn new(bound: BoundPredicate) -> Self {
        Self {
            bound,
            counters: Arc::default(),
            refresh: None,
            none_matches: OnceLock::new(),
            plans: Mutex::default(),
        }
    }

    /// Creates a filter for the rows that meet the conditions.
    pub(in crate::read) async fn load(metadata: &Metadata, conditions: Conditions) -> Result<Self> {
        // The version is read before the predicate, so that a change in between shows as a new version.
        let dynamic = conditions.dynamic.clone();
        let dynamic = dynamic.map(|source| (source.version(), source));
        let mut filter = Self::new(conditions.bind(metadata).await?);
        filter.refresh = dynamic.map(|(version, source)| Refresh {
            conditions,
            source,
            version,
            latest: Arc::default(),
        });
        Ok(filter)
    }

    /// Whether the filter may exclude rows.
    pub(in crate::read) fn may_skip(&self) -> bool {
        self.refresh.is_some() || !self.bound.conjuncts.is_empty()
    }

    /// Whether the predicate may have changed since the filter was created.
    pub(super) fn is_stale(&self) -> bool {
        let is_stale = |refresh: &Refresh| refresh.source.version() != refresh.version;
        self.refresh.as_ref().is_some_and(is_stale)
    }

    /// Returns the filter that replaces this one and shares its counters; `None` if the predicate has not changed.
    pub(super) async fn refreshed(&self, metadata: &Metadata) -> Result<Option<Arc<Self>>> {
        let Some(refresh) = self.refresh.as_ref().filter(|_| self.is_stale()) else {
            return Ok(None);
        };
        let lock = || {
            let latest = refresh.latest.lock();
            latest.unwrap_or_else(PoisonError::into_inner)
        };
        let latest = lock().upgrade();
        if let Some(latest) = latest.filter(|latest| !latest.is_stale()) {
            return Ok(Some(latest));
        }
        let mut filter = Self::load(metadata, refresh.conditions.clone()).await?;
        filter.counters = self.counters.clone();
        if let Some(next) = &mut filter.refresh {
            next.latest = refresh.latest.clone();
        }
        let filter = Arc::new(filter);
        *lock() = Arc::downgrade(&filter);
        Ok(Some(filter))
    }

    /// Whether the descriptors of the predicate's columns in a stripe have been read. If there is no plan yet,
    /// statistics do not rule out its rows.
    pub(super) fn are_described(&self, metadata: &Metadata, stripe: u64) -> bool {
        let mut nodes = self.bound.columns.iter().flat_map(FilterColumn::nodes);
        nodes.all(|node| metadata.has_field((stripe, node.schema_id)))
    }

    /// Returns the tests that remain in a stripe.
    pub(super) fn plan(
        &self,
        metadata: &Metadata,
        step: &StepBytes<'_>,
        ordinal: u64,
        stripe: &StripeDirectory,
    ) -> Result<Option<Arc<StripePlan>>> {
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans().stripes.get(&ordinal).and_then(Weak::upgrade) {
            return Ok(Some(plan));
        }
        let made = Arc::new(ready!(self.make_plan(metadata, step, ordinal, stripe)));
        let mut plans = plans();
        let known = plans.stripes.get(&ordinal).map(Weak::upgrade);
        if known.is_none() {
            let skipped = match made.matching {
                Matching::None(level) => Some(level),
                _ => None,
            };
            self.counters.count_stripe(ordinal, skipped);
        }
        // Another thread may have made the plan meanwhile.
        let plan = known.flatten().unwrap_or(made);
        plans.stripes.insert(ordinal, Arc::downgrade(&plan));
        plans.last = Some(plan.clone());
        Ok(Some(plan))
    }

    /// Plans a stripe. Consults the statistics of the shard and of the stripe, its range indexes and its dictionaries,
    /// in this order, until one of them decides.
    fn make_plan(
        &self,
        metadata: &Metadata,
        step: &StepBytes<'_>,
        ordinal: u64,
        stripe: &StripeDirectory,
    ) -> Result<Option<StripePlan>> {
        let bound = &self.bound;
        let decided = |matching| StripePlan::decided(ordinal, matching, step);
        if bound.conjuncts.is_empty() {
            return Ok(Some(decided(Matching::All)));
        }
        if ready!(self.none_matches(metadata, step)) {
            return Ok(Some(decided(Matching::None(PruningLevel::Statistics))));
        }
        let rows = stripe.total_record_count;
        let described = ready!(self.stripe_fields(metadata, step, ordinal));
        let descriptors: Vec<Descriptors<'_>> = described
            .iter()
            .map(|nodes| nodes.iter().map(|node| node.descriptor()).collect())
            .collect();
        let scope = FactsScope::Stripe {
            ordinal,
            rows,
            stored_types: &metadata.stored_types,
        };
        let facts = self.facts(&descriptors, scope);
        let (mut truths, matching) = self.by_statistics(&facts, &descriptors)?;
        let Matching::Some(conjuncts) = matching else {
            return Ok(Some(decided(matching)));
        };
        let indexes = ready!(self.range_indexes(metadata, step, ordinal, &conjuncts));
        let indexed = IndexedStripe::try_new(bound, rows, &facts, &truths, &indexes)?;
        let selected = match indexed {
            Some(indexed) => Some(indexed.rows(&conjuncts)?).filter(|s| s.len() < rows),
            None => None,
        };
        if selected.as_ref().is_some_and(Selection::is_empty) {
            return Ok(Some(decided(Matching::None(PruningLevel::RangeIndexes))));
        }
        let wanted = self.columns_of(&conjuncts);
        let columns: Vec<Column> = wanted
            .iter()
            .map(|&c| bound.columns[c].column.clone())
            .collect();
        let fields = ready!(open_fields(metadata, step, ordinal, rows, &columns));
        let (entries, are_coded) = self.entries(&fields, &wanted)?;
        self.apply_entries(&mut truths, &entries, &facts);
        let matching = match self.matching(&truths, PruningLevel::Dictionaries) {
            Matching::Some(conjuncts) => {
                self.without_uniform(metadata, step, &fields, &entries, conjuncts)
            }
            other => other,
        };
        let conjuncts = match matching {
            Matching::Some(conjuncts) => conjuncts,
            // All of the rows that range indexes leave match.
            Matching::All if selected.is_some() => Vec::new(),
            _ => return Ok(Some(decided(matching))),
        };
        Ok(Some(StripePlan {
            columns: self.tested_columns(&conjuncts, &are_coded),
            rows: selected,
            matching: Matching::Some(self.grouped(conjuncts, &fields, rows)),
            fields,
            entries,
        }))
    }

    /// Reads the fields of the nodes of each column in a stripe; `None` if some bytes have still to be fetched.
    fn stripe_fields(
        &self,
        metadata: &Metadata,
        step: &StepBytes<'_>,
        stripe: u64,
    ) -> Result<Option<Vec<Vec<Arc<StripeField>>>>> {
        self.of_columns(|column| {
            let mut found = Vec::new();
            for node in column.nodes() {
                let field = metadata.field(step, (stripe, node.schema_id));
                let place = || format!("stripe {stripe}, field `{}`", column.column.node.name);
                found.push(field.within(place)?);
            }
            Ok(found.into_iter().collect::<Option<Vec<_>>>())
        })
    }

    /// Whether the statistics of the shard rule out every row.
    fn none_matches(&self, metadata: &Metadata, step: &StepBytes<'_>) -> Result<Option<bool>> {
        if let Some(known) = self.none_matches.get() {
            return Ok(Some(*known));
        }
        let directory = &metadata.directory;
        if directory.field_list_ref.is_none() {
            return Ok(Some(*self.none_matches.get_or_init(|| false)));
        }
        let read = |column: &FilterColumn| {
            let mut found = Vec::new();
            for node in column.nodes() {
                let descriptor = metadata.shard_descriptor(step, node.schema_id);
                found.push(descriptor.within(|| format!("field `{}`", column.column.node.name))?);
            }
            Ok(found.into_iter().collect::<Option<Vec<_>>>())
        };
        let descriptors = ready!(self.of_columns(read));
        let descriptors: Vec<Descriptors<'_>> = descriptors
            .iter()
            .map(|nodes| nodes.iter().map(Option::as_ref).collect())
            .collect();
        let rows = directory.total_record_count;
        let facts = self.facts(&descriptors, FactsScope::Shard { rows });
        let matching = self.matching(&self.truths(&facts, &[])?, PruningLevel::Statistics);
        let none = matches!(matching, Matching::None(_));
        Ok(Some(*self.none_matches.get_or_init(|| none)))
    }

    /// Reads the nodes of each column with `read`; `None` if some bytes have still to be fetched.
    fn of_columns<T>(
        &self,
        read: impl FnMut(&FilterColumn) -> Result<Option<Vec<T>>>,
    ) -> Result<Option<Vec<Vec<T>>>> {
        // Request all columns before returning, so that one round fetches them all.
        let found: Result<Vec<_>> = self.bound.columns.iter().map(read).collect();
        Ok(found?.into_iter().collect())
    }

    /// Returns the facts about each column in its descriptors.
    fn facts(&self, descriptors: &[Descriptors<'_>], scope: FactsScope<'_>) -> Vec<Facts> {
        let columns = self.bound.columns.iter().zip(descriptors);
        columns
            .map(|(column, descriptors)| facts(column, descriptors, scope))
            .collect()
    }

    /// By ordinal of the leaf: the values of its test that no row has.
    fn absent(&self, descriptors: &[Descriptors<'_>]) -> Vec<Option<BooleanBuffer>> {
        let of = |leaf: &Leaf| {
            let descriptor = (*descriptors[leaf.column].last()?)?;
            absent(&self.bound.columns[leaf.column], descriptor, &leaf.test)
        };
        self.bound.leaves.iter().map(of).collect()
    }

    /// Returns the truth values that the leaves may have. `absent` is empty or has an entry for each leaf.
    fn truths(&self, facts: &[Facts], absent: &[Option<BooleanBuffer>]) -> Result<Vec<Truth>> {
        let leaves = self.bound.leaves.iter().enumerate();
        let truth = |(i, leaf): (usize, &Leaf)| {
            let absent = absent.get(i).and_then(Option::as_ref);
            facts[leaf.column].truth(&leaf.test, absent)
        };
        leaves.map(truth).collect()
    }

    /// Returns the range indexes that may narrow the conjuncts, by ordinal of the column.
    fn range_indexes(
        &self,
        metadata: &Metadata,
        step: &StepBytes<'_>,
        stripe: u64,
        conjuncts: &[PredicateNode],
    ) -> Result<Option<Vec<Option<Arc<RangeIndex>>>>> {
        let mut indexes = vec![None; self.bound.columns.len()];
        let mut complete = true;
        for c in indexed_columns(&self.bound, conjuncts) {
            let column = &self.bound.columns[c];
            let leaf = column.leaf();
            match metadata.range_index(step, (stripe, leaf.schema_id), leaf) {
                Ok(Some(index)) => indexes[c] = index,
                Ok(None) => complete = false,
                // An index that this reader does not understand is ignored.
                Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::LimitExceeded) => {
                }
                Err(e) => {
                    return Err(e.within(format!(
                        "stripe {stripe}, field `{}`",
                        column.column.node.name
                    )));
                }
            }
        }
        Ok(complete.then_some(indexes))
    }

    /// Returns the truth of the leaves by statistics, and by Bloom filters unless statistics decide; and the rows that
    /// match according to them.
    fn by_statistics(
        &self,
        facts: &[Facts],
        descriptors: &[Descriptors<'_>],
    ) -> Result<(Vec<Truth>, Matching<PredicateNode>)> {
        let truths = self.truths(facts, &[])?;
        let matching = self.matching(&truths, PruningLevel::Statistics);
        if !matches!(matching, Matching::Some(_)) {
            return Ok((truths, matching));
        }
        let absent = self.absent(descriptors);
        if absent.iter().all(Option::is_none) {
            return Ok((truths, matching));
        }
        let truths = self.truths(facts, &absent)?;
        let matching = self.matching(&truths, PruningLevel::MembershipFilters);
        Ok((truths, matching))
    }

    /// Returns the rows that match, given the truth of the leaves by metadata of a level.
    fn matching(&self, truths: &[Truth], level: PruningLevel) -> Matching<PredicateNode> {
        let leaf = |i: usize| truths.get(i).copied().unwrap_or(Truth::ANY);
        let mut rest = Vec::new();
        for node in &self.bound.conjuncts {
            let truth = truth(node, &leaf);
            if truth.is_none() {
                return Matching::None(level);
            }
            if !truth.is_all() {
                rest.push(simplify(node, &leaf));
            }
        }
        Matching::of(rest)
    }

    /// Returns the ordinals of the columns that predicates use, ascending.
    pub(super) fn columns_of<'a>(
        &self,
        nodes: impl IntoIterator<Item = &'a PredicateNode>,
    ) -> Vec<usize> {
        let mut columns = Vec::new();
        let mut open: Vec<&PredicateNode> = nodes.into_iter().collect();
        while let Some(node) = open.pop() {
            match node {
                PredicateNode::Known(_) => {}
                PredicateNode::Leaf(leaf) => columns.push(self.bound.leaves[*leaf].column),
                PredicateNode::Function(f) => columns.extend(&self.bound.functions[*f].columns),
                PredicateNode::And(parts) | PredicateNode::Or(parts) => open.extend(parts),
                PredicateNode::Not(part) => open.push(part),
            }
        }
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Tests every dictionary entry of the wanted columns. Returns the results by leaf, and the columns to read as
    /// codes. Other columns are read as values: an entry that is not a value of the type matters only if a row in
    /// question has it.
    fn entries(&self, fields: &StripeFields, wanted: &[usize]) -> Result<(EntryTests, Vec<bool>)> {
        let bound = &self.bound;
        let mut truths = vec![None; bound.leaves.len()];
        let mut are_coded = vec![false; bound.columns.len()];
        for &c in wanted {
            let column = &bound.columns[c];
            let Some(entries) = dictionary_of(column, fields) else {
                continue;
            };
            let leaves = bound
                .leaves
                .iter()
                .enumerate()
                .filter(|(_, leaf)| leaf.column == c);
            let leaves = leaves.filter(|(_, leaf)| !matches!(leaf.test, Test::IsNull));
            let of = |(i, leaf): (usize, &Leaf)| {
                let entries = entries.array(&column.value_type, column.leaf())?;
                Ok((i, Arc::new(leaf.test.of(&entries)?)))
            };
            match leaves.map(of).collect::<Result<Vec<_>>>() {
                Ok(found) => {
                    are_coded[c] = true;
                    for (i, entries) in found {
                        truths[i] = Some(entries);
                    }
                }
                Err(e) if e.kind() == ErrorKind::ValueOutOfRange => {}
                Err(e) => {
                    let name = &column.leaf().name;
                    return Err(e.within(format!("stripe {}, field `{name}`", fields.stripe)));
                }
            }
        }
        Ok((truths, are_coded))
    }

    /// Replaces the truth of the leaves that were tested for every dictionary entry of their column.
    fn apply_entries(&self, truths: &mut [Truth], entries: &EntryTests, facts: &[Facts]) {
        for (i, entries) in entries.iter().enumerate() {
            if let Some(entries) = entries {
                let column = &facts[self.bound.leaves[i].column];
                let mut found = Truth::of(entries);
                found.may_be_unknown |= column.may_be_null;
                truths[i] = found;
            }
        }
    }

    /// Returns the columns that conjuncts test, by ordinal of the column. `are_coded` says which are read as codes.
    fn tested_columns(
        &self,
        conjuncts: &[PredicateNode],
        are_coded: &[bool],
    ) -> Vec<Option<Column>> {
        let tested = self.columns_of(conjuncts);
        let columns = self.bound.columns.iter().enumerate();
        let read = |(c, column): (usize, &FilterColumn)| {
            tested.contains(&c).then(|| {
                if are_coded[c] {
                    column.with_value_type(&DataType::Dictionary(
                        Box::new(DataType::UInt32),
                        Box::new(column.value_type.clone()),
                    ))
                } else {
                    column.column.clone()
                }
            })
        };
        columns.map(read).collect()
    }

    /// Groups conjuncts of the same columns, so that each column is read once.
    fn grouped(
        &self,
        nodes: Vec<PredicateNode>,
        fields: &StripeFields,
        rows: u64,
    ) -> Vec<Conjunct> {
        let mut groups: Vec<Conjunct> = Vec::new();
        for node in nodes {
            let columns = self.columns_of([&node]);
            let calls = node.calls();
            let same = |group: &&mut Conjunct| !calls && !group.calls && group.columns == columns;
            match groups.iter_mut().find(same) {
                Some(group) => {
                    let all = std::mem::replace(&mut group.node, PredicateNode::And(Vec::new()));
                    group.node = match all {
                        PredicateNode::And(mut parts) => {
                            parts.push(node);
                            PredicateNode::And(parts)
                        }
                        one => PredicateNode::And(vec![one, node]),
                    };
                }
                None => {
                    let bytes: u64 = columns
                        .iter()
                        .map(|&c| stored_bytes(&self.bound.columns[c], fields))
                        .sum();
                    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                    let cost = 0.25 + bytes as f64 / rows.max(1) as f64;
                    groups.push(Conjunct {
                        node,
                        columns,
                        cost,
                        calls,
                    });
                }
            }
        }
        groups
    }
}

/// Returns the dictionary of a column that is stored with one.
fn dictionary_of<'a>(
    column: &FilterColumn,
    fields: &'a StripeFields,
) -> Option<&'a DictionaryEntries> {
    let leaf = column.leaf();
    // Entries of another type are not tested: values are cast when they are read.
    let is_cast = fields.stored_as(leaf.schema_id).is_some();
    let may_have = column.is_tested && has_dictionary(leaf.basic_type) && !is_cast;
    let dictionary = fields.dictionary(leaf.schema_id).filter(|_| may_have)?;
    Some(dictionary)
}

fn stored_bytes(column: &FilterColumn, fields: &StripeFields) -> u64 {
    let mut bytes = 0u64;
    column.column.node.walk(&mut |node| {
        if let Some(layout) = fields.layout(node.schema_id) {
            bytes = bytes.saturating_add(layout.stored_bytes());
        }
    });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Shard, col};
    use crate::write::{ShardWriter, WriterOptions};
    use arrow_array::{ArrayRef, RecordBatch, StringArray};

    #[test]
    fn plans_of_stripes_that_have_been_read_are_forgotten() {
        let text = |i: u32| format!("text {}", i % 10);
        let texts = StringArray::from_iter_values((0..1000).map(text));
        let batch = RecordBatch::try_from_iter([("c", Arc::new(texts) as ArrayRef)]).unwrap();
        let options = WriterOptions::default().with_stripe_rows(100);
        let mut file = Vec::new();
        let mut writer = ShardWriter::try_new(&mut file, batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let shard = Shard::from_bytes(file.into()).unwrap();
        let metadata = &shard.metadata;
        let predicate = col("c").eq("text 3");
        let bound = shard.drive(|step| BoundPredicate::load(metadata, step, &predicate));
        let filter = Filter::new(bound.unwrap());
        let plan = |ordinal: usize| {
            let plan = shard.drive(|step| {
                let stripe = &ready!(metadata.stripes(step))[ordinal];
                filter.plan(metadata, step, ordinal as u64, stripe)
            });
            plan.unwrap()
        };
        let first = plan(0);
        assert!(first.fields.layouts().count() > 0, "there is work to do");
        let others: Vec<_> = (1..10).map(|i| Arc::downgrade(&plan(i))).collect();
        // One more than the plans in use: the last one is likely to be requested again.
        let kept = others.iter().filter(|plan| plan.upgrade().is_some());
        assert!(kept.count() <= 1);
        assert!(Arc::ptr_eq(&first, &plan(0)), "it is still being read");
        plan(5);
        assert_eq!(filter.counters.metrics().stripes, 10);
    }
}
