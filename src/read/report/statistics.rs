//! Statistics of columns from metadata, as a `RecordBatch` for query planners.

use crate::arrow::value_type;
use crate::buffer::{FieldLayout, Physical, Selection, Storage};
use crate::column::{Casts, assemble};
use crate::error::{Error, ErrorKind, Result, Within};
use crate::format::{AnyValue, BasicType, DataType, FieldDescriptor, Wire};
use crate::read::open_shard::Shard;
use crate::read::scan::constant::bound_value;
use crate::read::scan::source::{ReadState, StripeFields, StripeSource};
use crate::read::shard::column::Column;
use crate::read::shard::descriptor_stats::{self, DescriptorBound};
use crate::read::shard::fetch::StepBytes;
use crate::read::shard::metadata::{Metadata, OpenField, ready};
use crate::read::shard::projection::Projection;
use crate::read::shard::waiting::ready_now_or;
use arrow_array::builder::{BooleanBuilder, UInt64Builder};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, UInt64Array, new_null_array};
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema};
use arrow_select::concat::concat;
use std::cmp::Ordering;
use std::sync::Arc;

impl Shard {
    /// Returns statistics of the columns over the whole shard, in one row. Reads only metadata.
    ///
    /// The first column is `row_count`, without deleted rows. It is followed by a struct for every column and every
    /// member of a struct, named by its path. Unknown statistics are null:
    ///
    /// | member | meaning |
    /// |-|-|
    /// | `null_count` | rows that are null, because the field or a struct around it is |
    /// | `min`, `max` | bounds in the type of the field, for dictionaries and runs the type of their values; all values that are not null lie between them, in the order of Arrow's comparison kernels |
    /// | `min_is_exact`, `max_is_exact` | whether the bound is itself a value |
    /// | `is_constant` | whether all rows have the same value, or all are null: true or false where that is known; false if the exact `min` and `max` differ |
    /// | `distinct_count` | number of distinct values, not counting null |
    /// | `distinct_is_exact` | whether `distinct_count` is exact |
    ///
    /// Inexact distinct counts come from HyperLogLog sketches of 128 counters. Their standard error is 1.04 /
    /// sqrt(128), or 9.2 %. Over 1,000 sets of 10 to 10,000 values, two of three counts were off by less than 10 %, 95
    /// of 100 by less than 20 %, and none by more than 40 %.
    ///
    /// If the shard has deleted rows, the statistics cover all rows, including the deleted ones: bounds and distinct
    /// counts are inexact, and null counts are known only if no row is null, or all are.
    ///
    /// Structs, lists, maps and unions have only the members `null_count` and `is_constant`. The null count of a union
    /// is usually unknown. Fields below lists, maps and unions are omitted. Floats that may be NaN have no bounds.
    ///
    /// # Errors
    /// [`UnknownColumn`](crate::ErrorKind::UnknownColumn). Also fails if the metadata are damaged.
    pub fn statistics(&self, projection: impl Into<Projection>) -> Result<RecordBatch> {
        let found = statistics(&self.metadata, projection.into(), Scope::Shard);
        ready_now_or("`statistics_async`", found)
    }

    /// Returns statistics of the columns over the whole shard, for a shard behind an asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`statistics`](Self::statistics).
    pub async fn statistics_async(&self, projection: impl Into<Projection>) -> Result<RecordBatch> {
        statistics(&self.metadata, projection.into(), Scope::Shard).await
    }

    /// Returns the [`statistics`](Self::statistics) of the columns, in one row per stripe.
    ///
    /// # Errors
    /// Returns the same errors as [`statistics`](Self::statistics).
    pub fn stripe_statistics(&self, projection: impl Into<Projection>) -> Result<RecordBatch> {
        let found = statistics(&self.metadata, projection.into(), Scope::Stripes);
        ready_now_or("`stripe_statistics_async`", found)
    }

    /// Returns the [`statistics`](Self::statistics) of the columns, in one row per stripe, for a shard behind an
    /// asynchronous reader.
    ///
    /// # Errors
    /// Returns the same errors as [`statistics`](Self::statistics).
    pub async fn stripe_statistics_async(
        &self,
        projection: impl Into<Projection>,
    ) -> Result<RecordBatch> {
        statistics(&self.metadata, projection.into(), Scope::Stripes).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Shard,
    Stripes,
}

/// Approximate number of descriptors to fetch at once.
const AT_ONCE: usize = 1 << 15;

/// Numbers of rows.
#[derive(Debug, Clone, Copy)]
struct RowCounts {
    /// All rows, including the deleted ones.
    all: u64,
    deleted: u64,
}

/// A field with one position per row.
struct Target {
    path: String,
    /// Type of its values, dictionaries and runs resolved.
    value_type: ArrowType,
    node: DataType,
    /// Schema ids of the structs around it.
    around: Vec<u32>,
}

async fn statistics(
    metadata: &Metadata,
    projection: Projection,
    scope: Scope,
) -> Result<RecordBatch> {
    let columns = metadata
        .run(|step| metadata.columns(step, &projection))
        .await?;
    let mut targets = Vec::new();
    for column in &columns {
        add_targets(column, None, Vec::new(), &mut targets);
    }
    let rows: Vec<RowCounts> = match scope {
        Scope::Shard => vec![RowCounts {
            all: metadata.directory.total_record_count,
            deleted: metadata.directory.deleted_record_count,
        }],
        Scope::Stripes => {
            let rows = metadata.run(|step| {
                let rows = ready!(metadata.stripes(step))
                    .iter()
                    .map(|stripe| RowCounts {
                        all: stripe.total_record_count,
                        deleted: stripe.deleted_record_count,
                    });
                Ok(Some(rows.collect()))
            });
            rows.await?
        }
    };
    let mut fields = vec![Field::new("row_count", ArrowType::UInt64, false)];
    let row_counts = rows.iter().map(|rows| rows.all - rows.deleted);
    let row_counts: UInt64Array = row_counts.collect::<Vec<_>>().into();
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(row_counts)];
    for some in targets.chunks((AT_ONCE / rows.len().max(1)).max(1)) {
        let known = metadata.run(|step| {
            // Request all descriptors before returning, so that one round fetches them all.
            Ok(some
                .iter()
                .map(|target| known_of(metadata, step, target, scope, &rows))
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .collect::<Option<Vec<_>>>())
        });
        for (target, known) in some.iter().zip(&known.await?) {
            let array = metadata
                .run(|step| known_array(metadata, step, target, known).map(Some))
                .await
                .within(|| format!("statistics of `{}`", target.path))?;
            fields.push(Field::new(&target.path, array.data_type().clone(), false));
            arrays.push(Arc::new(array));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|e| {
        Error::new(
            ErrorKind::SchemaMismatch,
            format!("the statistics do not fit their schema: {e}"),
        )
    })
}

fn add_targets(column: &Column, prefix: Option<&str>, around: Vec<u32>, targets: &mut Vec<Target>) {
    let path = match prefix {
        None => column.field.name().clone(),
        Some(prefix) => format!("{prefix}.{}", column.field.name()),
    };
    let value_type = value_type(column.field.data_type());
    targets.push(Target {
        path: path.clone(),
        value_type: value_type.clone(),
        node: column.node.clone(),
        around: around.clone(),
    });
    if let (ArrowType::Struct(members), BasicType::Struct) = (value_type, column.node.basic_type) {
        let around = [around, vec![column.node.schema_id]].concat();
        for (field, node) in members.iter().zip(&column.node.children) {
            let member = Column::new(field.as_ref().clone(), node.clone(), Casts::default());
            add_targets(&member, Some(&path), around.clone(), targets);
        }
    }
}

/// Returns the statistics of a target for each range of rows.
fn known_of(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    target: &Target,
    scope: Scope,
    rows: &[RowCounts],
) -> Result<Option<Vec<KnownStatistics>>> {
    let mut all = Vec::with_capacity(rows.len());
    let mut complete = true;
    for (stripe, &RowCounts { all: rows, deleted }) in (0..).zip(rows) {
        let read = |id| match scope {
            Scope::Shard => metadata.shard_descriptor(step, id),
            Scope::Stripes => {
                let field = metadata.field(step, (stripe, id))?;
                Ok(field.map(|field| field.descriptor().cloned()))
            }
        };
        let own = read(target.node.schema_id)?;
        let mut may_be_null = false;
        for &id in &target.around {
            match read(id)? {
                Some(Some(field)) => {
                    may_be_null |= !descriptor_stats::has_no_nulls(&field, rows);
                }
                Some(None) => may_be_null = true,
                None => complete = false,
            }
        }
        match own {
            Some(own) => {
                let own = own.as_ref();
                let scope = match scope {
                    Scope::Shard => None,
                    Scope::Stripes => Some(stripe),
                };
                let Some(may_be_nan) = may_be_nan(metadata, step, scope, &target.node, own)? else {
                    complete = false;
                    continue;
                };
                let known = KnownStatistics::new(
                    own,
                    may_be_null,
                    may_be_nan,
                    rows,
                    &target.node,
                    metadata.wire,
                );
                all.push(match deleted {
                    0 => known,
                    _ => known.of_some(rows, rows - deleted),
                });
            }
            None => complete = false,
        }
    }
    Ok(complete.then_some(all))
}

/// Returns whether a value may be NaN: in a stripe, or in the whole shard. `field` is the descriptor of the node there.
fn may_be_nan(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    stripe: Option<u64>,
    node: &DataType,
    field: Option<&FieldDescriptor>,
) -> Result<Option<bool>> {
    let Some(field) = field else {
        return Ok(Some(false));
    };
    let id = node.schema_id;
    let in_stripe = |field: &FieldDescriptor, stripe: u64| {
        let stored = metadata.stored_types.get((stripe, id));
        descriptor_stats::may_be_nan(field, node, stored.map(Arc::as_ref))
    };
    if let Some(stripe) = stripe {
        return Ok(Some(in_stripe(field, stripe)));
    }
    let of_shard = descriptor_stats::may_be_nan(field, node, None);
    if !of_shard || metadata.stored_types.is_empty() {
        return Ok(Some(of_shard));
    }
    // The table counts no NaN, because some of its stripes hold integers. Its descriptors are in memory.
    let count = ready!(metadata.stripes(step)).len() as u64;
    for stripe in 0..count {
        let field = ready!(metadata.field(step, (stripe, id)));
        if field
            .descriptor()
            .is_some_and(|field| in_stripe(field, stripe))
        {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

/// The known statistics of a field over some rows.
#[derive(Default)]
struct KnownStatistics {
    null_count: Option<u64>,
    min: Option<(AnyValue, bool)>,
    max: Option<(AnyValue, bool)>,
    is_constant: Option<bool>,
    distinct: Option<(u64, bool)>,
}

impl KnownStatistics {
    fn new(
        field: Option<&FieldDescriptor>,
        may_be_null: bool,
        may_be_nan: bool,
        rows: u64,
        node: &DataType,
        wire: Wire,
    ) -> Self {
        let Some(field) = field else {
            // A field that is null throughout has no descriptor.
            return Self {
                null_count: Some(rows),
                is_constant: Some(true),
                distinct: Some((0, true)),
                ..Self::default()
            };
        };
        // In stripes without the field all rows are null, and the shard's descriptor does not count them.
        let missing = rows.saturating_sub(field.position_count);
        let constant = field.constant_value.as_ref();
        let is_constant = match constant {
            Some(value) => (missing == 0 && !may_be_null) || value.is_null(),
            None => false,
        };
        let (min, max) = bounds(field, node, may_be_nan);
        let differs = !may_be_null && are_two_values(&min, &max);
        // A union is null where its active member is null, which its own null count does not include.
        let is_union = node.basic_type == BasicType::Union;
        let null_count = field.null_count.filter(|_| !may_be_null && !is_union);
        let counts_null = wire.capabilities().spec_statistics && field.null_count != Some(0);
        let distinct = field.cardinality.as_ref().and_then(|cardinality| {
            let count = cardinality.count?.saturating_sub(u64::from(counts_null));
            Some((
                count,
                !cardinality.is_estimate && field.null_count.is_some(),
            ))
        });
        Self {
            null_count: null_count.map(|nulls| nulls.saturating_add(missing)),
            min,
            max,
            is_constant: (is_constant || differs).then_some(is_constant),
            distinct,
        }
    }
}

impl KnownStatistics {
    /// Returns the statistics of any `rows` of `all` rows.
    fn of_some(self, all: u64, rows: u64) -> Self {
        let inexact = |(value, _)| (value, false);
        let is_null = self.null_count == Some(all);
        Self {
            null_count: match self.null_count {
                Some(0) => Some(0),
                _ => is_null.then_some(rows),
            },
            min: self.min.map(inexact),
            max: self.max.map(inexact),
            is_constant: self.is_constant.filter(|&is_constant| is_constant),
            distinct: self
                .distinct
                .map(|(count, is_exact)| (count, is_exact && is_null)),
        }
    }
}

/// Whether both bounds are values that occur, and differ.
fn are_two_values(min: &DescriptorBound, max: &DescriptorBound) -> bool {
    match (min, max) {
        (Some((min, true)), Some((max, true))) => min.compare(max) == Some(Ordering::Less),
        _ => false,
    }
}

/// Returns the bounds of all values that are not null, including a constant; none if a value may be NaN.
fn bounds(
    field: &FieldDescriptor,
    node: &DataType,
    may_be_nan: bool,
) -> (DescriptorBound, DescriptorBound) {
    match (&field.constant_value, &field.range_stats) {
        (Some(value), None) if !value.is_null() && !descriptor_stats::is_float(node) => {
            let bound = Some((value.clone(), true));
            (bound.clone(), bound)
        }
        _ if may_be_nan => (None, None),
        _ => descriptor_stats::bounds(field),
    }
}

fn known_array(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    target: &Target,
    known: &[KnownStatistics],
) -> Result<StructArray> {
    let mut null_count = UInt64Builder::new();
    let mut is_constant = BooleanBuilder::new();
    let (mut distinct, mut exact) = (UInt64Builder::new(), BooleanBuilder::new());
    for known in known {
        null_count.append_option(known.null_count);
        is_constant.append_option(known.is_constant);
        distinct.append_option(known.distinct.map(|(count, _)| count));
        exact.append_option(known.distinct.map(|(_, exact)| exact));
    }
    let values = |side: fn(&KnownStatistics) -> &DescriptorBound| -> Result<(ArrayRef, ArrayRef)> {
        let mut arrays = Vec::with_capacity(known.len());
        let mut exact = BooleanBuilder::new();
        for bound in known.iter().map(side) {
            let array = match bound {
                Some((value, exact)) => {
                    let value = bound_value(value, *exact, &target.node);
                    value_array(metadata, step, &target.value_type, &target.node, value)?
                }
                None => None,
            };
            let is_exact = bound.as_ref().map(|(_, exact)| *exact);
            exact.append_option(is_exact.filter(|_| array.is_some()));
            arrays.push(array.unwrap_or_else(|| new_null_array(&target.value_type, 1)));
        }
        let pieces: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        let all = if pieces.is_empty() {
            new_null_array(&target.value_type, 0)
        } else {
            concat(&pieces).map_err(|e| {
                Error::new(ErrorKind::OffsetOverflow, format!("too many bounds: {e}"))
            })?
        };
        Ok((all, Arc::new(exact.finish())))
    };
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let mut add = |name: &str, array: ArrayRef| {
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    };
    add("null_count", Arc::new(null_count.finish()));
    if has_bounds(&target.node) {
        let (min, min_is_exact) = values(|known| &known.min)?;
        let (max, max_is_exact) = values(|known| &known.max)?;
        add("min", min);
        add("max", max);
        add("min_is_exact", min_is_exact);
        add("max_is_exact", max_is_exact);
        add("distinct_count", Arc::new(distinct.finish()));
        add("distinct_is_exact", Arc::new(exact.finish()));
    }
    add("is_constant", Arc::new(is_constant.finish()));
    StructArray::try_new(Fields::from(fields), arrays, None)
        .map_err(|e| Error::new(ErrorKind::SchemaMismatch, e.to_string()))
}

pub(super) fn has_bounds(node: &DataType) -> bool {
    use BasicType as T;
    !matches!(
        node.basic_type,
        T::Unit | T::Struct | T::List | T::FixedSizeList | T::Map | T::Union
    )
}

/// Returns a value as an array of length 1 in the field's type; `None` if the type cannot hold it.
pub(super) fn value_array(
    metadata: &Metadata,
    step: &StepBytes<'_>,
    value_type: &ArrowType,
    node: &DataType,
    value: Option<AnyValue>,
) -> Result<Option<ArrayRef>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let layout = FieldLayout {
        positions: 1,
        physical: Physical::of(node)?,
        storage: Storage::Constant(value),
        index: None,
    };
    let field = OpenField {
        layout: Arc::new(layout),
        dictionary: None,
        stored_as: None,
    };
    let fields = StripeFields::new(0, vec![(node.schema_id, field)], step);
    let mut source = StripeSource {
        metadata,
        step,
        fields: &fields,
        state: &mut ReadState::default(),
        sequential: false,
        entries_of: None,
    };
    let field = Field::new(&node.name, value_type.clone(), true);
    let array = assemble(&field, node, &Selection::range(0..1), &mut source);
    match array {
        Ok(array) => Ok(Some(array)),
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::ValueOutOfRange | ErrorKind::Unsupported
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}
